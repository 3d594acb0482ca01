//! The rack: machines from the environment and from every PowerNodeClass, as one provider.
//!
//! Classes change while we run, so the list of machines is read for each call; a function keeps none of it.

use async_trait::async_trait;
use cluster::Cluster;
use model::{Ensured, Gone, Instance, InstanceKey, InstanceRequest, Offering, Owned, Progress};
use provider::{Change, Look, Provider, ProviderError, Retry};
use provider_power::{
    HostRule, MachineConfig, Power, ReqwestTransport, Transport, UrlPolicy, environment::Environment, machine_of,
};
use std::{collections::BTreeSet, sync::Arc};
use url::Url;

use super::{Clock, MachineLeases};

/// The class of machines that the environment names.
const ENVIRONMENT_CLASS: &str = "default";
/// Tells the machines of one class from those of another; Karpenter labels nodes so.
pub const CLASS_LABEL: &str = "pilotlight.dev/powernodeclass";

type Carrier = Arc<dyn Fn(&UrlPolicy) -> Arc<dyn Transport> + Send + Sync>;

pub struct Rack {
    cluster: Cluster,
    leases: MachineLeases,
    machines: Vec<MachineConfig>,
    policy: UrlPolicy,
    carrier: Carrier,
    clock: Clock,
}

/// Machines that are described in one place, with where their requests may go.
struct Group {
    names: BTreeSet<String>,
    power: Power,
}

impl Rack {
    /// Over the network.
    pub fn connect(cluster: Cluster, environment: &Environment, clock: Clock) -> Self {
        Rack::new(cluster, environment, clock, Arc::new(|policy| Arc::new(ReqwestTransport::new(policy.clone()))))
    }

    /// With a way of its own to send requests.
    pub fn new(cluster: Cluster, environment: &Environment, clock: Clock, carrier: Carrier) -> Self {
        for warning in &environment.warnings {
            tracing::warn!("{warning}");
        }
        let mut machines = environment.machines.clone();
        for machine in &mut machines {
            machine.labels.insert(CLASS_LABEL.to_owned(), ENVIRONMENT_CLASS.to_owned());
        }
        // Whoever sets our environment may say where we call; plain HTTP too, as the webhooks of old racks want it.
        let policy = UrlPolicy::new(machines.iter().flat_map(hosts).collect(), true);
        let leases = MachineLeases(cluster.clone());
        Rack { cluster, leases, machines, policy, carrier, clock }
    }

    async fn groups(&self) -> Result<Vec<Group>, ProviderError> {
        let mut groups = Vec::new();
        if !self.machines.is_empty() {
            groups.push(self.group(self.machines.clone(), self.policy.clone())?);
        }
        for class in super::classes::racks(&self.cluster).await? {
            match self.group(class.machines, class.policy) {
                Ok(group) => groups.push(group),
                // One class with a mistake does not stop the others.
                Err(error) => tracing::warn!(class = class.name, %error, "a PowerNodeClass is left out"),
            }
        }
        Ok(groups)
    }

    fn group(&self, machines: Vec<MachineConfig>, policy: UrlPolicy) -> Result<Group, ProviderError> {
        let names = machines.iter().map(|machine| machine.name.clone()).collect();
        let transport = (self.carrier)(&policy);
        let power = Power::new(machines, policy, transport, Arc::new(self.leases.clone()), self.clock.clone());
        let doing = "reading the machines of a rack".to_owned();
        let power = power.map_err(|error| ProviderError::InvalidRequest { doing, why: error.to_string() })?;
        Ok(Group { names, power })
    }

    /// The group of the machine that is asked for; where none has it, the first one says so best.
    fn of<'a>(groups: &'a [Group], machine: &str) -> Result<&'a Group, ProviderError> {
        let found = groups.iter().find(|group| group.names.contains(machine)).or(groups.first());
        found.ok_or_else(|| ProviderError::InvalidRequest {
            doing: format!("switch on {machine}"),
            why: "no machine is described here; set <PREFIX>_NAME and its companions, or make a PowerNodeClass".to_owned(),
        })
    }
}

fn hosts(machine: &MachineConfig) -> Vec<HostRule> {
    machine.urls().into_iter().filter_map(|url| HostRule::parse(Url::parse(url).ok()?.host_str()?)).collect()
}

#[async_trait]
impl Look for Rack {
    async fn offerings(&self) -> Result<Vec<Offering>, ProviderError> {
        let mut offerings = Vec::new();
        for group in self.groups().await? {
            offerings.extend(group.power.offerings().await?);
        }
        Ok(offerings)
    }

    async fn observe(&self, key: &InstanceKey) -> Result<Option<Instance>, ProviderError> {
        for group in self.groups().await? {
            if let Some(found) = group.power.observe(key).await? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    async fn owned(&self) -> Result<Vec<Owned>, ProviderError> {
        let mut owned = Vec::new();
        for group in self.groups().await? {
            owned.extend(group.power.owned().await?);
        }
        Ok(owned)
    }
}

#[async_trait]
impl Change for Rack {
    async fn ensure(&self, request: &InstanceRequest, progress: Option<&Progress>) -> Result<Ensured, ProviderError> {
        let groups = self.groups().await?;
        let machine = &request.offering.id.instance_type;
        let group = Rack::of(&groups, machine)?;
        if group.names.contains(machine) && !self.leases.take(machine, &request.key.claim).await? {
            let doing = format!("switch on {machine}");
            return Err(ProviderError::Conflict { doing, what: format!("machine {machine}") });
        }
        let reached = group.power.ensure(request, progress).await;
        // Nothing is on that we asked for: the next claim may try it.
        if reached.as_ref().is_err_and(|error| matches!(error.retry(), Retry::NextOffering | Retry::Never)) {
            self.leases.give_back(machine, &request.key.claim).await?;
        }
        reached
    }

    async fn ensure_gone(&self, key: &InstanceKey, progress: Option<&Progress>) -> Result<Gone, ProviderError> {
        let groups = self.groups().await?;
        let told = progress.and_then(machine_of);
        for group in &groups {
            // Progress of another group's machine means nothing here.
            let progress = progress.filter(|_| told.as_ref().is_none_or(|machine| group.names.contains(machine)));
            let gone = group.power.ensure_gone(key, progress).await?;
            if gone != Gone::Confirmed {
                return Ok(gone);
            }
        }
        // Only now: until it is off nobody else may count on it.
        for machine in groups.iter().flat_map(|group| &group.names) {
            self.leases.give_back(machine, &key.claim).await?;
        }
        Ok(Gone::Confirmed)
    }
}

impl Provider for Rack {
    fn name(&self) -> &'static str {
        "power"
    }
}
