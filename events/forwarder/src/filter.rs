//! Which changes wake whom. Pure: what is known, and one object before and after, give who is to be told of what.
//!
//! | change | wakes |
//! |---|---|
//! | a pod begins to wait for a node | on-pending-pod |
//! | a NodePool changes, or a claim goes, while pods wait | on-pending-pod |
//! | a claim is made, or its spec, labels, annotations or a condition's status change | on-nodeclaim; on-delete if it is to go |
//! | a claim is gone | the same, once more: what it left behind is to go too |
//! | a node of a claim comes, goes or changes (heartbeats are no change) | the same |
//! | a node that names no claim comes, or becomes ready or not | the same, for every claim that still waits for its node |
//! | a node that we hold is to go | on-delete |
//! | a pod leaves a node that is to go | on-delete of that node's claim |
//! | a Workspace, or a claim of it, changes | on-workspace; on-delete if it is to go |

use jiff::Timestamp;
use model::names;
use std::sync::Arc;

use crate::{
    cache::{Cache, Difference},
    rows::{Claim, Kind, Node, Pod, Pool, Workspace},
};

/// Somebody is to be told of this.
#[derive(Debug, Clone)]
pub enum Wake {
    /// Pods wait; this is one of them.
    Place(Arc<Pod>),
    Claim {
        row: Arc<Claim>,
        /// It is not there any more; this is the last that was seen of it.
        gone: bool,
    },
    Node {
        row: Arc<Node>,
        gone: bool,
    },
    Workspace {
        row: Arc<Workspace>,
        gone: bool,
    },
    /// The time it was due.
    Tick(Timestamp),
}

/// What deliveries are told apart by: of two with the same key, the newer one is enough.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Lane {
    /// One for the whole cluster: two decisions at once would count the same capacity.
    Place,
    Claim(Box<str>),
    Node(Box<str>),
    Workspace(Box<str>),
    Tick,
}

impl Wake {
    pub fn lane(&self) -> Lane {
        match self {
            Wake::Place(_) => Lane::Place,
            Wake::Claim { row, .. } => Lane::Claim(row.id.uid.clone()),
            Wake::Node { row, .. } => Lane::Node(row.id.uid.clone()),
            Wake::Workspace { row, .. } => Lane::Workspace(row.id.uid.clone()),
            Wake::Tick(_) => Lane::Tick,
        }
    }

    /// Its crate, its path, its sink.
    pub fn function(&self) -> &'static str {
        match self {
            Wake::Place(_) => "on-pending-pod",
            Wake::Claim { row, .. } if row.deleting => "on-delete",
            Wake::Claim { .. } => "on-nodeclaim",
            Wake::Node { .. } => "on-delete",
            Wake::Workspace { row, gone } if row.deleting || *gone => "on-delete",
            Wake::Workspace { .. } => "on-workspace",
            Wake::Tick(_) => "on-idle-timer",
        }
    }

    /// Whether no resync will ever bring it again.
    pub fn is_last(&self) -> bool {
        match self {
            Wake::Claim { gone, .. } | Wake::Node { gone, .. } | Wake::Workspace { gone, .. } => *gone,
            Wake::Place(_) | Wake::Tick(_) => false,
        }
    }

    /// Whether more is to come of it, as far as can be seen from outside: for deliveries whose answer does not come back.
    pub fn is_under_way(&self) -> bool {
        match self {
            Wake::Claim { row, gone } => !gone && (row.deleting || !row.is("Ready")),
            Wake::Node { gone, .. } => !gone,
            Wake::Workspace { row, gone } => !gone && row.deleting,
            // Told again for as long as pods wait, and by the clock.
            Wake::Place(_) | Wake::Tick(_) => false,
        }
    }
}

pub fn of_pod(known: &Cache, difference: &Difference<Pod>) -> Vec<Wake> {
    let Difference { before, after } = difference;
    let waited = before.as_ref().is_some_and(|pod| pod.waits());
    if let Some(pod) = after.as_ref().filter(|pod| pod.waits() && !waited) {
        return vec![Wake::Place(pod.clone())];
    }
    let holds = |pod: &&Arc<Pod>| !pod.over;
    let held = before.as_ref().filter(holds).and_then(|pod| pod.node.as_deref());
    match held.filter(|_| after.as_ref().filter(holds).is_none()) {
        Some(left) => known.node_named(left).and_then(|node| going(known, node)).into_iter().collect(),
        None => Vec::new(),
    }
}

