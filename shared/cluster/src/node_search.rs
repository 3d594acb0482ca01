//! Which Nodes are a claim's.

use model::{Claim, Node, Uid, names};

/// Where the Nodes of a claim may be found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeSearch {
    /// Of the claim: its Nodes carry it as a label, where the cloud or we could put one on.
    pub claim: Uid,
    /// Names the Node has or will have, as far as somebody knows one.
    pub names: Vec<String>,
    /// AKS: the agent pool, which its Nodes carry as labels.
    pub agent_pool: Option<String>,
    /// Looked for among all Nodes, but only where nothing else finds one.
    pub provider_id: Option<String>,
}

/// Both, as AKS puts them: somebody's own label alone makes no member of a pool.
pub(crate) const AGENT_POOL_LABELS: [&str; 2] = ["agentpool", "kubernetes.azure.com/agentpool"];

impl NodeSearch {
    /// By what the claim, its record and its status say.
    pub fn of(claim: &Claim) -> Self {
        // A machine that exists has a Node before it is switched on, under a name that its offering knows.
        let host_name = claim.record().and_then(|record| record.offering.labels.get(names::HOSTNAME));
        let mut found: Vec<String> = claim.status.node.iter().chain(host_name).cloned().collect();
        found.dedup();
        // Pools of gpu-provisioner carry no UID; they are called what their claim is called.
        let is_aks = match claim.record() {
            Some(record) => record.offering.id.provider == "aks",
            None => ["AKSNodeClass", "KaitoNodeClass"].contains(&claim.class.kind.as_str()),
        };
        NodeSearch {
            claim: claim.key.claim.clone(),
            names: found,
            agent_pool: is_aks.then(|| claim.key.name.to_string()),
            provider_id: claim.status.provider_id.clone(),
        }
    }

    /// A Node that says whose it is, is believed; one that says nothing is ours by its name, pool or identity.
    pub fn fits(&self, node: &Node) -> bool {
        if let Some(claim) = node.labels.get(names::CLAIM_UID) {
            return claim == self.claim.as_str();
        }
        let of_pool = |pool: &String| AGENT_POOL_LABELS.iter().all(|label| node.labels.get(*label) == Some(pool));
        self.names.iter().any(|name| name == node.name.as_str())
            || self.agent_pool.as_ref().is_some_and(of_pool)
            || (self.provider_id.is_some() && self.provider_id == node.provider_id)
    }
}
