//! What carries the UID of a claim that is gone: machines, what machines left, and Nodes.

use model::{InstanceKey, Node, ObjectName, Owned, Truth, Uid, names};
use std::collections::BTreeMap;

use super::{Situation, is_young};

/// Everything of one claim that is gone, at one provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Orphan {
    pub key: InstanceKey,
    pub provider: &'static str,
    pub owned: Vec<Owned>,
    pub nodes: Vec<Node>,
}

/// The provider of machines of one's own.
const RACK: &str = "power";
/// As AKS puts it on its Nodes.
const AGENT_POOL: &str = "kubernetes.azure.com/agentpool";

/// Those that are proved to be of this cluster.
pub(super) fn find(seen: &Situation) -> Vec<Orphan> {
    all(seen).into_iter().filter(|orphan| orphan.is_proved(seen)).collect()
}

/// What has no claim here, and nothing that says that it is of this cluster. It may well be another cluster's.
pub(super) fn unproved(seen: &Situation) -> Vec<Orphan> {
    all(seen).into_iter().filter(|orphan| !orphan.is_proved(seen)).collect()
}

fn all(seen: &Situation) -> Vec<Orphan> {
    let is_gone = |uid: &Uid| !seen.known_before.contains(uid) && !seen.known_after.contains(uid);
    let mut found: BTreeMap<(Uid, &'static str), Orphan> = BTreeMap::new();
    for (provider, all) in &seen.clouds {
        for owned in all.iter().filter(|owned| is_gone(&owned.key.claim)) {
            let orphan = found.entry((owned.key.claim.clone(), *provider)).or_insert_with(|| Orphan {
                key: owned.key.clone(),
                provider,
                owned: Vec::new(),
                nodes: Vec::new(),
            });
            orphan.owned.push(owned.clone());
        }
    }
    for node in &seen.nodes {
        let labelled = claim_of(node);
        let holder = found.values_mut().find(|orphan| orphan.has(node, labelled.as_ref()));
        match (holder, labelled) {
            (Some(orphan), _) => orphan.nodes.push(node.clone()),
            (None, Some(uid)) if is_gone(&uid) => {
                let Some(orphan) = of_node_alone(seen, node, uid) else { continue };
                found.insert((orphan.key.claim.clone(), orphan.provider), orphan);
            }
            (None, _) => {}
        }
    }
    found.into_values().filter(|orphan| !orphan.is_young(seen)).collect()
}

/// A Node whose machine is in no list. One that is ready has a machine after all, and somebody has to look at that.
fn of_node_alone(seen: &Situation, node: &Node, claim: Uid) -> Option<Orphan> {
    let provider = provider_of_node(node);
    let alone = seen.clouds.contains_key(provider) && node.ready != Truth::True;
    // A pool is found by its name; everything else by the UID alone.
    let name = node.labels.get(AGENT_POOL).and_then(|pool| ObjectName::new(pool).ok());
    let key = InstanceKey { claim, name: name.unwrap_or_else(|| node.name.clone()) };
    alone.then(|| Orphan { key, provider, owned: Vec::new(), nodes: vec![node.clone()] })
}

/// Who would have the machine of a Node, by the identity that its kubelet gives.
pub fn provider_of_node(node: &Node) -> &'static str {
    match node.provider_id.as_deref().unwrap_or_default().split_once("://") {
        Some(("azure", _)) => "aks",
        Some(("scaleway", _)) => "scaleway",
        _ => RACK,
    }
}

fn claim_of(node: &Node) -> Option<Uid> {
    Uid::new(node.labels.get(names::CLAIM_UID)?).ok()
}

impl Orphan {
    /// A Node that says whose it is, is believed; one that says nothing is known by its identity.
    fn has(&self, node: &Node, labelled: Option<&Uid>) -> bool {
        let instances = || self.owned.iter().filter_map(|owned| owned.instance.as_ref());
        match labelled {
            Some(claim) => *claim == self.key.claim,
            None => instances().any(|instance| {
                let by_id = node.provider_id.as_deref().is_some_and(|id| instance.node_provider_id() == Some(id));
                by_id || instance.node.as_deref() == Some(node.name.as_str())
            }),
        }
    }

    /// By what stands on any of it, for a UID is of one cluster only; or by a Node of this cluster that carries the same UID.
    fn is_proved(&self, seen: &Situation) -> bool {
        let of_claim = |node: &Node| claim_of(node).as_ref() == Some(&self.key.claim);
        self.owned.iter().any(|owned| owned.is_of_this_cluster) || seen.nodes.iter().any(of_claim)
    }

    fn is_young(&self, seen: &Situation) -> bool {
        let mut made = self.owned.iter().filter_map(|owned| owned.instance.as_ref()?.created_at);
        made.any(|made| is_young(made, seen.now))
    }

    pub fn has_instance(&self) -> bool {
        self.owned.iter().any(|owned| owned.instance.is_some())
    }

    pub(super) fn kind(&self) -> &'static str {
        match (self.has_instance(), self.owned.is_empty()) {
            (true, _) => "machine-without-claim",
            (false, false) => "left-over-of-a-machine",
            (false, true) => "node-without-claim",
        }
    }

    /// For people: `NodeClaim gpu-1 (24b4…)`. A cloud has the name that we wrote on what it holds; the Lease of a machine and a Node
    /// that is left alone have the UID only, and the name in our key stands in for one.
    pub fn whose(&self) -> String {
        if self.owned.is_empty() || self.provider == RACK {
            return format!("the NodeClaim with the UID {}", self.key.claim);
        }
        format!("NodeClaim {} ({})", self.key.name, self.key.claim)
    }

    /// For people: `server 6f1c in fr-par-2, block volume 77aa in fr-par-2`.
    pub fn what(&self) -> String {
        let owned = self.owned.iter().map(|owned| owned.what.clone());
        let nodes = self.nodes.iter().map(|node| format!("node {}", node.name));
        owned.chain(nodes).collect::<Vec<_>>().join(", ")
    }
}
