//! Whether taking nodes away pays: what their pods cost elsewhere, what moving them is worth, and what a pool that weighs says.

use model::disruption::{KeptCode, Policy};
use std::collections::BTreeMap;

use super::{
    Stay,
    consolidate::Search,
    replacing::{self, money},
};
use crate::place::moving::Spotted;

/// What Balanced asks for: a saving is worth a disturbance of at most twice its share.
const BALANCED: f64 = 0.5;

impl Search<'_, '_> {
    /// Whether it pays. The pods stand where they would go.
    pub fn judge(&mut self, set: &[usize], moved: &[usize], before: u64, repacked: bool) -> Result<(), Stay> {
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
        let older = |search: &Self, costs: &BTreeMap<usize, u64>| match repacked {
            true => search.costs.values().sum(),
            false => search.cost_of(costs),
        };
        let saving_with = |search: &Self, costs: &BTreeMap<usize, u64>| {
            signed(price) + signed(older(search, costs)) - signed(costs.values().sum())
        };
        // What a claim may list depends on the nodes that it stands for.
        let groups = if repacked { self.groups(&[&self.taken[..], set].concat()) } else { vec![self.group_of(moved)] };
        let all = groups.iter().flat_map(|group| &group.claims);
        let at_best = all.map(|claim| (*claim, self.choosing.moving.cost_of(*claim))).collect();
        self.large_enough(set, saving_with(self, &at_best))?;
        let mut costs: BTreeMap<usize, u64> = BTreeMap::new();
        for group in groups.into_iter().filter(|group| !group.claims.is_empty()) {
            let planned = group.claims.iter().filter_map(|claim| self.choosing.moving.planned(*claim)).collect();
            let narrowed = replacing::narrow(self.choosing.board, &group.nodes, planned)?;
            if let Some(stay) = narrowed.iter().find_map(|(claim, _)| self.choosing.board.paused(claim.pool)) {
                return Err(stay);
            }
            // A command is weighed as a whole, whatever its nodes were alone.
            let spent: u64 = narrowed.iter().map(|(_, cost)| *cost).sum();
            self.worth_it(&group.nodes, signed(self.price(&group.nodes)) - signed(spent))?;
            costs.extend(group.claims.iter().copied().zip(narrowed.into_iter().map(|(_, cost)| cost)));
        }
        let saving = saving_with(self, &costs);
        self.large_enough(set, saving)?;
        self.worth_it(set, saving)?;
        if repacked {
            self.costs = costs;
        } else {
            self.costs.extend(costs);
        }
        Ok(())
    }

    /// Whether a saving is worth moving for, as the pools of these nodes see it.
    fn large_enough(&self, set: &[usize], saving: i64) -> Result<(), Stay> {
        let least = set.iter().map(|at| {
            let of = &self.choosing.board.candidates[*at];
            of.price().saturating_mul(u64::from(of.pool_here.minimum_saving)) / 1000
        });
        let least = signed(least.sum::<u64>());
        if saving > 0 && saving >= least {
            return Ok(());
        }
        let words = format!(
            "a replacement would save {} of its {} an hour, which is less than moving is worth ({} at the least)",
            money(u64::try_from(saving).unwrap_or(0)),
            money(self.price(set)),
            money(u64::try_from(least).unwrap_or(0)),
        );
        let code = if saving <= 0 { KeptCode::NotCheaper } else { KeptCode::SavingTooSmall };
        Err(Stay::new(code, words))
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
}

fn signed(price: u64) -> i64 {
    i64::try_from(price).unwrap_or(i64::MAX)
}
