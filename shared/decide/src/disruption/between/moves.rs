//! What some pods do to the rules between pods when they move, added up: enough to judge them beside others, without going
//! through all of them again.

use super::{Between, Counts, Domain, Known, What, Wrong};
use crate::place::{
    Map,
    moving::{Moving, Spotted},
};

/// The moves of some pods.
#[derive(Debug, Clone, Default)]
pub struct Moves<'b> {
    /// By rule that counts one of them: how many more or fewer it counts in each domain.
    changes: Map<usize, Counts>,
    /// Of pods that have to keep a rule and are alike in all that it looks at, the first.
    keepers: Vec<Keeper<'b>>,
}

/// A pod that has to keep a rule in the domain that it comes to.
#[derive(Debug, Clone)]
struct Keeper<'b> {
    pod: usize,
    rule: usize,
    at: Domain,
    counts_itself: bool,
    /// The one domain that a pod's selector lets it into.
    only: Option<&'b str>,
}

impl Keeper<'_> {
    fn is_like(&self, other: &Self) -> bool {
        let facts = |of: &Self| (of.rule, of.at, of.counts_itself);
        facts(self) == facts(other) && self.only == other.only
    }
}

impl Moves<'_> {
    /// Whether where these pods are matters to what is wrong.
    pub fn matter_to(&self, wrong: Wrong) -> bool {
        self.changes.contains_key(&wrong.rule)
    }

    /// These and others.
    pub fn add(&mut self, more: &Self) {
        for (rule, changes) in &more.changes {
            let own = self.changes.entry(*rule).or_default();
            changes.iter().for_each(|(at, change)| *own.entry(*at).or_insert(0) += change);
        }
        more.keepers.iter().for_each(|keeper| self.keep(keeper.clone()));
    }
}

impl<'b> Moves<'b> {
    fn keep(&mut self, keeper: Keeper<'b>) {
        if !self.keepers.iter().any(|known| known.is_like(&keeper)) {
            self.keepers.push(keeper);
        }
    }
}

impl<'b> Between<'b> {
    /// What these pods do to the rules, from their homes to where they are now.
    pub fn moves(&mut self, moving: &mut Moving<'b>, movers: &[usize], known: &mut Known) -> Moves<'b> {
        let mut moves = Moves::default();
        if self.rules.is_empty() {
            return moves;
        }
        for pod in movers {
            for at in 0..self.counted_by[self.kind_of[*pod]].len() {
                let rule = self.counted_by[self.kind_of[*pod]][at];
                let from = self.domain(rule, Spotted::Node(self.board.homes[*pod]), moving, known);
                let to = self.domain(rule, moving.spotted(*pod), moving, known);
                let counts = moves.changes.entry(rule).or_default();
                from.into_iter().for_each(|at| *counts.entry(at).or_insert(0) -= 1);
                to.into_iter().for_each(|at| *counts.entry(at).or_insert(0) += 1);
            }
            for at in 0..self.keeps[*pod].len() {
                let rule = self.keeps[*pod][at];
                let Some(at) = self.domain(rule, moving.spotted(*pod), moving, known) else { continue };
                let counts_itself = self.counts_itself(rule, *pod);
                let key = &self.keys[self.rules[rule].key].name;
                let only = self.board.scene.pods[*pod].node_selector.get(key).map(String::as_str);
                moves.keep(Keeper { pod: *pod, rule, at, counts_itself, only });
            }
        }
        moves
    }

    /// The first of these pods that is wrong where it comes to if these move and no others.
    pub fn wrong_alone(&mut self, moving: &mut Moving<'b>, moves: &Moves<'b>, known: &mut Known) -> Option<Wrong> {
        let mut alone: Map<usize, Counts> = Map::default();
        for Keeper { pod, rule, at, .. } in &moves.keepers {
            let (pod, rule, at) = (*pod, *rule, *at);
            let counts = alone.entry(rule).or_insert_with(|| {
                let mut counts = self.rules[rule].before.clone();
                for (at, change) in moves.changes.get(&rule).into_iter().flatten() {
                    *counts.entry(*at).or_insert(0) += change;
                }
                counts
            });
            let wrong = match self.rules[rule].what {
                What::Near(_) => self.is_alone(rule, pod, at, counts),
                // What is no better with all the others was found good enough by whoever placed it.
                What::Apart(_) => {
                    let others = self.others(rule, pod, at, counts);
                    others > 0 && {
                        let now = self.now(rule, moving, known);
                        others > self.others(rule, pod, at, now)
                    }
                }
                What::Spread(spread) => {
                    let skew = self.skew(rule, pod, at, counts);
                    skew > i64::from(spread.max_skew.max(1)) && {
                        let now = self.now(rule, moving, known);
                        skew > self.skew(rule, pod, at, now)
                    }
                }
            };
            if wrong {
                return Some(Wrong { pod, rule });
            }
        }
        None
    }
}
