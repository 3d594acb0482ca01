//! Looking: what there is to ask for, and what is on for whom. Nothing here can change a machine.

use crate::{Power, back_end, catalogue::offering, errors::Doing, machine::Machine, step::PowerState};
use async_trait::async_trait;
use futures_util::future::join_all;
use jiff::tz::TimeZone;
use model::{CapacityType, Instance, InstanceKey, InstanceState, Offering, Owned, Stock};
use provider::{Look, ProviderError};

#[async_trait]
impl Look for Power {
    async fn offerings(&self) -> Result<Vec<Offering>, ProviderError> {
        if self.machines.is_empty() {
            let doing = Doing { what: "list the machines".to_owned(), changes: false };
            return Err(doing.invalid("no machine is configured"));
        }
        let today = (self.clock)().to_zoned(TimeZone::UTC).date();
        let mut offerings = Vec::new();
        for machine in &self.machines {
            let stock = match self.holders.holder(&machine.name).await? {
                Some(_) => Stock::Shortage,
                None => Stock::Available,
            };
            offerings.push(offering(machine, stock, today));
        }
        Ok(offerings)
    }

    async fn observe(&self, key: &InstanceKey) -> Result<Option<Instance>, ProviderError> {
        for machine in self.of_claim(&key.claim, None).await? {
            if let Some(instance) = self.seen(machine).await? {
                return Ok(Some(instance));
            }
        }
        Ok(None)
    }

    async fn owned(&self) -> Result<Vec<Owned>, ProviderError> {
        let looks = self.machines.iter().map(|machine| async move {
            let Some(claim) = self.holders.holder(&machine.name).await? else { return Ok(None) };
            let Some(instance) = self.seen(machine).await? else { return Ok(None) };
            // Only the UID is known of a claim that may be long gone; its name is not, so the machine's stands in.
            let key = InstanceKey { claim, name: machine.object_name.clone() };
            Ok(Some(Owned { key, instance: Some(instance), what: format!("machine {}", machine.name) }))
        });
        let found: Result<Vec<Option<Owned>>, ProviderError> = join_all(looks).await.into_iter().collect();
        Ok(found?.into_iter().flatten().collect())
    }
}

impl Power {
    /// The machine as an instance. Off is none: it costs no more than a machine that nobody asked for.
    async fn seen(&self, machine: &Machine) -> Result<Option<Instance>, ProviderError> {
        let reading = back_end::read(&self.caller(), machine, (self.clock)()).await?;
        let state = match reading.power {
            PowerState::On => InstanceState::Running,
            PowerState::TurningOn => InstanceState::Starting,
            PowerState::TurningOff => InstanceState::Stopping,
            PowerState::Off => return Ok(None),
            PowerState::Unknown => match self.holders.node(&machine.node).await?.ready {
                Some(true) => InstanceState::Running,
                // It cannot be proved to be off, so it is not said to be.
                _ if !machine.has_status() => InstanceState::Starting,
                _ => {
                    let doing = Doing { what: format!("read the power of {}", machine.name), changes: false };
                    return Err(doing.unavailable("it shows neither on nor off"));
                }
            },
        };
        Ok(Some(instance(machine, state)))
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
