//! The rack: machines from the environment and from every PowerNodeClass, as one provider.
//!
//! Classes change while we run, so the list of machines is read for each call; a function keeps none of it.

use async_trait::async_trait;
use cluster::{Cluster, ClusterError};
use model::{Ensured, Gone, Instance, InstanceKey, InstanceRequest, Offering, Owned, Progress, Rebooted};
use provider::{Change, Look, Provider, ProviderError};
use provider_power::{
    HostRule, MachineConfig, Power, ReqwestTransport, Transport, UrlPolicy, environment::Environment,
};
use std::{collections::BTreeSet, sync::Arc};
use url::Url;

use super::{
    Clock, MachineHolds,
    racks::{self, ClassOfMachines},
};

/// The class of machines that the environment names.
const ENVIRONMENT_CLASS: &str = "default";
/// Tells the machines of one class from those of another; Karpenter labels nodes so.
pub const CLASS_LABEL: &str = "pilotlight.dev/powernodeclass";

type Carrier = Arc<dyn Fn(&UrlPolicy) -> Arc<dyn Transport> + Send + Sync>;

pub struct Rack {
    cluster: Cluster,
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
        Rack { cluster, machines, policy, carrier, clock }
    }

    async fn groups(&self) -> Result<Vec<Group>, ProviderError> {
        self.grouped(self.classes().await?)
    }

    fn grouped(&self, classes: Vec<ClassOfMachines>) -> Result<Vec<Group>, ProviderError> {
        let mut groups = Vec::new();
        if !self.machines.is_empty() {
            groups.push(self.group(self.machines.clone(), self.policy.clone())?);
        }
        for class in classes.into_iter().filter(|class| !class.machines.is_empty()) {
            groups.push(self.group(class.machines, class.policy)?);
        }
        Ok(groups)
    }

    async fn classes(&self) -> Result<Vec<ClassOfMachines>, ProviderError> {
        let doing = "reading the PowerNodeClasses".to_owned();
        let unavailable = |error: ClusterError| ProviderError::Unavailable { doing, why: error.to_string() };
        racks::read(&self.cluster, &self.machines).await.map_err(unavailable)
    }

    fn group(&self, machines: Vec<MachineConfig>, policy: UrlPolicy) -> Result<Group, ProviderError> {
        let names: BTreeSet<String> = machines.iter().map(|machine| machine.name.clone()).collect();
        let transport = (self.carrier)(&policy);
        let (cluster, clock) = (self.cluster.clone(), self.clock.clone());
        let holds = MachineHolds { cluster, machines: names.clone(), clock: clock.clone() };
        let power = Power::new(machines, policy, transport, Arc::new(holds), clock);
        let doing = "reading the machines of a rack".to_owned();
        let power = power.map_err(|error| ProviderError::InvalidRequest { doing, why: error.to_string() })?;
        Ok(Group { names, power })
    }

    /// A machine that is described nowhere any more cannot be switched off, and must not be forgotten.
    async fn nothing_else_held(&self, key: &InstanceKey, groups: &[Group]) -> Result<(), ProviderError> {
        let doing = || format!("switch off the machine of {}", key.name);
        let held = self.cluster.machines_held().await;
        let held = held.map_err(|error| ProviderError::Unavailable { doing: doing(), why: error.to_string() })?;
        let known = |machine: &String| groups.iter().any(|group| group.names.contains(machine));
        match held.iter().find(|(machine, hold)| hold.claim == key.claim && !known(machine)) {
            None => Ok(()),
            Some((machine, _)) => Err(ProviderError::InvalidRequest {
                doing: doing(),
                why: format!("the machine {machine} is not described any more; describe it again, or remove its Lease"),
            }),
        }
    }

    /// The group of the machine that is asked for; where none has it, the first one says so best.
    fn of<'a>(groups: &'a [Group], machine: &str) -> Result<&'a Group, ProviderError> {
        let found = groups.iter().find(|group| group.names.contains(machine)).or(groups.first());
        found.ok_or_else(|| ProviderError::InvalidRequest {
            doing: format!("switch on {machine}"),
            why: "no machine is described here; set <PREFIX>_NAME and its companions, or make a PowerNodeClass"
                .to_owned(),
        })
    }
}

fn hosts(machine: &MachineConfig) -> Vec<HostRule> {
    machine.urls().into_iter().filter_map(|url| HostRule::parse(Url::parse(url).ok()?.host_str()?)).collect()
}

#[async_trait]
impl Look for Rack {
    async fn offerings(&self) -> Result<Vec<Offering>, ProviderError> {
        // Whoever chooses a machine asks this, so here it is said once; claims and pods of the class hear it too.
        let classes = self.classes().await?;
        for class in &classes {
            for problem in &class.problems {
                tracing::warn!(class = class.name, problem, "a machine of a PowerNodeClass is left out");
            }
        }
        let mut offerings = Vec::new();
        for group in self.grouped(classes)? {
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
        // A claim has one machine: what it had of another group goes first.
        for other in groups.iter().filter(|other| other.names != group.names) {
            if let Some((progress, look_again_seconds)) = other.power.make_way(&request.key, request.epoch).await? {
                return Ok(Ensured::InProgress { progress, look_again_seconds });
            }
        }
        group.power.ensure(request, progress).await
    }

    async fn ensure_gone(&self, key: &InstanceKey, progress: Option<&Progress>) -> Result<Gone, ProviderError> {
        let groups = self.groups().await?;
        for group in &groups {
            let gone = group.power.ensure_gone(key, progress).await?;
            if gone != Gone::Confirmed {
                return Ok(gone);
            }
        }
        self.nothing_else_held(key, &groups).await?;
        Ok(Gone::Confirmed)
    }

    async fn reboot(&self, key: &InstanceKey, operation: &str) -> Result<Rebooted, ProviderError> {
        let mut answer = Rebooted::NotAble { why: format!("{} holds no machine", key.name) };
        for group in self.groups().await? {
            answer = group.power.reboot(key, operation).await?;
            if !matches!(answer, Rebooted::NotAble { .. }) {
                break;
            }
        }
        Ok(answer)
    }
}

impl Provider for Rack {
    fn name(&self) -> &'static str {
        "power"
    }

    fn can_reboot(&self) -> bool {
        true
    }
}
