//! What is said about one machine: what it holds, how it is switched, and how patient to be. A PowerNodeClass carries this.
//!
//! References to Secrets are resolved by the caller, so a value of these types holds the secrets themselves; they cannot
//! be shown.

use crate::{Secret, described::Described};
use jiff::civil::Date;
use serde::Deserialize;
use std::collections::BTreeMap;

/// One machine, as a person describes it.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MachineConfig {
    /// Its name, which is also its offering's instance type.
    pub name: String,
    /// Its Node; the machine's name if not set.
    #[serde(default)]
    pub node: Option<String>,
    /// The middle of the provider ID, `power://<class>/<machine>`.
    #[serde(default = "default_class")]
    pub class: String,
    pub gpu: GpuConfig,
    /// What it holds beside GPUs, as Kubernetes writes quantities.
    #[serde(default)]
    pub capacity: BTreeMap<String, String>,
    /// `amd64` or `arm64`.
    #[serde(default = "default_arch")]
    pub arch: String,
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    #[serde(default)]
    pub energy: Option<EnergyConfig>,
    pub back_end: BackEndConfig,
    #[serde(default)]
    pub timing: Timing,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GpuConfig {
    #[serde(default = "default_resource")]
    pub resource: String,
    pub count: u32,
    #[serde(default)]
    pub model: String,
    #[serde(default)]
    pub memory_mib: u64,
    #[serde(default)]
    pub mig_capable: bool,
}

/// What an hour of it costs: watts times the price of energy.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EnergyConfig {
    pub watts: u32,
    /// Millionths of the currency's unit.
    pub millionths_per_kwh: u64,
    pub currency: String,
    pub as_of: Date,
}

/// How it is switched. The presets make values of this, and [`Described`] is how it is written.
#[derive(Debug, Clone, Deserialize)]
#[serde(from = "Described")]
pub enum BackEndConfig {
    /// Fixed requests. Without `status` the Node is the only witness.
    Templates {
        on: Box<RequestTemplate>,
        off: Box<RequestTemplate>,
        soft_off: Option<Box<RequestTemplate>>,
        status: Option<Box<StatusTemplate>>,
    },
    /// A Redfish system. Where its reset action is and what it takes is read from it, never guessed.
    Redfish {
        /// The URL of the system, as in `https://bmc.rack/redfish/v1/Systems/1`.
        system: String,
        auth: Auth,
        ca: Option<String>,
        timeout_seconds: u32,
    },
}

/// One request. `${machine}`, `${node}`, `${class}`, `${claim}`, `${action}` and `${requestId}` are filled in; the URL
/// takes the first three only.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RequestTemplate {
    #[serde(default = "default_method")]
    pub method: String,
    pub url: String,
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    #[serde(default)]
    pub body: String,
    #[serde(default)]
    pub auth: Auth,
    /// PEM. With it, only these authorities are trusted.
    #[serde(default)]
    pub ca: Option<String>,
    /// Empty is any 2xx.
    #[serde(default)]
    pub success: Vec<u16>,
    #[serde(default = "default_timeout")]
    pub timeout_seconds: u32,
    /// Where a body that came with a good status says that it failed, as RPC does.
    #[serde(default)]
    pub failure_pointer: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StatusTemplate {
    pub request: RequestTemplate,
    pub read: StatusRule,
}

/// How a status is found in an answer. What is neither on nor off is unknown.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum StatusRule {
    /// The text at a JSON pointer.
    Pointer {
        at: String,
        on: Vec<String>,
        off: Vec<String>,
        #[serde(default, rename = "turningOn")]
        turning_on: Vec<String>,
        #[serde(default, rename = "turningOff")]
        turning_off: Vec<String>,
    },
    Regex {
        on: String,
        off: String,
    },
}

/// Who we say we are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum Auth {
    #[default]
    None,
    Basic {
        user: String,
        password: Secret,
    },
    Bearer(Secret),
    Header {
        name: String,
        value: Secret,
    },
    Hmac {
        style: HmacStyle,
        key: Secret,
    },
    /// OAuth 1 with PLAINTEXT, as MAAS asks for: `consumer:token:secret`.
    MaasKey(Secret),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum HmacStyle {
    /// `webhook-id`, `webhook-timestamp`, `webhook-signature: v1,…` over `id.timestamp.body`. The key is the text itself.
    StandardWebhooks,
    /// `X-BMCLIB-Signature-256: sha256=…` over the body, and `X-BMCLIB-Timestamp`.
    Bmclib,
}

