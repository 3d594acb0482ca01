//! What on-nodeclaim must know: the claim as it is now, its class, its node, and what can be had.

use cluster::{ClaimAsRead, ClaimRead, ClusterError, NodeSearch};
use decide::{
    claim::{OfferingsSeen, Policy, Situation, Whose, needs_offerings},
    money::{Money, PoolCap, caps},
};
use host::parts::{Parts, requirements_for};
use model::{Answer, Claim, ConditionKind, Node, NodeClaimChanged, ObjectName, StockMemory, names};
use std::collections::BTreeMap;

/// The claim, word for word for writing, and the situation for deciding.
pub struct Seen {
    pub claim: ClaimAsRead,
    pub situation: Situation,
}

pub enum Read {
    Seen(Box<Seen>),
    Answered(Answer),
    /// The claim of the event is not there any more.
    Gone,
}

pub async fn read(parts: &Parts, event: &NodeClaimChanged) -> Read {
    match look(parts, event).await {
        Ok(read) => read,
        Err(error) => Read::Answered(Answer::failed(error.to_string())),
    }
}

async fn look(parts: &Parts, event: &NodeClaimChanged) -> Result<Read, ClusterError> {
    let object = &event.claim.object;
    let as_read = match parts.cluster.claim(&object.name).await? {
        Some(found) if found.key().claim != object.uid => return Ok(Read::Gone),
        None => return Ok(Read::Gone),
        Some(ClaimRead::Claim(found)) => *found,
        Some(ClaimRead::Malformed(malformed)) => {
            parts.cluster.refuse(super::NAME, &malformed, parts.now()).await?;
            return Ok(Read::Answered(Answer::nothing(format!("NodeClaim {}: {}", object.name, malformed.why))));
        }
    };
    let claim = as_read.claim.clone();
    let ours = match parts.whose(&claim).await? {
        Whose::Ours(ours) => ours,
        Whose::Others { reason } => {
            let reason = format!("NodeClaim {} is left alone: {reason}", object.name);
            return Ok(Read::Answered(Answer::nothing(reason)));
        }
    };
    let pool = pool_annotations(parts, &claim).await?;
    let (policy, problems) = Policy::read(&claim.annotations, &pool);
    for problem in problems {
        tracing::warn!(claim = %object.name, "{problem}");
    }
    let (offerings, stock) = choice(parts, &claim, ours.provider).await?;
    let money = money(parts, &claim, &pool).await?;
    let class = parts.classes.of(&parts.cluster, &claim, ours).await?;
    let nodes = nodes(parts, &claim).await?;
    let situation = Situation {
        requirements: requirements_for(ours.provider, &claim, &class),
        class,
        offerings,
        stock,
        nodes,
        policy,
        money,
        // Only Scaleway's user data holds a secret that outlives its use.
        tell_joined: ours.provider == provider_scaleway::PROVIDER,
        ours,
        claim,
        now: parts.now(),
    };
    Ok(Read::Seen(Box::new(Seen { claim: as_read, situation })))
}

async fn pool_annotations(parts: &Parts, claim: &Claim) -> Result<BTreeMap<String, String>, ClusterError> {
    let pool = claim.labels.get(names::NODE_POOL).and_then(|name| ObjectName::new(name).ok());
    match pool {
        Some(pool) => Ok(parts.cluster.pool_annotations(&pool).await?.unwrap_or_default()),
        None => Ok(BTreeMap::new()),
    }
}

/// The catalogue and the stock memory, where a choice is to be made.
async fn choice(parts: &Parts, claim: &Claim, provider: &str) -> Result<(OfferingsSeen, StockMemory), ClusterError> {
    if !needs_offerings(claim) {
        return Ok((OfferingsSeen::NotAsked, StockMemory::default()));
    }
    let offerings = match parts.providers.get(provider) {
        Ok(provider) => match provider.offerings().await {
            Ok(offerings) => OfferingsSeen::Known(offerings),
            Err(error) => OfferingsSeen::Failed(error.failure()),
        },
        Err(failure) => OfferingsSeen::Failed(*failure),
    };
    Ok((offerings, parts.cluster.stock().await?))
}

/// What may still be spent, where a choice is to be made and somebody set a cap. The ledger is read before the claims: what
/// is crossed out of it meanwhile makes our own write fail.
async fn money(parts: &Parts, claim: &Claim, pool: &BTreeMap<String, String>) -> Result<Money, ClusterError> {
    let name = claim.labels.get(names::NODE_POOL).map(String::as_str).unwrap_or_default();
    let pool = PoolCap::read(name, pool);
    if !needs_offerings(claim) || (pool.is_none() && parts.max_price.is_none()) {
        return Ok(Money::default());
    }
    let (ledger, version) = parts.cluster.spending().await?.unzip();
    let ledger = ledger.unwrap_or_default();
    let claims = parts.cluster.claims().await?;
    let known: Vec<Claim> = claims.into_iter().filter_map(ClaimRead::claim).collect();
    let caps = caps(parts.max_price.as_ref(), pool, &ledger, &known, Some(&claim.key.claim));
    Ok(Money { caps, ledger, version })
}

/// The nodes of the claim, once there can be one.
async fn nodes(parts: &Parts, claim: &Claim) -> Result<Vec<Node>, ClusterError> {
    if !claim.is(ConditionKind::Launched) {
        return Ok(Vec::new());
    }
    let search = NodeSearch::of(claim);
    let found = parts.cluster.nodes_of(&search).await?;
    Ok(found.into_iter().filter(|node| search.fits(node)).collect())
}
