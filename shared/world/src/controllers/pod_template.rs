//! Pods made from a workload's template, with what the API server would have filled in.

use serde_json::{Map, Value, json};
use std::sync::Arc;

use super::{context::Context, fields, kinds::Kind, scheduler::tolerates, view::Noticed};
use crate::api::store::{ObjectKey, Stored};

/// A pod as a controller wants it: from the template, owned, with a name or the beginning of one.
pub(super) fn pod_from(kind: Kind, owner: &Value, template: &Value, name: &str, is_prefix: bool) -> Value {
    let metadata = &template["metadata"];
    let mut pod = json!({
        "metadata": {
            "namespace": fields::namespace(owner),
            "labels": metadata["labels"].as_object().cloned().unwrap_or_default(),
            "ownerReferences": [fields::controller_reference(kind, owner)],
        },
        "spec": template["spec"],
        "status": { "phase": "Pending" },
    });
    pod["metadata"][if is_prefix { "generateName" } else { "name" }] = name.into();
    if let Some(annotations) = metadata["annotations"].as_object().filter(|all| !all.is_empty()) {
        pod["metadata"]["annotations"] = Value::Object(annotations.clone());
    }
    if let Some(finalizers) = metadata["finalizers"].as_array() {
        pod["metadata"]["finalizers"] = finalizers.clone().into();
    }
    set_defaults(&mut pod);
    pod
}

pub(super) fn create(context: &mut Context, pod: Value) -> Option<Arc<Stored>> {
    context.create(Kind::Pod, pod)
}

fn set_defaults(pod: &mut Value) {
    let defaults = [
        ("restartPolicy", json!("Always")),
        ("schedulerName", json!("default-scheduler")),
        ("terminationGracePeriodSeconds", json!(30)),
        ("dnsPolicy", json!("ClusterFirst")),
        ("serviceAccountName", json!("default")),
        ("enableServiceLinks", json!(true)),
    ];
    for (field, value) in defaults {
        if pod["spec"][field].is_null() {
            pod["spec"][field] = value;
        }
    }
    let mut tolerations = fields::list(&pod["spec"]["tolerations"]).to_vec();
    for key in ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] {
        let taint = json!({ "key": key, "effect": "NoExecute" });
        if !tolerations.iter().any(|one| tolerates(one, &taint)) {
            tolerations
                .push(json!({ "key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300 }));
        }
    }
    pod["spec"]["tolerations"] = tolerations.into();
    pod["status"]["qosClass"] = quality(pod).into();
}

/// Guaranteed where every container's limits are its requests, BestEffort where nobody asks for anything.
fn quality(pod: &Value) -> &'static str {
    let all = || fields::containers(pod, "containers").iter().chain(fields::containers(pod, "initContainers"));
    let of = |container: &Value, field: &str| -> Map<String, Value> {
        let list = container["resources"][field].as_object().cloned().unwrap_or_default();
        list.into_iter().filter(|(name, _)| name == "cpu" || name == "memory").collect()
    };
    if all().all(|one| of(one, "limits").is_empty() && of(one, "requests").is_empty()) {
        return "BestEffort";
    }
    let full = |container: &Value| {
        let (limits, requests) = (of(container, "limits"), of(container, "requests"));
        limits.len() == 2 && requests.iter().all(|(name, amount)| limits.get(name) == Some(amount))
    };
    if all().all(full) { "Guaranteed" } else { "Burstable" }
}

/// The workload of a kind that controls a changed object, before or after the change.
pub(super) fn owner_of(noticed: &Noticed, kind: Kind) -> Option<ObjectKey> {
    let change = &noticed.change;
    let versions = [Some(&change.after), change.before.as_ref()];
    let owner = versions.into_iter().flatten().find_map(|stored| {
        let owner = fields::controller(&stored.value).filter(|owner| owner["kind"] == kind.name())?;
        owner["name"].as_str().map(str::to_owned)
    })?;
    Some((change.key.0.clone(), owner))
}

pub(super) fn count(pods: impl Iterator) -> i64 {
    i64::try_from(pods.count()).unwrap_or(i64::MAX)
}
