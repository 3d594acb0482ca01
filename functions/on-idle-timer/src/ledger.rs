//! The ledger of what is spent under caps, brought up to date by what clouds really hold.

use cluster::{ClaimRead, ClusterError};
use decide::money::settled;
use model::{Claim, Entry, Instance, Offering, Uid};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use crate::{findings::Findings, read::Tick};

pub async fn run(tick: Arc<Tick>) -> Findings {
    settle(&tick).await.unwrap_or_else(|error| Findings::failure(error.to_string()))
}

async fn settle(tick: &Tick) -> Result<Findings, ClusterError> {
    // Without a ledger nobody has spent anything under a cap.
    let Some((ledger, version)) = tick.parts.cluster.spending().await? else { return Ok(Findings::default()) };
    let clouds = tick.clouds().await;
    if !clouds.problems.is_empty() {
        // What may still be there stays counted; the duty that closes leaks says what is wrong.
        return Ok(Findings::default());
    }
    let mut owned: BTreeMap<Uid, Option<Entry>> = BTreeMap::new();
    for (provider, all) in &clouds.listed {
        let orphaned = all.iter().filter(|one| !tick.claims.iter().any(|read| read.key().claim == one.key.claim));
        let instances: Vec<(&Uid, &Instance)> =
            orphaned.filter_map(|one| Some((&one.key.claim, one.instance.as_ref()?))).collect();
        let offerings = if instances.is_empty() { Vec::new() } else { offerings(tick, provider).await };
        owned.extend(all.iter().map(|one| (one.key.claim.clone(), None)));
        let priced = instances.into_iter().map(|(uid, instance)| (uid.clone(), price(tick, instance, &offerings)));
        owned.extend(priced);
    }
    let after = tick.parts.cluster.claims().await?;
    let known: BTreeSet<Uid> = after.iter().chain(&tick.claims).map(|read| read.key().claim.clone()).collect();
    let claims: Vec<Claim> = after.into_iter().filter_map(ClaimRead::claim).collect();
    let settled = settled(&ledger, &known, &claims, &owned, tick.now());
    if settled == ledger {
        return Ok(Findings::default());
    }
    match tick.parts.cluster.write_spending(&ledger, Some(&version), &settled).await {
        // Somebody was allowed a machine meanwhile: the next tick counts again.
        Err(error) if error.is_conflict() || error.is_not_found() => Ok(Findings::default()),
        written => {
            let over = ledger.0.keys().filter(|uid| !settled.0.contains_key(uid)).count();
            let said = format!("what is spent was counted again; {over} machines are not paid for any more");
            written.map(|()| Findings { done: vec![said], ..Findings::default() })
        }
    }
}

async fn offerings(tick: &Tick, provider: &str) -> Vec<Offering> {
    match tick.parts.providers.get(provider) {
        Ok(provider) => provider.offerings().await.unwrap_or_default(),
        Err(_) => Vec::new(),
    }
}

/// What such a machine costs now, the dearest of those that it can be.
fn price(tick: &Tick, instance: &Instance, offerings: &[Offering]) -> Option<Entry> {
    let same = |offering: &&Offering| {
        let id = &offering.id;
        id.instance_type.eq_ignore_ascii_case(&instance.instance_type) && id.capacity_type == instance.capacity_type
    };
    let prices = offerings.iter().filter(same).filter_map(|offering| offering.price.as_ref());
    let dearest = prices.max_by_key(|price| price.millionths_per_hour)?;
    Some(Entry::new(dearest, None, tick.now()))
}
