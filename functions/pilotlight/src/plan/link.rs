//! A claim and its node: brought to the state in which registering and initializing leave them.

use k8s_openapi::{api::core::v1::Node, apimachinery::pkg::api::resource::Quantity};
use model::names;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

use super::manifest::Manifest;

/// They belong together by provider ID, or by the claim's `status.nodeName` where one of them has none.
pub fn link(manifest: &mut Manifest, by_label: bool) {
    let mut managed = BTreeSet::new();
    for claim in &mut manifest.claims {
        if let Some(at) = manifest.nodes.iter().position(|node| belongs(claim, node))
            && let Some(node) = manifest.nodes.get_mut(at)
        {
            managed.insert(at);
            join(claim, node);
        }
    }
    for (at, node) in manifest.nodes.iter().enumerate() {
        let of_pool = node.metadata.labels.as_ref().is_some_and(|labels| labels.contains_key(names::NODE_POOL));
        if of_pool && !by_label && !managed.contains(&at) {
            let place = manifest.place("Node", node.metadata.name.as_deref().unwrap_or_default());
            let warning = format!("{place} has the label {} but no NodeClaim: nobody manages it", names::NODE_POOL);
            manifest.warnings.push(warning);
        }
    }
}

fn belongs(claim: &Value, node: &Node) -> bool {
    let text = |field: &str| claim["status"][field].as_str().filter(|text| !text.is_empty());
    let of_node = node.spec.as_ref().and_then(|spec| spec.provider_id.as_deref()).filter(|id| !id.is_empty());
    match (text("providerID"), of_node) {
        (Some(own), Some(of_node)) => own == of_node,
        _ => text("nodeName").is_some() && text("nodeName") == node.metadata.name.as_deref(),
    }
}

fn join(claim: &mut Value, node: &mut Node) {
    let status = node.status.clone().unwrap_or_default();
    let conditions = claim["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let labelled = |label: &str| node.metadata.labels.as_ref().is_some_and(|all| all.contains_key(label));
    // Whoever wrote down that it was registered would have written the rest too.
    let starts = labelled(names::REGISTERED) && !labelled(names::INITIALIZED);
    let taints = node.spec.as_ref().and_then(|spec| spec.taints.as_deref()).unwrap_or_default();
    let joins = taints.iter().any(|taint| taint.key == names::UNREGISTERED_TAINT);
    let holds = |kind: &str| match conditions.is_empty() {
        true => !joins && (kind == "Registered" || !starts),
        false => conditions.iter().any(|one| one["type"] == kind && one["status"] == "True"),
    };
    let labels = node.metadata.labels.get_or_insert_default();
    for (label, kind) in [(names::REGISTERED, "Registered"), (names::INITIALIZED, "Initialized")] {
        if holds(kind) {
            labels.entry(label.to_owned()).or_insert_with(|| "true".to_owned());
        }
    }
    for (key, value) in claim["metadata"]["labels"].as_object().into_iter().flatten() {
        if let Some(value) = value.as_str() {
            labels.entry(key.clone()).or_insert_with(|| value.to_owned());
        }
    }
    let Some(of_claim) = claim.as_object_mut().and_then(|fields| {
        let status = fields.entry("status").or_insert_with(|| json!({}));
        status.as_object_mut()
    }) else {
        return;
    };
    of_claim.insert("nodeName".to_owned(), node.metadata.name.clone().unwrap_or_default().into());
    if of_claim.get("capacity").and_then(Value::as_object).is_none_or(Map::is_empty) {
        of_claim.insert("capacity".to_owned(), amounts(status.capacity));
        of_claim.insert("allocatable".to_owned(), amounts(status.allocatable));
    }
}

fn amounts(given: Option<BTreeMap<String, Quantity>>) -> Value {
    given.unwrap_or_default().into_iter().map(|(name, Quantity(text))| (name, Value::String(text))).collect()
}
