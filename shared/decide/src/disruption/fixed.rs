//! Pools with a fixed number of nodes (`spec.replicas`): what has to leave is replaced by one node of the same pool, whatever runs on it.
//!
//! A stand-in keeps the place of such a node while pods are moved: it asks for nothing, finds room on a new node of the pool alone,
//! and is in no answer. The pods of the node come to what replaces it, or have room on other nodes of the pool.

use model::{
    Quantity, Resources, Toleration,
    disruption::{FixedSize, KeptCode},
    names,
    place::{ClaimPlanned, HostPort, InstanceType, PodThere, PodToPlace, Protocol, Scene},
};
use std::collections::BTreeMap;

use super::{
    Situation, Stay,
    board::{Board, Choosing},
    candidate::{self, Candidate},
};
use crate::{
    provision::nominations::as_bound,
    requirement::{Requirements, normalised},
};

/// Where a stand-in's position in the inventory would be.
pub const NOBODY: usize = usize::MAX;

/// Opens pools that have a node to replace, for exactly that: nothing but a node that goes makes room in them. Answers, by
/// candidate, the stand-ins of nodes that have to leave; all other nodes of these pools have one that stays.
pub fn open(scene: &mut Scene, situation: &Situation, candidates: &[Candidate<'_>]) -> Vec<Option<PodToPlace>> {
    let mut stand_ins = vec![None; candidates.len()];
    let replaces = |of: &&Candidate<'_>| {
        let open = of.pool_here.fixed_size.as_ref().is_some_and(|fixed| fixed.closed.is_none());
        open && candidate::has_to_leave(of, situation)
    };
    let leaving: Vec<bool> = candidates.iter().map(|of| replaces(&of)).collect();
    let mut pools: Vec<usize> = candidates.iter().zip(&leaving).filter(|(_, is)| **is).map(|(of, _)| of.pool).collect();
    pools.sort_unstable();
    pools.dedup();
    for (at, of) in candidates.iter().enumerate().filter(|(at, _)| leaving[*at]) {
        stand_ins[at] = stand_in(of);
    }
    for at in pools {
        let Some(example) = candidates.iter().find(|of| of.pool == at).and_then(stand_in) else { continue };
        let Some(pool) = scene.pools.get_mut(at) else { continue };
        pool.closed = None;
        let there = pool.used.get(NODES).copied().unwrap_or_default();
        pool.limits = Resources::from([(NODES.to_owned(), there)]);
        let name = pool.name.clone();
        let goes = |node: usize| candidates.iter().zip(&leaving).any(|(of, leaves)| *leaves && of.node == node);
        let others =
            scene.nodes.iter().enumerate().filter(|(at, node)| node.pool.as_ref() == Some(&name) && !goes(*at));
        let others: Vec<PodThere> = others.map(|(at, _)| as_bound(&example, at)).collect();
        scene.bound.extend(others);
    }
    stand_ins
}

const NODES: &str = "nodes";

fn stand_in(of: &Candidate<'_>) -> Option<PodToPlace> {
    let uid = model::Uid::new(of.name()).ok()?;
    let mut pod = PodToPlace::new(model::Namespace::new("default").ok()?, of.there.name.clone(), uid);
    keep_in_pool(&mut pod, of);
    pod.tolerations = vec![Toleration { key: None, value: None, effect: None }];
    // No real pod can ask for this one, and all stand-ins do: each is alone on its node.
    pod.host_ports = vec![HostPort { ip: String::new(), port: 0, protocol: Protocol::Tcp }];
    // It goes first, so that pods find the claim that it opens.
    pod.priority = i32::MAX;
    Some(pod)
}

/// Nothing is opened elsewhere for a pod whose node is replaced anyway.
pub fn keep_in_pool(pod: &mut PodToPlace, of: &Candidate<'_>) {
    pod.node_selector.extend(of.there.pool.iter().map(|pool| (names::NODE_POOL.to_owned(), pool.to_string())));
}

pub fn is_stand_in(board: &Board<'_>, pod: Option<usize>) -> bool {
    pod.and_then(|pod| board.pods.get(pod)) == Some(&NOBODY)
}

/// What a node gives back of its pool's number of nodes: as one of a type that the pool makes now, which its own need not be.
pub fn place_of(board: &Board<'_>, of: &Candidate<'_>) -> Option<(usize, usize)> {
    let pool = board.scene.pools.get(of.pool)?;
    let may_be = |one: &InstanceType| {
        pool.requirements.iter().map(|required| &required.requirement).all(|required| {
            let key = normalised(&required.key);
            let own = one.requirements.iter().filter(|own| own.key == key).flat_map(|own| own.values.clone());
            let mut values = if key == names::INSTANCE_TYPE { vec![one.name.clone()] } else { own.collect() };
            let open = values.is_empty();
            let kept = |value: String| {
                Requirements::new(core::slice::from_ref(required)).kept_by(&BTreeMap::from([(key.to_owned(), value)]))
            };
            open || values.drain(..).any(kept)
        })
    };
    let at = board.scene.catalogues.get(pool.catalogue)?.types.iter().position(may_be)?;
    Some((of.pool, at))
}

/// The claim as it is without stand-ins.
pub fn without_stand_ins(board: &Board<'_>, mut planned: ClaimPlanned) -> ClaimPlanned {
    let before = planned.pods.len();
    planned.pods.retain(|pod| board.pods.get(*pod) != Some(&NOBODY));
    let fewer = i128::try_from(before - planned.pods.len()).unwrap_or(0) * 1000;
    if let Some(pods) = planned.requests.get_mut("pods") {
        *pods = Quantity::from_thousandths((pods.thousandths() - fewer).max(0));
    }
    planned.requests.retain(|name, amount| name != "pods" || *amount > Quantity::default());
    planned
}

/// Why no replacement may be made for a node of such a pool now.
pub fn no_room(choosing: &Choosing<'_>, of: &Candidate<'_>, fixed: &FixedSize) -> Option<Stay> {
    let stay = |words: String| Some(Stay::new(KeptCode::FixedSize, words));
    if let Some(why) = &fixed.closed {
        return stay(format!("its pool has a fixed number of nodes (spec.replicas) and makes none now: {why}"));
    }
    let scene = &choosing.board.situation.provision.scene;
    let disrupted =
        |at: usize| choosing.board.situation.inventory.nodes.iter().any(|one| one.node == at && one.disrupted);
    let of_pool = scene.nodes.iter().enumerate().filter(|(_, node)| node.pool == of.there.pool);
    let (mut all, mut going) = (0_u64, 0_u64);
    for (at, node) in of_pool {
        all += 1;
        going += u64::from(node.deleting || disrupted(at));
    }
    // A command has the node, and what replaces it may be there already.
    if all - going > fixed.replicas {
        let words = format!("its pool has {} nodes and wants {} (spec.replicas)", all - going, fixed.replicas);
        return stay(format!("{words}: nothing more is made before that is so"));
    }
    let made = choosing.chosen.iter().flat_map(|one| &one.replacements).filter(|one| one.planned.pool == of.pool);
    let made = u64::try_from(made.count()).unwrap_or(u64::MAX);
    let limit = scene.pools.get(of.pool).and_then(|pool| pool.limits.get(NODES));
    match limit {
        Some(limit) if i128::from(all.saturating_add(made)) * 1000 >= limit.thousandths() => stay(format!(
            "its pool has a fixed number of nodes (spec.replicas), and its limit of {} nodes leaves no room for a replacement",
            limit.thousandths() / 1000
        )),
        _ => None,
    }
}
