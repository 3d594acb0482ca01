//! The volumes of a pod: where they can be reached from, what they take of a node's attachments, and what is wrong with them.

use decide::requirement::normalised;
use k8s_openapi::api::{
    core::v1::{PersistentVolume, PersistentVolumeClaim, Pod},
    storage::v1::StorageClass,
};
use model::{
    Operator, Requirement, names,
    place::{Invalid, Volume, VolumeHandle},
};
use std::collections::BTreeMap;

use super::{
    SceneSource,
    rules::{each, requirement},
};
use crate::read_pod::claimed_volumes;

const BIND_COMPLETED: &str = "pv.kubernetes.io/bind-completed";
const IS_DEFAULT_CLASS: &str = "storageclass.kubernetes.io/is-default-class";

/// The drivers that took over from what Kubernetes had built in.
const MIGRATED: [(&str, &str); 7] = [
    ("kubernetes.io/aws-ebs", "ebs.csi.aws.com"),
    ("kubernetes.io/azure-disk", "disk.csi.azure.com"),
    ("kubernetes.io/azure-file", "file.csi.azure.com"),
    ("kubernetes.io/cinder", "cinder.csi.openstack.org"),
    ("kubernetes.io/gce-pd", "pd.csi.storage.gke.io"),
    ("kubernetes.io/portworx-volume", "pxd.portworx.com"),
    ("kubernetes.io/vsphere-volume", "csi.vsphere.vmware.com"),
];

/// Volumes, claims and classes by name.
pub(super) struct Lookup<'a> {
    claims: BTreeMap<(&'a str, &'a str), &'a PersistentVolumeClaim>,
    volumes: BTreeMap<&'a str, &'a PersistentVolume>,
    classes: BTreeMap<&'a str, &'a StorageClass>,
    /// The newest of those that are marked so; of several that are as old, the last.
    default_class: Option<&'a str>,
}

/// What a volume needs attaching by, as far as it can be told.
struct Resolved<'a> {
    claim: &'a PersistentVolumeClaim,
    volume: Option<&'a PersistentVolume>,
    class: Option<&'a StorageClass>,
}

impl<'a> Lookup<'a> {
    pub(super) fn new(source: &'a SceneSource) -> Self {
        let text = |text: &'a Option<String>| text.as_deref().unwrap_or_default();
        let is_default = |class: &&StorageClass| {
            let annotations = class.metadata.annotations.as_ref();
            annotations.and_then(|all| all.get(IS_DEFAULT_CLASS)).is_some_and(|value| value == "true")
        };
        let created = |class: &&StorageClass| class.metadata.creation_timestamp.as_ref().map(|time| time.0);
        let newest = source.storage_classes.iter().filter(is_default).max_by_key(created);
        Lookup {
            claims: source
                .volume_claims
                .iter()
                .map(|claim| ((text(&claim.metadata.namespace), text(&claim.metadata.name)), claim))
                .collect(),
            volumes: source.volumes.iter().map(|volume| (text(&volume.metadata.name), volume)).collect(),
            classes: source.storage_classes.iter().map(|class| (text(&class.metadata.name), class)).collect(),
            default_class: newest.map(|class| text(&class.metadata.name)),
        }
    }

    /// The volumes that have a claim; all others are wherever the pod is. The error is what keeps the pod from any node.
    pub(super) fn volumes(&self, pod: &Pod) -> Result<Vec<Volume>, Invalid> {
        let mut found = Vec::new();
        for (volume, name) in claimed_volumes(pod) {
            let resolved = self.resolve(pod, &name)?;
            let alternatives = match (resolved.volume, resolved.class) {
                (Some(bound), _) => reach_of_volume(bound).map_err(|why| invalid("Malformed", why))?,
                (None, Some(class)) => reach_of_class(class),
                (None, None) => vec![],
            };
            let handle = handle(&resolved);
            if !alternatives.is_empty() || handle.is_some() {
                found.push(Volume { name: volume.name.clone(), alternatives, handle });
            }
        }
        Ok(found)
    }

