//! Placing pods: what a solve must know (`Scene`) and what it answers (`Placing`).
//!
//! Everything a solve needs is in the scene, resolved: whoever reads the cluster (or YAML files) has turned volume claims into
//! label alternatives, DaemonSets into pod shapes, Services into selectors. Nothing in here is looked up again, so the same scene
//! always gives the same answer. Positions in these lists are the names that the parts of a scene and its answer use of each other.

mod answer;
mod catalogue;
mod node;
mod pod;
mod pool;
mod topology;

use std::collections::BTreeMap;

use crate::Quantity;

pub use answer::{ClaimPlanned, Code, OfferingRef, Placing, Where, Why};
pub use catalogue::{Catalogue, InstanceType, Offered, Reservation};
pub use node::{Daemon, NodeStage, NodeThere, PodThere};
pub use pod::{HostPort, Invalid, NodeTerm, PodToPlace, Protocol, Volume, VolumeHandle, Weighted};
pub use pool::{Pool, PoolRequirement, Quota};
pub use topology::{NodePolicy, PodTerm, Selector, Spread, WhenUnsatisfiable};

/// One moment of a cluster, as far as placing pods needs it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Scene {
    /// The pods that want a place: pending ones, and those of nodes that are being deleted. Neither DaemonSet nor mirror pods.
    pub pods: Vec<PodToPlace>,
    /// Nodes that exist, and claims that will become nodes. The deleting ones are here too: nothing goes onto them.
    pub nodes: Vec<NodeThere>,
    /// Pods on those nodes that have not ended (Succeeded and Failed ones are left out), DaemonSet and mirror pods too. A pod that
    /// is in `pods` because its node is deleting is not here.
    pub bound: Vec<PodThere>,
    pub daemons: Vec<Daemon>,
    pub pools: Vec<Pool>,
    /// What can be bought. Pools point into this list by position, so that pools of one node class share one catalogue.
    pub catalogues: Vec<Catalogue>,
    /// Labels of each namespace, for `namespaceSelector`. One that is not here has only its name label.
    pub namespaces: BTreeMap<String, BTreeMap<String, String>>,
    /// `podTopologySpread.defaultConstraints` of the scheduler's configuration. They hold for a pod that has no constraint of its
    /// own and whose `default_selector` is known; their own selectors are not looked at.
    pub default_spread: Vec<Spread>,
    /// Limits that stand above pools, such as a cloud's quota for a family of types.
    pub quotas: Vec<Quota>,
    /// Resources that are parts of one device.
    pub device_parts: Vec<DeviceParts>,
    pub policy: Policy,
}

/// A resource that is a share of one unit of another: an amount of it must fit inside one single device.
///
/// With `{resource: "example.com/gpu-milli", device: "nvidia.com/gpu", per_device: 1000}` a node with eight GPUs takes eight pods of
/// 600 each, not thirteen, and a pod that asks for whole GPUs gets ones of which nobody has a share. Where a node's or type's
/// resources name the device, the shares follow from it; an amount of `resource` itself in them is not looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceParts {
    pub resource: String,
    pub device: String,
    pub per_device: Quantity,
}

/// How a solve goes about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    pub preferences: Preferences,
    pub min_values: MinValues,
    /// The most instance types a claim may list; the cheapest stay.
    pub most_types: usize,
}

/// Whether preferences (preferred affinities, `ScheduleAnyway`) steer at all: Karpenter's `PREFERENCE_POLICY`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Preferences {
    #[default]
    Respect,
    Ignore,
}

/// Whether `minValues` of a pool may give way: Karpenter's `MIN_VALUES_POLICY`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum MinValues {
    #[default]
    Strict,
    /// A claim that cannot keep them is made with as many as there are, and says so.
    BestEffort,
}

impl Default for Policy {
    fn default() -> Self {
        Policy { preferences: Preferences::Respect, min_values: MinValues::Strict, most_types: 600 }
    }
}
