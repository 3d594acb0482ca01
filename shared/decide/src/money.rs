//! Caps: what may be spent an hour, by a NodePool and by the whole cluster, and whether one more machine fits under them.
//!
//! What is spent is counted by claim: what its launch record says it costs, or what the ledger says, whichever is more. The
//! ledger holds what was allowed, from before the machine is asked for until a cloud's own list has nothing of it. It is one
//! object that is written against the version that was read, so of two who would pass the cap together one is refused.

use jiff::{SignedDuration, Timestamp};
use model::{Cap, Claim, Entry, Ledger, Offering, Price, ResourceVersion, Uid, money::amount, names};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// Longer than any invocation lives between being allowed a machine and writing down that it will ask for it.
const LONGEST_TURN: SignedDuration = SignedDuration::from_mins(2);

/// No invocation lives longer. Whoever read a claim before its machine was refused, and asks for the same one, is answered by then: what
/// was refused to one may have been given to another.
const LONGEST_CALL: SignedDuration = SignedDuration::from_mins(1);

/// Everything that money has to say about one more machine.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Money {
    /// Those that apply; none means that nothing is counted.
    pub caps: Vec<Capped>,
    pub ledger: Ledger,
    /// Of the ledger; absent while there is none.
    pub version: Option<ResourceVersion>,
}

/// A cap, and what is spent under it already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capped {
    /// `NodePool gpu`, `this cluster`.
    pub on: String,
    /// A cap that cannot be read is closed: it lets nothing through.
    pub cap: Result<Cap, String>,
    pub spent: u64,
}

/// What somebody wrote on a NodePool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolCap {
    pub pool: String,
    pub cap: Result<Cap, String>,
}

/// What a pool may spend, and what is written down about what is spent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Allowance {
    pub cluster: Option<Cap>,
    pub pool: Option<PoolCap>,
    pub ledger: Arc<Ledger>,
}

impl PoolCap {
    /// `None` for a pool that has none.
    pub fn read(pool: &str, annotations: &BTreeMap<String, String>) -> Option<Self> {
        let text = annotations.get(names::MAX_PRICE_PER_HOUR)?;
        let cap = Cap::read(text).map_err(|why| format!("the annotation {}: {why}", names::MAX_PRICE_PER_HOUR));
        Some(PoolCap { pool: pool.to_owned(), cap })
    }
}

/// The caps that apply to a pool's machines, with what is spent under each by everybody but `except`.
pub fn caps(
    cluster: Option<&Cap>,
    pool: Option<PoolCap>,
    ledger: &Ledger,
    claims: &[Claim],
    except: Option<&Uid>,
) -> Vec<Capped> {
    let bills = bills(ledger, claims);
    let spent = |wanted: &dyn Fn(&Entry) -> bool| {
        let counted = bills.iter().filter(|(uid, entry)| Some(*uid) != except && wanted(entry));
        counted.fold(0_u64, |sum, (_, entry)| sum.saturating_add(entry.millionths_per_hour))
    };
    let of_pool = pool.map(|PoolCap { pool, cap }| {
        let spent = spent(&|entry| entry.pool.as_deref() == Some(pool.as_str()));
        Capped { on: format!("NodePool {pool}"), cap, spent }
    });
    let of_cluster =
        cluster.map(|cap| Capped { on: "this cluster".to_owned(), cap: Ok(cap.clone()), spent: spent(&|_| true) });
    of_pool.into_iter().chain(of_cluster).collect()
}

/// What each claim's machine costs, at the most.
fn bills(ledger: &Ledger, claims: &[Claim]) -> BTreeMap<Uid, Entry> {
    let mut bills = ledger.0.clone();
    for claim in claims {
        let Some(entry) = on_record(claim) else { continue };
        match bills.get_mut(&claim.key.claim) {
            Some(known) if known.millionths_per_hour >= entry.millionths_per_hour => {}
            Some(known) => *known = entry,
            None => _ = bills.insert(claim.key.claim.clone(), entry),
        }
    }
    bills
}

/// Of a launch that has not failed. What has no price was not launched under a cap.
fn on_record(claim: &Claim) -> Option<Entry> {
    let record = claim.record().filter(|record| !record.is_spent())?;
    let price = record.offering.price.as_ref()?;
    Some(Entry::new(price, claim.labels.get(names::NODE_POOL).cloned(), record.begun_at))
}

