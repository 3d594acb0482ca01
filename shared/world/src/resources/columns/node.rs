//! A node's row.

use super::{age, or_none};
use crate::resources::look::{at, entries, items, text};
use jiff::Timestamp;
use serde_json::{Value, json};

const ROLE_PREFIX: &str = "node-role.kubernetes.io/";

pub fn cells(node: &Value, now: Timestamp) -> Vec<Value> {
    let info = |field: &str| match text(node, &["status", "nodeInfo", field]) {
        "" => json!("<unknown>"),
        known => json!(known),
    };
    let address = |kind: &str| {
        let found = items(node, &["status", "addresses"]).iter().find(|one| text(one, &["type"]) == kind);
        json!(or_none(found.map(|one| text(one, &["address"])).unwrap_or_default()))
    };
    vec![
        json!(text(node, &["metadata", "name"])),
        json!(status(node)),
        json!(or_none(&roles(node).join(","))),
        json!(age(node, now)),
        json!(text(node, &["status", "nodeInfo", "kubeletVersion"])),
        address("InternalIP"),
        address("ExternalIP"),
        info("osImage"),
        kernel(node),
        info("containerRuntimeVersion"),
    ]
}

/// The kernel, and what it was built for.
fn kernel(node: &Value) -> Value {
    let of = |field: &str| text(node, &["status", "nodeInfo", field]);
    match (of("kernelVersion"), of("architecture")) {
        ("", _) => json!("<unknown>"),
        (kernel, "") => json!(kernel),
        (kernel, architecture) => json!(format!("{kernel} ({architecture})")),
    }
}

fn status(node: &Value) -> String {
    let ready = items(node, &["status", "conditions"]).iter().find(|one| text(one, &["type"]) == "Ready");
    let mut words = vec![match ready.map(|one| text(one, &["status"])) {
        Some("True") => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    }];
    if at(node, &["spec", "unschedulable"]) == true {
        words.push("SchedulingDisabled");
    }
    words.join(",")
}

fn roles(node: &Value) -> Vec<String> {
    let mut roles: Vec<String> = entries(node, &["metadata", "labels"])
        .into_iter()
        .filter_map(|(key, value)| match key.strip_prefix(ROLE_PREFIX) {
            Some(role) if !role.is_empty() => Some(role.to_owned()),
            _ if key == "kubernetes.io/role" => value.as_str().filter(|role| !role.is_empty()).map(str::to_owned),
            _ => None,
        })
        .collect();
    roles.sort();
    roles.dedup();
    roles
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_and_roles_read_as_kubectl_shows_them() {
        let cases = [
            (json!({}), "Unknown", "<none>"),
            (json!({"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}), "NotReady", "<none>"),
            (
                json!({"metadata": {"labels": {"node-role.kubernetes.io/worker": "",
                    "node-role.kubernetes.io/gpu": ""}},
                    "spec": {"unschedulable": true}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}}),
                "Ready,SchedulingDisabled",
                "gpu,worker",
            ),
        ];
        for (node, status, roles) in cases {
            let row = cells(&node, Timestamp::UNIX_EPOCH);
            assert_eq!((&row[1], &row[2]), (&json!(status), &json!(roles)));
        }
    }
}
