//! Kubernetes objects on the wire, only as far as they are read: everything else is skipped while it is decoded.
//!
//! No field has to be there and no amount has to make sense: one odd object must not stop a list of thousands.

use core::fmt;
use model::{Quantity, Resources};
use serde::{
    Deserialize, Deserializer,
    de::{Error, Visitor},
};
use std::collections::BTreeMap;

pub type Texts = BTreeMap<String, String>;
pub type Amounts = BTreeMap<String, Amount>;

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Meta {
    pub name: String,
    pub namespace: Option<String>,
    pub uid: String,
    pub resource_version: String,
    pub generation: i64,
    pub deletion_timestamp: Option<String>,
    pub labels: Texts,
    pub annotations: Texts,
    pub finalizers: Vec<String>,
    pub owner_references: Vec<Owner>,
}

/// The metadata of what comes by the ten thousand: without annotations, which can be long.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PodMeta {
    pub name: String,
    pub namespace: Option<String>,
    pub uid: String,
    pub resource_version: String,
    pub deletion_timestamp: Option<String>,
    pub labels: Texts,
    pub owner_references: Vec<Owner>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Owner {
    pub kind: String,
    pub name: String,
    pub uid: String,
    pub controller: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Condition {
    #[serde(rename = "type")]
    pub kind: String,
    pub status: String,
    pub reason: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Pod {
    pub metadata: PodMeta,
    pub spec: PodSpec,
    pub status: PodStatus,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PodSpec {
    pub node_name: Option<String>,
    pub node_selector: Texts,
    pub tolerations: Vec<Toleration>,
    pub containers: Vec<Container>,
    pub init_containers: Vec<Container>,
    pub overhead: Amounts,
    pub resources: Option<Requests>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Container {
    pub resources: Requests,
    pub restart_policy: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Requests {
    pub requests: Amounts,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(default)]
pub struct Toleration {
    pub key: Option<String>,
    pub operator: Option<String>,
    pub value: Option<String>,
    pub effect: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PodStatus {
    pub phase: Option<String>,
    pub nominated_node_name: Option<String>,
    pub conditions: Vec<Condition>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Node {
    pub metadata: Meta,
    pub spec: NodeSpec,
    pub status: NodeStatus,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct NodeSpec {
    #[serde(rename = "providerID")]
    pub provider_id: Option<String>,
    pub taints: Vec<Taint>,
    pub unschedulable: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Taint {
    pub key: String,
    pub value: String,
    pub effect: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct NodeStatus {
    pub allocatable: Amounts,
    pub conditions: Vec<Condition>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Claim {
    pub metadata: Meta,
    pub spec: ClaimSpec,
    pub status: ClaimStatus,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ClaimSpec {
    pub node_class_ref: ClassRef,
    pub requirements: Vec<Requirement>,
    pub resources: Requests,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(default)]
pub struct ClassRef {
    pub group: String,
    pub kind: String,
    pub name: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Requirement {
    pub key: String,
    pub operator: String,
    pub values: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ClaimStatus {
    pub node_name: Option<String>,
    #[serde(rename = "providerID")]
    pub provider_id: Option<String>,
    pub conditions: Vec<Condition>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Pool {
    pub metadata: Meta,
    pub spec: PoolSpec,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct PoolSpec {
    pub weight: i64,
    pub limits: Amounts,
    pub template: PoolTemplate,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct PoolTemplate {
    pub spec: ClaimSpec,
}

/// KAITO has no `spec`: what is asked for stands at the top.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Workspace {
    pub metadata: Meta,
    pub resource: WorkspaceResource,
    pub inference: Option<WorkspaceUse>,
    pub tuning: Option<WorkspaceUse>,
    pub status: WorkspaceStatus,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct WorkspaceResource {
    pub instance_type: Option<String>,
    pub count: Option<u32>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct WorkspaceUse {
    pub preset: Option<Preset>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Preset {
    pub name: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct WorkspaceStatus {
    pub conditions: Vec<Condition>,
}

/// An amount, written as text or as a number; `None` if it is neither a quantity nor anything else we can read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Amount(pub Option<Quantity>);

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AmountVisitor)
    }
}

struct AmountVisitor;

impl Visitor<'_> for AmountVisitor {
    type Value = Amount;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a quantity")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Amount, E> {
        Ok(Amount(text.parse().ok()))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Amount, E> {
        Ok(Amount(Some(Quantity::from_thousandths(i128::from(number) * 1000))))
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Amount, E> {
        Ok(Amount(None))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Amount, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_unit<E: Error>(self) -> Result<Amount, E> {
        Ok(Amount(None))
    }
}

/// What cannot be read is left out: a request that nobody understands holds nothing back.
pub fn resources(amounts: Amounts) -> Resources {
    amounts.into_iter().filter_map(|(name, Amount(amount))| Some((name, amount?))).collect()
}
