//! What may still be spent: a claim that would pass a cap is not made, and its pods are told so.

use model::{Cap, Claim, Ledger, Offering, names};
use std::collections::BTreeMap;

use super::Situation;
use crate::money::{Capped, caps};

/// Counts along with the claims of one decision.
pub(super) struct Purse {
    cluster: Option<Capped>,
    /// By position in `Situation::pools`.
    pools: BTreeMap<usize, Capped>,
}

impl Purse {
    pub fn new(situation: &Situation) -> Self {
        let mut purse = Purse { cluster: None, pools: BTreeMap::new() };
        for (at, facts) in situation.pools.iter().enumerate() {
            let allowed = &facts.allowance;
            let expected: Vec<(Option<&str>, u64)> =
                situation.claims.iter().filter_map(|claim| expected(claim, &allowed.ledger)).collect();
            if purse.cluster.is_none() && allowed.cluster.is_some() {
                let mut found = caps(allowed.cluster.as_ref(), None, &allowed.ledger, &situation.claims, None);
                purse.cluster = found.pop().map(|capped| with(capped, expected.iter().map(|(_, price)| *price)));
            }
            let own = allowed.pool.as_ref().map(|cap| cap.pool.as_str());
            let mut found = caps(None, allowed.pool.clone(), &allowed.ledger, &situation.claims, None);
            if let Some(capped) = found.pop() {
                let of_pool = expected.iter().filter(|(pool, _)| *pool == own).map(|(_, price)| *price);
                purse.pools.insert(at, with(capped, of_pool));
            }
        }
        purse
    }

    /// Why no claim may be made for which only these would do; `None` counts the first that may be had.
    pub fn refuses(&mut self, pool: usize, offerings: &[&Offering]) -> Option<String> {
        let caps = || self.pools.get(&pool).into_iter().chain(&self.cluster);
        let refusal = |offering: &Offering| caps().find_map(|capped| capped.refuses(offering.price.as_ref()));
        let first = offerings.first()?;
        match offerings.iter().find(|offering| refusal(offering).is_none()) {
            Some(taken) => {
                if let Some(price) = &taken.price {
                    let caps = self.pools.get_mut(&pool).into_iter().chain(&mut self.cluster);
                    caps.for_each(|capped| capped.add(price));
                }
                None
            }
            None => refusal(first).map(|why| format!("{}: {why}", first.id.instance_type)),
        }
    }
}

/// A claim that was made and has chosen nothing yet will cost what was expected. Money is written down before the choice is, so what the
/// ledger has of it already is not counted again.
fn expected<'a>(claim: &'a Claim, ledger: &Ledger) -> Option<(Option<&'a str>, u64)> {
    let chosen = claim.record().is_some_and(|record| !record.is_spent());
    let price = claim.annotations.get(names::EXPECTED_PRICE).filter(|_| !chosen && claim.deleted_at.is_none())?;
    let pool = claim.labels.get(names::NODE_POOL).map(String::as_str);
    let counted = ledger.0.get(&claim.key.claim).map_or(0, |entry| entry.millionths_per_hour);
    Some((pool, Cap::read(price).ok()?.millionths_per_hour.saturating_sub(counted)))
}

fn with(mut capped: Capped, expected: impl Iterator<Item = u64>) -> Capped {
    capped.spent = expected.fold(capped.spent, u64::saturating_add);
    capped
}
