//! What was left behind, both ways: machines that nobody has, and claims that have none; and the small things around them.
//!
//! Whatever is found has been looked for twice. Claims are read before the clouds are asked and again after: a claim stands
//! before its machine is made, so a machine whose claim is in neither list has lost it. A cloud that could not be listed
//! whole says nothing, and nothing is concluded from that. Whose a thing is, its key says (the UID of a claim, and that of its
//! cluster), never its name.

mod claims;
mod memory;
mod orphans;

use jiff::{SignedDuration, Timestamp};
use model::{Claim, InstanceKey, LeaseSeen, Node, Owned, ResourceVersion, StockLine, Uid};
use std::collections::{BTreeMap, BTreeSet};

pub use orphans::{Orphan, provider_of_node};

/// What is younger may still be on its way into a list.
pub const YOUNG: SignedDuration = SignedDuration::from_secs(30);

/// Whether a thing is young, by the time that somebody else's clock gave it. Clocks differ a little; one that is further ahead than
/// this proves nothing, or what it made would be young for as long as it runs ahead.
pub fn is_young(made: Timestamp, now: Timestamp) -> bool {
    now.duration_since(made).abs() < YOUNG
}

/// Everything that a search looks at.
#[derive(Debug, Clone, Default)]
pub struct Situation {
    /// UIDs of all claims, also of those that cannot be read, as they were before the clouds were asked.
    pub known_before: BTreeSet<Uid>,
    /// The same, after.
    pub known_after: BTreeSet<Uid>,
    /// Those that can be read, after.
    pub claims: Vec<Claim>,
    /// What each cloud holds under our keys, by provider. One that could not be listed whole is not in it.
    pub clouds: BTreeMap<&'static str, Vec<Owned>>,
    pub nodes: Vec<Node>,
    pub leases: Vec<LeaseSeen>,
    /// Machines that somebody describes; absent where nobody could find out.
    pub described: Option<BTreeSet<String>>,
    pub stock: Vec<StockLine>,
    pub now: Timestamp,
}

/// One thing that was left behind, and what closes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Leak {
    /// A machine, what a machine left, or a Node, of a claim that is gone: goes as it would have gone with its claim.
    Orphan(Box<Orphan>),
    /// A claim whose machine is gone: is deleted, once its provider has confirmed that.
    ClaimWithoutMachine { key: InstanceKey, provider: String, node: Option<String> },
    /// A claim with a machine that nothing holds back: gets its finalizer again.
    FinalizerMissing { key: InstanceKey, version: ResourceVersion, finalizers: BTreeSet<String> },
    /// A Lease of a machine that nobody describes and nobody has: is deleted.
    MachineLease(LeaseSeen),
    /// A turn whose holder died: is given back.
    TurnLease(LeaseSeen),
    /// Lines of the stock memory that say nothing any more: are removed.
    Stock { keys: Vec<String> },
}

/// All of them, in the order in which they are to be closed: what costs most first.
pub fn find(seen: &Situation) -> Vec<Leak> {
    let mut leaks: Vec<Leak> = orphans::find(seen).into_iter().map(|orphan| Leak::Orphan(Box::new(orphan))).collect();
    leaks.extend(claims::without_machine(seen));
    leaks.extend(claims::without_finalizer(seen));
    leaks.extend(memory::leases(seen));
    leaks.extend(memory::stock(seen));
    leaks
}

/// What looks left behind and is left alone, in words: nothing proves that it is of this cluster.
pub fn left_alone(seen: &Situation) -> Vec<String> {
    let words = |orphan: Orphan| {
        format!(
            "{} of {}, which is not here: nothing on it says that this cluster made it, so it may be another cluster's; \
             delete it by hand if it is nobody's",
            orphan.what(),
            orphan.whose()
        )
    };
    orphans::unproved(seen).into_iter().map(words).collect()
}

impl Leak {
    /// For metrics: few, static.
    pub fn kind(&self) -> &'static str {
        match self {
            Leak::Orphan(orphan) => orphan.kind(),
            Leak::ClaimWithoutMachine { .. } => "claim-without-machine",
            Leak::FinalizerMissing { .. } => "finalizer-missing",
            Leak::MachineLease(_) => "machine-lease",
            Leak::TurnLease(_) => "turn-lease",
            Leak::Stock { .. } => "stock-memory",
        }
    }
}
