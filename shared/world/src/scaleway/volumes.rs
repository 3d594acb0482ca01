//! Local volumes of the Instance API (`l_ssd`, `scratch`), and attaching or detaching any volume.

use super::{
    Scaleway,
    answer::{
        Outcome, Refusal, created, found, invalid_argument, method_not_allowed, no_content, not_found,
        precondition_failed,
    },
    not_locked,
    request::{Call, paged, strings, text},
    server_in,
    server_json::local_volume_json,
    servers::answer_with,
    state::{BlockReference, LocalVolume, ServerState, State, VolumeKind, VolumeSlot},
};
use http::{Method, StatusCode};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::cmp::Reverse;

impl Scaleway {
    pub(super) fn local_volumes(&self, call: &Call<'_>, id: Option<&str>) -> Outcome {
        match (id, call.method) {
            (None, &Method::GET) => self.list_local_volumes(call),
            (None, &Method::POST) => self.create_local_volume(call),
            (Some(id), &Method::GET | &Method::PATCH | &Method::DELETE) => self.local_volume(call, id),
            _ => Err(method_not_allowed()),
        }
    }

    fn list_local_volumes(&self, call: &Call<'_>) -> Outcome {
        let state = self.state();
        let query = &call.query;
        let mut volumes: Vec<&LocalVolume> = state
            .volumes
            .values()
            .filter(|volume| volume.zone == call.zone)
            .filter(|volume| query.get("name").is_none_or(|part| volume.name.contains(part)))
            .filter(|volume| query.get("project").is_none_or(|project| volume.project == project))
            .filter(|volume| query.get("volume_type").is_none_or(|kind| volume.kind.name() == kind))
            .filter(|volume| query.list("tags").iter().all(|tag| volume.tags.iter().any(|own| own == tag)))
            .collect();
        volumes.sort_by_key(|volume| Reverse(volume.sequence));
        paged(query, "/volumes", volumes.len(), |skip, size| {
            let page: Vec<Value> =
                volumes.iter().skip(skip).take(size).map(|one| local_volume_json(&state, one)).collect();
            json!({"volumes": page})
        })
    }

    fn create_local_volume(&self, call: &Call<'_>) -> Outcome {
        let body = call.json()?;
        let kind = match text(&body, "volume_type").unwrap_or("l_ssd") {
            "l_ssd" => VolumeKind::Local,
            "scratch" => VolumeKind::Scratch,
            // `b_ssd` is retired; block volumes are made by the Block API.
            _ => return Err(invalid_argument("volume_type", "constraint", "must be l_ssd or scratch")),
        };
        let size = body.get("size").and_then(Value::as_u64).filter(|size| *size > 0 && size % 512 == 0);
        let size =
            size.ok_or_else(|| invalid_argument("size", "required", "a positive multiple of 512 is required"))?;
        let now = self.inner.clock.now();
        let mut state = self.state();
        let id = self.inner.ids.uuid();
        let volume = LocalVolume {
            id: id.clone(),
            sequence: state.next(),
            zone: call.zone.to_owned(),
            name: text(&body, "name").unwrap_or("volume").to_owned(),
            kind,
            size,
            project: text(&body, "project").unwrap_or(&state.options.project).to_owned(),
            tags: strings(&body, "tags")?.unwrap_or_default(),
            server: None,
            state: "available",
            created: now,
            modified: now,
        };
        let answer = json!({"volume": local_volume_json(&state, &volume)});
        state.volumes.insert(id.clone(), volume);
        created(&answer, &format!("/instance/v1/zones/{}/volumes/{id}", call.zone))
    }

    fn local_volume(&self, call: &Call<'_>, id: &str) -> Outcome {
        let body = if call.method == Method::PATCH { call.json()? } else { serde_json::Map::new() };
        let tags = strings(&body, "tags")?;
        let now = self.inner.clock.now();
        let mut state = self.state();
        let volume = state.volumes.get_mut(id).filter(|volume| volume.zone == call.zone);
        let volume = volume.ok_or_else(|| not_found("instance_volume", id))?;
        if call.method == Method::DELETE {
            if volume.server.is_some() {
                let help = "volume is attached to a server";
                return Err(precondition_failed(StatusCode::BAD_REQUEST, "resource_still_in_use", help));
            }
            self.remove_local_volume(&mut state, id, now);
            return no_content();
        }
        if let Some(tags) = tags {
            volume.tags = tags;
        }
        if let Some(name) = text(&body, "name") {
            volume.name = name.to_owned();
        }
        found(&json!({"volume": state.volumes.get(id).map(|volume| local_volume_json(&state, volume))}))
    }

