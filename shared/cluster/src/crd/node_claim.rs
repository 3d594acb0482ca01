//! `karpenter.sh/v1` NodeClaim: one machine that is asked for.

use super::requirement::{
    NodeClassReference, RequirementWithMinimum, comparisons_need_one_number, in_needs_values, values_reach_the_minimum,
};
use super::schema::{self, DURATION, DURATION_OR_NEVER};
use k8s_openapi::{
    api::core::v1::Taint,
    apimachinery::pkg::{api::resource::Quantity, apis::meta::v1::Condition},
};
use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The machine that is wanted. It cannot be changed: delete the claim and make another.
#[derive(Debug, Clone, Default, CustomResource, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "karpenter.sh",
    version = "v1",
    kind = "NodeClaim",
    plural = "nodeclaims",
    category = "karpenter",
    status = "NodeClaimStatus",
    doc = "A NodeClaim asks for one machine, and says how far it has come to being a node.",
    printcolumn(name = "Type", type_ = "string", json_path = r".metadata.labels.node\.kubernetes\.io/instance-type"),
    printcolumn(name = "Capacity", type_ = "string", json_path = r".metadata.labels.karpenter\.sh/capacity-type"),
    printcolumn(name = "Zone", type_ = "string", json_path = r".metadata.labels.topology\.kubernetes\.io/zone"),
    printcolumn(name = "Node", type_ = "string", json_path = ".status.nodeName"),
    printcolumn(name = "Ready", type_ = "string", json_path = r#".status.conditions[?(@.type=="Ready")].status"#),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "ImageID", type_ = "string", json_path = ".status.imageID", priority = 1),
    printcolumn(name = "ID", type_ = "string", json_path = ".status.providerID", priority = 1),
    printcolumn(
        name = "NodePool",
        type_ = "string",
        json_path = r".metadata.labels.karpenter\.sh/nodepool",
        priority = 1
    ),
    printcolumn(name = "NodeClass", type_ = "string", json_path = ".spec.nodeClassRef.name", priority = 1),
    printcolumn(
        name = "Drifted",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Drifted")].status"#,
        priority = 1
    )
)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = ("self == oldSelf", "spec is immutable"))]
pub struct NodeClaimSpec {
    /// Taints of the node. Only pods that tolerate them count for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::taints")]
    pub taints: Vec<Taint>,
    /// Taints that the node starts with and that something in the cluster takes away soon. Pods need not tolerate them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::taints")]
    pub startup_taints: Vec<Taint>,
    /// What the node's labels have to be. They decide which machine types, zones and capacity types are possible.
    #[schemars(length(max = 100))]
    #[x_kube(validation = in_needs_values())]
    #[x_kube(validation = comparisons_need_one_number())]
    #[x_kube(validation = values_reach_the_minimum())]
    pub requirements: Vec<RequirementWithMinimum>,
    /// What the machine has to have at least.
    #[serde(default, skip_serializing_if = "Requests::is_empty")]
    pub resources: Requests,
    /// The node class: what the cloud is told beyond the requirements.
    pub node_class_ref: NodeClassReference,
    /// How long pods may delay the end of the node, as in 30m or 2h45m. After that they are ended, whatever protects them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = DURATION))]
    pub termination_grace_period: Option<String>,
    /// How long the node lives at most, as in 720h; Never for no end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = DURATION_OR_NEVER), extend("default" = "720h"))]
    pub expire_after: Option<String>,
}

/// What the machine has to have at least.
#[derive(Debug, Clone, Default, Serialize, Deserialize, KubeSchema)]
pub struct Requests {
    /// Amounts by resource, as in nvidia.com/gpu: 1 or storage: 200Gi.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub requests: BTreeMap<String, Quantity>,
}

impl Requests {
    fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }
}

/// How far the claim has come.
#[derive(Debug, Clone, Default, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeClaimStatus {
    /// The Node that the machine became.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_name: Option<String>,
    /// What the cloud calls the machine.
    #[serde(default, rename = "providerID", skip_serializing_if = "Option::is_none")]
    pub provider_id: Option<String>,
    /// The image that the machine was made from.
    #[serde(default, rename = "imageID", skip_serializing_if = "Option::is_none")]
    pub image_id: Option<String>,
    /// What the machine has.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub capacity: BTreeMap<String, Quantity>,
    /// What of it pods can have.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub allocatable: BTreeMap<String, Quantity>,
    /// Launched, Registered, Initialized, Ready and others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
    /// When a pod last came to the node or left it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub last_pod_event_time: Option<String>,
}
