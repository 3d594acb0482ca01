//! A machine whose claim is gone goes as it would have gone with it: the same steps, the same pods asked first.
//!
//! The claim cannot hold what has to be remembered, so the Node does: since when it is being emptied.

use jiff::Timestamp;
use model::{
    Action, Claim, ClaimStatus, ClassRef, Condition, ConditionKind, InstanceKey, Launch, Node, NodeChange, Plan, Pod,
    ResourceVersion, Truth, VolumeAttached, names,
};
use std::collections::{BTreeMap, BTreeSet};

use super::{InstanceSeen, Kept, Situation, plan};

/// What is there of a claim that is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Orphan {
    pub key: InstanceKey,
    pub provider: Kept,
    pub nodes: Vec<Node>,
    /// All on those nodes.
    pub pods: Vec<Pod>,
    /// All on those nodes.
    pub attachments: Vec<VolumeAttached>,
    pub instance: InstanceSeen,
    pub now: Timestamp,
}

/// The next step, and the claim as it would stand there. Nothing in the plan changes that.
pub fn plan_for_orphan(orphan: &Orphan) -> Option<(Claim, Plan)> {
    let situation = as_if_there(orphan)?;
    let mut actions: Vec<Action> =
        plan(&situation).actions.into_iter().filter(|action| !matches!(action, Action::ChangeClaim(_))).collect();
    if actions.iter().any(|action| matches!(action, Action::EnsureGone { .. })) {
        return Some((situation.claim, Plan { actions }));
    }
    for node in orphan.nodes.iter().filter(|node| since(node).is_none()) {
        let of_node = |action: &&mut Action| matches!(action, Action::ChangeNode(change) if change.name == node.name);
        let noted = (names::ORPHAN_SINCE.to_owned(), Some(orphan.now.to_string()));
        match actions.iter_mut().find(of_node) {
            Some(Action::ChangeNode(change)) => _ = change.annotations.insert(noted.0, noted.1),
            _ => {
                let mut change = NodeChange::new(node.name.clone(), node.version.clone());
                change.annotations.insert(noted.0, noted.1);
                actions.insert(0, Action::ChangeNode(change));
            }
        }
    }
    Some((situation.claim, Plan { actions }))
}

/// Whether the provider has to be asked if the machine is there.
pub fn orphan_needs_observation(orphan: &Orphan) -> bool {
    as_if_there(orphan).is_some_and(|situation| super::needs_observation(&situation))
}

fn since(node: &Node) -> Option<Timestamp> {
    node.annotations.get(names::ORPHAN_SINCE)?.parse().ok()
}

/// The claim as it would stand there: deleted, and being drained since the last of its Nodes was closed.
fn as_if_there(orphan: &Orphan) -> Option<Situation> {
    let Orphan { key, provider, nodes, pods, attachments, instance, now } = orphan.clone();
    let begun: Option<Timestamp> =
        nodes.iter().map(since).collect::<Option<Vec<_>>>().and_then(|all| all.into_iter().max());
    let drained = begun.map(|since| Condition {
        kind: ConditionKind::Drained,
        status: Truth::Unknown,
        reason: "Draining".to_owned(),
        message: String::new(),
        since,
    });
    let claim = Claim {
        class: ClassRef { group: String::new(), kind: String::new(), name: key.name.clone() },
        key,
        version: ResourceVersion::new("0").ok()?,
        created_at: Timestamp::UNIX_EPOCH,
        deleted_at: Some(begun.unwrap_or(now)),
        labels: BTreeMap::new(),
        annotations: BTreeMap::new(),
        finalizers: BTreeSet::from([names::FINALIZER.to_owned()]),
        has_owner: false,
        requirements: Vec::new(),
        requests: model::Resources::new(),
        taints: Vec::new(),
        startup_taints: Vec::new(),
        termination_grace: None,
        // What stood there is gone, so it is not known that nothing was launched.
        launch: Launch::Unreadable { why: String::new() },
        status: ClaimStatus { conditions: drained.into_iter().collect(), ..ClaimStatus::default() },
    };
    Some(Situation { claim, nodes, pods, attachments, instance, provider: Some(provider), now })
}
