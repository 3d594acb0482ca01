//! The claim's status: one write that says what changed, and nothing where nothing did.

use jiff::Timestamp;
use kube::api::Patch;
use model::{Claim, ClaimStatus, Condition, ConditionKind, Quantity, ResourceVersion, Resources};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

use crate::{
    Cluster, ClusterError,
    ask::Asking,
    change::patching,
    fields::{self, in_seconds},
    read_claim::{ClaimAsRead, condition},
    rights,
};

impl Cluster {
    /// `version` is the claim's newest that we know: a write of its metadata in between has made another one.
    pub async fn write_status(
        &self,
        read: &ClaimAsRead,
        version: &ResourceVersion,
        status: &ClaimStatus,
    ) -> Result<ResourceVersion, ClusterError> {
        let changed = changes(read, status);
        if changed.is_empty() {
            return Ok(version.clone());
        }
        let name = read.claim.key.name.as_str();
        let asking = Asking::new(rights::PATCH_CLAIM_STATUS, "writing the status of NodeClaim", name);
        // Merge patches replace lists whole, so the conditions of others have to be in it.
        let patch = Patch::Merge(json!({ "metadata": { "resourceVersion": version.as_str() }, "status": changed }));
        let written = self.change(asking, self.claim_api().patch_status(name, &patching(), &patch)).await?;
        fields::version(&written.metadata).map_err(|why| asking.nonsense(why))
    }
}

/// What a merge patch of the status has to say.
fn changes(read: &ClaimAsRead, wanted: &ClaimStatus) -> Map<String, Value> {
    let ClaimStatus { provider_id, node, image, capacity, allocatable, conditions, last_pod_event } = wanted;
    let before = &read.claim.status;
    let mut patch = Map::new();
    let texts = [
        ("providerID", &before.provider_id, provider_id),
        ("nodeName", &before.node, node),
        ("imageID", &before.image, image),
    ];
    for (field, before, wanted) in texts {
        if before != wanted {
            patch.insert(field.to_owned(), json!(wanted));
        }
    }
    let seconds = |at: &Option<Timestamp>| at.map(in_seconds);
    if seconds(&before.last_pod_event) != seconds(last_pod_event) {
        patch.insert("lastPodEventTime".to_owned(), json!(seconds(last_pod_event).map(|at| at.to_string())));
    }
    for (field, before, wanted) in
        [("capacity", &before.capacity, capacity), ("allocatable", &before.allocatable, allocatable)]
    {
        let changed = changed_amounts(before, wanted);
        if !changed.is_empty() {
            patch.insert(field.to_owned(), changed.into());
        }
    }
    let stood: Vec<Value> = read.status["conditions"].as_array().cloned().unwrap_or_default();
    let list = condition_list(&read.claim, read.generation, &stood, conditions);
    if list != stood {
        patch.insert("conditions".to_owned(), list.into());
    }
    patch
}

/// Equal amounts stay as somebody wrote them: `1000m` is not made `1`.
fn changed_amounts(before: &Resources, wanted: &Resources) -> Map<String, Value> {
    let text = |amount: Option<&Quantity>| amount.map_or(Value::Null, |amount| amount.to_string().into());
    let names: BTreeSet<&String> = before.keys().chain(wanted.keys()).collect();
    let changed = names.into_iter().filter(|name| before.get(*name) != wanted.get(*name));
    changed.map(|name| (name.clone(), text(wanted.get(name)))).collect()
}

/// Ours as wanted, each where it stood; those of others word for word; new ones at the end.
fn condition_list(claim: &Claim, generation: Option<i64>, stood: &[Value], wanted: &[Condition]) -> Vec<Value> {
    let mut missing: Vec<&Condition> = wanted.iter().collect();
    let mut list = Vec::new();
    for raw in stood {
        let Some(before) = condition(raw, claim.created_at) else {
            list.push(raw.clone());
            continue;
        };
        let Some(index) = missing.iter().position(|one| one.kind == before.kind) else { continue };
        let wanted = missing.remove(index);
        list.push(if is_same(&before, wanted) { raw.clone() } else { written(raw, wanted, generation) });
    }
    list.extend(missing.into_iter().map(|condition| written(&Value::Null, condition, generation)));
    list
}

fn is_same(before: &Condition, wanted: &Condition) -> bool {
    let Condition { kind, status, reason, message, since } = wanted;
    (before.kind, before.status) == (*kind, *status)
        && before.reason == reason_of(*kind, reason)
        && before.message == *message
        && before.since == in_seconds(*since)
}

/// Fields that we do not know stay in it.
fn written(stood: &Value, wanted: &Condition, generation: Option<i64>) -> Value {
    let mut raw = if stood.is_object() { stood.clone() } else { json!({}) };
    raw["type"] = wanted.kind.as_str().into();
    raw["status"] = wanted.status.as_str().into();
    raw["reason"] = reason_of(wanted.kind, &wanted.reason).into();
    raw["message"] = wanted.message.as_str().into();
    raw["lastTransitionTime"] = in_seconds(wanted.since).to_string().into();
    if let Some(generation) = generation {
        raw["observedGeneration"] = generation.into();
    }
    raw
}

/// Kubernetes refuses a condition without a reason; Karpenter's own conditions then say their type.
fn reason_of(kind: ConditionKind, reason: &str) -> &str {
    if reason.is_empty() { kind.as_str() } else { reason }
}
