//! What taking nodes away looks at beyond the scene: nodes with their claims, pods with their budgets, pools with their rules.

mod pods;
mod pools;

pub use pools::{class_hash, class_notes, class_now};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node as KubeNode;
use model::{
    ConditionKind, Truth,
    disruption::{ClaimHere, Drift, Hash, Inventory, NodeHere, Paused, PoolHere, Unhealthy},
    names,
    place::NodeStage,
};
use serde_json::Value;
use std::collections::BTreeMap;

use super::{SceneRead, SceneSource, pools::fixed_size, volumes};
use crate::{
    read_claim::{ClaimAsRead, ClaimRead},
    read_node::read_node,
};

/// What objects of the cluster do not say by themselves. All of it may be left out.
#[derive(Debug, Clone, Default)]
pub struct Told {
    /// The node that the deciding process runs on.
    pub own_node: Option<String>,
    /// What repair policies found, by node.
    pub unhealthy: BTreeMap<String, Unhealthy>,
    /// What nodes made now would be, by kind and name of their class.
    pub classes: BTreeMap<(String, String), ClassNow>,
    /// Pools whose replacements keep failing.
    pub paused: BTreeMap<String, Paused>,
    /// When a machine of a rack was switched last, or a command on a node was undone, by node.
    pub changed_at: BTreeMap<String, Timestamp>,
}

/// A node class as it is now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClassNow {
    pub hash: Option<Hash>,
    pub images: Vec<String>,
    pub kubernetes_version: Option<String>,
}

/// How old a node may get where nobody says so.
const USUAL_EXPIRY: jiff::SignedDuration = jiff::SignedDuration::from_hours(720);
const CONTROL_PLANE: [&str; 2] = ["node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"];

/// For a scene that was read from the same source.
pub fn read_inventory(source: &SceneSource, read: &SceneRead, told: &Told) -> Inventory {
    let lookup = volumes::Lookup::new(source);
    let (budgets, pod_budgets) = pods::budgets(source);
    let pods = pods::pods(source, read, &lookup, &budgets);
    let claims = Claims::new(source);
    let mut nodes = vec![];
    let by_name: BTreeMap<&str, &KubeNode> =
        source.nodes.iter().filter_map(|node| Some((node.metadata.name.as_deref()?, node))).collect();
    let came = pods::last_came(source);
    let mut nominated = pods::nominated(source);
    for (at, there) in read.scene.nodes.iter().enumerate().filter(|(_, node)| node.stage != NodeStage::InFlight) {
        let Some(raw) = by_name.get(there.name.as_str()) else { continue };
        let mut here = node(at, raw, &claims, told, source.now);
        if let Some(here) = &mut here {
            // Where nobody notes when pods come and go, the last one that came is the least that is known.
            here.last_came = came.get(there.name.as_str()).copied();
            here.nominated = nominated.remove(there.name.as_str());
            if let Some(claim) = &mut here.claim {
                claim.last_pod_event = claim.last_pod_event.or_else(|| here.last_came.max(claim.initialized_at));
            }
        }
        nodes.extend(here);
    }
    let by_pool = |pool: &model::place::Pool| {
        let given = source.pools.iter().find(|one| one.pool.metadata.name.as_deref() == Some(pool.name.as_str()));
        let fixed_size = given.and_then(|given| fixed_size(pool, &given.pool));
        PoolHere { fixed_size, ..pools::pool(given.map(|one| &one.pool), told) }
    };
    Inventory { nodes, pods, pod_budgets, pools: read.scene.pools.iter().map(by_pool).collect() }
}

fn node(at: usize, raw: &KubeNode, claims: &Claims<'_>, told: &Told, now: Timestamp) -> Option<NodeHere> {
    let kubelet_version = raw.status.as_ref().and_then(|status| status.node_info.as_ref());
    let kubelet_version = kubelet_version.map(|info| info.kubelet_version.clone()).filter(|text| !text.is_empty());
    let node = read_node(raw.clone()).ok()?;
    let name = node.name.as_str();
    let claim = claims.of(node.provider_id.as_deref(), name);
    let notes = |key: &str| {
        let on_claim = claim.and_then(|read| read.claim.annotations.get(key));
        [node.annotations.get(key), on_claim].into_iter().flatten()
    };
    let since = claim.map_or(node.created_at, |read| read.claim.created_at);
    let tainted = node.taints.iter().any(|taint| taint.key == names::DISRUPTED_TAINT);
    Some(NodeHere {
        node: at,
        created_at: node.created_at,
        claim: claim.map(claim_here),
        ready: node.ready == Truth::True,
        cordoned: node.unschedulable,
        do_not_disrupt: notes(names::DO_NOT_DISRUPT).any(|value| model::duration::protects(value, since, now)),
        do_not_repair: notes(names::DO_NOT_REPAIR).any(|value| value == "true"),
        control_plane: CONTROL_PLANE.iter().any(|label| node.labels.contains_key(*label)),
        runs_us: told.own_node.as_deref() == Some(name),
        disrupted: tainted || claim.is_some_and(|read| condition(&read.status, "DisruptionReason").is_some()),
        nominated: None,
        unhealthy: told.unhealthy.get(name).cloned(),
        kubelet_version,
        last_came: None,
        changed_at: told.changed_at.get(name).copied(),
    })
}

