//! The pool a request asks for: the same body gpu-provisioner sends, plus what was opted into. Everything that can be found
//! wrong without Azure is found here, before any call.

use jiff::Timestamp;
use model::{CapacityType, Effect, InstanceKey, InstanceRequest, Quantity, Taint};
use provider::ProviderError;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

use crate::{
    PROVIDER,
    class::Class,
    names::{
        self, CLAIM_NAME, CLAIM_NAME_TAG, CLAIM_UID, CLUSTER_UID_TAG, CREATION_TIMESTAMP, IMAGE_FAMILY, MACHINE_TYPE,
        NODEPOOL,
    },
};

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Draft {
    pub pool: String,
    pub body: Value,
    /// The claim's creation-timestamp label, where the request tells it.
    pub created: Option<String>,
}

const GIB: i128 = 1 << 30;
/// AKS takes 30 to 2048; less than that is rounded up to it, never sent as 0, which would mean "the default".
const SMALLEST_DISK: i128 = 30;
const LARGEST_DISK: i128 = 2048;

/// `now` stands in for the claim's creation where the request does not tell it.
pub(crate) fn draft(
    request: &InstanceRequest,
    cluster_uid: Option<&str>,
    now: Timestamp,
) -> Result<Draft, ProviderError> {
    build(request, cluster_uid, now).map_err(|why| ProviderError::InvalidRequest { doing: doing(&request.key), why })
}

pub(crate) fn doing(key: &InstanceKey) -> String {
    format!("making agent pool {} for claim {}", names::pool_name(key), key.name)
}

/// A claim whose UID no label can carry could never be found again.
pub(crate) fn check_key(key: &InstanceKey) -> Result<(), String> {
    if names::is_label_value(key.claim.as_str()) {
        return Ok(());
    }
    Err("the claim's UID cannot be a label value; use the UID Kubernetes gave it".to_owned())
}

fn build(request: &InstanceRequest, cluster_uid: Option<&str>, now: Timestamp) -> Result<Draft, String> {
    check_key(&request.key)?;
    let size = size(request)?;
    let class = Class::new(&request.class);
    let pool = names::pool_name(&request.key);
    let created = created(request, &class)?;
    let mut tags = class.tags()?;
    tags.extend(cluster_uid.map(|uid| (CLUSTER_UID_TAG.to_owned(), uid.to_owned())));
    let labels = labels(request, &pool, created.clone().unwrap_or_else(|| label_time(now)), &mut tags)?;
    let mut properties = Map::from_iter([
        ("type".to_owned(), json!("VirtualMachineScaleSets")),
        ("count".to_owned(), json!(1)),
        ("vmSize".to_owned(), json!(size)),
        ("osType".to_owned(), json!("Linux")),
        ("osSKU".to_owned(), json!(image(request, &class)?)),
        ("osDiskSizeGB".to_owned(), json!(disk(request, &class)?)),
        ("nodeLabels".to_owned(), json!(labels)),
        ("nodeTaints".to_owned(), json!(request.taints.iter().map(taint).collect::<Vec<String>>())),
    ]);
    properties.append(&mut class.members()?);
    place(request, &class, &mut properties)?;
    if !tags.is_empty() {
        properties.insert("tags".to_owned(), json!(tags));
    }
    Ok(Draft { pool, body: json!({"properties": properties}), created })
}

fn size(request: &InstanceRequest) -> Result<&str, String> {
    let id = &request.offering.id;
    if id.provider != PROVIDER {
        return Err(format!("{id} is an offering of {}, not of {PROVIDER}", id.provider));
    }
    if request.offering.gpu.as_ref().is_some_and(|gpu| gpu.count == 0) {
        return Err(format!("{id} has a GPU model but no GPU; name a VM size that has one"));
    }
    let size = id.instance_type.as_str();
    let plain = size.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    let named = size.get(..9).is_some_and(|start| start.eq_ignore_ascii_case("Standard_")) && size.len() > 9;
    if plain && named && size.len() <= 80 {
        return Ok(size);
    }
    Err(format!("{size:?} is not a VM size; name one, as in Standard_NC24ads_A100_v4"))
}

/// `YYYY-MM-DDTHH-MM-SSZ`: RFC 3339 as far as a label can be.
fn label_time(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H-%M-%SZ").to_string()
}

fn created(request: &InstanceRequest, class: &Class<'_>) -> Result<Option<String>, String> {
    if let Some(label) = request.labels.get(CREATION_TIMESTAMP) {
        return Ok(Some(label.clone()));
    }
    let Some(text) = class.text("creationTimestamp") else { return Ok(None) };
    let time: Result<Timestamp, _> = text.parse();
    time.map(|time| Some(label_time(time))).map_err(|_| format!("creationTimestamp {text:?} is not a time of RFC 3339"))
}

