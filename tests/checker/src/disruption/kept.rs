//! Every node goes or stays. What stays has a code that is so, and a node that nobody uses and nothing holds does not stay.

use super::budgets::{allowed, going};
use super::candidates::{forbidden, restless};
use super::facts::{NodeFacts, Situation, gpus};
use super::{Ways, health, when};
use crate::answer::{Answer, KeptAnswer};
use crate::{Rule, Violation};

pub fn check(situation: &Situation<'_>, nodes: &[NodeFacts<'_>], answer: &Answer, found: &mut Vec<Violation>) {
    let mut say = |name: &str, message: String| {
        found.push(Violation::of(Rule::Kept, format!("node {name} {message}")));
    };
    for node in nodes {
        let goes = answer.disruptions.iter().any(|command| command.nodes.iter().any(|name| name == node.name));
        let stays: Vec<&KeptAnswer> = answer.kept.iter().filter(|kept| kept.node == node.name).collect();
        match (goes, stays.as_slice()) {
            (true, []) => {}
            (false, [kept]) => {
                if let Some(why) = untrue(situation, nodes, node, kept, answer) {
                    say(node.name, format!("stays for {}, but {why}", kept.code));
                }
            }
            (true, _) => say(node.name, "goes and stays".to_owned()),
            (false, []) => say(node.name, "neither goes nor stays".to_owned()),
            (false, _) => say(node.name, "stays twice".to_owned()),
        }
    }
    for kept in answer.kept.iter().filter(|kept| !nodes.iter().any(|node| node.name == kept.node)) {
        say(&kept.node, "stays, and there is none".to_owned());
    }
}

/// What is wrong with the reason that a node stays for.
fn untrue(
    situation: &Situation<'_>,
    nodes: &[NodeFacts<'_>],
    node: &NodeFacts<'_>,
    kept: &KeptAnswer,
    answer: &Answer,
) -> Option<String> {
    if kept.reason.trim().is_empty() {
        return Some("it does not say why".to_owned());
    }
    let place = format!("node/{}", node.name);
    let expected = answer.pods.iter().any(|pod| pod.on.as_deref() == Some(place.as_str()));
    let moves = || answer.disruptions.iter().flat_map(|command| command.moves.iter().flatten());
    let held = |words: &str| node.pods.iter().filter_map(|pod| situation.held(pod)).any(|why| why.contains(words));
    let budget_holds =
        |words: &str| node.pods.iter().filter_map(|pod| situation.held_by_budget(pod)).any(|why| why.contains(words));
    let after = node.pool.map(|pool| pool.spec.disruption.consolidate_after.as_str()).unwrap_or_default();
    let policy = node.pool.map(|pool| pool.spec.disruption.consolidation_policy.as_str()).unwrap_or_default();
    let so = match kept.code.as_str() {
        "NotManaged" => node.pool_label.is_none(),
        "PoolNotFound" => node.pool_label.is_some() && node.pool.is_none(),
        "Deleting" => node.leaving,
        "Disrupting" => node.is_disrupted(),
        "NotInitialized" => !node.initialized,
        "ControlPlane" => node.is_control_plane(),
        "Cordoned" => node.is_cordoned(),
        "NodeDoNotDisrupt" => node.must_not_be_disrupted(),
        "Nominated" => expected || is_nominated(situation, node),
        "PodDoNotDisrupt" => held("do-not-disrupt"),
        "PodDisruptionBudget" => budget_holds("PodDisruptionBudget"),
        "SeveralPodDisruptionBudgets" => budget_holds("PodDisruptionBudgets"),
        "FixedSize" => node.pool.is_some_and(|pool| pool.spec.replicas.is_some()),
        "ConsolidateAfterNever" => when::duration(after).is_none(),
        "WithinConsolidateAfter" | "WithinIdleWindow" | "WithinMinimumOnTime" | "CoolingDown" => {
            restless(node).is_some()
        }
        "NotEmpty" => policy != "WhenEmptyOrUnderutilized" && policy != "Balanced" && node.has_pods(),
        "GpuWork" => node.moving().any(|pod| gpus(pod) > 0.0),
        "PriceUnknown" => situation.paid(node).is_none(),
        "SpotToSpot" => situation.paid(node).is_some_and(|paid| paid.capacity_type == "spot"),
        "NotWorthTheDisturbance" => policy == "Balanced",
        "Destination" => moves().any(|one| one.to.as_deref() == Some(place.as_str())),
        "Budget" => spent(nodes, node, answer),
        "DoNotRepair" => node.is_noted("karpenter.sh/do-not-repair"),
        "CorrelatedFailure" => health::fails_with_others(node, nodes),
        "BackingOff" => node.pool_note("pilotlight.dev/replacement-back-off").is_some(),
        "NoOtherPlace" => node.moving().next().is_some() || node.pool.is_some_and(|pool| pool.spec.replicas.is_some()),
        "NotCheaper" | "SavingTooSmall" | "OutOfTime" => true,
        // Nothing in files says so.
        _ => false,
    };
    if !so {
        return Some("that is not so".to_owned());
    }
    // What has to leave is not kept to save money, and what nobody uses is not kept at all.
    let about_money = ["NotCheaper", "SavingTooSmall", "SpotToSpot", "NotWorthTheDisturbance", "GpuWork", "NotEmpty"];
    let leaves = node.expired() || node.drifted(situation.catalog).is_some() || health::is_sick(node);
    if about_money.contains(&kept.code.as_str()) && leaves && node.pool.is_some() {
        return Some("it is too old or not what it should be".to_owned());
    }
    // Pods of no cost keep it where they have no room elsewhere.
    let awaited = expected || is_nominated(situation, node);
    let may_go = forbidden(situation, node, "Empty", Ways::Ours).is_none() && !awaited && !node.has_pods();
    let of_no_use = may_go && !moves().any(|one| one.to.as_deref() == Some(place.as_str()));
    (of_no_use && kept.code != "Budget").then(|| "nobody uses it, and nothing holds it".to_owned())
}

/// Whether a scheduler makes room on it for a pod.
fn is_nominated(situation: &Situation<'_>, node: &NodeFacts<'_>) -> bool {
    situation.objects.pods.iter().any(|pod| {
        let bound = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref()).is_some_and(|on| !on.is_empty());
        let to = pod.status.as_ref().and_then(|status| status.nominated_node_name.as_deref());
        !bound && pod.metadata.deletion_timestamp.is_none() && to == Some(node.name)
    })
}

/// Whether a budget that counts for a node would not let it go too.
fn spent(nodes: &[NodeFacts<'_>], node: &NodeFacts<'_>, answer: &Answer) -> bool {
    let Some(pool) = node.pool_label else { return false };
    let of_pool = |name: &&String| nodes.iter().any(|node| node.name == *name && node.pool_label == Some(pool));
    let gone = answer.disruptions.iter().flat_map(|command| &command.nodes).filter(of_pool).count();
    ["Empty", "Underutilized", "Expired", "Drifted", "Unhealthy"]
        .iter()
        .filter_map(|reason| allowed(nodes, pool, reason))
        // A set may be too large for what one node alone would not pass.
        .any(|most| going(nodes, pool) + gone >= most || most < nodes.len())
}
