//! Taking everything of a key away: servers, then what servers leave behind. Any call may be the first or the last.

use http::Method;
use jiff::SignedDuration;
use model::InstanceKey;
use provider::ProviderError;
use serde_json::json;

use crate::Scaleway;
use crate::api::{Call, block, instance, is_overtaken};
use crate::errors::{Asked, Class};
use crate::note::Note;
use crate::tags::{claim_tag, with_ours};
use crate::wire::Server;

/// A server that starts cannot be terminated. Most run within half a minute and can be then; one that takes longer is
/// stopped in place first, which is slower.
const PATIENCE_WITH_A_START: SignedDuration = SignedDuration::from_secs(60);

/// How far a removal has come.
#[derive(Debug, Default)]
pub(crate) struct Removal {
    pub nothing_left: bool,
    /// Block volumes that are known to be ours, by ID.
    pub volumes: Vec<String>,
    /// Zone and ID of the first server that was there.
    pub oldest: Option<(String, String)>,
}

impl Scaleway {
    /// Removes everything of a key in these zones, except what belongs to `keep`.
    pub(crate) async fn remove(
        &self,
        key: &InstanceKey,
        zones: &[String],
        note: Option<&Note>,
        keep: Option<&Server>,
    ) -> Result<Removal, ProviderError> {
        let mut servers = self.servers_of(key, zones).await?;
        if let Some(note) = note.filter(|note| !servers.iter().any(|server| server.id == note.server)) {
            // A list may be behind; what we know by its ID we ask for by its ID.
            servers.extend(self.server_in_note(key, note).await?);
        }
        let mut volumes = note.map(|note| note.volumes.clone()).unwrap_or_default();
        let mut nothing_left = true;
        for server in servers.iter().filter(|server| keep.is_none_or(|keep| keep.id != server.id)) {
            self.secure_volumes(key, server, &mut volumes).await?;
            nothing_left &= self.take_down(server).await?;
        }
        if nothing_left {
            // As long as a server is there it holds what would have to be deleted, so all this comes last.
            for zone in zones {
                let known = note.filter(|note| note.zone == *zone).map(|note| note.volumes.as_slice());
                nothing_left &= self.sweep(key, zone, known.unwrap_or_default(), keep).await?;
            }
        }
        let oldest = servers.first().map(|server| (server.zone.clone(), server.id.clone()));
        Ok(Removal { nothing_left, volumes, oldest })
    }

    pub(crate) async fn server_in_note(&self, key: &InstanceKey, note: &Note) -> Result<Option<Server>, ProviderError> {
        if note.server.is_empty() || note.zone.is_empty() {
            return Ok(None);
        }
        let tag = claim_tag(key)?;
        let server = self.api.server(&note.zone, &note.server).await?;
        Ok(server.filter(|server| server.tags.contains(&tag) && !self.is_foreign(&server.tags)))
    }

    /// Makes sure that a volume can be found when its server is gone: terminating only detaches block volumes, deleting a
    /// server leaves local ones too. What others have attached (a volume claim's) is in other slots, and not ours.
    async fn secure_volumes(
        &self,
        key: &InstanceKey,
        server: &Server,
        known: &mut Vec<String>,
    ) -> Result<(), ProviderError> {
        let tag = claim_tag(key)?;
        for (slot, volume) in &server.volumes {
            let is_local = matches!(volume.volume_type.as_str(), "l_ssd" | "scratch");
            if is_local {
                if server.state == "stopped" && !volume.tags.contains(&tag) {
                    self.tag_volume(key, &server.zone, &volume.id, &volume.tags, true).await?;
                }
            } else if slot == "0" && (server.state == "stopped" || !known.contains(&volume.id)) {
                // One that is stopped may never have got as far as its tags.
                match self.api.block(&server.zone, &volume.id).await? {
                    Some(found) if !found.tags.contains(&tag) => {
                        self.tag_volume(key, &server.zone, &volume.id, &found.tags, false).await?;
                    }
                    _ => {}
                }
                if !known.contains(&volume.id) {
                    known.push(volume.id.clone());
                }
            }
        }
        Ok(())
    }