/// When the last machine that a claim asked for was refused, if it has none.
fn refused(claim: &Claim) -> Option<(&Uid, Timestamp)> {
    let record = claim.record().filter(|record| record.is_spent())?;
    record.tried.last().map(|last| (&claim.key.claim, last.at))
}

impl Money {
    pub fn is_counted(&self) -> bool {
        !self.caps.is_empty()
    }

    /// Why a machine of this price may not be had; `None` if it may.
    pub fn refuses(&self, offering: &Offering) -> Option<String> {
        self.caps.iter().find_map(|capped| capped.refuses(offering.price.as_ref()))
    }

    /// The ledger with what a claim is about to have. What it was allowed before may still be asked for by somebody, so the
    /// larger of the two stands.
    pub fn with(&self, claim: &Claim, price: &Price, now: Timestamp) -> Ledger {
        let mut ledger = self.ledger.clone();
        let mut entry = Entry::new(price, claim.labels.get(names::NODE_POOL).cloned(), now);
        if let Some(before) = ledger.0.get(&claim.key.claim) {
            entry.millionths_per_hour = entry.millionths_per_hour.max(before.millionths_per_hour);
        }
        ledger.0.insert(claim.key.claim.clone(), entry);
        ledger
    }
}

impl Capped {
    pub fn refuses(&self, price: Option<&Price>) -> Option<String> {
        let Capped { on, cap, spent } = self;
        let cap = match cap {
            Ok(cap) => cap,
            Err(why) => return Some(format!("{on} may spend nothing until its cap can be read: {why}")),
        };
        let Some(price) = price else {
            return Some(format!("{on} may spend {cap}, and nobody knows what this one costs"));
        };
        if let Some(currency) = cap.currency.as_ref().filter(|currency| **currency != price.currency) {
            let own = &price.currency;
            return Some(format!(
                "{on} may spend {cap}, and this one is paid in {own}, which cannot be counted in {currency}"
            ));
        }
        let with_it = spent.saturating_add(price.millionths_per_hour);
        (with_it > cap.millionths_per_hour).then(|| {
            let (spent, more) = (amount(*spent), amount(price.millionths_per_hour));
            format!("{on} may spend {cap}; it spends {spent}/h, and this one costs {more} {}/h more", price.currency)
        })
    }

    /// One more machine is coming.
    pub fn add(&mut self, price: &Price) {
        self.spent = self.spent.saturating_add(price.millionths_per_hour);
    }
}

/// What the ledger should say, from lists that are complete: `owned` is what clouds hold under our keys, with what it costs
/// where that is known. Nothing is crossed out that somebody may still have.
pub fn settled(
    ledger: &Ledger,
    known: &BTreeSet<Uid>,
    claims: &[Claim],
    owned: &BTreeMap<Uid, Option<Entry>>,
    now: Timestamp,
) -> Ledger {
    let launching: BTreeSet<&Uid> =
        claims.iter().filter(|claim| on_record(claim).is_some()).map(|claim| &claim.key.claim).collect();
    let readable: BTreeSet<&Uid> = claims.iter().map(|claim| &claim.key.claim).collect();
    let refused: BTreeMap<&Uid, Timestamp> = claims.iter().filter_map(refused).collect();
    let mut settled = ledger.clone();
    settled.0.retain(|uid, entry| {
        // Whoever was allowed it and has not written its intent by now is not at work any more.
        let idle = readable.contains(uid) && !launching.contains(uid) && now.duration_since(entry.at) > LONGEST_TURN;
        // Nothing was allowed since: this is the money of what was refused.
        let over = refused.get(uid).is_some_and(|at| entry.at <= *at && now.duration_since(*at) > LONGEST_CALL);
        owned.contains_key(uid) || (known.contains(uid) && !idle && !over)
    });
    for (uid, entry) in owned {
        // A machine without a claim is paid for all the same.
        if let Some(entry) = entry.as_ref().filter(|_| !known.contains(uid)) {
            settled.0.entry(uid.clone()).or_insert_with(|| entry.clone());
        }
    }
    for claim in claims {
        // The launch has come out: now it is known which of the offerings it was.
        let launched = claim.is(model::ConditionKind::Launched);
        if let (Some(entry), Some(known)) = (on_record(claim), settled.0.get_mut(&claim.key.claim))
            && launched
        {
            *known = entry;
        }
    }
    settled
}
