//! The Block API: volumes that outlive their servers, and so are found, tagged and deleted here.

use super::{
    Scaleway,
    answer::{
        Outcome, Refusal, found, invalid_argument, method_not_allowed, no_content, not_found, precondition_failed,
        quotas_exceeded, unknown_resource,
    },
    request::{Call, paged_in_body, strings, text},
    server_json::api_date,
    state::{BlockVolume, State},
};
use http::{Method, StatusCode};
use serde_json::{Value, json};
use std::{cmp::Reverse, time::Duration};

impl Scaleway {
    pub(super) fn block(&self, call: &Call<'_>, path: &[&str]) -> Outcome {
        match (path, call.method) {
            (["volumes"], &Method::GET) => self.list_blocks(call),
            (["volumes"], &Method::POST) => self.create_block(call),
            (["volumes", id], &Method::GET | &Method::PATCH) => self.block_volume(call, id),
            (["volumes", id], &Method::DELETE) => self.delete_block(call, id),
            (["volumes", ..], _) => Err(method_not_allowed()),
            _ => Err(unknown_resource()),
        }
    }

    fn list_blocks(&self, call: &Call<'_>) -> Outcome {
        let state = self.state();
        let query = &call.query;
        let with_deleted = query.get("include_deleted") == Some("true");
        let mut blocks: Vec<&BlockVolume> = state
            .blocks
            .values()
            .filter(|block| block.zone == call.zone && (with_deleted || block.deleted.is_none()))
            .filter(|block| query.get("name").is_none_or(|part| block.name.contains(part)))
            .filter(|block| query.get("project_id").is_none_or(|project| block.project == project))
            .filter(|block| query.list("tags").iter().all(|tag| block.tags.iter().any(|own| own == tag)))
            .filter(|block| {
                let user = block.reference.as_ref().map(|reference| reference.server.as_str());
                query.get("product_resource_id").is_none_or(|wanted| user == Some(wanted))
            })
            .collect();
        match query.get("order_by") {
            Some("created_at_asc") => blocks.sort_by_key(|block| block.sequence),
            _ => blocks.sort_by_key(|block| Reverse(block.sequence)),
        }
        paged_in_body(query, "volumes", &blocks.into_iter().map(block_json).collect::<Vec<_>>())
    }

    fn create_block(&self, call: &Call<'_>) -> Outcome {
        let body = call.json()?;
        let size = body.get("from_empty").and_then(|from| from.get("size")).and_then(Value::as_u64);
        let size =
            size.ok_or_else(|| invalid_argument("from_empty.size", "required", "the world makes empty volumes only"))?;
        let now = self.inner.clock.now();
        let mut state = self.state();
        check_block_quota(&state, size)?;
        let block = BlockVolume {
            id: self.inner.ids.uuid(),
            sequence: state.next(),
            zone: call.zone.to_owned(),
            name: text(&body, "name").unwrap_or("volume").to_owned(),
            size,
            iops: body.get("perf_iops").and_then(Value::as_u64).unwrap_or(5000),
            project: text(&body, "project_id").unwrap_or(&state.options.project).to_owned(),
            tags: strings(&body, "tags")?.unwrap_or_default(),
            parent_snapshot: None,
            reference: None,
            last_detached: None,
            created: now,
            updated: now,
            deleted: None,
        };
        let answer = block_json(&block);
        state.blocks.insert(block.id.clone(), block);
        found(&answer)
    }

    fn block_volume(&self, call: &Call<'_>, id: &str) -> Outcome {
        let body = if call.method == Method::PATCH { call.json()? } else { serde_json::Map::new() };
        let now = self.inner.clock.now();
        let mut state = self.state();
        let block = present(&mut state, call.zone, id)?;
        if let Some(tags) = strings(&body, "tags")? {
            block.tags = tags;
        }
        if let Some(name) = text(&body, "name") {
            block.name = name.to_owned();
        }
        if let Some(size) = body.get("size").and_then(Value::as_u64) {
            if size < block.size {
                return Err(invalid_argument("size", "constraint", "a volume cannot shrink"));
            }
            block.size = size;
        }
        if !body.is_empty() {
            block.updated = now;
        }
        found(&block_json(block))
    }

    fn delete_block(&self, call: &Call<'_>, id: &str) -> Outcome {
        let now = self.inner.clock.now();
        let mut state = self.state();
        let block = present(&mut state, call.zone, id)?;
        if block.reference.is_some() {
            let help = "volume is in use";
            return Err(precondition_failed(StatusCode::PRECONDITION_FAILED, "resource_still_in_use", help));
        }
        block.deleted = Some(now);
        block.updated = now;
        no_content()
    }

    /// The volume is free after a while, whatever happens to its server until then.
    pub(super) fn detach_block_after(&self, state: &mut State, id: &str, after: Duration) {
        let Some(reference) = state.blocks.get_mut(id).and_then(|block| block.reference.as_mut()) else { return };
        reference.detaching = true;
        let (world, id, reference) = (self.clone(), id.to_owned(), reference.id.clone());
        tokio::spawn(async move {
            world.inner.clock.sleep(after).await;
            let now = world.inner.clock.now();
            let mut state = world.state();
            let block = state.blocks.get_mut(&id);
            let same = |block: &&mut BlockVolume| block.reference.as_ref().is_some_and(|one| one.id == reference);
            if let Some(block) = block.filter(same) {
                block.reference = None;
                block.last_detached = Some(now);
                block.updated = now;
            }
        });
    }
}

fn present<'a>(state: &'a mut State, zone: &str, id: &str) -> Result<&'a mut BlockVolume, Refusal> {
    let block = state.blocks.get_mut(id).filter(|block| block.zone == zone && block.deleted.is_none());
    block.ok_or_else(|| not_found("volume", id))
}

pub(super) fn check_block_quota(state: &State, more: u64) -> Result<(), Refusal> {
    let Some(quota) = state.options.quotas.block_bytes else { return Ok(()) };
    let current: u64 = state.blocks.values().filter(|block| block.deleted.is_none()).map(|block| block.size).sum();
    match current + more > quota {
        true => Err(quotas_exceeded("sbs_volumes_size", quota, current)),
        false => Ok(()),
    }
}

fn block_json(block: &BlockVolume) -> Value {
    let status = match (&block.deleted, &block.reference) {
        (Some(_), _) => "deleted",
        (None, Some(_)) => "in_use",
        (None, None) => "available",
    };
    let references: Vec<Value> = block
        .reference
        .iter()
        .map(|reference| {
            json!({"id": reference.id, "product_resource_type": "instance_server",
                   "product_resource_id": reference.server, "created_at": api_date(reference.since),
                   "type": "exclusive", "status": if reference.detaching { "detaching" } else { "attached" }})
        })
        .collect();
    json!({
        "id": block.id, "name": block.name, "type": if block.iops > 5000 { "sbs_15k" } else { "sbs_5k" },
        "size": block.size, "project_id": block.project, "created_at": api_date(block.created),
        "updated_at": api_date(block.updated), "references": references, "parent_snapshot_id": block.parent_snapshot,
        "status": status, "tags": block.tags, "specs": {"perf_iops": block.iops, "class": "sbs"},
        "last_detached_at": block.last_detached.map(api_date), "zone": block.zone,
    })
}
