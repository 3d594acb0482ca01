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
    pub template: Template,
    pub limits: BTreeMap<String, Quantity>,
    pub weight: Option<i32>,
    pub replicas: Option<i64>,
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

    /// Whether new claims may be made from it: not static, not going, and not said to be unready.
    pub fn is_open(&self) -> bool {
        let unready = self.status.conditions.iter().any(|one| one.type_ == "Ready" && one.status != "True");
        self.spec.replicas.is_none() && self.metadata.deletion_timestamp.is_none() && !unready
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
