//! What the volumes of a pod demand of its node, and how many a node can hold.

use std::collections::HashMap;

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim, Pod, Volume};
use k8s_openapi::api::storage::v1::StorageClass;

use crate::labels::{HOSTNAME, NodeDemand, NodeTerm, normal};
use crate::objects::Requirement;
use crate::pods::{name, namespace};

/// Everything about volumes, by name.
#[derive(Debug, Clone, Default)]
pub struct Volumes {
    pub claims: HashMap<String, PersistentVolumeClaim>,
    pub volumes: HashMap<String, PersistentVolume>,
    pub classes: HashMap<String, StorageClass>,
}

impl Volumes {
    pub fn new(claims: Vec<PersistentVolumeClaim>, volumes: Vec<PersistentVolume>, classes: Vec<StorageClass>) -> Self {
        let key = |claim: &PersistentVolumeClaim| format!("{}/{}", namespace(&claim.metadata), name(&claim.metadata));
        Self {
            claims: claims.into_iter().map(|claim| (key(&claim), claim)).collect(),
            volumes: volumes.into_iter().map(|one| (name(&one.metadata).to_owned(), one)).collect(),
            classes: classes.into_iter().map(|one| (name(&one.metadata).to_owned(), one)).collect(),
        }
    }

    /// One demand a volume that has any, or why the pod cannot run anywhere with the volumes it has.
    pub fn demands(&self, pod: &Pod) -> Result<Vec<NodeDemand>, String> {
        let mut demands = Vec::new();
        for key in claims_of(pod) {
            let claim = self.claims.get(&key).ok_or_else(|| format!("its volume claim {key} does not exist"))?;
            let spec = claim.spec.clone().unwrap_or_default();
            let phase = claim.status.as_ref().and_then(|status| status.phase.as_deref());
            if claim.metadata.deletion_timestamp.is_some() || phase == Some("Lost") {
                return Err(format!("its volume claim {key} is lost or being deleted"));
            }
            let named = spec.volume_name.as_deref().is_some_and(|name| !name.is_empty());
            if named && phase == Some("Pending") {
                return Err(format!("its volume claim {key} is not bound yet"));
            }
            let class_name = spec.storage_class_name.as_deref().unwrap_or_default();
            let terms = match spec.volume_name.as_deref().filter(|name| !name.is_empty()) {
                Some(volume) => self.bound(&key, volume)?,
                None => self.unbound(&key, class_name)?,
            };
            if !terms.is_empty() {
                demands.push(NodeDemand::any_of(terms));
            }
        }
        Ok(demands)
    }

    fn bound(&self, key: &str, name: &str) -> Result<Vec<NodeTerm>, String> {
        let volume =
            self.volumes.get(name).ok_or_else(|| format!("the volume {name} of claim {key} does not exist"))?;
        if volume.metadata.deletion_timestamp.is_some() {
            return Err(format!("the volume {name} of claim {key} is being deleted"));
        }
        let Some(spec) = &volume.spec else { return Ok(Vec::new()) };
        let moves = spec.local.is_some() || spec.host_path.is_some();
        let required = spec.node_affinity.as_ref().and_then(|affinity| affinity.required.as_ref());
        let mut terms = Vec::new();
        for term in required.iter().flat_map(|required| &required.node_selector_terms) {
            let mut term = NodeTerm::of(term);
            let before = term.labels.len();
            if moves {
                // The data of a local volume does not follow its pod: a new node has a new name anyway.
                term.labels.retain(|one| one.key != HOSTNAME);
            }
            if before > 0 && term.labels.is_empty() {
                return Ok(Vec::new());
            }
            if !term.labels.is_empty() {
                terms.push(term);
            }
        }
        Ok(terms)
    }

    fn unbound(&self, key: &str, class: &str) -> Result<Vec<NodeTerm>, String> {
        if class.is_empty() {
            return Err(format!("its volume claim {key} has neither a volume nor a storage class"));
        }
        let class = self
            .classes
            .get(class)
            .ok_or_else(|| format!("the storage class {class} of claim {key} does not exist"))?;
        if class.volume_binding_mode.as_deref() != Some("WaitForFirstConsumer") {
            return Err(format!("its volume claim {key} is not bound, and its class binds at once"));
        }
        let terms = class.allowed_topologies.iter().flatten().map(|term| NodeTerm {
            labels: term
                .match_label_expressions
                .iter()
                .flatten()
                .map(|one| Requirement {
                    key: normal(&one.key).to_owned(),
                    operator: "In".to_owned(),
                    values: one.values.clone(),
                    min_values: None,
                })
                .collect(),
            names: Vec::new(),
        });
        Ok(terms.filter(|term| !term.labels.is_empty()).collect())
    }

    /// Driver and claim of each volume that takes an attachment.
    pub fn attachments(&self, pod: &Pod) -> Vec<(String, String)> {
        let driver = |key: &String| {
            let spec = self.claims.get(key)?.spec.as_ref()?;
            match spec.volume_name.as_deref().filter(|name| !name.is_empty()) {
                Some(volume) => Some(self.volumes.get(volume)?.spec.as_ref()?.csi.as_ref()?.driver.clone()),
                None => Some(self.classes.get(spec.storage_class_name.as_deref()?)?.provisioner.clone()),
            }
        };
        claims_of(pod).into_iter().filter_map(|key| Some((driver(&key)?, key))).collect()
    }
}

/// `namespace/name` of the volume claims a pod uses.
fn claims_of(pod: &Pod) -> Vec<String> {
    let claim = |volume: &Volume| match (&volume.persistent_volume_claim, &volume.ephemeral) {
        (Some(source), _) => Some(source.claim_name.clone()),
        (None, Some(_)) => Some(format!("{}-{}", name(&pod.metadata), volume.name)),
        (None, None) => None,
    };
    let volumes = pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten());
    volumes.filter_map(claim).map(|claim| format!("{}/{claim}", namespace(&pod.metadata))).collect()
}
