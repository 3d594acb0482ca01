//! Every pod that waits is answered once, with places that exist; claims and pods agree.

#![allow(clippy::unwrap_used)]

mod common;

use checker::Rule;
use common::{POOL, Plan, broken, check, fine, node, pod};
use serde_json::json;

fn good() -> Plan {
    Plan::default().claim("c", "small", &["zone-a"], &["a"])
}

fn cluster() -> String {
    format!("{POOL}{}", pod("a", "web", ""))
}

#[test]
fn a_pod_that_waits_is_answered_exactly_once() {
    check(Rule::Answer, &cluster(), &good(), &Plan::default());
    broken(Rule::Answer, &cluster(), &good().on("a", "claim/c"));
    broken(Rule::Answer, &cluster(), &good().on("nobody", "claim/c"));
}

#[test]
fn places_exist_and_are_there_to_stay() {
    let with_node = format!("{}{}", cluster(), node("n1", "zone-a", ""));
    check(Rule::Answer, &with_node, &Plan::default().on("a", "node/n1"), &Plan::default().on("a", "node/m"));
    broken(Rule::Answer, &with_node, &Plan::default().on("a", "claim/nothing"));
    let leaving =
        with_node.replace("metadata: {name: n1,", "metadata: {name: n1, deletionTimestamp: '2026-01-01T00:00:00Z',");
    broken(Rule::Answer, &leaving, &Plan::default().on("a", "node/n1"));
}

#[test]
fn pods_that_stay_are_not_moved_and_pods_of_a_leaving_node_are() {
    let bound = format!("{}{}{}", cluster(), node("n1", "zone-a", ""), pod("b", "web", "nodeName: n1"));
    check(Rule::Answer, &bound, &good(), &good().on("b", "node/n1"));
    let leaving =
        bound.replace("metadata: {name: n1,", "metadata: {name: n1, deletionTimestamp: '2026-01-01T00:00:00Z',");
    check(Rule::Answer, &leaving, &Plan::default().claim("c", "small", &["zone-a"], &["a", "b"]), &good());
}

#[test]
fn a_claim_and_its_pods_agree() {
    let requirements = json!([{"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["small"]},
        {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["zone-a"]}]);
    let forgets =
        Plan::default().claim_with("c", "small", &["zone-a"], &["a"], requirements, |claim| claim["pods"] = json!([]));
    check(Rule::Answer, &cluster(), &good(), &forgets);
    broken(Rule::Answer, &cluster(), &good().claim("c", "small", &["zone-a"], &[]));
    broken(Rule::Answer, &cluster(), &good().claim("d", "small", &["zone-a"], &[]));
}

#[test]
fn workloads_become_pods_with_the_names_of_their_controllers() {
    let template = "template: {metadata: {labels: {app: web}}, spec: {containers: [{name: main, resources: {limits: {cpu: '1'}}}]}}";
    let set = |kind: &str, name: &str, spec: &str| {
        format!("---\nkind: {kind}\nmetadata: {{name: {name}}}\nspec: {{{spec}, {template}}}\n")
    };
    let all = [
        POOL.to_owned(),
        set("Deployment", "web", "replicas: 2"),
        set("StatefulSet", "db", "replicas: 1"),
        set("ReplicaSet", "rs", "replicas: 1"),
        set("Job", "job", "parallelism: 3, completions: 2"),
    ]
    .concat();
    let pods = ["web-0", "web-1", "db-0", "rs-0", "job-0", "job-1"];
    check(
        Rule::Answer,
        &all,
        &Plan::default().claim("c", "large", &["zone-a"], &pods),
        &Plan::default().claim("c", "large", &["zone-a"], &pods[1..]),
    );
}

#[test]
fn pods_that_are_nobodys_business_need_no_answer() {
    let gated = format!("{}{}", cluster(), pod("gated", "web", "schedulingGates: [{name: wait}]"));
    fine(&gated, &good());
    fine(&gated, &good().on("gated", "-"));
}
