//! Everything that a decision about nodes looks at, read at one moment.

use cluster::{
    ClaimAsRead, ClaimRead, ClusterError,
    scene::{Told, read_inventory, read_scene},
};
use decide::{
    command::paused,
    disruption::Situation,
    provision,
    repair::{Patient, judge},
};
use model::{Claim, ConditionKind, Node, disruption::Unhealthy, names};
use on_pending_pod::pools::{self, Pools};
use std::collections::BTreeMap;

use crate::read::Tick;

/// The provider of machines that are switched.
const POWER: &str = "power";

pub struct Picture {
    pub situation: Situation,
    /// Those of the claims that are ours, word for word.
    pub claims: Vec<ClaimAsRead>,
    /// The Nodes of the same moment.
    pub nodes: Vec<Node>,
}

pub async fn look(tick: &Tick) -> Result<Picture, String> {
    read(tick).await.map_err(|error| error.to_string())
}

async fn read(tick: &Tick) -> Result<Picture, ClusterError> {
    let parts = &tick.parts;
    let mut source = parts.cluster.whole_source().await?;
    // After the pods: a pool that was there before its pod is not missed.
    let pools = pools::look(parts).await?;
    source.pools = pools.sources.clone();
    source.catalogues = pools.catalogues.clone();
    if !parts.default_spread.is_empty() {
        source.default_spread = parts.default_spread.clone();
        parts.cluster.selecting(&mut source).await?;
    }
    source.claims = parts.cluster.claims().await?;
    source.now = tick.now();
    let mut claims = known(&source.claims);
    let plain: Vec<Claim> = claims.iter().map(|read| read.claim.clone()).collect();
    // What another controller looks after is a place for pods, and nothing that we take away, repair or write on.
    let ours = parts.ours(plain.iter()).await?;
    claims.retain(|read| ours.contains(&read.claim.key.claim));
    source.claims.iter_mut().for_each(on_pending_pod::known_by_its_node);
    let nodes = source.nodes_read();
    let told = Told {
        own_node: parts.own_node.clone(),
        unhealthy: unhealthy(tick, &claims, &nodes),
        classes: pools.classes.clone(),
        paused: back_offs(tick, &pools),
        changed_at: switched_at(&claims),
    };
    let read = read_scene(&source);
    let mut inventory = read_inventory(&source, &read, &told);
    inventory.nodes.retain(|here| here.claim.as_ref().is_some_and(|claim| ours.contains(&claim.key.claim)));
    let mut scene = read.scene;
    pools.fill_machines(&mut scene);
    let facts = scene.pools.iter().filter_map(|pool| pools.facts.get(pool.name.as_str()).cloned()).collect();
    let provision = provision::Situation { scene, pools: facts, claims: plain, now: source.now };
    Ok(Picture { situation: Situation { provision, inventory }, claims, nodes })
}

fn known(claims: &[ClaimRead]) -> Vec<ClaimAsRead> {
    let claim = |read: &ClaimRead| match read {
        ClaimRead::Claim(read) => Some((**read).clone()),
        ClaimRead::Malformed(_) => None,
    };
    claims.iter().filter_map(claim).collect()
}

/// What repair policies find, by node.
fn unhealthy(tick: &Tick, claims: &[ClaimAsRead], nodes: &[Node]) -> BTreeMap<String, Unhealthy> {
    let by_name: BTreeMap<&str, &Node> = nodes.iter().map(|node| (node.name.as_str(), node)).collect();
    let found = claims.iter().filter_map(|read| {
        let claim = &read.claim;
        let node = by_name.get(claim.status.node.as_deref()?)?;
        let patient = Patient { node, claim: Some(claim), can_reboot: can_reboot(tick, claim) };
        Some((node.name.to_string(), judge(&tick.parts.repair, patient, tick.now())?))
    });
    found.collect()
}

fn can_reboot(tick: &Tick, claim: &Claim) -> bool {
    let provider = claim.record().map_or("", |record| record.offering.id.provider.as_str());
    tick.parts.providers.get(provider).is_ok_and(|provider| provider.can_reboot())
}

fn back_offs(tick: &Tick, pools: &Pools) -> BTreeMap<String, model::disruption::Paused> {
    let of_pool = |source: &cluster::scene::PoolSource| {
        let metadata = &source.pool.metadata;
        let noted = metadata.annotations.as_ref().and_then(|all| all.get(names::BACK_OFF));
        Some((metadata.name.clone()?, paused(noted.map(String::as_str), tick.now())?))
    };
    pools.sources.iter().filter_map(of_pool).collect()
}

/// When a machine of one's own came on: it rests before it is switched again.
fn switched_at(claims: &[ClaimAsRead]) -> BTreeMap<String, jiff::Timestamp> {
    let of_claim = |read: &ClaimAsRead| {
        let claim = &read.claim;
        let is_power = claim.record().is_some_and(|record| record.offering.id.provider == POWER);
        let registered = claim.condition(ConditionKind::Registered).filter(|_| is_power)?;
        Some((claim.status.node.clone()?, registered.since))
    };
    claims.iter().filter_map(of_claim).collect()
}
