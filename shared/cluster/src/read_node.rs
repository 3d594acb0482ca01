//! A Node as it was read, in our words.

use k8s_openapi::{
    api::core::v1::{Node as KubeNode, NodeCondition as KubeNodeCondition},
    apimachinery::pkg::{
        api::resource::Quantity,
        apis::meta::v1::{OwnerReference, Time},
    },
};
use model::{Node, NodeCondition, Resources, Taint, Truth, Uid};
use std::collections::BTreeMap;

use crate::fields::{deleted_at, identity};

/// An error is a Node that no API server sends.
pub(crate) fn read_node(node: KubeNode) -> Result<Node, String> {
    let KubeNode { metadata, spec, status } = node;
    let identity = identity(&metadata)?;
    let (spec, status) = (spec.unwrap_or_default(), status.unwrap_or_default());
    let conditions = status.conditions.unwrap_or_default();
    let ready = conditions.iter().find(|condition| condition.type_ == "Ready");
    let info = status.node_info.unwrap_or_default();
    let said = |text: String| Some(text).filter(|text| !text.is_empty());
    Ok(Node {
        name: identity.name,
        uid: identity.uid,
        version: identity.version,
        created_at: identity.created_at,
        deleted_at: deleted_at(&metadata),
        provider_id: spec.provider_id.filter(|id| !id.is_empty()),
        labels: metadata.labels.unwrap_or_default(),
        annotations: metadata.annotations.unwrap_or_default(),
        finalizers: metadata.finalizers.unwrap_or_default().into_iter().collect(),
        owners: metadata.owner_references.unwrap_or_default().into_iter().filter_map(owner).collect(),
        taints: spec.taints.unwrap_or_default().into_iter().filter_map(taint).collect(),
        unschedulable: spec.unschedulable.unwrap_or(false),
        ready: ready.map_or(Truth::Unknown, |condition| truth(&condition.status)),
        capacity: amounts(status.capacity),
        allocatable: amounts(status.allocatable),
        os_image: said(info.os_image),
        boot_id: said(info.boot_id),
        conditions: conditions.into_iter().map(condition).collect(),
    })
}

fn condition(given: KubeNodeCondition) -> NodeCondition {
    NodeCondition {
        status: truth(&given.status),
        kind: given.type_,
        reason: given.reason.unwrap_or_default(),
        message: given.message.unwrap_or_default(),
        since: given.last_transition_time.map(|Time(at)| at),
    }
}

fn truth(text: &str) -> Truth {
    [Truth::True, Truth::False].into_iter().find(|truth| truth.as_str() == text).unwrap_or(Truth::Unknown)
}

fn owner(reference: OwnerReference) -> Option<Uid> {
    Uid::new(reference.uid).ok()
}

/// An effect that we do not know decides nothing for us; `change_node` keeps its taint.
fn taint(given: k8s_openapi::api::core::v1::Taint) -> Option<Taint> {
    let effect = given.effect.parse().ok()?;
    Some(Taint { key: given.key, value: given.value.unwrap_or_default(), effect })
}

/// An amount that cannot be read is as good as absent: a node never looks larger than it is.
fn amounts(given: Option<BTreeMap<String, Quantity>>) -> Resources {
    let amount = |(name, Quantity(text)): (String, Quantity)| Some((name, text.parse().ok()?));
    given.unwrap_or_default().into_iter().filter_map(amount).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn read(value: Value) -> Node {
        read_node(serde_json::from_value(value).unwrap()).unwrap()
    }

    fn metadata() -> Value {
        json!({ "name": "n", "uid": "u", "resourceVersion": "1", "creationTimestamp": "2026-01-01T00:00:00Z" })
    }

    #[test]
    fn a_node_that_has_just_joined_is_neither_ready_nor_anything_else() {
        let node = read(json!({ "metadata": metadata() }));
        assert_eq!((node.ready, node.provider_id, node.os_image), (Truth::Unknown, None, None));
        assert!(node.taints.is_empty() && node.capacity.is_empty() && !node.unschedulable);
    }

    #[test]
    fn what_we_do_not_know_of_a_node_is_left_out() {
        let node = read(json!({ "metadata": metadata(),
            "spec": { "providerID": "a://b", "unschedulable": true,
                "taints": [{ "key": "a", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z" }, { "key": "b", "effect": "Soon" }] },
            "status": { "conditions": [{ "type": "Ready", "status": "False" }],
                "allocatable": { "cpu": "1", "odd": "-1" } } }));
        assert_eq!((node.ready, node.provider_id.as_deref(), node.unschedulable), (Truth::False, Some("a://b"), true));
        assert_eq!(node.taints.iter().map(|taint| taint.key.as_str()).collect::<Vec<_>>(), ["a"]);
        assert_eq!(node.allocatable.keys().collect::<Vec<_>>(), ["cpu"]);
    }
}
