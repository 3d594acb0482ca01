//! What is refused, as data: the object, and the messages expected of it.

use super::*;
use crate::resources::defaults;
use crate::resources::kinds::Registry;
use serde_json::json;

fn resource(group: &str, plural: &str) -> std::sync::Arc<Resource> {
    let Some(found) = Registry::new().find(group, "v1", plural) else { unreachable!("{plural}") };
    found
}

fn complaints(group: &str, plural: &str, mut object: Value) -> Vec<String> {
    let resource = resource(group, plural);
    defaults::apply(&resource, &mut object);
    validate_create(&resource, &object).iter().map(FieldError::message).collect()
}

fn named(mut object: Value) -> Value {
    object["metadata"]["name"] = json!("x");
    object["metadata"]["namespace"] = json!("default");
    object
}

fn pod(spec: Value) -> Value {
    named(json!({"spec": spec}))
}

#[test]
fn pods_are_refused_in_the_words_of_the_real_server() {
    let container = |more: Value| {
        let mut container = json!({"name": "a", "image": "i"});
        for (key, value) in more.as_object().cloned().unwrap_or_default() {
            container[&key] = value;
        }
        json!({"containers": [container]})
    };
    let cases = [
        (json!({}), "spec.containers: Required value"),
        (json!({"containers": [{"image": "i"}]}), "spec.containers[0].name: Required value"),
        (json!({"containers": [{"name": "a"}]}), "spec.containers[0].image: Required value"),
        (
            json!({"containers": [{"name": "a", "image": "i"}, {"name": "a", "image": "i"}]}),
            "spec.containers[1].name: Duplicate value: \"a\"",
        ),
        (
            json!({"containers": [{"name": "a", "image": "i"}], "restartPolicy": "Sometimes"}),
            "spec.restartPolicy: Unsupported value: \"Sometimes\": supported values: \"Always\", \"OnFailure\", \
             \"Never\"",
        ),
        (
            container(json!({"volumeMounts": [{"name": "v", "mountPath": "/v"}]})),
            "spec.containers[0].volumeMounts[0].name: Not found: \"v\"",
        ),
        (
            container(json!({"ports": [{"containerPort": 70000}]})),
            "spec.containers[0].ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive",
        ),
        (
            container(json!({"resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "2"}}})),
            "spec.containers[0].resources.requests: Invalid value: \"2\": must be less than or equal to cpu limit of 1",
        ),
        (
            container(json!({"resources": {"requests": {"nvidia.com/gpu": "1"}}})),
            "spec.containers[0].resources.limits: Required value: Limit must be set for non overcommitable resources",
        ),
        (
            json!({"containers": [{"name": "a", "image": "i"}], "tolerations": [{"key": "a", "effect": "NoSchedule",
                "tolerationSeconds": 1}]}),
            "spec.tolerations[0].effect: Invalid value: \"NoSchedule\": effect must be 'NoExecute' when \
             `tolerationSeconds` is set",
        ),
    ];
    for (spec, message) in cases {
        assert_eq!(complaints("", "pods", pod(spec)), [message]);
    }
    assert!(complaints("", "pods", pod(container(json!({})))).is_empty());
}

#[test]
fn metadata_is_judged_for_every_kind() {
    let cases = [
        (
            json!({"metadata": {"namespace": "default"}}),
            "metadata.name: Required value: name or generateName is required",
        ),
        (json!({"metadata": {"name": "x"}}), "metadata.namespace: Required value"),
        (
            json!({"metadata": {"name": "x", "namespace": "default", "finalizers": ["mine"]}}),
            "metadata.finalizers[0]: Invalid value: \"mine\": name is neither a standard finalizer name nor is it \
             fully qualified",
        ),
        (
            json!({"metadata": {"name": "x", "namespace": "default", "ownerReferences": [{"apiVersion": "v1",
                "kind": "Pod", "name": "p"}]}}),
            "metadata.ownerReferences.uid: Invalid value: \"\": must not be empty",
        ),
    ];
    for (object, message) in cases {
        assert_eq!(complaints("", "configmaps", object), [message]);
    }
    let node = json!({"metadata": {"name": "n", "namespace": "default"}});
    assert_eq!(complaints("", "nodes", node), ["metadata.namespace: Forbidden: not allowed on this type"]);
}

#[test]
fn controllers_need_a_selector_that_matches_their_template() {
    let template = json!({"metadata": {"labels": {"app": "b"}}, "spec": {"containers": [{"name": "a", "image": "i"}]}});
    let deployment = |selector: Value| named(json!({"spec": {"selector": selector, "template": template}}));
    let cases = [
        (json!({}), "spec.selector: Invalid value: {}: empty selector is invalid for deployment"),
        (
            json!({"matchLabels": {"app": "a"}}),
            "spec.template.metadata.labels: Invalid value: {\"app\":\"b\"}: `selector` does not match template \
             `labels`",
        ),
    ];
    for (selector, message) in cases {
        assert_eq!(complaints("apps", "deployments", deployment(selector)), [message]);
    }
    assert!(complaints("apps", "deployments", deployment(json!({"matchLabels": {"app": "b"}}))).is_empty());
    assert_eq!(complaints("apps", "deployments", deployment(Value::Null))[0], "spec.selector: Required value");
    let mut job = named(json!({"spec": {"template": template}}));
    job["metadata"]["uid"] = json!("u");
    defaults::generate_job_selector(&mut job);
    assert_eq!(
        complaints("batch", "jobs", job),
        ["spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", \"Never\""]
    );
}

#[test]
fn what_is_fixed_may_not_change() {
    let spec = json!({"containers": [{"name": "a", "image": "i:1"}], "tolerations": [{"key": "k"}]});
    let with = |pointer: &str, value: Value| {
        let mut changed = pod(spec.clone());
        if let Some(place) = changed.pointer_mut(pointer) {
            *place = value;
        }
        changed
    };
    let refused = |changed: Value| -> Vec<String> {
        let (pods, old) = (resource("", "pods"), pod(spec.clone()));
        validate_change(&pods.kind, &changed, &old).iter().map(|error| error.field.clone()).collect()
    };
    assert!(refused(with("/spec/containers/0/image", json!("i:2"))).is_empty());
    assert!(refused(with("/spec/tolerations", json!([{"key": "k"}, {"key": "l"}]))).is_empty());
    assert_eq!(refused(with("/spec/tolerations", json!([]))), ["spec.tolerations"]);
    assert_eq!(refused(with("/spec/containers/0/name", json!("b"))), ["spec"]);
    assert_eq!(refused(with("/spec/containers", json!([]))), ["spec.containers"]);
    let deployment = |app: &str| json!({"spec": {"selector": {"matchLabels": {"app": app}}}});
    assert_eq!(
        validate_change("Deployment", &deployment("b"), &deployment("a"))[0].message(),
        "spec.selector: Invalid value: {\"matchLabels\":{\"app\":\"b\"}}: field is immutable"
    );
    assert_eq!(validate_change("StatefulSet", &json!({"spec": {"serviceName": "b"}}), &json!({"spec": {}})).len(), 1);
    assert!(validate_change("StatefulSet", &json!({"spec": {"replicas": 2}}), &json!({"spec": {}})).is_empty());
}

#[test]
fn other_kinds_are_judged_too() {
    let cases = [
        ("", "services", json!({"spec": {}}), "spec.ports: Required value"),
        (
            "",
            "persistentvolumeclaims",
            json!({"spec": {"accessModes": ["ReadWriteOnce"]}}),
            "spec.resources[storage]: Required value",
        ),
        (
            "policy",
            "poddisruptionbudgets",
            json!({"spec": {"minAvailable": -1}}),
            "spec.minAvailable: Invalid value: -1: must be greater than or equal to 0",
        ),
        (
            "coordination.k8s.io",
            "leases",
            json!({"spec": {"leaseDurationSeconds": 0}}),
            "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0",
        ),
        ("", "configmaps", json!({"data": {"..x": ""}}), "data[..x]: Invalid value: \"..x\": must not start with '..'"),
        (
            "",
            "events",
            json!({"involvedObject": {"namespace": "other"}}),
            "involvedObject.namespace: Invalid value: \"other\": does not match event.namespace",
        ),
    ];
    for (group, plural, object, message) in cases {
        assert_eq!(complaints(group, plural, named(object)), [message]);
    }
}
