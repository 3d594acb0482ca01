//! What every error code of Azure means to us: one table, by code, never by text.

use core::time::Duration;
use model::OfferingId;
use provider::{ProviderError, Scope};

use crate::{PROVIDER, quota::QuotaSeen, refusal::Refusal};

/// What a code means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// None of this offering now.
    OfferingGone,
    /// None of this size in the zone or, asked for without one, in the region.
    PlaceGone,
    /// This subscription cannot have this size at all.
    SizeGone,
    /// The cluster takes no more pools.
    ClusterFull,
    Quota,
    /// Another operation runs. Nothing was done.
    Busy,
    Throttled,
    NotAllowed,
    /// A name in the settings is wrong.
    Misplaced,
    Invalid,
    /// There is no such pool.
    Absent,
    /// Something changed under us: look again.
    Changed,
    Unavailable,
}

use Meaning::{
    Absent, Busy, Changed, ClusterFull, Invalid, Misplaced, NotAllowed, OfferingGone, PlaceGone, Quota, SizeGone,
    Throttled, Unavailable,
};

/// Code, meaning, and what a person can do about it. Compared without case.
#[rustfmt::skip]
pub(crate) const TABLE: &[(&str, Meaning, &str)] = &[
    ("SkuNotAvailable", OfferingGone, ""),
    ("ZonalAllocationFailed", OfferingGone, ""),
    ("AllocationFailed", PlaceGone, ""),
    ("OverconstrainedAllocationRequest", OfferingGone, ""),
    ("OverconstrainedZonalAllocationRequest", OfferingGone, ""),
    ("AvailabilityZoneNotSupported", OfferingGone, ""),
    ("SpotEvicted", OfferingGone, ""),
    ("VMSizeNotSupported", SizeGone, ""),
    ("VMSizeNotAllowed", SizeGone, ""),
    ("NotAvailableForSubscription", SizeGone, ""),
    ("MaxAgentPoolCountReached", ClusterFull, ""),
    ("ErrCode_InsufficientVCPUQuota", Quota, ""),
    ("InsufficientVCPUQuota", Quota, ""),
    ("QuotaExceeded", Quota, ""),
    ("LowPriorityCoresQuotaExceeded", Quota, ""),
    ("OperationNotAllowed", Busy, ""),
    ("AnotherOperationInProgress", Busy, ""),
    ("OperationPreempted", Busy, ""),
    ("Conflict", Busy, ""),
    ("EtagMismatch", Changed, ""),
    ("OriginalEtagNotExpect", Changed, ""),
    ("PreconditionFailed", Changed, ""),
    ("TooManyRequests", Throttled, ""),
    ("Throttled", Throttled, ""),
    ("SubscriptionRequestsThrottled", Throttled, ""),
    ("ResourceRequestsThrottled", Throttled, ""),
    ("OperationThrottled", Throttled, ""),
    ("AuthenticationFailed", NotAllowed, "check the federated credential or secret of AZURE_CLIENT_ID"),
    ("AuthenticationFailedInvalidHeader", NotAllowed, "check AZURE_AUTHORITY_HOST"),
    ("ExpiredAuthenticationToken", NotAllowed, "check the clock of this machine and the identity's federated credential"),
    ("InvalidAuthenticationToken", NotAllowed, "check AZURE_TENANT_ID and AZURE_CLIENT_ID"),
    ("InvalidAuthenticationTokenTenant", NotAllowed, "check AZURE_TENANT_ID"),
    ("InvalidAuthenticationTokenAudience", NotAllowed, "check AZURE_RESOURCE_MANAGER_ENDPOINT and AZURE_CLOUD"),
    ("AuthorizationFailed", NotAllowed, "grant the identity of AZURE_CLIENT_ID a role with this action, for example Contributor on the managed cluster"),
    ("LinkedAuthorizationFailed", NotAllowed, "grant the identity the right to join the subnet or reservation that is named"),
    ("RequestDisallowedByPolicy", NotAllowed, "a policy of the subscription forbids it; ask its owner"),
    ("ScopeLocked", NotAllowed, "remove the lock from the cluster or its resource group"),
    ("ReadOnlyDisabledSubscription", NotAllowed, "enable the subscription again"),
    ("SubscriptionNotFound", Misplaced, "check ARM_SUBSCRIPTION_ID"),
    ("InvalidSubscriptionId", Misplaced, "check ARM_SUBSCRIPTION_ID"),
    ("ResourceGroupNotFound", Misplaced, "check ARM_RESOURCE_GROUP"),
    ("ParentResourceNotFound", Misplaced, "check AZURE_CLUSTER_NAME"),
    ("ResourceNotFound", Misplaced, "check AZURE_CLUSTER_NAME"),
    ("NoRegisteredProviderFound", Misplaced, "check LOCATION"),
    ("MissingSubscriptionRegistration", Misplaced, "register Microsoft.ContainerService in the subscription"),
    ("OperationNotFound", Absent, ""),
    ("NotFound", Absent, ""),
    ("InvalidParameter", Invalid, "change the claim or its node class"),
    ("InvalidRequestContent", Invalid, "change the claim or its node class"),
    ("UnmarshalError", Invalid, "change the claim or its node class"),
    ("PropertyChangeNotAllowed", Invalid, "delete the claim and make a new one"),
    ("InsufficientSubnetSize", Invalid, "use a larger subnet or a smaller maxPods"),
    ("SubnetIsFull", Invalid, "use a larger subnet or a smaller maxPods"),
    ("MissingApiVersionParameter", Invalid, "report this as a defect"),
    ("BadRequest", Invalid, "change the claim or its node class"),
    ("InternalServerError", Unavailable, ""),
    ("InternalOperationError", Unavailable, ""),
    ("InternalError", Unavailable, ""),
    ("ServiceUnavailable", Unavailable, ""),
    ("ServerTimeout", Unavailable, ""),
    ("GatewayTimeout", Unavailable, ""),
    ("Timeout", Unavailable, ""),
    ("Canceled", Unavailable, ""),
];

