//! Nodes and claims, each machine once: what there is to run on, what will be there, and what pools have of it.

use k8s_openapi::api::storage::v1::CSINode;
use model::{
    Claim, ConditionKind, Node, NodeSeen, ObjectName, Resources, Snapshot, Taint, names,
    place::{NodeStage, NodeThere},
};
use std::collections::{BTreeMap, BTreeSet};

use super::{
    Problem, SceneSource,
    amounts::{add, filled, whole},
    in_flight::{self, Launched},
    name_of,
};
use crate::{read_claim::ClaimRead, read_node::read_node};

pub(super) struct Nodes {
    pub there: Vec<NodeThere>,
    /// Of each, by position: what limits count.
    capacity: Vec<Resources>,
    by_name: BTreeMap<String, usize>,
    by_claim: BTreeMap<String, usize>,
}

impl Nodes {
    /// By the name of a Node: no pod is on a claim.
    pub(super) fn by_name(&self, node: &str) -> Option<usize> {
        self.by_name.get(node).copied()
    }

    /// By the name of a claim, whatever has become of it, or of a Node.
    pub(super) fn planned(&self, name: &str) -> Option<usize> {
        self.by_claim.get(name).copied().or_else(|| self.by_name(name))
    }

    /// What each pool has, and how many `nodes` that is. What is going away does not count.
    pub(super) fn used_by_pool(&self) -> BTreeMap<String, Resources> {
        let mut used: BTreeMap<String, Resources> = BTreeMap::new();
        for (node, capacity) in self.there.iter().zip(&self.capacity).filter(|(node, _)| !node.deleting) {
            let Some(pool) = &node.pool else { continue };
            let sum = used.entry(pool.as_str().to_owned()).or_default();
            add(sum, capacity);
            add(sum, &Resources::from([("nodes".to_owned(), whole(1))]));
        }
        used
    }

    fn push(&mut self, node: NodeThere, capacity: Resources) {
        self.there.push(node);
        self.capacity.push(capacity);
    }
}

/// Nodes first, then the claims that have none.
pub(super) fn nodes(source: &SceneSource, problems: &mut Vec<Problem>) -> Nodes {
    let claims = claims(source, problems);
    let mut nodes = Nodes { there: vec![], capacity: vec![], by_name: BTreeMap::new(), by_claim: BTreeMap::new() };
    let mut joined = BTreeSet::new();
    for node in facts(source, problems) {
        let claim = claims.iter().position(|claim| is_of(claim, node.provider_id.as_deref(), &node.name));
        joined.extend(claim);
        nodes.by_name.insert(node.name.as_str().to_owned(), nodes.there.len());
        let claim = claim.and_then(|at| claims.get(at)).copied();
        nodes.by_claim.extend(claim.map(|claim| (claim.key.name.as_str().to_owned(), nodes.there.len())));
        let limits = attachments(&source.csi_nodes, node.name.as_str());
        let (there, capacity) = node_there(node, claim, limits);
        nodes.push(there, capacity);
    }
    for (_, claim) in claims.iter().enumerate().filter(|(at, _)| !joined.contains(at)) {
        match in_flight::launched(source, claim) {
            Ok(launched) => {
                let capacity = launched.capacity.clone();
                nodes.by_claim.insert(claim.key.name.as_str().to_owned(), nodes.there.len());
                nodes.push(claim_there(claim, launched), capacity);
            }
            Err(why) => problems.push(Problem { kind: "NodeClaim", name: claim.key.name.as_str().to_owned(), why }),
        }
    }
    nodes
}

/// Names of the nodes of a snapshot that are going away, by themselves or with their claim, or are started anew: their pods leave while
/// others look for a place, and a snapshot may show them where they were.
pub fn going(snapshot: &Snapshot, claims: &[ClaimRead]) -> BTreeSet<ObjectName> {
    let leaves = |claim: &&Claim| is_going(claim) || claim.is(ConditionKind::Rebooting);
    let claims: Vec<&Claim> = claims.iter().filter_map(known).filter(leaves).collect();
    let is_going = |node: &&NodeSeen| {
        node.deleting || claims.iter().any(|claim| is_of(claim, node.provider_id.as_deref(), &node.name))
    };
    snapshot.nodes.iter().filter(is_going).map(|node| node.name.clone()).collect()
}

/// What there is to know of a Node, whoever has seen it.
struct Facts {
    name: ObjectName,
    provider_id: Option<String>,
    labels: BTreeMap<String, String>,
    taints: Vec<Taint>,
    capacity: Resources,
    allocatable: Resources,
    deleting: bool,
}

fn facts(source: &SceneSource, problems: &mut Vec<Problem>) -> Vec<Facts> {
    let mut all = Vec::new();
    for raw in &source.nodes {
        match read_node(raw.clone()) {
            Ok(Node { name, provider_id, labels, taints, capacity, allocatable, deleted_at, .. }) => {
                let deleting = deleted_at.is_some();
                all.push(Facts { name, provider_id, labels, taints, capacity, allocatable, deleting });
            }
            Err(why) => problems.push(Problem { kind: "Node", name: name_of(&raw.metadata), why }),
        }
    }
    let seen = source.seen.iter().flat_map(|seen| &seen.snapshot.nodes).cloned();
    all.extend(seen.map(|node| {
        let NodeSeen { name, provider_id, labels, taints, capacity, allocatable, deleting, pods: _ } = node;
        Facts { name, provider_id, labels, taints, capacity, allocatable, deleting }
    }));
    all
}

