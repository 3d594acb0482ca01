//! What exists and what is billed: for checks that nothing leaks, and for money.

use super::{
    Scaleway, catalogue,
    state::{Address, BlockVolume, LocalVolume, Server, ServerState, VolumeKind},
};
use jiff::Timestamp;
use std::time::Duration;

/// Everything that was ever made, with the time it was deleted.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Snapshot {
    pub servers: Vec<ServerRecord>,
    pub volumes: Vec<VolumeRecord>,
    pub ips: Vec<IpRecord>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ServerRecord {
    pub id: String,
    pub zone: String,
    pub name: String,
    pub commercial_type: String,
    pub tags: Vec<String>,
    pub state: ServerState,
    pub state_detail: String,
    /// The node that has joined and not left.
    pub joined: Option<String>,
    /// The keys of its user data; `cloud-init` holds the join secret.
    pub user_data: Vec<String>,
    pub power_ons: u32,
    /// Compute is billed now: from poweron, over stops in place, until it is stopped or gone.
    pub billed: bool,
    pub billed_for: Duration,
    pub euro_per_hour: f64,
    pub created: Timestamp,
    pub deleted: Option<Timestamp>,
}

/// A volume is billed as long as it exists, attached or not.
#[derive(Debug, Clone, PartialEq)]
pub struct VolumeRecord {
    pub id: String,
    pub zone: String,
    pub name: String,
    pub kind: VolumeKind,
    pub bytes: u64,
    pub tags: Vec<String>,
    pub server: Option<String>,
    pub created: Timestamp,
    pub deleted: Option<Timestamp>,
}

/// A flexible address is billed as long as it exists, attached or not.
#[derive(Debug, Clone, PartialEq)]
pub struct IpRecord {
    pub id: String,
    pub zone: String,
    pub address: String,
    pub tags: Vec<String>,
    pub server: Option<String>,
    pub created: Timestamp,
    pub deleted: Option<Timestamp>,
}

impl Snapshot {
    /// Nothing exists any more, so nothing is billed.
    pub fn is_empty(&self) -> bool {
        self.servers.iter().all(|one| one.deleted.is_some())
            && self.volumes.iter().all(|one| one.deleted.is_some())
            && self.ips.iter().all(|one| one.deleted.is_some())
    }

    /// What exists, without what is gone.
    pub fn present(mut self) -> Self {
        self.servers.retain(|one| one.deleted.is_none());
        self.volumes.retain(|one| one.deleted.is_none());
        self.ips.retain(|one| one.deleted.is_none());
        self
    }
}

impl Scaleway {
    pub fn snapshot(&self) -> Snapshot {
        let now = self.inner.clock.now();
        let state = self.state();
        let mut all = state.gone.clone();
        all.servers.extend(state.servers.values().map(|server| server_record(server, now, None)));
        all.volumes.extend(state.volumes.values().map(|volume| local_record(volume, None)));
        all.volumes.extend(state.blocks.values().map(block_record));
        all.ips.extend(state.ips.values().map(|ip| ip_record(ip, None)));
        all.servers.sort_by(|one, other| (one.created, &one.id).cmp(&(other.created, &other.id)));
        all.volumes.sort_by(|one, other| (one.created, &one.id).cmp(&(other.created, &other.id)));
        all.ips.sort_by(|one, other| (one.created, &one.id).cmp(&(other.created, &other.id)));
        all
    }
}

pub(super) fn server_record(server: &Server, now: Timestamp, deleted: Option<Timestamp>) -> ServerRecord {
    let running = server.billed_since.map(|since| Duration::try_from(now.duration_since(since)).unwrap_or_default());
    let offered = catalogue::find(&server.commercial_type, &server.zone);
    ServerRecord {
        id: server.id.clone(),
        zone: server.zone.clone(),
        name: server.name.clone(),
        commercial_type: server.commercial_type.clone(),
        tags: server.tags.clone(),
        state: server.state,
        state_detail: server.state_detail.clone(),
        joined: server.joined.clone(),
        user_data: server.user_data.keys().cloned().collect(),
        power_ons: server.power_ons,
        billed: deleted.is_none() && running.is_some(),
        billed_for: server.billed_before + running.unwrap_or_default(),
        euro_per_hour: offered.map_or(0.0, |offered| offered.euro_per_hour),
        created: server.created,
        deleted,
    }
}

pub(super) fn local_record(volume: &LocalVolume, deleted: Option<Timestamp>) -> VolumeRecord {
    VolumeRecord {
        id: volume.id.clone(),
        zone: volume.zone.clone(),
        name: volume.name.clone(),
        kind: volume.kind,
        bytes: volume.size,
        tags: volume.tags.clone(),
        server: volume.server.clone(),
        created: volume.created,
        deleted,
    }
}

fn block_record(block: &BlockVolume) -> VolumeRecord {
    VolumeRecord {
        id: block.id.clone(),
        zone: block.zone.clone(),
        name: block.name.clone(),
        kind: VolumeKind::Block,
        bytes: block.size,
        tags: block.tags.clone(),
        server: block.reference.as_ref().map(|reference| reference.server.clone()),
        created: block.created,
        deleted: block.deleted,
    }
}

pub(super) fn ip_record(ip: &Address, deleted: Option<Timestamp>) -> IpRecord {
    IpRecord {
        id: ip.id.clone(),
        zone: ip.zone.clone(),
        address: ip.address.clone(),
        tags: ip.tags.clone(),
        server: ip.server.clone(),
        created: ip.created,
        deleted,
    }
}
