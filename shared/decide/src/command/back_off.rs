//! Pools whose replacements do not come are left alone for a while, longer each time; the note stands on the pool.

use jiff::{SignedDuration, Timestamp};
use model::{ObjectName, disruption::Paused};
use sha2::{Digest as _, Sha256};

const FIRST: SignedDuration = SignedDuration::from_mins(2);
const LONGEST: SignedDuration = SignedDuration::from_hours(2);

/// As it stands in the annotation: `3 times in a row, left alone until 2026-11-17T13:00:00Z`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BackOff {
    pub failures: u32,
    pub until: Timestamp,
}

impl BackOff {
    pub fn write(&self) -> String {
        format!("{} times in a row, left alone until {}", self.failures, self.until)
    }

    /// `None` for what is not ours.
    pub fn read(text: &str) -> Option<Self> {
        let failures = text.split_whitespace().next()?.parse().ok()?;
        let until = text.split_whitespace().last()?.parse().ok()?;
        Some(BackOff { failures, until })
    }
}

/// One more failure. Pools that fail together do not come back together: the pool's name shifts its time by up to a fifth.
pub fn after_failure(pool: &ObjectName, before: Option<&str>, now: Timestamp) -> BackOff {
    let failures = before.and_then(BackOff::read).map_or(0, |known| known.failures).saturating_add(1);
    let doubled = 1_i64.checked_shl(failures.saturating_sub(1)).filter(|times| *times > 0).unwrap_or(i64::MAX);
    let seconds = FIRST.as_secs().saturating_mul(doubled).min(LONGEST.as_secs());
    let digest = Sha256::digest(format!("{pool}/{failures}"));
    let share = i64::from(digest.first().copied().unwrap_or_default());
    let span = SignedDuration::from_secs(seconds + seconds * share / (5 * 255));
    let until = now.checked_add(span).unwrap_or(now);
    BackOff { failures, until: Timestamp::from_second(until.as_second()).unwrap_or(until) }
}

/// Whether a pool with this note is left alone now.
pub fn paused(text: Option<&str>, now: Timestamp) -> Option<Paused> {
    let known = text.and_then(BackOff::read).filter(|known| known.until > now)?;
    let why = format!("its replacements did not come, {} times in a row", known.failures);
    Some(Paused { until: known.until, why })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn every_failure_doubles_the_time_up_to_two_hours_and_each_pool_has_its_own() {
        let now = Timestamp::from_second(1_000_000).unwrap();
        let pool = ObjectName::new("gpu").unwrap();
        let (mut text, mut spans) = (None::<String>, vec![]);
        for _ in 0..10 {
            let next = after_failure(&pool, text.as_deref(), now);
            assert_eq!(BackOff::read(&next.write()), Some(next));
            spans.push(next.until.duration_since(now).as_secs());
            text = Some(next.write());
        }
        assert!((120..=144).contains(&spans[0]) && (240..=288).contains(&spans[1]), "{spans:?}");
        assert!(spans[9] >= 7200 && spans[9] <= 8640, "{spans:?}");
        let other = after_failure(&ObjectName::new("cpu").unwrap(), None, now);
        assert_ne!(other, after_failure(&pool, None, now));
    }

    #[test]
    fn a_pool_is_left_alone_until_its_time_and_words_of_others_say_nothing() {
        let now = Timestamp::from_second(1_000_000).unwrap();
        let known = BackOff { failures: 3, until: Timestamp::from_second(1_000_010).unwrap() };
        assert!(paused(Some(&known.write()), now).unwrap().why.contains("3 times"));
        assert_eq!(paused(Some(&known.write()), known.until), None);
        assert_eq!(paused(Some("please"), now), None);
        assert_eq!(paused(None, now), None);
    }
}