    pub(super) fn remove_local_volume(&self, state: &mut State, id: &str, now: Timestamp) {
        if let Some(volume) = state.volumes.remove(id) {
            let record = super::snapshot::local_record(&volume, Some(now));
            state.gone.volumes.push(record);
        }
    }

    pub(super) fn attach_volume(&self, call: &Call<'_>, id: &str) -> Outcome {
        let body = call.json()?;
        let volume =
            text(&body, "volume_id").ok_or_else(|| invalid_argument("volume_id", "required", "is required"))?;
        let now = self.inner.clock.now();
        let mut state = self.state();
        not_locked(server_in(&mut state, call.zone, id)?)?;
        let kind = free_volume(&state, call.zone, volume)?;
        self.reserve(&mut state, volume, id, now);
        let server = server_in(&mut state, call.zone, id)?;
        let free = (0_u32..).map(|number| number.to_string()).find(|key| !server.volumes.contains_key(key));
        let slot = VolumeSlot { id: volume.to_owned(), kind, boot: false };
        server.volumes.insert(free.unwrap_or_default(), slot);
        server.modified = now;
        answer_with(&state, id)
    }

    /// A guest that is still booting holds on to a block volume for most of a minute.
    pub(super) fn detach_volume(&self, call: &Call<'_>, id: &str) -> Outcome {
        let body = call.json()?;
        let volume =
            text(&body, "volume_id").ok_or_else(|| invalid_argument("volume_id", "required", "is required"))?;
        let now = self.inner.clock.now();
        let mut state = self.state();
        let delays = state.options.delays.clone();
        let server = server_in(&mut state, call.zone, id)?;
        not_locked(server)?;
        let key = server.volumes.iter().find(|(_, slot)| slot.id == volume).map(|(key, _)| key.clone());
        let slot = key.and_then(|key| server.volumes.remove(&key));
        let slot = slot.ok_or_else(|| not_found("instance_volume", volume))?;
        server.modified = now;
        let after = match (server.state, server.state_detail.as_str()) {
            (ServerState::Running, "booted") => self.delay(delays.detach_when_booted),
            (ServerState::Running, _) => self.delay(delays.detach_while_booting),
            _ => std::time::Duration::ZERO,
        };
        match slot.kind {
            VolumeKind::Block => self.detach_block_after(&mut state, volume, after),
            _ => {
                if let Some(local) = state.volumes.get_mut(volume) {
                    local.server = None;
                }
            }
        }
        answer_with(&state, id)
    }

    /// Binds a free volume to a server.
    pub(super) fn reserve(&self, state: &mut State, volume: &str, server: &str, now: Timestamp) {
        if let Some(block) = state.blocks.get_mut(volume) {
            let reference = self.inner.ids.uuid();
            block.reference =
                Some(BlockReference { id: reference, server: server.to_owned(), since: now, detaching: false });
            block.updated = now;
        }
        if let Some(local) = state.volumes.get_mut(volume) {
            local.server = Some(server.to_owned());
        }
    }
}

/// The kind of a volume that can be attached, or why it cannot.
pub(super) fn free_volume(state: &State, zone: &str, id: &str) -> Result<VolumeKind, Refusal> {
    let used =
        || precondition_failed(StatusCode::BAD_REQUEST, "resource_still_in_use", "volume is attached to a server");
    let block = state.blocks.get(id).filter(|block| block.zone == zone && block.deleted.is_none());
    match (block, state.volumes.get(id).filter(|volume| volume.zone == zone)) {
        (Some(block), _) => {
            if block.reference.is_some() {
                Err(used())
            } else {
                Ok(VolumeKind::Block)
            }
        }
        (None, Some(volume)) => {
            if volume.server.is_some() {
                Err(used())
            } else {
                Ok(volume.kind)
            }
        }
        (None, None) => Err(not_found("instance_volume", id)),
    }
}
