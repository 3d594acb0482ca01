//! What the scheduler writes: a binding, or why there is none.

use serde_json::Value;

use super::NAME;
use crate::{
    api::store::ObjectKey,
    controllers::{
        context::Context,
        events::{self, Saying},
        fields::{self, Condition},
        kinds::Kind,
    },
};

/// Binds a pod as `pods/binding` does.
pub(super) fn bind(context: &mut Context, key: &ObjectKey, node: &str) -> bool {
    let now = context.stamp();
    let bound = context.update(Kind::Pod, key, |pod| {
        if fields::node_of(pod).is_some() || fields::is_going(pod) {
            return;
        }
        pod["spec"]["nodeName"] = node.into();
        fields::set_condition(
            pod,
            &Condition { kind: "PodScheduled", status: "True", reason: "", message: "" },
            &now,
            &[],
        );
    });
    if let (true, Some(pod)) = (bound, context.fresh(Kind::Pod, key)) {
        let message = format!("Successfully assigned {}/{} to {node}", key.0, key.1);
        events::say(
            context,
            Kind::Pod,
            &pod.value,
            &Saying { component: NAME, warning: false, reason: "Scheduled", message: &message },
        );
    }
    bound
}

pub(super) fn set_unscheduled(context: &Context, key: &ObjectKey, pod: &Value, reason: &str, message: &str) {
    let same = |condition: &Value| {
        condition["reason"] == reason && condition["message"] == message && condition["status"] == "False"
    };
    if fields::condition(pod, "PodScheduled").is_some_and(same) {
        return;
    }
    let now = context.stamp();
    context.update(Kind::Pod, key, |pod| {
        fields::set_condition(pod, &Condition { kind: "PodScheduled", status: "False", reason, message }, &now, &[]);
        if pod["status"]["phase"].is_null() {
            pod["status"]["phase"] = "Pending".into();
        }
    });
}
