//! What a kubelet refuses to run.

use serde_json::Value;

use crate::{
    api::store::ObjectKey,
    controllers::{
        context::Context,
        events::{self, Saying},
        kinds::Kind,
        quantity::{self, Amounts},
    },
};

/// What a pod takes of a node, itself included.
pub(super) fn asks(pod: &Value) -> Amounts {
    let mut asks = quantity::requests(pod);
    asks.insert("pods".to_owned(), 1);
    asks
}

/// Kubelets check again what the scheduler promised: somebody else may have bound the pod.
pub(super) fn does_not_fit(context: &Context, node: &str, used: &Amounts, asks: &Amounts) -> Option<(String, String)> {
    let node = context.fresh(Kind::Node, &(String::new(), node.to_owned()))?;
    let allocatable = &node.value["status"]["allocatable"];
    asks.iter().find_map(|(resource, requested)| {
        let capacity = quantity::amount(resource, &allocatable[resource]).unwrap_or(0);
        let used = used.get(resource).copied().unwrap_or(0);
        let message = || {
            format!("Pod was rejected: Node didn't have enough resource: {resource}, requested: {requested}, used: {used}, capacity: {capacity}")
        };
        (*requested > 0 && used + requested > capacity).then(|| (resource.clone(), message()))
    })
}

pub(super) fn refuse(context: &mut Context, key: &ObjectKey, reason: &str, message: &str) {
    let now = context.stamp();
    context.update(Kind::Pod, key, |pod| {
        pod["status"]["phase"] = "Failed".into();
        pod["status"]["reason"] = reason.into();
        pod["status"]["message"] = message.into();
        pod["status"]["startTime"] = now.into();
    });
    if let Some(pod) = context.fresh(Kind::Pod, key) {
        let message = message.trim_start_matches("Pod was rejected: ");
        events::say(context, Kind::Pod, &pod.value, &Saying { component: "kubelet", warning: true, reason, message });
    }
}
