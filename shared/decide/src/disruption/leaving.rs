//! Nodes that have to leave whatever it costs: unhealthy ones, those that are too old, those that are not what they should be.
//! Their pods find other places first; where there is no room for a replacement as long as the node is there, it goes first.

use core::cmp::Reverse;
use jiff::Timestamp;
use model::disruption::{KeptCode, Move, Reason, Remedy, To};

use super::{
    Stay,
    board::Choosing,
    candidate::{self, Candidate},
    commands,
};
use crate::place::moving::GivesBack;

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

/// Nodes that are too old, then those that have drifted; of each the empty ones first, then the earliest.
pub fn replace(choosing: &mut Choosing<'_>, still_time: &mut dyn FnMut() -> bool) {
    let mut leavers = vec![];
    for at in choosing.staying() {
        let of = &choosing.board.candidates[at];
        if let Some(expired) = of.expires_at().filter(|expires| *expires <= choosing.board.now()) {
            let why = format!("it is older than its pool lets nodes be, since {expired} (expireAfter)");
            leavers.push(Leaver { candidate: at, reason: Reason::Expired, why, since: expired });
        } else if let Some(drift) = candidate::drift_of(of, choosing.board.situation) {
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
    // Nothing moves to a node that has to leave itself.
    for one in &leavers {
        choosing.moving.close(board.candidates[one.candidate].node);
    }
    for one in &leavers {
        match candidate::may_leave(&board.candidates[one.candidate], one.reason) {
            Err(stay) => choosing.stay(one.candidate, stay),
            Ok(()) if choosing.budget_allows(one.candidate, one.reason) => leave(choosing, one, still_time),
            Ok(()) => {}
        }
    }
}

/// Finds places for its pods, and takes it away; or says why not.
fn leave(choosing: &mut Choosing<'_>, one: &Leaver, still_time: &mut dyn FnMut() -> bool) {
    let board = choosing.board;
    let of = &board.candidates[one.candidate];
    if !still_time() {
        choosing.out_of_time = true;
        return choosing.stay(one.candidate, Stay::new(KeptCode::OutOfTime, "time ran out before it was come to"));
    }
    let first = choosing.moving.claims();
    let trial = choosing.moving.without(&[(of.node, of.kind())], GivesBack::Nothing, still_time);
    let opened: Vec<usize> = (first..choosing.moving.claims()).collect();
    if trial.homeless.is_empty() {
        let pools = opened.iter().filter_map(|claim| Some(choosing.moving.planned(*claim)?.pool));
        let command = match pools.into_iter().find_map(|pool| board.paused(pool)) {
            Some(paused) => Err(paused),
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
    if of.pool_here.rack.is_some() || fits_when_gone(choosing, of, still_time) {
        choosing.go(one.candidate);
        choosing.chosen.push(commands::first_terminated(board, one.candidate, one.reason, &one.why));
        return;
    }
    let words = why.map(|(pod, why)| {
        format!("{}, but pod {}/{} finds no other place: {}", one.why, pod.namespace, pod.name, why.reason)
    });
    choosing.stay(one.candidate, Stay::new(KeptCode::NoOtherPlace, words.unwrap_or_default()));
}

/// Where its pods go is settled with the command: what they come to is not taken away by another one to save money.
fn spare_destinations(choosing: &mut Choosing<'_>, of: &Candidate<'_>, moves: &[Move]) {
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
    fits
}

/// A pool of which more has failed than chance explains. One node alone never has.
fn correlated(choosing: &Choosing<'_>, of: &Candidate<'_>) -> Option<Stay> {
    let same = choosing.board.candidates.iter().filter(|other| other.pool == of.pool);
    let (mut all, mut sick) = (0, 0);
    for other in same {
        all += 1;
        sick += usize::from(other.here.unhealthy.as_ref().is_some_and(|one| !one.urgent));
    }
    let most = (all * TOO_MANY).div_ceil(100).max(1);
    let words = || {
        format!(
            "{sick} of {all} nodes of its pool are unhealthy, which is more than {TOO_MANY} %: that is no single fault, and a person has to look"
        )
    };
    (sick > most).then(|| Stay::new(KeptCode::CorrelatedFailure, words()))
}