/// How patient to be, in seconds.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Timing {
    /// A command that was accepted may take hold, or undo a later one, for this long. Nothing is believed before.
    /// If not set, what the back end is known to need: 12 for Redfish, nothing for the others.
    pub settle_seconds: Option<u32>,
    /// A command that shows no effect is sent again after this long.
    pub resend_seconds: u32,
    pub most_attempts: u32,
    /// From the first command to confirmed power (or, without a status, to a Ready Node).
    pub boot_budget_seconds: u32,
    /// How long it stays off before it may be switched on again.
    pub cool_down_seconds: u32,
    /// How long it stays on before it may be switched off again.
    pub minimum_on_seconds: u32,
    /// How long the operating system has to shut down.
    pub soft_off_seconds: u32,
    /// Whether power is cut after that. Without it, the soft command is sent again.
    pub force_off: bool,
}

impl MachineConfig {
    /// Everywhere that its requests go.
    pub fn urls(&self) -> Vec<&str> {
        match &self.back_end {
            BackEndConfig::Templates { on, off, soft_off, status } => {
                let status = status.as_deref().map(|status| &status.request);
                [Some(on.as_ref()), Some(off.as_ref()), soft_off.as_deref(), status]
                    .into_iter()
                    .flatten()
                    .map(|request| request.url.as_str())
                    .collect()
            }
            BackEndConfig::Redfish { system, .. } => vec![system],
        }
    }
}

impl Default for Timing {
    fn default() -> Self {
        Timing {
            settle_seconds: None,
            resend_seconds: 30,
            most_attempts: 3,
            boot_budget_seconds: 900,
            cool_down_seconds: 30,
            minimum_on_seconds: 120,
            soft_off_seconds: 180,
            force_off: true,
        }
    }
}

fn default_class() -> String {
    "default".to_owned()
}

fn default_arch() -> String {
    "amd64".to_owned()
}

fn default_resource() -> String {
    "nvidia.com/gpu".to_owned()
}

fn default_method() -> String {
    "POST".to_owned()
}

/// What k8s-gpu-autoprovision waits.
pub(crate) fn default_timeout() -> u32 {
    5
}

/// BMCs are slow.
pub(crate) fn default_redfish_timeout() -> u32 {
    20
}

impl MachineConfig {
    /// A machine of which only the essentials are known.
    pub fn new(name: &str, gpu_count: u32, back_end: BackEndConfig) -> Self {
        MachineConfig {
            name: name.to_owned(),
            node: None,
            class: default_class(),
            gpu: GpuConfig {
                resource: default_resource(),
                count: gpu_count,
                model: String::new(),
                memory_mib: 0,
                mig_capable: false,
            },
            capacity: BTreeMap::new(),
            arch: default_arch(),
            labels: BTreeMap::new(),
            energy: None,
            back_end,
            timing: Timing::default(),
        }
    }
}

impl BackEndConfig {
    /// How long a command that was accepted may take to show.
    pub(crate) fn settle_seconds(&self) -> u32 {
        match self {
            BackEndConfig::Templates { .. } => 0,
            // Measured on sushy-emulator: up to 10.9 s.
            BackEndConfig::Redfish { .. } => 12,
        }
    }
}

impl RequestTemplate {
    pub fn new(method: &str, url: impl Into<String>) -> Self {
        RequestTemplate {
            method: method.to_owned(),
            url: url.into(),
            headers: BTreeMap::new(),
            body: String::new(),
            auth: Auth::None,
            ca: None,
            success: Vec::new(),
            timeout_seconds: default_timeout(),
            failure_pointer: None,
        }
    }

    pub fn with_json(mut self, body: impl Into<String>) -> Self {
        self.headers.insert("content-type".to_owned(), "application/json".to_owned());
        self.body = body.into();
        self
    }

    pub fn with_auth(mut self, auth: &Auth) -> Self {
        self.auth = auth.clone();
        self
    }

    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.insert(name.to_owned(), value.to_owned());
        self
    }
}
