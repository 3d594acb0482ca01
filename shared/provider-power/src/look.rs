//! Looking: what there is to ask for, and what is on for whom. Nothing here can change a machine.

use crate::{
    Power, back_end,
    catalogue::offering,
    errors::Doing,
    holders::Hold,
    machine::Machine,
    note::Note,
    step::{PowerState, Want},
};
use async_trait::async_trait;
use futures_util::future::join_all;
use jiff::tz::TimeZone;
use model::{CapacityType, Instance, InstanceKey, InstanceState, ObjectName, Offering, Owned, Stock};
use provider::{Look, ProviderError};

#[async_trait]
impl Look for Power {
    async fn offerings(&self) -> Result<Vec<Offering>, ProviderError> {
        if self.machines.is_empty() {
            let doing = Doing { what: "list the machines".to_owned(), changes: false };
            return Err(doing.invalid("no machine is configured"));
        }
        let today = (self.clock)().to_zoned(TimeZone::UTC).date();
        let held = self.holders.held().await?;
        let stock = |machine: &Machine| match held.contains_key(&machine.name) {
            true => Stock::Shortage,
            false => Stock::Available,
        };
        Ok(self.machines.iter().map(|machine| offering(machine, stock(machine), today)).collect())
    }

    async fn observe(&self, key: &InstanceKey) -> Result<Option<Instance>, ProviderError> {
        let held = self.holders.held().await?;
        let ours = self.machines.iter().find_map(|machine| {
            let hold = held.get(&machine.name).filter(|hold| hold.claim == key.claim)?;
            Some((machine, hold))
        });
        match ours {
            Some((machine, hold)) => self.seen(machine, hold).await.map(Some),
            None => Ok(None),
        }
    }

    async fn owned(&self) -> Result<Vec<Owned>, ProviderError> {
        let held = self.holders.held().await?;
        let looks = held.iter().map(|(name, hold)| async move {
            let (instance, what) = match self.machine(name) {
                // One controller that does not answer must not hide all the others: the hold alone says whose it is.
                Some(machine) => (self.seen(machine, hold).await.ok(), format!("machine {name}")),
                None => (None, format!("machine {name}, which is not configured any more")),
            };
            // Only the UID is known of a claim that may be long gone; its name is not, so the machine's stands in.
            let name = ObjectName::new(name.clone()).map_err(|error| {
                let doing = Doing { what: "list what is held".to_owned(), changes: false };
                doing.invalid(format!("a hold is named for no machine: {error}"))
            })?;
            // The hold itself is kept in this cluster.
            Ok(Owned { key: InstanceKey { claim: hold.claim.clone(), name }, instance, what, is_of_this_cluster: true })
        });
        join_all(looks).await.into_iter().collect()
    }
}

impl Power {
    /// A machine that is held, as an instance. One that shows off is not none: a command may be on its way, and only
    /// the end of the hold proves that there is nothing.
    async fn seen(&self, machine: &Machine, hold: &Hold) -> Result<Instance, ProviderError> {
        let reading = back_end::read(&self.caller(), machine, (self.clock)()).await?;
        let going = Note::parse(hold.note.as_deref()).is_some_and(|note| note.record.want == Want::Off);
        let state = match reading.power {
            PowerState::On => InstanceState::Running,
            PowerState::TurningOff => InstanceState::Stopping,
            PowerState::Off if going => InstanceState::Stopping,
            PowerState::TurningOn | PowerState::Off => InstanceState::Starting,
            PowerState::Unknown => match self.holders.node(&machine.node).await?.ready {
                Some(true) => InstanceState::Running,
                _ if machine.has_status() => {
                    let doing = Doing { what: format!("read the power of {}", machine.name), changes: false };
                    return Err(doing.unavailable("it shows neither on nor off"));
                }
                _ if going => InstanceState::Stopping,
                _ => InstanceState::Starting,
            },
        };
        Ok(instance(machine, state))
    }
}

pub(crate) fn instance(machine: &Machine, state: InstanceState) -> Instance {
    Instance {
        provider_id: machine.provider_id(),
        node: Some(machine.node.clone()),
        instance_type: machine.name.clone(),
        zone: None,
        capacity_type: CapacityType::OnDemand,
        image: None,
        created_at: None,
        state,
    }
}