fn claim_here(read: &ClaimAsRead) -> ClaimHere {
    let claim = &read.claim;
    let initialized = claim.condition(ConditionKind::Initialized).filter(|_| claim.is(ConditionKind::Initialized));
    let said_nothing = claim.status.conditions.is_empty();
    let hash = |key: &str, version: &str| {
        let value = claim.annotations.get(key)?.clone();
        Some(Hash { value, version: claim.annotations.get(version).cloned().unwrap_or_default() })
    };
    let of_class = class_hash_key(&claim.class.group, &claim.class.kind);
    ClaimHere {
        key: claim.key.clone(),
        created_at: claim.created_at,
        initialized_at: initialized.map(|one| one.since).or_else(|| said_nothing.then_some(claim.created_at)),
        last_pod_event: read.status["lastPodEventTime"].as_str().and_then(|text| text.parse().ok()),
        expire_after: lifetime(read.expire_after.as_deref()),
        termination_grace: claim.termination_grace,
        drifted: condition(&read.status, "Drifted").map(|raw| drift(raw, claim.created_at)),
        pool_hash: hash(names::POOL_HASH, names::POOL_HASH_VERSION),
        class_hash: hash(&of_class, &format!("{of_class}-version")),
        image: claim.status.image.clone(),
    }
}

/// `Never` has no end. What cannot be read has none either: nothing goes on a guess.
fn lifetime(text: Option<&str>) -> Option<jiff::SignedDuration> {
    match text {
        None => Some(USUAL_EXPIRY),
        Some(text) => model::duration::parse(text).filter(|time| !time.is_negative()),
    }
}

/// The annotation under which claims carry what their class was, as in `karpenter.azure.com/aksnodeclass-hash`.
fn class_hash_key(group: &str, kind: &str) -> String {
    format!("{group}/{}-hash", kind.to_ascii_lowercase())
}

/// A condition that is True.
fn condition<'a>(status: &'a Value, kind: &str) -> Option<&'a Value> {
    let all = status["conditions"].as_array()?;
    all.iter().find(|one| one["type"] == kind && one["status"] == "True")
}

fn drift(raw: &Value, created_at: Timestamp) -> Drift {
    let text = |field: &str| raw[field].as_str().unwrap_or_default().to_owned();
    let reason = if text("reason").is_empty() { "Drifted".to_owned() } else { text("reason") };
    Drift { reason, message: text("message"), since: text("lastTransitionTime").parse().unwrap_or(created_at) }
}

/// Claims by what ties them to their node.
struct Claims<'a> {
    by_provider_id: BTreeMap<&'a str, &'a ClaimAsRead>,
    by_node: BTreeMap<&'a str, &'a ClaimAsRead>,
}

impl<'a> Claims<'a> {
    fn new(source: &'a SceneSource) -> Self {
        let mut claims = Claims { by_provider_id: BTreeMap::new(), by_node: BTreeMap::new() };
        for read in &source.claims {
            let ClaimRead::Claim(read) = read else { continue };
            let status = &read.claim.status;
            claims.by_provider_id.extend(status.provider_id.as_deref().map(|id| (id, &**read)));
            claims.by_node.extend(status.node.as_deref().map(|node| (node, &**read)));
        }
        claims
    }

    /// By provider ID; by name where one of them has none yet.
    fn of(&self, provider_id: Option<&str>, name: &str) -> Option<&'a ClaimAsRead> {
        let by_id = provider_id.and_then(|id| self.by_provider_id.get(id));
        let by_name =
            self.by_node.get(name).filter(|read| provider_id.is_none() || read.claim.status.provider_id.is_none());
        by_id.or(by_name).copied()
    }
}
