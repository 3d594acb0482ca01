//! A claim itself: offerings, pool, minValues, limits.

#![allow(clippy::unwrap_used)]

mod common;

use checker::Rule;
use common::{POOL, Plan, broken, check, fine, node, pod};
use serde_json::{Value, json};

fn requirements() -> Value {
    json!([{"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["small"]},
        {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["zone-a"]}])
}

fn changed(change: impl Fn(&mut Value)) -> Plan {
    Plan::default().claim_with("c", "small", &["zone-a"], &["a"], requirements(), change)
}

fn good() -> Plan {
    changed(|_| {})
}

fn with_pool(pool: &str) -> String {
    format!("{pool}{}", pod("a", "web", ""))
}

#[test]
fn offerings_exist_at_their_price_and_are_available() {
    let offering =
        |field: &'static str, value: Value| changed(move |claim| claim["offerings"][0][field] = value.clone());
    check(Rule::Offerings, &with_pool(POOL), &good(), &offering("price", json!(0.09)));
    broken(Rule::Offerings, &with_pool(POOL), &offering("zone", json!("zone-z")));
    broken(Rule::Offerings, &with_pool(POOL), &offering("zone", json!("zone-b")));
    broken(Rule::Offerings, &with_pool(POOL), &offering("capacityType", json!("spot")));
    broken(Rule::Offerings, &with_pool(POOL), &offering("instanceType", json!("huge")));
    broken(Rule::Offerings, &with_pool(POOL), &Plan::default().claim("c", "gone", &["zone-a"], &["a"]));
    broken(Rule::Offerings, &with_pool(POOL), &changed(|claim| claim["offerings"] = json!([])));
}

#[test]
fn the_cheapest_offering_is_listed_first() {
    let spot = json!({"instanceType": "small", "zone": "zone-a", "capacityType": "spot", "price": 0.04});
    let listed = |first: bool| {
        let spot = spot.clone();
        changed(move |claim| {
            let list = claim["offerings"].as_array_mut().unwrap();
            let at = if first { 0 } else { list.len() };
            list.insert(at, spot.clone());
        })
    };
    check(Rule::Offerings, &with_pool(POOL), &listed(true), &listed(false));
}

#[test]
fn a_pool_decides_what_its_claims_may_be() {
    let demanding =
        |requirement: &str| with_pool(&POOL.replace("requirements: []", &format!("requirements: [{requirement}]")));
    fine(&demanding("{key: kubernetes.io/arch, operator: In, values: [amd64]}"), &good());
    broken(Rule::Pool, &demanding("{key: kubernetes.io/arch, operator: NotIn, values: [amd64]}"), &good());
    broken(Rule::Pool, &demanding("{key: topology.kubernetes.io/zone, operator: In, values: [zone-b]}"), &good());
    broken(Rule::Pool, &demanding("{key: karpenter.sh/capacity-type, operator: In, values: [spot]}"), &good());
    // A label of one's own has to be narrowed by the claim as the pool says.
    let team = |values: &'static [&'static str]| {
        changed(move |claim| {
            let list = claim["requirements"].as_array_mut().unwrap();
            list.push(json!({"key": "team", "operator": "In", "values": values}));
        })
    };
    let red = demanding("{key: team, operator: In, values: [red]}");
    check(Rule::Pool, &red, &team(&["red"]), &team(&["red", "blue"]));
    broken(Rule::Pool, &red, &good());
    broken(Rule::UndefinedLabel, &with_pool(POOL), &team(&["red"]));
}

#[test]
fn labels_and_taints_of_the_template_are_on_the_claim() {
    let pool = POOL.replace("template: {", "template: {metadata: {labels: {team: red}}, ");
    check(Rule::Pool, &with_pool(&pool), &changed(|claim| claim["labels"] = json!({"team": "red"})), &good());
    let tainted = POOL.replace("requirements: []", "requirements: [], taints: [{key: k, effect: NoSchedule}]");
    let tolerant = format!("{tainted}{}", pod("a", "web", "tolerations: [{operator: Exists}]"));
    check(
        Rule::Pool,
        &tolerant,
        &changed(|claim| claim["taints"] = json!([{"key": "k", "effect": "NoSchedule"}])),
        &good(),
    );
}

#[test]
fn a_pool_that_is_static_going_or_unready_makes_no_claims() {
    for (from, to) in [
        ("spec: {template", "spec: {replicas: 2, template"),
        ("{name: default}", "{name: default, deletionTimestamp: '2026-01-01T00:00:00Z'}"),
        ("kind: NodePool\n", "kind: NodePool\nstatus: {conditions: [{type: Ready, status: 'False'}]}\n"),
    ] {
        check(Rule::Pool, &with_pool(&POOL.replace(from, to)), &Plan::default().on("a", "-"), &good());
    }
}

#[test]
fn a_claim_requests_what_its_pods_do() {
    let requests = |cpu: &'static str| changed(move |claim| claim["requests"]["cpu"] = json!(cpu));
    check(Rule::Pool, &with_pool(POOL), &requests("1"), &requests("900m"));
    broken(Rule::Pool, &with_pool(POOL), &requests("1100m"));
}

#[test]
fn min_values_are_there() {
    let pool = |least: usize| {
        let flexible =
            format!("requirements: [{{key: node.kubernetes.io/instance-type, operator: Exists, minValues: {least}}}]");
        with_pool(&POOL.replace("requirements: []", &flexible))
    };
    let two = |claim: &mut Value| {
        claim["requirements"][0]["values"] = json!(["small", "large"]);
        let large = json!({"instanceType": "large", "zone": "zone-a", "capacityType": "on-demand", "price": 0.4});
        claim["offerings"].as_array_mut().unwrap().push(large);
    };
    check(Rule::MinValues, &pool(2), &changed(two), &good());
    broken(Rule::MinValues, &pool(3), &changed(two));
}

#[test]
fn limits_count_what_is_there_and_the_largest_type_that_is_listed() {
    let limited =
        |limits: &str| with_pool(&POOL.replace("spec: {template", &format!("spec: {{limits: {{{limits}}}, template")));
    let cpu = |cpu: usize| limited(&format!("cpu: '{cpu}'"));
    fine(&cpu(2), &good());
    broken(Rule::Limits, &cpu(1), &good());
    broken(Rule::Limits, &limited("memory: 3Gi"), &good());
    let used = node("n1", "zone-a", "").replace("labels: {", "labels: {karpenter.sh/nodepool: default, ");
    fine(&format!("{}{used}", cpu(6)), &good());
    broken(Rule::Limits, &format!("{}{used}", cpu(5)), &good());
    let leaving = used.replace("{name: n1,", "{name: n1, deletionTimestamp: '2026-01-01T00:00:00Z',");
    fine(&format!("{}{leaving}", cpu(5)), &good());
}

#[test]
fn the_limit_of_nodes_is_exact() {
    let limited = POOL.replace("spec: {template", "spec: {limits: {nodes: '1'}, template");
    let two = format!("{limited}{}{}", pod("a", "web", ""), pod("b", "web", ""));
    let apart = Plan::default().claim("c", "small", &["zone-a"], &["a"]).claim("d", "small", &["zone-a"], &["b"]);
    check(Rule::NodeLimit, &two, &Plan::default().claim("c", "small", &["zone-a"], &["a", "b"]), &apart);
}
