//! Nodes that are taken away by themselves on a real control plane: idle ones, and one that is larger than its work needs.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use faults::{KINDS, Kind, gpu_pod};
use futures_util::future::join_all;
use serde_json::{Value, json};
use std::time::Instant;

use crate::{
    audit,
    chronicle::{Chronicle, is_closed},
    lives::{pod_path, rack_class_of, until_nothing_is_left},
    pods::PodLife,
    site::Site,
    stagehand::claim_path,
    team::Team,
};

/// The first of the rack that have two and five GPUs; two of them for every life.
const LARGER: usize = 13;

/// One idle node of each provider, side by side.
pub async fn idle_nodes_go(site: &Site) {
    let chronicle = Chronicle::begin(site);
    let life = |kind: Kind| PodLife::new(site, kind, &format!("idle-{}", kind.name()), 4).may_go();
    join_all(KINDS.map(|kind| goes_when_idle(site, &chronicle, life(kind)))).await;
}

/// Its pod ends, and nobody but the timer says that node, claim and machine go.
async fn goes_when_idle(site: &Site, chronicle: &Chronicle, life: PodLife) {
    life.begin(site).await;
    let (claim, node) = life.until_running(site).await;
    let idle_since = Instant::now();
    site.delete(&pod_path(&life.name)).await;
    until_all_is_gone(site, &life, &claim, &node).await;
    println!("{:?}: {} was gone after {:.0?}", site.troupe.cast, life.name, idle_since.elapsed());
    let name = name(&claim);
    chronicle.was_in_this_order(&[
        format!("pod/{} leaving", life.name),
        format!("claim/{name} Recorded"),
        format!("node/{node} closed"),
        format!("claim/{name} Tainted"),
        format!("claim/{name} Deleting"),
        format!("claim/{name} deleting"),
        format!("claim/{name} gone"),
    ]);
    life.there_was_one_of_each(site, &claim);
}

/// One node of each provider that is larger than it has to be, side by side.
pub async fn oversize_nodes_are_replaced(site: &Site) {
    let chronicle = Chronicle::begin(site);
    let life = |kind: Kind| oversize(site, kind, &format!("large-{}", kind.name()), LARGER);
    join_all(KINDS.map(|kind| is_replaced(site, &chronicle, life(kind)))).await;
}

/// A pod that needs a large node, of a pool that has smaller ones too. `machine` is the number of one with two GPUs; the next has five.
pub fn oversize(site: &Site, kind: Kind, name: &str, machine: usize) -> PodLife {
    let mut life = PodLife::new(site, kind, name, machine).may_go();
    life.pod["spec"]["containers"] =
        gpu_pod(name, if kind == Kind::Power { 3 } else { 2 })["spec"]["containers"].clone();
    let (small, large) = match kind {
        Kind::Aks => ("Standard_NC48ads_A100_v4", "Standard_NC96ads_A100_v4"),
        Kind::Scaleway => ("L4-2-24G", "L4-4-24G"),
        Kind::Power => {
            life.beside.remove(0);
            life.use_class(rack_class_of(site, name, &[(machine, 2), (machine + 1, 5)]));
            return life;
        }
    };
    let (label, on_demand) = ("node.kubernetes.io/instance-type", json!(["on-demand"]));
    life.beside.last_mut().unwrap()["spec"]["template"]["spec"]["requirements"] = json!([
        { "key": label, "operator": "In", "values": [small, large] },
        { "key": "karpenter.sh/capacity-type", "operator": "In", "values": on_demand },
    ]);
    life.pod["spec"]["nodeSelector"][label] = json!(large);
    life
}

