//! Each provider before its cloud of a world of its own, with the claims that it is to serve.

use async_trait::async_trait;
use bytes::Bytes;
use http::Request;
use model::{CapacityType, InstanceKey, InstanceRequest, ObjectName, Offering, Uid};
use provider::{Look as _, Provider};
use provider_aks::{Aks, TokenError, Tokens};
use provider_power::{Auth, Clock, HoldTable, HostRule, MachineConfig, Power, Secret, UrlPolicy, presets};
use provider_scaleway::{Scaleway, catalogue};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use world::{
    World, WorldOptions,
    arm::{ArmOptions, Effect, Fault, Rates},
    power::{BackEnd, MachineOptions},
    scaleway::options::{Misfortune, MisfortuneKind},
};

use super::wire::{Carry, Wire};
use crate::Result;

/// A provider, the wire it speaks over, and one request a claim.
pub struct Stage {
    pub world: World,
    pub wire: Wire,
    pub provider: Arc<dyn Provider>,
    pub requests: Vec<InstanceRequest>,
}

/// An Azure that never says 429.
pub const UNLIMITED: Rates =
    Rates { reads: None, writes: None, deletes: None, put_agent_pool: None, operation_status: None };

/// What every measured world has in common: the machines run and never join, because nodes and their heartbeats would cost
/// more than all that is measured, and a provider does not see them. The history is not kept for the same reason.
pub fn options(claims: usize) -> WorldOptions {
    let mut options = WorldOptions { most_exchanges: 0, ..WorldOptions::default() };
    let arm = &mut options.arm;
    arm.faults.push(Fault::new(Effect::NodeNeverJoins));
    // Few subscriptions have quota for so many machines; this one has.
    (arm.quota.family_default, arm.quota.regional) = (u64::from(u32::MAX), u64::from(u32::MAX));
    // One token is enough for the longest run.
    arm.tokens.life = Duration::from_secs(365 * 24 * 3600);
    options.scaleway.misfortunes.push(Misfortune::always(MisfortuneKind::NeverJoins));
    options.power.machines = (0..claims).map(machine).collect();
    options
}

fn machine(number: usize) -> MachineOptions {
    let mut machine = MachineOptions::new(&machine_name(number), BackEnd::MaasPower, 1);
    machine.faults.never_joins = true;
    machine
}

pub async fn aks(options: WorldOptions, claims: usize) -> Result<Stage> {
    let arm = options.arm.clone();
    let world = World::start(options);
    let wire = Wire::to(world.aks());
    let settings = provider_aks::Settings::read(|name| {
        let value = match name {
            "ARM_SUBSCRIPTION_ID" => &arm.subscription,
            "ARM_RESOURCE_GROUP" => &arm.resource_group,
            "AZURE_CLUSTER_NAME" => &arm.cluster,
            "LOCATION" => &arm.location,
            "AZURE_TENANT_ID" => &arm.tenant,
            "AZURE_CLIENT_ID" => &arm.identities.first()?.client_id,
            "AZURE_CLIENT_SECRET" => return arm.identities.first()?.secret.clone(),
            _ => return None,
        };
        Some(value.clone())
    });
    let settings = settings.map_err(|problems| format!("the settings of the world's AKS: {problems:?}"))?;
    let token = OneToken(sign_in(&world, &arm).await?);
    let clock = world.clock;
    let provider = Aks::new(settings, Arc::new(wire.clone()), Arc::new(token)).with_clock(move || clock.now());
    let offering = on_demand(provider_aks::bundled(&arm.location, &[]), "Standard_NC24ads_A100_v4")?;
    let class = words(&[("creationTimestamp", "2026-01-01T00:00:00Z")]);
    let requests = requests(claims, |_| Ok((offering.clone(), class.clone())))?;
    Ok(Stage { world, wire, provider: Arc::new(provider), requests })
}

/// Signed in before anything is measured, past the wire.
async fn sign_in(world: &World, arm: &ArmOptions) -> Result<String> {
    let identity = arm.identities.first().ok_or("the world's Azure has no identity")?;
    let form = format!(
        "grant_type=client_credentials&client_id={}&client_secret={}&scope=https%3A%2F%2Fmanagement.azure.com%2F.default",
        identity.client_id,
        identity.secret.as_deref().unwrap_or_default()
    );
    let address = format!("https://login.microsoftonline.com/{}/oauth2/v2.0/token", arm.tenant);
    let request = Request::post(address).header("content-type", "application/x-www-form-urlencoded");
    let answer = world.aks().carry(request.body(Bytes::from(form))?).await?;
    let body: Value = serde_json::from_slice(answer.body())?;
    let token = body["access_token"].as_str();
    Ok(token.ok_or_else(|| format!("the world's Azure gave no token: {body}"))?.to_owned())
}

struct OneToken(String);

