//! Nodes whose pods are as well off for less money: taken away, or replaced by fewer or cheaper ones.
//!
//! One node after the other is taken away, the dearest for the least disturbance first, and its pods go where there is room or onto
//! new claims. What was chosen stays open: a later node's pods may join an earlier claim, and a node that pods were sent to may go
//! itself, so that three become one and every pod moves once.

use model::disruption::{KeptCode, Reason};
use std::collections::{BTreeMap, BTreeSet};

use super::{
    Stay,
    board::{Board, Choosing},
    bounds::Bounds,
    candidate::{self, Candidate},
    replacing::money,
    sets,
};
use crate::place::moving::{GivesBack, Left, Trial};

/// Rounds over all candidates: what one round frees, the next may use.
const ROUNDS: usize = 3;
/// How often it is begun anew, without nodes that could not go in the end: others were to share what came for them.
const SEARCHES: usize = 3;
/// How many times the bounds go stale before they are made anew.
const STALE: usize = 16;
/// With no more candidates than this, a set that does not pay is tried once more beside the claims that are there.
const MOST_AGAIN: usize = 200;
/// A command of so many nodes is large enough: all of it waits for the last of its replacements.
const MOST_TOGETHER: usize = 20;
/// With more claims than this they are not packed anew for each set: that would take longer than it is worth.
const MOST_REPACKED: usize = 40;
/// How many nodes are told in detail why their pods find no other place.
const EXPLAINED: usize = 50;

pub struct Search<'c, 'b> {
    pub choosing: &'c mut Choosing<'b>,
    bounds: Bounds,
    stale: usize,
    /// Candidates that may be taken away, the best first.
    pub order: Vec<usize>,
    /// Those that were, and what it takes to undo it, set by set.
    pub taken: Vec<usize>,
    steps: Vec<Trial<'b>>,
    /// What each claim costs as it may be bought.
    pub costs: BTreeMap<usize, u64>,
    /// Of each pool: what its nodes cost, and what disturbing all of them would.
    pub pools: BTreeMap<usize, (u64, f64)>,
    explained: usize,
    /// Candidates that had a reason to stay before.
    told: BTreeSet<usize>,
    /// What limits had left before anything was taken away.
    pub limits: Left,
}

pub fn run(choosing: &mut Choosing<'_>, still_time: &mut dyn FnMut() -> bool) {
    let mut order = vec![];
    for at in choosing.staying() {
        let of = &choosing.board.candidates[at];
        let held_by_budget = choosing.stays[at].as_ref().is_some_and(|stay| stay.code == KeptCode::Budget);
        // What moved or was switched a short while ago is left alone, as a place to move to as well; and an empty one that only a
        // budget holds goes as soon as it may.
        if of.is_unsettled() || (of.is_idle() && held_by_budget) {
            choosing.moving.close(of.node);
        }
        match candidate::may_be_consolidated(of) {
            // An empty one that stays has its reason, and so has one that should leave and cannot; but a budget for the one reason
            // says nothing about the other.
            Ok(()) if !of.is_idle() && (held_by_budget || choosing.stays[at].is_none()) => {
                order.push(at);
            }
            Ok(()) => {}
            Err(stay) if choosing.stays[at].is_none() => choosing.stay(at, stay),
            Err(_) => {}
        }
    }
    let board = choosing.board;
    let worth = |at: &usize| board.candidates[*at].price() as f64 / board.candidates[*at].cost;
    order.sort_by(|a, b| {
        worth(b).total_cmp(&worth(a)).then_with(|| board.candidates[*a].name().cmp(board.candidates[*b].name()))
    });
    for last in (0..SEARCHES).map(|number| number + 1 == SEARCHES) {
        if order.is_empty() {
            return;
        }
        let before = choosing.save();
        let mut search = Search::new(choosing, order.clone());
        search.run(still_time);
        let Err(fallen) = search.finish(last) else { return };
        choosing.restore(before);
        order.retain(|at| fallen.iter().all(|(other, _)| other != at));
        for (at, stay) in fallen {
            choosing.stay(at, stay);
        }
    }
}

