//! Maps with a fast hash. What is hashed comes from one cluster's own objects and lives for one solve, so nothing needs to be
//! guarded against chosen collisions.

use core::hash::{BuildHasherDefault, Hasher};
use std::collections::{HashMap, HashSet};

pub type Map<K, V> = HashMap<K, V, BuildHasherDefault<Mixing>>;
pub type Set<K> = HashSet<K, BuildHasherDefault<Mixing>>;

/// Multiplies and rotates, word by word.
#[derive(Default)]
pub struct Mixing(u64);

const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

impl Mixing {
    fn mix(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(23) ^ word).wrapping_mul(FACTOR);
    }
}

impl Hasher for Mixing {
    fn finish(&self) -> u64 {
        // The map takes its buckets from the low bits and its tags from the high ones: both must be well mixed.
        self.0 ^ (self.0 >> 29)
    }

    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.mix(u64::from_le_bytes(*word));
        }
        let mut last = [0_u8; 8];
        last[..rest.len()].copy_from_slice(rest);
        self.mix(u64::from_le_bytes(last) ^ ((bytes.len() as u64) << 56));
    }

    fn write_u8(&mut self, number: u8) {
        self.mix(u64::from(number));
    }

    fn write_u32(&mut self, number: u32) {
        self.mix(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        self.mix(number);
    }

    fn write_usize(&mut self, number: usize) {
        self.mix(number as u64);
    }
}
