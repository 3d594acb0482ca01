//! `karpenter.sh/v1` NodePool: which machines may be made for pods, and when they may be taken away again.

use super::requirement::{
    NodeClassReference, RequirementWithMinimum, comparisons_need_one_number, in_needs_values, values_reach_the_minimum,
};
use super::schema::{self, DURATION, DURATION_OR_NEVER, LABEL_VALUE};
use k8s_openapi::{
    api::core::v1::Taint,
    apimachinery::pkg::{api::resource::Quantity, apis::meta::v1::Condition},
};
use kube::{CustomResource, KubeSchema};
use schemars::{Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Which nodes the pool makes, how many, and when they go.
#[derive(Debug, Clone, Default, CustomResource, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "karpenter.sh",
    version = "v1",
    kind = "NodePool",
    plural = "nodepools",
    category = "karpenter",
    status = "NodePoolStatus",
    doc = "A NodePool says which nodes may be made for pods that wait, and when nodes may be taken away again.",
    scale(spec_replicas_path = ".spec.replicas", status_replicas_path = ".status.nodes"),
    printcolumn(name = "NodeClass", type_ = "string", json_path = ".spec.template.spec.nodeClassRef.name"),
    printcolumn(name = "Nodes", type_ = "string", json_path = ".status.nodes"),
    printcolumn(name = "Ready", type_ = "string", json_path = r#".status.conditions[?(@.type=="Ready")].status"#),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "Weight", type_ = "integer", json_path = ".spec.weight", priority = 1),
    printcolumn(name = "CPU", type_ = "string", json_path = ".status.resources.cpu", priority = 1),
    printcolumn(name = "Memory", type_ = "string", json_path = ".status.resources.memory", priority = 1)
)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = (
    "has(self.replicas) == has(oldSelf.replicas)",
    "Cannot transition NodePool between static (replicas set) and dynamic (replicas unset) provisioning modes"
))]
#[x_kube(validation = (
    "!has(self.replicas) || !has(self.limits) || self.limits.all(name, name == 'nodes')",
    "only 'limits.nodes' is supported on static NodePools"
))]
#[x_kube(validation = ("!has(self.replicas) || !has(self.weight)", "'weight' is not supported on static NodePools"))]
pub struct NodePoolSpec {
    /// What every NodeClaim of the pool starts from.
    pub template: NodeClaimTemplate,
    /// When nodes may be taken away or replaced.
    #[serde(default)]
    pub disruption: Disruption,
    /// No node is made that would bring the pool over one of these, as in cpu: 1000 or nodes: 8.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 100))]
    pub limits: BTreeMap<String, Quantity>,
    /// Pools with a greater weight are tried first. A pool without one has weight 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100))]
    pub weight: Option<i64>,
    /// A fixed number of nodes, whatever pods wait. Without it, pods decide. A pool cannot change from one to the other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub replicas: Option<i64>,
}

/// What every NodeClaim of the pool starts from.
#[derive(Debug, Clone, Default, Serialize, Deserialize, KubeSchema)]
pub struct NodeClaimTemplate {
    /// Labels and annotations of the nodes.
    #[serde(default, skip_serializing_if = "TemplateMetadata::is_empty")]
    pub metadata: TemplateMetadata,
    /// The nodes themselves.
    pub spec: NodeClaimTemplateSpec,
}

/// Labels and annotations of the nodes.
#[derive(Debug, Clone, Default, Serialize, Deserialize, KubeSchema)]
pub struct TemplateMetadata {
    /// Labels of the nodes. Pods that select them can be served by the pool.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "node_labels")]
    #[x_kube(validation = (
        "self.all(x, x in ['karpenter.sh/capacity-type', 'karpenter.sh/nodepool'] || \
         !x.split('/')[0].endsWith('karpenter.sh'))",
        "label domain \"karpenter.sh\" is restricted"
    ))]
    #[x_kube(validation = (
        "self.all(x, x != 'karpenter.sh/nodepool')",
        "label \"karpenter.sh/nodepool\" is restricted"
    ))]
    #[x_kube(validation = (
        "self.all(x, x != 'kubernetes.io/hostname')",
        "label \"kubernetes.io/hostname\" is restricted"
    ))]
    #[x_kube(validation = (
        "self.all(x, x.size() <= 316 && x.matches('^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$'))",
        "label keys must be qualified names, as in example.com/name"
    ))]
    pub labels: BTreeMap<String, String>,
    /// Annotations of the nodes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

impl TemplateMetadata {
    fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.annotations.is_empty()
    }
}

