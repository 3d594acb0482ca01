//! What a NodeClaim and a NodePool say alike: requirements on labels, and which node class. With Karpenter's rules and words.

use super::schema::{LABEL_KEY, LABEL_VALUE};
use kube::{KubeSchema, core::Rule};
use serde::{Deserialize, Serialize};

/// A requirement on one label of the node, and how many of its values have to stay possible.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct RequirementWithMinimum {
    /// The label that is compared, as in node.kubernetes.io/instance-type.
    #[schemars(length(max = 316), regex(pattern = LABEL_KEY))]
    #[x_kube(validation = (
        "self in ['karpenter.sh/capacity-type', 'karpenter.sh/nodepool'] || !self.split('/')[0].endsWith('karpenter.sh')",
        "label domain \"karpenter.sh\" is restricted"
    ))]
    #[x_kube(validation = ("self != 'kubernetes.io/hostname'", "label \"kubernetes.io/hostname\" is restricted"))]
    pub key: String,
    /// How it is compared. In and NotIn take values, Exists and DoesNotExist none, the others one whole number.
    #[schemars(extend("enum" = ["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Gte", "Lte"]))]
    pub operator: String,
    /// What it is compared with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(length(max = 63), regex(pattern = LABEL_VALUE)))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub values: Vec<String>,
    /// With In: at least this many of the values have to stay possible when a machine is chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 50))]
    pub min_values: Option<i64>,
}

/// The node class: what the cloud is told beyond the requirements.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
pub struct NodeClassReference {
    /// The API group of the class, without a version: kaito.sh, karpenter.azure.com or pilotlight.dev.
    #[schemars(regex(pattern = "^[^/]*$"))]
    #[x_kube(validation = ("self != ''", "group may not be empty"))]
    pub group: String,
    /// The kind of the class: KaitoNodeClass, AKSNodeClass, ScalewayNodeClass or PowerNodeClass.
    #[x_kube(validation = ("self != ''", "kind may not be empty"))]
    pub kind: String,
    /// The name of the class.
    #[x_kube(validation = ("self != ''", "name may not be empty"))]
    pub name: String,
}

pub(super) fn in_needs_values() -> Rule {
    Rule::new("self.all(x, x.operator != 'In' || (has(x.values) && x.values.size() != 0))")
        .message("requirements with operator 'In' must have a value defined")
}

/// The text is compared first: `int()` of what is no number would end the rule with an error of CEL's own.
pub(super) fn comparisons_need_one_number() -> Rule {
    Rule::new(
        "self.all(x, !(x.operator in ['Gt', 'Lt', 'Gte', 'Lte']) || \
         (has(x.values) && x.values.size() == 1 && x.values[0].matches('^[0-9]{1,18}$')))",
    )
    .message("requirements operator 'Gt', 'Lt', 'Gte', or 'Lte' must have a single positive integer value")
}

pub(super) fn values_reach_the_minimum() -> Rule {
    Rule::new(
        "self.all(x, x.operator != 'In' || !has(x.minValues) || (has(x.values) && x.values.size() >= x.minValues))",
    )
    .message("requirements with 'minValues' must have at least that many values specified in the 'values' field")
}
