//! Private NICs with their addresses in IPAM, and the default security group.

use super::{
    Scaleway,
    answer::{Outcome, created, found, invalid_argument, method_not_allowed, no_content, not_found},
    request::{Call, paged, paged_in_body, strings, text},
    server_in,
    server_json::{api_date, instance_date},
    state::PrivateNic,
};
use http::Method;
use jiff::SignedDuration;
use serde_json::{Value, json};

impl Scaleway {
    pub(super) fn private_nics(&self, call: &Call<'_>, server: &str, id: Option<&str>) -> Outcome {
        let now = self.inner.clock.now();
        let mut state = self.state();
        server_in(&mut state, call.zone, server)?;
        let of_server = |nic: &&PrivateNic| nic.server == server;
        match (id, call.method) {
            (None, &Method::GET) => {
                let nics: Vec<Value> = state.nics.values().filter(of_server).map(nic_json).collect();
                paged(
                    &call.query,
                    &format!("/servers/{server}/private_nics"),
                    nics.len(),
                    |skip, size| json!({"private_nics": nics.iter().skip(skip).take(size).collect::<Vec<_>>()}),
                )
            }
            (None, &Method::POST) => {
                let body = call.json()?;
                let network = text(&body, "private_network_id");
                let network =
                    network.ok_or_else(|| invalid_argument("private_network_id", "required", "is required"))?;
                let lag = SignedDuration::try_from(self.delay(state.options.delays.ipam)).unwrap_or_default();
                let number = self.inner.ids.number();
                let nic = PrivateNic {
                    id: self.inner.ids.uuid(),
                    server: server.to_owned(),
                    private_network: network.to_owned(),
                    mac_address: format!(
                        "02:00:00:{:02x}:{:02x}:{:02x}",
                        number & 255,
                        (number >> 8) & 255,
                        (number >> 16) & 255
                    ),
                    address: format!("172.16.{}.{}", (number >> 24) % 16, 2 + ((number >> 32) % 250)),
                    tags: strings(&body, "tags")?.unwrap_or_default(),
                    created: now,
                    in_ipam_from: now + lag,
                };
                let answer = json!({"private_nic": nic_json(&nic)});
                let path = format!("/instance/v1/zones/{}/servers/{server}/private_nics/{}", call.zone, nic.id);
                state.nics.insert(nic.id.clone(), nic);
                created(&answer, &path)
            }
            (Some(id), method) => {
                let nic = state.nics.get(id).filter(of_server).ok_or_else(|| not_found("instance_private_nic", id))?;
                match *method {
                    Method::GET => found(&json!({"private_nic": nic_json(nic)})),
                    Method::DELETE => {
                        state.nics.remove(id);
                        no_content()
                    }
                    _ => Err(method_not_allowed()),
                }
            }
            _ => Err(method_not_allowed()),
        }
    }

    /// Addresses of NICs (`resource_id`), some time after the NIC was made.
    pub(super) fn ipam(&self, call: &Call<'_>) -> Outcome {
        let now = self.inner.clock.now();
        let state = self.state();
        let wanted = call.query.get("resource_id");
        let shown = state.nics.values().filter(|nic| now >= nic.in_ipam_from && wanted.is_none_or(|id| nic.id == id));
        let ips: Vec<Value> = shown
            .map(|nic| {
                json!({"id": nic.id, "address": format!("{}/22", nic.address), "is_ipv6": false,
                       "created_at": api_date(nic.created), "tags": nic.tags,
                       "source": {"private_network_id": nic.private_network},
                       "resource": {"type": "instance_private_nic", "id": nic.id, "mac_address": nic.mac_address}})
            })
            .collect();
        paged_in_body(&call.query, "ips", &ips)
    }

    pub(super) fn default_security_group(&self, zone: &str) -> String {
        self.inner.chance.stream(&format!("security-group/{zone}")).uuid()
    }

    pub(super) fn security_groups(&self, call: &Call<'_>) -> Outcome {
        let id = self.default_security_group(call.zone);
        let state = self.state();
        paged(&call.query, "/security_groups", 1, |skip, _| {
            let group = json!({"id": id, "name": "Default security group", "project_default": true, "stateful": true,
                "inbound_default_policy": "accept", "outbound_default_policy": "accept", "enable_default_security": true,
                "project": state.options.project, "organization": state.options.organization, "tags": [],
                "state": "available", "zone": call.zone});
            json!({"security_groups": if skip == 0 { vec![group] } else { Vec::new() }})
        })
    }
}

pub(super) fn nic_json(nic: &PrivateNic) -> Value {
    json!({"id": nic.id, "server_id": nic.server, "private_network_id": nic.private_network,
           "mac_address": nic.mac_address, "state": "available", "tags": nic.tags, "ipam_ip_ids": [],
           "creation_date": instance_date(nic.created), "modification_date": instance_date(nic.created)})
}
