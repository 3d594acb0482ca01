//! Who goes first: what is hard to place before what is easy.

use core::cmp::Reverse;

use model::place::Scene;

use super::amounts::PODS;
use super::attempts::Plan;
use super::counters::{Counted, Spot};
use super::needs::NeedId;
use super::rules::HostRule;
use super::shapes::{Shape, ShapeId};
use super::solver::Solver;

/// Shapes in the order they are placed.
///
/// Where limits may not suffice, the pods' priority comes first. Then those in `first`, which were left out before. Then what asks for a scarce resource, the largest share of it
/// first: a small pod finds room between large ones, not the other way round. Then those that need a host for themselves, because
/// they open nodes on which all others fit; then by size.
pub fn of_shapes(solver: &Solver<'_>, first: &[ShapeId]) -> Vec<ShapeId> {
    let scene = solver.ground.scene;
    let limited = is_limited(scene);
    let most = most_of_each(solver);
    let key = |id: &ShapeId| {
        let (shape, plan) = (&solver.shapes[*id], &solver.plans[*id]);
        let priority = if limited { shape.example.priority } else { 0 };
        let before = first.iter().position(|first| first == id).unwrap_or(first.len());
        let scarce = scarce_share(shape, &most, solver.ground.columns.names());
        let common = share(shape, &most);
        let oldest =
            shape.pods.first().and_then(|pod| scene.pods.get(*pod)).map(|pod| (pod.created_at, pod.uid.as_str()));
        let alone = if is_counted_where_it_must_be(plan, solver) { FIRST } else { solitude(plan, shape) };
        (Reverse(priority), before, Reverse(scarce), Reverse(alone), Reverse(common), oldest)
    };
    let mut order: Vec<ShapeId> = (0..solver.shapes.len()).collect();
    order.sort_by_cached_key(|id| {
        let (priority, before, scarce, solitude, common, oldest) = key(id);
        (priority, before, scarce, solitude, common, oldest.map(|(created, uid)| (created, uid.to_owned())), *id)
    });
    order
}

/// Whether pods may have to go without a place because of what others take.
pub fn is_limited(scene: &Scene) -> bool {
    !scene.quotas.is_empty() || scene.pools.iter().any(|pool| !pool.limits.is_empty())
}

/// Before all others of their size.
const FIRST: u8 = 4;

/// Whether its pods are counted by a spread and have no choice of a domain: whoever is spread has to know where they are.
fn is_counted_where_it_must_be(plan: &Plan, solver: &Solver<'_>) -> bool {
    let Some(must) = plan.attempts.last() else { return false };
    let ground = &solver.ground;
    let settled = |slot: usize| {
        let about = |need: &NeedId| ground.needs.get(*need).iter().any(|(key, _)| ground.is_key_of(*key, slot));
        must.needs.iter().all(about)
    };
    plan.adds.iter().map(|id| &ground.counters.all[*id]).any(|counter| match (counter.counted, counter.spot) {
        (Counted::Pods(_), Spot::Slot(slot)) => settled(slot),
        _ => false,
    })
}

/// How much a shape's rules about hosts restrict it.
fn solitude(plan: &Plan, shape: &Shape<'_>) -> u8 {
    let Some(must) = plan.attempts.last() else { return 0 };
    // Two pods that want the same port of a host keep apart as well.
    let apart = !shape.example.host_ports.is_empty()
        || must.hosts.iter().any(|rule| matches!(rule, HostRule::AtMost { most: 0, .. }));
    let spread = must.hosts.iter().any(|rule| matches!(rule, HostRule::AtMost { .. }));
    match (apart, spread, must.domains.is_empty()) {
        (true, _, _) => 3,
        (_, true, _) => 2,
        (_, _, false) => 1,
        _ => 0,
    }
}

/// The most that any type or node has of each resource.
fn most_of_each(solver: &Solver<'_>) -> Vec<i64> {
    let mut most = vec![0; solver.ground.columns.len()];
    let types = solver.ground.sources.iter().flat_map(|source| &source.fit.rows);
    for row in types.chain(solver.ground.nodes.iter().map(|node| &node.room)) {
        for (most, amount) in most.iter_mut().zip(row) {
            *most = (*most).max(*amount);
        }
    }
    most
}

/// Thousandths of the largest machine, by the resource it takes most of.
fn share(shape: &Shape<'_>, most: &[i64]) -> i64 {
    let shares = shape.request.iter().zip(most).map(|(request, most)| request.saturating_mul(1000) / (*most).max(1));
    shares.max().unwrap_or(0)
}

/// The same over extended resources alone; a part of a device counts as that part.
fn scarce_share(shape: &Shape<'_>, most: &[i64], names: &[&str]) -> i64 {
    let extended = |name: &str| name.contains('/');
    let shares = shape.request.iter().zip(most).zip(names).enumerate();
    let whole = shares
        .filter(|(column, (_, name))| *column != PODS && extended(name))
        .map(|(_, ((request, most), _))| request.saturating_mul(1_000_000) / (*most).max(1));
    let part = shape
        .part
        .map(|part| part.amount.saturating_mul(1000) / part.per_device.max(1) * 1_000_000 / most[part.device].max(1));
    whole.chain(part).max().unwrap_or(0)
}
