//! What was chosen, as commands that leave nothing to choose.

use model::{
    PodRef,
    disruption::{Disruption, KeptCode, Leaving, Move, Order, Reason, Remedy, Replacement, To},
    place::ClaimPlanned,
};

use super::{
    Stay,
    board::{Board, Choosing},
    candidate::Candidate,
    fixed,
};
use crate::place::moving::Spotted;

/// A node that goes with nothing to move.
pub fn deletion(board: &Board<'_>, at: usize, reason: Reason, why: &str) -> Disruption {
    let of = &board.candidates[at];
    Disruption {
        reason,
        nodes: vec![leaving(of)],
        replacements: vec![],
        order: Order::ReplaceFirst,
        remedy: Remedy::Replace,
        moves: vec![],
        saves: i64::try_from(of.price()).unwrap_or(i64::MAX),
        drain_within: None,
        why: why.to_owned(),
    }
}

/// A node that is started again. It comes back with the pods it can hold, so nothing is moved.
pub fn reboot(board: &Board<'_>, at: usize, why: &str) -> Disruption {
    let drain_within = board.candidates[at].here.unhealthy.as_ref().and_then(|one| one.drain_within);
    let command = deletion(board, at, Reason::Unhealthy, why);
    Disruption { remedy: Remedy::Reboot, saves: 0, drain_within, ..command }
}

/// A node that has to go before anything can come in its place.
pub fn first_terminated(board: &Board<'_>, at: usize, reason: Reason, why: &str) -> Disruption {
    let of = &board.candidates[at];
    let why = format!("{why}; there is no room for a replacement as long as it is there, so it goes first");
    let moves = board.pods_of(at).filter_map(|pod| moved(board, pod, of, To::Later)).collect();
    let command = deletion(board, at, reason, &why);
    Disruption { order: Order::TerminateFirst, saves: 0, moves, drain_within: drain_within(of, reason), ..command }
}

/// Nodes whose pods have found other places, on these claims among others.
pub fn replacement(
    choosing: &mut Choosing<'_>,
    set: &[usize],
    claims: &[usize],
    reason: Reason,
    why: &str,
) -> Result<Disruption, Stay> {
    let planned = claims.iter().filter_map(|claim| Some((*claim, choosing.moving.planned(*claim)?))).collect();
    replaced(choosing, set, planned, reason, why)
}

/// The same with claims that were narrowed to what they may be. Without all of its replacements nothing goes.
pub fn replaced(
    choosing: &mut Choosing<'_>,
    set: &[usize],
    claims: Vec<(usize, ClaimPlanned)>,
    reason: Reason,
    why: &str,
) -> Result<Disruption, Stay> {
    let board = choosing.board;
    let (mut replacements, mut positions, mut cost) = (vec![], vec![], 0_i64);
    for (claim, planned) in claims {
        let planned = fixed::without_stand_ins(board, planned);
        let made = choosing.maker.make(&board.scene, &planned).map_err(|refusal| {
            Stay::new(KeptCode::NoOtherPlace, format!("{why}, but no replacement can be made: {refusal}"))
        })?;
        cost += price(board, &planned).unwrap_or(0);
        let pods = planned.pods.iter().filter_map(|pod| board.pods.get(*pod).copied()).collect();
        positions.push(claim);
        replacements.push(Replacement { claim: made, planned: ClaimPlanned { pods, ..planned } });
    }
    let mut sorted = set.to_vec();
    sorted.sort_by_key(|at| board.candidates[*at].name());
    let mut moves = vec![];
    for at in &sorted {
        let of = &board.candidates[*at];
        for pod in board.pods_of(*at) {
            let to = match choosing.moving.spotted(pod) {
                Spotted::Node(node) => board.scene.nodes.get(node).map(|node| To::Node(node.name.clone())),
                Spotted::Claim(claim) => positions.iter().position(|one| *one == claim).map(To::Replacement),
                Spotted::Nowhere => None,
            };
            moves.extend(to.and_then(|to| moved(board, pod, of, to)));
        }
    }
    let prices = sorted.iter().map(|at| i64::try_from(board.candidates[*at].price()).unwrap_or(i64::MAX));
    let only = sorted.first().filter(|_| sorted.len() == 1).map(|at| &board.candidates[*at]);
    Ok(Disruption {
        reason,
        nodes: sorted.iter().map(|at| leaving(&board.candidates[*at])).collect(),
        replacements,
        order: Order::ReplaceFirst,
        remedy: Remedy::Replace,
        moves,
        saves: prices.sum::<i64>() - cost,
        drain_within: only.and_then(|of| drain_within(of, reason)),
        why: why.to_owned(),
    })
}

/// What a claim costs at its cheapest.
pub fn price(board: &Board<'_>, planned: &ClaimPlanned) -> Option<i64> {
    let pool = board.scene.pools.get(planned.pool)?;
    let first = planned.offerings.first()?;
    let of = board.scene.catalogues.get(pool.catalogue)?.types.get(first.instance_type as usize)?;
    of.offerings.get(first.offering as usize)?.price.and_then(|price| i64::try_from(price).ok())
}

fn drain_within(of: &Candidate<'_>, reason: Reason) -> Option<jiff::SignedDuration> {
    of.here.unhealthy.as_ref().filter(|_| reason == Reason::Unhealthy).and_then(|one| one.drain_within)
}

fn leaving(of: &Candidate<'_>) -> Leaving {
    Leaving {
        node: of.there.name.clone(),
        claim: of.here.claim.as_ref().map(|claim| claim.key.clone()),
        pool: of.there.pool.clone().unwrap_or_else(|| of.there.name.clone()),
        price: of.paid.as_ref().ok().map(|paid| paid.price),
    }
}

/// Nothing for a stand-in, which is no pod.
fn moved(board: &Board<'_>, pod: usize, of: &Candidate<'_>, to: To) -> Option<Move> {
    board.pods.get(pod).filter(|position| **position != fixed::NOBODY)?;
    let pod = board.scene.pods.get(pod)?;
    let pod = PodRef { namespace: pod.namespace.clone(), name: pod.name.clone(), uid: pod.uid.clone() };
    Some(Move { pod, from: of.there.name.clone(), to })
}