fn known(read: &ClaimRead) -> Option<&Claim> {
    match read {
        ClaimRead::Claim(read) => Some(&read.claim),
        ClaimRead::Malformed(_) => None,
    }
}

fn claims<'a>(source: &'a SceneSource, problems: &mut Vec<Problem>) -> Vec<&'a Claim> {
    let mut claims = Vec::new();
    for read in &source.claims {
        match read {
            ClaimRead::Claim(read) => claims.push(&read.claim),
            ClaimRead::Malformed(malformed) => problems.push(Problem {
                kind: "NodeClaim",
                name: malformed.key.name.as_str().to_owned(),
                why: malformed.why.clone(),
            }),
        }
    }
    claims
}

/// By provider ID; by name where one of them has none yet.
fn is_of(claim: &Claim, provider_id: Option<&str>, name: &ObjectName) -> bool {
    match (claim.status.provider_id.as_deref(), provider_id) {
        (Some(of_claim), Some(of_node)) => of_claim == of_node,
        (None, _) | (_, None) => claim.status.node.as_deref() == Some(name.as_str()),
    }
}

fn node_there(node: Facts, claim: Option<&Claim>, limits: BTreeMap<String, u32>) -> (NodeThere, Resources) {
    let is = |label: &str| node.labels.get(label).is_some_and(|value| value == "true");
    let registered = claim.is_none() || is(names::REGISTERED);
    // Where no claim is known, a node that joins, or that somebody registered and did not initialize, is on its way; any other is up.
    let joins = || is(names::REGISTERED) || node.taints.iter().any(|taint| taint.key == names::UNREGISTERED_TAINT);
    let initialized = is(names::INITIALIZED) || (claim.is_none() && !joins());
    // A machine that is started anew comes back: its pods wait for it, and get no other node.
    let reboots = claim.is_some_and(|claim| claim.is(ConditionKind::Rebooting) && claim.deleted_at.is_none());
    let initialized = initialized && !reboots;
    let mut labels = node.labels;
    let mut taints = node.taints;
    let passes = |key: &str| key == names::DISRUPTED_TAINT || key.starts_with("node.kubernetes.io/");
    taints.retain(|taint| !reboots || !passes(&taint.key));
    let (mut promised, mut capacity) = (Resources::new(), node.capacity);
    if let Some(claim) = claim {
        promised = promise(claim);
        if !initialized {
            capacity = filled(capacity, &claim.status.capacity);
        }
        if !registered {
            labels.extend(in_flight::labels(claim));
            taints = claim.taints.clone();
        }
    }
    let there = NodeThere {
        name: node.name,
        stage: if initialized { NodeStage::Initialized } else { NodeStage::Starting },
        pool: pool(&labels),
        labels,
        taints,
        startup_taints: claim.map(|claim| claim.startup_taints.clone()).unwrap_or_default(),
        allocatable: node.allocatable,
        promised,
        deleting: node.deleting || claim.is_some_and(is_going),
        volume_limits: limits,
    };
    (there, capacity)
}

fn claim_there(claim: &Claim, launched: Launched) -> NodeThere {
    NodeThere {
        name: claim.key.name.clone(),
        stage: NodeStage::InFlight,
        pool: pool(&launched.labels),
        labels: launched.labels,
        taints: claim.taints.clone(),
        startup_taints: claim.startup_taints.clone(),
        promised: launched.allocatable.clone(),
        allocatable: launched.allocatable,
        deleting: is_going(claim),
        volume_limits: launched.volume_limits,
    }
}

fn is_going(claim: &Claim) -> bool {
    claim.deleted_at.is_some() || claim.is(ConditionKind::InstanceTerminating)
}

fn promise(claim: &Claim) -> Resources {
    let status = &claim.status;
    if status.allocatable.is_empty() { status.capacity.clone() } else { status.allocatable.clone() }
}

fn pool(labels: &BTreeMap<String, String>) -> Option<ObjectName> {
    labels.get(names::NODE_POOL).and_then(|name| ObjectName::new(name.as_str()).ok())
}

/// Drivers that name no number have no limit.
fn attachments(csi_nodes: &[CSINode], node: &str) -> BTreeMap<String, u32> {
    let found = csi_nodes.iter().find(|one| one.metadata.name.as_deref() == Some(node));
    let drivers = found.map(|one| one.spec.drivers.as_slice()).unwrap_or_default().iter();
    let limit = |driver: &k8s_openapi::api::storage::v1::CSINodeDriver| {
        let count = driver.allocatable.as_ref()?.count?;
        Some((driver.name.clone(), u32::try_from(count).ok()?))
    };
    drivers.filter_map(limit).collect()
}
