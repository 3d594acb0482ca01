//! What can be chosen about the Scaleway double: keys, quotas, stock, delays, and misfortunes, all as data.

use crate::clock::BEGINNING;
use jiff::{SignedDuration, Timestamp};
use std::{collections::BTreeMap, time::Duration};

#[derive(Debug, Clone)]
pub struct Options {
    pub keys: Vec<Key>,
    pub project: String,
    pub organization: String,
    pub quotas: Quotas,
    /// Stock by type, zone and time; the last entry that matches wins over the recorded state of the catalogue.
    pub stock: Vec<Stock>,
    /// At most so many servers of (type, zone) hold a slot at once. Without an entry there is no such limit.
    pub slots: BTreeMap<(String, String), u64>,
    /// The SDK's fixtures say 503 for `out_of_stock`; users report 412 from server creation.
    pub out_of_stock_status: u16,
    pub misfortunes: Vec<Misfortune>,
    pub delays: Delays,
    /// A cloud controller manager runs in the cluster: it matches nodes by name, sets provider IDs and labels.
    pub cloud_controller_manager: bool,
    /// A join succeeds only if the user data holds one of these; `None` accepts every join.
    pub join_secrets: Option<Vec<String>>,
    /// A server shows up in lists only this long after it was made.
    pub list_lag: Duration,
    /// The gateway answers an empty 429 above so many requests within the span.
    pub rate_limit: Option<(u32, Duration)>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            keys: vec![Key::new("11111111-2222-4333-8444-555555555555")],
            project: "20b1b1b1-0000-4000-8000-000000000001".to_owned(),
            organization: "20b1b1b1-0000-4000-8000-000000000002".to_owned(),
            quotas: Quotas::default(),
            stock: Vec::new(),
            slots: BTreeMap::new(),
            out_of_stock_status: 503,
            misfortunes: Vec::new(),
            delays: Delays::default(),
            cloud_controller_manager: true,
            join_secrets: None,
            list_lag: Duration::ZERO,
            rate_limit: None,
        }
    }
}

/// A secret key, as sent in `X-Auth-Token`.
#[derive(Debug, Clone)]
pub struct Key {
    pub secret: String,
    pub expired: bool,
    /// (resource, action) that the key may not do; for example (`compute_servers`, `write`).
    pub denied: Vec<(String, String)>,
}

impl Key {
    pub fn new(secret: &str) -> Self {
        Key { secret: secret.to_owned(), expired: false, denied: Vec::new() }
    }
}

/// Limits of the organisation; what is absent is unlimited.
#[derive(Debug, Clone, Default)]
pub struct Quotas {
    pub servers: BTreeMap<String, u64>,
    pub ips: Option<u64>,
    pub block_bytes: Option<u64>,
}

impl Quotas {
    /// What an organisation with a validated identity gets before it asks for more.
    pub fn of_a_first_time_user() -> Self {
        let small = ["RENDER-S", "L4-1-24G", "L40S-1-48G"];
        let servers = super::catalogue::gpu_types().map(|name| (name.to_owned(), u64::from(small.contains(&name))));
        Quotas { servers: servers.collect(), ips: Some(20), block_bytes: Some(500_000_000_000) }
    }
}

/// A span of the world's time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Window {
    pub from: Timestamp,
    pub until: Timestamp,
}

impl Window {
    pub const ALWAYS: Window = Window { from: Timestamp::MIN, until: Timestamp::MAX };

    /// Counted from the beginning of the world.
    pub fn between_seconds(from: i64, until: i64) -> Self {
        let at = |seconds| BEGINNING + SignedDuration::from_secs(seconds);
        Window { from: at(from), until: at(until) }
    }

    pub fn holds(&self, now: Timestamp) -> bool {
        self.from <= now && now < self.until
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Availability {
    Available,
    Scarce,
    Shortage,
}

impl Availability {
    pub fn name(self) -> &'static str {
        match self {
            Availability::Available => "available",
            Availability::Scarce => "scarce",
            Availability::Shortage => "shortage",
        }
    }
}

/// The stock of a type in a zone for a time. `*` stands for every type or zone.
#[derive(Debug, Clone)]
pub struct Stock {
    pub commercial_type: String,
    pub zone: String,
    pub window: Window,
    pub availability: Availability,
    pub manner: ShortageManner,
}

/// How a shortage shows. Slots are taken at poweron, and what the API then does is not recorded anywhere, so a client
/// has to survive each of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ShortageManner {
    /// The action is refused with `out_of_stock`.
    #[default]
    RefusesPoweron,
    /// The create call is refused with `out_of_stock`.
    RefusesCreate,
    /// The server starts, and is found stopped again.
    FallsBackToStopped,
    /// The server stays in "allocating node".
    StaysAllocating,
}

/// Something that goes wrong at boot, for the servers that match.
#[derive(Debug, Clone)]
pub struct Misfortune {
    /// Part of the server's name; `*` for any.
    pub server: String,
    pub commercial_type: String,
    pub zone: String,
    pub window: Window,
    /// How many boots it spoils; `None` for every one.
    pub times: Option<u32>,
    pub kind: MisfortuneKind,
}

impl Misfortune {
    /// For every server, at every boot.
    pub fn always(kind: MisfortuneKind) -> Self {
        let any = || "*".to_owned();
        Misfortune { server: any(), commercial_type: any(), zone: any(), window: Window::ALWAYS, times: None, kind }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MisfortuneKind {
    NeverJoins,
    AcceleratorNeverAppears,
    /// The operating system takes this much longer.
    SlowBoot(Duration),
    /// The server stays in `starting`.
    StuckStarting,
}

/// Least and most, drawn evenly from the world's chance.
pub type Range = (Duration, Duration);

#[derive(Debug, Clone)]
pub struct Delays {
    pub allocating: Range,
    pub provisioning: Range,
    /// From "booting kernel" to a kubelet that joins.
    pub operating_system: Range,
    /// From joining to an allocatable accelerator.
    pub accelerator: Range,
    pub poweroff: Range,
    pub stop_in_place: Range,
    pub start_in_place: Range,
    pub reboot: Range,
    pub terminate: Range,
    /// From the terminate call to a block volume that is free.
    pub detach_at_terminate: Range,
    pub detach_while_booting: Range,
    pub detach_when_booted: Range,
    /// How long a dynamic address outlives its server's stop.
    pub dynamic_address: Range,
    /// How late addresses of private NICs appear in IPAM.
    pub ipam: Range,
}

impl Default for Delays {
    /// From the traces recorded in July 2026: starting 24 s in all, terminate 16 s, poweroff 41 to 51 s.
    fn default() -> Self {
        let seconds = |least, most| (Duration::from_secs(least), Duration::from_secs(most));
        Delays {
            allocating: seconds(3, 8),
            provisioning: seconds(10, 18),
            operating_system: seconds(45, 90),
            accelerator: seconds(20, 60),
            poweroff: seconds(41, 51),
            stop_in_place: seconds(40, 48),
            start_in_place: seconds(4, 6),
            reboot: seconds(15, 30),
            terminate: seconds(12, 20),
            detach_at_terminate: seconds(2, 12),
            detach_while_booting: seconds(42, 63),
            detach_when_booted: seconds(1, 1),
            dynamic_address: seconds(4, 6),
            ipam: seconds(1, 1),
        }
    }
}

/// Whether a pattern of a stock or misfortune entry covers a value.
pub(super) fn covers(pattern: &str, value: &str) -> bool {
    pattern == "*" || pattern.eq_ignore_ascii_case(value)
}
