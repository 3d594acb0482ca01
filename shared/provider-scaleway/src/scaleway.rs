//! The provider put together: settings, a way to send requests, a clock, and the zones it looks after.

use jiff::Timestamp;
use model::InstanceKey;
use provider::{Provider, ProviderError};
use std::sync::Arc;

use crate::PROVIDER;
use crate::api::{Api, Call, instance};
use crate::catalogue::GPU_ZONES;
use crate::settings::Settings;
use crate::tags::{claim_tag, is_of_another_cluster};
use crate::transport::{Https, Transport};
use crate::wire::Server;

/// Where the time comes from. A test brings the world's.
pub type Now = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Scaleway's GPU instances. It keeps no state: everything is found again by tags.
pub struct Scaleway {
    pub(crate) api: Api,
    pub(crate) zones: Vec<String>,
    pub(crate) now: Now,
}

impl Scaleway {
    /// Over HTTPS, with the time of the machine.
    pub fn new(settings: Settings) -> Self {
        let transport = Arc::new(Https::new(settings.insecure));
        Scaleway::with(settings, transport, Arc::new(Timestamp::now))
    }

    /// With a way of its own to send requests and to know the time. It looks after every zone that sells GPUs and the
    /// default one.
    pub fn with(settings: Settings, transport: Arc<dyn Transport>, now: Now) -> Self {
        let mut zones: Vec<String> = GPU_ZONES.map(str::to_owned).to_vec();
        zones.extend(settings.default_zone.clone().filter(|zone| !GPU_ZONES.contains(&zone.as_str())));
        Scaleway { api: Api::new(settings, transport), zones, now }
    }

    /// Takes the join secret out of the user data. To be called once the node has joined; `ensure` does the same when
    /// the class says `joined: true`. No server, or nothing in it: already so.
    pub async fn forget_join_secret(&self, key: &InstanceKey) -> Result<(), ProviderError> {
        for server in self.servers_of(key, &self.zones).await? {
            self.forget_user_data(&server).await?;
        }
        Ok(())
    }

    pub(crate) async fn forget_user_data(&self, server: &Server) -> Result<(), ProviderError> {
        let path = format!("{}/servers/{}/user_data", instance(&server.zone), server.id);
        let doing = format!("removing the join secret from server {}", server.id);
        // Asked first, so that a repetition changes nothing.
        let keys: Vec<String> = self.api.ask(&Call::get(doing.clone(), path.clone()), "user_data").await?;
        if keys.iter().any(|key| key == "cloud-init") {
            self.api.delete(&doing, format!("{path}/cloud-init")).await?;
        }
        Ok(())
    }

    /// The servers of a key in these zones, the oldest first. One that names another cluster is a conflict.
    pub(crate) async fn servers_of(&self, key: &InstanceKey, zones: &[String]) -> Result<Vec<Server>, ProviderError> {
        let tag = claim_tag(key)?;
        let mut servers = Vec::new();
        for zone in zones {
            servers.extend(self.api.servers(zone, &tag).await?);
        }
        if let Some(foreign) = servers.iter().find(|one| self.is_foreign(&one.tags)) {
            return Err(ProviderError::Conflict {
                doing: format!("finding the server of {}", key.name),
                what: format!("server {} of another cluster", foreign.id),
            });
        }
        servers.sort_by(|one, other| (one.created_at(), &one.id).cmp(&(other.created_at(), &other.id)));
        Ok(servers)
    }

    pub(crate) fn is_foreign(&self, tags: &[String]) -> bool {
        is_of_another_cluster(tags, self.api.settings().home())
    }
}

impl Provider for Scaleway {
    fn name(&self) -> &'static str {
        PROVIDER
    }

    fn can_reboot(&self) -> bool {
        true
    }
}
