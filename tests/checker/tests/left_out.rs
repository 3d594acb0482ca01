//! A pod is left out only for a reason.

#![allow(clippy::unwrap_used)]

mod common;

use checker::Rule;
use common::{POOL, Plan, check, fine, node, pod};

fn nowhere() -> Plan {
    Plan::default().on("a", "-")
}

fn with_pod(more: &str) -> String {
    format!("{POOL}{}", pod("a", "web", more))
}

#[test]
fn a_pod_that_a_new_node_would_take_is_not_left_out() {
    check(Rule::LeftOut, &with_pod(""), &Plan::default().claim("c", "small", &["zone-a"], &["a"]), &nowhere());
}

#[test]
fn a_pod_that_a_node_has_room_for_is_not_left_out() {
    let no_pool = format!("{}{}", with_pod(""), node("n1", "zone-a", "")).replacen(
        "spec: {template",
        "spec: {replicas: 1, template",
        1,
    );
    check(Rule::LeftOut, &no_pool, &Plan::default().on("a", "node/n1"), &nowhere());
    fine(&no_pool.replace("cpu: '4'", "cpu: 900m"), &nowhere());
    fine(&no_pool.replace("spec: {}", "spec: {unschedulable: true}"), &nowhere());
}

#[test]
fn there_are_good_reasons() {
    for more in [
        "nodeSelector: {team: red}",
        "nodeSelector: {topology.kubernetes.io/zone: zone-z}",
        "volumes: [{name: data, persistentVolumeClaim: {claimName: missing}}]",
        "affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: topology.kubernetes.io/zone, labelSelector: {matchLabels: {app: db}}}]}}",
    ] {
        fine(&with_pod(more), &nowhere());
    }
    fine(&with_pod("").replace("cpu: '1'", "cpu: '9'"), &nowhere());
    fine(
        &with_pod("").replace("requirements: []", "requirements: [], taints: [{key: k, effect: NoSchedule}]"),
        &nowhere(),
    );
    fine(&with_pod("").replace("spec: {template", "spec: {limits: {cpu: '1'}, template"), &nowhere());
    fine(&with_pod("").replace("spec: {template", "spec: {limits: {nodes: '0'}, template"), &nowhere());
    let least = "requirements: [{key: node.kubernetes.io/instance-type, operator: Exists, minValues: 9}]";
    fine(&with_pod("").replace("requirements: []", least), &nowhere());
}

#[test]
fn the_room_that_the_plan_itself_takes_is_a_reason() {
    let limited = POOL.replace("spec: {template", "spec: {limits: {cpu: '3'}, template");
    let two = format!("{limited}{}{}", pod("a", "web", ""), pod("b", "web", ""));
    fine(&two, &nowhere().claim("c", "small", &["zone-a"], &["b"]));
}

#[test]
fn a_domain_that_is_taken_is_a_reason_and_a_free_one_is_not() {
    let keeps_apart = "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: topology.kubernetes.io/zone, labelSelector: {matchLabels: {app: web}}}]}}";
    let residents = |zones: &[&str]| -> String {
        let one = |zone: &&str| {
            let name = zone.replace("zone", "node");
            format!("{}{}", node(&name, zone, ""), pod(&format!("old-{zone}"), "web", &format!("nodeName: {name}")))
        };
        zones.iter().map(one).collect()
    };
    let in_b = Plan::default().claim("c", "small", &["zone-b"], &["a"]);
    check(Rule::LeftOut, &format!("{}{}", with_pod(keeps_apart), residents(&["zone-a"])), &in_b, &nowhere());
    fine(&format!("{}{}", with_pod(keeps_apart), residents(&["zone-a", "zone-b"])), &nowhere());
}

#[test]
fn a_skew_is_a_reason() {
    let spread = "topologySpreadConstraints: [{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}], nodeSelector: {karpenter.sh/capacity-type: spot}";
    // Spot is sold in zone-a only, and there is one already; zone-b has a node, so it counts.
    let old = format!("{}{}{}", node("n1", "zone-a", ""), pod("old", "web", "nodeName: n1"), node("m", "zone-b", ""));
    let policy = spread.replace("maxSkew: 1", "maxSkew: 1, nodeAffinityPolicy: Ignore");
    fine(&format!("{}{old}", with_pod(&policy)), &nowhere());
}