pub fn of_node(known: &Cache, difference: &Difference<Node>) -> Vec<Wake> {
    let Difference { before, after } = difference;
    let Some(node) = after.as_ref().or(before.as_ref()) else { return Vec::new() };
    if let (Some(before), Some(after)) = (before, after)
        && is_same_node(before, after)
    {
        return Vec::new();
    }
    let claim = known.claim_of(node);
    let begins_to_go = after.as_ref().is_some_and(|node| node.deleting) && !before.as_ref().is_some_and(|n| n.deleting);
    let mut wakes = Vec::new();
    if begins_to_go && (node.held || claim.is_some()) {
        wakes.push(Wake::Node { row: node.clone(), gone: false });
    }
    // One that says nothing may be the node of any claim that has none yet.
    let says_nothing = node.claim.is_none() && !node.labels.contains_key(names::CLAIM_UID);
    let is_news = before.as_ref().is_none_or(|before| before.ready != node.ready);
    if let Some(claim) = claim {
        wakes.push(Wake::Claim { row: claim.clone(), gone: false });
    } else if says_nothing && is_news && after.is_some() {
        let waits = |claim: &&Arc<Claim>| !claim.deleting && !claim.is("Registered");
        let claims = known.claims.iter().filter(waits);
        wakes.extend(claims.map(|claim| Wake::Claim { row: claim.clone(), gone: false }));
    }
    wakes
}

pub fn of_claim(known: &Cache, difference: &Difference<Claim>) -> Vec<Wake> {
    let Difference { before, after } = difference;
    let Some(claim) = after.as_ref().or(before.as_ref()) else { return Vec::new() };
    if let (Some(before), Some(after)) = (before, after)
        && is_same_claim(before, after)
    {
        return Vec::new();
    }
    let gone = after.is_none();
    let mut wakes = vec![Wake::Claim { row: claim.clone(), gone }];
    if gone {
        // What it had promised to pods is not to be had any more.
        wakes.extend(placing(known));
    }
    if let Some((namespace, name)) = &claim.workspace
        && let Some(workspace) = known.workspace_named(namespace, name)
    {
        wakes.push(Wake::Workspace { row: workspace.clone(), gone: false });
    }
    wakes
}

pub fn of_pool(known: &Cache, difference: &Difference<Pool>) -> Vec<Wake> {
    match (&difference.before, &difference.after) {
        (Some(before), Some(after)) if is_same_pool(before, after) => Vec::new(),
        _ => placing(known).into_iter().collect(),
    }
}

pub fn of_workspace(difference: &Difference<Workspace>) -> Vec<Wake> {
    match (&difference.before, &difference.after) {
        (Some(before), Some(after)) if is_same_workspace(before, after) => Vec::new(),
        (_, Some(after)) => vec![Wake::Workspace { row: after.clone(), gone: false }],
        (Some(before), None) => vec![Wake::Workspace { row: before.clone(), gone: true }],
        (None, None) => Vec::new(),
    }
}

/// All that there is to be told of one kind, changed or not.
pub fn all_of(known: &Cache, kind: Kind) -> Vec<Wake> {
    match kind {
        Kind::Pod | Kind::Pool => placing(known).into_iter().collect(),
        Kind::Node => {
            let ours = |node: &&Arc<Node>| node.deleting && (node.held || known.claim_of(node).is_some());
            known.nodes.iter().filter(ours).map(|row| Wake::Node { row: row.clone(), gone: false }).collect()
        }
        Kind::Claim => known.claims.iter().map(|row| Wake::Claim { row: row.clone(), gone: false }).collect(),
        Kind::Workspace => {
            known.workspaces.iter().map(|row| Wake::Workspace { row: row.clone(), gone: false }).collect()
        }
    }
}