#[async_trait]
impl Tokens for OneToken {
    async fn token(&self, _: &str) -> std::result::Result<String, TokenError> {
        Ok(self.0.clone())
    }

    fn forget(&self) {}
}

pub async fn scaleway(options: WorldOptions, claims: usize) -> Result<Stage> {
    let world = World::start(options);
    let wire = Wire::to(world.scaleway());
    // No host is asked at this address: the wire ends in the world.
    scaleway_over(world, wire, "http://127.0.0.1:1", claims)
}

/// The same with a wire of the caller's, for example one over a socket.
pub fn scaleway_over(world: World, wire: Wire, url: &str, claims: usize) -> Result<Stage> {
    let defaults = world::scaleway::Options::default();
    let key = defaults.keys.first().ok_or("the world's Scaleway has no key")?;
    let known = [
        ("SCW_SECRET_KEY", key.secret.as_str()),
        ("SCW_DEFAULT_PROJECT_ID", &defaults.project),
        ("PILOTLIGHT_CLUSTER_ID", "bench"),
        ("SCW_API_URL", url),
    ];
    let lookup = |name: &str| known.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
    let settings = provider_scaleway::Settings::from_lookup(lookup)
        .map_err(|problems| format!("the settings of the world's Scaleway: {problems}"))?;
    let clock = world.clock;
    let provider = Scaleway::with(settings, Arc::new(wire.clone()), Arc::new(move || clock.now()));
    let offering = on_demand(catalogue::bundled_offerings(&catalogue::GPU_ZONES.map(str::to_owned)), "L4-1-24G")?;
    let class = words(&[
        ("join", "kubeadm"),
        ("join.endpoint", "10.0.0.1:6443"),
        ("join.token", "abcdef.0123456789abcdef"),
        ("join.ca-cert-hash", "sha256:8a5f"),
        ("join.kubernetes-version", "1.34"),
    ]);
    let requests = requests(claims, |_| Ok((offering.clone(), class.clone())))?;
    Ok(Stage { world, wire, provider: Arc::new(provider), requests })
}

pub async fn power(options: WorldOptions, claims: usize) -> Result<Stage> {
    let world = World::start(options);
    let wire = Wire::to(world.power());
    let auth = Auth::Basic { user: "bench".to_owned(), password: Secret::new("bench") };
    let config = |number: usize| {
        let name = machine_name(number);
        let address = |verb: &str| format!("http://rack.test/maaspower/{name}/{verb}");
        let back_end = presets::maas(&address("on"), &address("off"), &address("query"), &auth);
        MachineConfig::new(&name, 1, back_end)
    };
    let rack = HostRule::parse("rack.test").ok_or("rack.test is no rule for hosts")?;
    let policy = UrlPolicy::new(vec![rack], true);
    let clock = world.clock;
    let machines = (0..claims).map(config).collect();
    let transport = Arc::new(wire.clone());
    let clock: Clock = Arc::new(move || clock.now());
    let holds = Arc::new(HoldTable::without_nodes(clock.clone()));
    let provider = Power::new(machines, policy, transport, holds, clock)?;
    let offerings = provider.offerings().await?;
    let requests = requests(claims, |number| {
        let offering = offerings.get(number).ok_or("fewer offerings than machines")?;
        Ok((offering.clone(), BTreeMap::new()))
    })?;
    Ok(Stage { world, wire, provider: Arc::new(provider), requests })
}

const MACHINE_PREFIX: &str = "rack-";

fn machine_name(number: usize) -> String {
    format!("{MACHINE_PREFIX}{number}")
}

fn uid(number: usize) -> String {
    format!("6f1c0d3e-1111-4222-8333-{number:012}")
}

fn requests(
    claims: usize,
    wanted: impl Fn(usize) -> Result<(Offering, BTreeMap<String, String>)>,
) -> Result<Vec<InstanceRequest>> {
    let request = |number: usize| {
        let (offering, class) = wanted(number)?;
        let key = InstanceKey { claim: Uid::new(uid(number))?, name: ObjectName::new(format!("burst-{number}"))? };
        Ok(InstanceRequest {
            key,
            offering,
            epoch: 1,
            labels: words(&[("karpenter.sh/nodepool", "gpu")]),
            annotations: BTreeMap::new(),
            taints: Vec::new(),
            startup_taints: Vec::new(),
            requests: model::Resources::from([("storage".to_owned(), "120Gi".parse()?)]),
            class,
        })
    };
    (0..claims).map(request).collect()
}

fn on_demand(offerings: Vec<Offering>, instance_type: &str) -> Result<Offering> {
    let fits = |one: &Offering| one.id.instance_type == instance_type && one.id.capacity_type == CapacityType::OnDemand;
    Ok(offerings.into_iter().find(fits).ok_or_else(|| format!("{instance_type} is not in the catalogue"))?)
}

fn words(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}
