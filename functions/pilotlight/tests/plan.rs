//! `pilotlight plan` as people run it: scenarios in files, and what is wrong with files.

#![allow(clippy::unwrap_used, clippy::panic)]

use serde_json::Value;
use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

#[path = "plan/classes.rs"]
mod classes;
#[path = "plan/racks.rs"]
mod racks;

const NOW: &str = "2026-03-01T01:00:00Z";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/plan")
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pilotlight"));
    command.arg("plan").args(arguments).args(["--now", NOW]).env_remove("SCHEDULER_CONFIG").env_remove("LOCATION");
    command
}

fn plan(arguments: &[&str]) -> Output {
    command(arguments).output().unwrap()
}

fn with_catalogue(file: &Path, more: &[&str]) -> Output {
    let beside = file.with_file_name("catalog.json");
    let catalogue = if beside.exists() { beside } else { folder().join("catalog.json") };
    plan(&[&["-f", file.to_str().unwrap(), "--catalog", catalogue.to_str().unwrap()], more].concat())
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)))
}

/// Whether an answer has everything that is expected of it; lists are as long as expected.
fn holds(expected: &Value, found: &Value, path: &str, missing: &mut Vec<String>) {
    match (expected, found) {
        (Value::Object(fields), Value::Object(_)) => {
            fields.iter().for_each(|(key, value)| holds(value, &found[key], &format!("{path}.{key}"), missing));
        }
        (Value::Array(items), Value::Array(others)) if items.len() == others.len() => {
            let pairs = items.iter().zip(others).enumerate();
            pairs.for_each(|(at, (item, other))| holds(item, other, &format!("{path}[{at}]"), missing));
        }
        (expected, found) if expected == found => {}
        (expected, found) => missing.push(format!("{path}: expected {expected}, found {found}")),
    }
}

#[test]
fn every_scenario_is_answered_as_its_file_says() {
    play(&folder(), &["-o", "json"], 13);
}

#[test]
fn every_scenario_of_nodes_that_go_is_answered_as_its_file_says() {
    play(&folder().with_file_name("consolidate"), &["-o", "json", "--consolidate"], 12);
}

#[test]
fn the_table_says_which_nodes_go_and_why_the_others_stay() {
    let file = folder().with_file_name("consolidate").join("delete.yaml");
    let text = String::from_utf8(with_catalogue(&file, &["--consolidate"]).stdout).unwrap();
    for words in
        ["NODES THAT GO", "half", "Underutilized", "NODES THAT STAY", "full", "PodDoNotDisrupt", "1 node goes, 0 come"]
    {
        assert!(text.contains(words), "{words}: {text}");
    }
}

fn play(folder: &Path, arguments: &[&str], least: usize) {
    let mut played = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let file = entry.unwrap().path();
        if file.extension().is_none_or(|extension| extension != "yaml") {
            continue;
        }
        let expected: Value =
            serde_json::from_str(&fs::read_to_string(file.with_extension("expected.json")).unwrap()).unwrap();
        let output = with_catalogue(&file, arguments);
        let mut missing = Vec::new();
        holds(&expected["answer"], &json(&output), "answer", &mut missing);
        if arguments.contains(&"--consolidate") {
            missing.extend(judged(&file, &output));
        }
        assert!(missing.is_empty(), "{}: {missing:#?}", file.display());
        assert_eq!(output.status.code().map(Value::from).as_ref(), Some(&expected["exit"]), "{}", file.display());
        played += 1;
    }
    assert!(played >= least, "only {played} scenarios were found");
}

/// What the checker, which knows nothing of the decision, finds wrong with it.
fn judged(file: &Path, output: &Output) -> Vec<String> {
    let catalogue = fs::read_to_string(file.with_file_name("catalog.json")).unwrap();
    let catalog = checker::Catalog::parse(&catalogue).unwrap();
    let objects = checker::Objects::read(&[file.to_owned()]).unwrap();
    let answer = serde_json::from_slice(&output.stdout).unwrap();
    let (now, ways) = (NOW.parse().unwrap(), checker::disruption::Ways::Ours);
    checker::disruption::check(&objects, &catalog, &answer, now, ways).iter().map(ToString::to_string).collect()
}

