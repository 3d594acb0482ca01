//! What a refusal teaches: what is not asked for again, by anybody, and until when.

use jiff::{SignedDuration, Timestamp};
use model::{CapacityType, Failure, Offering, Scope, Unavailable};

use super::QUOTA_EXCEEDED;

/// How long a refusal is remembered, and where the figure comes from.
///
/// Karpenter's Azure provider is spec/karpenter.md §5.4. Where the type of a failure leaves two of its rows possible, the
/// shorter one is taken: asking once too often costs a call, a forgotten size costs a night.
mod remembered {
    use jiff::SignedDuration;

    /// Azure could not allocate (all four allocation failures): §5.4.
    pub const AKS_ALLOCATION: SignedDuration = SignedDuration::from_hours(1);
    /// Azure does not sell the size to this subscription (SKUNotAvailable): §5.4, on demand and spot.
    pub const SIZE_ON_DEMAND: SignedDuration = SignedDuration::from_hours(23);
    pub const SIZE_SPOT: SignedDuration = SignedDuration::from_hours(1);
    /// Quota is used up; somebody may free some at any moment: §5.4.
    pub const QUOTA: SignedDuration = SignedDuration::from_mins(10);
    /// A quota of nothing is raised by a person (§5.4), and so is the one quota of all spot machines (LowPriorityCores).
    pub const QUOTA_OF_A_PERSON: SignedDuration = SignedDuration::from_hours(1);
    /// Scaleway's stock moves with its customers: our own choice, a few looks an hour.
    pub const SCALEWAY_STOCK: SignedDuration = SignedDuration::from_mins(10);
    /// A machine that did not come up has used its attempts; somebody may have pressed a button since: our own choice.
    pub const POWER_MACHINE: SignedDuration = SignedDuration::from_mins(5);
    /// A whole provider, and whatever has no row of its own: §5.4, the default for any marking.
    pub const SHORTEST: SignedDuration = SignedDuration::from_mins(3);
}

/// The lines a failure adds to the memory: none unless it was about capacity or quota.
pub fn memory_of(failure: &Failure, offering: &Offering, now: Timestamp) -> Vec<Unavailable> {
    let Some(scope) = &failure.scope else { return vec![] };
    let until = now.checked_add(how_long(failure, scope, offering)).unwrap_or(Timestamp::MAX);
    vec![Unavailable { scope: scope.clone(), until, reason: failure.reason.to_owned() }]
}

fn how_long(failure: &Failure, scope: &Scope, offering: &Offering) -> SignedDuration {
    let spot = offering.id.capacity_type == CapacityType::Spot;
    let quota = failure.reason == QUOTA_EXCEEDED;
    match scope {
        // Wide: it keeps every claim from everything, so it has to be looked at again soon, quota or not.
        Scope::Provider { .. } => remembered::SHORTEST,
        Scope::Family { .. } if spot => remembered::QUOTA_OF_A_PERSON,
        Scope::Offering(_) | Scope::InstanceType { .. } | Scope::Family { .. } if quota => match failure.limit {
            Some(0) => remembered::QUOTA_OF_A_PERSON,
            Some(_) | None => remembered::QUOTA,
        },
        Scope::Family { .. } => remembered::QUOTA,
        Scope::InstanceType { .. } if spot => remembered::SIZE_SPOT,
        // Asked for without a zone, an allocation failure is about the size everywhere, too.
        Scope::InstanceType { .. } if offering.id.zone.is_none() => remembered::AKS_ALLOCATION,
        Scope::InstanceType { .. } => remembered::SIZE_ON_DEMAND,
        Scope::Offering(id) => match id.provider.as_str() {
            "aks" => remembered::AKS_ALLOCATION,
            "scaleway" => remembered::SCALEWAY_STOCK,
            "power" => remembered::POWER_MACHINE,
            _ => remembered::SHORTEST,
        },
    }
}
