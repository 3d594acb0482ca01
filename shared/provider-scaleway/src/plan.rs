//! A request, checked and made exact: everything that is sent follows from it. No request is sent to find it.

use model::{CapacityType, InstanceRequest, OfferingId, Quantity, Taint};
use provider::ProviderError;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

use crate::PROVIDER;
use crate::catalogue::{self, bundled_type, standard_labels};
use crate::class::{Class, PublicIp};
use crate::cloud_init::{self, Node};
use crate::names::{
    CAPACITY_TYPE_LABEL, INSTANCE_TYPE_LABEL, OLD_INSTANCE_TYPE_LABEL, commercial_type, is_zone, provider_id,
};
use crate::tags::{Home, claim_tag, tags_of};

const GIGABYTE: u64 = 1_000_000_000;
/// The GPU images need as much.
const LEAST_DISK: u64 = 20 * GIGABYTE;
const DEFAULT_DISK: u64 = 100 * GIGABYTE;
const MOST_DISK: u64 = 10_000 * GIGABYTE;

/// The node says its name in the label `kubernetes.io/hostname` too, and the value of a label has no more.
const LONGEST_NAME: usize = 63;

/// What will be made, and nothing left to choose.
#[derive(Debug, Clone)]
pub(crate) struct Plan<'a> {
    pub request: &'a InstanceRequest,
    pub class: Class,
    /// As Scaleway writes it, with the real type.
    pub offering: OfferingId,
    pub zone: String,
    pub root_bytes: u64,
    pub tag: String,
    labels: BTreeMap<String, String>,
    taints: Vec<Taint>,
}

