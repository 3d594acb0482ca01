//! What no command owns: records whose command is gone, and taints without a record. They are taken off.

use model::{Claim, CommandRecord, ConditionKind, Node};
use std::collections::BTreeMap;

use super::{Deed, deeds, undo};

/// One claim with something on it that nobody will take off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOver {
    /// Position 0 is the claim.
    pub deeds: Vec<Deed>,
    pub why: String,
}

/// `leader` is the command that names this claim, if there is one.
pub fn left_over(
    claim: &Claim,
    record: Option<&Result<CommandRecord, String>>,
    leader: Option<&CommandRecord>,
    node: Option<&Node>,
) -> Option<LeftOver> {
    // What goes is closed, and stays so.
    if claim.deleted_at.is_some() {
        return None;
    }
    let why = match record {
        _ if leader.is_some_and(|leader| leader.candidates.contains(&claim.key)) => return None,
        Some(Ok(record)) if record.leader() == Some(&claim.key) => return None,
        Some(Ok(record)) => format!("the command {} is gone", record.id),
        Some(Err(why)) => format!("its command cannot be read: {why}"),
        None => "no command has it".to_owned(),
    };
    let mut steps: Vec<Deed> = node.and_then(deeds::untaint).into_iter().collect();
    let mut status = claim.status.clone();
    status.conditions.retain(|condition| condition.kind != ConditionKind::DisruptionReason);
    if status != claim.status {
        steps.push(Deed::Status { candidate: 0, status: Box::new(status) });
    }
    let others: BTreeMap<String, Option<String>> = undo::notes_off(claim);
    if record.is_some() || !others.is_empty() {
        steps.push(Deed::Record { candidate: 0, record: None, others });
    }
    (!steps.is_empty()).then_some(LeftOver { deeds: steps, why })
}
