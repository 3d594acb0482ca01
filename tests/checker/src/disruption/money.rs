//! What comes costs less than what goes, whatever becomes of it, and enough less to be worth it. Only for nodes that go to save money:
//! one that is too old or not what it should be is replaced whatever it costs.

use std::collections::BTreeSet;

use super::facts::{NodeFacts, Situation, disturbance};
use super::{Ways, is_up};
use crate::answer::{ClaimAnswer, DisruptionAnswer};
use crate::fresh::Fresh;
use crate::{Rule, Violation};

/// Amounts closer than this are the same: answers count in millionths.
const SAME: f64 = 2e-6;
const SPOT_TYPES: usize = 15;

pub fn check(
    situation: &Situation<'_>,
    nodes: &[NodeFacts<'_>],
    commands: &[DisruptionAnswer],
    ways: Ways,
    found: &mut Vec<Violation>,
) {
    for command in commands {
        let gone: Vec<&NodeFacts<'_>> =
            command.nodes.iter().filter_map(|name| nodes.iter().find(|node| node.name == name)).collect();
        let mut say = |message: String| {
            let message = format!("{} for {}: {message}", command.nodes.join(", "), command.reason);
            found.push(Violation::of(Rule::Price, message));
        };
        let before: f64 = gone.iter().filter_map(|node| situation.paid(node)).map(|paid| paid.price).sum();
        let after: f64 = command.replacements.iter().filter_map(ClaimAnswer::price).sum();
        let said = command.saves_per_hour;
        if ways == Ways::Ours && !command.terminate_first && (before - after - said).abs() > SAME * 10.0 {
            say(format!("{before:.6} becomes {after:.6}, and it is said to save {said:.6}"));
        }
        if command.reason != "Underutilized" {
            continue;
        }
        if after >= before - f64::EPSILON {
            say(format!("{before:.6} becomes {after:.6}, which saves nothing"));
        }
        if ways == Ways::Ours {
            worst(situation, command, before, &mut say);
            saving(&gone, situation, before - after, !command.replacements.is_empty(), &mut say);
            spot(situation, &gone, &command.replacements, &mut say);
            balanced(situation, nodes, &gone, before - after, &mut say);
        }
    }
}

/// Every node that may come of the replacements, all at their dearest.
fn worst(situation: &Situation<'_>, command: &DisruptionAnswer, before: f64, say: &mut impl FnMut(String)) {
    let mut sum = 0.0;
    for claim in &command.replacements {
        let Some(pool) = situation.cluster.pool(&claim.node_pool) else { continue };
        let fresh = Fresh::new(claim, pool, situation.catalog);
        sum += fresh.nodes().map(|(_, offering)| offering.price).fold(0.0, f64::max);
    }
    if !command.replacements.is_empty() && sum >= before + SAME {
        say(format!("{before:.6} may become {sum:.6}"));
    }
}

fn saving(
    gone: &[&NodeFacts<'_>],
    situation: &Situation<'_>,
    saves: f64,
    replaced: bool,
    say: &mut impl FnMut(String),
) {
    let share = |node: &NodeFacts<'_>| {
        let text = node.pool_note("pilotlight.dev/minimum-saving").and_then(|text| text.strip_suffix('%'));
        let read = text.and_then(|text| text.parse::<f64>().ok()).filter(|share| (0.0..=100.0).contains(share));
        read.unwrap_or(5.0) / 100.0
    };
    let least: f64 = gone.iter().filter_map(|node| Some(share(node) * situation.paid(node)?.price)).sum();
    if replaced && saves < least - SAME {
        say(format!("{saves:.6} is saved, which is less than {least:.6}"));
    }
}

/// A replacement is spot or is not. Spot for spot only where the pool says so, and alone only with many types to choose from.
fn spot(
    situation: &Situation<'_>,
    gone: &[&NodeFacts<'_>],
    replacements: &[ClaimAnswer],
    say: &mut impl FnMut(String),
) {
    let all_spot = gone.iter().all(|node| situation.paid(node).is_some_and(|paid| paid.capacity_type == "spot"));
    let may = gone.iter().all(|node| node.pool_note("pilotlight.dev/spot-to-spot") == Some("true"));
    for claim in replacements {
        let spot = claim.offerings.iter().filter(|one| one.capacity_type == "spot").count();
        if spot > 0 && spot < claim.offerings.len() {
            say(format!("{} lists spot and others", claim.name));
        }
        if spot > 0 && all_spot && !may {
            say(format!("{} is spot for spot, which its pool does not want", claim.name));
        }
        let types: BTreeSet<&str> = claim.offerings.iter().map(|one| one.instance_type.as_str()).collect();
        if spot > 0 && all_spot && may && gone.len() == 1 && types.len() < SPOT_TYPES {
            say(format!("{} lists {} types for a spot machine", claim.name, types.len()));
        }
    }
}

/// Pools that weigh: the share of their cost that is saved is at least half the share of their pods that is disturbed.
fn balanced(
    situation: &Situation<'_>,
    nodes: &[NodeFacts<'_>],
    gone: &[&NodeFacts<'_>],
    saves: f64,
    say: &mut impl FnMut(String),
) {
    let price = |node: &NodeFacts<'_>| situation.paid(node).map_or(0.0, |paid| paid.price);
    let weight = |node: &NodeFacts<'_>| 1.0 + node.moving().map(|pod| disturbance(pod).max(0.0)).sum::<f64>();
    let before: f64 = gone.iter().map(|node| price(node)).sum();
    let weighing =
        |node: &NodeFacts<'_>| node.pool.is_some_and(|pool| pool.spec.disruption.consolidation_policy == "Balanced");
    let pools: BTreeSet<&str> = gone.iter().filter(|node| weighing(node)).filter_map(|node| node.pool_label).collect();
    for pool in pools {
        let of_pool = |node: &&NodeFacts<'_>| node.pool_label == Some(pool);
        let all: Vec<&NodeFacts<'_>> = nodes.iter().filter(|node| of_pool(node) && is_up(node)).collect();
        let (cost, pods): (f64, f64) =
            (all.iter().map(|node| price(node)).sum(), all.iter().map(|node| weight(node)).sum());
        let own: Vec<&&NodeFacts<'_>> = gone.iter().filter(|node| of_pool(node)).collect();
        let saved = own.iter().map(|node| price(node)).sum::<f64>() / before.max(SAME) * saves;
        let disturbed: f64 = own.iter().map(|node| weight(node)).sum();
        if saved / cost.max(SAME) < 0.5 * disturbed / pods - 1e-6 {
            let (saved, disturbed) = (saved / cost * 100.0, disturbed / pods * 100.0);
            say(format!("{saved:.1} % of the cost of {pool} is saved, and {disturbed:.1} % of its pods are disturbed"));
        }
    }
}
