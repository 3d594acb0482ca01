//! Where pods are in relation to each other: affinity, anti-affinity, spread.

#![allow(clippy::unwrap_used)]

mod common;

use checker::Rule;
use common::{POOL, Plan, broken, check, fine, node, pod};

const ZONE: &str = "topology.kubernetes.io/zone";
const HOST: &str = "kubernetes.io/hostname";

/// A term of affinity to pods of an app.
fn near(kind: &str, key: &str, app: &str, more: &str) -> String {
    format!(
        "affinity: {{{kind}: {{requiredDuringSchedulingIgnoredDuringExecution: [{{topologyKey: {key}, labelSelector: {{matchLabels: {{app: {app}}}}}, {more}}}]}}}}"
    )
}

fn spread(key: &str, app: &str, more: &str) -> String {
    format!(
        "topologySpreadConstraints: [{{maxSkew: 1, topologyKey: {key}, whenUnsatisfiable: DoNotSchedule, labelSelector: {{matchLabels: {{app: {app}}}}}, {more}}}]"
    )
}

/// Pods a, b, … of one app, with the same spec.
fn pods(names: &[&str], app: &str, more: &str) -> String {
    let all: Vec<String> = names.iter().map(|name| pod(name, app, more)).collect();
    format!("{POOL}{}", all.concat())
}

/// Each pod on a claim of its own, in the zones given with it.
fn apart(places: &[(&str, &[&str])]) -> Plan {
    let claims = places.iter().enumerate();
    claims.fold(Plan::default(), |plan, (number, (pod, zones))| {
        plan.claim(&format!("c{number}"), "small", zones, &[*pod])
    })
}

const A: &[&str] = &["zone-a"];
const B: &[&str] = &["zone-b"];
const BOTH: &[&str] = &["zone-a", "zone-b"];

#[test]
fn pods_that_keep_apart_do_not_share_a_domain() {
    let hosts = pods(&["a", "b"], "web", &near("podAntiAffinity", HOST, "web", ""));
    check(
        Rule::PodAntiAffinity,
        &hosts,
        &apart(&[("a", A), ("b", A)]),
        &Plan::default().claim("c", "small", A, &["a", "b"]),
    );
    let zones = pods(&["a", "b"], "web", &near("podAntiAffinity", ZONE, "web", ""));
    check(Rule::PodAntiAffinity, &zones, &apart(&[("a", A), ("b", B)]), &apart(&[("a", A), ("b", A)]));
    broken(Rule::PodAntiAffinity, &zones, &apart(&[("a", A), ("b", BOTH)]));
}

#[test]
fn keeping_apart_works_both_ways_and_with_pods_that_were_there() {
    let resident =
        |more: &str| format!("{}{}", node("n1", "zone-a", ""), pod("old", "db", &format!("nodeName: n1, {more}")));
    let keeps_away = near("podAntiAffinity", ZONE, "web", "");
    let cluster = format!("{}{}", pods(&["a"], "web", ""), resident(&keeps_away));
    check(Rule::PodAntiAffinity, &cluster, &apart(&[("a", B)]), &apart(&[("a", A)]));
    broken(Rule::PodAntiAffinity, &cluster, &Plan::default().on("a", "node/n1"));
    let going = cluster.replace("{name: old,", "{name: old, deletionTimestamp: '2026-01-01T00:00:00Z',");
    fine(&going, &apart(&[("a", A)]));
    let other_way = format!("{}{}", pods(&["a"], "web", &near("podAntiAffinity", ZONE, "db", "")), resident(""));
    check(Rule::PodAntiAffinity, &other_way, &apart(&[("a", B)]), &apart(&[("a", A)]));
}

#[test]
fn namespaces_decide_whom_a_term_means() {
    let elsewhere = |term: &str| {
        let resident = pod("old", "web", "nodeName: n1").replace("{name: old,", "{name: old, namespace: other,");
        let space = "---\nkind: Namespace\nmetadata: {name: other, labels: {tier: back}}\n";
        let more = near("podAntiAffinity", ZONE, "web", term);
        format!("{}{space}{}{resident}", pods(&["a"], "web", &more), node("n1", "zone-a", ""))
    };
    let plan = apart(&[("a", A)]);
    fine(&elsewhere(""), &plan);
    fine(&elsewhere("namespaceSelector: {matchLabels: {tier: front}}"), &plan);
    for term in ["namespaces: [other]", "namespaceSelector: {}", "namespaceSelector: {matchLabels: {tier: back}}"] {
        broken(Rule::PodAntiAffinity, &elsewhere(term), &plan);
    }
}

#[test]
fn pods_that_want_company_have_it_for_sure() {
    let wants = format!("{}{}", pods(&["a"], "web", &near("podAffinity", ZONE, "db", "")), pod("d", "db", ""));
    check(Rule::PodAffinity, &wants, &apart(&[("a", A), ("d", A)]), &apart(&[("a", A), ("d", B)]));
    broken(Rule::PodAffinity, &wants, &apart(&[("a", BOTH), ("d", A)]));
    fine(&wants, &Plan::default().claim("c", "small", BOTH, &["a", "d"]));
    broken(Rule::PodAffinity, &pods(&["a"], "web", &near("podAffinity", ZONE, "db", "")), &apart(&[("a", A)]));
}

#[test]
fn a_group_that_wants_itself_starts_once() {
    let group = pods(&["a", "b"], "web", &near("podAffinity", ZONE, "web", ""));
    check(Rule::PodAffinity, &group, &apart(&[("a", A), ("b", A)]), &apart(&[("a", A), ("b", B)]));
    // Where one of them is already, nobody can start elsewhere.
    let there = format!("{group}{}{}", node("n1", "zone-b", ""), pod("old", "web", "nodeName: n1"));
    check(Rule::PodAffinity, &there, &apart(&[("a", B), ("b", B)]), &apart(&[("a", A), ("b", A)]));
}

