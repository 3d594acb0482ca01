//! Chance, from a seed.

use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore as _, SeedableRng as _};

pub struct Draw(ChaCha8Rng);

impl Draw {
    pub fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    /// A number below a bound. (The little that the remainder prefers small numbers does not matter here.)
    pub fn below(&mut self, bound: usize) -> usize {
        let bound = u64::try_from(bound.max(1)).unwrap_or(1);
        usize::try_from(self.0.next_u64() % bound).unwrap_or(0)
    }

    pub fn between(&mut self, least: usize, most: usize) -> usize {
        least + self.below(most - least + 1)
    }

    /// True in so many of a hundred cases.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    /// Some of a list, in its order, at least one.
    pub fn some<'a, T>(&mut self, of: &'a [T]) -> Vec<&'a T> {
        let sure = self.below(of.len());
        let mut chosen = Vec::new();
        for (index, one) in of.iter().enumerate() {
            if index == sure || self.chance(50) {
                chosen.push(one);
            }
        }
        chosen
    }
}
