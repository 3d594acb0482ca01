//! Pieces that several events share: the object, what it asks for, what it tolerates.

use model::{ClassRef, Effect, ObjectName, ObjectSeen, Operator, Quantity, Requirement, Resources, Taint, Toleration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use crate::word::Word;

/// Resource name to amount, as in `{"nvidia.com/gpu": "1"}`.
pub type ResourceMap = BTreeMap<String, Word<Quantity>>;

/// Which object, and which version of it the sender saw. The event's `id` is `<uid>/<resourceVersion>`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Object {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<Word<model::Namespace>>,
    pub name: Word<ObjectName>,
    pub uid: Word<model::Uid>,
    pub resource_version: Word<model::ResourceVersion>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeSelectorRequirement {
    pub key: String,
    pub operator: Word<Operator>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeTaint {
    pub key: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub value: String,
    pub effect: Word<Effect>,
}

/// As in a pod: no key tolerates all keys, no effect all effects, no value (operator Exists) all values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PodToleration {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operator: Option<TolerationOperator>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effect: Option<Word<Effect>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub enum TolerationOperator {
    Equal,
    Exists,
}

/// Which node class a claim or pool points to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeClassRef {
    pub group: String,
    pub kind: String,
    pub name: Word<ObjectName>,
}

impl From<Object> for ObjectSeen {
    fn from(object: Object) -> Self {
        let Object { namespace, name, uid, resource_version } = object;
        ObjectSeen {
            namespace: namespace.map(|word| word.value),
            name: name.value,
            uid: uid.value,
            resource_version: resource_version.value,
        }
    }
}

impl From<NodeSelectorRequirement> for Requirement {
    fn from(requirement: NodeSelectorRequirement) -> Self {
        let NodeSelectorRequirement { key, operator, values } = requirement;
        Requirement { key, operator: operator.value, values }
    }
}

impl From<NodeTaint> for Taint {
    fn from(taint: NodeTaint) -> Self {
        let NodeTaint { key, value, effect } = taint;
        Taint { key, value, effect: effect.value }
    }
}

impl From<PodToleration> for Toleration {
    fn from(toleration: PodToleration) -> Self {
        let PodToleration { key, operator, value, effect } = toleration;
        let value = match operator.unwrap_or(TolerationOperator::Equal) {
            TolerationOperator::Exists => None,
            TolerationOperator::Equal => Some(value.unwrap_or_default()),
        };
        Toleration { key, value, effect: effect.map(|word| word.value) }
    }
}

impl From<NodeClassRef> for ClassRef {
    fn from(class: NodeClassRef) -> Self {
        let NodeClassRef { group, kind, name } = class;
        ClassRef { group, kind, name: name.value }
    }
}

pub(crate) fn resources(map: ResourceMap) -> Resources {
    map.into_iter().map(|(name, amount)| (name, amount.value)).collect()
}

pub(crate) fn all<Wire, Model: From<Wire>>(list: Vec<Wire>) -> Vec<Model> {
    list.into_iter().map(Model::from).collect()
}
