//! Defaults, as data: what is sent, and what is stored.

use super::*;
use crate::resources::kinds::Registry;

fn defaulted(group: &str, plural: &str, mut object: Value) -> Value {
    let Some(resource) = Registry::new().find(group, "v1", plural) else { unreachable!("{plural}") };
    apply(&resource, &mut object);
    object
}

#[test]
fn a_pod_is_filled_in_as_by_a_real_server() {
    let mut pod = defaulted(
        "",
        "pods",
        json!({"spec": {"containers": [{"name": "a", "image": "nginx",
        "resources": {"limits": {"cpu": "1", "nvidia.com/gpu": "1"}, "requests": {"cpu": "500m"}},
        "ports": [{"containerPort": 80}], "readinessProbe": {"httpGet": {"port": 80}}}],
        "volumes": [{"name": "v"}, {"name": "s", "secret": {"secretName": "x"}}]}}),
    );
    assert_eq!(admit_pod(&mut pod, &[]), Ok(()));
    let toleration =
        |key: &str| json!({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300});
    assert_eq!(
        pod["spec"],
        json!({"containers": [{"name": "a", "image": "nginx", "imagePullPolicy": "Always",
            "resources": {"limits": {"cpu": "1", "nvidia.com/gpu": "1"},
                "requests": {"cpu": "500m", "nvidia.com/gpu": "1"}},
            "ports": [{"containerPort": 80, "protocol": "TCP"}],
            "readinessProbe": {"httpGet": {"port": 80, "path": "/", "scheme": "HTTP"}, "timeoutSeconds": 1,
                "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3},
            "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"}],
            "volumes": [{"name": "v", "emptyDir": {}},
                {"name": "s", "secret": {"secretName": "x", "defaultMode": 420}}],
            "dnsPolicy": "ClusterFirst", "enableServiceLinks": true, "preemptionPolicy": "PreemptLowerPriority",
            "priority": 0, "restartPolicy": "Always", "schedulerName": "default-scheduler", "securityContext": {},
            "terminationGracePeriodSeconds": 30,
            "tolerations": [toleration("node.kubernetes.io/not-ready"), toleration("node.kubernetes.io/unreachable")]})
    );
}

#[test]
fn images_say_when_they_are_pulled() {
    let cases = [
        ("a", "Always"),
        ("a:latest", "Always"),
        ("a:1", "IfNotPresent"),
        ("host:5000/a", "Always"),
        ("a@sha256:00", "IfNotPresent"),
    ];
    for (image, policy) in cases {
        let pod = defaulted("", "pods", json!({"spec": {"containers": [{"image": image}]}}));
        assert_eq!(pod["spec"]["containers"][0]["imagePullPolicy"], policy, "{image}");
    }
}

#[test]
fn a_template_does_not_get_what_only_a_pod_gets() {
    let deployment = defaulted(
        "apps",
        "deployments",
        json!({"spec": {"template": {"spec": {"containers": [{"name": "a",
        "image": "a:1", "resources": {"limits": {"cpu": "1"}}}]}}}}),
    );
    let template = &deployment["spec"]["template"]["spec"];
    assert_eq!(template["enableServiceLinks"], Value::Null);
    assert_eq!(template["containers"][0]["resources"], json!({"limits": {"cpu": "1"}}));
    assert_eq!(template["restartPolicy"], "Always");
    assert_eq!(
        deployment["spec"]["strategy"],
        json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}})
    );
    assert_eq!(
        (&deployment["spec"]["replicas"], &deployment["spec"]["progressDeadlineSeconds"]),
        (&json!(1), &json!(600))
    );
}

#[test]
fn a_job_gets_its_selector_from_its_uid() {
    let mut job = defaulted("batch", "jobs", json!({"metadata": {"name": "j", "uid": "u"}, "spec": {}}));
    generate_job_selector(&mut job);
    assert_eq!(job["spec"]["selector"], json!({"matchLabels": {"batch.kubernetes.io/controller-uid": "u"}}));
    assert_eq!(job["spec"]["template"]["metadata"]["labels"]["job-name"], "j");
    assert_eq!(job["metadata"]["labels"], job["spec"]["template"]["metadata"]["labels"]);
    assert_eq!((&job["spec"]["completions"], &job["spec"]["backoffLimit"]), (&json!(1), &json!(6)));
}

#[test]
fn other_kinds_are_filled_in_too() {
    let service = defaulted("", "services", json!({"spec": {"ports": [{"port": 80}]}}));
    assert_eq!(service["spec"]["ports"][0], json!({"port": 80, "protocol": "TCP", "targetPort": 80}));
    assert_eq!(service["spec"]["type"], "ClusterIP");
    let secret = defaulted("", "secrets", json!({"stringData": {"a": "hi"}}));
    assert_eq!(secret, json!({"type": "Opaque", "data": {"a": "aGk="}}));
    let namespace = defaulted("", "namespaces", json!({"metadata": {"name": "n"}}));
    assert_eq!(namespace["metadata"]["labels"]["kubernetes.io/metadata.name"], "n");
    let mut settled = namespace.clone();
    settle_new("Namespace", &mut settled);
    assert_eq!(settled["spec"]["finalizers"], json!(["kubernetes"]));
}

#[test]
fn a_service_account_brings_its_secrets_and_its_token() {
    let account = json!({"imagePullSecrets": [{"name": "pull"}]});
    let pod = json!({"spec": {"containers": [{"name": "a"}]}});
    let mut given = pod.clone();
    admit_service_account(&mut given, &account, "kube-api-access-x");
    assert_eq!(given["spec"]["imagePullSecrets"], account["imagePullSecrets"]);
    assert_eq!(given["spec"]["containers"][0]["volumeMounts"][0]["name"], "kube-api-access-x");
    assert_eq!(given["spec"]["volumes"][0]["projected"]["sources"][0]["serviceAccountToken"]["path"], "token");
    let mut without = pod;
    without["spec"]["automountServiceAccountToken"] = json!(false);
    admit_service_account(&mut without, &json!({}), "kube-api-access-x");
    assert_eq!(without["spec"]["volumes"], Value::Null);
}

#[test]
fn a_priority_class_gives_its_value_or_the_pod_is_refused() {
    let classes = [json!({"metadata": {"name": "high"}, "value": 9, "preemptionPolicy": "Never"})];
    let mut pod = json!({"spec": {"priorityClassName": "high"}});
    assert_eq!(admit_pod(&mut pod, &classes), Ok(()));
    assert_eq!((&pod["spec"]["priority"], &pod["spec"]["preemptionPolicy"]), (&json!(9), &json!("Never")));
    let mut lost = json!({"spec": {"priorityClassName": "none"}});
    assert_eq!(
        admit_pod(&mut lost, &classes).map_err(|error| error.to_string()),
        Err("no PriorityClass with name none was found".to_owned())
    );
}

#[test]
fn quality_of_service_follows_requests_and_limits() {
    let pod = |resources: Value| json!({"spec": {"containers": [{"resources": resources}]}});
    let full = json!({"cpu": "1", "memory": "1Gi"});
    assert_eq!(qos_class(&pod(json!({}))), "BestEffort");
    assert_eq!(qos_class(&pod(json!({"requests": {"cpu": "1"}}))), "Burstable");
    assert_eq!(qos_class(&pod(json!({"limits": full, "requests": full}))), "Guaranteed");
    assert_eq!(qos_class(&pod(json!({"limits": {"nvidia.com/gpu": "1"}}))), "BestEffort");
}
