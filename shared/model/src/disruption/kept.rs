//! Why a node stays: for a person, and for a program.

use core::fmt;

use crate::ObjectName;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    pub node: ObjectName,
    pub code: KeptCode,
    /// `not disrupted because …`, without these words.
    pub reason: String,
}

/// The kinds of reasons. docs/disruption.md says of each what can be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum KeptCode {
    /// No NodePool made it.
    NotManaged,
    /// Its NodePool is not there.
    PoolNotFound,
    /// It is on its way out.
    Deleting,
    /// A command has it already.
    Disrupting,
    NotInitialized,
    ControlPlane,
    /// The process that decides runs on it.
    RunsUs,
    Cordoned,
    /// `karpenter.sh/do-not-disrupt` on Node or claim.
    NodeDoNotDisrupt,
    DoNotRepair,
    /// Pods that wait are expected on it.
    Nominated,
    PodDoNotDisrupt,
    PodDisruptionBudget,
    /// Kubernetes evicts no pod that several of them select.
    SeveralPodDisruptionBudgets,
    ConsolidateAfterNever,
    WithinConsolidateAfter,
    /// `WhenEmpty`, and it is not.
    NotEmpty,
    /// `spec.replicas`.
    FixedSize,
    Budget,
    GpuWork,
    PriceUnknown,
    /// Its pods have no place without it.
    NoOtherPlace,
    NotCheaper,
    /// Cheaper, but not by enough.
    SavingTooSmall,
    /// `Balanced`: not worth the disturbance.
    NotWorthTheDisturbance,
    SpotToSpot,
    WithinIdleWindow,
    WithinMinimumOnTime,
    CoolingDown,
    CorrelatedFailure,
    /// Replacements of its pool kept failing.
    BackingOff,
    /// Pods of a node that goes come to it.
    Destination,
    OutOfTime,
}

impl KeptCode {
    /// PascalCase.
    pub fn as_str(self) -> &'static str {
        match self {
            KeptCode::NotManaged => "NotManaged",
            KeptCode::PoolNotFound => "PoolNotFound",
            KeptCode::Deleting => "Deleting",
            KeptCode::Disrupting => "Disrupting",
            KeptCode::NotInitialized => "NotInitialized",
            KeptCode::ControlPlane => "ControlPlane",
            KeptCode::RunsUs => "RunsUs",
            KeptCode::Cordoned => "Cordoned",
            KeptCode::NodeDoNotDisrupt => "NodeDoNotDisrupt",
            KeptCode::DoNotRepair => "DoNotRepair",
            KeptCode::Nominated => "Nominated",
            KeptCode::PodDoNotDisrupt => "PodDoNotDisrupt",
            KeptCode::PodDisruptionBudget => "PodDisruptionBudget",
            KeptCode::SeveralPodDisruptionBudgets => "SeveralPodDisruptionBudgets",
            KeptCode::ConsolidateAfterNever => "ConsolidateAfterNever",
            KeptCode::WithinConsolidateAfter => "WithinConsolidateAfter",
            KeptCode::NotEmpty => "NotEmpty",
            KeptCode::FixedSize => "FixedSize",
            KeptCode::Budget => "Budget",
            KeptCode::GpuWork => "GpuWork",
            KeptCode::PriceUnknown => "PriceUnknown",
            KeptCode::NoOtherPlace => "NoOtherPlace",
            KeptCode::NotCheaper => "NotCheaper",
            KeptCode::SavingTooSmall => "SavingTooSmall",
            KeptCode::NotWorthTheDisturbance => "NotWorthTheDisturbance",
            KeptCode::SpotToSpot => "SpotToSpot",
            KeptCode::WithinIdleWindow => "WithinIdleWindow",
            KeptCode::WithinMinimumOnTime => "WithinMinimumOnTime",
            KeptCode::CoolingDown => "CoolingDown",
            KeptCode::CorrelatedFailure => "CorrelatedFailure",
            KeptCode::BackingOff => "BackingOff",
            KeptCode::Destination => "Destination",
            KeptCode::OutOfTime => "OutOfTime",
        }
    }
}

impl fmt::Display for KeptCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
