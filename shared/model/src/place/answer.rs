//! What a solve answers: a place for each pod or the reason why there is none, and the claims to be made.

use core::fmt;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::{PoolRequirement, Scene};
use crate::{Operator, Requirement, Resources, names};

/// The answer to a scene.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Placing {
    /// One for each pod of the scene, in its order.
    pub pods: Vec<Where>,
    /// In the order they were opened; named `claim-0`, `claim-1`, … by position.
    pub claims: Vec<ClaimPlanned>,
    /// Time ran out: what is here holds, and pods with [`Code::OutOfTime`] were not come to.
    pub out_of_time: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Where {
    /// Position in `Scene::nodes`: a node, or a claim that is on its way.
    Node(usize),
    /// Position in `Placing::claims`.
    Claim(usize),
    /// Pods of one shape share their reason.
    Nowhere(Arc<Why>),
}

/// Why a pod has no place: for a person, and for a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Why {
    pub code: Code,
    /// At most 1024 characters: the first rule that failed, candidate by candidate.
    pub reason: String,
}

/// The kinds of failure.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Code {
    /// What the pod says cannot be served anywhere: the reader's own code.
    Invalid(String),
    /// `matchFields`, or a label that pods may not ask for.
    NotServed,
    /// No pool makes nodes.
    NoPools,
    Taints,
    /// Labels: selector, node affinity, or what a pool requires.
    Labels,
    Volumes,
    HostPorts,
    /// No type is large enough.
    Resources,
    /// Types fit, but none of their offerings can be had.
    NoOffering,
    /// Pod affinity, anti-affinity or spread.
    Topology,
    MinValues,
    /// A pool's limits or a quota are used up.
    Limits,
    /// Candidates fail for different reasons.
    Unschedulable,
    OutOfTime,
}

impl Code {
    /// PascalCase.
    pub fn as_str(&self) -> &str {
        match self {
            Code::Invalid(code) => code,
            Code::NotServed => "NotServed",
            Code::NoPools => "NoPools",
            Code::Taints => "TaintsNotTolerated",
            Code::Labels => "LabelsNotMet",
            Code::Volumes => "VolumesNotReachable",
            Code::HostPorts => "HostPortsTaken",
            Code::Resources => "TooLarge",
            Code::NoOffering => "NoOfferingAvailable",
            Code::Topology => "TopologyNotMet",
            Code::MinValues => "MinValuesNotMet",
            Code::Limits => "LimitsReached",
            Code::Unschedulable => "Unschedulable",
            Code::OutOfTime => "OutOfTime",
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A NodeClaim to be made. Its requirements are its contract: every offering it lists, in every zone and capacity type they leave
/// open, keeps every rule of its pods.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimPlanned {
    /// `claim-0`: good inside this answer only.
    pub name: String,
    /// Position in `Scene::pools`. Taints and startup taints are the pool's.
    pub pool: usize,
    /// The template's labels, the pool's name, and every requirement that has one value.
    pub labels: BTreeMap<String, String>,
    /// Sorted by key, all but that on the instance type: [`ClaimPlanned::all_requirements`] has it too. Apart because a thousand
    /// claims would each hold the names of hundreds of types.
    pub requirements: Vec<PoolRequirement>,
    /// Pods and DaemonSets together, `pods` among them.
    pub requests: Resources,
    /// Cheapest first. Claims with the same list share it.
    pub offerings: Arc<[OfferingRef]>,
    /// Positions in `Scene::pods`, rising.
    pub pods: Vec<usize>,
    /// `minValues` of the pool gave way (`MinValues::BestEffort`).
    pub min_values_relaxed: bool,
}

/// Positions in the catalogue of the claim's pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OfferingRef {
    pub instance_type: u32,
    pub offering: u32,
}

impl Where {
    /// `node/NAME`, `claim/NAME`, or nothing.
    pub fn name(&self, scene: &Scene, placing: &Placing) -> Option<String> {
        match self {
            Where::Node(at) => scene.nodes.get(*at).map(|node| match node.stage {
                super::NodeStage::InFlight => format!("claim/{}", node.name),
                super::NodeStage::Initialized | super::NodeStage::Starting => format!("node/{}", node.name),
            }),
            Where::Claim(at) => placing.claims.get(*at).map(|claim| format!("claim/{}", claim.name)),
            Where::Nowhere(_) => None,
        }
    }
}

impl ClaimPlanned {
    /// The requirements with that on the instance type: the types of its offerings.
    pub fn all_requirements(&self, scene: &Scene) -> Vec<PoolRequirement> {
        let pool = scene.pools.get(self.pool);
        let types = pool.and_then(|pool| scene.catalogues.get(pool.catalogue)).map(|catalogue| &catalogue.types);
        let name =
            |of: &OfferingRef| types.and_then(|types| types.get(of.instance_type as usize)).map(|it| it.name.clone());
        let mut values: Vec<String> = self.offerings.iter().filter_map(name).collect();
        values.sort_unstable();
        values.dedup();
        let asked = |of: &&PoolRequirement| of.requirement.key == names::INSTANCE_TYPE;
        let min_values = pool
            .and_then(|pool| pool.requirements.iter().filter(asked).filter_map(|of| of.min_values).max())
            .filter(|_| !self.min_values_relaxed);
        let requirement = Requirement { key: names::INSTANCE_TYPE.into(), operator: Operator::In, values };
        let mut all = self.requirements.clone();
        all.push(PoolRequirement { requirement, min_values });
        all.sort_by(|a, b| a.requirement.key.cmp(&b.requirement.key));
        all
    }
}
