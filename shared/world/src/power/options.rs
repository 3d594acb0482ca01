//! What can be chosen about the power back ends: the machines, who may ask, and how the Redfish service behaves.

use std::{collections::BTreeMap, time::Duration};

#[derive(Debug, Clone, Default)]
pub struct Options {
    pub machines: Vec<MachineOptions>,
    /// Who may call the webhooks.
    pub webhook_auth: Auth,
    /// User and password of maaspower and Redfish; `None` leaves both open.
    pub account: Option<(String, String)>,
    /// The MAAS API key, `consumer:token:secret`; `None` leaves it open.
    pub maas_key: Option<String>,
    pub redfish: RedfishManner,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub enum Auth {
    #[default]
    Open,
    Basic {
        user: String,
        password: String,
    },
    Bearer(String),
    Header {
        name: String,
        value: String,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackEnd {
    /// `POST /webhook/{machine}/up` and `/down`.
    Webhook,
    /// `POST /maaspower/{device}/on` and `/off`.
    MaasPower,
    /// `POST /MAAS/api/2.0/machines/{id}/op-power_on`.
    Maas,
    /// `POST /redfish/v1/Systems/{id}/Actions/ComputerSystem.Reset`.
    Redfish,
}

/// Least and most, drawn evenly from the world's chance.
pub type Range = (Duration, Duration);

#[derive(Debug, Clone)]
pub struct MachineOptions {
    pub name: String,
    /// Its node; the machine's name if not set.
    pub node: Option<String>,
    pub provider_id: String,
    pub labels: BTreeMap<String, String>,
    pub annotations: BTreeMap<String, String>,
    /// (key, value, effect)
    pub taints: Vec<(String, String, String)>,
    pub capacity: BTreeMap<String, String>,
    pub accelerator: Option<(String, u64)>,
    pub back_end: BackEnd,
    pub starts_on: bool,
    /// From a command to the state it asks for. Zero is at once.
    pub settle: Range,
    /// From power to a kubelet that joins: POST, firmware, operating system.
    pub boot: Range,
    /// From joining to allocatable accelerators.
    pub accelerator_after: Range,
    pub watts_off: f64,
    pub watts_on: f64,
    pub faults: MachineFaults,
}

/// What a machine does wrong, for as long as it is set.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MachineFaults {
    /// A soft power-off is answered with success, and nothing happens.
    pub ignores_soft_off: bool,
    /// A power-on is answered with success, and nothing happens.
    pub ignores_power_on: bool,
    pub never_joins: bool,
    pub accelerator_never_appears: bool,
    pub slower_boot: Duration,
    /// The back end answers this status to every call on the machine.
    pub answers: Option<u16>,
}

impl MachineOptions {
    /// A server with some GPUs, off, with the delays its back end has.
    pub fn new(name: &str, back_end: BackEnd, gpus: u64) -> Self {
        let seconds = |least, most| (Duration::from_secs(least), Duration::from_secs(most));
        let entries = [("cpu", "32"), ("memory", "263782492Ki"), ("ephemeral-storage", "960302804Ki"), ("pods", "110")];
        MachineOptions {
            name: name.to_owned(),
            node: None,
            provider_id: format!("power://default/{name}"),
            labels: BTreeMap::new(),
            annotations: BTreeMap::new(),
            taints: Vec::new(),
            capacity: entries.map(|(resource, quantity)| (resource.to_owned(), quantity.to_owned())).into(),
            accelerator: (gpus > 0).then(|| ("nvidia.com/gpu".to_owned(), gpus)),
            back_end,
            starts_on: false,
            // Measured on sushy-emulator: 1 to 11 s. A webhook's receiver is taken to act at once.
            settle: if back_end == BackEnd::Redfish { seconds(1, 11) } else { (Duration::ZERO, Duration::ZERO) },
            boot: seconds(90, 240),
            accelerator_after: seconds(20, 60),
            watts_off: 8.0,
            watts_on: 350.0,
            faults: MachineFaults::default(),
        }
    }
}

/// How a BMC behaves where vendors differ. The default is sushy-emulator.
#[derive(Debug, Clone)]
pub struct RedfishManner {
    /// The status for a state the machine already has: 204, or 400 or 409 by vendor.
    pub already_so: u16,
    pub while_settling: WhileSettling,
    /// `PowerState` shows PoweringOn and PoweringOff while it settles; else it lags.
    pub shows_transitions: bool,
    /// The status of an accepted reset: 204, 200, or 202 with a task.
    pub accepted: u16,
    pub allowable: Vec<&'static str>,
    /// The values are in `@Redfish.ActionInfo`, not in the action itself.
    pub action_info: bool,
    /// How many sessions at once; `None` has no session service.
    pub sessions: Option<usize>,
}

/// What a second reset gets before the first has settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WhileSettling {
    /// 204. If it asks for the state still shown it is forgotten, and the first one wins later: the settle race.
    #[default]
    Accepts,
    /// 409.
    Conflicts,
    /// 503 with Retry-After.
    Busy,
}

impl Default for RedfishManner {
    fn default() -> Self {
        RedfishManner {
            already_so: 204,
            while_settling: WhileSettling::default(),
            shows_transitions: false,
            accepted: 204,
            allowable: vec!["On", "ForceOff", "GracefulShutdown", "GracefulRestart", "ForceRestart", "Nmi", "ForceOn"],
            action_info: false,
            sessions: Some(4),
        }
    }
}
