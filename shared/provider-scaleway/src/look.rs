//! Looking: what is sold, the instance of a key, everything that is ours.

use async_trait::async_trait;
use jiff::tz::TimeZone;
use model::{CapacityType, Instance, InstanceKey, InstanceState, Offering, Owned};
use provider::{Look, ProviderError};
use std::collections::BTreeSet;

use crate::Scaleway;
use crate::catalogue::{bundled_offerings, live_offerings};
use crate::names::provider_id;
use crate::tags::{MADE_BY_US, key_in};
use crate::wire::Server;

#[async_trait]
impl Look for Scaleway {
    async fn offerings(&self) -> Result<Vec<Offering>, ProviderError> {
        let today = (self.now)().to_zoned(TimeZone::UTC).date();
        let mut all = Vec::new();
        for (place, zone) in self.zones.iter().enumerate() {
            match self.live(zone, today).await {
                Ok(offerings) => all.extend(offerings),
                // A cloud that cannot be asked still sells what it sold; a key that is refused is for a person to mend.
                Err(ProviderError::Unavailable { .. }) => all.extend(bundled_offerings(core::slice::from_ref(zone))),
                // It is not asked about the other zones either.
                Err(ProviderError::Throttled { .. }) => {
                    all.extend(bundled_offerings(self.zones.get(place..).unwrap_or_default()));
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        match all.is_empty() {
            true => Ok(bundled_offerings(&self.zones)),
            false => Ok(all),
        }
    }

    async fn observe(&self, key: &InstanceKey) -> Result<Option<Instance>, ProviderError> {
        Ok(self.servers_of(key, &self.zones).await?.first().map(instance_of))
    }

    async fn owned(&self) -> Result<Vec<Owned>, ProviderError> {
        let mut all = Vec::new();
        for zone in &self.zones {
            all.extend(self.owned_in(zone).await?);
        }
        Ok(all)
    }
}

impl Scaleway {
    async fn live(&self, zone: &str, today: jiff::civil::Date) -> Result<Vec<Offering>, ProviderError> {
        let products = self.api.products(zone).await?;
        let stock = self.api.availability(zone).await?;
        Ok(live_offerings(zone, &products, &stock, today))
    }

    async fn owned_in(&self, zone: &str) -> Result<Vec<Owned>, ProviderError> {
        let home = self.api.settings().home();
        let mut all = Vec::new();
        let mut alive = BTreeSet::new();
        for server in self.api.servers(zone, MADE_BY_US).await? {
            let Some((key, is_of_this_cluster)) = key_in(&server.tags, home) else { continue };
            alive.insert(server.id.clone());
            let what = format!("server {} in {zone}", server.id);
            all.push(Owned { key, instance: Some(instance_of(&server)), what, is_of_this_cluster });
        }
        // What hangs on a server of ours goes with it; only what is left behind is listed by itself.
        let mut left = |tags: &[String], attached: bool, what: String| {
            if let Some((key, is_of_this_cluster)) = key_in(tags, home).filter(|_| !attached) {
                all.push(Owned { key, instance: None, what, is_of_this_cluster });
            }
        };
        for block in self.api.blocks(zone, MADE_BY_US).await? {
            let attached = block.references.iter().any(|reference| alive.contains(&reference.product_resource_id));
            left(&block.tags, attached, format!("block volume {} in {zone}", block.id));
        }
        for volume in self.api.local_volumes(zone, MADE_BY_US).await? {
            let attached = volume.server.as_ref().is_some_and(|server| alive.contains(&server.id));
            left(&volume.tags, attached, format!("volume {} in {zone}", volume.id));
        }
        for ip in self.api.ips(zone, MADE_BY_US).await? {
            let attached = ip.server.as_ref().is_some_and(|server| alive.contains(&server.id));
            left(&ip.tags, attached, format!("address {} in {zone}", ip.id));
        }
        Ok(all)
    }
}

pub(crate) fn instance_of(server: &Server) -> Instance {
    Instance {
        provider_id: provider_id(&server.zone, &server.id),
        node: Some(server.name.clone()).filter(|name| !name.is_empty()),
        instance_type: server.commercial_type.clone(),
        zone: Some(server.zone.clone()),
        capacity_type: CapacityType::OnDemand,
        image: server.image.as_ref().map(|image| image.name.clone()).filter(|name| !name.is_empty()),
        created_at: server.created_at(),
        state: match server.state.as_str() {
            "running" => InstanceState::Running,
            "starting" => InstanceState::Starting,
            "stopping" => InstanceState::Stopping,
            "stopped" | "stopped in place" => InstanceState::Stopped,
            // `locked`, and what nobody has seen yet.
            _ => InstanceState::Failed,
        },
    }
}