impl<'c, 'b> Search<'c, 'b> {
    fn new(choosing: &'c mut Choosing<'b>, order: Vec<usize>) -> Self {
        let mut pools: BTreeMap<usize, (u64, f64)> = BTreeMap::new();
        // What goes anyway is no part of what a pool weighs: it would be decided otherwise the next time.
        for of in choosing.staying().into_iter().map(|at| &choosing.board.candidates[at]) {
            let sum = pools.entry(of.pool).or_insert((0, 0.0));
            sum.0 += of.price();
            sum.1 += of.cost;
        }
        let bounds = Bounds::new(choosing);
        choosing.moving.look_who_is_full();
        let (taken, steps, costs) = (vec![], vec![], BTreeMap::new());
        let told = order.iter().copied().filter(|at| choosing.stays[*at].is_some()).collect();
        let limits = choosing.moving.limits_left();
        Search { choosing, bounds, stale: 0, order, taken, steps, costs, pools, explained: 0, told, limits }
    }

    fn run(&mut self, still_time: &mut dyn FnMut() -> bool) {
        for round in 0..ROUNDS {
            let before = self.taken.len();
            self.one_by_one(still_time);
            if self.choosing.out_of_time || (round > 0 && self.taken.len() == before) {
                break;
            }
            sets::several(self, still_time);
        }
        sets::anew(self, still_time);
    }

    fn one_by_one(&mut self, still_time: &mut dyn FnMut() -> bool) {
        for at in self.order.clone() {
            if self.choosing.gone[at] {
                continue;
            }
            if !still_time() {
                return self.run_out();
            }
            if let Err(stay) = self.attempt(&[at], still_time)
                && !self.told.contains(&at)
            {
                self.choosing.stay(at, stay);
            }
        }
    }

    /// What was not come to says so.
    pub fn run_out(&mut self) {
        self.choosing.out_of_time = true;
        for at in self.choosing.staying() {
            if self.choosing.stays[at].is_none() {
                self.choosing.stay(at, Stay::new(KeptCode::OutOfTime, "time ran out before it was come to"));
            }
        }
    }

    pub fn price(&self, set: &[usize]) -> u64 {
        set.iter().map(|at| self.choosing.board.candidates[*at].price()).sum()
    }

    /// What new nodes for the pods of a set cost at the least.
    pub fn least(&mut self, set: &[usize]) -> u64 {
        let nodes: Vec<usize> = set.iter().map(|at| self.choosing.board.candidates[*at].node).collect();
        self.bounds.least(self.choosing, &nodes)
    }

    /// Whether taking a set away could pay at all, as far as that can be told without trying.
    pub fn may_pay(&mut self, set: &[usize]) -> Result<(), Stay> {
        let (price, least) = (self.price(set), self.least(set));
        if least < price {
            return Ok(());
        }
        if price == 0 {
            return Err(Stay::new(KeptCode::NotCheaper, "it costs nothing, so moving its pods would save nothing"));
        }
        if least == u64::MAX {
            return Err(Stay::new(
                KeptCode::NoOtherPlace,
                "its pods find no room on the other nodes, and no new node that can be had would hold them",
            ));
        }
        let words = format!(
            "its pods find no room on the other nodes, and no new node that holds them costs less than its {} an hour",
            money(price)
        );
        Err(Stay::new(KeptCode::NotCheaper, words))
    }

    pub fn budgets_allow(&self, set: &[usize]) -> Result<(), Stay> {
        let mut by_pool: BTreeMap<usize, usize> = BTreeMap::new();
        for of in set.iter().map(|at| &self.choosing.board.candidates[*at]) {
            *by_pool.entry(of.pool).or_insert(0) += of.counted().adds(Reason::Underutilized);
        }
        for (pool, count) in by_pool {
            let allowed = self.choosing.budgets.allow(pool, Reason::Underutilized, count);
            allowed.map_err(|words| Stay::new(KeptCode::Budget, words))?;
        }
        Ok(())
    }

    /// Takes a set away if that pays.
    pub fn attempt(&mut self, set: &[usize], still_time: &mut dyn FnMut() -> bool) -> Result<(), Stay> {
        self.budgets_allow(set)?;
        self.may_pay(set)?;
        let first = self.attempt_by(set, false, still_time);
        // A claim that grows may cost more than another one beside it.
        let again = self.order.len() <= MOST_AGAIN && !self.costs.is_empty();
        match first {
            Err(stay) if again && stay.code == KeptCode::NotCheaper => {
                self.attempt_by(set, true, still_time).map_err(|_| stay)
            }
            first => first,
        }
    }

