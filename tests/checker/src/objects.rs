//! Karpenter's two kinds as far as a plan depends on them. Unknown fields are passed over: judging manifests is not our job.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Taint;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use serde::{Deserialize, Serialize};

use crate::labels::NODE_POOL;

/// A requirement on labels, as NodePools, NodeClaims, catalogues and answers write it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Requirement {
    pub key: String,
    pub operator: String,
    #[serde(default)]
    pub values: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_values: Option<usize>,
}

impl Requirement {
    /// Whether it has the values that its operator needs.
    pub fn makes_sense(&self) -> bool {
        match self.operator.as_str() {
            "In" | "NotIn" => !self.values.is_empty(),
            "Exists" | "DoesNotExist" => self.values.is_empty(),
            "Gt" | "Lt" | "Gte" | "Lte" => {
                matches!(self.values.as_slice(), [one] if one.parse::<i64>().is_ok_and(|number| number >= 0))
            }
            _ => false,
        }
    }
}

/// `karpenter.sh/v1` NodePool.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct NodePool {
    pub metadata: ObjectMeta,
    pub spec: NodePoolSpec,
    pub status: NodePoolStatus,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct NodePoolSpec {
    pub disruption: PoolDisruption,
    pub template: Template,
    pub limits: BTreeMap<String, Quantity>,
    pub weight: Option<i32>,
    pub replicas: Option<i64>,
}

/// What a pool says about taking its nodes away; what it does not say is as Karpenter's schema has it.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PoolDisruption {
    pub consolidate_after: String,
    pub consolidation_policy: String,
    pub budgets: Vec<NodeBudget>,
}

/// How many nodes of a pool may go at a time.
#[derive(Debug, Clone, Deserialize)]
#[serde(default)]
pub struct NodeBudget {
    pub nodes: String,
    pub reasons: Vec<String>,
    pub schedule: Option<String>,
    pub duration: Option<String>,
}

impl Default for PoolDisruption {
    fn default() -> Self {
        Self {
            consolidate_after: "0s".to_owned(),
            consolidation_policy: "WhenEmptyOrUnderutilized".to_owned(),
            budgets: vec![NodeBudget::default()],
        }
    }
}

impl Default for NodeBudget {
    fn default() -> Self {
        Self { nodes: "10%".to_owned(), reasons: Vec::new(), schedule: None, duration: None }
    }
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct NodePoolStatus {
    pub conditions: Vec<Condition>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Template {
    pub metadata: TemplateMeta,
    pub spec: NodeClaimSpec,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct TemplateMeta {
    pub labels: BTreeMap<String, String>,
}

/// `karpenter.sh/v1` NodeClaim.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct NodeClaim {
    pub metadata: ObjectMeta,
    pub spec: NodeClaimSpec,
    pub status: NodeClaimStatus,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct NodeClaimSpec {
    pub requirements: Vec<Requirement>,
    pub taints: Vec<Taint>,
    pub startup_taints: Vec<Taint>,
    pub resources: ClaimResources,
    pub node_class_ref: NodeClassRef,
    pub expire_after: Option<String>,
    pub termination_grace_period: Option<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct NodeClassRef {
    pub group: String,
    pub kind: String,
    pub name: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct ClaimResources {
    pub requests: BTreeMap<String, Quantity>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct NodeClaimStatus {
    pub node_name: String,
    #[serde(rename = "providerID")]
    pub provider_id: String,
    pub capacity: BTreeMap<String, Quantity>,
    pub allocatable: BTreeMap<String, Quantity>,
    pub conditions: Vec<Condition>,
    pub last_pod_event_time: Option<String>,
}

impl NodePool {
    pub fn name(&self) -> &str {
        self.metadata.name.as_deref().unwrap_or_default()
    }

    /// The labels that every node of the pool has: those of the template, the pool's name, and its class.
    pub fn labels(&self) -> BTreeMap<String, String> {
        let mut labels = self.spec.template.metadata.labels.clone();
        labels.insert(NODE_POOL.to_owned(), self.name().to_owned());
        let class = &self.spec.template.spec.node_class_ref;
        if !class.kind.is_empty() {
            labels.insert(format!("{}/{}", class.group, class.kind.to_lowercase()), class.name.clone());
        }
        labels
    }

    /// Whether new claims may be made from it: not static, not going, not said to be unready, and one that can be read.
    pub fn is_open(&self) -> bool {
        let unready = self.status.conditions.iter().any(|one| one.type_ == "Ready" && one.status != "True");
        let readable = self.spec.template.spec.requirements.iter().all(Requirement::makes_sense);
        self.spec.replicas.is_none() && self.metadata.deletion_timestamp.is_none() && !unready && readable
    }
}

impl NodeClaim {
    pub fn name(&self) -> &str {
        self.metadata.name.as_deref().unwrap_or_default()
    }

    /// What a condition says, where the claim has it.
    pub fn condition(&self, kind: &str) -> Option<bool> {
        self.status.conditions.iter().find(|one| one.type_ == kind).map(|one| one.status == "True")
    }
}
