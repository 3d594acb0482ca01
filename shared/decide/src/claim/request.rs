//! The request to the cloud, made from the record: the same record always makes the same request.

use model::{Claim, InstanceRequest, LaunchRecord, Operator, Requirement, names, stock::QUOTA_FAMILY};
use std::collections::BTreeMap;

use crate::requirement::{left_open, normalised};

/// Only the machine itself may say its host name, and our own marks are nobody's business on a node.
const NOT_COPIED: [&str; 2] = [names::HOSTNAME, QUOTA_FAMILY];

pub fn request(claim: &Claim, record: &LaunchRecord, class: &BTreeMap<String, String>) -> InstanceRequest {
    let mut class = class.clone();
    class.insert("creationTimestamp".to_owned(), claim.created_at.to_string());
    let annotations = claim.annotations.iter().filter(|(key, _)| *key != names::LAUNCH);
    InstanceRequest {
        key: claim.key.clone(),
        offering: record.offering.clone(),
        epoch: record.epoch,
        labels: claim.labels.clone(),
        annotations: annotations.map(|(key, value)| (key.clone(), value.clone())).collect(),
        taints: claim.taints.clone(),
        startup_taints: claim.startup_taints.clone(),
        requests: claim.requests.clone(),
        class,
    }
}

/// What a launched claim is labelled with: its offering's labels, then what its requirements fix or leave open, and its own last.
pub fn labels(claim: &Claim, record: &LaunchRecord, requirements: &[Requirement]) -> BTreeMap<String, String> {
    let mut labels = record.offering.labels.clone();
    for requirement in requirements {
        // An older name of a label that the offering has is no second label.
        let key = normalised(&requirement.key);
        if let (Operator::In, Some(value)) = (requirement.operator, requirement.values.first())
            && !labels.contains_key(key)
        {
            labels.insert(key.to_owned(), value.clone());
        }
    }
    for (key, value) in left_open(requirements) {
        labels.entry(key).or_insert(value);
    }
    labels.retain(|key, _| !NOT_COPIED.contains(&key.as_str()) && !claim.labels.contains_key(key));
    labels
}
