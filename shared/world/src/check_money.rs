//! Invariant 6: spending never passes a cap that the user set, by what the clouds themselves charge.

use serde_json::Value;
use std::collections::BTreeMap;

use crate::check::{Instance, most_spent};

/// The annotation by which a NodePool says what its machines may cost an hour.
const CAP: &str = "pilotlight.dev/max-price-per-hour";
const POOL: &str = "karpenter.sh/nodepool";

/// Who may spend how much, as people wrote it. A cap that was raised counts as it was at its highest; a pool that once had none
/// has none: what was bought before it was set may stay.
#[derive(Debug, Clone, Default)]
pub struct Purse {
    /// By the claim's UID.
    pools: BTreeMap<String, String>,
    caps: BTreeMap<String, u64>,
    whole: Option<u64>,
}

impl Purse {
    pub fn note_claim(&mut self, claim: &Value) {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let metadata = &claim["metadata"];
        if let (Some(uid), Some(pool)) = (text(&metadata["uid"]), text(&metadata["labels"][POOL])) {
            self.pools.insert(uid, pool);
        }
    }

    pub fn note_pool(&mut self, pool: &Value) {
        let metadata = &pool["metadata"];
        let cap = match metadata["annotations"][CAP].as_str() {
            None => u64::MAX,
            // One that cannot be read lets nothing through.
            Some(text) => text.split_whitespace().next().and_then(|number| number.parse().ok()).map_or(0, millionths),
        };
        let name = metadata["name"].as_str().unwrap_or_default().to_owned();
        let known = self.caps.entry(name).or_default();
        *known = cap.max(*known);
    }

    /// What all machines together may cost an hour, in millionths.
    pub fn cap_all(&mut self, cap: u64) {
        self.whole = Some(cap);
    }

    /// What was broken, and the instance with which it was.
    pub fn holds(&self, instances: &[Instance]) -> Result<(), (String, String)> {
        let paid = |wanted: &dyn Fn(&str) -> bool| -> Vec<Instance> {
            let ours = instances.iter().filter(|one| one.claim.as_deref().is_some_and(wanted));
            ours.cloned().collect()
        };
        for (pool, cap) in &self.caps {
            let of_pool = paid(&|claim| self.pools.get(claim) == Some(pool));
            under(&format!("NodePool {pool}"), *cap, &of_pool)?;
        }
        self.whole.map_or(Ok(()), |cap| under("the cluster", cap, &paid(&|_| true)))
    }
}

pub fn millionths(amount: f64) -> u64 {
    (amount * 1e6).round() as u64
}

fn under(who: &str, cap: u64, instances: &[Instance]) -> Result<(), (String, String)> {
    let most = most_spent(instances, |one| one.price);
    if most <= cap {
        return Ok(());
    }
    let last = instances.iter().max_by_key(|one| one.from).map(|one| one.name.clone());
    let amount = |millionths: u64| millionths as f64 / 1e6;
    Err((format!("{who} spent {} an hour, and may spend {}", amount(most), amount(cap)), last.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::BEGINNING;
    use jiff::SignedDuration;
    use serde_json::json;

    fn instance(claim: &str, from: i64, until: Option<i64>) -> Instance {
        let at = |seconds: i64| BEGINNING + SignedDuration::from_secs(seconds);
        let (from, until) = (at(from), until.map(at));
        Instance {
            cloud: "scaleway",
            name: claim.to_owned(),
            claim: Some(claim.to_owned()),
            from,
            until,
            price: 787_500,
        }
    }

    fn purse(caps: &[Option<&str>]) -> Purse {
        let mut purse = Purse::default();
        for claim in ["a", "b"] {
            purse.note_claim(&json!({"metadata": {"uid": claim, "labels": {POOL: "gpu"}}}));
        }
        for cap in caps {
            purse.note_pool(&json!({"metadata": {"name": "gpu", "annotations": {CAP: cap}}}));
        }
        purse
    }

    #[test]
    fn two_machines_at_once_pass_the_cap_of_one_and_two_after_each_other_do_not() {
        let (at_once, in_turn) = ([(0, None), (10, None)], [(0, Some(10)), (10, None)]);
        let lives = |times: [(i64, Option<i64>); 2]| {
            [instance("a", times[0].0, times[0].1), instance("b", times[1].0, times[1].1)]
        };
        assert!(purse(&[Some("1 EUR")]).holds(&lives(at_once)).is_err());
        assert!(purse(&[Some("1 EUR")]).holds(&lives(in_turn)).is_ok());
        assert!(purse(&[Some("1.575")]).holds(&lives(at_once)).is_ok());
        assert!(purse(&[Some("1"), Some("2")]).holds(&lives(at_once)).is_ok(), "it was raised");
        assert!(purse(&[None, Some("1")]).holds(&lives(at_once)).is_ok(), "it came later");
        assert!(purse(&[Some("a lot")]).holds(&lives(at_once)).is_err(), "nothing at all");
        let mut whole = purse(&[]);
        whole.cap_all(1_000_000);
        assert!(whole.holds(&lives(at_once)).is_err() && whole.holds(&lives(in_turn)).is_ok());
    }
}
