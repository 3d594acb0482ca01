//! The machines of every PowerNodeClass: those that can be used, and in words what is wrong with the others.

use cluster::{
    ClassServed, Cluster, ClusterError,
    crd::{PowerMachine, PowerNodeClassSpec, Secrets},
};
use provider_power::{HostRule, Machine, MachineConfig, UrlPolicy};
use std::collections::BTreeMap;

use super::{classes, power::CLASS_LABEL};

pub const POWER: ClassServed = ClassServed { version: "v1alpha1", plural: "powernodeclasses" };

/// The machines of one PowerNodeClass, and where their requests may go.
pub struct ClassOfMachines {
    pub name: String,
    pub machines: Vec<MachineConfig>,
    pub policy: UrlPolicy,
    /// What keeps machines, or the whole class, from being used.
    pub problems: Vec<String>,
}

/// Reads every PowerNodeClass. Two descriptions of one machine would switch it against each other, so the first one counts: that of
/// the variables, then those of classes by name.
pub async fn read(cluster: &Cluster, described: &[MachineConfig]) -> Result<Vec<ClassOfMachines>, ClusterError> {
    let mut known = Known::default();
    for machine in described {
        known.add(machine, "the variables of this process");
    }
    let mut objects = cluster.class_objects(classes::OWN_GROUP, "PowerNodeClass", POWER).await?;
    objects.sort_by(|one, other| one.0.cmp(&other.0));
    let mut racks = Vec::new();
    for (name, object) in objects {
        let spec: PowerNodeClassSpec = match serde_json::from_value(object["spec"].clone()) {
            Ok(spec) => spec,
            Err(error) => {
                let (policy, problems) = (UrlPolicy::new(vec![], false), vec![format!("it cannot be read: {error}")]);
                racks.push(ClassOfMachines { name, machines: vec![], policy, problems });
                continue;
            }
        };
        let secrets = classes::secrets(cluster, &spec.needed_secrets()).await?;
        let rules = spec.allowed_hosts.iter().filter_map(|text| HostRule::parse(text)).collect();
        let policy = UrlPolicy::new(rules, spec.allow_http);
        let mut rack = ClassOfMachines { name, machines: vec![], policy, problems: vec![] };
        for machine in &spec.machines {
            match rack.configured(machine, &secrets, &known) {
                Ok(config) => {
                    known.add(&config, &format!("PowerNodeClass {}", rack.name));
                    rack.machines.push(config);
                }
                Err(why) => rack.problems.push(why),
            }
        }
        racks.push(rack);
    }
    Ok(racks)
}

impl ClassOfMachines {
    /// Why none of its machines can be used, if that is so.
    pub fn useless(&self) -> Option<String> {
        let (first, more) = self.problems.split_first().filter(|_| self.machines.is_empty())?;
        let more = if more.is_empty() { String::new() } else { format!(" (and {} more like it)", more.len()) };
        Some(format!("PowerNodeClass {} has no machine that can be used: {first}{more}", self.name))
    }

    fn configured(&self, machine: &PowerMachine, secrets: &Secrets, known: &Known) -> Result<MachineConfig, String> {
        let value = machine.to_config(&self.name, secrets).map_err(|error| error.to_string())?;
        // Deserializing quotes what it cannot read, and there are secrets in it.
        let mut config: MachineConfig = serde_json::from_value(value)
            .map_err(|_| format!("machine {} is not described completely", machine.name))?;
        config.labels.insert(CLASS_LABEL.to_owned(), self.name.clone());
        Machine::new(config.clone(), &self.policy).map_err(|error| error.to_string())?;
        match known.by(&config) {
            Some(whom) => Err(format!("machine {} is described by {whom} already; describe it once", config.name)),
            None => Ok(config),
        }
    }
}

/// Who described a machine, by its name and by the name of its node.
#[derive(Default)]
struct Known {
    names: BTreeMap<String, String>,
    nodes: BTreeMap<String, String>,
}

impl Known {
    fn add(&mut self, machine: &MachineConfig, whom: &str) {
        self.names.insert(machine.name.clone(), whom.to_owned());
        self.nodes.insert(node(machine).to_owned(), whom.to_owned());
    }

    fn by(&self, machine: &MachineConfig) -> Option<&String> {
        self.names.get(&machine.name).or_else(|| self.nodes.get(node(machine)))
    }
}

fn node(machine: &MachineConfig) -> &str {
    machine.node.as_deref().unwrap_or(&machine.name)
}