/// The large pod ends, and a smaller node comes for those that are left. Their budget lets only one go at a time: the large node stays until
/// the second may go, too.
pub async fn is_replaced(site: &Site, chronicle: &Chronicle, life: PodLife) {
    life.begin(site).await;
    let (claim, node) = life.until_running(site).await;
    let team = Team::new(&life.name);
    team.begin(site, &node).await;
    team.hold_successors(site).await;
    let oversize_since = Instant::now();
    site.delete(&pod_path(&life.name)).await;
    team.until_one_is_away_and_one_is_refused(site, &node).await;
    let refused = oversize_since.elapsed();
    held_by_its_budget(site, &life, &team, &claim, &node).await;
    team.let_successors_go(site).await;
    until_all_is_gone(site, &life, &claim, &node).await;

    let gone = oversize_since.elapsed();
    println!("{:?}: {}: replaced and held after {refused:.0?}, gone after {gone:.0?}", site.troupe.cast, life.name);
    let replacement = life.claims(site).await.unwrap().pop().unwrap();
    let (old, new) = (name(&claim), name(&replacement));
    chronicle.was_in_this_order(&[
        format!("claim/{old} Recorded"),
        format!("node/{node} closed"),
        format!("claim/{old} Tainted"),
        format!("claim/{new} there"),
        format!("claim/{new} Initialized"),
        format!("claim/{old} Deleting"),
        format!("claim/{old} deleting"),
        format!("claim/{old} gone"),
    ]);
    let new_node = replacement["status"]["nodeName"].as_str().unwrap();
    team.until_running_on(site, new_node).await;
    assert_eq!(gpus(site, new_node).await, Team::SIZE, "{}: as many as are needed", life.name);

    team.end(site).await;
    until_all_is_gone(site, &life, &replacement, new_node).await;
    let made = audit::created(&site.control_plane.facts.audit_log, "nodeclaims", &format!("{}-", life.name)).unwrap();
    // A request whose sender was killed in the middle of it has no answer in the log.
    assert!(made.len() <= 2, "{}: a node and its replacement: {made:?}", life.name);
}

/// One of them is away and may not come back yet: the other one, its node and its machine stay.
async fn held_by_its_budget(site: &Site, life: &PodLife, team: &Team, claim: &Value, node: &str) {
    let here: Vec<Value> = team.pods(site).await.into_iter().filter(|pod| pod["spec"]["nodeName"] == node).collect();
    assert_eq!(here.len(), 1, "{}: one stays, one is away", life.name);
    assert_eq!(here[0]["status"]["phase"], "Running", "{}", life.name);
    let there = site.get(&format!("/api/v1/nodes/{node}")).await;
    assert!(there.as_ref().is_some_and(is_closed), "{}: its node is closed and stays: {there:?}", life.name);
    let names_it = || async {
        let claim = site.get(&claim_path(name(claim))).await?;
        let conditions = claim["status"]["conditions"].as_array()?.clone();
        let drained = conditions.into_iter().find(|one| one["type"] == "Drained")?;
        (drained["status"] != "True" && drained["message"].as_str()?.contains(&team.name)).then_some(())
    };
    site.until(&format!("{}: the claim names the pod that holds it", life.name), names_it).await;
    assert!(is_paid_for(site, life.kind, claim, node), "{}: its machine stays", life.name);
}

/// Whether its machine is on, or costs money.
fn is_paid_for(site: &Site, kind: Kind, claim: &Value, node: &str) -> bool {
    match kind {
        Kind::Aks | Kind::Scaleway => site
            .world
            .instances()
            .iter()
            .any(|one| one.until.is_none() && one.claim.as_deref() == claim["metadata"]["uid"].as_str()),
        Kind::Power => site.world.power.snapshot().iter().any(|machine| machine.name == node && machine.on),
    }
}

/// Claim, Node and machine of it.
pub async fn until_all_is_gone(site: &Site, life: &PodLife, claim: &Value, node: &str) {
    until_nothing_is_left(site, name(claim), node, life.kind == Kind::Power).await;
    let off = || async { (!is_paid_for(site, life.kind, claim, node)).then_some(()) };
    site.until(&format!("nobody pays for {node}"), off).await;
}

async fn gpus(site: &Site, node: &str) -> usize {
    let node = site.get(&format!("/api/v1/nodes/{node}")).await.unwrap();
    node["status"]["allocatable"]["nvidia.com/gpu"].as_str().unwrap().parse().unwrap()
}

pub fn name(claim: &Value) -> &str {
    claim["metadata"]["name"].as_str().unwrap()
}
