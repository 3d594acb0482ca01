//! What a pod demands of its node by itself, on nodes and on every node that may come of a claim.

#![allow(clippy::unwrap_used)]

mod common;

use checker::Rule;
use common::{POOL, Plan, broken, check, fine, node, pod};
use serde_json::{Value, json};

fn small() -> Plan {
    Plan::default().claim("c", "small", &["zone-a"], &["a"])
}

fn with_pod(more: &str) -> String {
    format!("{POOL}{}", pod("a", "web", more))
}

#[test]
fn resources_suffice_on_a_node_with_what_runs_there() {
    let busy = |cpu: &str| {
        let resident = pod("b", "web", "nodeName: n1").replace("cpu: '1'", &format!("cpu: '{cpu}'"));
        format!("{}{}{resident}", with_pod(""), node("n1", "zone-a", ""))
    };
    let plan = Plan::default().on("a", "node/n1");
    fine(&busy("3"), &plan);
    broken(Rule::Capacity, &busy("3001m"), &plan);
}

#[test]
fn resources_suffice_on_every_type_that_a_claim_lists() {
    let three = format!("{POOL}{}{}{}", pod("a", "web", ""), pod("b", "web", ""), pod("c", "web", ""));
    let claim = |kind: &str| Plan::default().claim("c", kind, &["zone-a"], &["a", "b", "c"]);
    check(Rule::Capacity, &three, &claim("large"), &claim("small"));
    // The type that is not listed but left open by the requirements counts, too.
    let open = json!([{"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["large", "small"]}]);
    let plan = Plan::default().claim_with("c", "large", &["zone-a"], &["a", "b", "c"], open, |_| {});
    broken(Rule::Capacity, &three, &plan);
}

#[test]
fn init_containers_sidecars_overhead_and_pod_resources_count() {
    let fits = |more: &str, expected: bool| {
        let plan = small_with(|claim| claim["requests"]["cpu"] = json!(if expected { "2" } else { "2100m" }));
        if expected { fine(&with_pod(more), &plan) } else { broken(Rule::Capacity, &with_pod(more), &plan) }
    };
    fits("initContainers: [{name: i, resources: {requests: {cpu: '2'}}}]", true);
    fits("initContainers: [{name: i, resources: {requests: {cpu: 2100m}}}]", false);
    fits("initContainers: [{name: s, restartPolicy: Always, resources: {requests: {cpu: '1'}}}]", true);
    fits("initContainers: [{name: s, restartPolicy: Always, resources: {requests: {cpu: 1100m}}}]", false);
    fits("overhead: {cpu: '1'}", true);
    fits("overhead: {cpu: 1100m}", false);
    fits("resources: {requests: {cpu: '2'}}", true);
    fits("resources: {requests: {cpu: 2100m}}", false);
}

fn small_with(change: impl Fn(&mut Value)) -> Plan {
    let requirements = json!([{"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["small"]},
        {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["zone-a"]}]);
    Plan::default().claim_with("c", "small", &["zone-a"], &["a"], requirements, change)
}

#[test]
fn daemon_sets_take_their_share_where_they_run() {
    let daemon = |cpu: &str, more: &str| {
        format!(
            "---\nkind: DaemonSet\nmetadata: {{name: agent}}\nspec: {{template: {{spec: {{{more} containers: [{{name: main, resources: {{requests: {{cpu: {cpu}}}}}}}]}}}}}}\n"
        )
    };
    let with = |daemon: String| format!("{}{daemon}", with_pod(""));
    fine(&with(daemon("'1'", "")), &small());
    broken(Rule::Capacity, &with(daemon("1100m", "")), &small());
    fine(&with(daemon("1100m", "nodeSelector: {topology.kubernetes.io/zone: zone-b},")), &small());
}

#[test]
fn a_gpu_that_is_not_up_yet_is_known_from_the_claim() {
    let waiting = with_pod("").replace("cpu: '1'", "cpu: '1', nvidia.com/gpu: '1'");
    let gpu_node = node("n1", "zone-a", "providerID: p").replace("pods: '10'", "pods: '10', nvidia.com/gpu: '0'");
    let claim = |state: &str| {
        format!(
            "---\nkind: NodeClaim\nmetadata: {{name: k}}\nspec: {{requirements: []}}\nstatus: {{providerID: p, allocatable: {{nvidia.com/gpu: '4'}}, conditions: [{{type: Registered, status: 'True'}}, {{type: Initialized, status: '{state}'}}]}}\n"
        )
    };
    let plan = Plan::default().on("a", "node/n1");
    fine(&format!("{waiting}{gpu_node}{}", claim("Unknown")), &plan);
    broken(Rule::Capacity, &format!("{waiting}{gpu_node}{}", claim("True")), &plan);
}

#[test]
fn a_claim_on_its_way_has_the_room_of_its_status() {
    let coming = |cpu: &str| {
        format!(
            "{}---\nkind: NodeClaim\nmetadata: {{name: k, labels: {{karpenter.sh/nodepool: default}}}}\nspec: {{requirements: []}}\nstatus: {{providerID: p, capacity: {{cpu: {cpu}, pods: '10'}}}}\n",
            with_pod("")
        )
    };
    fine(&coming("'1'"), &Plan::default().on("a", "claim/k"));
    broken(Rule::Capacity, &coming("500m"), &Plan::default().on("a", "claim/k"));
}

#[test]
fn taints_are_tolerated() {
    let tainted = |more: &str| {
        format!("{}{}", with_pod(more), node("n1", "zone-a", "taints: [{key: k, value: v, effect: NoSchedule}]"))
    };
    let plan = Plan::default().on("a", "node/n1");
    broken(Rule::Taints, &tainted(""), &plan);
    for (tolerations, enough) in [
        ("{operator: Exists}", true),
        ("{key: k, operator: Exists}", true),
        ("{key: k, value: v}", true),
        ("{key: k, value: v, effect: NoSchedule}", true),
        ("{key: k, value: w}", false),
        ("{key: other, operator: Exists}", false),
        ("{key: k, operator: Exists, effect: NoExecute}", false),
    ] {
        let cluster = tainted(&format!("tolerations: [{tolerations}]"));
        if enough { fine(&cluster, &plan) } else { broken(Rule::Taints, &cluster, &plan) }
    }
    fine(&tainted("").replace("NoSchedule", "PreferNoSchedule"), &plan);
    let cordoned = format!("{}{}", with_pod(""), node("n1", "zone-a", "unschedulable: true"));
    broken(Rule::Taints, &cordoned, &plan);
}

#[test]
fn taints_of_the_pool_count_and_its_startup_taints_do_not() {
    let pool = |field: &str| {
        let taint = "[{key: k, effect: NoSchedule}]";
        POOL.replace("requirements: []", &format!("requirements: [], {field}: {taint}"))
    };
    let taints = |claim: &mut Value| claim["taints"] = json!([{"key": "k", "effect": "NoSchedule"}]);
    fine(&format!("{}{}", pool("startupTaints"), pod("a", "web", "")), &small());
    broken(Rule::Taints, &format!("{}{}", pool("taints"), pod("a", "web", "")), &small_with(taints));
    fine(&format!("{}{}", pool("taints"), pod("a", "web", "tolerations: [{operator: Exists}]")), &small_with(taints));
}

#[test]
fn selectors_hold_on_every_node_that_may_come() {
    let wants = |zone: &str| with_pod(&format!("nodeSelector: {{topology.kubernetes.io/zone: {zone}}}"));
    check(
        Rule::NodeAffinity,
        &wants("zone-a"),
        &small(),
        &Plan::default().claim("c", "small", &["zone-a", "zone-b"], &["a"]),
    );
    broken(Rule::NodeAffinity, &wants("zone-b"), &small());
    broken(Rule::NodeAffinity, &with_pod("nodeSelector: {kubernetes.io/arch: arm64}"), &small());
    broken(Rule::NodeAffinity, &with_pod("nodeSelector: {beta.kubernetes.io/arch: arm64}"), &small());
    broken(Rule::NodeAffinity, &with_pod("nodeSelector: {nvidia.com/gpu.product: L4}"), &small());
    broken(Rule::NodeAffinity, &with_pod("nodeSelector: {team: red}"), &small());
}

#[test]
fn one_alternative_of_a_required_affinity_is_enough() {
    let term = |key: &str, operator: &str, values: &str| {
        format!("{{matchExpressions: [{{key: {key}, operator: {operator}, values: [{values}]}}]}}")
    };
    let required = |terms: &[String]| {
        let terms = terms.join(", ");
        with_pod(&format!(
            "affinity: {{nodeAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: {{nodeSelectorTerms: [{terms}]}}}}}}"
        ))
    };
    let (here, there) =
        (term("topology.kubernetes.io/zone", "In", "zone-a"), term("topology.kubernetes.io/zone", "In", "zone-b"));
    fine(&required(&[there.clone(), here]), &small());
    broken(Rule::NodeAffinity, &required(std::slice::from_ref(&there)), &small());
    fine(&required(&[there, term("team", "NotIn", "red")]), &small());
    // Either team will do, and the claim leaves both open.
    let pool_of_teams = required(&[term("team", "In", "red"), term("team", "In", "blue")]).replacen(
        "requirements: []",
        "requirements: [{key: team, operator: In, values: [red, blue]}]",
        1,
    );
    let teams = |values: &[&str]| {
        small_with(|claim| {
            let list = claim["requirements"].as_array_mut().unwrap();
            list.push(json!({"key": "team", "operator": "In", "values": values}));
        })
    };
    fine(&pool_of_teams, &teams(&["red", "blue"]));
    let red_only = pool_of_teams.replace("values: [blue]}]}", "values: [green]}]}");
    check(Rule::NodeAffinity, &red_only, &teams(&["red"]), &teams(&["red", "blue"]));
}

#[test]
fn a_host_port_has_one_pod() {
    let port = |name: &str, port: &str| {
        pod(name, "web", "").replace("resources:", &format!("ports: [{{containerPort: 80, {port}}}], resources:"))
    };
    let two = |one: &str, other: &str| format!("{POOL}{}{}", port("a", one), port("b", other));
    let together = Plan::default().claim("c", "small", &["zone-a"], &["a", "b"]);
    broken(Rule::HostPorts, &two("hostPort: 80", "hostPort: 80"), &together);
    broken(Rule::HostPorts, &two("hostPort: 80", "hostPort: 80, hostIP: 10.0.0.1"), &together);
    fine(&two("hostPort: 80", "hostPort: 81"), &together);
    fine(&two("hostPort: 80", "hostPort: 80, protocol: UDP"), &together);
    fine(&two("hostPort: 80, hostIP: 10.0.0.2", "hostPort: 80, hostIP: 10.0.0.1"), &together);
    let daemon = "---\nkind: DaemonSet\nmetadata: {name: agent}\nspec: {template: {spec: {containers: [{name: main, ports: [{containerPort: 80, hostPort: 80}]}]}}}\n";
    broken(Rule::HostPorts, &format!("{POOL}{}{daemon}", port("a", "hostPort: 80")), &small());
}

const CLASS: &str = "---\nkind: StorageClass\nmetadata: {name: later}\nprovisioner: csi.example.com\nvolumeBindingMode: WaitForFirstConsumer\nallowedTopologies: [{matchLabelExpressions: [{key: topology.kubernetes.io/zone, values: [zone-b]}]}]\n";
const USES: &str = "volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]";

fn volume_claim(spec: &str) -> String {
    format!("---\nkind: PersistentVolumeClaim\nmetadata: {{name: data}}\nspec: {{{spec}}}\n")
}

#[test]
fn volumes_can_be_where_their_pods_go() {
    let in_b = Plan::default().claim("c", "small", &["zone-b"], &["a"]);
    let later = format!("{}{CLASS}{}", with_pod(USES), volume_claim("storageClassName: later"));
    check(Rule::Volumes, &later, &in_b, &small());
    let volume = "---\nkind: PersistentVolume\nmetadata: {name: pv}\nspec: {csi: {driver: csi.example.com, volumeHandle: h}, nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: failure-domain.beta.kubernetes.io/zone, operator: In, values: [zone-b]}]}]}}}\n";
    let bound = format!("{}{volume}{}", with_pod(USES), volume_claim("volumeName: pv, storageClassName: ''"));
    check(Rule::Volumes, &bound, &in_b, &small());
    let nowhere = Plan::default().on("a", "-");
    check(Rule::Volumes, &with_pod(USES), &nowhere, &small());
    let at_once = later.replace("WaitForFirstConsumer", "Immediate");
    check(Rule::Volumes, &at_once, &nowhere, &in_b);
}

#[test]
fn a_node_attaches_no_more_volumes_than_it_can() {
    let uses = |claim: &str| format!("volumes: [{{name: data, persistentVolumeClaim: {{claimName: {claim}}}}}]");
    let class = CLASS.replace("values: [zone-b]", "values: [zone-a]");
    let csi = "---\nkind: CSINode\nmetadata: {name: n1}\nspec: {drivers: [{name: csi.example.com, nodeID: n1, allocatable: {count: 1}}]}\n";
    let two = |second: &str| {
        let claims = ["data", "more"]
            .map(|name| volume_claim("storageClassName: later").replace("name: data", &format!("name: {name}")));
        let pods = [pod("a", "web", &uses("data")), pod("b", "web", &uses(second))];
        format!("{POOL}{class}{csi}{}{}{}", claims.concat(), pods.concat(), node("n1", "zone-a", ""))
    };
    let both = Plan::default().on("a", "node/n1").on("b", "node/n1");
    fine(&two("data"), &both);
    broken(Rule::Volumes, &two("more"), &both);
}
