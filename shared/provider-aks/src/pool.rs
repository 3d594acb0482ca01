//! An agent pool as Azure shows it, read without trusting that anything is there.

use jiff::{Timestamp, civil::DateTime, tz::TimeZone};
use model::{CapacityType, Instance, InstanceKey, InstanceState};
use serde_json::Value;
use std::collections::BTreeMap;

use crate::{
    names::{self, CLUSTER_UID_TAG, CREATION_TIMESTAMP, Owner},
    refusal::Refusal,
};

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Pool {
    pub name: String,
    id: String,
    pub phase: Phase,
    pub etag: Option<String>,
    pub labels: BTreeMap<String, String>,
    pub tags: BTreeMap<String, String>,
    count: Option<u64>,
    size: String,
    capacity_type: CapacityType,
    zones: Vec<String>,
    region: String,
    image: Option<String>,
    stopped: bool,
    /// What Azure itself says is wrong with it, in versions that say so.
    pub problem: Option<Refusal>,
}

/// `provisioningState`, as far as it changes what we do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Creating,
    /// Succeeded, or changing while it runs.
    There,
    Deleting,
    Failed,
}

impl Pool {
    /// `None` if it has not even a name.
    pub fn read(json: &Value, region: &str) -> Option<Pool> {
        let properties = &json["properties"];
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let map = |value: &Value| -> BTreeMap<String, String> {
            let pairs = value.as_object().into_iter().flatten();
            pairs.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
        };
        let error = &properties["status"]["provisioningError"];
        Some(Pool {
            name: text(&json["name"])?,
            id: text(&json["id"]).unwrap_or_default(),
            phase: phase(properties["provisioningState"].as_str().unwrap_or_default()),
            etag: text(&properties["eTag"]).or_else(|| text(&json["etag"])),
            labels: map(&properties["nodeLabels"]),
            tags: map(&properties["tags"]),
            count: properties["count"].as_u64(),
            size: text(&properties["vmSize"]).unwrap_or_default(),
            capacity_type: if properties["scaleSetPriority"]
                .as_str()
                .is_some_and(|own| own.eq_ignore_ascii_case("spot"))
            {
                CapacityType::Spot
            } else if properties["capacityReservationGroupID"].is_string() {
                CapacityType::Reserved
            } else {
                CapacityType::OnDemand
            },
            zones: properties["availabilityZones"].as_array().into_iter().flatten().filter_map(text).collect(),
            region: region.to_owned(),
            image: text(&properties["nodeImageVersion"]),
            stopped: properties["powerState"]["code"].as_str().is_some_and(|own| own.eq_ignore_ascii_case("stopped")),
            problem: error.is_object().then(|| Refusal::of_error(error)).filter(|refusal| !refusal.codes.is_empty()),
        })
    }

    pub fn owner(&self, key: &InstanceKey, created: Option<&str>) -> Owner {
        names::owner(&self.name, &self.labels, key, created)
    }

    pub fn key(&self) -> Option<InstanceKey> {
        names::key_of(&self.name, &self.labels, &self.tags)
    }

    /// The UID of the cluster that it says it was made for.
    pub fn cluster_uid(&self) -> Option<&str> {
        self.tags.get(CLUSTER_UID_TAG).map(String::as_str)
    }

    /// A spot machine that was taken back leaves a pool without machines.
    pub fn is_empty(&self) -> bool {
        self.phase == Phase::There && self.count == Some(0)
    }

    pub fn instance(&self) -> Instance {
        let zone = match self.zones.as_slice() {
            [zone] => Some(format!("{}-{zone}", self.region)),
            // None, or several of which the pool does not say which one it got.
            _ => None,
        };
        Instance {
            // The pool's own ID, and deliberately not `azure://…`: which scale set and which number the machine has is on
            // its Node alone, which is found by the label with the claim's UID.
            provider_id: self.id.clone(),
            node: None,
            instance_type: self.size.clone(),
            zone,
            capacity_type: self.capacity_type,
            image: self.image.clone(),
            created_at: self.labels.get(CREATION_TIMESTAMP).and_then(|label| label_time(label)),
            state: match self.phase {
                Phase::Creating => InstanceState::Starting,
                Phase::There if self.stopped || self.count == Some(0) => InstanceState::Stopped,
                Phase::There => InstanceState::Running,
                Phase::Deleting => InstanceState::Stopping,
                Phase::Failed => InstanceState::Failed,
            },
        }
    }
}

/// A state nobody knows, or none at all, is one that is still on its way.
fn phase(state: &str) -> Phase {
    let is = |words: &[&str]| words.iter().any(|word| word.eq_ignore_ascii_case(state));
    if is(&["Deleting"]) {
        Phase::Deleting
    } else if is(&["Failed", "Canceled", "Cancelled"]) {
        Phase::Failed
    } else if is(&[
        "Succeeded",
        "Updating",
        "Scaling",
        "Upgrading",
        "Starting",
        "Stopping",
        "UpgradingNodeImageVersion",
    ]) {
        Phase::There
    } else {
        Phase::Creating
    }
}

fn label_time(label: &str) -> Option<Timestamp> {
    let time = DateTime::strptime("%Y-%m-%dT%H-%M-%SZ", label).ok()?;
    time.to_zoned(TimeZone::UTC).ok().map(|zoned| zoned.timestamp())
}