#[test]
fn the_answer_has_the_fields_that_scripts_rely_on() {
    let answer = json(&with_catalogue(&folder().join("gpu.yaml"), &["-o", "json", "--repeat", "3"]));
    assert!(answer["solveMs"].as_f64().is_some_and(|ms| ms > 0.0));
    let nothing = json(&with_catalogue(&folder().with_file_name("consolidate").join("empty.yaml"), &["-o", "json"]));
    assert_eq!(nothing["pricePerHour"].to_string(), "0.0");
    let claim = &answer["claims"][0];
    for field in ["name", "nodePool", "labels", "taints", "requirements", "requests", "offerings", "pods"] {
        assert!(!claim[field].is_null(), "{field}: {claim}");
    }
    let offerings = claim["offerings"].as_array().unwrap();
    let prices: Vec<f64> = offerings.iter().map(|one| one["price"].as_f64().unwrap()).collect();
    assert!(prices.is_sorted() && !prices.is_empty(), "{prices:?}");
    for field in ["instanceType", "zone", "capacityType"] {
        assert!(offerings[0][field].is_string(), "{field}: {}", offerings[0]);
    }
    let requirements = claim["requirements"].as_array().unwrap();
    assert!(
        requirements.iter().any(|one| one["key"] == "node.kubernetes.io/instance-type" && one["values"].is_array())
    );
}