    fn attempt_by(
        &mut self,
        set: &[usize],
        without_growth: bool,
        still_time: &mut dyn FnMut() -> bool,
    ) -> Result<(), Stay> {
        let before = self.choosing.moving.cost();
        let mut trial = self.take_away(set, without_growth, still_time);
        let verdict = match trial.homeless.first().copied() {
            Some(pod) => Err(self.homeless(pod)),
            None => {
                let few = set.len() > 1 && self.choosing.moving.claims_in_use() <= MOST_REPACKED;
                let repacked = few && self.choosing.moving.improve(&mut trial, still_time);
                self.judge(set, &trial.moved, before, repacked)
                    .and_then(|()| self.choosing.nobody_left_alone(&trial.moved))
            }
        };
        if let Err(stay) = verdict {
            self.choosing.moving.undo(trial);
            return Err(stay);
        }
        for at in set {
            self.choosing.go(*at);
            self.taken.push(*at);
        }
        let group = self.group_of(&trial.moved);
        self.keep(without_growth, trial);
        if group.nodes.len() >= MOST_TOGETHER {
            group.claims.iter().for_each(|claim| self.choosing.moving.close_claim(*claim));
        }
        self.stale += 1;
        if self.stale >= STALE {
            self.stale = 0;
            self.bounds.refresh(self.choosing);
            self.choosing.moving.look_who_is_full();
        }
        Ok(())
    }

    fn keep(&mut self, without_growth: bool, trial: Trial<'b>) {
        if without_growth {
            self.choosing.moving.let_grow(&trial);
        }
        self.steps.push(trial);
    }

    /// Takes everything that was taken, and more, away anew, if that is better than it was: in these steps, each of some nodes.
    pub fn attempt_anew(&mut self, more: &[usize], steps: &[Vec<usize>], still_time: &mut dyn FnMut() -> bool) -> bool {
        if self.budgets_allow(more).is_err() {
            return false;
        }
        let before = self.choosing.moving.cost();
        let (saved, earlier) = (self.choosing.moving.save(), self.steps.clone());
        while let Some(trial) = self.steps.pop() {
            self.choosing.moving.undo(trial);
        }
        let mut moved = vec![];
        let mut housed = true;
        for step in steps {
            let trial = self.take_away(step, false, still_time);
            housed &= trial.homeless.is_empty();
            moved.extend(&trial.moved);
            self.steps.push(trial);
            if !housed {
                break;
            }
        }
        let better = housed && {
            if let Some(last) = self.steps.last_mut() {
                self.choosing.moving.improve(last, still_time);
            }
            self.judge(more, &moved, before, true).is_ok() && self.choosing.nobody_left_alone(&moved).is_ok()
        };
        if better {
            more.iter().for_each(|at| self.choosing.go(*at));
            self.taken.extend(more);
        } else {
            self.choosing.moving.restore(saved);
            self.steps = earlier;
        }
        better
    }

    fn take_away(&mut self, set: &[usize], without_growth: bool, still_time: &mut dyn FnMut() -> bool) -> Trial<'b> {
        let board = self.choosing.board;
        let nodes: Vec<_> =
            set.iter().map(|at| &board.candidates[*at]).map(|of| (of.node, gives_back(board, of))).collect();
        let moving = &mut self.choosing.moving;
        match without_growth {
            true => moving.without_growth(&nodes, GivesBack::PoolLimits, still_time),
            false => moving.without(&nodes, GivesBack::PoolLimits, still_time),
        }
    }

    /// Whether a command keeps to the limits whatever becomes of the others.
    pub fn keeps_limits(&mut self, nodes: &[usize], claims: &[usize]) -> bool {
        let board = self.choosing.board;
        let back: Vec<_> = nodes.iter().filter_map(|at| gives_back(board, &board.candidates[*at])).collect();
        self.choosing.moving.keep_limits(&back, claims, &self.limits)
    }

    fn homeless(&mut self, pod: usize) -> Stay {
        let of = &self.choosing.board.scene.pods[pod];
        let name = format!("{}/{}", of.namespace, of.name);
        self.explained += 1;
        let why = if self.explained <= EXPLAINED {
            format!(": {}", self.choosing.moving.why(pod).reason)
        } else {
            String::new()
        };
        Stay::new(KeptCode::NoOtherPlace, format!("pod {name} finds no other place{why}"))
    }
}

/// What of its pool's limits a node that goes leaves to what comes. Where they count nodes, what comes is there beside what goes.
fn gives_back(board: &Board<'_>, of: &Candidate<'_>) -> Option<(usize, usize)> {
    let counts_nodes = |pool: usize| board.scene.pools.get(pool).is_some_and(|of| of.limits.contains_key("nodes"));
    of.kind().filter(|(pool, _)| !counts_nodes(*pool))
}
