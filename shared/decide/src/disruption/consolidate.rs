//! Nodes whose pods are as well off for less money: taken away, or replaced by fewer or cheaper ones.
//!
//! One node after the other is taken away, the dearest for the least disturbance first, and its pods go where there is room or onto
//! new claims. What was chosen stays open: a later node's pods may join an earlier claim, and a node that pods were sent to may go
//! itself, so that three become one and every pod moves once.

use model::disruption::{KeptCode, Policy, Reason};
use std::collections::{BTreeMap, BTreeSet};

use super::{
    Stay,
    board::Choosing,
    bounds::Bounds,
    candidate, commands,
    replacing::{self, money},
    sets,
};
use crate::place::moving::{GivesBack, Spotted, Trial};

/// What Balanced asks for: a saving is worth a disturbance of at most twice its share.
const BALANCED: f64 = 0.5;
/// Rounds over all candidates: what one round frees, the next may use.
const ROUNDS: usize = 3;
/// How many times the bounds go stale before they are made anew.
const STALE: usize = 16;
/// With no more candidates than this, a set that does not pay is tried once more beside the claims that are there.
const MOST_AGAIN: usize = 200;
/// How many nodes are told in detail why their pods find no other place.
const EXPLAINED: usize = 50;

pub struct Search<'c, 'b> {
    pub choosing: &'c mut Choosing<'b>,
    bounds: Bounds,
    stale: usize,
    /// Candidates that may be taken away, the best first.
    pub order: Vec<usize>,
    /// Those that were, in the sets that they were taken in, with what it takes to undo it.
    pub taken: Vec<usize>,
    steps: Vec<Step<'b>>,
    /// What each claim costs as it may be bought.
    costs: BTreeMap<usize, u64>,
    /// Of each pool: what its nodes cost, and what disturbing all of them would.
    pools: BTreeMap<usize, (u64, f64)>,
    explained: usize,
    /// Candidates that had a reason to stay before.
    told: BTreeSet<usize>,
}

/// A set that was taken away.
struct Step<'b> {
    set: Vec<usize>,
    /// Claims that were there did not grow by it.
    without_growth: bool,
    trial: Trial<'b>,
}

/// Nodes and claims that hang together.
struct Group {
    nodes: Vec<usize>,
    claims: Vec<usize>,
}

pub fn run(choosing: &mut Choosing<'_>, still_time: &mut dyn FnMut() -> bool) {
    let mut order = vec![];
    for at in choosing.staying() {
        let of = &choosing.board.candidates[at];
        match candidate::may_be_consolidated(of) {
            // An empty one that stays has its reason, and so has one that should leave and cannot; but a budget for the one reason
            // says nothing about the other.
            Ok(())
                if of.busy.is_some()
                    && choosing.stays[at].as_ref().is_none_or(|stay| stay.code == KeptCode::Budget) =>
            {
                order.push(at);
            }
            Ok(()) => {}
            Err(stay) => {
                // What moved a short while ago is left alone, as a place to move to as well.
                if stay.code == KeptCode::WithinConsolidateAfter {
                    choosing.moving.close(of.node);
                }
                if choosing.stays[at].is_none() {
                    choosing.stay(at, stay);
                }
            }
        }
    }
    let board = choosing.board;
    let worth = |at: &usize| board.candidates[*at].price() as f64 / board.candidates[*at].cost;
    order.sort_by(|a, b| {
        worth(b).total_cmp(&worth(a)).then_with(|| board.candidates[*a].name().cmp(board.candidates[*b].name()))
    });
    if order.is_empty() {
        return;
    }
    let mut search = Search::new(choosing, order);
    for _ in 0..ROUNDS {
        let before = search.taken.len();
        search.one_by_one(still_time);
        sets::several(&mut search, still_time);
        if search.taken.len() == before || search.choosing.out_of_time {
            break;
        }
    }
    sets::anew(&mut search, still_time);
    search.finish();
}

