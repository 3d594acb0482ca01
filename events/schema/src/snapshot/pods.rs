//! The pods of a snapshot: what they are like, and the few that are named.

use core::fmt;
use jiff::Timestamp;
use model::{
    Namespace, ObjectName, Uid,
    place::{HostPort, PodTerm, Protocol, Selector},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use super::{Labels, is_false};
use crate::{
    object::{NodeSelectorRequirement, PodToleration, all},
    word::Word,
};

/// Pods that are alike in everything that placing others looks at.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Shape {
    pub namespace: Word<Namespace>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Labels,
    /// Position in `resources`.
    pub requests: u32,
    /// `podAntiAffinity.required…`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub anti_affinity: Vec<PodAffinityTerm>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub host_ports: Vec<NodePort>,
    /// Names of the volume claims they use, in their namespace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub volume_claims: Vec<String>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub terminating: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub daemon: Option<Daemon>,
}

/// What pods of a DaemonSet say about those that are to come.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Daemon {
    pub set: Word<ObjectName>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub node_selector: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tolerations: Vec<PodToleration>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub host_network: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NewestDaemon {
    /// Position in `shapes`.
    pub shape: u32,
    pub created_at: Word<Timestamp>,
    pub pod: Word<ObjectName>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UnboundPod {
    pub namespace: Word<Namespace>,
    pub name: Word<ObjectName>,
    pub uid: Word<Uid>,
    /// The scheduler has looked and found no node, and nobody else sees to it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub waits: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PodAffinityTerm {
    pub topology_key: String,
    /// Absent it selects nothing, empty it selects everything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label_selector: Option<LabelSelector>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub namespaces: Vec<Word<Namespace>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace_selector: Option<LabelSelector>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub match_label_keys: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mismatch_label_keys: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LabelSelector {
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub match_labels: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub match_expressions: Vec<NodeSelectorRequirement>,
}

/// A port of the node that a container has for itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodePort {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub ip: String,
    pub port: u16,
    pub protocol: PortProtocol,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum PortProtocol {
    Tcp,
    Udp,
    Sctp,
}

impl From<PodAffinityTerm> for PodTerm {
    fn from(term: PodAffinityTerm) -> Self {
        let PodAffinityTerm {
            topology_key,
            label_selector,
            namespaces,
            namespace_selector,
            match_label_keys,
            mismatch_label_keys,
        } = term;
        PodTerm {
            topology_key,
            selector: label_selector.map(Into::into),
            namespaces: namespaces.into_iter().map(|word| word.value).collect(),
            namespace_selector: namespace_selector.map(Into::into),
            match_label_keys,
            mismatch_label_keys,
        }
    }
}

impl From<&PodTerm> for PodAffinityTerm {
    fn from(term: &PodTerm) -> Self {
        PodAffinityTerm {
            topology_key: term.topology_key.clone(),
            label_selector: term.selector.as_ref().map(Into::into),
            namespaces: term.namespaces.iter().cloned().map(Into::into).collect(),
            namespace_selector: term.namespace_selector.as_ref().map(Into::into),
            match_label_keys: term.match_label_keys.clone(),
            mismatch_label_keys: term.mismatch_label_keys.clone(),
        }
    }
}

impl From<LabelSelector> for Selector {
    fn from(selector: LabelSelector) -> Self {
        let LabelSelector { match_labels, match_expressions } = selector;
        Selector { labels: match_labels.into(), expressions: all(match_expressions) }
    }
}

impl From<&Selector> for LabelSelector {
    fn from(selector: &Selector) -> Self {
        let expression = |one: &model::Requirement| NodeSelectorRequirement {
            key: one.key.clone(),
            operator: one.operator.into(),
            values: one.values.clone(),
        };
        LabelSelector {
            match_labels: selector.labels.clone().into(),
            match_expressions: selector.expressions.iter().map(expression).collect(),
        }
    }
}

impl From<NodePort> for HostPort {
    fn from(port: NodePort) -> Self {
        let NodePort { ip, port, protocol } = port;
        let protocol = match protocol {
            PortProtocol::Tcp => Protocol::Tcp,
            PortProtocol::Udp => Protocol::Udp,
            PortProtocol::Sctp => Protocol::Sctp,
        };
        HostPort { ip, port, protocol }
    }
}

impl From<&HostPort> for NodePort {
    fn from(port: &HostPort) -> Self {
        let protocol = match port.protocol {
            Protocol::Tcp => PortProtocol::Tcp,
            Protocol::Udp => PortProtocol::Udp,
            Protocol::Sctp => PortProtocol::Sctp,
        };
        NodePort { ip: port.ip.clone(), port: port.port, protocol }
    }
}

/// Where a position leads nowhere.
#[derive(Debug)]
pub(super) struct Nowhere {
    pub list: &'static str,
    pub position: u32,
}

impl fmt::Display for Nowhere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Nowhere { list, position } = self;
        write!(f, "{position} is no position in `{list}`")
    }
}
