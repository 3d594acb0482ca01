//! Randomness from outside, so that a test can choose it.

use core::{hash::BuildHasher as _, time::Duration};
use std::hash::{Hasher as _, RandomState};

/// A source of chance. Jitter needs it spread, not secret.
pub trait Chance: Send + Sync {
    fn number(&self) -> u64;
}

/// Anything from nothing up to `most`: full jitter, which spreads callers that were turned away together.
pub fn up_to(chance: &dyn Chance, most: Duration) -> Duration {
    let most = u64::try_from(most.as_nanos()).unwrap_or(u64::MAX);
    Duration::from_nanos(chance.number() % most.saturating_add(1).max(1))
}

/// The operating system's, by way of the keys std draws for its hash maps.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemChance;

impl Chance for SystemChance {
    fn number(&self) -> u64 {
        RandomState::new().build_hasher().finish()
    }
}

/// For tests: any function is a source.
impl<F: Fn() -> u64 + Send + Sync> Chance for F {
    fn number(&self) -> u64 {
        self()
    }
}