impl<'a> Plan<'a> {
    pub fn of(request: &'a InstanceRequest, default_zone: Option<&str>) -> Result<Plan<'a>, ProviderError> {
        let invalid =
            |why: String| ProviderError::InvalidRequest { doing: format!("planning {}", request.key.name), why };
        let tag = claim_tag(&request.key)?;
        if request.key.name.as_str().len() > LONGEST_NAME {
            return Err(invalid(format!("the name has more than {LONGEST_NAME} letters: a node could not register")));
        }
        let asked = &request.offering.id;
        if asked.provider != PROVIDER {
            return Err(invalid(format!("{asked} is an offering of another provider: ask that one")));
        }
        if asked.capacity_type != CapacityType::OnDemand {
            return Err(invalid(format!("Scaleway sells no {} capacity: use on-demand", asked.capacity_type.as_str())));
        }
        let Some(zone) = asked.zone.as_deref().or(default_zone).map(str::to_owned).filter(|zone| is_zone(zone)) else {
            return Err(invalid(format!("{asked} names no zone of Scaleway, as in fr-par-2")));
        };
        if request.offering.gpu.as_ref().is_none_or(|gpu| gpu.count == 0) {
            return Err(invalid(format!("{asked} has no GPU: choose a type with at least one, as in L4-1-24G")));
        }
        let real_type = commercial_type(&asked.instance_type);
        let well_formed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        if real_type.is_empty() || !real_type.bytes().all(well_formed) {
            return Err(invalid("the instance type is no commercial type, as in L4-1-24G".to_owned()));
        }
        let class = Class::read(&request.class).map_err(invalid)?;
        let root_bytes = root_bytes(request, &class).map_err(invalid)?;
        let offering = OfferingId { instance_type: real_type.clone(), zone: Some(zone.clone()), ..asked.clone() };
        let mut labels = request.offering.labels.clone();
        labels.extend(request.labels.clone());
        let standard = standard_labels(&real_type, &zone, request.offering.arch);
        let labels = node_labels(labels, standard).map_err(invalid)?;
        let taints: Vec<Taint> = request.startup_taints.iter().chain(&request.taints).cloned().collect();
        taints.iter().try_for_each(check_taint).map_err(invalid)?;
        Ok(Plan { request, class, offering, zone, root_bytes, tag, labels, taints })
    }

    pub fn name(&self) -> &str {
        self.request.key.name.as_str()
    }

    /// A type and zone that are sold together as far as the bundled table knows.
    pub fn is_bundled(&self) -> bool {
        bundled_type(&self.offering.instance_type).is_some_and(|known| known.zones.contains(&self.zone.as_str()))
    }

    /// The body of `POST /servers`. It leaves the server stopped, and has no place for user data.
    pub fn create_body(&self, image: &str, project: &str, home: Home<'_>, address: Option<&str>) -> Value {
        let mut volumes = Map::new();
        // GPU types have no local disk for a root; the name makes an untagged volume recognisable to people.
        let root =
            json!({"name": format!("{}-root", self.name()), "size": self.root_bytes, "volume_type": "sbs_volume"});
        volumes.insert("0".to_owned(), root);
        let scratch = bundled_type(&self.offering.instance_type).map_or(0, |known| known.scratch_gb);
        if self.class.scratch && scratch > 0 {
            // The API does not add it by itself.
            let name = format!("{}-scratch", self.name());
            let volume = json!({"name": name, "size": scratch * GIGABYTE, "volume_type": "scratch"});
            volumes.insert("1".to_owned(), volume);
        }
        let mut body = json!({
            "name": self.name(), "commercial_type": self.offering.instance_type, "image": image, "project": project,
            "tags": tags_of(&self.request.key, home), "volumes": volumes, "boot_type": "local",
            "dynamic_ip_required": self.class.public_ip == PublicIp::Dynamic,
        });
        if let Some(address) = address {
            body["public_ips"] = json!([address]);
        }
        if let Some(group) = &self.class.security_group {
            body["security_group"] = json!(group);
        }
        body
    }

    /// The user data of the server with this ID. It holds the join secret.
    pub fn user_data(&self, zone: &str, server: &str) -> String {
        let node = Node {
            name: self.name().to_owned(),
            provider_id: provider_id(zone, server),
            labels: self.labels.clone(),
            taints: self.taints.clone(),
        };
        cloud_init::render(&self.class, &node)
    }
}

/// What the class says, else what the claim asks for. Pods of a node share its disk with the system and the kubelet's
/// reserve, so what pods ask for (`ephemeral-storage`) gets room on top; a disk size (`storage`) is taken as it is.
fn root_bytes(request: &InstanceRequest, class: &Class) -> Result<u64, String> {
    let asked = |name: &str| request.requests.get(name).copied().map(bytes_of);
    let wanted = match (class.root_bytes, asked("storage"), asked("ephemeral-storage")) {
        (Some(bytes), _, _) | (None, Some(bytes), _) => bytes,
        (None, None, Some(bytes)) => bytes.saturating_add(bytes / 4).saturating_add(LEAST_DISK),
        (None, None, None) => DEFAULT_DISK,
    };
    if wanted == 0 || wanted > MOST_DISK {
        return Err(format!("a disk of {wanted} bytes is not sold: ask for 1 byte to 10 TB"));
    }
    Ok(wanted.max(LEAST_DISK).div_ceil(GIGABYTE) * GIGABYTE)
}

fn bytes_of(quantity: Quantity) -> u64 {
    u64::try_from(quantity.thousandths() / 1000).unwrap_or(u64::MAX)
}

/// The labels a kubelet registers with: ours win over the claim's, and what a kubelet may not say about itself is left
/// to whoever looks after the Node (it would not start otherwise).
fn node_labels(
    asked: BTreeMap<String, String>,
    standard: BTreeMap<String, String>,
) -> Result<BTreeMap<String, String>, String> {
    let mut labels = asked;
    labels.remove(OLD_INSTANCE_TYPE_LABEL);
    labels.remove(CAPACITY_TYPE_LABEL);
    labels.extend(standard);
    labels.retain(|key, _| kubelet_may_say(key));
    match labels.iter().find(|(key, value)| !is_label_word(key, "/") || !is_label_word(value, "")) {
        Some((key, _)) => {
            let key: String = key.chars().filter(char::is_ascii_graphic).take(80).collect();
            Err(format!("the label {key:?} or its value is not allowed by Kubernetes"))
        }
        None => Ok(labels),
    }
}

/// The rule of kubelets and of the NodeRestriction admission plugin for Kubernetes' own domains.
fn kubelet_may_say(key: &str) -> bool {
    let domain = key.split_once('/').map_or("", |(domain, _)| domain);
    let within = |zone: &str| domain == zone || domain.ends_with(&format!(".{zone}"));
    let reserved = within("kubernetes.io") || within("k8s.io");
    let known = [
        INSTANCE_TYPE_LABEL,
        "topology.kubernetes.io/zone",
        "topology.kubernetes.io/region",
        "kubernetes.io/arch",
        "kubernetes.io/os",
        "kubernetes.io/hostname",
    ];
    !reserved || known.contains(&key) || within("kubelet.kubernetes.io") || within("node.kubernetes.io")
}

fn check_taint(taint: &Taint) -> Result<(), String> {
    match is_label_word(&taint.key, "/") && !taint.key.is_empty() && is_label_word(&taint.value, "") {
        true => Ok(()),
        false => Err("a taint of the claim has a key or value that Kubernetes does not allow".to_owned()),
    }
}

/// The letters of labels, which are harmless in YAML and in a shell.
fn is_label_word(text: &str, more: &str) -> bool {
    text.len() <= 317
        && text.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_.".contains(letter) || more.contains(letter))
}

/// The types that a live list must have before an unknown type is asked for.
pub(crate) fn unknown_type(plan: &Plan<'_>) -> ProviderError {
    let known: Vec<&str> = catalogue::BUNDLED.iter().map(|one| one.name).collect();
    ProviderError::InvalidRequest {
        doing: format!("planning {}", plan.name()),
        why: format!(
            "{} is not sold in {}: choose one of {}",
            plan.offering.instance_type,
            plan.zone,
            known.join(", ")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kubelet_says_only_what_it_may() {
        for (key, may) in [
            ("node.kubernetes.io/instance-type", true),
            ("topology.kubernetes.io/zone", true),
            ("karpenter.sh/nodepool", true),
            ("team", true),
            ("node-role.kubernetes.io/gpu", false),
            ("k8s.io/x", false),
        ] {
            assert_eq!(kubelet_may_say(key), may, "{key}");
        }
    }

    #[test]
    fn the_old_label_keys_are_normalised_and_never_written() {
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let asked = BTreeMap::from([pair(OLD_INSTANCE_TYPE_LABEL, "l4"), pair(CAPACITY_TYPE_LABEL, "scaleway-gpu")]);
        let standard = standard_labels("L4-1-24G", "fr-par-2", model::Arch::Amd64);
        let labels = node_labels(asked, standard).unwrap_or_default();
        assert_eq!(labels.get(CAPACITY_TYPE_LABEL).map(String::as_str), Some("on-demand"));
        assert!(!labels.contains_key(OLD_INSTANCE_TYPE_LABEL));
    }
}
