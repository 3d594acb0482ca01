//! Sets of small numbers as bits. The inner loop of a solve is made of these.

/// A set of numbers below `64 * words`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Mask(Vec<u64>);

impl Mask {
    /// Nothing, with room for numbers below `count`.
    pub fn none(count: usize) -> Self {
        Mask(vec![0; count.div_ceil(64)])
    }

    /// Every number below `count`.
    pub fn all(count: usize) -> Self {
        let mut mask = Mask::none(count);
        for number in 0..count {
            mask.insert(number);
        }
        mask
    }

    pub fn words(&self) -> &[u64] {
        &self.0
    }

    /// Grows where the number is beyond its room.
    pub fn insert(&mut self, number: usize) {
        if self.0.len() <= number / 64 {
            self.0.resize(number / 64 + 1, 0);
        }
        if let Some(word) = self.0.get_mut(number / 64) {
            *word |= 1 << (number % 64);
        }
    }

    pub fn remove(&mut self, number: usize) {
        if let Some(word) = self.0.get_mut(number / 64) {
            *word &= !(1 << (number % 64));
        }
    }

    /// Takes out what the other has.
    pub fn remove_all(&mut self, other: &Mask) {
        for (word, gone) in self.0.iter_mut().zip(&other.0) {
            *word &= !gone;
        }
    }

    pub fn has(&self, number: usize) -> bool {
        self.0.get(number / 64).is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    pub fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Keeps what the other has too.
    pub fn and(&mut self, other: &Mask) {
        for (at, word) in self.0.iter_mut().enumerate() {
            *word &= other.0.get(at).copied().unwrap_or(0);
        }
    }

    pub fn or(&mut self, other: &Mask) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (word, more) in self.0.iter_mut().zip(&other.0) {
            *word |= more;
        }
    }

    pub fn meets(&self, other: &Mask) -> bool {
        self.0.iter().zip(&other.0).any(|(left, right)| left & right != 0)
    }

    /// Becomes a copy, without a new allocation where the room suffices.
    pub fn copy_from(&mut self, other: &Mask) {
        self.0.clear();
        self.0.extend_from_slice(&other.0);
    }

    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().enumerate().flat_map(|(at, word)| Ones { word: *word, base: at * 64 })
    }
}

struct Ones {
    word: u64,
    base: usize,
}

impl Iterator for Ones {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        if self.word == 0 {
            return None;
        }
        let bit = self.word.trailing_zeros() as usize;
        self.word &= self.word - 1;
        Some(self.base + bit)
    }
}
