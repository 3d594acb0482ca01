//! `POST /servers`: every check of the create body, then the server with its volumes. It leaves the server stopped.

use super::{
    Scaleway,
    answer::{Outcome, Refusal, WrongArgument, created, invalid_arguments, not_found, out_of_stock, quotas_exceeded},
    catalogue,
    create_volumes::{WantedVolume, wanted_volumes},
    images::{Image, images_in},
    options::ShortageManner,
    products::shortage,
    request::{Call, is_uuid, strings, text},
    server_json::server_json,
    state::{BlockReference, BlockVolume, LocalVolume, Server, ServerState, State, VolumeKind, VolumeSlot},
};
use http::StatusCode;
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use std::{collections::BTreeMap, time::Duration};

impl Scaleway {
    pub(super) fn create_server(&self, call: &Call<'_>) -> Outcome {
        let body = call.json()?;
        let now = self.inner.clock.now();
        let mut state = self.state();
        let mut wrong: Vec<WrongArgument> = Vec::new();
        for (name, present) in [
            ("commercial_type", text(&body, "commercial_type").is_some()),
            ("image", text(&body, "image").is_some()),
            ("name", text(&body, "name").is_some()),
            ("project", text(&body, "project").is_some() || text(&body, "organization").is_some()),
        ] {
            if !present {
                wrong.push((name.to_owned(), "required", format!("{name} is required")));
            }
        }
        let image_id = text(&body, "image").unwrap_or_default();
        if !image_id.is_empty() && !is_uuid(image_id) {
            wrong.push((
                "image".to_owned(),
                "format",
                "must be a UUID: labels are resolved by the marketplace".to_owned(),
            ));
        }
        if text(&body, "project").is_some() && text(&body, "organization").is_some() {
            wrong.push(("organization".to_owned(), "constraint", "exclusive with project".to_owned()));
        }
        let known = [
            "name",
            "commercial_type",
            "image",
            "volumes",
            "project",
            "organization",
            "tags",
            "dynamic_ip_required",
            "public_ips",
            "public_ip",
            "boot_type",
            "security_group",
            "placement_group",
            "protected",
            "enable_ipv6",
            "admin_password_encryption_ssh_key_id",
            "routed_ip_enabled",
        ];
        let unknown = body.keys().filter(|name| !known.contains(&name.as_str()));
        wrong.extend(unknown.map(|name| (name.clone(), "unknown", "unknown argument".to_owned())));
        let type_name = text(&body, "commercial_type").unwrap_or_default();
        let offered = catalogue::find(type_name, call.zone);
        if offered.is_none() && !type_name.is_empty() {
            wrong.push(("commercial_type".to_owned(), "constraint", "is not sold in this zone".to_owned()));
        }
        let (Some(offered), true) = (offered, wrong.is_empty()) else { return Err(invalid_arguments(&wrong)) };
        let image = images_in(&self.inner.chance, call.zone).into_iter().find(|image| image.id == image_id);
        let image = image.ok_or_else(|| not_found("instance_image", image_id))?;
        let wanted = wanted_volumes(&body, offered, &image)?;
        let tags = strings(&body, "tags")?.unwrap_or_default();
        let ips = strings(&body, "public_ips")?.unwrap_or_default();
        for ip in &ips {
            match state.ips.get(ip) {
                Some(ip) if ip.zone == call.zone => {}
                _ => return Err(not_found("instance_ip", ip)),
            }
        }
        check_quotas(&state, &offered.name, &wanted)?;
        if shortage(&state, &offered.name, call.zone, now) == Some(ShortageManner::RefusesCreate) {
            let status = StatusCode::from_u16(state.options.out_of_stock_status);
            return Err(out_of_stock(status.unwrap_or(StatusCode::SERVICE_UNAVAILABLE), &offered.name));
        }
        let project = text(&body, "project").or(text(&body, "organization")).unwrap_or_default().to_owned();
        let id = self.inner.ids.uuid();
        let volumes = self.make_volumes(&mut state, call.zone, &id, &project, &image, wanted, now)?;
        let server = self.stopped_server(&mut state, call.zone, id.clone(), &body, image, project, tags, volumes, now);
        state.servers.insert(id.clone(), server);
        for ip in ips {
            if let Some(ip) = state.ips.get_mut(&ip) {
                ip.server = Some(id.clone());
            }
        }
        let answer = state.servers.get(&id).map(|server| json!({"server": server_json(&state, server)}));
        created(&answer.unwrap_or_default(), &format!("/instance/v1/zones/{}/servers/{id}", call.zone))
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one server, each checked by now")]
    fn stopped_server(
        &self,
        state: &mut State,
        zone: &str,
        id: String,
        body: &Map<String, Value>,
        image: Image,
        project: String,
        tags: Vec<String>,
        volumes: BTreeMap<String, VolumeSlot>,
        now: Timestamp,
    ) -> Server {
        let own = |name: &str| text(body, name).map(str::to_owned);
        let flag = |name: &str, otherwise| body.get(name).and_then(Value::as_bool).unwrap_or(otherwise);
        let hardware = self.inner.ids.number();
        Server {
            sequence: state.next(),
            zone: zone.to_owned(),
            name: own("name").unwrap_or_default(),
            commercial_type: own("commercial_type").unwrap_or_default(),
            project,
            tags,
            state: ServerState::Stopped,
            state_detail: String::new(),
            transition: None,
            image,
            volumes,
            dynamic_ip_required: flag("dynamic_ip_required", true),
            dynamic_ip: None,
            boot_type: own("boot_type").unwrap_or_else(|| "local".to_owned()),
            security_group: match own("security_group") {
                Some(group) => (group, "security group".to_owned()),
                None => (self.default_security_group(zone), "Default security group".to_owned()),
            },
            placement_group: own("placement_group"),
            protected: flag("protected", false),
            user_data: BTreeMap::new(),
            mac_address: format!(
                "de:00:00:{:02x}:{:02x}:{:02x}",
                hardware & 255,
                (hardware >> 8) & 255,
                (hardware >> 16) & 255
            ),
            hypervisor: None,
            created: now,
            modified: now,
            generation: 0,
            first_boot: None,
            joined: None,
            node: None,
            billed_since: None,
            billed_before: Duration::ZERO,
            power_ons: 0,
            id,
        }
    }

    #[expect(clippy::too_many_arguments, reason = "where, whose and of what the volumes are")]
    fn make_volumes(
        &self,
        state: &mut State,
        zone: &str,
        server: &str,
        project: &str,
        image: &Image,
        wanted: Vec<(String, bool, WantedVolume)>,
        now: Timestamp,
    ) -> Result<BTreeMap<String, VolumeSlot>, Refusal> {
        for (_, _, volume) in &wanted {
            if let WantedVolume::Existing(id) = volume {
                super::volumes::free_volume(state, zone, id)?;
            }
        }
        let mut slots = BTreeMap::new();
        for (key, boot, volume) in wanted {
            let (id, kind) = match volume {
                WantedVolume::Existing(id) => {
                    let kind = super::volumes::free_volume(state, zone, &id)?;
                    self.reserve(state, &id, server, now);
                    (id, kind)
                }
                WantedVolume::New { kind, size, name } => {
                    let id = self.inner.ids.uuid();
                    let sequence = state.next();
                    // The API names volumes after the image, and gives them none of the server's tags.
                    let name = name.unwrap_or_else(|| format!("{}_{}_{key}", image.name, kind.name()));
                    let (zone, project) = (zone.to_owned(), project.to_owned());
                    if kind == VolumeKind::Block {
                        let (reference, snapshot) = (self.inner.ids.uuid(), image.root_snapshot.clone());
                        state.blocks.insert(
                            id.clone(),
                            BlockVolume {
                                id: id.clone(),
                                sequence,
                                zone,
                                name,
                                size,
                                iops: 5000,
                                project,
                                tags: Vec::new(),
                                parent_snapshot: (key == "0").then_some(snapshot),
                                reference: Some(BlockReference {
                                    id: reference,
                                    server: server.to_owned(),
                                    since: now,
                                    detaching: false,
                                }),
                                last_detached: None,
                                created: now,
                                updated: now,
                                deleted: None,
                            },
                        );
                    } else {
                        state.volumes.insert(
                            id.clone(),
                            LocalVolume {
                                id: id.clone(),
                                sequence,
                                zone,
                                name,
                                kind,
                                size,
                                project,
                                tags: Vec::new(),
                                server: Some(server.to_owned()),
                                state: "available",
                                created: now,
                                modified: now,
                            },
                        );
                    }
                    (id, kind)
                }
            };
            slots.insert(key, VolumeSlot { id, kind, boot });
        }
        Ok(slots)
    }
}

fn check_quotas(state: &State, type_name: &str, wanted: &[(String, bool, WantedVolume)]) -> Result<(), Refusal> {
    if let Some(&quota) = state.options.quotas.servers.get(type_name) {
        let current = state.servers.values().filter(|server| server.commercial_type == type_name).count() as u64;
        if current >= quota {
            return Err(quotas_exceeded(&format!("cp_servers_type_{}", type_name.replace('-', "_")), quota, current));
        }
    }
    let new: u64 = wanted
        .iter()
        .map(|(_, _, volume)| match volume {
            WantedVolume::New { kind: VolumeKind::Block, size, .. } => *size,
            _ => 0,
        })
        .sum();
    super::block::check_block_quota(state, new)
}
