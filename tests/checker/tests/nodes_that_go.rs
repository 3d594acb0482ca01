//! Rules of nodes that go: for each an answer that keeps it, and one that breaks it.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use checker::disruption::{Ways, check};
use checker::{Answer, Catalog, Objects, Rule};
use serde_json::{Value, json};

/// Sunday, in the night.
const NOW: &str = "2026-03-01T01:00:00Z";

/// A pool; `disruption` is what it says about that, `notes` its annotations.
fn pool(disruption: &str, notes: &str) -> String {
    let class = "nodeClassRef: {group: x, kind: Class, name: z}";
    format!(
        "---\nkind: NodePool\nmetadata: {{name: default, annotations: {{{notes}}}}}\nspec: {{disruption: {{{disruption}}}, \
         template: {{spec: {{requirements: [], {class}}}}}}}\n"
    )
}

fn any() -> String {
    pool("budgets: [{nodes: '100%'}]", "")
}

/// A node of `default` with its claim; `claim` goes into the claim, `node` into the Node's metadata.
fn node(name: &str, kind: &str, claim: &str, metadata: &str) -> String {
    let resources = match kind {
        "small" => "cpu: '2', memory: 4Gi, pods: '20'",
        "gpu" => "cpu: '8', memory: 32Gi, pods: '20', nvidia.com/gpu: '4'",
        _ => "cpu: '8', memory: 16Gi, pods: '110'",
    };
    let labels = format!(
        "{{karpenter.sh/nodepool: default, node.kubernetes.io/instance-type: {kind}, karpenter.sh/capacity-type: on-demand, \
         topology.kubernetes.io/zone: zone-a, kubernetes.io/arch: amd64, kubernetes.io/os: linux}}"
    );
    let created = "creationTimestamp: '2026-02-20T00:00:00Z'";
    format!(
        "---\nkind: NodeClaim\nmetadata: {{name: of-{name}, labels: {labels}, {created}}}\nspec: {{nodeClassRef: {{group: x, kind: Class, \
         name: z}}, {claim}}}\nstatus: {{providerID: 'p://{name}', nodeName: {name}, capacity: {{{resources}}}}}\n\
         ---\nkind: Node\nmetadata: {{name: {name}, labels: {labels}, {created}, {metadata}}}\nspec: {{providerID: 'p://{name}'}}\n\
         status: {{allocatable: {{{resources}}}}}\n"
    )
}

/// A pod of one CPU that runs on a node; `more` goes into its metadata, `spec` into its spec.
fn pod(name: &str, on: &str, more: &str, spec: &str) -> String {
    let main = "containers: [{name: main, resources: {requests: {cpu: '1'}}}]";
    format!(
        "---\nkind: Pod\nmetadata: {{name: {name}, labels: {{app: {name}}}, {more}}}\nspec: {{nodeName: {on}, {main}, {spec}}}\n"
    )
}

/// An answer: commands, and nodes that stay with their codes.
fn answer(commands: Value, kept: &[(&str, &str)]) -> Answer {
    let kept: Vec<Value> =
        kept.iter().map(|(node, code)| json!({"node": node, "code": code, "reason": "so"})).collect();
    serde_json::from_value(json!({"disruptions": commands, "kept": kept})).unwrap()
}

/// A command without replacements. Moves are `pod to`.
fn command(reason: &str, nodes: &[&str], saves: f64, moves: &[(&str, &str)]) -> Value {
    let moves: Vec<Value> = moves
        .iter()
        .map(|(pod, to)| {
            let to = if *to == "later" { Value::Null } else { json!(to) };
            json!({"pod": format!("default/{pod}"), "from": nodes[0], "to": to})
        })
        .collect();
    json!({"nodes": nodes, "reason": reason, "action": "delete", "replacements": [], "savesPerHour": saves, "moves": moves})
}

