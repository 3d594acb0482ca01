//! Putting everything back: taints, conditions, records, the first candidate's last. Written down first, so that it is finished.

use model::{Claim, CommandPhase, CommandWork, ConditionKind, Truth, names};
use std::collections::BTreeMap;

use super::{Deed, Next, Situation, Step, deeds};
use crate::conditions;

pub(super) fn begin(seen: &Situation, why: &str, failed: bool) -> Step {
    // Without its first claim there is nothing to write on; what it left is found by itself.
    if seen.candidates.first().is_none_or(|leader| leader.claim.is_none()) {
        return Step { deeds: vec![], next: Next::Over { why: format!("a command ends: {why}") } };
    }
    let phase = CommandPhase::Undoing { why: why.to_owned(), failed };
    Step { deeds: vec![deeds::phase(seen, phase, BTreeMap::new())], next: Next::AtOnce }
}

pub(super) fn go_on(seen: &Situation, why: &str, failed: bool) -> Step {
    let mut steps = Vec::new();
    // What was ordered and has not come is not needed any more. What has come is a node like any other.
    let unneeded = |claim: &&Claim| claim.deleted_at.is_none() && !claim.is(ConditionKind::Initialized);
    let ordered = seen.replacements.iter().flatten().filter(unneeded);
    steps.extend(ordered.map(|claim| Deed::DeleteClaim(claim.key.clone())));
    for (at, candidate) in seen.candidates.iter().enumerate().rev() {
        let Some(claim) = &candidate.claim else { continue };
        // One that goes for another reason stays closed.
        let stays = claim.deleted_at.is_none();
        let other = candidate.record.as_ref().is_some_and(|record| record.id != seen.record.id);
        if other {
            continue;
        }
        if stays {
            steps.extend(candidate.node.as_ref().and_then(deeds::untaint));
        }
        steps.extend(without_condition(seen, at, claim));
        let last = at == 0;
        if last && failed {
            steps.push(Deed::Replaced { pools: deeds::pools(seen), came: false });
        }
        if candidate.record.is_some() {
            steps.push(Deed::Record { candidate: at, record: None, others: notes_off(claim) });
        }
    }
    let names: Vec<&str> = seen.record.candidates.iter().map(|key| key.name.as_str()).collect();
    let why = format!("NodeClaim {} stays: {why}", names.join(", "));
    Step { deeds: steps, next: Next::Over { why } }
}

fn without_condition(seen: &Situation, at: usize, claim: &Claim) -> Option<Deed> {
    let mut status = claim.status.clone();
    status.conditions.retain(|condition| condition.kind != ConditionKind::DisruptionReason);
    if seen.record.work == CommandWork::Reboot && claim.is(ConditionKind::Rebooting) {
        let (kind, why) = (ConditionKind::Rebooting, "it was not started anew");
        conditions::set(&mut status, kind, Truth::False, "RebootFailed", why, seen.now);
    }
    (status != claim.status).then(|| Deed::Status { candidate: at, status: Box::new(status) })
}

/// What a reboot left on its claim.
pub(super) fn notes_off(claim: &Claim) -> BTreeMap<String, Option<String>> {
    let notes = [names::REBOOT_PRE_BOOT_ID, names::REBOOT_GRACE];
    notes.into_iter().filter(|note| claim.annotations.contains_key(*note)).map(|note| (note.to_owned(), None)).collect()
}
