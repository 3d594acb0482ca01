//! `pilotlight.dev/v1alpha1` PowerNodeClass: machines that exist, what they hold, and how they are switched on and off.

use super::power_back_end::PowerBackEnd;
use super::schema::{self, DNS_NAME, LABEL_VALUE};
use k8s_openapi::apimachinery::pkg::{api::resource::Quantity, apis::meta::v1::Condition};
use kube::{CustomResource, KubeSchema};
use schemars::{Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The machines, and where requests that switch them may go.
#[derive(Debug, Clone, Default, CustomResource, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "pilotlight.dev",
    version = "v1alpha1",
    kind = "PowerNodeClass",
    plural = "powernodeclasses",
    shortname = "pnc",
    category = "pilotlight",
    status = "PowerNodeClassStatus",
    doc = "A PowerNodeClass lists machines that you have, and says how they are switched on and off.",
    printcolumn(name = "Ready", type_ = "string", json_path = r#".status.conditions[?(@.type=="Ready")].status"#),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "AllowedHosts", type_ = "string", json_path = ".spec.allowedHosts", priority = 1)
)]
#[serde(rename_all = "camelCase")]
pub struct PowerNodeClassSpec {
    /// The machines. Each is one node, and is on only while it is needed.
    #[schemars(length(min = 1, max = 100))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    #[x_kube(validation = (
        "self.all(m, self.exists_one(n, (has(n.node) ? n.node : n.name) == (has(m.node) ? m.node : m.name)))",
        "two machines cannot be the same node"
    ))]
    pub machines: Vec<PowerMachine>,
    /// Where requests may go: names such as bmc.rack.example or *.rack.example, addresses, and networks such as
    /// 10.1.0.0/16. If there are none, everywhere but this machine itself. Metadata services are never called.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 100),
        inner(length(min = 1, max = 253), regex(pattern = r"^(\*\.)?[A-Za-z0-9._:-]+(/[0-9]{1,3})?$"))
    )]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub allowed_hosts: Vec<String>,
    /// Whether requests may be sent without TLS. Passwords can then be read on the way.
    #[serde(default, rename = "allowHTTP")]
    pub allow_http: bool,
}

/// One machine.
#[derive(Debug, Clone, Default, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct PowerMachine {
    /// Its name, which is also the instance type that requirements can ask for.
    #[schemars(length(min = 1, max = 63), regex(pattern = DNS_NAME))]
    pub name: String,
    /// The name of its Node; the name of the machine if not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253), regex(pattern = DNS_NAME))]
    pub node: Option<String>,
    /// Its GPUs.
    pub gpu: PowerGpu,
    /// What it holds beside GPUs, as in cpu: 64 and memory: 512Gi.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 32))]
    pub capacity: BTreeMap<String, Quantity>,
    /// Its processor.
    #[serde(default = "default_arch")]
    #[schemars(extend("enum" = ["amd64", "arm64"]))]
    pub arch: String,
    /// Labels that its Node has.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "machine_labels")]
    pub labels: BTreeMap<String, String>,
    /// What an hour of it costs. Without it, the machine counts as free, and is chosen before anything that is paid for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy: Option<PowerEnergy>,
    /// How it is switched on and off.
    pub back_end: PowerBackEnd,
    /// How patient to be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timing: Option<PowerTiming>,
}

/// The GPUs of a machine.
#[derive(Debug, Clone, Default, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct PowerGpu {
    /// The resource by which pods ask for them.
    #[serde(default = "default_resource")]
    #[schemars(length(min = 1, max = 316), regex(pattern = schema::LABEL_KEY))]
    pub resource: String,
    /// How many there are.
    #[schemars(range(min = 1, max = 64))]
    pub count: u32,
    /// Their model, as in NVIDIA-H100-80GB-HBM3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63), regex(pattern = LABEL_VALUE))]
    pub model: Option<String>,
    /// The memory of each in MiB.
    #[serde(default, rename = "memoryMiB", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 10_000_000))]
    pub memory_mib: Option<u32>,
    /// Whether they can be split with MIG.
    #[serde(default)]
    pub mig_capable: bool,
}

/// What an hour of a machine costs: watts times the price of energy.
#[derive(Debug, Clone, Default, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct PowerEnergy {
    /// What it draws under load.
    #[schemars(range(min = 1, max = 100_000))]
    pub watts: u32,
    /// The price of a kilowatt-hour, as in "0.31".
    #[serde(rename = "pricePerKWh")]
    #[schemars(length(max = 16), regex(pattern = r"^[0-9]{1,6}(\.[0-9]{1,6})?$"))]
    pub price_per_kwh: String,
    /// The currency of that price, as in EUR.
    #[schemars(length(max = 3), regex(pattern = "^[A-Z]{3}$"))]
    pub currency: String,
    /// The day on which the price was true, as in 2026-11-01.
    #[schemars(length(max = 10), extend("format" = "date"))]
    pub as_of: String,
}

/// How patient to be. Times are in seconds.
#[derive(Debug, Clone, Default, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct PowerTiming {
    /// How long a command that was accepted may take to show. Nothing is believed before. 0; with redfish 12.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 3600))]
    pub settle_seconds: Option<u32>,
    /// After how long a command that shows no effect is sent again. 30.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 3600))]
    pub resend_seconds: Option<u32>,
    /// How often a command is sent before the machine counts as broken. 3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100))]
    pub most_attempts: Option<u32>,
    /// From the first command to confirmed power or, where power cannot be read, to a Ready node. 900.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 86_400))]
    pub boot_budget_seconds: Option<u32>,
    /// How long it stays off before it may be switched on again. 30.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 86_400))]
    pub cool_down_seconds: Option<u32>,
    /// How long it stays on before it may be switched off again. 120.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 86_400))]
    pub minimum_on_seconds: Option<u32>,
    /// How long the operating system has to shut down. 180.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 86_400))]
    pub soft_off_seconds: Option<u32>,
    /// Whether power is cut after that; true. Otherwise the system is asked again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub force_off: Option<bool>,
}

/// Whether the class can be used.
#[derive(Debug, Clone, Default, Serialize, Deserialize, KubeSchema)]
pub struct PowerNodeClassStatus {
    /// Ready, and why not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::own_conditions")]
    pub conditions: Vec<Condition>,
}

fn default_arch() -> String {
    "amd64".to_owned()
}

fn default_resource() -> String {
    "nvidia.com/gpu".to_owned()
}

fn machine_labels(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "maxProperties": 100,
        "additionalProperties": { "type": "string", "maxLength": 63, "pattern": LABEL_VALUE }
    })
}
