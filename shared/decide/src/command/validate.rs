//! Whether a command may still go on: nobody else has its claims, its nodes are closed, and no new work came to them.

use model::{CommandOrder, CommandPhase, CommandWork, Pod, PodKind, disruption::Reason, duration, names};

use super::{Candidate, Situation, deeds};

/// Somebody else decided about one of its claims, or opened one of its nodes again.
pub(super) fn overtaken(seen: &Situation) -> Option<String> {
    let phase = &seen.record.phase;
    if matches!(phase, CommandPhase::Deleting | CommandPhase::Undoing { .. }) {
        return None;
    }
    let closed_by_now = !matches!(phase, CommandPhase::Recorded);
    // A machine that starts anew comes and goes.
    let node_may_be_away = matches!(phase, CommandPhase::Rebooting | CommandPhase::Rebooted);
    seen.candidates.iter().find_map(|candidate| {
        let name = &candidate.key.name;
        let Some(claim) = &candidate.claim else { return Some(format!("NodeClaim {name} is gone")) };
        // One that goes anyway may be deleted by anybody: that is what was wanted.
        if claim.deleted_at.is_some() && seen.record.order != CommandOrder::AtOnce {
            return Some(format!("somebody deleted NodeClaim {name}"));
        }
        if candidate.record.as_ref().is_some_and(|record| record.id != seen.record.id) {
            return Some(format!("another command has NodeClaim {name}"));
        }
        match &candidate.node {
            None if node_may_be_away => None,
            None => Some(format!("NodeClaim {name} has no node any more")),
            Some(node) if closed_by_now && !deeds::is_closed(node) => {
                Some(format!("somebody opened node {} again", node.name))
            }
            Some(_) => None,
        }
    })
}

/// Work that was not there when it was decided, or a word that forbids it.
pub(super) fn disturbed(seen: &Situation) -> Option<String> {
    seen.candidates.iter().find_map(|candidate| {
        let node = candidate.node.as_ref().map_or("?", |node| node.name.as_str());
        if seen.record.work == CommandWork::Delete
            && let Some(pod) = candidate.pods.iter().find(|pod| is_new(seen, pod))
        {
            return Some(format!("pod {}/{} came to node {node}", pod.namespace, pod.name));
        }
        forbidden(seen, candidate).map(|word| format!("{word} was put on node {node} or its claim"))
    })
}

fn is_new(seen: &Situation, pod: &Pod) -> bool {
    is_work(pod) && !seen.record.pods.contains(&pod.uid)
}

fn is_work(pod: &Pod) -> bool {
    pod.kind == PodKind::Ordinary && !pod.terminal && pod.deleted_at.is_none()
}

fn forbidden(seen: &Situation, candidate: &Candidate) -> Option<&'static str> {
    let word = match seen.record.reason {
        Reason::Unhealthy => names::DO_NOT_REPAIR,
        Reason::Empty | Reason::Expired | Reason::Drifted | Reason::Underutilized => names::DO_NOT_DISRUPT,
    };
    let (claim, node) = (candidate.claim.as_ref(), candidate.node.as_ref());
    let since = claim.map(|claim| claim.created_at).or_else(|| node.map(|node| node.created_at))?;
    let said = [claim.map(|claim| &claim.annotations), node.map(|node| &node.annotations)];
    let mut said = said.into_iter().flatten().filter_map(|all| all.get(word));
    let forbids = |value: &String| match word {
        names::DO_NOT_DISRUPT => duration::protects(value, since, seen.now),
        _ => value == "true",
    };
    said.any(forbids).then_some(word)
}
