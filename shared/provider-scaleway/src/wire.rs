//! What Scaleway's APIs answer, as far as it is used here. Unknown fields are nobody's business.

use jiff::Timestamp;
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Server {
    pub id: String,
    #[serde(default)]
    pub name: String,
    #[serde(default)]
    pub tags: Vec<String>,
    #[serde(default)]
    pub commercial_type: String,
    pub state: String,
    #[serde(default)]
    pub allowed_actions: Vec<String>,
    #[serde(default)]
    pub zone: String,
    #[serde(default)]
    pub volumes: BTreeMap<String, ServerVolume>,
    #[serde(default)]
    pub image: Option<Image>,
    #[serde(default)]
    pub private_nics: Vec<PrivateNic>,
    #[serde(default)]
    pub creation_date: Option<String>,
    #[serde(default)]
    pub modification_date: Option<String>,
}

impl Server {
    pub fn created_at(&self) -> Option<Timestamp> {
        self.creation_date.as_deref().and_then(|text| text.parse().ok())
    }

    pub fn modified_at(&self) -> Option<Timestamp> {
        self.modification_date.as_deref().and_then(|text| text.parse().ok())
    }

    pub fn allows(&self, action: &str) -> bool {
        self.allowed_actions.iter().any(|allowed| allowed == action)
    }
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct ServerVolume {
    pub id: String,
    #[serde(default)]
    pub volume_type: String,
    /// Absent for block volumes: those are in another API.
    #[serde(default)]
    pub tags: Vec<String>,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Image {
    #[serde(default)]
    pub name: String,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct PrivateNic {
    #[serde(default)]
    pub private_network_id: String,
}

/// A volume of the Block API.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Block {
    pub id: String,
    #[serde(default)]
    pub tags: Vec<String>,
    #[serde(default)]
    pub references: Vec<Reference>,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Reference {
    #[serde(default)]
    pub product_resource_id: String,
}

/// A volume of the Instance API: `l_ssd` or `scratch`.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct LocalVolume {
    pub id: String,
    #[serde(default)]
    pub tags: Vec<String>,
    #[serde(default)]
    pub server: Option<Attached>,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Ip {
    pub id: String,
    #[serde(default)]
    pub tags: Vec<String>,
    #[serde(default)]
    pub server: Option<Attached>,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Attached {
    pub id: String,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct LocalImage {
    pub id: String,
    #[serde(default)]
    pub compatible_commercial_types: Vec<String>,
}

/// An entry of `/products/servers`.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Product {
    #[serde(default)]
    pub arch: String,
    #[serde(default)]
    pub ncpus: u64,
    #[serde(default)]
    pub ram: u64,
    #[serde(default)]
    pub gpu: Option<u32>,
    #[serde(default)]
    pub gpu_info: Option<GpuInfo>,
    #[serde(default)]
    pub hourly_price: f64,
    #[serde(default)]
    pub end_of_service: bool,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct GpuInfo {
    #[serde(default)]
    pub gpu_name: String,
    #[serde(default)]
    pub gpu_memory: u64,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Availability {
    #[serde(default)]
    pub availability: String,
}
