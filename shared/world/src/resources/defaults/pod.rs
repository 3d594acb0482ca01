//! The defaults of a pod, and of the pod inside a template.

use crate::resources::look::{at, default_text, default_to, each_item, entries, has, items, object_at, text};
use crate::resources::quantity::Quantity;
use serde_json::{Value, json};

/// A pod itself: all a template gets, and what only a pod gets.
pub fn default_pod(pod: &mut Value) {
    let spec = object_at(pod, "spec");
    for list in ["containers", "initContainers"] {
        each_item(spec, list, &mut limits_become_requests);
    }
    default_to(spec, "enableServiceLinks", true);
    default_pod_spec(spec);
}

/// The `template` of a controller.
pub fn default_pod_template(template: &mut Value) {
    default_pod_spec(object_at(template, "spec"));
}

fn default_pod_spec(spec: &mut Value) {
    default_text(spec, "dnsPolicy", "ClusterFirst");
    default_text(spec, "restartPolicy", "Always");
    default_to(spec, "securityContext", json!({}));
    default_to(spec, "terminationGracePeriodSeconds", 30);
    default_text(spec, "schedulerName", "default-scheduler");
    // The field has an old name, which is kept equal to the new one.
    if has(spec, &["serviceAccountName"]) {
        spec["serviceAccount"] = at(spec, &["serviceAccountName"]).clone();
    } else if has(spec, &["serviceAccount"]) {
        spec["serviceAccountName"] = at(spec, &["serviceAccount"]).clone();
    }
    let host_network = at(spec, &["hostNetwork"]) == true;
    for list in ["containers", "initContainers", "ephemeralContainers"] {
        each_item(spec, list, &mut |container| default_container(container, host_network));
    }
    each_item(spec, "volumes", &mut default_volume);
}

fn default_container(container: &mut Value, host_network: bool) {
    let pull = if is_latest(text(container, &["image"])) { "Always" } else { "IfNotPresent" };
    default_text(container, "imagePullPolicy", pull);
    default_text(container, "terminationMessagePath", "/dev/termination-log");
    default_text(container, "terminationMessagePolicy", "File");
    default_to(container, "resources", json!({}));
    each_item(container, "ports", &mut |port| {
        default_text(port, "protocol", "TCP");
        if host_network {
            let number = at(port, &["containerPort"]).clone();
            default_to(port, "hostPort", number);
        }
    });
    each_item(container, "env", &mut |variable| {
        if let Some(field) = variable.pointer_mut("/valueFrom/fieldRef") {
            default_text(field, "apiVersion", "v1");
        }
    });
    for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if has(container, &[probe]) {
            default_probe(&mut container[probe]);
        }
    }
    for hook in ["postStart", "preStop"] {
        if let Some(action) = container.pointer_mut(&format!("/lifecycle/{hook}/httpGet")) {
            default_http_get(action);
        }
    }
}

fn default_probe(probe: &mut Value) {
    for (field, value) in
        [("timeoutSeconds", 1), ("periodSeconds", 10), ("successThreshold", 1), ("failureThreshold", 3)]
    {
        if at(probe, &[field]).as_i64().unwrap_or_default() == 0 {
            probe[field] = json!(value);
        }
    }
    if has(probe, &["httpGet"]) {
        default_http_get(&mut probe["httpGet"]);
    }
    if has(probe, &["grpc"]) {
        default_to(&mut probe["grpc"], "service", "");
    }
}

fn default_http_get(action: &mut Value) {
    default_text(action, "path", "/");
    default_text(action, "scheme", "HTTP");
}

fn default_volume(volume: &mut Value) {
    if volume.as_object().is_some_and(|map| map.keys().all(|key| key == "name")) {
        volume["emptyDir"] = json!({});
    }
    for source in ["secret", "configMap", "downwardAPI", "projected"] {
        if has(volume, &[source]) {
            default_to(&mut volume[source], "defaultMode", 0o644);
        }
    }
    if has(volume, &["hostPath"]) {
        default_to(&mut volume["hostPath"], "type", "");
    }
    let field_version = &mut |item: &mut Value| {
        if has(item, &["fieldRef"]) {
            default_text(&mut item["fieldRef"], "apiVersion", "v1");
        }
    };
    if has(volume, &["downwardAPI"]) {
        each_item(&mut volume["downwardAPI"], "items", field_version);
    }
    if has(volume, &["projected"]) {
        each_item(&mut volume["projected"], "sources", &mut |source| {
            if has(source, &["serviceAccountToken"]) {
                default_to(&mut source["serviceAccountToken"], "expirationSeconds", 3600);
            }
            if has(source, &["downwardAPI"]) {
                each_item(&mut source["downwardAPI"], "items", field_version);
            }
        });
    }
    if let Some(claim) = volume.pointer_mut("/ephemeral/volumeClaimTemplate/spec") {
        default_to(claim, "volumeMode", "Filesystem");
    }
}

/// No tag, or the tag `latest`, and no digest.
fn is_latest(image: &str) -> bool {
    let name = image.rsplit('/').next().unwrap_or(image);
    !name.contains('@') && name.split_once(':').is_none_or(|(_, tag)| tag == "latest")
}

/// What is limited and not asked for is asked for in full.
fn limits_become_requests(container: &mut Value) {
    let limits: Vec<(String, Value)> = entries(container, &["resources", "limits"])
        .into_iter()
        .map(|(name, amount)| (name.to_owned(), amount.clone()))
        .collect();
    for (name, amount) in limits {
        default_to(object_at(&mut container["resources"], "requests"), &name, amount);
    }
}

/// Guaranteed when every container's limits of cpu and memory are set and equal its requests; BestEffort when nothing
/// is asked for or limited; else Burstable.
pub fn qos_class(pod: &Value) -> &'static str {
    let containers = items(pod, &["spec", "containers"]).iter().chain(items(pod, &["spec", "initContainers"]));
    let (mut anything, mut guaranteed) = (false, true);
    for container in containers {
        for resource in ["cpu", "memory"] {
            let amount = |part: &str| {
                let amount = Quantity::parse(text(container, &["resources", part, resource]));
                amount.filter(|amount| amount.sign() > 0)
            };
            let (limit, request) = (amount("limits"), amount("requests"));
            anything |= limit.is_some() || request.is_some();
            guaranteed &= limit.is_some() && (request.is_none() || request == limit);
        }
    }
    match (anything, guaranteed) {
        (false, _) => "BestEffort",
        (true, true) => "Guaranteed",
        (true, false) => "Burstable",
    }
}
