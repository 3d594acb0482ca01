//! Deeds that several phases share: each only where something differs, so that a second time there is nothing to do.

use model::{
    Claim, CommandPhase, CommandRecord, CommandWork, ConditionKind, Node, NodeChange, ObjectName, Taint, Truth, names,
};
use std::collections::{BTreeMap, BTreeSet};

use super::{Candidate, Deed, Situation};
use crate::conditions;

/// The next phase, on the first candidate.
pub(super) fn phase(seen: &Situation, phase: CommandPhase, others: BTreeMap<String, Option<String>>) -> Deed {
    let record = CommandRecord { phase, since: seen.now, ..seen.record.clone() };
    Deed::Record { candidate: 0, record: Some(Box::new(record)), others }
}

/// The records of all but the first.
pub(super) fn followers(seen: &Situation) -> Vec<Deed> {
    let missing = |candidate: &Candidate| candidate.record.as_ref().is_none_or(|record| record.id != seen.record.id);
    let others = seen.candidates.iter().enumerate().skip(1).filter(|(_, candidate)| missing(candidate));
    others
        .map(|(at, _)| {
            let record =
                CommandRecord { make: vec![], pods: vec![], phase: CommandPhase::Recorded, ..seen.record.clone() };
            Deed::Record { candidate: at, record: Some(Box::new(record)), others: BTreeMap::new() }
        })
        .collect()
}

pub(super) fn taints(seen: &Situation) -> Vec<Deed> {
    let open = seen.candidates.iter().filter_map(|candidate| candidate.node.as_ref()).filter(|node| !is_closed(node));
    open.map(|node| {
        let mut taints = node.taints.clone();
        taints.push(Taint::disrupted());
        with_taints(node, taints)
    })
    .collect()
}

/// Takes the taint off a node that stays.
pub(super) fn untaint(node: &Node) -> Option<Deed> {
    let taint = Taint::disrupted();
    let others = || node.taints.iter().filter(|own| !own.is_same(&taint)).cloned().collect();
    is_closed(node).then(|| with_taints(node, others()))
}

pub(super) fn is_closed(node: &Node) -> bool {
    node.taints.iter().any(|own| own.is_same(&Taint::disrupted()))
}

fn with_taints(node: &Node, taints: Vec<Taint>) -> Deed {
    let change = NodeChange::new(node.name.clone(), node.version.clone());
    Deed::Node(NodeChange { taints: Some(taints), ..change })
}

/// `DisruptionReason` on every candidate; for a reboot, that it was asked for, and the boot ID of before.
pub(super) fn conditions(seen: &Situation) -> Vec<Deed> {
    let mut deeds = Vec::new();
    let record = &seen.record;
    for (at, candidate) in seen.candidates.iter().enumerate() {
        let Some(claim) = &candidate.claim else { continue };
        let mut status = claim.status.clone();
        let reason = record.reason.as_str();
        conditions::set(&mut status, ConditionKind::DisruptionReason, Truth::True, reason, &record.why, seen.now);
        if record.work == CommandWork::Reboot {
            let boot_id = candidate.node.as_ref().and_then(|node| node.boot_id.clone()).unwrap_or_default();
            if !claim.annotations.contains_key(names::REBOOT_PRE_BOOT_ID) {
                deeds.push(note_boot_id(seen, at, boot_id));
            }
            conditions::set(
                &mut status,
                ConditionKind::Rebooting,
                Truth::True,
                "RebootRequested",
                &record.why,
                seen.now,
            );
        }
        if status != claim.status {
            deeds.push(Deed::Status { candidate: at, status: Box::new(status) });
        }
    }
    deeds
}

fn note_boot_id(seen: &Situation, at: usize, boot_id: String) -> Deed {
    let mut others = BTreeMap::from([(names::REBOOT_PRE_BOOT_ID.to_owned(), Some(boot_id))]);
    if let Some(bound) = seen.record.drain_within {
        others.insert(names::REBOOT_GRACE.to_owned(), Some(format!("{}s", bound.as_secs())));
    }
    Deed::Record {
        candidate: at,
        record: seen.candidates.get(at).and_then(|one| one.record.clone()).map(Box::new),
        others,
    }
}

/// When the drain stops asking, if the command says so and nobody said it before.
pub(super) fn deadline(seen: &Situation, at: usize, claim: &Claim) -> Option<Deed> {
    let bound = seen.record.drain_within.filter(|_| !claim.annotations.contains_key(names::TERMINATION_TIMESTAMP))?;
    let by = seen.now.checked_add(bound).unwrap_or(seen.now);
    let others = BTreeMap::from([(names::TERMINATION_TIMESTAMP.to_owned(), Some(by.to_string()))]);
    let record = seen.candidates.get(at)?.record.clone().map(Box::new);
    Some(Deed::Record { candidate: at, record, others })
}

/// The pools of its candidates.
pub(super) fn pools(seen: &Situation) -> Vec<ObjectName> {
    let label = |claim: &Claim| claim.labels.get(names::NODE_POOL).and_then(|name| ObjectName::new(name).ok());
    let pools: BTreeSet<ObjectName> =
        seen.candidates.iter().filter_map(|candidate| candidate.claim.as_ref()).filter_map(label).collect();
    pools.into_iter().collect()
}