/// The nodes of the pool: as in a NodeClaim, but without amounts, which come from the pods.
#[derive(Debug, Clone, Default, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeClaimTemplateSpec {
    /// Taints of the nodes. Only pods that tolerate them can be served by the pool.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::taints")]
    pub taints: Vec<Taint>,
    /// Taints that nodes start with and that something in the cluster takes away soon. Pods need not tolerate them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::taints")]
    pub startup_taints: Vec<Taint>,
    /// What the nodes' labels may be: machine types, zones, capacity types, and labels of your own.
    #[schemars(length(max = 100))]
    #[x_kube(validation = in_needs_values())]
    #[x_kube(validation = comparisons_need_one_number())]
    #[x_kube(validation = values_reach_the_minimum())]
    #[x_kube(validation = (
        "self.all(x, x.key != 'karpenter.sh/nodepool')",
        "label \"karpenter.sh/nodepool\" is restricted"
    ))]
    pub requirements: Vec<RequirementWithMinimum>,
    /// The node class: what the cloud is told beyond the requirements. Another name may be put here, not another kind.
    #[x_kube(validation = ("self.group == oldSelf.group", "nodeClassRef.group is immutable"))]
    #[x_kube(validation = ("self.kind == oldSelf.kind", "nodeClassRef.kind is immutable"))]
    pub node_class_ref: NodeClassReference,
    /// How long pods may delay the end of a node, as in 30m or 2h45m. After that they are ended, whatever protects them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = DURATION))]
    pub termination_grace_period: Option<String>,
    /// How long a node lives at most, as in 720h; Never for no end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = DURATION_OR_NEVER), extend("default" = "720h"))]
    pub expire_after: Option<String>,
}

/// When nodes may be taken away or replaced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Disruption {
    /// How long a node is left alone after the last pod came or went, as in 5m; Never to leave it alone for ever.
    #[serde(default = "at_once")]
    #[schemars(regex(pattern = DURATION_OR_NEVER))]
    pub consolidate_after: String,
    /// Which nodes may be taken away to save money: empty ones, those whose pods fit elsewhere too, or those where the
    /// saving is worth the disturbance.
    #[serde(default = "when_empty_or_underutilized")]
    #[schemars(extend("enum" = ["WhenEmpty", "WhenEmptyOrUnderutilized", "Balanced"]))]
    pub consolidation_policy: String,
    /// How many nodes of the pool may be going at a time. The tightest budget that is active counts.
    #[serde(default = "one_budget")]
    #[schemars(length(max = 50))]
    #[x_kube(validation = (
        "self.all(x, has(x.schedule) == has(x.duration))",
        "'schedule' must be set with 'duration'"
    ))]
    pub budgets: Vec<Budget>,
}

impl Default for Disruption {
    fn default() -> Self {
        Disruption {
            consolidate_after: at_once(),
            consolidation_policy: when_empty_or_underutilized(),
            budgets: one_budget(),
        }
    }
}

/// How many nodes may be going at a time, for some reasons, at some times.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
pub struct Budget {
    /// A number of nodes, or a share of the pool, as in 10%.
    #[serde(default = "ten_percent")]
    #[schemars(regex(pattern = "^((100|[0-9]{1,2})%|[0-9]+)$"))]
    pub nodes: String,
    /// For which reasons the budget counts; for all of them if there are none here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "reasons")]
    pub reasons: Vec<String>,
    /// When the budget begins to count: five cron fields or a word such as @daily, in UTC. Always, if not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(max = 256),
        regex(pattern = r"^(@(annually|yearly|monthly|weekly|daily|midnight|hourly)|\S+(\s+\S+){4})$")
    )]
    pub schedule: Option<String>,
    /// For how long from then on, in hours and minutes, as in 8h30m.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = "^((([0-9]+(h|m))|([0-9]+h[0-9]+m))(0s)?)$"))]
    pub duration: Option<String>,
}

impl Default for Budget {
    fn default() -> Self {
        Budget { nodes: ten_percent(), reasons: Vec::new(), schedule: None, duration: None }
    }
}

/// What the pool has at the moment.
#[derive(Debug, Clone, Default, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodePoolStatus {
    /// What all nodes of the pool have together.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub resources: BTreeMap<String, Quantity>,
    /// How many nodes there are.
    #[serde(default)]
    pub nodes: i64,
    /// The generation of the node class that was last seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_class_observed_generation: Option<i64>,
    /// ValidationSucceeded, NodeClassReady, NodeRegistrationHealthy and Ready.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
}

fn at_once() -> String {
    "0s".to_owned()
}

fn when_empty_or_underutilized() -> String {
    "WhenEmptyOrUnderutilized".to_owned()
}

fn one_budget() -> Vec<Budget> {
    vec![Budget::default()]
}

fn ten_percent() -> String {
    "10%".to_owned()
}

fn node_labels(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "maxProperties": 100,
        "additionalProperties": { "type": "string", "maxLength": 63, "pattern": LABEL_VALUE }
    })
}

fn reasons(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "maxItems": 50,
        "items": { "type": "string", "enum": ["Underutilized", "Empty", "Drifted", "Unhealthy"] }
    })
}
