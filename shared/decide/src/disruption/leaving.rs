//! Nodes that have to leave whatever it costs: unhealthy ones, those that are too old, those that are not what they should be.
//! Their pods find other places first; where there is no room for a replacement as long as the node is there, it goes first.

use core::cmp::Reverse;
use jiff::Timestamp;
use model::{
    disruption::{KeptCode, Move, NodeHere, Reason, Remedy, To},
    place::{NodeStage, NodeThere, PodThere, Where},
};
use std::collections::BTreeSet;

use super::{
    Stay,
    board::Choosing,
    candidate::{self, Candidate},
    commands, fixed,
};
use crate::{
    place::{self, moving::GivesBack},
    provision::nominations::as_bound,
};

/// More of a pool than this, in percent, has not failed by chance: somebody has to look.
const TOO_MANY: usize = 20;

/// A node with its reason to leave.
struct Leaver {
    candidate: usize,
    reason: Reason,
    why: String,
    since: Timestamp,
}

/// Unhealthy nodes, the most urgent first.
pub fn repair(choosing: &mut Choosing<'_>, still_time: &mut dyn FnMut() -> bool) {
    let mut sick: Vec<usize> =
        choosing.staying().into_iter().filter(|at| choosing.board.candidates[*at].here.unhealthy.is_some()).collect();
    let board = choosing.board;
    sick.sort_by_key(|at| {
        let of = &board.candidates[*at];
        let unhealthy = of.here.unhealthy.as_ref();
        (Reverse(unhealthy.map(|one| (one.urgent, one.priority))), unhealthy.map(|one| one.since), of.name())
    });
    for at in &sick {
        choosing.moving.close(board.candidates[*at].node);
    }
    for at in &sick {
        let of = &board.candidates[*at];
        let Some(unhealthy) = &of.here.unhealthy else { continue };
        let leaver =
            Leaver { candidate: *at, reason: Reason::Unhealthy, why: unhealthy.what.clone(), since: unhealthy.since };
        if let Err(stay) = candidate::may_leave(of, Reason::Unhealthy) {
            choosing.stay(*at, stay);
            continue;
        }
        if !unhealthy.urgent {
            if let Some(stay) = correlated(choosing, of) {
                choosing.stay(*at, stay);
                continue;
            }
            if !choosing.budget_allows(*at, Reason::Unhealthy) {
                continue;
            }
        }
        if unhealthy.remedy == Remedy::Reboot {
            choosing.go(*at);
            choosing.chosen.push(commands::reboot(board, *at, &leaver.why));
            continue;
        }
        leave(choosing, &leaver, still_time);
    }
}

/// Nodes that are too old, then those that have drifted.
pub fn replace(choosing: &mut Choosing<'_>, still_time: &mut dyn FnMut() -> bool) {
    let leavers = leavers(choosing);
    let board = choosing.board;
    // Nothing moves to a node that has to leave itself.
    close(choosing, &leavers);
    let mut tried = BTreeSet::new();
    for one in leavers.iter().filter(|one| !choosing.gone[one.candidate]).collect::<Vec<_>>() {
        match candidate::may_leave(&board.candidates[one.candidate], one.reason) {
            Err(stay) => choosing.stay(one.candidate, stay),
            // What a budget holds for the one reason may go for the other.
            Ok(()) if !tried.contains(&one.candidate) && choosing.budget_allows(one.candidate, one.reason) => {
                tried.insert(one.candidate);
                leave(choosing, one, still_time);
            }
            Ok(()) => {}
        }
    }
}

/// Nodes that have to leave and have nowhere to put their pods but on idle nodes: they leave before those are taken away. Otherwise
/// they would go first, with their pods left waiting for what was just thrown away.
pub fn replace_onto(choosing: &mut Choosing<'_>, idle: &[usize], still_time: &mut dyn FnMut() -> bool) {
    let board = choosing.board;
    let mut leavers = leavers(choosing);
    leavers.retain(|one| {
        let of = &board.candidates[one.candidate];
        let allowed = choosing.budgets.allow(of.pool, one.reason, of.counted().adds(one.reason)).is_ok();
        let may = candidate::may_leave(of, one.reason).is_ok() && of.pool_here.fixed_size.is_none();
        allowed && may && !idle.contains(&one.candidate)
    });
    if idle.is_empty() || leavers.is_empty() {
        return;
    }
    let before = choosing.save();
    close(choosing, &leavers);
    idle.iter().for_each(|at| choosing.moving.close(board.candidates[*at].node));
    let mut seen = BTreeSet::new();
    leavers.retain(|one| {
        seen.insert(one.candidate) && {
            let of = &board.candidates[one.candidate];
            let trial = choosing.moving.without(&[(of.node, of.kind())], GivesBack::Nothing, still_time);
            let needs_room = !trial.homeless.is_empty();
            match needs_room {
                true => choosing.moving.undo(trial),
                false => choosing.moving.freeze_claims(),
            }
            needs_room
        }
    });
    choosing.restore(before);
    close(choosing, &leavers);
    for one in &leavers {
        if choosing.budget_allows(one.candidate, one.reason) {
            leave(choosing, one, still_time);
        }
    }
}

