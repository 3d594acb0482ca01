//! What can be had: a shape of machine, in a place, at a price.

use core::{fmt, str::FromStr};
use jiff::civil::Date;
use std::collections::BTreeMap;

use crate::Resources;

/// One thing that can be asked for. Everything that tells two offerings apart is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offering {
    pub id: OfferingId,
    pub gpu: Option<Gpu>,
    /// What a node of it can hold, accelerators included (`nvidia.com/gpu`, `amd.com/gpu`, `nvidia.com/mig-1g.10gb`).
    pub capacity: Resources,
    pub arch: Arch,
    /// Absent where nobody knows one; then it is tried after those that have one.
    pub price: Option<Price>,
    /// Labels a node of it will carry.
    pub labels: BTreeMap<String, String>,
    pub stock: Stock,
}

/// The name of an offering: stock memory and the ladder go by it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OfferingId {
    /// `aks`, `scaleway` or `power`.
    pub provider: String,
    /// The VM size, commercial type or machine.
    pub instance_type: String,
    /// Absent for a regional offering.
    pub zone: Option<String>,
    pub capacity_type: CapacityType,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CapacityType {
    OnDemand,
    Spot,
    Reserved,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gpu {
    /// As people say it: `A100-80GB`, `L40S`.
    pub model: String,
    pub count: u32,
    pub memory_mib: u64,
    pub mig_capable: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Arch {
    Amd64,
    Arm64,
}

/// Money an hour, exact, with the day it was true.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Price {
    /// Millionths of the currency's unit.
    pub millionths_per_hour: u64,
    /// `USD`, `EUR`.
    pub currency: String,
    pub as_of: Date,
}

/// What the cloud itself says about stock; unknown where it says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stock {
    Available,
    Scarce,
    Shortage,
    Unknown,
}

/// Why a text is not a capacity type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a capacity type: on-demand, spot or reserved")]
pub struct InvalidCapacityType(String);

impl CapacityType {
    pub fn as_str(self) -> &'static str {
        match self {
            CapacityType::OnDemand => "on-demand",
            CapacityType::Spot => "spot",
            CapacityType::Reserved => "reserved",
        }
    }
}

impl FromStr for CapacityType {
    type Err = InvalidCapacityType;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "on-demand" => Ok(CapacityType::OnDemand),
            "spot" => Ok(CapacityType::Spot),
            "reserved" => Ok(CapacityType::Reserved),
            _ => Err(InvalidCapacityType(text.chars().take(40).collect())),
        }
    }
}

/// `aks/Standard_NC24ads_A100_v4/westeurope-1/on-demand`.
impl fmt::Display for OfferingId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let zone = self.zone.as_deref().unwrap_or("regional");
        write!(f, "{}/{}/{zone}/{}", self.provider, self.instance_type, self.capacity_type.as_str())
    }
}