/// Later wins: the nodepool, the claim's own, the machine type, the creation time, the owner.
fn labels(
    request: &InstanceRequest,
    pool: &str,
    created: String,
    tags: &mut BTreeMap<String, String>,
) -> Result<BTreeMap<String, String>, String> {
    let mut labels = BTreeMap::from([(NODEPOOL.to_owned(), "kaito".to_owned())]);
    labels.extend(request.labels.clone());
    // Case matters, as it does for those who read this label.
    let machine = if request.offering.id.instance_type.contains("Standard_N") { "gpu" } else { "cpu" };
    labels.insert(MACHINE_TYPE.to_owned(), machine.to_owned());
    labels.insert(CREATION_TIMESTAMP.to_owned(), created);
    labels.insert(CLAIM_UID.to_owned(), request.key.claim.as_str().to_owned());
    let name = request.key.name.as_str();
    if name != pool && names::is_label_value(name) {
        labels.insert(CLAIM_NAME.to_owned(), name.to_owned());
    } else if name != pool {
        tags.insert(CLAIM_NAME_TAG.to_owned(), name.to_owned());
    }
    match labels.iter().find(|(key, value)| !names::is_label_key(key) || !names::is_label_value(value)) {
        Some((key, value)) => {
            Err(format!("{key}={value} is not a label an AKS node may have; change the claim's labels"))
        }
        None => Ok(labels),
    }
}

fn image(request: &InstanceRequest, class: &Class<'_>) -> Result<&'static str, String> {
    if let Some(image) = class.image()? {
        return Ok(image);
    }
    // Anything else has always meant Ubuntu.
    let azure_linux = request.annotations.get(IMAGE_FAMILY).is_some_and(|own| own.eq_ignore_ascii_case("azurelinux"));
    Ok(if azure_linux { "AzureLinux" } else { "Ubuntu" })
}

fn disk(request: &InstanceRequest, class: &Class<'_>) -> Result<i128, String> {
    if let Some(size) = class.number("osDiskSizeGB", 30, 2048)? {
        return Ok(i128::from(size));
    }
    let asked = |name: &str| request.requests.get(name).map(|amount: &Quantity| amount.thousandths());
    let thousandths = asked("storage").or_else(|| asked("ephemeral-storage")).unwrap_or(0);
    if thousandths <= 0 {
        let name = &request.key.name;
        return Err(format!(
            "storage request of nodeclaim({name}) should be more than 0: set spec.resources.requests.storage, as in 120Gi"
        ));
    }
    // Whole GiB, rounded down, as gpu-provisioner does where it is enough for AKS.
    let gib = (thousandths / 1000 / GIB).max(SMALLEST_DISK);
    if gib > LARGEST_DISK {
        return Err(format!("a disk of {gib} GiB is larger than the {LARGEST_DISK} GiB AKS has; ask for less storage"));
    }
    Ok(gib)
}

/// `key=value:Effect`, and `key=:Effect` without a value.
fn taint(taint: &Taint) -> String {
    let effect = match taint.effect {
        Effect::NoSchedule => "NoSchedule",
        Effect::PreferNoSchedule => "PreferNoSchedule",
        Effect::NoExecute => "NoExecute",
    };
    format!("{}={}:{effect}", taint.key, taint.value)
}

/// Zone and capacity type, as the offering says; nothing of it for a regional on-demand one.
fn place(request: &InstanceRequest, class: &Class<'_>, properties: &mut Map<String, Value>) -> Result<(), String> {
    let id = &request.offering.id;
    let zones = match &id.zone {
        Some(zone) => {
            let number = zone.rsplit('-').next().unwrap_or_default();
            if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
                return Err(format!("{zone:?} is not a zone; name one, as in westeurope-1"));
            }
            vec![number.to_owned()]
        }
        None => class.zones()?,
    };
    if !zones.is_empty() {
        properties.insert("availabilityZones".to_owned(), json!(zones));
    }
    if id.capacity_type == CapacityType::Reserved && class.text("capacityReservationGroupID").is_none() {
        return Err("a reserved offering needs capacityReservationGroupID in its node class".to_owned());
    }
    if id.capacity_type == CapacityType::Spot || class.is_true("spot")? {
        properties.insert("scaleSetPriority".to_owned(), json!("Spot"));
        properties.insert("scaleSetEvictionPolicy".to_owned(), json!("Delete"));
        properties.insert("spotMaxPrice".to_owned(), class.spot_price()?);
    }
    Ok(())
}
