//! The cluster as it is when the commands are carried out: the nodes are gone, and every pod that was on one has a place that keeps
//! every rule that placing a pod has to keep. All commands together, and each of them alone: another one may fail.

use std::collections::{BTreeMap, BTreeSet};

use super::candidates::is_unsettled;
use super::facts::{NodeFacts, Situation, is_ignored, moves as moves_on};
use crate::answer::{Answer, ClaimAnswer, DisruptionAnswer, MoveAnswer, PodAnswer};
use crate::cluster::Role;
use crate::placement::Placement;
use crate::pods::{full_name, name, node_name};
use crate::quantity::{self, ONE, Resources};
use crate::rules::{self, topology::Topology};
use crate::{Cluster, Objects, Rule, Violation};

pub fn check(situation: &Situation<'_>, nodes: &[NodeFacts<'_>], answer: &Answer, found: &mut Vec<Violation>) {
    let commands: Vec<&DisruptionAnswer> = answer.disruptions.iter().collect();
    for command in &commands {
        whole(situation, nodes, command, found);
        terminate_first(situation, nodes, command, found);
    }
    let together = broken(situation, answer, &commands);
    let fine = together.is_empty();
    found.extend(together);
    if fine && commands.len() > 1 {
        for command in commands {
            for one in broken(situation, answer, &[command]) {
                let message = format!("alone, {} for {}: {one}", command.nodes.join(", "), command.reason);
                found.push(Violation::of(Rule::Independent, message));
            }
        }
    }
}

/// Each pod that has to move is told where, from where it is, and nobody else is.
fn whole(situation: &Situation<'_>, nodes: &[NodeFacts<'_>], command: &DisruptionAnswer, found: &mut Vec<Violation>) {
    let mut say = |message: String| found.push(Violation::of(Rule::Moves, message));
    let mut told: BTreeMap<&str, &MoveAnswer> = BTreeMap::new();
    for one in command.moves.iter().flatten() {
        if told.insert(&one.pod, one).is_some() {
            say(format!("{} moves twice", one.pod));
        }
    }
    for node in command.nodes.iter().filter_map(|name| nodes.iter().find(|node| node.name == name)) {
        for pod in node.moving() {
            // What holds a node until a deadline is left behind.
            let waits = matches!(command.reason.as_str(), "Expired" | "Drifted")
                && node.termination_grace()
                && situation.held(pod).is_some();
            let of_no_use = command.reason == "Empty" && is_ignored(pod);
            match told.remove(pod.name.as_str()) {
                None if waits || of_no_use => {}
                None => say(format!("{} loses its node {} and is told nothing", pod.name, node.name)),
                Some(one) if one.from != node.name => say(format!("{} is not on {}", pod.name, one.from)),
                Some(one) if one.to.is_none() && !command.terminate_first => {
                    say(format!("{} loses its node {} and has no place", pod.name, node.name));
                }
                Some(one) => {
                    let to = one.to.as_deref().and_then(|to| to.strip_prefix("node/"));
                    let to = to.and_then(|name| nodes.iter().find(|node| node.name == name));
                    if to.is_some_and(|to| !to.initialized || to.is_disrupted() || !to.is_ready()) {
                        say(format!("{} is sent to {:?}, which is not up or goes itself", pod.name, one.to));
                    }
                    if command.reason == "Underutilized" && to.is_some_and(is_unsettled) {
                        say(format!("{} is sent to {:?}, which changed a short while ago", pod.name, one.to));
                    }
                }
            }
        }
    }
    for pod in told.keys() {
        say(format!("{pod} moves, and is on none of {:?}", command.nodes));
    }
}

/// What placing rules the cluster breaks when these commands are carried out.
fn broken(situation: &Situation<'_>, answer: &Answer, commands: &[&DisruptionAnswer]) -> Vec<Violation> {
    let gone: BTreeSet<&str> = commands.iter().flat_map(|one| &one.nodes).map(String::as_str).collect();
    let moves: BTreeMap<&str, &MoveAnswer> =
        commands.iter().flat_map(|one| one.moves.iter().flatten()).map(|one| (one.pod.as_str(), one)).collect();
    let mut found = Vec::new();
    let mut objects = without(situation, answer, &gone, &moves);
    // Pools of fixed size make nodes for nodes, and no others: that is judged with the nodes that go.
    let makes = |pool: &str| commands.iter().flat_map(|one| &one.replacements).any(|claim| claim.node_pool == pool);
    objects.pools.iter_mut().filter(|pool| makes(pool.name())).for_each(|pool| pool.spec.replicas = None);
    let cluster = Cluster::new(objects, situation.catalog);
    let sent = moves.values().filter_map(|one| {
        let (namespace, name) = one.pod.split_once('/')?;
        let (namespace, name) = (namespace.to_owned(), name.to_owned());
        Some(PodAnswer { namespace, name, on: Some(one.to.clone()?), ..PodAnswer::default() })
    });
    let judged = Answer {
        pods: sent.collect(),
        claims: commands.iter().flat_map(|one| one.replacements.clone()).collect(),
        ..Answer::default()
    };
    let placement = Placement::new(&cluster, situation.catalog, &judged, &mut found);
    rules::placing(&Topology::new(&placement), &judged, &mut found);
    // What replaces a node of a fixed number need not be for anybody.
    let for_nobody = |claim: &&ClaimAnswer| is_fixed(situation, &claim.node_pool) && claim.pods.is_empty();
    let fine: Vec<String> =
        judged.claims.iter().filter(for_nobody).map(|claim| format!("claim/{} is for no pod", claim.name)).collect();
    found.retain(|one| !fine.contains(&one.message));
    found
}

