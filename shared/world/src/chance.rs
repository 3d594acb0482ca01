//! The world's chance: everything random comes from one seed, in named streams that do not disturb each other.

use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore as _, SeedableRng as _};
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

#[derive(Debug, Clone)]
pub struct Chance {
    seed: u64,
    generator: Arc<Mutex<ChaCha8Rng>>,
}

impl Chance {
    pub fn new(seed: u64) -> Self {
        Chance { seed, generator: Arc::new(Mutex::new(ChaCha8Rng::seed_from_u64(seed))) }
    }

    /// A stream of its own: what others draw does not change what it draws.
    pub fn stream(&self, name: &str) -> Chance {
        // FNV-1a: stable over versions and machines, which std's hasher does not promise.
        let hash = name
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        // Mixed again after joining, so that streams of streams do not meet.
        Chance::new((self.seed ^ hash).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29))
    }

    pub fn number(&self) -> u64 {
        self.generator.lock().unwrap_or_else(PoisonError::into_inner).next_u64()
    }

    /// A number from 0 up to, not including, `end`.
    pub fn below(&self, end: u64) -> u64 {
        self.number() % end.max(1)
    }

    pub fn between(&self, least: Duration, most: Duration) -> Duration {
        let span = most.saturating_sub(least).as_millis();
        least + Duration::from_millis(self.below(u64::try_from(span).unwrap_or(u64::MAX).saturating_add(1)))
    }

    /// A version 4 UUID.
    pub fn uuid(&self) -> String {
        let (high, low) = (self.number(), self.number());
        let (a, b, c) = (high >> 32, (high >> 16) & 0xffff, (high & 0x0fff) | 0x4000);
        let (d, e) = (((low >> 48) & 0x3fff) | 0x8000, low & 0xffff_ffff_ffff);
        format!("{a:08x}-{b:04x}-{c:04x}-{d:04x}-{e:012x}")
    }
}
