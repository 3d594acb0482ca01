//! What our custom resources promise on any API server: they install, they take what is good, and they refuse what is not, in
//! known words. Each verb wants a server with nothing of ours on it but the definitions.

use cluster::crd::{self, NodeClaim};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api, Client,
    api::{DynamicObject, Patch, PatchParams, PostParams},
    core::{ApiResource, GroupVersionKind},
};
use serde_json::{Value, json};

/// Installs them, and waits until they are served.
pub async fn install(client: &Client) {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    for definition in crd::all() {
        definitions.create(&PostParams::default(), &definition).await.unwrap();
    }
    for definition in crd::all() {
        let name = definition.metadata.name.unwrap();
        for _ in 0..600 {
            let now = definitions.get(&name).await.unwrap();
            let conditions = now.status.and_then(|status| status.conditions).unwrap_or_default();
            if conditions.iter().any(|one| one.type_ == "Established" && one.status == "True") {
                break;
            }
            tokio::time::sleep(core::time::Duration::from_millis(50)).await;
        }
    }
}

fn group_version(kind: &str) -> (&'static str, &'static str) {
    match kind {
        "NodeClaim" | "NodePool" => ("karpenter.sh", "v1"),
        "AKSNodeClass" => ("karpenter.azure.com", "v1beta1"),
        "KaitoNodeClass" => ("kaito.sh", "v1alpha1"),
        _ => ("pilotlight.dev", "v1alpha1"),
    }
}

fn api(client: &Client, kind: &str) -> Api<DynamicObject> {
    let (group, version) = group_version(kind);
    let plural = if kind.ends_with("Class") { format!("{kind}es") } else { format!("{kind}s") }.to_lowercase();
    Api::all_with(
        client.clone(),
        &ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), &plural),
    )
}

