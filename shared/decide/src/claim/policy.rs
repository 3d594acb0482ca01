//! How patient to be, and what to prefer: said by annotations on the claim, else on its pool, else as Karpenter does.

use jiff::SignedDuration;
use model::{duration, names};
use std::collections::BTreeMap;

use crate::ladder::Preference;

/// Karpenter gives a cloud this long to accept an order.
const LAUNCH: SignedDuration = SignedDuration::from_mins(5);
/// And a machine this long to join, counted from then.
const REGISTRATION: SignedDuration = SignedDuration::from_mins(15);
/// Karpenter waits for ever here. A GPU driver that has not come after half an hour does not come, and the node is paid for.
const INITIALIZATION: SignedDuration = SignedDuration::from_mins(30);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// `None` is for ever.
    pub launch: Option<SignedDuration>,
    pub registration: Option<SignedDuration>,
    pub initialization: Option<SignedDuration>,
    pub preference: Preference,
}

impl Default for Policy {
    fn default() -> Self {
        Policy {
            launch: Some(LAUNCH),
            registration: Some(REGISTRATION),
            initialization: Some(INITIALIZATION),
            preference: Preference::Price,
        }
    }
}

impl Policy {
    /// The claim's annotations win over its pool's. One that cannot be read counts as not there; the second value says so.
    pub fn read(claim: &BTreeMap<String, String>, pool: &BTreeMap<String, String>) -> (Self, Vec<String>) {
        let mut problems = Vec::new();
        let mut policy = Policy::default();
        let said = |key: &str| claim.get(key).or_else(|| pool.get(key)).map(|text| text.trim());
        let times = [
            (names::LAUNCH_TIMEOUT, &mut policy.launch),
            (names::REGISTRATION_TIMEOUT, &mut policy.registration),
            (names::INITIALIZATION_TIMEOUT, &mut policy.initialization),
        ];
        for (key, time) in times {
            match said(key) {
                None => {}
                Some("Never") => *time = None,
                Some(text) => match duration::parse(text).filter(SignedDuration::is_positive) {
                    Some(read) => *time = Some(read),
                    None => problems.push(format!("{key} is {text:?}; write a time, as in 20m or 1h30m, or Never")),
                },
            }
        }
        match said(names::PREFER) {
            None | Some("price") => {}
            Some("listed") => policy.preference = Preference::Listed,
            Some(text) => problems.push(format!("{} is {text:?}; write price or listed", names::PREFER)),
        }
        (policy, problems)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn karpenters_times_unless_told_and_the_claim_is_heard_before_its_pool() {
        let pool = said(&[(names::REGISTRATION_TIMEOUT, "40m"), (names::LAUNCH_TIMEOUT, "Never")]);
        let claim = said(&[(names::REGISTRATION_TIMEOUT, "1h30m"), (names::PREFER, "listed")]);
        let (policy, problems) = Policy::read(&claim, &pool);
        assert!(problems.is_empty());
        assert_eq!(policy.launch, None);
        assert_eq!(policy.registration, Some(SignedDuration::from_mins(90)));
        assert_eq!(policy.initialization, Some(INITIALIZATION));
        assert_eq!(policy.preference, Preference::Listed);
    }

    #[test]
    fn what_cannot_be_read_is_named_and_changes_nothing() {
        let (policy, problems) = Policy::read(&said(&[(names::LAUNCH_TIMEOUT, "soon")]), &BTreeMap::new());
        assert_eq!(policy, Policy::default());
        assert_eq!(problems, ["pilotlight.dev/launch-timeout is \"soon\"; write a time, as in 20m or 1h30m, or Never"]);
    }
}
