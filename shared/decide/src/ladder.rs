//! Which offerings serve a claim, the best first; and when none does, why, in words for the person who asked.

mod asked;
mod close;
mod memory;
mod order;
mod why;

use jiff::{SignedDuration, Timestamp};
use model::{Attempt, Claim, Offering, OfferingId, Requirement, StockMemory};

use asked::Asked;
pub use memory::memory_of;

/// Reasons of a ladder without rungs, as they stand in conditions and events.
pub const NO_OFFERING_FITS: &str = "NoOfferingFits";
pub const INSUFFICIENT_CAPACITY: &str = "InsufficientCapacity";
pub const QUOTA_EXCEEDED: &str = "QuotaExceeded";
pub const INVALID_REQUEST: &str = "InvalidRequest";
pub const CONFLICT: &str = "Conflict";

/// How long an attempt of this claim keeps it from trying the same again: as long as a used-up quota is remembered, and
/// short enough that a claim which waits climbs again while somebody still waits for it.
pub const TRIED_FOR: SignedDuration = SignedDuration::from_mins(10);

/// What is looked for.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    pub claim: &'a Claim,
    /// The claim's, as its provider understands them: short names spelled out, old values translated.
    pub requirements: &'a [Requirement],
    /// The claim was written for gpu-provisioner, which knew no zones and no spot machines: without a word about them it
    /// gets what it always got.
    pub compatible_with_gpu_provisioner: bool,
    pub preference: Preference,
}

/// What comes first among offerings that fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Preference {
    /// The cheapest.
    #[default]
    Price,
    /// The instance type that the claim lists first.
    Listed,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ladder {
    /// What may be tried now, the best first.
    pub rungs: Vec<Offering>,
    /// Something fits and all of it is unavailable: when the first of it may be tried again, and why not before.
    pub waiting: Option<(Timestamp, String)>,
    /// All that are no rungs, in the order in which they were offered.
    pub misfits: Vec<Misfit>,
    why: (&'static str, String),
}

/// An offering that will not do, with everything that speaks against it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misfit {
    pub offering: OfferingId,
    pub misses: Vec<Miss>,
}

/// One thing that speaks against an offering.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Miss {
    /// Its label does not keep the requirement on this key.
    Label(String),
    /// It holds less of this than is requested.
    Resource(String),
    /// It is spot, so it may be taken away at any time, or a reservation; and nobody said that this is fine.
    CapacityTypeNotAskedFor,
    /// It is in a zone, and the claim comes from a world without zones.
    ZoneNotAskedFor,
    /// It fits, and was refused or did not come up a short time ago.
    Unavailable { until: Timestamp, reason: String },
}

/// The offerings that serve what is wanted, without those the memory or an earlier attempt of this claim speaks against.
pub fn ladder(
    wanted: &Wanted<'_>,
    offerings: &[Offering],
    stock: &StockMemory,
    tried: &[Attempt],
    now: Timestamp,
) -> Ladder {
    let asked = Asked::new(wanted, offerings);
    if let Some(contradiction) = asked.contradiction() {
        let why = (INVALID_REQUEST, why::shortened(contradiction));
        return Ladder { rungs: vec![], waiting: None, misfits: vec![], why };
    }
    let (mut fitting, mut misfits) = (vec![], vec![]);
    for offering in offerings {
        let mut misses = asked.misses(offering);
        if misses.is_empty() {
            misses.extend(unavailable(offering, stock, tried, now));
        }
        if misses.is_empty() {
            fitting.push(offering);
        } else {
            misfits.push(Misfit { offering: offering.id.clone(), misses });
        }
    }
    let rungs: Vec<Offering> = order::best_first(fitting, wanted).into_iter().cloned().collect();
    if let [first, ..] = rungs.as_slice() {
        let why = (OFFERING_FITS, format!("{} on offer fit, the best is {}", rungs.len(), first.id));
        return Ladder { rungs, waiting: None, misfits, why };
    }
    match why::waiting(&misfits, now) {
        Some((until, reason, text)) => {
            Ladder { rungs, waiting: Some((until, text.clone())), misfits, why: (reason, text) }
        }
        None => {
            let why = (NO_OFFERING_FITS, why::nothing_fits(&asked, offerings, &misfits));
            Ladder { rungs, waiting: None, misfits, why }
        }
    }
}

impl Ladder {
    /// Reason and message for a condition or an event; at most 300 characters, and the same until something changes.
    pub fn why(&self) -> (&'static str, String) {
        self.why.clone()
    }
}

const OFFERING_FITS: &str = "OfferingFits";

/// What stands longest against an offering that fits.
fn unavailable(offering: &Offering, stock: &StockMemory, tried: &[Attempt], now: Timestamp) -> Option<Miss> {
    let remembered = stock.against(offering, now).map(|line| (line.until, &line.reason));
    let attempts = tried.iter().filter(|attempt| attempt.offering == offering.id);
    // A time beyond the end of time does not come; whoever wrote it down is believed for ever.
    let attempts =
        attempts.map(|attempt| (attempt.at.checked_add(TRIED_FOR).unwrap_or(Timestamp::MAX), &attempt.reason));
    let standing = remembered.into_iter().chain(attempts).filter(|(until, _)| *until > now);
    let longest = standing.max_by_key(|(until, _)| *until);
    longest.map(|(until, reason)| Miss::Unavailable { until, reason: reason.clone() })
}
