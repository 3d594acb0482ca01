//! A server, and the volumes and addresses in it, as the Instance API writes them.

use super::{
    catalogue,
    state::{LocalVolume, Server, ServerState, State, Transition, VolumeKind},
};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

/// The Instance API writes an offset, the newer APIs write `Z`.
pub(super) fn instance_date(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S%.6f+00:00").to_string()
}

pub(super) fn api_date(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()
}

pub(super) fn allowed_actions(server: &Server) -> &'static [&'static str] {
    match (server.state, server.transition) {
        (_, Some(Transition::Terminate)) | (ServerState::Locked, _) => &[],
        // Recorded for starting and for stopping in place; it is the way out for a server that is stuck.
        (_, Some(_)) => &["stop_in_place", "backup"],
        (ServerState::Running, None) => &["poweroff", "terminate", "reboot", "stop_in_place", "backup"],
        (ServerState::StoppedInPlace, None) => &["poweron", "poweroff", "terminate", "reboot", "backup"],
        // A stopped server cannot be terminated: it has to be deleted.
        (ServerState::Stopped, None) => &["poweron", "backup"],
        (ServerState::Starting | ServerState::Stopping, None) => &[],
    }
}

pub(super) fn server_json(state: &State, server: &Server) -> Value {
    let volumes: Map<String, Value> = server
        .volumes
        .iter()
        .map(|(key, slot)| {
            let volume = match (slot.kind, state.volumes.get(&slot.id)) {
                (VolumeKind::Block, _) | (_, None) => json!({"boot": slot.boot, "id": slot.id,
                    "volume_type": slot.kind.name(), "state": "available", "zone": server.zone}),
                (_, Some(volume)) => with_boot(local_volume_json(state, volume), slot.boot),
            };
            (key.clone(), volume)
        })
        .collect();
    let attached = state.ips.values().filter(|ip| ip.server.as_deref() == Some(&server.id));
    let mut public_ips: Vec<Value> = attached
        .map(|ip| public_ip(&ip.id, &ip.address, ip.kind == "routed_ipv6", false, &ip.tags, Some(&ip.ipam_id)))
        .collect();
    public_ips.extend(server.dynamic_ip.iter().map(|ip| public_ip(&ip.id, &ip.address, false, true, &[], None)));
    let nics: Vec<Value> =
        state.nics.values().filter(|nic| nic.server == server.id).map(super::networks::nic_json).collect();
    let arch = catalogue::find(&server.commercial_type, &server.zone).map_or("x86_64", |offered| offered.arch);
    json!({
        "id": server.id, "name": server.name, "hostname": server.name, "arch": arch, "zone": server.zone,
        "commercial_type": server.commercial_type, "boot_type": server.boot_type, "bootscript": null,
        "organization": state.options.organization, "project": server.project, "tags": server.tags,
        "image": server.image.to_json(), "volumes": volumes,
        "state": server.state.name(), "state_detail": server.state_detail, "protected": server.protected,
        "allowed_actions": allowed_actions(server),
        "public_ip": public_ips.first(), "public_ips": public_ips, "mac_address": server.mac_address,
        "dynamic_ip_required": server.dynamic_ip_required, "routed_ip_enabled": true, "enable_ipv6": false,
        "ipv6": null, "private_ip": null, "extra_networks": [], "private_nics": nics,
        "security_group": {"id": server.security_group.0, "name": server.security_group.1},
        "placement_group": server.placement_group.as_ref().map(|id| json!({"id": id})),
        "location": server.hypervisor.map(|hypervisor| json!({"zone_id": server.zone, "platform_id": "14",
            "cluster_id": "48", "hypervisor_id": hypervisor.to_string(), "node_id": "11"})),
        "maintenances": [], "filesystems": [], "end_of_service": false, "dns": null,
        "creation_date": instance_date(server.created), "modification_date": instance_date(server.modified),
    })
}

fn with_boot(mut volume: Value, boot: bool) -> Value {
    if let Value::Object(fields) = &mut volume {
        fields.insert("boot".to_owned(), Value::Bool(boot));
    }
    volume
}

fn public_ip(id: &str, address: &str, v6: bool, dynamic: bool, tags: &[String], ipam_id: Option<&str>) -> Value {
    let (family, netmask, gateway, mode) =
        if v6 { ("inet6", "64", "fe80::1", "slaac") } else { ("inet", "32", "62.210.0.1", "dhcp") };
    json!({"id": id, "address": address, "family": family, "netmask": netmask, "gateway": gateway, "dynamic": dynamic,
           "provisioning_mode": mode, "tags": tags, "ipam_id": ipam_id, "state": "attached"})
}

pub(super) fn local_volume_json(state: &State, volume: &LocalVolume) -> Value {
    let server = volume.server.as_ref().and_then(|id| state.servers.get(id));
    json!({
        "id": volume.id, "name": volume.name, "export_uri": null, "organization": state.options.organization,
        "project": volume.project, "server": server.map(|server| json!({"id": server.id, "name": server.name})),
        "size": volume.size, "state": volume.state, "tags": volume.tags, "volume_type": volume.kind.name(),
        "zone": volume.zone, "creation_date": instance_date(volume.created),
        "modification_date": instance_date(volume.modified),
    })
}
