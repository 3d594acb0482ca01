//! Nodes that nobody uses. They go together, as far as budgets let them: nothing has to come in their place.

use core::cmp::Reverse;
use model::{
    Resources,
    disruption::{KeptCode, Policy, Reason},
};

use super::{
    Stay,
    board::Choosing,
    candidate::{self, Candidate},
    commands, leaving,
};
use crate::place::{
    is_accelerator,
    moving::{GivesBack, Trial},
};

pub fn take(choosing: &mut Choosing<'_>, still_time: &mut dyn FnMut() -> bool) {
    let mut idle = vec![];
    for at in choosing.staying() {
        let of = &choosing.board.candidates[at];
        match candidate::may_be_empty(of) {
            Ok(()) => idle.push(at),
            // Others may be taken away for another reason, and then have another reason to stay.
            Err(stay) if of.busy.is_none() || of.pool_here.policy == Policy::WhenEmpty => {
                // What could not be repaired has said why.
                choosing.stays[at].get_or_insert(stay);
            }
            Err(_) => {}
        }
    }
    idle.sort_by_key(|at| order(&choosing.board.candidates[*at]));
    leaving::replace_onto(choosing, &idle, still_time);
    idle.retain(|at| !is_destination(choosing, *at));
    let (of_nobody, of_no_cost): (Vec<usize>, Vec<usize>) =
        idle.into_iter().partition(|at| choosing.board.candidates[*at].comes_back.is_none());
    for at in of_nobody {
        if choosing.budget_allows(at, Reason::Empty) {
            choosing.go(at);
            choosing.chosen.push(commands::deletion(choosing.board, at, Reason::Empty, WHY));
        }
    }
    rehouse(choosing, &of_no_cost, still_time);
}

const WHY: &str = "nothing runs on it that needs it";

/// Pods that cost nothing to disturb keep no node, but a node that is made for them anew would be empty again, and so for ever:
/// they need room on nodes that stay. Where there is none, theirs is a node like others, as far as its pool takes those away.
fn rehouse(choosing: &mut Choosing<'_>, nodes: &[usize], still_time: &mut dyn FnMut() -> bool) {
    if nodes.is_empty() {
        return;
    }
    leaving::close_all(choosing);
    let before = choosing.save();
    // None of them is room for the others, until it is known which of them stay.
    close(choosing, nodes);
    let fits = |at: &usize| has_room(choosing, *at, still_time).is_some();
    let (leaving, staying): (Vec<usize>, Vec<usize>) = nodes.iter().copied().partition(fits);
    choosing.restore(before);
    close(choosing, &leaving);
    for at in leaving {
        go(choosing, at, still_time);
    }
    for at in staying {
        let of = &choosing.board.candidates[at];
        let (Some(pod), Policy::WhenEmpty) = (&of.comes_back, of.pool_here.policy) else { continue };
        // Of those that have room only on each other, one after the other goes, and what its pods come to stays.
        if is_destination(choosing, at) || go(choosing, at, still_time) {
            continue;
        }
        if choosing.stays[at].is_none() {
            let words = format!("pod {pod} runs on it, and finds no room on other nodes");
            choosing.stay(at, Stay::new(KeptCode::NotEmpty, words));
        }
    }
}

/// It goes if a budget lets it, and its pods have room.
fn go(choosing: &mut Choosing<'_>, at: usize, still_time: &mut dyn FnMut() -> bool) -> bool {
    let Some(trial) = has_room(choosing, at, still_time) else { return false };
    if !choosing.budget_allows(at, Reason::Empty) {
        choosing.moving.undo(trial);
        return false;
    }
    match commands::replacement(choosing, &[at], &[], Reason::Empty, WHY) {
        Ok(command) => {
            choosing.go(at);
            leaving::spare_destinations(choosing, &choosing.board.candidates[at], &command.moves);
            choosing.chosen.push(command);
            true
        }
        Err(_) => {
            choosing.moving.undo(trial);
            false
        }
    }
}

/// Pods of a node that goes come to it.
fn is_destination(choosing: &Choosing<'_>, at: usize) -> bool {
    choosing.stays[at].as_ref().is_some_and(|stay| stay.code == KeptCode::Destination)
}

fn close(choosing: &mut Choosing<'_>, nodes: &[usize]) {
    for at in nodes {
        choosing.moving.close(choosing.board.candidates[*at].node);
    }
}

/// Moves its pods to nodes that are there, if all of them have room.
fn has_room<'b>(choosing: &mut Choosing<'b>, at: usize, still_time: &mut dyn FnMut() -> bool) -> Option<Trial<'b>> {
    let of = &choosing.board.candidates[at];
    let claims = choosing.moving.claims();
    let trial = choosing.moving.without(&[(of.node, of.kind())], GivesBack::Nothing, still_time);
    if trial.homeless.is_empty() && choosing.moving.claims() == claims && choosing.stands_alone(&trial.moved).is_ok() {
        return Some(trial);
    }
    choosing.moving.undo(trial);
    None
}

/// Machines of a rack by size, the largest first, and of equal ones the one that ran longest; others by what they cost.
fn order(of: &Candidate<'_>) -> impl Ord {
    let rack = of.pool_here.rack.is_some();
    let size = if rack { (gpus(&of.there.allocatable), amount(&of.there.allocatable, "cpu")) } else { (0, 0) };
    let changed = of.here.changed_at.filter(|_| rack);
    (Reverse(size), changed, Reverse(of.price()), of.name().to_owned())
}

fn gpus(resources: &Resources) -> i128 {
    resources.iter().filter(|(name, _)| is_accelerator(name)).map(|(_, amount)| amount.thousandths()).sum()
}

fn amount(resources: &Resources, name: &str) -> i128 {
    resources.get(name).map_or(0, |amount| amount.thousandths())
}