/// What there is to tell of a lane now; nothing if its object is gone.
pub fn of_lane(known: &Cache, lane: &Lane) -> Option<Wake> {
    match lane {
        Lane::Place => placing(known),
        Lane::Claim(uid) => known.claims.with_uid(known, uid).map(|row| Wake::Claim { row: row.clone(), gone: false }),
        Lane::Node(uid) => known.nodes.with_uid(known, uid).map(|row| Wake::Node { row: row.clone(), gone: false }),
        Lane::Workspace(uid) => {
            known.workspaces.with_uid(known, uid).map(|row| Wake::Workspace { row: row.clone(), gone: false })
        }
        Lane::Tick => None,
    }
}

/// The same wake with the newest that is known; `None` if there is nothing left to tell.
pub fn newest(known: &Cache, wake: Wake) -> Option<Wake> {
    match wake {
        Wake::Place(pod) if pod_still_waits(known, &pod) => Some(Wake::Place(pod)),
        Wake::Place(_) => placing(known),
        Wake::Claim { row, gone: false } => {
            let row = known.claims.with_uid(known, &row.id.uid).cloned().unwrap_or(row);
            Some(Wake::Claim { row, gone: false })
        }
        Wake::Workspace { row, gone: false } => {
            let row = known.workspaces.with_uid(known, &row.id.uid).cloned().unwrap_or(row);
            Some(Wake::Workspace { row, gone: false })
        }
        other @ (Wake::Claim { .. } | Wake::Workspace { .. } | Wake::Node { .. } | Wake::Tick(_)) => Some(other),
    }
}

fn pod_still_waits(known: &Cache, pod: &Pod) -> bool {
    known.pods.with_uid(known, &pod.id.uid).is_some_and(|pod| pod.waits())
}

/// If pods wait.
pub fn placing(known: &Cache) -> Option<Wake> {
    known.one_waiting().cloned().map(Wake::Place)
}

/// Who takes a node down, if it is on its way.
fn going(known: &Cache, node: &Arc<Node>) -> Option<Wake> {
    match known.claim_of(node) {
        Some(claim) if claim.deleting => Some(Wake::Claim { row: claim.clone(), gone: false }),
        _ if node.deleting && node.held => Some(Wake::Node { row: node.clone(), gone: false }),
        _ => None,
    }
}

fn is_same_node(before: &Node, after: &Node) -> bool {
    let Node { id: _, provider_id, labels, taints, unschedulable, capacity, allocatable, ready, .. } = after;
    let Node { deleting, held, claim, notice, .. } = after;
    let same = *provider_id == before.provider_id && *labels == before.labels && *taints == before.taints;
    let same = same && *capacity == before.capacity;
    let state = (*unschedulable, *deleting, *held) == (before.unschedulable, before.deleting, before.held);
    let state = state && *notice == before.notice;
    same && state && *allocatable == before.allocatable && *ready == before.ready && *claim == before.claim
}

/// Identity of the machine and of its node are written by our own functions: no reason to call them again.
fn is_same_claim(before: &Claim, after: &Claim) -> bool {
    let Claim { id: _, deleting, generation, class, pool, requests, requirements, conditions, marks, .. } = after;
    let state = (*deleting, *generation, *marks) == (before.deleting, before.generation, before.marks);
    let asked = *requests == before.requests && *requirements == before.requirements && *pool == before.pool;
    state && asked && *class == before.class && *conditions == before.conditions
}

fn is_same_pool(before: &Pool, after: &Pool) -> bool {
    let Pool { id: _, deleting, generation, weight, limits, requirements, class } = after;
    let state = (*deleting, *generation, *weight) == (before.deleting, before.generation, before.weight);
    state && *limits == before.limits && *requirements == before.requirements && *class == before.class
}

fn is_same_workspace(before: &Workspace, after: &Workspace) -> bool {
    let Workspace { id: _, deleting, generation, instance_type, count, preset, conditions, marks } = after;
    let state =
        (*deleting, *generation, *marks, *count) == (before.deleting, before.generation, before.marks, before.count);
    state && *instance_type == before.instance_type && *preset == before.preset && *conditions == before.conditions
}