/// How long a busy cluster is left alone, where it does not say.
pub(crate) const BUSY_FOR: Duration = Duration::from_secs(10);

/// What was asked for, as far as an error is about it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct About<'a> {
    pub offering: Option<&'a OfferingId>,
    /// Whether the request changes something, so that a lost answer leaves a doubt.
    pub changes: bool,
    pub quota: Option<&'a QuotaSeen>,
}

/// The meaning of a refusal and the advice that goes with it. A quota code anywhere in it outweighs a busy one outside.
pub(crate) fn meaning(refusal: &Refusal) -> (Meaning, &'static str) {
    let known = |code: &String| TABLE.iter().find(|(own, ..)| own.eq_ignore_ascii_case(code));
    let mut found = refusal.codes.iter().filter_map(known).map(|(_, meaning, advice)| (*meaning, *advice));
    let vague = |meaning: Meaning| matches!(meaning, Busy | Invalid | Unavailable);
    let first = found.clone().next();
    let precise = found.find(|(meaning, _)| !vague(*meaning));
    precise.or(first).unwrap_or_else(|| by_status(refusal.status))
}

fn by_status(status: u16) -> (Meaning, &'static str) {
    match status {
        400 | 405 | 413 | 415 | 422 => (Invalid, "change the claim or its node class"),
        401 | 403 => (NotAllowed, "check the identity of AZURE_CLIENT_ID and its roles"),
        404 => (Misplaced, "check ARM_SUBSCRIPTION_ID, ARM_RESOURCE_GROUP and AZURE_CLUSTER_NAME"),
        409 => (Busy, ""),
        412 => (Changed, ""),
        429 => (Throttled, ""),
        _ => (Unavailable, ""),
    }
}

pub(crate) fn error(doing: &str, refusal: &Refusal, about: About<'_>) -> ProviderError {
    let doing = doing.to_owned();
    let (meaning, advice) = meaning(refusal);
    let why = || if advice.is_empty() { refusal.summary() } else { format!("{}; {advice}", refusal.summary()) };
    let scope = |width: Meaning| scope(width, about.offering);
    // A 5xx or 408 says that something broke on the way, not that nothing happened.
    if about.changes && (refusal.status >= 500 || refusal.status == 408) {
        return ProviderError::Uncertain { doing, why: why() };
    }
    match meaning {
        OfferingGone | PlaceGone | SizeGone | ClusterFull => {
            ProviderError::InsufficientCapacity { doing, scope: scope(meaning) }
        }
        Quota => match about.quota {
            Some(seen) => {
                ProviderError::QuotaExceeded { doing, scope: seen.scope(), limit: seen.limit, used: seen.used }
            }
            // Without the numbers it is still true that this offering cannot be had.
            None => ProviderError::QuotaExceeded { doing, scope: scope(OfferingGone), limit: 0, used: 0 },
        },
        Busy => ProviderError::Busy { doing, retry_after: refusal.retry_after.unwrap_or(BUSY_FOR) },
        Throttled => ProviderError::Throttled { doing, retry_after: refusal.retry_after },
        NotAllowed => ProviderError::Unauthorized { doing, why: why() },
        Misplaced | Invalid | Absent => ProviderError::InvalidRequest { doing, why: why() },
        Changed | Unavailable => ProviderError::Unavailable { doing, why: why() },
    }
}

fn scope(width: Meaning, offering: Option<&OfferingId>) -> Scope {
    let provider = || PROVIDER.to_owned();
    match (width, offering) {
        (ClusterFull, _) | (_, None) => Scope::Provider { provider: provider() },
        (SizeGone, Some(id)) => Scope::InstanceType { provider: provider(), instance_type: id.instance_type.clone() },
        // Asked for without a zone, Azure looked in all of them.
        (PlaceGone, Some(id)) if id.zone.is_none() => {
            Scope::InstanceType { provider: provider(), instance_type: id.instance_type.clone() }
        }
        (_, Some(id)) => Scope::Offering(id.clone()),
    }
}
