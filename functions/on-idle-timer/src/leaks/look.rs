//! What a search for leaks looks at, in an order that proves something: claims, then clouds and the rest, then claims again.

use cluster::{ClaimRead, ClusterError};
use decide::leaks::Situation;
use model::{ResourceVersion, Uid};
use std::collections::BTreeSet;

use crate::{clouds::Clouds, read::Tick};

const POWER: &str = "power";

pub struct Looked {
    pub situation: Situation,
    /// Of the stock memory, for writing.
    pub stock_version: Option<ResourceVersion>,
    /// Clouds that could not be listed; the others are looked at all the same.
    pub problems: Vec<String>,
}

pub async fn look(tick: &Tick) -> Result<Looked, ClusterError> {
    let parts = &tick.parts;
    let known_before = tick.claims.iter().map(|read| read.key().claim.clone()).collect();
    let Clouds { listed, problems } = tick.clouds().await.clone();
    let nodes = parts.cluster.nodes().await?;
    let leases = parts.cluster.leases_of_ours().await?;
    let described = match parts.providers.get(POWER) {
        // Who describes no machine says so by an error, which proves nothing.
        Ok(rack) if !leases.is_empty() => rack.offerings().await.ok(),
        Ok(_) | Err(_) => None,
    };
    let described = described.map(|all| all.into_iter().map(|offering| offering.id.instance_type).collect());
    let (stock, stock_version) = parts.cluster.stock_lines().await?.unzip();
    let after = parts.cluster.claims().await?;
    let situation = Situation {
        known_before,
        known_after: after.iter().map(|read| read.key().claim.clone()).collect(),
        claims: after.into_iter().filter_map(ClaimRead::claim).collect(),
        clouds: listed,
        nodes,
        leases,
        described,
        stock: stock.unwrap_or_default(),
        now: tick.now(),
    };
    Ok(Looked { situation, stock_version, problems: problems.into_values().collect() })
}

/// The UIDs of all claims that there are now.
pub async fn uids(tick: &Tick) -> Result<BTreeSet<Uid>, ClusterError> {
    Ok(tick.parts.cluster.claims().await?.iter().map(|read| read.key().claim.clone()).collect())
}
