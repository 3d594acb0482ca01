//! Tables of every built-in kind, and what their rows carry.

use super::*;
use crate::resources::kinds::Registry;

const NOW: &str = "2026-01-01T00:10:00Z";

fn now() -> Timestamp {
    NOW.parse().unwrap_or_default()
}

#[test]
fn every_built_in_kind_has_as_many_cells_as_columns() {
    let object = json!({"metadata": {"name": "x", "creationTimestamp": "2026-01-01T00:00:00Z"}});
    for resource in Registry::new().resources() {
        let table = table(resource, std::slice::from_ref(&object), &json!({}), IncludeObject::Metadata, true, now());
        let columns = table["columnDefinitions"].as_array().map(Vec::len);
        assert_eq!(columns, table["rows"][0]["cells"].as_array().map(Vec::len), "{}", resource.kind);
        let undescribed: Vec<&Value> = table["columnDefinitions"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|column| text(column, &["description"]).is_empty())
            .collect();
        assert!(undescribed.is_empty(), "{} {undescribed:?}", resource.kind);
    }
}

#[test]
fn rows_of_the_well_known_kinds_read_as_kubectl_prints_them() {
    let template = json!({"spec": {"containers": [{"name": "a", "image": "i:1"}, {"name": "b", "image": "i:2"}],
        "nodeSelector": {"gpu": "yes"}}});
    let selector = json!({"matchLabels": {"app": "x"}, "matchExpressions": [{"key": "b", "operator": "Exists"}]});
    let cases = [
        (
            "apps",
            "deployments",
            json!({"spec": {"replicas": 3, "selector": selector, "template": template},
            "status": {"readyReplicas": 1, "updatedReplicas": 2, "availableReplicas": 1}}),
            json!(["x", "1/3", 2, 1, "10m", "a,b", "i:1,i:2", "app=x,b"]),
        ),
        (
            "apps",
            "statefulsets",
            json!({"spec": {"replicas": 2, "template": template}, "status": {}}),
            json!(["x", "0/2", "10m", "a,b", "i:1,i:2"]),
        ),
        (
            "apps",
            "daemonsets",
            json!({"spec": {"template": template}, "status": {"desiredNumberScheduled": 2}}),
            json!(["x", 2, 0, 0, 0, 0, "gpu=yes", "10m", "a,b", "i:1,i:2", "<none>"]),
        ),
        (
            "batch",
            "jobs",
            json!({"spec": {"completions": 1, "template": template}, "status": {"succeeded": 1,
            "startTime": "2026-01-01T00:00:00Z", "completionTime": "2026-01-01T00:00:07Z",
            "conditions": [{"type": "Complete", "status": "True"}]}}),
            json!(["x", "Complete", "1/1", "7s", "10m", "a,b", "i:1,i:2", "<none>"]),
        ),
        (
            "policy",
            "poddisruptionbudgets",
            json!({"spec": {"minAvailable": "50%"}, "status": {"disruptionsAllowed": 1}}),
            json!(["x", "50%", "N/A", 1, "10m"]),
        ),
        (
            "",
            "persistentvolumeclaims",
            json!({"spec": {"volumeName": "v", "storageClassName": "fast",
            "volumeMode": "Filesystem"}, "status": {"phase": "Bound", "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"]}}),
            json!(["x", "Bound", "v", "1Gi", "RWO", "fast", "<unset>", "10m", "Filesystem"]),
        ),
        (
            "storage.k8s.io",
            "storageclasses",
            json!({"provisioner": "p", "metadata": {"annotations":
            {"storageclass.kubernetes.io/is-default-class": "true"}}}),
            json!(["x (default)", "p", "Delete", "Immediate", false, "10m"]),
        ),
        (
            "scheduling.k8s.io",
            "priorityclasses",
            json!({"value": 5, "preemptionPolicy": "Never"}),
            json!(["x", 5, false, "10m", "Never"]),
        ),
        ("apiextensions.k8s.io", "customresourcedefinitions", json!({}), json!(["x", "2026-01-01T00:00:00Z"])),
        ("", "secrets", json!({"type": "Opaque", "data": {"a": "", "b": ""}}), json!(["x", "Opaque", 2, "10m"])),
    ];
    let registry = Registry::new();
    for (group, plural, mut object, expected) in cases {
        object["metadata"]["name"] = json!("x");
        object["metadata"]["creationTimestamp"] = json!("2026-01-01T00:00:00Z");
        let Some(resource) = registry.find(group, "v1", plural) else { unreachable!("{plural}") };
        assert_eq!(row(&resource, &object, IncludeObject::Nothing, now())["cells"], expected, "{plural}");
    }
}

#[test]
fn rows_carry_as_much_of_the_object_as_was_asked_for() {
    let Some(pods) = Registry::new().find("", "v1", "pods") else { unreachable!("pods are built in") };
    let pod = json!({"metadata": {"name": "x"}, "status": {"phase": "Succeeded"}});
    assert_eq!(row(&pods, &pod, IncludeObject::Nothing, now())["object"], Value::Null);
    assert_eq!(row(&pods, &pod, IncludeObject::Metadata, now())["object"]["kind"], "PartialObjectMetadata");
    assert_eq!(row(&pods, &pod, IncludeObject::Object, now())["object"], pod);
    assert_eq!(row(&pods, &pod, IncludeObject::Nothing, now())["conditions"][0]["type"], "Completed");
    assert_eq!(IncludeObject::parse("Everything"), None);
}
