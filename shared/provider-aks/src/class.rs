//! What a node class or an annotation may ask for beyond gpu-provisioner's pool. Nothing here is sent unless it is asked for.
//!
//! | key | in the pool |
//! |---|---|
//! | `spot` = `true` | `scaleSetPriority` Spot, as a spot offering does |
//! | `spotMaxPrice` | the same, USD an hour; -1 (up to the on-demand price) unless told |
//! | `zones` = `1,2` | `availabilityZones`, where the offering names no zone itself |
//! | `vnetSubnetID`, `podSubnetID` | the same |
//! | `tags.<name>` | `tags` |
//! | `maxPods` | the same, 10 to 250 |
//! | `gpuInstanceProfile` | the same: MIG1g, MIG2g, MIG3g, MIG4g, MIG7g |
//! | `gpu.mode` or `gpuDriver` | `gpuProfile.driver`: Install (`Driver`, `Install`) or None |
//! | `imageFamily` | `osSKU`: Ubuntu, Ubuntu2204, AzureLinux; wins over the annotation |
//! | `osDiskSizeGB` | the same, 30 to 2048; wins over the claim's storage request |
//! | `osDiskType` | the same: Managed, Ephemeral |
//! | `capacityReservationGroupID` | the same; needed by a reserved offering |
//! | `enableNodePublicIP` = `true` | the same; off unless told |
//! | `creationTimestamp` | the claim's, RFC 3339: the label `kaito.sh/creation-timestamp` |
//!
//! Keys are compared without case. Other keys belong to others.

use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The class's keys, in lower case, and what was wrong with one.
pub(crate) struct Class<'a> {
    fields: BTreeMap<String, &'a str>,
    tags: BTreeMap<&'a str, &'a str>,
}

const PROFILES: [&str; 5] = ["MIG1g", "MIG2g", "MIG3g", "MIG4g", "MIG7g"];
/// Those of the API version that `client.rs` speaks: `AzureLinux3` and `Ubuntu2404` came later.
const IMAGES: [&str; 3] = ["Ubuntu", "Ubuntu2204", "AzureLinux"];

impl<'a> Class<'a> {
    pub fn new(class: &'a BTreeMap<String, String>) -> Self {
        let fields = class.iter().map(|(key, value)| (key.to_ascii_lowercase(), value.trim())).collect();
        let tag = |(key, value): (&'a String, &'a String)| Some((key.strip_prefix("tags.")?, value.as_str()));
        Class { fields, tags: class.iter().filter_map(tag).collect() }
    }

    pub fn text(&self, key: &str) -> Option<&'a str> {
        self.fields.get(&key.to_ascii_lowercase()).copied().filter(|value| !value.is_empty())
    }

    pub fn is_true(&self, key: &str) -> Result<bool, String> {
        match self.text(key) {
            None => Ok(false),
            Some(text) if text.eq_ignore_ascii_case("true") => Ok(true),
            Some(text) if text.eq_ignore_ascii_case("false") => Ok(false),
            Some(text) => Err(format!("{key} is {text:?}; write true or false")),
        }
    }

    pub fn number(&self, key: &str, least: u32, most: u32) -> Result<Option<u32>, String> {
        let Some(text) = self.text(key) else { return Ok(None) };
        let number = text.parse().ok().filter(|number| (least..=most).contains(number));
        number.map(Some).ok_or_else(|| format!("{key} is {text:?}; write a number from {least} to {most}"))
    }

    pub fn one_of(&self, key: &str, allowed: &[&'static str]) -> Result<Option<&'static str>, String> {
        let Some(text) = self.text(key) else { return Ok(None) };
        let found = allowed.iter().find(|own| own.eq_ignore_ascii_case(text));
        found.map(|own| Some(*own)).ok_or_else(|| format!("{key} is {text:?}; write one of {}", allowed.join(", ")))
    }

    pub fn image(&self) -> Result<Option<&'static str>, String> {
        self.one_of("imageFamily", &IMAGES)
    }

    /// What a spot machine may cost, USD an hour; -1 is up to the on-demand price.
    pub fn spot_price(&self) -> Result<Value, String> {
        let text = self.text("spotMaxPrice").unwrap_or("-1");
        if text == "-1" {
            return Ok(json!(-1));
        }
        let price = text.parse().ok().filter(|price: &f64| price.is_finite() && *price > 0.0);
        price.map(|price| json!(price)).ok_or_else(|| {
            format!("spotMaxPrice is {text:?}; write USD an hour, as in 1.5, or -1 for up to the on-demand price")
        })
    }

    /// The zones of a regional offering, where the class names some.
    pub fn zones(&self) -> Result<Vec<String>, String> {
        let zones: Vec<String> = self
            .text("zones")
            .into_iter()
            .flat_map(|zones| zones.split(','))
            .map(|zone| zone.trim().to_owned())
            .collect();
        match zones.iter().find(|zone| zone.len() != 1 || !zone.bytes().all(|byte| byte.is_ascii_digit())) {
            Some(bad) => Err(format!("zones has {bad:?}; write numbers, as in 1,2,3")),
            None => Ok(zones),
        }
    }

    /// The members that only a class asks for.
    pub fn members(&self) -> Result<Map<String, Value>, String> {
        let mut members = Map::new();
        for key in ["vnetSubnetID", "podSubnetID", "capacityReservationGroupID"] {
            if let Some(id) = self.text(key) {
                if !id.starts_with("/subscriptions/") {
                    return Err(format!("{key} is {id:?}; write a resource ID, as in /subscriptions/…"));
                }
                members.insert(key.to_owned(), json!(id));
            }
        }
        if let Some(pods) = self.number("maxPods", 10, 250)? {
            members.insert("maxPods".to_owned(), json!(pods));
        }
        if let Some(kind) = self.one_of("osDiskType", &["Managed", "Ephemeral"])? {
            members.insert("osDiskType".to_owned(), json!(kind));
        }
        if let Some(profile) = self.one_of("gpuInstanceProfile", &PROFILES)? {
            members.insert("gpuInstanceProfile".to_owned(), json!(profile));
        }
        let modes = ["Driver", "Install", "None"];
        let mode = self.one_of("gpu.mode", &modes)?.or(self.one_of("gpuDriver", &modes)?);
        if let Some(mode) = mode {
            let driver = if mode == "None" { "None" } else { "Install" };
            members.insert("gpuProfile".to_owned(), json!({"driver": driver}));
        }
        if self.is_true("enableNodePublicIP")? {
            members.insert("enableNodePublicIP".to_owned(), json!(true));
        }
        Ok(members)
    }

    pub fn tags(&self) -> Result<BTreeMap<String, String>, String> {
        let bad = |name: &str, value: &str| {
            name.is_empty()
                || name.len() > 512
                || name.contains(['<', '>', '%', '&', '\\', '?', '/'])
                || value.len() > 256
        };
        match self.tags.iter().find(|(name, value)| bad(name, value)) {
            Some((name, _)) => {
                Err(format!("tags.{name} is no tag Azure takes; leave out < > % & \\ ? / and keep it short"))
            }
            None => Ok(self.tags.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()),
        }
    }
}