impl<'c, 'b> Search<'c, 'b> {
    fn new(choosing: &'c mut Choosing<'b>, order: Vec<usize>) -> Self {
        let mut pools: BTreeMap<usize, (u64, f64)> = BTreeMap::new();
        for of in &choosing.board.candidates {
            let sum = pools.entry(of.pool).or_insert((0, 0.0));
            sum.0 += of.price();
            sum.1 += of.cost;
        }
        let bounds = Bounds::new(choosing);
        let (taken, steps, costs) = (vec![], vec![], BTreeMap::new());
        let told = order.iter().copied().filter(|at| choosing.stays[*at].is_some()).collect();
        Search { choosing, bounds, stale: 0, order, taken, steps, costs, pools, explained: 0, told }
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

    /// Whether taking a set away could pay at all, as far as that can be told without trying.
    pub fn may_pay(&mut self, set: &[usize]) -> Result<(), Stay> {
        let board = self.choosing.board;
        let nodes: Vec<usize> = set.iter().map(|at| board.candidates[*at].node).collect();
        let price = self.price(set);
        let least = self.bounds.least(self.choosing, &nodes);
        if least < price {
            return Ok(());
        }
        if least == u64::MAX || price == 0 {
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
        set.iter().for_each(|at| *by_pool.entry(self.choosing.board.candidates[*at].pool).or_insert(0) += 1);
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
                let repacked = set.len() > 1 && self.choosing.moving.improve(&mut trial, still_time);
                self.judge(set, &trial.moved, before, repacked)
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
        self.keep(set.to_vec(), without_growth, trial);
        self.stale += 1;
        if self.stale >= STALE {
            self.stale = 0;
            self.bounds.refresh(self.choosing);
        }
        Ok(())
    }

    fn keep(&mut self, set: Vec<usize>, without_growth: bool, trial: Trial<'b>) {
        if without_growth {
            self.choosing.moving.let_grow(&trial);
        }
        self.steps.push(Step { set, without_growth, trial });
    }

    /// Takes everything that was taken, and more, away at once, if that is better than step by step.
    pub fn attempt_anew(&mut self, more: &[usize], still_time: &mut dyn FnMut() -> bool) -> bool {
        if self.budgets_allow(more).is_err() {
            return false;
        }
        let before = self.choosing.moving.cost();
        let mut sets = vec![];
        while let Some(Step { set, without_growth, trial }) = self.steps.pop() {
            self.choosing.moving.undo(trial);
            sets.push((set, without_growth));
        }
        let all = [&self.taken[..], more].concat();
        let mut trial = self.take_away(&all, false, still_time);
        let better = trial.homeless.is_empty() && {
            self.choosing.moving.improve(&mut trial, still_time);
            self.judge(more, &trial.moved, before, true).is_ok()
        };
        if better {
            more.iter().for_each(|at| self.choosing.go(*at));
            self.taken.extend(more);
            self.keep(all, false, trial);
            return true;
        }
        self.choosing.moving.undo(trial);
        for (set, without_growth) in sets.into_iter().rev() {
            let mut trial = self.take_away(&set, without_growth, still_time);
            if set.len() > 1 {
                self.choosing.moving.improve(&mut trial, still_time);
            }
            self.keep(set, without_growth, trial);
        }
        false
    }

    fn take_away(&mut self, set: &[usize], without_growth: bool, still_time: &mut dyn FnMut() -> bool) -> Trial<'b> {
        let board = self.choosing.board;
        let nodes: Vec<_> = set.iter().map(|at| (board.candidates[*at].node, board.candidates[*at].kind())).collect();
        let moving = &mut self.choosing.moving;
        match without_growth {
            true => moving.without_growth(&nodes, GivesBack::PoolLimits, still_time),
            false => moving.without(&nodes, GivesBack::PoolLimits, still_time),
        }
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

    /// Whether it pays. The pods stand where they would go.
    fn judge(&mut self, set: &[usize], moved: &[usize], before: u64, repacked: bool) -> Result<(), Stay> {
        let price = self.price(set);
        let cost = self.choosing.moving.cost();
        let on_claims = moved.iter().any(|pod| matches!(self.choosing.moving.spotted(*pod), Spotted::Claim(_)));
        if cost >= before.saturating_add(price) {
            let bought = cost.saturating_sub(before);
            let words =
                format!("its pods would need new nodes for {} an hour, and it costs {}", money(bought), money(price));
            return Err(Stay::new(KeptCode::NotCheaper, words));
        }
        if !on_claims && cost == before {
            return self.worth_it(set, signed(price));
        }
        // What a claim may list depends on the nodes that it stands for.
        let groups = if repacked { self.groups(&[&self.taken[..], set].concat()) } else { vec![self.group_of(moved)] };
        let mut costs: BTreeMap<usize, u64> = BTreeMap::new();
        for group in groups.into_iter().filter(|group| !group.claims.is_empty()) {
            let planned = group.claims.iter().filter_map(|claim| self.choosing.moving.planned(*claim)).collect();
            let narrowed = replacing::narrow(self.choosing.board, &group.nodes, planned)?;
            if let Some(stay) = narrowed.iter().find_map(|(claim, _)| self.choosing.board.paused(claim.pool)) {
                return Err(stay);
            }
            costs.extend(group.claims.iter().copied().zip(narrowed.into_iter().map(|(_, cost)| cost)));
        }
        let older = if repacked { self.costs.values().sum() } else { self.cost_of(&costs) };
        let newer: u64 = costs.values().sum();
        let saving = signed(price) + signed(older) - signed(newer);
        let least = set.iter().map(|at| {
            let of = &self.choosing.board.candidates[*at];
            of.price().saturating_mul(u64::from(of.pool_here.minimum_saving)) / 1000
        });
        let least = signed(least.sum::<u64>());
        if saving <= 0 || saving < least {
            let words = format!(
                "a replacement would save {} of its {} an hour, which is less than moving is worth ({} at the least)",
                money(u64::try_from(saving).unwrap_or(0)),
                money(price),
                money(u64::try_from(least).unwrap_or(0)),
            );
            let code = if saving <= 0 { KeptCode::NotCheaper } else { KeptCode::SavingTooSmall };
            return Err(Stay::new(code, words));
        }
        self.worth_it(set, saving)?;
        if repacked {
            self.costs = costs;
        } else {
            self.costs.extend(costs);
        }
        Ok(())
    }

    /// Whether pools that weigh savings against disturbance agree, each for its own part.
    fn worth_it(&self, set: &[usize], saving: i64) -> Result<(), Stay> {
        let price = self.price(set) as f64;
        if saving <= 0 {
            return Err(Stay::new(KeptCode::NotCheaper, "nothing would be saved without it: it costs nothing"));
        }
        if set.is_empty() {
            return Ok(());
        }
        let mut shares: BTreeMap<usize, (f64, f64)> = BTreeMap::new();
        for of in set.iter().map(|at| &self.choosing.board.candidates[*at]) {
            if of.pool_here.policy == Policy::Balanced {
                let share = shares.entry(of.pool).or_insert((0.0, 0.0));
                share.0 += of.price() as f64 / price.max(1.0) * saving as f64;
                share.1 += of.cost;
            }
        }
        for (pool, (saved, disturbed)) in shares {
            let Some((cost, disruption)) = self.pools.get(&pool) else { continue };
            let gain = saved / (*cost as f64).max(1.0);
            let pain = disturbed / disruption.max(f64::MIN_POSITIVE);
            if gain < BALANCED * pain {
                let words = format!(
                    "it would save {:.1} % of its pool's cost and disturb {:.1} % of its pods' weight, and the pool asks for half as much at the least (Balanced)",
                    gain * 100.0,
                    pain * 100.0
                );
                return Err(Stay::new(KeptCode::NotWorthTheDisturbance, words));
            }
        }
        Ok(())
    }

    /// What these claims cost before.
    fn cost_of(&self, claims: &BTreeMap<usize, u64>) -> u64 {
        claims.keys().filter_map(|claim| self.costs.get(claim)).sum()
    }

    /// The claims that these pods are on, with all nodes whose pods are there, and their other claims.
    fn group_of(&self, pods: &[usize]) -> Group {
        let board = self.choosing.board;
        let claim_of = |pod: usize| match self.choosing.moving.spotted(pod) {
            Spotted::Claim(claim) => Some(claim),
            Spotted::Node(_) | Spotted::Nowhere => None,
        };
        let mut claims: BTreeSet<usize> = BTreeSet::new();
        let mut nodes: BTreeSet<usize> = BTreeSet::new();
        let mut open: Vec<usize> = pods.iter().filter_map(|pod| claim_of(*pod)).collect();
        while let Some(claim) = open.pop() {
            if !claims.insert(claim) {
                continue;
            }
            let homes = self.choosing.moving.of_claim(claim).iter().filter_map(|pod| board.homes.get(*pod));
            for at in homes.filter_map(|home| board.candidate_at(*home)) {
                if nodes.insert(at) {
                    open.extend(board.pods_of(at).filter_map(claim_of));
                }
            }
        }
        Group { nodes: nodes.into_iter().collect(), claims: claims.into_iter().collect() }
    }

    /// Nodes whose pods share claims belong together; one whose pods all went to nodes stands alone.
    fn groups(&self, nodes: &[usize]) -> Vec<Group> {
        let board = self.choosing.board;
        let mut groups: Vec<Group> = vec![];
        let mut seen: BTreeSet<usize> = BTreeSet::new();
        for at in nodes {
            if seen.contains(at) {
                continue;
            }
            let pods: Vec<usize> = board.pods_of(*at).collect();
            let mut group = self.group_of(&pods);
            if group.claims.is_empty() {
                group.nodes = vec![*at];
            }
            seen.extend(&group.nodes);
            groups.push(group);
        }
        groups
    }

    /// What was chosen becomes commands, and nodes that pods come to say so.
    fn finish(self) {
        let board = self.choosing.board;
        let mut groups = self.groups(&self.taken);
        groups.sort_by_key(|group| group.nodes.iter().map(|at| self.taken.iter().position(|one| one == at)).min());
        for group in groups {
            let planned: Vec<_> =
                group.claims.iter().filter_map(|claim| self.choosing.moving.planned(*claim)).collect();
            // They were narrowed when they were chosen, and nothing has changed since.
            let Ok(narrowed) =
                (if planned.is_empty() { Ok(vec![]) } else { replacing::narrow(board, &group.nodes, planned) })
            else {
                continue;
            };
            let claims = group.claims.iter().copied().zip(narrowed.into_iter().map(|(claim, _)| claim)).collect();
            let why = match (group.nodes.len(), group.claims.len()) {
                (_, 0) => "its pods have room on other nodes".to_owned(),
                (1, 1) => "a cheaper node holds its pods".to_owned(),
                (nodes, 1) => format!("one node holds the pods of these {nodes} for less"),
                (_, claims) => format!("{claims} nodes hold their pods for less"),
            };
            let command = commands::replaced(self.choosing, &group.nodes, claims, Reason::Underutilized, &why);
            self.choosing.chosen.push(command);
        }
        let taken: BTreeMap<usize, &str> =
            self.taken.iter().map(|at| (board.candidates[*at].node, board.candidates[*at].name())).collect();
        let mut comes_from: BTreeMap<usize, &str> = BTreeMap::new();
        for (pod, home) in board.homes.iter().enumerate() {
            if let (Some(from), Spotted::Node(node)) = (taken.get(home), self.choosing.moving.spotted(pod)) {
                comes_from.entry(node).or_insert(from);
            }
        }
        for at in self.choosing.staying() {
            let Some(from) = comes_from.get(&board.candidates[at].node) else { continue };
            let soft = [KeptCode::NotCheaper, KeptCode::NoOtherPlace, KeptCode::SavingTooSmall];
            if self.choosing.stays[at].as_ref().is_none_or(|stay| soft.contains(&stay.code)) {
                self.choosing.stay(at, Stay::new(KeptCode::Destination, format!("pods of node {from} come to it")));
            }
        }
    }
}

fn signed(price: u64) -> i64 {
    i64::try_from(price).unwrap_or(i64::MAX)
}