#[test]
fn two_that_only_want_each_other_cannot_start() {
    let pair = format!(
        "{}{}",
        pods(&["a"], "web", &near("podAffinity", ZONE, "db", "")),
        pod("d", "db", &near("podAffinity", ZONE, "web", ""))
    );
    broken(Rule::PodAffinity, &pair, &Plan::default().claim("c", "small", A, &["a", "d"]));
}

#[test]
fn spread_keeps_its_skew_in_some_order() {
    let zones = pods(&["a", "b", "c"], "web", &spread(ZONE, "web", ""));
    check(Rule::Spread, &zones, &apart(&[("a", A), ("b", B), ("c", A)]), &apart(&[("a", A), ("b", A), ("c", A)]));
    broken(
        Rule::Spread,
        &pods(&["a", "b"], "web", &spread(ZONE, "web", "")),
        &Plan::default().claim("c", "small", BOTH, &["a", "b"]),
    );
    fine(&zones.replace("DoNotSchedule", "ScheduleAnyway"), &apart(&[("a", A), ("b", A), ("c", A)]));
    fine(&zones.replace("maxSkew: 1", "maxSkew: 3"), &apart(&[("a", A), ("b", A), ("c", A)]));
    let hosts = pods(&["a", "b"], "web", &spread(HOST, "web", ""));
    check(Rule::Spread, &hosts, &apart(&[("a", A), ("b", A)]), &Plan::default().claim("c", "small", A, &["a", "b"]));
}

#[test]
fn spread_counts_pods_that_were_there_but_not_those_that_may_come_later() {
    let owner = pods(&["a"], "web", &spread(ZONE, "web", ""));
    let old = format!("{owner}{}{}", node("n1", "zone-a", ""), pod("old", "web", "nodeName: n1"));
    check(Rule::Spread, &old, &apart(&[("a", B)]), &apart(&[("a", A)]));
    // b and c count, but have no constraint: they can come after a.
    let later = format!("{owner}{}{}", pod("b", "web", ""), pod("c", "web", ""));
    fine(&later, &apart(&[("a", A), ("b", A), ("c", A)]));
}

#[test]
fn spread_looks_at_domains_that_the_pod_can_use() {
    let selecting = |more: &str| pods(&["a", "b"], "web", &format!("{more} {}", spread(ZONE, "web", "")));
    fine(&selecting("nodeSelector: {topology.kubernetes.io/zone: zone-a},"), &apart(&[("a", A), ("b", A)]));
    broken(Rule::Spread, &selecting(""), &apart(&[("a", A), ("b", A)]));
    // GPUs are sold in zone-a only: zone-b cannot be used.
    let gpus = selecting("").replace("cpu: '1'", "cpu: '1', nvidia.com/gpu: '1'");
    let on_gpus = |names: &[&str]| {
        let claims = names.iter().enumerate();
        claims.fold(Plan::default(), |plan, (number, name)| {
            let requirements =
                serde_json::json!([{"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["gpu"]}]);
            plan.claim_with(&format!("c{number}"), "gpu", A, &[*name], requirements, |claim| {
                claim["requests"]["nvidia.com/gpu"] = serde_json::json!("1");
            })
        })
    };
    fine(&gpus, &on_gpus(&["a", "b"]));
    // A node that is there makes its zone count.
    broken(Rule::Spread, &format!("{gpus}{}", node("n1", "zone-b", "")), &on_gpus(&["a", "b"]));
}

#[test]
fn policies_decide_which_nodes_count() {
    let tainted = node("n1", "zone-c", "taints: [{key: k, effect: NoSchedule}]");
    let group = |policy: &str| format!("{}{tainted}", pods(&["a", "b", "c", "d"], "web", &spread(ZONE, "web", policy)));
    let plan = apart(&[("a", A), ("b", B), ("c", A), ("d", B)]);
    broken(Rule::Spread, &group(""), &plan);
    fine(&group("nodeTaintsPolicy: Honor"), &plan);
    let choosy = |policy: &str| {
        let more = format!("nodeSelector: {{kubernetes.io/arch: amd64}}, {}", spread(ZONE, "web", policy));
        let arm = node("n1", "zone-c", "").replace("arch: amd64", "arch: arm64");
        format!("{}{arm}", pods(&["a", "b", "c", "d"], "web", &more))
    };
    fine(&choosy(""), &plan);
    broken(Rule::Spread, &choosy("nodeAffinityPolicy: Ignore"), &plan);
}

#[test]
fn too_few_domains_make_the_minimum_nought() {
    let group = |least: &str| pods(&["a", "b", "c", "d"], "web", &spread(ZONE, "web", least));
    let plan = apart(&[("a", A), ("b", B), ("c", A), ("d", B)]);
    check(Rule::Spread, &group(""), &plan, &apart(&[("a", A), ("b", A), ("c", A), ("d", B)]));
    broken(Rule::Spread, &group("minDomains: 3"), &plan);
    fine(&group("minDomains: 2"), &plan);
}

#[test]
fn label_keys_narrow_the_selector() {
    let versions = |one: &str, other: &str| {
        let of = |name: &str, version: &str| {
            let more = spread(ZONE, "web", "matchLabelKeys: [version]");
            pod(name, "web", &more).replace("app: web}}\n", &format!("app: web, version: {version}}}}}\n"))
        };
        format!("{POOL}{}{}", of("a", one), of("b", other))
    };
    let plan = apart(&[("a", A), ("b", A)]);
    fine(&versions("v1", "v2"), &plan);
    broken(Rule::Spread, &versions("v1", "v1"), &plan);
}