#[test]
fn the_table_says_where_at_what_price_and_why_not() {
    let output = with_catalogue(&folder().join("gpu.yaml"), &[]);
    let text = String::from_utf8(output.stdout).unwrap();
    for words in [
        "POD",
        "default/train",
        "claim/claim-0",
        "g.one at 0.4000 an hour",
        "292.00",
        "default/old",
        "1 without a place",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

#[test]
fn folders_and_standard_input_are_read_too() {
    let place = tempfile::tempdir().unwrap();
    fs::create_dir(place.path().join("below")).unwrap();
    let text = fs::read_to_string(folder().join("resource-fit.yaml")).unwrap();
    let (pool, pods) = text.split_once("---\n").unwrap();
    fs::write(place.path().join("below/pool.yml"), pool).unwrap();
    fs::write(place.path().join("pods.yaml"), pods).unwrap();
    fs::write(place.path().join("notes.txt"), "not: [yaml").unwrap();
    let output = with_catalogue(place.path(), &["-o", "json"]);
    assert_eq!(json(&output)["pods"][0]["on"], "claim/claim-0");
    let catalogue = folder().join("catalog.json");
    let mut child = command(&["-f", "-", "--catalog", catalogue.to_str().unwrap(), "-o", "json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    assert_eq!(json(&child.wait_with_output().unwrap())["pods"][0]["on"], "claim/claim-0");
}

#[test]
fn an_error_in_the_input_names_file_document_and_field() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("given.yaml");
    let check = |text: &str, words: &[&str]| {
        fs::write(&file, text).unwrap();
        let output = with_catalogue(&file, &[]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{text}: {said}");
        assert!(words.iter().all(|word| said.contains(word)), "{text}: {said}");
    };
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n";
    check("a: [", &["given.yaml, document 1"]);
    check("[1, 2]", &["document 1", "no Kubernetes object"]);
    check("apiVersion: v1\nmetadata: {name: p}\n", &["kind or apiVersion"]);
    check("apiVersion: v2\nkind: Pod\nmetadata: {name: p}\n", &["Pod p", "v2", "only v1"]);
    check("apiVersion: v1\nkind: Pod\n", &["Pod", "metadata.name"]);
    check(&format!("{pod}---\n{pod}"), &["document 2", "Pod default/p is already in", "document 1"]);
    check(
        &format!("# first\n---\n{pod}spec: {{nodSelector: {{}}}}\n"),
        &["document 2", "Pod p", "unknown field \"spec.nodSelector\""],
    );
    check(&format!("{pod}spec: {{nodeSelector: [a]}}\n"), &["Pod p", "spec.nodeSelector"]);
    check(
        &format!("{pod}spec: {{containers: [{{name: c, resources: {{requests: {{cpu: lots}}}}}}]}}\n"),
        &["requests.cpu", "quantity"],
    );
    check(&format!("{pod}spec: {{hostNetwork: true, hostNetwork: false}}\n"), &["document 1"]);
    let list = "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Pod, metadata: {name: p}, spek: {}}\n";
    check(list, &["document 1, item 1", "spek"]);
    let pool = "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: gpu}\nspec: ";
    check(&format!("{pool}{{template: {{spec: {{taint: []}}}}}}\n"), &["NodePool gpu", "spec.template.spec.taint"]);
    check(&format!("{pool}nothing\n"), &["NodePool gpu", "spec"]);
    check(&format!("{pool}{{limits: {{cpu: lots}}, template: {{spec: {{}}}}}}\n"), &["spec.limits.cpu"]);
    check("apiVersion: v1\nkind: Pod\nmetadata: {name: 5}\n", &["metadata.name is 5", "quotes"]);
    check("apiVersion: v1\nkind: Node\nmetadata: {name: n}\n", &["metadata.name is false", "quotes", "YAML"]);
    check(&format!("{pod}---\nkind: Pod\nspec:\n  containers: [\n"), &["document 2", "line 7"]);
}

/// The pool `p`, and what is written after it, without an error.
fn answered(more: &str) -> (Value, String) {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("given.yaml");
    let pool = "{apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {name: p}, spec: {template: {spec: {}}}}\n";
    fs::write(&file, format!("{pool}{more}")).unwrap();
    let output = with_catalogue(&file, &["-o", "json"]);
    (json(&output), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn a_pool_that_no_api_server_would_have_taken_makes_no_nodes_and_names_the_field() {
    let bad = |name: &str, template: &str, rest: &str| {
        format!(
            "--- {{apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {{name: {name}}}, spec: {{template: {template}{rest}}}}}\n"
        )
    };
    let label = bad("label", "{metadata: {labels: {team: a b!}}, spec: {}}", "");
    let taint = bad("taint", "{spec: {taints: [{key: '', effect: NoSchedule}]}}", "");
    let expiry = bad("expiry", "{spec: {expireAfter: soon}}", "");
    let budget = bad("budget", "{spec: {}}", ", disruption: {budgets: [{nodes: 110%}]}");
    let pod = "--- {apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: c}]}}\n";
    let (answer, said) = answered(&format!("{label}{taint}{expiry}{budget}{pod}"));
    assert_eq!(answer["claims"][0]["nodePool"], "p", "{answer:#}");
    for words in ["labels.team", "taints[0].key", "spec.expireAfter", "budgets[0].nodes"] {
        assert!(said.contains(words), "{words}: {said}");
    }
}

#[test]
fn yaml_is_read_as_kubectl_reads_it() {
    let volumes = "volumes: [{name: v, secret: {secretName: s, defaultMode: 0400}}]";
    let containers = "containers: [{name: c, resources: {requests: {cpu: 010}}}]";
    let (answer, _) = answered(&format!(
        "--- {{apiVersion: v1, kind: Pod, metadata: {{name: a}}, spec: {{{volumes}, {containers}}}}}\n...\n%YAML 1.2\n---\napiVersion: v1\nkind: Pod\nmetadata: {{name: b}}\nspec: {{containers: [{{name: c}}]}}\n"
    ));
    assert_eq!(answer["claims"][0]["requests"]["cpu"], "8", "{answer:#}");
    assert_eq!(answer["pods"].as_array().unwrap().len(), 2, "{answer:#}");
}

#[test]
fn kinds_of_other_groups_are_passed_over_and_items_have_the_kind_of_their_list() {
    let (answer, said) = answered(
        "---\napiVersion: serving.knative.dev/v1\nkind: Service\nmetadata: {name: web}\nspec: {template: {}}\n---\napiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: train}\nspec: {minAvailable: 3}\n---\napiVersion: v1\nkind: PodList\nitems: [{metadata: {name: a}, spec: {containers: [{name: c}]}}]\n",
    );
    for words in ["Service web of serving.knative.dev is passed over", "Job train of batch.volcano.sh is passed over"] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert!(answer["pods"].as_array().unwrap().len() == 1 && answer["pods"][0]["name"] == "a", "{answer:#}");
}

#[test]
fn one_claim_that_makes_no_sense_stops_nobody_else() {
    let pod = "---\napiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: c}]}\n";
    let claim = |name: &str, operator: &str| {
        format!(
            "---\napiVersion: karpenter.sh/v1\nkind: NodeClaim\nmetadata: {{name: {name}}}\nspec: {{requirements: [{{key: a, operator: {operator}}}]}}\n"
        )
    };
    let (answer, said) = answered(&format!("{pod}{}{}", claim("c", "Near"), claim("Not_A_Name", "Exists")));
    assert_eq!(answer["pods"][0]["on"], "claim/claim-0", "{answer:#}");
    assert!(said.contains("NodeClaim c: spec.requirements[0].operator") && said.contains("Not_A_Name"), "{said}");
}

#[test]
fn what_is_not_there_or_no_catalogue_is_named() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("types.json");
    let scenario = folder().join("gpu.yaml");
    let check = |text: &str, words: &[&str]| {
        fs::write(&file, text).unwrap();
        let output = plan(&["-f", scenario.to_str().unwrap(), "--catalog", file.to_str().unwrap()]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{text}: {said}");
        assert!(words.iter().all(|word| said.contains(word)), "{text}: {said}");
    };
    check("[{\"name\": ", &["types.json"]);
    check("[{}]", &["type 1", "name is missing"]);
    check("[{\"name\": \"a\"}, {\"name\": \"a\"}]", &["type 2", "twice"]);
    check("[{\"name\": \"a\", \"resources\": {\"cpu\": \"x\"}}]", &["type 1", "resources.cpu"]);
    check("[{\"name\": \"a\", \"offerings\": [{\"Price\": 1}]}]", &["offering 1", "topology.kubernetes.io/zone"]);
    check("[{\"name\": \"a\", \"offerings\": 1}]", &["offerings"]);
    check("types: [{name: a, capacity: {cpu: 1}, offerings: [{capacityType: cheap}]}]", &["offerings[0].capacityType"]);
    check("types: [{name: a, capacity: {cpu: 1}, offering: []}]", &["offering"]);
    check("", &["types.json is empty"]);
    check("types: []\n---\ntypes: []\n", &["more than one document at line 3"]);
    check("types: 5", &["types: invalid type"]);
    let nowhere = place.path().join("nowhere.yaml");
    let output = plan(&["-f", nowhere.to_str().unwrap()]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(1) && said.contains("nowhere.yaml"), "{said}");
}

#[test]
fn our_own_catalogue_has_types_and_their_offerings() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("types.yaml");
    fs::write(&file, "types:\n- name: box\n  capacity: {cpu: 8, memory: 32Gi, pods: 110, nvidia.com/gpu: 1}\n  labels: {nvidia.com/gpu.product: L4}\n  offerings: [{zone: here, price: 0.5}, {capacityType: spot, price: 0.2, available: false}]\n").unwrap();
    let scenario = folder().join("gpu.yaml");
    let answer = json(&plan(&["-f", scenario.to_str().unwrap(), "--catalog", file.to_str().unwrap(), "-o", "json"]));
    let offered = &answer["claims"][0]["offerings"];
    assert_eq!(
        *offered,
        serde_json::json!([{ "instanceType": "box", "zone": "here", "capacityType": "on-demand", "price": 0.5 }])
    );
}

#[test]
fn what_a_type_does_not_hold_back_can_be_used() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("types.yaml");
    fs::write(&file, "types: [{name: box, capacity: {cpu: 4, memory: 8Gi, pods: 10}, allocatable: {cpu: 3900m}, offerings: [{price: 1}]}]").unwrap();
    let on = |cpu: &str| {
        let cluster = place.path().join("cluster.yaml");
        fs::write(&cluster, format!("{{apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {{name: p}}, spec: {{template: {{spec: {{}}}}}}}}\n--- {{apiVersion: v1, kind: Pod, metadata: {{name: a}}, spec: {{containers: [{{name: c, resources: {{requests: {{cpu: {cpu}}}}}}}]}}}}\n")).unwrap();
        let output = plan(&["-f", cluster.to_str().unwrap(), "--catalog", file.to_str().unwrap(), "-o", "json"]);
        json(&output)["pods"][0]["on"].clone()
    };
    assert_eq!((on("3900m"), on("3950m")), (Value::from("claim/claim-0"), Value::Null));
}

#[test]
fn the_keys_of_karpenters_own_catalogue_may_be_in_any_case() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("types.json");
    let reason = |available: &str| {
        let zone = r#"{"Key": "topology.kubernetes.io/zone", "Operator": "In", "Values": ["z"]}"#;
        let kind = r#"{"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot"]}"#;
        fs::write(&file, format!(r#"[{{"Name": "x", "resources": {{"cpu": "4", "nvidia.com/gpu": "2"}}, "OFFERINGS": [{{"price": 1, {available}, "requirements": [{zone}, {kind}]}}]}}]"#)).unwrap();
        let scenario = folder().join("gpu.yaml");
        let answer =
            json(&plan(&["-f", scenario.to_str().unwrap(), "--catalog", file.to_str().unwrap(), "-o", "json"]));
        (answer["claims"][0]["offerings"][0]["instanceType"].clone(), answer["pods"][0]["on"].clone())
    };
    assert_eq!(reason(r#""available": true"#).0, "x");
    assert_eq!(reason(r#""available": false"#).1, Value::Null);
}

#[test]
fn without_a_catalogue_the_class_of_a_pool_tells_what_there_is() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("cluster.yaml");
    let answered = |class: &str, requirement: &str| {
        let (group, kind) = class.split_once('/').unwrap();
        let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: train}\nspec:\n  containers: [{name: main, resources: {limits: {nvidia.com/gpu: 1}}}]\n";
        let rack = "apiVersion: pilotlight.dev/v1alpha1\nkind: PowerNodeClass\nmetadata: {name: own}\nspec:\n  machines:\n  - {name: box, gpu: {count: 2}, capacity: {cpu: 16, memory: 64Gi, pods: 110}, backEnd: {seed: {onURL: \"https://a.example/on\", offURL: \"https://a.example/off\"}}}\n";
        let pool = format!(
            "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {{name: gpu}}\nspec:\n  template:\n    spec:\n      nodeClassRef: {{group: {group}, kind: {kind}, name: own}}\n      requirements: [{requirement}]\n"
        );
        fs::write(&file, format!("{pool}---\n{rack}---\n{pod}")).unwrap();
        json(&plan(&["-f", file.to_str().unwrap(), "-o", "json"]))
    };
    let cheapest =
        |answer: &Value| answer["claims"][0]["offerings"][0]["instanceType"].as_str().unwrap_or_default().to_owned();
    assert_eq!(cheapest(&answered("pilotlight.dev/ScalewayNodeClass", "")), "L4-1-24G");
    assert_eq!(cheapest(&answered("pilotlight.dev/PowerNodeClass", "")), "box");
    let in_europe = "{key: topology.kubernetes.io/region, operator: In, values: [westeurope]}";
    let azure = answered("karpenter.azure.com/AKSNodeClass", in_europe);
    assert_eq!(azure["claims"][0]["labels"]["topology.kubernetes.io/region"], "westeurope", "{azure:#}");
    let unknown = answered("example.com/OddNodeClass", "");
    assert!(unknown["pods"][0]["reason"].as_str().is_some_and(|why| why.contains("OddNodeClass")), "{unknown:#}");
}
