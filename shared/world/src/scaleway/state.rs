//! What exists in the double: servers, volumes, addresses, and the records of what is gone.

use super::{cloud_init::Join, images::Image, options::Options, snapshot::Snapshot};
use jiff::Timestamp;
use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

pub(super) struct State {
    pub options: Options,
    pub servers: BTreeMap<String, Server>,
    /// Volumes of the Instance API: `l_ssd` and `scratch`.
    pub volumes: BTreeMap<String, LocalVolume>,
    /// Volumes of the Block API.
    pub blocks: BTreeMap<String, BlockVolume>,
    pub ips: BTreeMap<String, Address>,
    pub nics: BTreeMap<String, PrivateNic>,
    /// Breaks ties between things made in one instant.
    pub sequence: u64,
    /// What was deleted, for `snapshot`.
    pub gone: Snapshot,
    /// When recent requests came, for the rate limit.
    pub recent: VecDeque<Timestamp>,
    /// How often each misfortune struck, by its place in the options.
    pub struck: BTreeMap<usize, u32>,
}

impl State {
    pub fn new(options: Options) -> Self {
        State {
            options,
            servers: BTreeMap::new(),
            volumes: BTreeMap::new(),
            blocks: BTreeMap::new(),
            ips: BTreeMap::new(),
            nics: BTreeMap::new(),
            sequence: 0,
            gone: Snapshot::default(),
            recent: VecDeque::new(),
            struck: BTreeMap::new(),
        }
    }

    pub fn next(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerState {
    Running,
    Stopped,
    StoppedInPlace,
    Starting,
    Stopping,
    Locked,
}

impl ServerState {
    pub fn name(self) -> &'static str {
        match self {
            ServerState::Running => "running",
            ServerState::Stopped => "stopped",
            ServerState::StoppedInPlace => "stopped in place",
            ServerState::Starting => "starting",
            ServerState::Stopping => "stopping",
            ServerState::Locked => "locked",
        }
    }
}

/// What a server is on the way to, while it is stopping or starting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Transition {
    Poweron,
    Poweroff,
    StopInPlace,
    Reboot,
    Terminate,
}

pub(super) struct Server {
    pub id: String,
    pub sequence: u64,
    pub zone: String,
    pub name: String,
    pub commercial_type: String,
    pub project: String,
    pub tags: Vec<String>,
    pub state: ServerState,
    pub state_detail: String,
    pub transition: Option<Transition>,
    pub image: Image,
    /// Keyed "0", "1", …
    pub volumes: BTreeMap<String, VolumeSlot>,
    pub dynamic_ip_required: bool,
    pub dynamic_ip: Option<DynamicAddress>,
    pub boot_type: String,
    pub security_group: (String, String),
    pub placement_group: Option<String>,
    pub protected: bool,
    pub user_data: BTreeMap<String, Vec<u8>>,
    pub mac_address: String,
    pub hypervisor: Option<u64>,
    pub created: Timestamp,
    pub modified: Timestamp,
    /// Every accepted action raises it; what was under way before then stops.
    pub generation: u64,
    /// Fixed by the first boot: cloud-init never runs again. The inner value is what it found.
    pub first_boot: Option<Option<Join>>,
    /// The node that has joined and not left.
    pub joined: Option<String>,
    /// The last node name used, so that deletion can take it away.
    pub node: Option<String>,
    /// Compute is billed since then.
    pub billed_since: Option<Timestamp>,
    pub billed_before: Duration,
    pub power_ons: u32,
}

#[derive(Debug, Clone)]
pub(super) struct DynamicAddress {
    pub id: String,
    pub address: String,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct VolumeSlot {
    pub id: String,
    pub kind: VolumeKind,
    pub boot: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VolumeKind {
    Local,
    Scratch,
    Block,
}

impl VolumeKind {
    pub fn name(self) -> &'static str {
        match self {
            VolumeKind::Local => "l_ssd",
            VolumeKind::Scratch => "scratch",
            VolumeKind::Block => "sbs_volume",
        }
    }
}

pub(super) struct LocalVolume {
    pub id: String,
    pub sequence: u64,
    pub zone: String,
    pub name: String,
    pub kind: VolumeKind,
    pub size: u64,
    pub project: String,
    pub tags: Vec<String>,
    pub server: Option<String>,
    pub state: &'static str,
    pub created: Timestamp,
    pub modified: Timestamp,
}

pub(super) struct BlockVolume {
    pub id: String,
    pub sequence: u64,
    pub zone: String,
    pub name: String,
    pub size: u64,
    pub iops: u64,
    pub project: String,
    pub tags: Vec<String>,
    pub parent_snapshot: Option<String>,
    pub reference: Option<BlockReference>,
    pub last_detached: Option<Timestamp>,
    pub created: Timestamp,
    pub updated: Timestamp,
    pub deleted: Option<Timestamp>,
}

#[derive(Debug, Clone)]
pub(super) struct BlockReference {
    pub id: String,
    pub server: String,
    pub since: Timestamp,
    pub detaching: bool,
}

pub(super) struct Address {
    pub id: String,
    pub sequence: u64,
    pub zone: String,
    pub address: String,
    pub kind: &'static str,
    pub project: String,
    pub tags: Vec<String>,
    pub server: Option<String>,
    pub ipam_id: String,
    pub reverse: Option<String>,
    pub created: Timestamp,
}

pub(super) struct PrivateNic {
    pub id: String,
    pub server: String,
    pub private_network: String,
    pub mac_address: String,
    pub address: String,
    pub tags: Vec<String>,
    pub created: Timestamp,
    pub in_ipam_from: Timestamp,
}
