//! NodePools, and limits that stand above them.

use std::collections::BTreeMap;

use crate::{ObjectName, Requirement, Resources, Taint};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pool {
    pub name: ObjectName,
    /// Higher first; equal ones by name. Zero where none is given.
    pub weight: u8,
    /// Labels of its template.
    pub labels: BTreeMap<String, String>,
    pub requirements: Vec<PoolRequirement>,
    pub taints: Vec<Taint>,
    /// What its cloud puts on spot machines besides: only pods that tolerate it are given one.
    pub spot_taints: Vec<Taint>,
    /// Pods need not tolerate these.
    pub startup_taints: Vec<Taint>,
    /// `spec.limits`, `nodes` among them.
    pub limits: Resources,
    /// What its nodes and claims have of those resources now, by capacity; `nodes` counts them. Deleting ones do not count.
    pub used: Resources,
    /// Position in `Scene::catalogues`.
    pub catalogue: usize,
    /// Why it makes no nodes now (not ready, being deleted, static), in words; its nodes are used all the same.
    pub closed: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolRequirement {
    pub requirement: Requirement,
    /// A claim must leave at least so many values of this key to choose from.
    pub min_values: Option<u32>,
}

/// A limit over some offerings of all pools together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quota {
    /// For words: `quota of family standardNCADSA100v4 in westeurope`.
    pub name: String,
    /// Which offerings it counts: those whose labels keep all of these.
    pub counts: Vec<Requirement>,
    /// What may still be added, by capacity; `nodes` counts machines.
    pub remaining: Resources,
}

impl From<Requirement> for PoolRequirement {
    fn from(requirement: Requirement) -> Self {
        PoolRequirement { requirement, min_values: None }
    }
}
