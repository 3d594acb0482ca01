//! Kubernetes objects on the wire, only as far as they are read: everything else is skipped while it is decoded.
//!
//! No field has to be there and no amount has to make sense: one odd object must not stop a list of thousands.

use core::fmt;
use k8s_openapi::{api::core::v1 as kube, apimachinery::pkg::api::resource::Quantity as KubeQuantity};
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
    pub creation_timestamp: Option<String>,
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
    pub overhead: AmountTexts,
    pub resources: Option<Asked>,
    pub affinity: Option<kube::Affinity>,
    pub volumes: Vec<Volume>,
    pub host_network: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Container {
    pub resources: Option<Asked>,
    pub restart_policy: Option<String>,
    pub ports: Vec<kube::ContainerPort>,
}

/// As they are written: whether they make sense is asked where all of a pod is read.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Asked {
    pub requests: AmountTexts,
    pub limits: AmountTexts,
}

pub type AmountTexts = BTreeMap<String, AmountText>;

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Volume {
    pub name: String,
    pub persistent_volume_claim: Option<VolumeClaim>,
    pub ephemeral: Option<serde::de::IgnoredAny>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct VolumeClaim {
    pub claim_name: String,
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
    pub capacity: Amounts,
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

/// An amount as text, whatever it was written as.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AmountText(pub String);

impl<'de> Deserialize<'de> for AmountText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextVisitor)
    }
}

struct TextVisitor;

impl Visitor<'_> for TextVisitor {
    type Value = AmountText;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a quantity")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<AmountText, E> {
        Ok(AmountText(text.to_owned()))
    }

    fn visit_string<E: Error>(self, text: String) -> Result<AmountText, E> {
        Ok(AmountText(text))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<AmountText, E> {
        Ok(AmountText(number.to_string()))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<AmountText, E> {
        Ok(AmountText(number.to_string()))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<AmountText, E> {
        Ok(AmountText(number.to_string()))
    }

    fn visit_unit<E: Error>(self) -> Result<AmountText, E> {
        Ok(AmountText::default())
    }
}

/// Only what a pod takes of its node: for the one reader of that.
impl PodSpec {
    pub fn taken(self) -> kube::PodSpec {
        let container = |given: Container| kube::Container {
            resources: given.resources.map(asked),
            restart_policy: given.restart_policy,
            ports: Some(given.ports).filter(|ports| !ports.is_empty()),
            ..kube::Container::default()
        };
        kube::PodSpec {
            containers: self.containers.into_iter().map(container).collect(),
            init_containers: Some(self.init_containers.into_iter().map(container).collect()),
            overhead: Some(quantities(self.overhead)),
            resources: self.resources.map(asked),
            affinity: self.affinity,
            host_network: Some(self.host_network),
            ..kube::PodSpec::default()
        }
    }
}

fn asked(given: Asked) -> kube::ResourceRequirements {
    kube::ResourceRequirements {
        requests: Some(quantities(given.requests)),
        limits: Some(quantities(given.limits)),
        ..kube::ResourceRequirements::default()
    }
}

fn quantities(given: AmountTexts) -> BTreeMap<String, KubeQuantity> {
    given.into_iter().map(|(name, AmountText(text))| (name, KubeQuantity(text))).collect()
}

/// What cannot be read is left out: a request that nobody understands holds nothing back.
pub fn resources(amounts: Amounts) -> Resources {
    amounts.into_iter().filter_map(|(name, Amount(amount))| Some((name, amount?))).collect()
}
