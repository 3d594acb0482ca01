//! Flexible addresses: they outlive servers, and are billed until they are deleted.

use super::{
    Scaleway,
    answer::{
        Outcome, Refusal, created, found, invalid_argument, method_not_allowed, no_content, not_found, quotas_exceeded,
    },
    request::{Call, paged, strings, text},
    server_in,
    state::{Address, State},
};
use http::Method;
use serde_json::{Value, json};
use std::cmp::Reverse;

impl Scaleway {
    pub(super) fn ips(&self, call: &Call<'_>, id: Option<&str>) -> Outcome {
        match (id, call.method) {
            (None, &Method::GET) => self.list_ips(call),
            (None, &Method::POST) => self.create_ip(call),
            (Some(id), &Method::GET | &Method::PATCH) => self.ip(call, id),
            (Some(id), &Method::DELETE) => self.delete_ip(call, id),
            _ => Err(method_not_allowed()),
        }
    }

    fn list_ips(&self, call: &Call<'_>) -> Outcome {
        let state = self.state();
        let query = &call.query;
        let mut ips: Vec<&Address> = state
            .ips
            .values()
            .filter(|ip| ip.zone == call.zone)
            .filter(|ip| query.get("project").is_none_or(|project| ip.project == project))
            .filter(|ip| query.get("type").is_none_or(|kind| ip.kind == kind))
            .filter(|ip| query.get("name").is_none_or(|part| ip.address.contains(part)))
            .filter(|ip| query.list("tags").iter().all(|tag| ip.tags.iter().any(|own| own == tag)))
            .collect();
        ips.sort_by_key(|ip| Reverse(ip.sequence));
        paged(query, "/ips", ips.len(), |skip, size| {
            let page: Vec<Value> = ips.iter().skip(skip).take(size).map(|ip| ip_json(&state, ip)).collect();
            json!({"ips": page})
        })
    }

    fn create_ip(&self, call: &Call<'_>) -> Outcome {
        let body = call.json()?;
        let kind = match text(&body, "type").unwrap_or("routed_ipv4") {
            "routed_ipv4" => "routed_ipv4",
            "routed_ipv6" => "routed_ipv6",
            _ => return Err(invalid_argument("type", "constraint", "must be routed_ipv4 or routed_ipv6")),
        };
        let now = self.inner.clock.now();
        let mut state = self.state();
        if let Some(server) = text(&body, "server") {
            server_in(&mut state, call.zone, server)?;
        }
        let held = state.ips.len() as u64;
        if let Some(quota) = state.options.quotas.ips.filter(|quota| held >= *quota) {
            return Err(quotas_exceeded("cp_ips", quota, held));
        }
        let ip = Address {
            id: self.inner.ids.uuid(),
            sequence: state.next(),
            zone: call.zone.to_owned(),
            address: if kind == "routed_ipv4" { self.public_address() } else { self.public_network() },
            kind,
            project: text(&body, "project").unwrap_or(&state.options.project).to_owned(),
            tags: strings(&body, "tags")?.unwrap_or_default(),
            server: text(&body, "server").map(str::to_owned),
            ipam_id: self.inner.ids.uuid(),
            reverse: None,
            created: now,
        };
        let answer = json!({"ip": ip_json(&state, &ip)});
        let path = format!("/instance/v1/zones/{}/ips/{}", call.zone, ip.id);
        state.ips.insert(ip.id.clone(), ip);
        created(&answer, &path)
    }

    fn ip(&self, call: &Call<'_>, id: &str) -> Outcome {
        let body = if call.method == Method::PATCH { call.json()? } else { serde_json::Map::new() };
        let tags = strings(&body, "tags")?;
        let mut state = self.state();
        if let Some(server) = text(&body, "server") {
            server_in(&mut state, call.zone, server)?;
        }
        let ip = present(&mut state, call.zone, id)?;
        if let Some(server) = body.get("server") {
            ip.server = server.as_str().map(str::to_owned);
        }
        if let Some(tags) = tags {
            ip.tags = tags;
        }
        if let Some(reverse) = body.get("reverse") {
            ip.reverse = reverse.as_str().map(str::to_owned);
        }
        found(&json!({"ip": state.ips.get(id).map(|ip| ip_json(&state, ip))}))
    }

    fn delete_ip(&self, call: &Call<'_>, id: &str) -> Outcome {
        let now = self.inner.clock.now();
        let mut state = self.state();
        let record = super::snapshot::ip_record(present(&mut state, call.zone, id)?, Some(now));
        state.ips.remove(id);
        state.gone.ips.push(record);
        no_content()
    }

    pub(super) fn public_address(&self) -> String {
        let number = self.inner.ids.number();
        format!("51.15.{}.{}", number & 255, 1 + ((number >> 8) % 254))
    }

    fn public_network(&self) -> String {
        let number = self.inner.ids.number();
        format!("2001:bc8:{:x}:{:x}::", number & 0xffff, (number >> 16) & 0xffff)
    }
}

fn present<'a>(state: &'a mut State, zone: &str, id: &str) -> Result<&'a mut Address, Refusal> {
    // The API takes the address itself for the ID.
    let by_address = state.ips.values().find(|ip| ip.address == id).map(|ip| ip.id.clone());
    let key = by_address.unwrap_or_else(|| id.to_owned());
    state.ips.get_mut(&key).filter(|ip| ip.zone == zone).ok_or_else(|| not_found("instance_ip", id))
}

fn ip_json(state: &State, ip: &Address) -> Value {
    let server = ip.server.as_ref().and_then(|id| state.servers.get(id));
    let v6 = ip.kind == "routed_ipv6";
    json!({
        "id": ip.id, "address": if v6 { Value::Null } else { json!(ip.address) },
        "prefix": if v6 { json!(format!("{}/64", ip.address)) } else { Value::Null },
        "ipam_id": ip.ipam_id, "organization": state.options.organization, "project": ip.project,
        "reverse": ip.reverse, "server": server.map(|server| json!({"id": server.id, "name": server.name})),
        "state": if server.is_some() { "attached" } else { "detached" }, "tags": ip.tags, "type": ip.kind, "zone": ip.zone,
    })
}
