//! Karpenter's rules for taking nodes away, as they are specified: emptiness, then several nodes by the length of a prefix, then one.
//!
//! The same solver answers its simulations, so what differs is the rule alone: work on GPUs is moved like any other, at most one
//! machine replaces many, and whatever is cheaper is worth it. `consolidateAfter` is its default, zero.

use model::place::{ClaimPlanned, NodeStage, PodToPlace, Where};
use std::collections::BTreeMap;
use std::sync::Arc;

use super::{
    play::Command,
    site::{Node, Site},
};

/// More candidates are not looked at together.
const MOST_TOGETHER: usize = 100;
/// The default budget: this share of a pool's nodes, rounded up.
const BUDGET_PERCENT: usize = 10;

/// One command a time; the simulation of the next would have to know what came of it.
pub fn decide(site: &Site<'_>) -> Vec<Command> {
    let mut allowed = budgets(site);
    let candidates: Vec<u32> = site
        .nodes
        .iter()
        .filter(|(number, node)| is_candidate(site, **number, node))
        .map(|(number, _)| *number)
        .collect();
    let (empty, mut busy): (Vec<u32>, Vec<u32>) =
        candidates.into_iter().partition(|number| site.pods_on(*number).next().is_none());
    let empty = within_budgets(site, &mut allowed, empty);
    if !empty.is_empty() {
        return vec![Command { nodes: empty, replacements: vec![] }];
    }
    busy.sort_by(|one, other| worth(site, *other).total_cmp(&worth(site, *one)));
    let together = within_budgets(site, &mut allowed.clone(), busy.clone());
    let command = several(site, &together).or_else(|| {
        let alone = |number: &u32| simulate(site, &within_budgets(site, &mut allowed.clone(), vec![*number]));
        busy.iter().find_map(alone)
    });
    command.into_iter().collect()
}

/// Up, and nobody is expected on it.
fn is_candidate(site: &Site<'_>, number: u32, node: &Node) -> bool {
    let up = node.there.stage == NodeStage::Initialized && !node.leaving;
    up && !site.pods.values().any(|pod| pod.planned == Some(number))
}

fn budgets(site: &Site<'_>) -> BTreeMap<usize, usize> {
    let of_pool = |cloud: usize| {
        let up = |node: &&Node| node.cloud == cloud && node.there.stage == NodeStage::Initialized;
        let (all, leaving) = (
            site.nodes.values().filter(up).count(),
            site.nodes.values().filter(up).filter(|node| node.leaving).count(),
        );
        (cloud, (all * BUDGET_PERCENT).div_ceil(100).saturating_sub(leaving))
    };
    (0..site.clouds.len()).map(of_pool).collect()
}

fn within_budgets(site: &Site<'_>, allowed: &mut BTreeMap<usize, usize>, nodes: Vec<u32>) -> Vec<u32> {
    let mut fits = |number: &u32| {
        let left = site.nodes.get(number).and_then(|node| allowed.get_mut(&node.cloud));
        left.is_some_and(|left| {
            let fits = *left > 0;
            *left -= usize::from(fits);
            fits
        })
    };
    nodes.into_iter().filter(|number| fits(number)).collect()
}

/// Price divided by the cost of moving its pods.
fn worth(site: &Site<'_>, number: u32) -> f64 {
    let price = site.nodes.get(&number).map_or(0, |node| node.price) as f64;
    price / (1.0 + site.pods_on(number).count() as f64)
}

/// The longest prefix that works, by halving: it is taken for granted that a shorter one works where a longer one does.
fn several(site: &Site<'_>, sorted: &[u32]) -> Option<Command> {
    let (mut least, mut most) = (2, sorted.len().min(MOST_TOGETHER));
    let mut best = None;
    while least <= most {
        let middle = least.midpoint(most);
        match sorted.get(..middle).and_then(|prefix| simulate(site, prefix)) {
            Some(command) => {
                best = Some(command);
                least = middle + 1;
            }
            None => most = middle - 1,
        }
    }
    best
}

/// Whether all pods of these nodes have a place without them: on nodes that are up, or on one machine that costs less.
fn simulate(site: &Site<'_>, nodes: &[u32]) -> Option<Command> {
    if nodes.is_empty() {
        return None;
    }
    let mut seen = site.look();
    let gone: Vec<usize> = nodes.iter().filter_map(|number| seen.nodes.iter().position(|at| at == number)).collect();
    let mut moved: Vec<PodToPlace> = vec![];
    let bound = std::mem::take(&mut seen.scene.bound);
    for (there, number) in bound.into_iter().zip(&seen.bound) {
        match site.pods.get(number).filter(|_| gone.contains(&there.node)) {
            Some(pod) => moved.push(pod.wanted.clone()),
            None => seen.scene.bound.push(there),
        }
    }
    for (_, node) in seen.scene.nodes.iter_mut().enumerate().filter(|(at, _)| gone.contains(at)) {
        node.deleting = true;
    }
    let waiting = seen.scene.pods.len();
    seen.scene.pods.extend(moved);
    let placing = decide::place::place(&seen.scene, &mut || true);
    let is_up = |at: &usize| seen.scene.nodes.get(*at).is_some_and(|node| node.stage == NodeStage::Initialized);
    let mut claims: Vec<usize> = vec![];
    for place in placing.pods.iter().skip(waiting) {
        match place {
            Where::Node(at) if is_up(at) => {}
            Where::Claim(at) => claims.push(*at),
            Where::Node(_) | Where::Nowhere(_) => return None,
        }
    }
    claims.sort_unstable();
    claims.dedup();
    let replacements = match claims.as_slice() {
        [] => vec![],
        [one] => vec![cheaper(site, nodes, placing.claims.get(*one)?)?],
        _ => return None,
    };
    Some(Command { nodes: nodes.to_vec(), replacements })
}

/// What of the replacement's offerings costs less than the nodes. Where it could be a type that goes, it has to cost less than the
/// cheapest of those.
fn cheaper(site: &Site<'_>, nodes: &[u32], planned: &ClaimPlanned) -> Option<ClaimPlanned> {
    let going = || nodes.iter().filter_map(|number| site.nodes.get(number));
    let sum: u64 = going().map(|node| node.price).sum();
    let listed = |node: &&Node| {
        let same = |at: &model::place::OfferingRef| at.instance_type == node.shape.instance_type;
        node.cloud == planned.pool && planned.offerings.iter().any(same)
    };
    let bound = going().filter(listed).map(|node| node.price).min().map_or(sum, |price| price.min(sum));
    let cloud = site.clouds.get(planned.pool)?;
    let price = |at: &&model::place::OfferingRef| cloud.offered(**at).and_then(|(_, offered)| offered.price);
    let left: Arc<[_]> =
        planned.offerings.iter().filter(|at| price(at).is_some_and(|price| price < bound)).copied().collect();
    (!left.is_empty()).then(|| ClaimPlanned { offerings: left, ..planned.clone() })
}
