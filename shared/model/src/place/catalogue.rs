//! What can be bought: types of machines, and where and how each is offered.

use std::collections::BTreeMap;

use crate::{CapacityType, Requirement, Resources};

/// The types of one provider, or of one file. A label key that any of its types or offerings names is known to all of them: a
/// type that does not name it does not have it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Catalogue {
    pub types: Vec<InstanceType>,
    /// What is not among the types cannot be had. A provider that is asked for GPUs alone says nothing about its other machines.
    pub complete: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstanceType {
    /// The value of `node.kubernetes.io/instance-type`.
    pub name: String,
    /// Labels that its nodes carry (`In` one value), may carry (`In` several: the claim decides, as with an operating system), or
    /// never carry (`DoesNotExist`). Instance type, zone and capacity type are added by the solve.
    pub requirements: Vec<Requirement>,
    /// What limits count.
    pub capacity: Resources,
    /// What pods and DaemonSets may use: the capacity without what the system keeps.
    pub allocatable: Resources,
    /// Volumes a node of it can attach, by CSI driver. A driver that is not here has no limit.
    pub volume_limits: BTreeMap<String, u32>,
    pub offerings: Vec<Offered>,
}

/// A type, in a zone, bought in one way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offered {
    /// The value of `topology.kubernetes.io/zone`; absent for a regional one, whose nodes have no zone label.
    pub zone: Option<String>,
    pub capacity_type: CapacityType,
    /// Millionths of the currency's unit an hour. One without a price comes after all that have one.
    pub price: Option<u64>,
    /// Whether it can be had now: in stock, within quota.
    pub available: bool,
    /// Labels besides zone and capacity type that tell it apart.
    pub requirements: Vec<Requirement>,
    /// For reserved capacity: which, and how many machines of it are left.
    pub reservation: Option<Reservation>,
}

/// Offerings with the same id draw on the same machines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reservation {
    pub id: String,
    pub left: u32,
}