/// Nothing moves to a node that has to leave itself.
pub fn close_all(choosing: &mut Choosing<'_>) {
    let leavers = leavers(choosing);
    close(choosing, &leavers);
}

fn close(choosing: &mut Choosing<'_>, leavers: &[Leaver]) {
    leavers.iter().for_each(|one| choosing.moving.close(choosing.board.candidates[one.candidate].node));
}

/// By reason; of each the empty ones first, then the earliest. A node may have two.
fn leavers(choosing: &Choosing<'_>) -> Vec<Leaver> {
    let mut leavers = vec![];
    for at in choosing.staying() {
        let of = &choosing.board.candidates[at];
        if let Some(expired) = of.expires_at().filter(|expires| *expires <= choosing.board.now()) {
            let why = format!("it is older than its pool lets nodes be, since {expired} (expireAfter)");
            leavers.push(Leaver { candidate: at, reason: Reason::Expired, why, since: expired });
        }
        if let Some(drift) = candidate::drift_of(of, choosing.board.situation) {
            let why =
                if drift.message.is_empty() { drift.reason } else { format!("{}: {}", drift.reason, drift.message) };
            leavers.push(Leaver { candidate: at, reason: Reason::Drifted, why, since: drift.since });
        }
    }
    let board = choosing.board;
    leavers.sort_by_key(|one| {
        let of = &board.candidates[one.candidate];
        (one.reason, of.busy.is_some(), one.since, of.name())
    });
    leavers
}

/// Finds places for its pods, and takes it away; or says why not.
fn leave(choosing: &mut Choosing<'_>, one: &Leaver, still_time: &mut dyn FnMut() -> bool) {
    let board = choosing.board;
    let of = &board.candidates[one.candidate];
    if !still_time() {
        choosing.out_of_time = true;
        return choosing.stay(one.candidate, Stay::new(KeptCode::OutOfTime, "time ran out before it was come to"));
    }
    let fixed = of.pool_here.fixed_size.as_ref();
    if let Some(stay) = fixed.and_then(|fixed| fixed::no_room(choosing, of, fixed)) {
        return choosing.stay(one.candidate, stay);
    }
    // Its place in a pool of fixed size is what its replacement gets.
    let (kind, gives_back) = match fixed {
        Some(_) => (fixed::place_of(choosing.board, of), GivesBack::PoolLimits),
        None => (of.kind(), GivesBack::Nothing),
    };
    let first = choosing.moving.claims();
    let trial = choosing.moving.without(&[(of.node, kind)], gives_back, still_time);
    let opened: Vec<usize> = (first..choosing.moving.claims()).collect();
    if trial.homeless.is_empty() {
        let pools = opened.iter().filter_map(|claim| Some(choosing.moving.planned(*claim)?.pool));
        let paused = pools.into_iter().find_map(|pool| board.paused(pool));
        // A machine that somebody takes away at once waits for nobody.
        let urgent = of.here.unhealthy.as_ref().is_some_and(|unhealthy| unhealthy.urgent);
        let held = paused.or_else(|| choosing.stands_alone(&trial.moved).err().filter(|_| !urgent));
        let command = match held {
            Some(stay) => Err(stay),
            None => commands::replacement(choosing, &[one.candidate], &opened, one.reason, &one.why),
        };
        match command {
            Ok(command) => {
                choosing.moving.freeze_claims();
                choosing.go(one.candidate);
                spare_destinations(choosing, of, &command.moves);
                choosing.chosen.push(command);
            }
            Err(stay) => {
                choosing.moving.undo(trial);
                choosing.stay(one.candidate, stay);
            }
        }
        return;
    }
    let homeless = trial.homeless.first().copied();
    let why = homeless.map(|pod| (board.scene.pods[pod].clone(), choosing.moving.why(pod)));
    choosing.moving.undo(trial);
    // Nobody brings back a node of a pool with a fixed number of them: it never goes first.
    if fixed.is_none() && fits_when_gone(choosing, of, still_time) {
        choosing.go(one.candidate);
        choosing.chosen.push(commands::first_terminated(board, one.candidate, one.reason, &one.why));
        return;
    }
    let words = why.map(|(pod, why)| match fixed::is_stand_in(board, homeless) {
        true => format!("{}, but no other node can be had: {}", one.why, why.reason),
        false => format!("{}, but pod {}/{} finds no other place: {}", one.why, pod.namespace, pod.name, why.reason),
    });
    choosing.stay(one.candidate, Stay::new(KeptCode::NoOtherPlace, words.unwrap_or_default()));
}

