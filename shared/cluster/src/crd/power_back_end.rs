//! How a machine of a PowerNodeClass is switched: presets for what people have, and requests of one's own.
//!
//! No field is named `on` or `off`: YAML as kubectl reads it takes these words for true and false.

use super::power_request::{PowerAuth, PowerRequest, PowerStatus, URL};
use super::secrets::SecretKeyReference;
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

/// How a machine is switched on and off. Exactly one of the back ends is set.
#[derive(Debug, Clone, Default, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = (
    "[has(self.seed), has(self.maas), has(self.maasAPI), has(self.redfish), has(self.bmclib), has(self.proxmox), \
     has(self.homeAssistant), has(self.templates)].filter(x, x).size() == 1",
    "exactly one of seed, maas, maasAPI, redfish, bmclib, proxmox, homeAssistant and templates must be set"
))]
#[x_kube(validation = (
    "!has(self.templates) || (!has(self.auth) && !has(self.caRef) && !has(self.timeoutSeconds))",
    "with templates, auth, caRef and timeoutSeconds stand in each request"
))]
pub struct PowerBackEnd {
    /// A webhook to switch on and one to switch off, as k8s-gpu-autoprovision calls them. The Node is the only witness.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<SeedBackEnd>,
    /// Webhooks as MAAS's webhook power driver calls them, and servers made for it such as maaspower.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maas: Option<MaasBackEnd>,
    /// The API of MAAS itself.
    #[serde(default, rename = "maasAPI", skip_serializing_if = "Option::is_none")]
    pub maas_api: Option<MaasApiBackEnd>,
    /// A BMC with Redfish. Graceful first, by force only if timing.forceOff allows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redfish: Option<RedfishBackEnd>,
    /// The RPC of bmclib and Rufio.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bmclib: Option<BmclibBackEnd>,
    /// A virtual machine of Proxmox VE. Its token is auth.header with the name authorization and a secret such as
    /// PVEAPIToken=user@realm!name=secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proxmox: Option<ProxmoxBackEnd>,
    /// A switch of Home Assistant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub home_assistant: Option<HomeAssistantBackEnd>,
    /// Requests of your own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub templates: Option<TemplatesBackEnd>,
    /// Who we say we are. Not with templates, where each request says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth: Option<PowerAuth>,
    /// PEM certificates. With them, only these authorities are trusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca_ref: Option<SecretKeyReference>,
    /// How long an answer may take. 5; with redfish 20.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 60))]
    pub timeout_seconds: Option<u32>,
}

/// A webhook to switch on and one to switch off.
#[derive(Debug, Clone, Default, Serialize, Deserialize, KubeSchema)]
pub struct SeedBackEnd {
    /// Where {} is sent to switch the machine on.
    #[serde(rename = "onURL")]
    #[schemars(length(max = 2048), regex(pattern = URL))]
    pub on_url: String,
    /// Where {} is sent to switch the machine off.
    #[serde(rename = "offURL")]
    #[schemars(length(max = 2048), regex(pattern = URL))]
    pub off_url: String,
}

/// Webhooks as MAAS's webhook power driver calls them.
#[derive(Debug, Clone, Default, Serialize, Deserialize, KubeSchema)]
pub struct MaasBackEnd {
    /// power_on_uri of MAAS.
    #[serde(rename = "onURL")]
    #[schemars(length(max = 2048), regex(pattern = URL))]
    pub on_url: String,
    /// power_off_uri of MAAS.
    #[serde(rename = "offURL")]
    #[schemars(length(max = 2048), regex(pattern = URL))]
    pub off_url: String,
    /// power_query_uri of MAAS.
    #[serde(rename = "queryURL")]
    #[schemars(length(max = 2048), regex(pattern = URL))]
    pub query_url: String,
}

/// The API of MAAS itself. Its key is auth.maasKey.
#[derive(Debug, Clone, Default, Serialize, Deserialize, KubeSchema)]
pub struct MaasApiBackEnd {
    /// Where MAAS is, as in http://maas:5240/MAAS.
    #[schemars(length(max = 2048), regex(pattern = URL))]
    pub url: String,
    /// The machine's system ID in MAAS.
    #[serde(rename = "systemID")]
    #[schemars(length(max = 64), regex(pattern = "^[A-Za-z0-9_-]+$"))]
    pub system_id: String,
}

/// A BMC with Redfish.
#[derive(Debug, Clone, Default, Serialize, Deserialize, KubeSchema)]
pub struct RedfishBackEnd {
    /// The URL of the system, as in https://bmc.rack.example/redfish/v1/Systems/1.
    #[schemars(length(max = 2048), regex(pattern = URL))]
    pub system: String,
}

/// The RPC of bmclib and Rufio.
#[derive(Debug, Clone, Default, Serialize, Deserialize, KubeSchema)]
pub struct BmclibBackEnd {
    /// Where the RPC is served.
    #[schemars(length(max = 2048), regex(pattern = URL))]
    pub url: String,
    /// The BMC as that server knows it.
    #[schemars(length(min = 1, max = 253))]
    pub host: String,
}

/// A virtual machine of Proxmox VE.
#[derive(Debug, Clone, Default, Serialize, Deserialize, KubeSchema)]
pub struct ProxmoxBackEnd {
    /// Where Proxmox VE is, as in https://pve:8006.
    #[schemars(length(max = 2048), regex(pattern = URL))]
    pub url: String,
    /// The node of Proxmox VE that holds the virtual machine.
    #[schemars(length(max = 64), regex(pattern = "^[A-Za-z0-9.-]+$"))]
    pub node: String,
    /// The number of the virtual machine.
    #[schemars(range(min = 100, max = 999_999_999))]
    pub vm: u32,
}

/// A switch of Home Assistant.
#[derive(Debug, Clone, Default, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct HomeAssistantBackEnd {
    /// Where Home Assistant is, as in http://homeassistant:8123.
    #[schemars(length(max = 2048), regex(pattern = URL))]
    pub url: String,
    /// The switch, as in switch.rack_1.
    #[schemars(length(max = 128), regex(pattern = r"^[a-z0-9_]+\.[a-z0-9_]+$"))]
    pub entity: String,
    /// What shuts the operating system down. A plug only cuts the power.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub soft_off: Option<PowerRequest>,
}

/// Requests of your own.
#[derive(Debug, Clone, Default, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct TemplatesBackEnd {
    /// Switches the machine on.
    pub power_on: PowerRequest,
    /// Cuts the power.
    pub power_off: PowerRequest,
    /// Shuts the operating system down. If it is set, it is tried first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub soft_off: Option<PowerRequest>,
    /// Reads whether there is power. Without it, the Node is the only witness.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<PowerStatus>,
}
