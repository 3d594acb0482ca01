//! Starting a server anew, in place. A tag on it says which reboot was the last: names and tags are all that Scaleway keeps.

use http::Method;
use model::{InstanceKey, Rebooted};
use provider::ProviderError;
use serde_json::json;

use crate::Scaleway;
use crate::api::{Call, instance, is_overtaken};
use crate::errors::{Asked, Class};
use crate::wire::Server;

/// No slash, as with all our tags.
const REBOOT: &str = "pilotlight-reboot";

/// Scaleway polls every five seconds itself.
const LOOK_AGAIN_SECONDS: u32 = 5;

impl Scaleway {
    pub(crate) async fn reboot_server(&self, key: &InstanceKey, operation: &str) -> Result<Rebooted, ProviderError> {
        let servers = self.servers_of(key, &self.zones).await?;
        let Some(server) = servers.first() else {
            return Ok(Rebooted::NotAble { why: format!("there is no server of {}", key.name) });
        };
        let tag = format!("{REBOOT}={operation}");
        if server.tags.contains(&tag) {
            return Ok(Rebooted::Issued);
        }
        let doing = format!("rebooting server {}", server.id);
        let action = match server.state.as_str() {
            "running" => "reboot",
            // It is off: to come up is all it can do.
            "stopped" | "stopped in place" => "poweron",
            "locked" => {
                let why = format!("Scaleway has locked server {}", server.id);
                return Ok(Rebooted::NotAble { why });
            }
            // On its way, of a reboot whose answer was lost for example.
            _ => return Ok(Rebooted::InProgress { look_again_seconds: LOOK_AGAIN_SECONDS }),
        };
        match self.api.act(server, action).await {
            Ok(()) => {}
            Err(failure) if is_overtaken(&failure) || failure.class() == Some(Class::Invalid) => {
                return Ok(Rebooted::InProgress { look_again_seconds: LOOK_AGAIN_SECONDS });
            }
            Err(failure) => return Err(failure.into_error(Asked { doing: &doing, changes: true, offering: None })),
        }
        self.note_reboot(server, tag).await?;
        Ok(Rebooted::Issued)
    }

    /// After the deed: a reboot that is done twice costs minutes, one that is only noted costs the machine.
    async fn note_reboot(&self, server: &Server, tag: String) -> Result<(), ProviderError> {
        let is_older = |tag: &String| tag.strip_prefix(REBOOT).is_some_and(|rest| rest.starts_with('='));
        let mut tags: Vec<String> = server.tags.iter().filter(|tag| !is_older(tag)).cloned().collect();
        tags.push(tag);
        let path = format!("{}/servers/{}", instance(&server.zone), server.id);
        let doing = format!("noting the reboot of server {}", server.id);
        self.api.change(&Call::json(doing, Method::PATCH, path, &json!({ "tags": tags }))).await.map(drop)
    }
}
