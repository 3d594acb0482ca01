//! Token buckets on the world's time, one for each name.

use super::options::Rate;
use jiff::Timestamp;
use std::collections::BTreeMap;

#[derive(Debug, Default)]
pub(super) struct Buckets {
    levels: BTreeMap<String, (f64, Timestamp)>,
}

impl Buckets {
    /// Takes one token. `Ok` is what is left, `Err` is after how many whole seconds there will be one.
    pub fn take(&mut self, name: &str, rate: Rate, now: Timestamp) -> Result<u64, u64> {
        let (level, since) = self.levels.get(name).copied().unwrap_or((rate.size, now));
        let passed = now.duration_since(since).as_secs_f64().max(0.0);
        let level = (level + passed * rate.per_second).min(rate.size);
        let outcome =
            if level >= 1.0 { Ok(level - 1.0) } else { Err(((1.0 - level) / rate.per_second).ceil().max(1.0)) };
        self.levels.insert(name.to_owned(), (outcome.unwrap_or(level), now));
        // Both are small and not negative; `as` cannot lose anything that matters here.
        outcome.map(|left| left as u64).map_err(|wait| wait.min(86_400.0) as u64)
    }
}
