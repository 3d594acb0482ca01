//! The rules, one file each.

mod affinity;
mod anti_affinity;
mod capacity;
mod claims;
mod left_out;
mod limits;
mod node;
mod spread;
pub mod topology;

use crate::Violation;
use crate::answer::Answer;
use crate::cluster::{Cluster, PodFacts};
use crate::placement::Placement;

/// Whether a pod has anything to do with where others are.
pub fn has_topology(pod: &PodFacts, cluster: &Cluster) -> bool {
    let terms = topology::affinity_terms(pod, cluster).len() + topology::anti_affinity_terms(pod, cluster).len();
    terms > 0 || !spread::constraints(pod).is_empty()
}

pub fn check(placement: &Placement<'_>, answer: &Answer, found: &mut Vec<Violation>) {
    let topology = topology::Topology::new(placement);
    placing(&topology, answer, found);
    left_out::check(&topology, found);
}

/// All but whether somebody was left out.
pub fn placing(topology: &topology::Topology<'_, '_>, answer: &Answer, found: &mut Vec<Violation>) {
    let placement = topology.placement;
    claims::check(placement, answer, found);
    node::check(placement, found);
    capacity::check(placement, found);
    limits::check(placement, found);
    anti_affinity::check(topology, found);
    affinity::check(topology, found);
    spread::check(topology, found);
}