/// Where its pods go is settled with the command: what they come to is not taken away by another one to save money.
pub fn spare_destinations(choosing: &mut Choosing<'_>, of: &Candidate<'_>, moves: &[Move]) {
    let board = choosing.board;
    for to in moves {
        let To::Node(name) = &to.to else { continue };
        let at = board.candidates.iter().position(|other| other.there.name == *name);
        if let Some(at) = at.filter(|at| choosing.stays[*at].is_none()) {
            let words = format!("pods of node {} come to it", of.name());
            choosing.stay(at, Stay::new(KeptCode::Destination, words));
        }
    }
}

/// Whether what stands in the way is the node itself: what it takes of limits, quotas and reservations.
fn fits_when_gone(choosing: &mut Choosing<'_>, of: &Candidate<'_>, still_time: &mut dyn FnMut() -> bool) -> bool {
    let trial = choosing.moving.without(&[(of.node, of.kind())], GivesBack::Everything, still_time);
    let fits = trial.homeless.is_empty();
    choosing.moving.undo(trial);
    fits || (of.pool_here.rack.is_some() && its_machine_holds(choosing, of, still_time))
}

/// Whether a machine of a rack that goes and comes again would hold the same pods: as long as it is there, nobody offers it.
fn its_machine_holds(choosing: &Choosing<'_>, of: &Candidate<'_>, still_time: &mut dyn FnMut() -> bool) -> bool {
    let board = choosing.board;
    let mut scene = board.scene.clone();
    let (Some((pool, of_type)), Some(of_pool)) = (of.kind(), scene.pools.get_mut(of.pool)) else { return false };
    // It takes no more of its pool's limits than it does now.
    of_pool.limits.clear();
    let types = scene.catalogues.get_mut(of_pool.catalogue).map(|all| &mut all.types);
    let Some(machine) = types.and_then(|types| types.get_mut(of_type)).filter(|_| pool == of.pool) else {
        return false;
    };
    machine.offerings.iter_mut().for_each(|one| one.available = true);
    let homes = scene.pods.iter().zip(&board.homes).filter(|(_, home)| **home != of.node);
    let others: Vec<PodThere> = homes.map(|(pod, home)| as_bound(pod, *home)).collect();
    scene.bound.extend(others);
    let mut homes = board.homes.iter();
    scene.pods.retain(|_| homes.next() == Some(&of.node));
    let gone = board.candidates.iter().zip(&choosing.gone).filter(|(other, gone)| **gone || other.node == of.node);
    for node in gone.map(|(other, _)| other.node).chain(choosing.board.closed()) {
        scene.nodes.get_mut(node).into_iter().for_each(|node| node.allocatable.clear());
    }
    let placing = place::place(&scene, still_time);
    placing.pods.iter().all(|at| !matches!(at, Where::Nowhere(_)))
}

/// A pool of which more has failed than chance explains. One node alone never has.
fn correlated(choosing: &Choosing<'_>, of: &Candidate<'_>) -> Option<Stay> {
    let situation = choosing.board.situation;
    let nodes = &situation.provision.scene.nodes;
    // What is being repaired has failed as well.
    let is_up = |other: &NodeHere, there: &NodeThere| other.disrupted || there.stage == NodeStage::Initialized;
    let same =
        situation.inventory.nodes.iter().filter(|other| {
            nodes.get(other.node).is_some_and(|there| there.pool == of.there.pool && is_up(other, there))
        });
    let (mut all, mut sick) = (0, 0);
    for other in same {
        all += 1;
        sick += usize::from(other.unhealthy.as_ref().is_some_and(|one| !one.urgent));
    }
    let most = (all * TOO_MANY).div_ceil(100).max(1);
    let words = || {
        format!(
            "{sick} of {all} nodes of its pool are unhealthy, which is more than {TOO_MANY} %: that is no single fault, and a person has to look"
        )
    };
    (sick > most).then(|| Stay::new(KeptCode::CorrelatedFailure, words()))
}