    /// What the volumes of a pod that is on a node take there. Whatever is wrong with one, it is attached or it is not.
    pub(super) fn handles(&self, pod: &Pod) -> Vec<VolumeHandle> {
        let claims: Vec<String> = claimed_volumes(pod).map(|(_, name)| name).collect();
        self.handles_of(pod.metadata.namespace.as_deref().unwrap_or_default(), &claims)
    }

    /// The same by the names of their claims.
    pub(super) fn handles_of(&self, namespace: &str, claims: &[String]) -> Vec<VolumeHandle> {
        claims.iter().filter_map(|name| handle(&self.find(namespace, name)?)).collect()
    }

    fn find(&self, namespace: &str, name: &str) -> Option<Resolved<'a>> {
        let claim = *self.claims.get(&(namespace, name))?;
        let bound = volume_name(claim);
        let class = claim.spec.as_ref().and_then(|spec| spec.storage_class_name.as_deref()).or(self.default_class);
        Some(Resolved {
            claim,
            volume: bound.and_then(|name| self.volumes.get(name)).copied(),
            class: class.and_then(|name| self.classes.get(name)).copied(),
        })
    }

    /// The rules of the scheduler for claims, in its order.
    fn resolve(&self, pod: &Pod, name: &str) -> Result<Resolved<'a>, Invalid> {
        let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
        let Some(resolved) = self.find(namespace, name) else {
            return Err(invalid("VolumeClaimMissing", format!("volume claim {name} is not there: make it")));
        };
        let claim = resolved.claim;
        if claim.metadata.deletion_timestamp.is_some() {
            return Err(invalid("VolumeClaimDeleting", format!("volume claim {name} is being deleted")));
        }
        if claim.status.as_ref().and_then(|status| status.phase.as_deref()) == Some("Lost") {
            return Err(invalid("VolumeClaimLost", format!("volume claim {name} has lost its volume")));
        }
        match volume_name(claim) {
            Some(volume) => {
                let Some(found) = resolved.volume else {
                    let why = format!("volume claim {name} names volume {volume}, which is not there");
                    return Err(invalid("VolumeMissing", why));
                };
                if found.metadata.deletion_timestamp.is_some() {
                    let why = format!("volume {volume} of volume claim {name} is being deleted");
                    return Err(invalid("VolumeDeleting", why));
                }
                let done = claim.metadata.annotations.as_ref().is_some_and(|all| all.contains_key(BIND_COMPLETED));
                if !done {
                    let why = format!("volume claim {name} is not yet bound to volume {volume}");
                    return Err(invalid("VolumeClaimNotBound", why));
                }
            }
            None => {
                let named = claim.spec.as_ref().and_then(|spec| spec.storage_class_name.as_deref());
                let Some(class) = named.or(self.default_class).filter(|class| !class.is_empty()) else {
                    let why = format!("volume claim {name} is not bound and names no storage class");
                    return Err(invalid("StorageClassMissing", why));
                };
                let Some(found) = resolved.class else {
                    let why = format!("storage class {class} of volume claim {name} is not there");
                    return Err(invalid("StorageClassMissing", why));
                };
                if found.volume_binding_mode.as_deref().unwrap_or("Immediate") == "Immediate" {
                    let why = format!(
                        "volume claim {name} is not bound yet, and storage class {class} binds at once: wait for it"
                    );
                    return Err(invalid("VolumeClaimNotBound", why));
                }
            }
        }
        Ok(resolved)
    }
}

fn invalid(code: &str, why: String) -> Invalid {
    Invalid { code: code.to_owned(), why }
}

fn volume_name(claim: &PersistentVolumeClaim) -> Option<&str> {
    claim.spec.as_ref()?.volume_name.as_deref().filter(|name| !name.is_empty())
}

