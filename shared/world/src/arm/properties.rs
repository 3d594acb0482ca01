//! The `properties` of an agent pool: read, completed with AKS's defaults, checked, compared.

use super::{answer::Refusal, catalogue::Size, checks, options::ArmOptions};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// What the double reads. Other members are kept and echoed.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Properties {
    pub count: Option<u32>,
    pub vm_size: Option<String>,
    #[serde(rename = "type")]
    pub kind: Option<String>,
    pub mode: Option<String>,
    pub os_type: Option<String>,
    #[serde(rename = "osSKU")]
    pub os_sku: Option<String>,
    #[serde(rename = "osDiskSizeGB")]
    pub os_disk_size_gb: Option<u32>,
    pub os_disk_type: Option<String>,
    pub max_pods: Option<u32>,
    pub orchestrator_version: Option<String>,
    pub node_labels: Option<BTreeMap<String, String>>,
    pub node_taints: Option<Vec<String>>,
    pub tags: Option<BTreeMap<String, String>>,
    pub availability_zones: Option<Vec<String>>,
    pub scale_set_priority: Option<String>,
    pub scale_set_eviction_policy: Option<String>,
    pub spot_max_price: Option<f64>,
    pub gpu_instance_profile: Option<String>,
    pub gpu_profile: Option<GpuProfile>,
    pub enable_auto_scaling: Option<bool>,
    pub min_count: Option<u32>,
    pub max_count: Option<u32>,
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct GpuProfile {
    pub driver: Option<String>,
}

/// Members only AKS writes; sent back by a caller they mean nothing.
const READ_ONLY: [&str; 6] =
    ["provisioningState", "powerState", "currentOrchestratorVersion", "nodeImageVersion", "eTag", "status"];

/// What cannot change once a pool exists.
const IMMUTABLE: [&str; 15] = [
    "vmSize",
    "type",
    "osType",
    "osDiskSizeGB",
    "osDiskType",
    "maxPods",
    "availabilityZones",
    "scaleSetPriority",
    "scaleSetEvictionPolicy",
    "spotMaxPrice",
    "gpuInstanceProfile",
    "vnetSubnetID",
    "podSubnetID",
    "enableNodePublicIP",
    "capacityReservationGroupID",
];

impl Properties {
    /// Reads a PUT body. `null` counts as absent.
    pub fn members(body: &[u8]) -> Result<Map<String, Value>, Refusal> {
        let content = |error: String| {
            let message = format!("The request content was invalid and could not be deserialized: '{error}'.");
            Refusal::arm(http::StatusCode::BAD_REQUEST, "InvalidRequestContent", message)
        };
        let body: Value = serde_json::from_slice(body).map_err(|error| content(error.to_string()))?;
        let Value::Object(mut body) = body else { return Err(content("the body is not an object".into())) };
        match body.remove("properties") {
            Some(Value::Object(mut members)) => {
                members.retain(|name, value| !value.is_null() && !READ_ONLY.contains(&name.as_str()));
                // 0 is how clients ask for the default size.
                if members.get("osDiskSizeGB").and_then(Value::as_u64) == Some(0) {
                    members.remove("osDiskSizeGB");
                }
                Ok(members)
            }
            None | Some(Value::Null) => {
                Err(Refusal::bad("InvalidParameter", "Required parameter properties is missing (null).")
                    .target("properties"))
            }
            Some(_) => Err(content("properties is not an object".into())),
        }
    }

    /// A new pool: what was asked for, the rest by default.
    pub fn create(members: Map<String, Value>, options: &ArmOptions) -> Result<(Properties, &'static Size), Refusal> {
        let mut properties = typed(members)?;
        let size = checks::size(&properties, options)?;
        let or = |value: &mut Option<String>, default: &str| {
            value.get_or_insert_with(|| default.to_owned());
        };
        properties.count.get_or_insert(1);
        or(&mut properties.kind, "VirtualMachineScaleSets");
        or(&mut properties.mode, "User");
        or(&mut properties.os_type, "Linux");
        or(&mut properties.os_sku, "Ubuntu");
        or(&mut properties.os_disk_type, "Managed");
        or(&mut properties.orchestrator_version, &options.kubernetes_version);
        properties.os_disk_size_gb.get_or_insert(u32::try_from(size.default_disk_gib()).unwrap_or(u32::MAX));
        properties.max_pods.get_or_insert(options.limits.max_pods);
        properties.enable_auto_scaling.get_or_insert(false);
        properties.vm_size = Some(size.name.to_owned());
        if properties.is_spot() {
            or(&mut properties.scale_set_eviction_policy, "Delete");
            properties.spot_max_price.get_or_insert(-1.0);
            // AKS writes both into the pool itself, so that clients see them in GET.
            let (key, value) = ("kubernetes.azure.com/scalesetpriority", "spot");
            properties.node_labels.get_or_insert_default().insert(key.into(), value.into());
            let taints = properties.node_taints.get_or_insert_default();
            let taint = format!("{key}={value}:NoSchedule");
            if !taints.contains(&taint) {
                taints.push(taint);
            }
        }
        checks::all(&properties, size, options)?;
        Ok((properties, size))
    }

    /// An existing pool, changed by the members that are present.
    pub fn update(
        &self,
        members: Map<String, Value>,
        size: &Size,
        options: &ArmOptions,
    ) -> Result<Properties, Refusal> {
        let before = self.to_json();
        for name in IMMUTABLE {
            let wanted = members.get(name);
            if wanted.is_some_and(|wanted| !same(wanted, before.get(name))) {
                let property = format!("properties.{name}");
                let message = format!("Changing property '{property}' is not allowed.");
                return Err(Refusal::bad("PropertyChangeNotAllowed", message).target(&property));
            }
        }
        let mut merged = before;
        for (name, value) in members {
            if !IMMUTABLE.contains(&name.as_str()) {
                merged.insert(name, value);
            }
        }
        let properties = typed(merged)?;
        checks::all(&properties, size, options)?;
        Ok(properties)
    }

    pub fn to_json(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(mut members)) => {
                members.retain(|_, value| !value.is_null());
                members
            }
            _ => Map::new(),
        }
    }

    pub fn is_spot(&self) -> bool {
        self.scale_set_priority.as_deref() == Some("Spot")
    }

    pub fn is_system(&self) -> bool {
        self.mode.as_deref() == Some("System")
    }

    /// The zone of the n-th machine: around the zones asked for, or none.
    pub fn zone_of(&self, number: u64) -> Option<String> {
        let zones = self.availability_zones.as_deref().filter(|zones| !zones.is_empty())?;
        zones.get(usize::try_from(number).unwrap_or(0) % zones.len()).cloned()
    }
}

fn typed(members: Map<String, Value>) -> Result<Properties, Refusal> {
    serde_json::from_value(Value::Object(members))
        .map_err(|error| Refusal::bad("UnmarshalError", format!("UnmarshalEntity encountered error: {error}.")))
}

/// Equal as Azure sees it: names of sizes and enums without case, empty lists as nothing.
fn same(wanted: &Value, own: Option<&Value>) -> bool {
    match (wanted, own) {
        (Value::String(wanted), Some(Value::String(own))) => wanted.eq_ignore_ascii_case(own),
        (Value::Array(wanted), None) => wanted.is_empty(),
        // Regular is the default and is not echoed.
        (Value::String(wanted), None) => wanted == "Regular",
        (Value::Bool(wanted), None) => !wanted,
        (wanted, own) => {
            own == Some(wanted) || own.is_some_and(|own| own.as_f64().is_some() && own.as_f64() == wanted.as_f64())
        }
    }
}