fn is_fixed(situation: &Situation<'_>, pool: &str) -> bool {
    situation.cluster.pool(pool).is_some_and(|pool| pool.spec.replicas.is_some())
}

/// The objects without the nodes and their pods; those that move have no node yet. Pods that waited for room on a node have it.
fn without(
    situation: &Situation<'_>,
    answer: &Answer,
    gone: &BTreeSet<&str>,
    moves: &BTreeMap<&str, &MoveAnswer>,
) -> Objects {
    let mut objects = situation.objects.clone();
    let lost: BTreeSet<String> = situation
        .cluster
        .machines
        .iter()
        .filter(|machine| machine.node.as_deref().is_some_and(|node| gone.contains(node)))
        .filter_map(|machine| machine.claim.clone())
        .collect();
    objects.nodes.retain(|node| !gone.contains(name(&node.metadata)));
    objects.claims.retain(|claim| !lost.contains(claim.name()));
    // Workloads have made their pods: all of them are listed one by one now.
    objects.pods = situation.cluster.pods.iter().map(|pod| pod.pod.clone()).collect();
    objects.deployments.clear();
    objects.replica_sets.clear();
    objects.stateful_sets.clear();
    objects.jobs.clear();
    objects.replication_controllers.clear();
    objects.volume_claims = situation.cluster.volumes.claims.values().cloned().collect();
    let answered: BTreeMap<String, &str> = answer
        .pods
        .iter()
        .filter_map(|pod| Some((pod.full_name(), pod.on.as_deref()?.strip_prefix("node/")?)))
        .collect();
    let waits = |role: &Role| matches!(role, Role::Waiting | Role::Optional(_));
    let waiting: BTreeSet<&str> =
        situation.cluster.pods.iter().filter(|pod| waits(&pod.role)).map(|pod| pod.name.as_str()).collect();
    objects.pods.retain_mut(|pod| {
        let called = full_name(pod);
        let on = node_name(pod).map(str::to_owned);
        let Some(spec) = &mut pod.spec else { return true };
        match (on, answered.get(&called)) {
            (_, Some(node)) => spec.node_name = Some((*node).to_owned()),
            // What waits for a node that is still to come is another matter.
            (_, None) if waiting.contains(called.as_str()) => return false,
            (None, None) => return false,
            (Some(node), None) if !gone.contains(node.as_str()) => {}
            (Some(_), None) => {
                spec.node_name = None;
                return moves_on(pod) && moves.get(called.as_str()).is_some_and(|one| one.to.is_some());
            }
        }
        true
    });
    objects
}

/// A node goes first only if it is of a rack, or some pool has a limit that leaves no room for one more node of any type.
fn terminate_first(
    situation: &Situation<'_>,
    nodes: &[NodeFacts<'_>],
    command: &DisruptionAnswer,
    found: &mut Vec<Violation>,
) {
    if !command.terminate_first {
        return;
    }
    let mut say = |message: &str| {
        let message = format!("{} for {}: {message}", command.nodes.join(", "), command.reason);
        found.push(Violation::of(Rule::TerminateFirst, message));
    };
    if !matches!(command.reason.as_str(), "Expired" | "Drifted" | "Unhealthy") {
        say("nothing has to leave to save money before its replacement is there");
    }
    if !command.replacements.is_empty() {
        say("it goes first, and a replacement is made");
    }
    let rack = nodes.iter().any(|node| command.nodes.iter().any(|name| name == node.name) && node.is_rack());
    let bound = situation.cluster.pools.iter().any(|pool| {
        let mut used = Resources::new();
        for machine in situation.cluster.machines.iter().filter(|one| one.pool() == Some(pool.name()) && !one.leaving) {
            quantity::add(&mut used, &machine.capacity);
            quantity::add(&mut used, &Resources::from([("nodes".to_owned(), ONE)]));
        }
        quantity::resources(&pool.spec.limits).iter().any(|(name, limit)| {
            let left = limit - used.get(name).copied().unwrap_or(0);
            let need = |one: &crate::catalog::InstanceType| {
                if name == "nodes" { ONE } else { one.capacity.get(name).copied().unwrap_or(0) }
            };
            situation.catalog.types.iter().any(|one| need(one) > left)
        })
    });
    if !rack && !bound {
        say("no rack and no limit leaves no room for a replacement");
    }
}
