//! The catalogue: instance types and their offerings, in the JSON of Karpenter's KWOK provider. All of every type is for pods.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use serde::Deserialize;

use crate::labels::{ARCH, CAPACITY_TYPE, INSTANCE_TYPE, OS, ZONE, normal};
use crate::load::LoadError;
use crate::objects::Requirement;
use crate::quantity::{self, ONE, Resources};

/// How many pods a type takes that does not say.
const PODS: i128 = 110;

#[derive(Debug, Clone, Default)]
pub struct Catalog {
    pub types: Vec<InstanceType>,
    /// Keys that some offering has besides zone and capacity type. A type without one is known not to have the label.
    pub extra_keys: BTreeSet<String>,
    by_name: HashMap<String, usize>,
}

#[derive(Debug, Clone, Default)]
pub struct InstanceType {
    pub name: String,
    pub architecture: String,
    pub systems: Vec<String>,
    pub capacity: Resources,
    pub offerings: Vec<Offering>,
}

#[derive(Debug, Clone, Default)]
pub struct Offering {
    pub price: f64,
    pub available: bool,
    pub zone: String,
    pub capacity_type: String,
    /// Everything it says about labels, zone and capacity type included.
    pub labels: BTreeMap<String, Vec<String>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawType {
    name: String,
    #[serde(default)]
    architecture: String,
    #[serde(default)]
    operating_systems: Vec<String>,
    #[serde(default)]
    resources: BTreeMap<String, Quantity>,
    #[serde(default)]
    offerings: Vec<RawOffering>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct RawOffering {
    price: f64,
    available: Option<bool>,
    #[serde(default)]
    requirements: Vec<Requirement>,
}

impl Catalog {
    pub fn parse(json: &str) -> Result<Self, LoadError> {
        let raw: Vec<RawType> = serde_json::from_str(json).map_err(|error| LoadError::Catalog(error.to_string()))?;
        Ok(Self::new(raw.into_iter().map(InstanceType::from).collect()))
    }

    pub fn new(types: Vec<InstanceType>) -> Self {
        let offerings = types.iter().flat_map(|one| &one.offerings);
        let keys = offerings.flat_map(|offering| offering.labels.keys());
        let extra_keys = keys.filter(|key| *key != ZONE && *key != CAPACITY_TYPE).cloned().collect();
        let by_name = types.iter().enumerate().map(|(index, one)| (one.name.clone(), index)).collect();
        Self { types, extra_keys, by_name }
    }

    pub fn index_of(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// Whether the type and its offering decide what this label is.
    pub fn decides(&self, key: &str) -> bool {
        matches!(key, INSTANCE_TYPE | ARCH | OS | ZONE | CAPACITY_TYPE) || self.extra_keys.contains(key)
    }
}

impl InstanceType {
    /// What a label can be on a node of this type and offering; empty if the node does not have it. Only for keys that
    /// [`Catalog::decides`].
    pub fn values<'a>(&'a self, offering: &'a Offering, key: &str) -> &'a [String] {
        match key {
            INSTANCE_TYPE => std::slice::from_ref(&self.name),
            ARCH => std::slice::from_ref(&self.architecture),
            OS => &self.systems,
            _ => offering.labels.get(key).map(Vec::as_slice).unwrap_or_default(),
        }
    }
}

impl From<RawType> for InstanceType {
    fn from(raw: RawType) -> Self {
        let mut capacity = quantity::resources(&raw.resources);
        capacity.entry("pods".to_owned()).or_insert(PODS * ONE);
        let or = |text: String, fallback: &str| if text.is_empty() { fallback.to_owned() } else { text };
        let systems = match raw.operating_systems.is_empty() {
            true => vec!["linux".to_owned()],
            false => raw.operating_systems,
        };
        Self {
            name: raw.name,
            architecture: or(raw.architecture, "amd64"),
            systems,
            capacity,
            offerings: raw.offerings.into_iter().map(Offering::from).collect(),
        }
    }
}

impl From<RawOffering> for Offering {
    fn from(raw: RawOffering) -> Self {
        let named = raw.requirements.into_iter().filter(|one| one.operator == "In");
        let labels: BTreeMap<String, Vec<String>> =
            named.map(|one| (normal(&one.key).to_owned(), one.values)).collect();
        let first = |key: &str| labels.get(key).and_then(|values| values.first()).cloned().unwrap_or_default();
        Self {
            price: raw.price,
            available: raw.available.unwrap_or(true),
            zone: first(ZONE),
            capacity_type: first(CAPACITY_TYPE),
            labels,
        }
    }
}