fn good(kind: &str) -> Value {
    let class = json!({ "group": "kaito.sh", "kind": "KaitoNodeClass", "name": "default" });
    let requirements = json!([
        { "key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["Standard_NC24ads_A100_v4"] },
        { "key": "karpenter.sh/capacity-type", "operator": "Exists" }
    ]);
    match kind {
        "NodeClaim" => json!({ "requirements": requirements, "nodeClassRef": class }),
        "NodePool" => json!({ "template": { "spec": { "requirements": requirements, "nodeClassRef": class } } }),
        "ScalewayNodeClass" => json!({ "join": { "method": "k3s", "endpoint": "https://10.0.0.1:6443",
            "secretRef": { "name": "join", "key": "token" } } }),
        "PowerNodeClass" => json!({ "machines": [{ "name": "rack-1", "gpu": { "count": 1 },
            "backEnd": { "redfish": { "system": "https://bmc/redfish/v1/Systems/1" } } }] }),
        _ => json!({}),
    }
}

fn object(kind: &str, spec: Value) -> DynamicObject {
    let object = json!({ "metadata": { "name": "x" }, "spec": spec });
    let mut object: DynamicObject = serde_json::from_value(object).unwrap();
    let (group, version) = group_version(kind);
    object.types = Some(kube::api::TypeMeta { api_version: format!("{group}/{version}"), kind: kind.to_owned() });
    object
}

/// What is put where in a good object, and the words of the refusal.
fn refusals() -> Vec<(&'static str, &'static str, Value, &'static str)> {
    let requirement =
        |key: &str, operator: &str, values: &[&str]| json!([{ "key": key, "operator": operator, "values": values }]);
    vec![
        (
            "NodeClaim",
            "/requirements",
            requirement("a", "In", &[]),
            "requirements with operator 'In' must have a value defined",
        ),
        ("NodeClaim", "/requirements", requirement("a", "Gt", &["x"]), "must have a single positive integer value"),
        (
            "NodeClaim",
            "/requirements",
            requirement("a", "Lte", &["1", "2"]),
            "must have a single positive integer value",
        ),
        ("NodeClaim", "/requirements", requirement("a", "Near", &["1"]), "Unsupported value"),
        (
            "NodeClaim",
            "/requirements",
            requirement("karpenter.sh/instance-type", "In", &["a"]),
            "label domain \"karpenter.sh\" is restricted",
        ),
        (
            "NodeClaim",
            "/requirements",
            requirement("kubernetes.io/hostname", "In", &["a"]),
            "label \"kubernetes.io/hostname\" is restricted",
        ),
        (
            "NodeClaim",
            "/requirements",
            json!([{ "key": "a", "operator": "In", "values": ["1"], "minValues": 2 }]),
            "must have at least that many values",
        ),
        (
            "NodeClaim",
            "/requirements",
            json!([{ "key": "a", "operator": "Exists", "minValues": 51 }]),
            "less than or equal to 50",
        ),
        ("NodeClaim", "/nodeClassRef/group", json!(""), "group may not be empty"),
        ("NodeClaim", "/nodeClassRef/group", json!("a/b"), "should match"),
        ("NodeClaim", "/taints", json!([{ "key": "a", "effect": "Never" }]), "Unsupported value"),
        ("NodeClaim", "/expireAfter", json!("soon"), "should match"),
        (
            "NodePool",
            "/template/spec/requirements",
            requirement("karpenter.sh/nodepool", "In", &["a"]),
            "label \"karpenter.sh/nodepool\" is restricted",
        ),
        (
            "NodePool",
            "/template/metadata",
            json!({ "labels": { "karpenter.sh/x": "a" } }),
            "label domain \"karpenter.sh\" is restricted",
        ),
        ("NodePool", "/weight", json!(101), "less than or equal to 100"),
        (
            "NodePool",
            "/disruption",
            json!({ "budgets": [{ "nodes": "1", "schedule": "@daily" }] }),
            "'schedule' must be set with 'duration'",
        ),
        (
            "NodePool",
            "/disruption",
            json!({ "budgets": [{ "nodes": "1", "reasons": ["Bored"] }] }),
            "Unsupported value",
        ),
        ("AKSNodeClass", "/osDiskSizeGB", json!(10), "greater than or equal to 30"),
        ("AKSNodeClass", "/tags", json!({ "a?": "b" }), "tags keys must not contain '<'"),
        ("AKSNodeClass", "/linuxOSConfig", json!({ "swapFileSize": "1Gi" }), "kubelet.failSwapOn must be set to false"),
        (
            "AKSNodeClass",
            "/linuxOSConfig",
            json!({ "sysctls": { "netIPv4IPLocalPortRange": "1000 40000" } }),
            "first port must be in",
        ),
        (
            "ScalewayNodeClass",
            "/join/method",
            json!("kubeadm"),
            "join with kubeadm needs endpoint, caCertHash and kubernetesVersion",
        ),
        ("ScalewayNodeClass", "/join/method", json!("kosmos"), "join with kosmos needs poolID and poolRegion"),
        ("ScalewayNodeClass", "/project", json!("mine"), "should match"),
        (
            "PowerNodeClass",
            "/machines/0/backEnd/seed",
            json!({ "onURL": "https://a", "offURL": "https://b" }),
            "exactly one of seed",
        ),
        ("PowerNodeClass", "/machines/0/backEnd/auth", json!({}), "exactly one of basic"),
    ]
}

fn put(spec: &mut Value, pointer: &str, value: Value) {
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    spec.pointer_mut(parent).unwrap()[key] = value;
}

pub async fn what_is_good_is_taken_and_what_is_not_is_refused_in_known_words(client: &Client) {
    for kind in ["NodeClaim", "NodePool", "AKSNodeClass", "KaitoNodeClass", "ScalewayNodeClass", "PowerNodeClass"] {
        let made = api(client, kind).create(&PostParams::default(), &object(kind, good(kind))).await;
        made.unwrap_or_else(|why| panic!("{kind}: {why}"));
    }
    for (kind, pointer, value, words) in refusals() {
        let mut spec = good(kind);
        put(&mut spec, pointer, value);
        let dry_run = PostParams { dry_run: true, ..PostParams::default() };
        let mut bad = object(kind, spec);
        bad.metadata.name = Some("y".to_owned());
        let why = api(client, kind).create(&dry_run, &bad).await.expect_err(words).to_string();
        assert!(why.contains(words), "{kind} {pointer}: {words:?} is not in {why}");
    }
}

pub async fn a_claim_gets_its_defaults_and_its_spec_cannot_change(client: &Client) {
    let claims: Api<NodeClaim> = Api::all(client.clone());
    let made = api(client, "NodeClaim").create(&PostParams::default(), &object("NodeClaim", good("NodeClaim"))).await;
    assert_eq!(made.unwrap().data["spec"]["expireAfter"], "720h");
    let change = Patch::Merge(json!({ "spec": { "expireAfter": "1h" } }));
    let why = claims.patch("x", &PatchParams::default(), &change).await.unwrap_err().to_string();
    assert!(why.contains("spec is immutable"), "{why}");
    let status = Patch::Apply(json!({ "apiVersion": "karpenter.sh/v1", "kind": "NodeClaim",
        "status": { "nodeName": "n" } }));
    let claim = claims.patch_status("x", &PatchParams::apply("tester"), &status).await.unwrap();
    assert_eq!(claim.status.unwrap().node_name.as_deref(), Some("n"));
}

pub async fn a_pool_gets_karpenters_defaults_and_unknown_fields_are_dropped(client: &Client) {
    let mut spec = good("NodePool");
    put(&mut spec, "/unheardOf", json!(1));
    let made = api(client, "NodePool").create(&PostParams::default(), &object("NodePool", spec)).await.unwrap();
    let expected = json!({ "budgets": [{ "nodes": "10%" }], "consolidateAfter": "0s",
        "consolidationPolicy": "WhenEmptyOrUnderutilized" });
    assert_eq!(made.data["spec"]["disruption"], expected);
    assert!(made.data["spec"]["unheardOf"].is_null());
    let change = Patch::Merge(json!({ "spec": { "template": { "spec": { "nodeClassRef": { "kind": "Other" } } } } }));
    let why = api(client, "NodePool").patch("x", &PatchParams::default(), &change).await.unwrap_err().to_string();
    assert!(why.contains("nodeClassRef.kind is immutable"), "{why}");
}

pub async fn tables_have_karpenters_columns(client: &Client) {
    let mut claim = object("NodeClaim", good("NodeClaim"));
    let labels = [("node.kubernetes.io/instance-type", "L4-1-24G"), ("karpenter.sh/capacity-type", "on-demand")];
    claim.metadata.labels = Some(labels.map(|(key, value)| (key.to_owned(), value.to_owned())).into());
    api(client, "NodeClaim").create(&PostParams::default(), &claim).await.unwrap();
    let request = http::Request::get("/apis/karpenter.sh/v1/nodeclaims")
        .header("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
        .body(Vec::new());
    let table: Value = client.request(request.unwrap()).await.unwrap();
    let names: Vec<&str> =
        table["columnDefinitions"].as_array().unwrap().iter().filter_map(|column| column["name"].as_str()).collect();
    let expected = "Name Type Capacity Zone Node Ready Age ImageID ID NodePool NodeClass Drifted";
    assert_eq!(names.join(" "), expected);
    assert_eq!(table["rows"][0]["cells"][1], "L4-1-24G");
    assert_eq!(table["rows"][0]["cells"][2], "on-demand");
}
