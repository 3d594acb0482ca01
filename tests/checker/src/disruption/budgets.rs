//! Budgets of pools: the tightest that is on and names the reason counts, and nodes that are going or not ready use it up.
//!
//! In which order nodes are chosen is the planner's to say; there has to be one in which each budget holds for each node in its turn.

use std::collections::BTreeMap;

use super::facts::NodeFacts;
use super::{Ways, health, is_up, when};
use crate::answer::DisruptionAnswer;
use crate::objects::NodeBudget;
use crate::{Rule, Violation};

pub fn check(nodes: &[NodeFacts<'_>], commands: &[DisruptionAnswer], ways: Ways, found: &mut Vec<Violation>) {
    let mut by_pool: BTreeMap<&str, BTreeMap<&str, usize>> = BTreeMap::new();
    for command in commands {
        // Karpenter asks no budget about what has expired.
        if ways == Ways::Karpenters && command.reason == "Expired" {
            continue;
        }
        for name in &command.nodes {
            let node = nodes.iter().find(|node| node.name == name);
            // What goes by itself asks nobody, and what is sick does not stand in its own way.
            let counted = |node: &NodeFacts<'_>| !node.is_ready() || health::is_about_to_go(node);
            if command.reason == "Unhealthy" && node.is_some_and(counted) {
                continue;
            }
            let pool = node.and_then(|node| node.pool_label);
            // What is not ready is counted before it goes, and only once.
            let more = usize::from(ways == Ways::Karpenters || node.is_none_or(NodeFacts::is_ready));
            *by_pool.entry(pool.unwrap_or_default()).or_default().entry(&command.reason).or_default() += more;
        }
    }
    for (pool, reasons) in by_pool {
        let mut steps: Vec<(usize, &str, usize)> = reasons
            .into_iter()
            .filter_map(|(reason, count)| Some((allowed(nodes, pool, reason)?, reason, count)))
            .collect();
        steps.sort_unstable();
        let mut gone = going(nodes, pool);
        for (most, reason, count) in steps {
            gone += count;
            if gone > most {
                let message = format!(
                    "pool {pool} lets {most} go for {reason}, and {count} more go: {gone} with those that are going"
                );
                found.push(Violation::of(Rule::Budget, message));
            }
        }
    }
}

/// Nodes of a pool that are on their way out or not ready.
pub fn going(nodes: &[NodeFacts<'_>], pool: &str) -> usize {
    let of_pool = nodes.iter().filter(|node| node.pool_label == Some(pool) && is_up(node));
    of_pool.filter(|node| node.leaving || node.is_disrupted() || !node.is_ready()).count()
}

/// How many of a pool may go for a reason. None where no budget is on.
pub fn allowed(nodes: &[NodeFacts<'_>], pool: &str, reason: &str) -> Option<usize> {
    let all: Vec<&NodeFacts<'_>> = nodes.iter().filter(|node| node.pool_label == Some(pool) && is_up(node)).collect();
    let one = all.first()?;
    let spec = &one.pool?.spec.disruption;
    spec.budgets.iter().filter_map(|budget| lets_go(budget, one, all.len(), reason)).min()
}

fn lets_go(budget: &NodeBudget, node: &NodeFacts<'_>, nodes: usize, reason: &str) -> Option<usize> {
    if !budget.reasons.is_empty() && !budget.reasons.iter().any(|one| one == reason) {
        return None;
    }
    // What cannot be read lets nothing go.
    let on = match (&budget.schedule, &budget.duration) {
        (None, None) => Some(true),
        (Some(schedule), Some(lasts)) => {
            let zone = when::zone(node.pool_note("pilotlight.dev/time-zone"));
            let lasts = when::duration(lasts).filter(|lasts| lasts.is_positive());
            zone.zip(lasts).and_then(|(zone, lasts)| when::is_on(schedule, lasts, node.now, &zone))
        }
        _ => None,
    };
    let most = match budget.nodes.strip_suffix('%') {
        Some(share) => share.parse::<usize>().ok().filter(|share| *share <= 100).map(|it| (nodes * it).div_ceil(100)),
        None => budget.nodes.parse::<usize>().ok(),
    };
    match (on, most) {
        (Some(false), Some(_)) => None,
        (Some(true), Some(most)) => Some(most),
        _ => Some(0),
    }
}
