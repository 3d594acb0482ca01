//! What a claim says of itself to whoever looks at it: since when nothing happens on its node, that it is not what its pool would
//! make today, and what keeps it. A look costs a write only where one of them is new.

use jiff::Timestamp;
use model::{
    Claim, ClaimStatus, ConditionKind, Truth, Uid,
    disruption::{After, Drift, Kept, KeptCode},
};

use crate::{conditions, quiet};

/// One claim, as it was seen just now.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
    /// Those on its node that are no daemons and not over.
    pub pods: &'a [&'a Uid],
    /// Of its pool.
    pub after: After,
    /// `None` where nobody could judge it: what it says then stands.
    pub drift: Option<Option<&'a Drift>>,
    /// Why its node stays; `None` where that was not asked.
    pub kept: Option<&'a Kept>,
}

/// The status to write; `None` where nothing is new.
pub fn mark(claim: &Claim, seen: Seen<'_>, now: Timestamp) -> Option<ClaimStatus> {
    let mut status = quiet::note(claim, seen.pods, seen.after, now).unwrap_or_else(|| claim.status.clone());
    match seen.drift {
        Some(Some(drift)) => {
            conditions::set(&mut status, ConditionKind::Drifted, Truth::True, &drift.reason, &drift.message, now);
        }
        Some(None) => drop_condition(&mut status, ConditionKind::Drifted),
        None => {}
    }
    let must_leave = matches!(seen.drift, Some(Some(_)));
    match seen.kept {
        Some(kept) if blocks(kept.code, must_leave) => {
            let (kind, reason) = (ConditionKind::DisruptionBlocked, kept.code.as_str());
            conditions::set(&mut status, kind, Truth::True, reason, &kept.reason, now);
        }
        Some(_) => drop_condition(&mut status, ConditionKind::DisruptionBlocked),
        None => {}
    }
    (status != claim.status).then_some(status)
}

/// What is new about why it stays: worth an Event.
pub fn newly_blocked(before: &ClaimStatus, after: &ClaimStatus) -> Option<String> {
    let said = |status: &ClaimStatus| {
        let found = status.conditions.iter().find(|one| one.kind == ConditionKind::DisruptionBlocked);
        found.map(|one| one.message.clone())
    };
    said(after).filter(|words| said(before).as_ref() != Some(words))
}

/// Whether a person can do something about it. That a node is busy, young or as cheap as can be is how it should be.
fn blocks(code: KeptCode, must_leave: bool) -> bool {
    match code {
        KeptCode::NodeDoNotDisrupt
        | KeptCode::DoNotRepair
        | KeptCode::PodDoNotDisrupt
        | KeptCode::PodDisruptionBudget
        | KeptCode::SeveralPodDisruptionBudgets
        | KeptCode::CorrelatedFailure
        | KeptCode::BackingOff => true,
        KeptCode::NoOtherPlace | KeptCode::FixedSize => must_leave,
        KeptCode::NotManaged
        | KeptCode::PoolNotFound
        | KeptCode::Deleting
        | KeptCode::Disrupting
        | KeptCode::NotInitialized
        | KeptCode::ControlPlane
        | KeptCode::RunsUs
        | KeptCode::Cordoned
        | KeptCode::Nominated
        | KeptCode::ConsolidateAfterNever
        | KeptCode::WithinConsolidateAfter
        | KeptCode::NotEmpty
        // It changes with every node that goes; the pool's own nodes show it.
        | KeptCode::Budget
        | KeptCode::GpuWork
        | KeptCode::PriceUnknown
        | KeptCode::NotCheaper
        | KeptCode::SavingTooSmall
        | KeptCode::NotWorthTheDisturbance
        | KeptCode::SpotToSpot
        | KeptCode::WithinIdleWindow
        | KeptCode::WithinMinimumOnTime
        | KeptCode::CoolingDown
        | KeptCode::Destination
        | KeptCode::OutOfTime => false,
    }
}

fn drop_condition(status: &mut ClaimStatus, kind: ConditionKind) {
    status.conditions.retain(|condition| condition.kind != kind);
}