/// A claim for pods of one CPU each.
fn replacement(kind: &str, price: f64, how: &str, pods: &[&str]) -> Value {
    let full: Vec<String> = pods.iter().map(|pod| format!("default/{pod}")).collect();
    json!({
        "name": "replacement-0", "nodePool": "default", "labels": {}, "taints": [],
        "requirements": [
            {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": [kind]},
            {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["zone-a"]},
            {"key": "karpenter.sh/capacity-type", "operator": "In", "values": [how]},
        ],
        "requests": {"cpu": pods.len().to_string()}, "pods": full,
        "offerings": [{"instanceType": kind, "zone": "zone-a", "capacityType": how, "price": price}],
    })
}

fn judge(cluster: &str, answer: &Answer) -> Vec<String> {
    let catalog = Catalog::parse(&common::catalog()).unwrap();
    let mut objects = Objects::default();
    objects.add_yaml("test", cluster).unwrap();
    let found = check(&objects, &catalog, answer, NOW.parse().unwrap(), Ways::Ours);
    found.iter().map(ToString::to_string).collect()
}

fn fine(cluster: &str, answer: &Answer) {
    let found = judge(cluster, answer);
    assert!(found.is_empty(), "a good answer is refused: {found:#?}");
}

fn broken(rule: Rule, cluster: &str, answer: &Answer) {
    let found = judge(cluster, answer);
    let named = format!("{rule:?}: ");
    assert!(found.iter().any(|one| one.starts_with(&named)), "{rule:?} is broken, and this is found: {found:#?}");
}

#[test]
fn an_empty_node_goes_unless_something_forbids_it() {
    let goes = answer(json!([command("Empty", &["a"], 0.1, &[])]), &[]);
    let empty = node("a", "small", "expireAfter: Never", "");
    fine(&(any() + &empty), &goes);
    let daemon = pod("agent", "a", "ownerReferences: [{apiVersion: v1, kind: DaemonSet, name: d, uid: u}]", "");
    fine(&(any() + &empty + &daemon), &goes);
    for (why, cluster) in [
        ("a pod", any() + &empty + &pod("p", "a", "", "")),
        (
            "a note",
            any() + &node("a", "small", "expireAfter: Never", "annotations: {karpenter.sh/do-not-disrupt: 'true'}"),
        ),
        ("a pool that waits", pool("consolidateAfter: Never", "") + &empty),
        ("a pool of fixed size", any().replace("spec: {disruption", "spec: {replicas: 1, disruption") + &empty),
        ("no pool", empty.clone()),
        (
            "the control plane",
            any() + &empty.replace("kubernetes.io/os: linux", "node-role.kubernetes.io/control-plane: ''"),
        ),
        (
            "it goes already",
            any()
                + &empty.replacen(
                    "creationTimestamp",
                    "deletionTimestamp: '2026-03-01T00:00:00Z', creationTimestamp",
                    1,
                ),
        ),
    ] {
        let found = judge(&cluster, &goes);
        assert!(found.iter().any(|one| one.starts_with("Candidate: ")), "{why}: {found:#?}");
    }
}

#[test]
fn what_nobody_uses_does_not_stay_and_every_node_is_told_once() {
    let cluster = any() + &node("a", "small", "expireAfter: Never", "");
    for (kept, goes) in [
        (&[("a", "NotCheaper")][..], json!([])),
        (&[("a", "NoOtherPlace")], json!([])),
        (&[], json!([])),
        (&[("a", "Deleting")], json!([])),
        (&[("a", "Budget")], json!([command("Empty", &["a"], 0.1, &[])])),
        (&[("b", "NotManaged")], json!([command("Empty", &["a"], 0.1, &[])])),
    ] {
        broken(Rule::Kept, &cluster, &answer(goes, kept));
    }
    let held = any() + &node("a", "small", "expireAfter: Never", "annotations: {karpenter.sh/do-not-disrupt: 'true'}");
    fine(&held, &answer(json!([]), &[("a", "NodeDoNotDisrupt")]));
}

/// One pod on `a`, room on `b`, which has one too.
fn two_nodes(more: &str, spec: &str) -> String {
    let nodes = node("a", "small", "expireAfter: Never", "") + &node("b", "large", "expireAfter: Never", "");
    nodes + &pod("p", "a", more, spec) + &pod("q", "b", "annotations: {karpenter.sh/do-not-disrupt: 'true'}", "")
}

fn a_goes(to: &str) -> Answer {
    answer(json!([command("Underutilized", &["a"], 0.1, &[("p", to)])]), &[("b", "PodDoNotDisrupt")])
}

#[test]
fn every_pod_has_a_place_that_keeps_every_rule() {
    fine(&(any() + &two_nodes("", "")), &a_goes("node/b"));
    broken(Rule::Moves, &(any() + &two_nodes("", "")), &a_goes("later"));
    let untold = answer(json!([command("Underutilized", &["a"], 0.1, &[])]), &[("b", "PodDoNotDisrupt")]);
    broken(Rule::Moves, &(any() + &two_nodes("", "")), &untold);
    broken(Rule::Answer, &(any() + &two_nodes("", "")), &a_goes("node/nowhere"));
    broken(Rule::NodeAffinity, &(any() + &two_nodes("", "nodeSelector: {x: z}")), &a_goes("node/b"));
    let full =
        any() + &two_nodes("", "") + &(0..7).map(|number| pod(&format!("r{number}"), "b", "", "")).collect::<String>();
    broken(Rule::Capacity, &full, &a_goes("node/b"));
}

#[test]
fn pods_that_must_not_be_disturbed_hold_their_node() {
    broken(
        Rule::Candidate,
        &(any() + &two_nodes("annotations: {karpenter.sh/do-not-disrupt: 'true'}", "")),
        &a_goes("node/b"),
    );
    broken(
        Rule::Candidate,
        &(any() + &two_nodes("annotations: {karpenter.sh/do-not-disrupt: 4h}", "")),
        &a_goes("node/b"),
    );
    fine(&(any() + &two_nodes("annotations: {karpenter.sh/do-not-disrupt: 10m}", "")), &a_goes("node/b"));
    let budget = |spec: &str| {
        format!(
            "---\nkind: PodDisruptionBudget\nmetadata: {{name: x}}\nspec: {{selector: {{matchLabels: {{app: p}}}}, {spec}}}\n"
        )
    };
    broken(Rule::Candidate, &(any() + &two_nodes("", "") + &budget("maxUnavailable: 0")), &a_goes("node/b"));
    broken(Rule::Candidate, &(any() + &two_nodes("", "") + &budget("minAvailable: 1")), &a_goes("node/b"));
    fine(&(any() + &two_nodes("", "") + &budget("maxUnavailable: 1")), &a_goes("node/b"));
    let twice = budget("maxUnavailable: 1") + &budget("maxUnavailable: 1").replace("name: x", "name: w");
    broken(Rule::Candidate, &(any() + &two_nodes("", "") + &twice), &a_goes("node/b"));
}

#[test]
fn policies_of_the_pool_and_work_on_gpus_hold_it() {
    broken(Rule::Candidate, &(pool("consolidationPolicy: WhenEmpty", "") + &two_nodes("", "")), &a_goes("node/b"));
    let cluster = |notes: &str| {
        let gpus = "containers: [{name: main, resources: {requests: {cpu: '1', nvidia.com/gpu: '1'}}}]";
        let work = |name: &str, on: &str| {
            format!("---\nkind: Pod\nmetadata: {{name: {name}}}\nspec: {{nodeName: {on}, {gpus}}}\n")
        };
        pool("budgets: [{nodes: '100%'}]", notes)
            + &node("a", "gpu", "expireAfter: Never", "")
            + &node("b", "gpu", "expireAfter: Never", "annotations: {karpenter.sh/do-not-disrupt: 'true'}")
            + &work("p", "a")
            + &work("q", "b")
    };
    let goes = answer(json!([command("Underutilized", &["a"], 2.0, &[("p", "node/b")])]), &[("b", "NodeDoNotDisrupt")]);
    broken(Rule::Candidate, &cluster(""), &goes);
    fine(&cluster("pilotlight.dev/consolidate-gpu: 'true'"), &goes);
}

#[test]
fn a_replacement_costs_less_by_enough_and_is_for_somebody() {
    let cluster = |notes: &str| {
        pool("budgets: [{nodes: '100%'}]", notes)
            + &node("a", "large", "expireAfter: Never", "")
            + &pod("p", "a", "", "")
    };
    let replaced = |saves: f64, by: Value| {
        let mut one = command("Underutilized", &["a"], saves, &[("p", "claim/replacement-0")]);
        one["replacements"] = json!([by]);
        answer(json!([one]), &[])
    };
    fine(&cluster(""), &replaced(0.3, replacement("small", 0.1, "on-demand", &["p"])));
    broken(Rule::Price, &cluster(""), &replaced(0.2, replacement("small", 0.1, "on-demand", &["p"])));
    broken(Rule::Price, &cluster(""), &replaced(0.0, replacement("large", 0.4, "on-demand", &["p"])));
    broken(
        Rule::Price,
        &cluster("pilotlight.dev/minimum-saving: 80%"),
        &replaced(0.3, replacement("small", 0.1, "on-demand", &["p"])),
    );
    let mut stays = command("Underutilized", &["a"], 0.3, &[]);
    stays["replacements"] = json!([replacement("small", 0.1, "on-demand", &[])]);
    broken(Rule::Answer, &cluster(""), &answer(json!([stays]), &[]));
}

#[test]
fn budgets_hold_for_their_reasons_at_their_times() {
    let three: String = ["a", "b", "c"].iter().map(|name| node(name, "small", "expireAfter: Never", "")).collect();
    let go = |names: &[&str]| json!(names.iter().map(|name| command("Empty", &[name], 0.1, &[])).collect::<Vec<_>>());
    let one = answer(go(&["a"]), &[("b", "Budget"), ("c", "Budget")]);
    let all = answer(go(&["a", "b", "c"]), &[]);
    // 10 % of three is one.
    fine(&(pool("", "") + &three), &one);
    broken(Rule::Budget, &(pool("", "") + &three), &all);
    fine(&(any() + &three), &all);
    fine(&(pool("budgets: [{nodes: '0', reasons: [Drifted]}]", "") + &three), &all);
    broken(Rule::Budget, &(pool("budgets: [{nodes: '0', reasons: [Empty]}]", "") + &three), &one);
    broken(Rule::Budget, &(pool("budgets: [{nodes: many}]", "") + &three), &one);
    let night = "budgets: [{nodes: '0', schedule: '0 1 * * *', duration: 1h}]";
    broken(Rule::Budget, &(pool(night, "") + &three), &one);
    fine(&(pool(night, "pilotlight.dev/time-zone: Asia/Tokyo") + &three), &all);
    let ill =
        three.replacen("status: {allocatable", "status: {conditions: [{type: Ready, status: 'False'}], allocatable", 1);
    broken(Rule::Budget, &(pool("budgets: [{nodes: '1'}]", "") + &ill), &answer(go(&["b"]), &[]));
}

#[test]
fn a_node_that_is_too_old_or_not_what_it_should_be_is_so() {
    let old = any() + &node("a", "small", "expireAfter: 1h", "");
    fine(&old, &answer(json!([command("Expired", &["a"], 0.1, &[])]), &[]));
    let young = any() + &node("a", "small", "expireAfter: 720h", "");
    broken(Rule::Candidate, &young, &answer(json!([command("Expired", &["a"], 0.1, &[])]), &[]));
    broken(Rule::Candidate, &young, &answer(json!([command("Drifted", &["a"], 0.1, &[])]), &[]));
    let strays = young.replace(
        "requirements: []",
        "requirements: [{key: topology.kubernetes.io/zone, operator: In, values: [zone-b]}]",
    );
    fine(&strays, &answer(json!([command("Drifted", &["a"], 0.1, &[])]), &[]));
    broken(Rule::Kept, &(strays + &pod("p", "a", "", "")), &answer(json!([]), &[("a", "NotCheaper")]));
}

#[test]
fn a_node_goes_first_only_where_there_is_no_room() {
    let goes = || {
        let mut one = command("Expired", &["a"], 0.0, &[("p", "later")]);
        one["terminateFirst"] = json!(true);
        answer(json!([one]), &[])
    };
    let cluster = any() + &node("a", "small", "expireAfter: 1h", "") + &pod("p", "a", "", "");
    broken(Rule::TerminateFirst, &cluster, &goes());
    fine(&cluster.replace("spec: {disruption", "spec: {limits: {nodes: '1'}, disruption"), &goes());
    fine(&cluster.replace("kind: Class, name: z", "kind: PowerNodeClass, name: z"), &goes());
}

#[test]
fn a_command_holds_without_the_others() {
    // `s` wants to be with `p`, which comes to b only by the other command.
    let term = "affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, \
                labelSelector: {matchLabels: {app: p}}}]}}";
    let cluster = any() + &two_nodes("", "") + &node("c", "small", "expireAfter: Never", "") + &pod("s", "c", "", term);
    let both = json!([
        command("Underutilized", &["a"], 0.1, &[("p", "node/b")]),
        command("Underutilized", &["c"], 0.1, &[("s", "node/b")]),
    ]);
    broken(Rule::Independent, &cluster, &answer(both, &[("b", "PodDoNotDisrupt")]));
}