/// One list a term. A volume on a node's own disk is left behind when its pod moves, so its host does not bind the pod.
fn reach_of_volume(volume: &PersistentVolume) -> Result<Vec<Vec<Requirement>>, String> {
    let Some(spec) = &volume.spec else { return Ok(vec![]) };
    let required = spec.node_affinity.as_ref().and_then(|affinity| affinity.required.as_ref());
    let on_a_host = spec.local.is_some() || spec.host_path.is_some();
    let mut alternatives = Vec::new();
    for (index, term) in required.iter().flat_map(|required| &required.node_selector_terms).enumerate() {
        let name = volume.metadata.name.as_deref().unwrap_or_default();
        let path =
            format!("PersistentVolume {name}: spec.nodeAffinity.required.nodeSelectorTerms[{index}].matchExpressions");
        let mut all = each(&path, term.match_expressions.as_deref().unwrap_or_default(), requirement)?;
        if all.is_empty() {
            continue;
        }
        if on_a_host {
            all.retain(|one| one.key != names::HOSTNAME);
        }
        all.iter_mut().for_each(name_no_zone);
        alternatives.push(all);
    }
    let labelled = reach_of_labels(volume);
    if !labelled.is_empty() && alternatives.is_empty() {
        alternatives.push(vec![]);
    }
    alternatives.iter_mut().for_each(|all| all.extend(labelled.iter().cloned()));
    Ok(alternatives)
}

/// Volumes from before node affinity say in labels where they are, several zones with two underscores between them.
fn reach_of_labels(volume: &PersistentVolume) -> Vec<Requirement> {
    let labels = volume.metadata.labels.iter().flatten();
    let places = labels.filter(|(key, _)| [names::ZONE, names::REGION].contains(&normalised(key)));
    let one = |(key, value): (&String, &String)| Requirement {
        key: key.clone(),
        operator: Operator::In,
        values: value.split("__").map(str::to_owned).collect(),
    };
    places.map(one).collect()
}

/// A disk of Azure that is in no zone says so by an empty one; nodes call it `0`.
fn name_no_zone(one: &mut Requirement) {
    if one.key == names::AZURE_DISK_ZONE {
        one.values.iter_mut().filter(|value| value.is_empty()).for_each(|value| "0".clone_into(value));
    }
}

fn reach_of_class(class: &StorageClass) -> Vec<Vec<Requirement>> {
    let terms = class.allowed_topologies.as_deref().unwrap_or_default().iter();
    let lists = terms.map(|term| {
        let labels = term.match_label_expressions.as_deref().unwrap_or_default().iter();
        let one = labels.map(|label| {
            let (key, values) = (label.key.clone(), label.values.clone());
            let mut one = Requirement { key, operator: Operator::In, values };
            name_no_zone(&mut one);
            one
        });
        one.collect::<Vec<_>>()
    });
    lists.filter(|list| !list.is_empty()).collect()
}

/// `None` for what no driver attaches.
fn handle(resolved: &Resolved<'_>) -> Option<VolumeHandle> {
    let metadata = &resolved.claim.metadata;
    let of_claim = || super::name_of(metadata);
    if volume_name(resolved.claim).is_some() {
        let spec = resolved.volume?.spec.as_ref()?;
        if let Some(csi) = &spec.csi {
            return Some(VolumeHandle { driver: csi.driver.clone(), volume: csi.volume_handle.clone() });
        }
        let built_in = [
            (spec.aws_elastic_block_store.is_some(), "kubernetes.io/aws-ebs"),
            (spec.azure_disk.is_some(), "kubernetes.io/azure-disk"),
            (spec.azure_file.is_some(), "kubernetes.io/azure-file"),
            (spec.cinder.is_some(), "kubernetes.io/cinder"),
            (spec.gce_persistent_disk.is_some(), "kubernetes.io/gce-pd"),
            (spec.portworx_volume.is_some(), "kubernetes.io/portworx-volume"),
            (spec.vsphere_volume.is_some(), "kubernetes.io/vsphere-volume"),
        ];
        let (_, driver) = built_in.into_iter().find(|(is, _)| *is)?;
        return Some(VolumeHandle { driver: migrated(driver), volume: of_claim() });
    }
    Some(VolumeHandle { driver: migrated(&resolved.class?.provisioner), volume: of_claim() })
}

fn migrated(provisioner: &str) -> String {
    let found = MIGRATED.iter().find(|(built_in, _)| *built_in == provisioner);
    found.map_or(provisioner, |(_, driver)| driver).to_owned()
}
