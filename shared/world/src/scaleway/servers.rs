//! Servers: get, list with filters and pages, patch, delete.

use super::{
    Scaleway,
    answer::{Outcome, found, invalid_argument, no_content, precondition_failed},
    catalogue, not_locked,
    request::{Call, Query, paged, strings, text},
    server_in,
    server_json::server_json,
    state::{Server, ServerState, State},
};
use http::StatusCode;
use jiff::SignedDuration;
use serde_json::{Value, json};
use std::cmp::Reverse;

impl Scaleway {
    pub(super) fn get_server(&self, call: &Call<'_>, id: &str) -> Outcome {
        let mut state = self.state();
        server_in(&mut state, call.zone, id)?;
        answer_with(&state, id)
    }

    pub(super) fn list_servers(&self, call: &Call<'_>) -> Outcome {
        let state = self.state();
        let now = self.inner.clock.now();
        let lag = SignedDuration::try_from(state.options.list_lag).unwrap_or_default();
        let mut servers: Vec<&Server> = state
            .servers
            .values()
            .filter(|server| server.zone == call.zone && matches(&state, server, &call.query))
            .filter(|server| lag.is_zero() || now.duration_since(server.created) >= lag)
            .collect();
        match call.query.get("order") {
            Some("creation_date_asc") => servers.sort_by_key(|server| server.sequence),
            Some("modification_date_desc") => servers.sort_by_key(|server| Reverse((server.modified, server.sequence))),
            Some("modification_date_asc") => servers.sort_by_key(|server| (server.modified, server.sequence)),
            _ => servers.sort_by_key(|server| Reverse(server.sequence)),
        }
        paged(&call.query, "/servers", servers.len(), |skip, size| {
            let page: Vec<Value> =
                servers.iter().skip(skip).take(size).map(|server| server_json(&state, server)).collect();
            json!({"servers": page})
        })
    }

    pub(super) fn patch_server(&self, call: &Call<'_>, id: &str) -> Outcome {
        let body = call.json()?;
        let now = self.inner.clock.now();
        let mut state = self.state();
        let server = server_in(&mut state, call.zone, id)?;
        not_locked(server)?;
        let tags = strings(&body, "tags")?;
        let ips = strings(&body, "public_ips")?;
        if let Some(wanted) = text(&body, "commercial_type") {
            if server.state != ServerState::Stopped {
                return Err(invalid_argument("commercial_type", "constraint", "the server must be stopped"));
            }
            if catalogue::find(wanted, call.zone).is_none() {
                return Err(invalid_argument("commercial_type", "constraint", "is not sold in this zone"));
            }
            server.commercial_type = wanted.to_owned();
        }
        if let Some(name) = text(&body, "name") {
            server.name = name.to_owned();
        }
        if let Some(boot_type) = text(&body, "boot_type") {
            server.boot_type = boot_type.to_owned();
        }
        if let Some(tags) = tags {
            server.tags = tags;
        }
        if let Some(protected) = body.get("protected").and_then(Value::as_bool) {
            server.protected = protected;
        }
        if let Some(dynamic) = body.get("dynamic_ip_required").and_then(Value::as_bool) {
            server.dynamic_ip_required = dynamic;
        }
        if let Some(group) = body.get("security_group").and_then(|group| group.get("id")).and_then(Value::as_str) {
            server.security_group = (group.to_owned(), "security group".to_owned());
        }
        if let Some(group) = body.get("placement_group") {
            server.placement_group = group.as_str().map(str::to_owned);
        }
        server.modified = now;
        if let Some(wanted) = ips {
            for ip in state.ips.values_mut().filter(|ip| ip.zone == call.zone) {
                if wanted.contains(&ip.id) {
                    ip.server = Some(id.to_owned());
                } else if ip.server.as_deref() == Some(id) {
                    ip.server = None;
                }
            }
        }
        answer_with(&state, id)
    }

    /// Detaches everything and deletes nothing else: local volumes stay, without a server, and are billed.
    pub(super) fn delete_server(&self, call: &Call<'_>, id: &str) -> Outcome {
        let now = self.inner.clock.now();
        let mut state = self.state();
        let server = server_in(&mut state, call.zone, id)?;
        not_locked(server)?;
        if server.state != ServerState::Stopped {
            // Users report 400 here, though the type is documented with 412.
            let help = "instance should be powered off";
            return Err(precondition_failed(StatusCode::BAD_REQUEST, "resource_still_in_use", help));
        }
        for volume in state.volumes.values_mut().filter(|volume| volume.server.as_deref() == Some(id)) {
            volume.server = None;
            volume.modified = now;
        }
        for block in state.blocks.values_mut() {
            if block.reference.as_ref().is_some_and(|reference| reference.server == id) {
                block.reference = None;
                block.last_detached = Some(now);
                block.updated = now;
            }
        }
        self.remove_server(&mut state, id, now);
        no_content()
    }
}

pub(super) fn answer_with(state: &State, id: &str) -> Outcome {
    found(&json!({"server": state.servers.get(id).map(|server| server_json(state, server))}))
}

/// All filters hold together; a server must carry every tag asked for. A name matches as a part.
fn matches(state: &State, server: &Server, query: &Query) -> bool {
    let equal = |name: &str, value: &str| query.get(name).is_none_or(|wanted| wanted == value);
    let has_ip = server.dynamic_ip.is_some() || state.ips.values().any(|ip| ip.server.as_deref() == Some(&server.id));
    let ids = query.list("servers");
    let mut networks = query.list("private_networks");
    networks.extend(query.get("private_network"));
    let in_network =
        || state.nics.values().any(|nic| nic.server == server.id && networks.contains(&nic.private_network.as_str()));
    query.get("name").is_none_or(|part| server.name.contains(part))
        && equal("project", &server.project)
        && equal("organization", &state.options.organization)
        && equal("commercial_type", &server.commercial_type)
        && equal("state", server.state.name())
        && query.list("tags").iter().all(|tag| server.tags.iter().any(|own| own == tag))
        && (ids.is_empty() || ids.contains(&server.id.as_str()))
        && (networks.is_empty() || in_network())
        && (query.get("without_ip") != Some("true") || !has_ip)
        && query.get("with_ip").is_none_or(|wanted| {
            state.ips.values().any(|ip| ip.server.as_deref() == Some(&server.id) && ip.address == wanted)
        })
}
