//! From a decision to a record: its identity, the names of what it makes, and what it was decided on.

use jiff::Timestamp;
use model::{
    ClaimToMake, CommandOrder, CommandPhase, CommandRecord, CommandWork, InstanceKey, Manifest, ObjectName, Uid,
    disruption::{Disruption, Order, Remedy},
    names,
};
use sha2::{Digest as _, Sha256};

/// Of a pool's name in a claim's: with identity and number it stays under the 63 of a label.
const LONGEST_POOL: usize = 45;

/// A command that is about to be written down: its identity, its candidates, and its replacements under their own names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Begun {
    pub id: String,
    pub candidates: Vec<InstanceKey>,
    pub make: Vec<ClaimToMake>,
}

/// `None` for nodes without claims, which no command can be about.
pub fn name_replacements(disruption: &Disruption, now: Timestamp) -> Option<Begun> {
    let candidates: Vec<InstanceKey> =
        disruption.nodes.iter().map(|leaving| leaving.claim.clone()).collect::<Option<_>>()?;
    candidates.first()?;
    let id = identity(&candidates, now);
    let named = disruption.replacements.iter().enumerate().filter_map(|(at, replacement)| {
        let mut claim = replacement.claim.clone();
        claim.name = name(&claim, &id, at)?;
        claim.annotations.insert(names::REPLACES.to_owned(), id.clone());
        Some(claim)
    });
    Some(Begun { make: named.collect(), id, candidates })
}

/// The record of the first candidate. `manifests` are those of `begun.make`, `pods` those on its node.
pub fn begin(
    disruption: &Disruption,
    begun: &Begun,
    manifests: Vec<Manifest>,
    pods: Vec<Uid>,
    urgent: bool,
    now: Timestamp,
) -> CommandRecord {
    let reboots = disruption.remedy == Remedy::Reboot;
    CommandRecord {
        id: begun.id.clone(),
        reason: disruption.reason,
        work: if reboots { CommandWork::Reboot } else { CommandWork::Delete },
        order: match disruption.order {
            _ if urgent => CommandOrder::AtOnce,
            Order::ReplaceFirst => CommandOrder::ReplaceFirst,
            Order::TerminateFirst => CommandOrder::TerminateFirst,
        },
        candidates: begun.candidates.clone(),
        pods,
        replacements: begun.make.iter().map(|claim| claim.name.clone()).collect(),
        make: manifests,
        drain_within: disruption.drain_within,
        phase: CommandPhase::Recorded,
        since: now,
        begun_at: now,
        why: disruption.why.clone(),
    }
}

/// Of the claims and the moment: the same nodes later are another command, with other names.
fn identity(candidates: &[InstanceKey], now: Timestamp) -> String {
    let mut hash = Sha256::new();
    for key in candidates {
        hash.update(key.claim.as_str().as_bytes());
        hash.update([0]);
    }
    hash.update(now.as_millisecond().to_be_bytes());
    hash.finalize().iter().take(5).map(|byte| format!("{byte:02x}")).collect()
}

fn name(claim: &ClaimToMake, id: &str, at: usize) -> Option<ObjectName> {
    let pool = claim.owner.as_ref().map_or(claim.name.as_str(), |pool| pool.name.as_str());
    let cut: String = pool.chars().take(LONGEST_POOL).map(|c| if c == '.' { '-' } else { c }).collect();
    ObjectName::new(format!("{}-{id}-{}", cut.trim_end_matches('-'), at + 1)).ok()
}
