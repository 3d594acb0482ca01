//! Making nodes for pods that wait: the NodeClaims to be made, and the words that each pod gets.

use std::collections::BTreeMap;

use crate::{ClassRef, ObjectName, PodRef, Resources, Taint, Uid, place::PoolRequirement};

/// A NodeClaim to be made, whole. Its name says what it is for, so making it twice is making it once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimToMake {
    pub name: ObjectName,
    /// The NodePool that it belongs to; absent where there is none.
    pub owner: Option<PoolRef>,
    pub labels: BTreeMap<String, String>,
    pub annotations: BTreeMap<String, String>,
    pub class: ClassRef,
    pub requirements: Vec<PoolRequirement>,
    pub requests: Resources,
    pub taints: Vec<Taint>,
    pub startup_taints: Vec<Taint>,
    /// As the pool writes it, `Never` too.
    pub expire_after: Option<String>,
    pub termination_grace_period: Option<String>,
}

/// A NodePool, for an owner reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolRef {
    pub name: ObjectName,
    pub uid: Uid,
}

/// An Event for people, on a Pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodNote {
    pub pod: PodRef,
    pub warning: bool,
    /// It may have been said before, so that is looked up first: a world that stands still is only read.
    pub again: bool,
    /// PascalCase.
    pub reason: String,
    pub text: String,
}