    /// `false` if the volume is gone.
    pub(crate) async fn tag_volume(
        &self,
        key: &InstanceKey,
        zone: &str,
        id: &str,
        tags: &[String],
        is_local: bool,
    ) -> Result<bool, ProviderError> {
        let api = if is_local { instance(zone) } else { block(zone) };
        let body = json!({ "tags": with_ours(tags, key, self.api.settings().home()) });
        let (doing, path) = (format!("tagging volume {id}"), format!("{api}/volumes/{id}"));
        self.api.change(&Call::json(doing, Method::PATCH, path, &body)).await
    }

    /// One step towards a server's end. `true` once it is gone.
    async fn take_down(&self, server: &Server) -> Result<bool, ProviderError> {
        let doing = format!("removing server {}", server.id);
        let action = match server.state.as_str() {
            "stopped" => {
                let path = format!("{}/servers/{}", instance(&server.zone), server.id);
                return self.api.delete(&doing, path).await;
            }
            "running" | "stopped in place" => "terminate",
            "starting" => {
                // By Scaleway's clock: one that is far ahead of ours would else keep us patient for as long as it is.
                let age = server.modified_at().map(|at| (self.now)().duration_since(at).abs());
                if age.is_none_or(|age| age < PATIENCE_WITH_A_START) || !server.allows("stop_in_place") {
                    return Ok(false);
                }
                "stop_in_place"
            }
            "locked" => {
                let why = format!("Scaleway has locked server {}, ask their support", server.id);
                return Err(ProviderError::Unauthorized { doing, why });
            }
            _ => return Ok(false),
        };
        match self.api.act(server, action).await {
            Ok(()) => Ok(false),
            // Its state has changed since it was read; the next call sees the new one.
            Err(failure) if is_overtaken(&failure) || failure.class() == Some(Class::Invalid) => Ok(false),
            Err(failure) => Err(failure.into_error(Asked { doing: &doing, changes: true, offering: None })),
        }
    }

    /// Deletes the volumes and addresses of a key that no server holds. `true` if none is left.
    async fn sweep(
        &self,
        key: &InstanceKey,
        zone: &str,
        known: &[String],
        keep: Option<&Server>,
    ) -> Result<bool, ProviderError> {
        let tag = claim_tag(key)?;
        let kept = |id: &str| keep.is_some_and(|keep| keep.id == id);
        let mut nothing_left = true;
        let mut blocks = self.api.blocks(zone, &tag).await?;
        for id in
            known.iter().filter(|id| keep.is_none() && !blocks.iter().any(|one| one.id == **id)).collect::<Vec<_>>()
        {
            blocks.extend(self.api.block(zone, id).await?);
        }
        for volume in blocks.iter().filter(|one| !self.is_foreign(&one.tags)) {
            let holders: Vec<&str> = volume.references.iter().map(|one| one.product_resource_id.as_str()).collect();
            if holders.iter().any(|holder| kept(holder)) {
                continue;
            }
            let path = format!("{}/volumes/{}", block(zone), volume.id);
            let doing = format!("deleting block volume {}", volume.id);
            nothing_left &= holders.is_empty() && self.api.delete(&doing, path).await?;
        }
        for volume in self.api.local_volumes(zone, &tag).await?.iter().filter(|one| !self.is_foreign(&one.tags)) {
            if volume.server.as_ref().is_some_and(|server| kept(&server.id)) {
                continue;
            }
            let path = format!("{}/volumes/{}", instance(zone), volume.id);
            let doing = format!("deleting volume {}", volume.id);
            nothing_left &= volume.server.is_none() && self.api.delete(&doing, path).await?;
        }
        for ip in self.api.ips(zone, &tag).await?.iter().filter(|one| !self.is_foreign(&one.tags)) {
            if ip.server.as_ref().is_some_and(|server| kept(&server.id)) {
                continue;
            }
            let path = format!("{}/ips/{}", instance(zone), ip.id);
            nothing_left &= self.api.delete(&format!("deleting address {}", ip.id), path).await?;
        }
        Ok(nothing_left)
    }
}
