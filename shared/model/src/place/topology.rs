//! Rules between pods: near each other, apart from each other, evenly spread.

use crate::{Labels, Namespace, Requirement};

/// A label selector. Empty it selects everything; where it is absent nothing is selected.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Selector {
    pub labels: Labels,
    /// `matchExpressions`: In, NotIn, Exists, DoesNotExist. Another operator selects nothing.
    pub expressions: Vec<Requirement>,
}

/// A PodAffinityTerm: the pods it selects, and what "the same place" is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PodTerm {
    /// Two nodes with the same value of this label are one place.
    pub topology_key: String,
    pub selector: Option<Selector>,
    /// With no namespace listed and no selector of namespaces: that of the pod itself.
    pub namespaces: Vec<Namespace>,
    /// An empty one selects all namespaces.
    pub namespace_selector: Option<Selector>,
    /// Labels of the pod itself whose values the others must share, as the API server merges them into the selector. Where it
    /// has done so, merging them again changes nothing.
    pub match_label_keys: Vec<String>,
    /// The same, whose values the others must not have.
    pub mismatch_label_keys: Vec<String>,
}

/// A TopologySpreadConstraint.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Spread {
    /// At least 1.
    pub max_skew: u32,
    pub topology_key: String,
    pub when_unsatisfiable: WhenUnsatisfiable,
    /// Absent, it counts no pod and so holds everywhere that has the label.
    pub selector: Option<Selector>,
    /// With fewer domains than this the least count is zero.
    pub min_domains: Option<u32>,
    /// Whether nodes that the pod's own node affinity excludes are counted (`Honor`: they are not; the default).
    pub node_affinity_policy: NodePolicy,
    /// Whether nodes whose taints the pod does not tolerate are counted (`Ignore`: they are; the default).
    pub node_taints_policy: NodePolicy,
    /// Labels of the pod that are merged into the selector with their values; unknown ones are passed over.
    pub match_label_keys: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WhenUnsatisfiable {
    DoNotSchedule,
    /// A wish: given up if the pod finds no place with it.
    ScheduleAnyway,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NodePolicy {
    Honor,
    Ignore,
}

impl Spread {
    /// A hard constraint over the pods of a selector, with the defaults of Kubernetes.
    pub fn hard(topology_key: impl Into<String>, max_skew: u32, selector: Selector) -> Self {
        Spread {
            max_skew,
            topology_key: topology_key.into(),
            when_unsatisfiable: WhenUnsatisfiable::DoNotSchedule,
            selector: Some(selector),
            min_domains: None,
            node_affinity_policy: NodePolicy::Honor,
            node_taints_policy: NodePolicy::Ignore,
            match_label_keys: vec![],
        }
    }
}

impl PodTerm {
    /// Pods of the own namespace that a selector selects.
    pub fn own_namespace(topology_key: impl Into<String>, selector: Selector) -> Self {
        PodTerm {
            topology_key: topology_key.into(),
            selector: Some(selector),
            namespaces: vec![],
            namespace_selector: None,
            match_label_keys: vec![],
            mismatch_label_keys: vec![],
        }
    }
}
