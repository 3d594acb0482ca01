//! The built-in resources, as data.

use super::{Resource, Storage, Subresource};
use crate::resources::names::NameRule;

const ALL_VERBS: &[&str] = &["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
/// Namespaces are not deleted by the collection: each has to be emptied first.
const NAMESPACE_VERBS: &[&str] = &["create", "delete", "get", "list", "patch", "update", "watch"];

/// One line of the table. What a line does not say follows from the rest in `to_resource`.
pub struct BuiltIn {
    pub group: &'static str,
    pub version: &'static str,
    pub plural: &'static str,
    pub singular: &'static str,
    pub kind: &'static str,
    pub namespaced: bool,
    pub short_names: &'static [&'static str],
    pub categories: &'static [&'static str],
    pub subresources: &'static [Subresource],
    pub name_rule: NameRule,
    pub has_generation: bool,
}

const fn line(
    group: &'static str,
    plural: &'static str,
    singular: &'static str,
    kind: &'static str,
    namespaced: bool,
) -> BuiltIn {
    BuiltIn {
        group,
        version: "v1",
        plural,
        singular,
        kind,
        namespaced,
        short_names: &[],
        categories: &[],
        subresources: &[],
        name_rule: NameRule::Subdomain,
        has_generation: false,
    }
}

const NAMESPACED: bool = true;
const CLUSTER: bool = false;
const STATUS: &[Subresource] = &[Subresource::Status];
const SCALABLE: &[Subresource] = &[Subresource::Scale, Subresource::Status];
const POD_PARTS: &[Subresource] = &[Subresource::Binding, Subresource::Eviction, Subresource::Log, Subresource::Status];

pub const BUILT_IN: &[BuiltIn] = &[
    BuiltIn { short_names: &["cm"], ..line("", "configmaps", "configmap", "ConfigMap", NAMESPACED) },
    BuiltIn { short_names: &["ev"], ..line("", "events", "event", "Event", NAMESPACED) },
    BuiltIn {
        short_names: &["ns"],
        subresources: &[Subresource::Finalize, Subresource::Status],
        name_rule: NameRule::Label,
        ..line("", "namespaces", "namespace", "Namespace", CLUSTER)
    },
    BuiltIn { short_names: &["no"], subresources: STATUS, ..line("", "nodes", "node", "Node", CLUSTER) },
    BuiltIn {
        short_names: &["pvc"],
        subresources: STATUS,
        ..line("", "persistentvolumeclaims", "persistentvolumeclaim", "PersistentVolumeClaim", NAMESPACED)
    },
    BuiltIn {
        short_names: &["pv"],
        subresources: STATUS,
        ..line("", "persistentvolumes", "persistentvolume", "PersistentVolume", CLUSTER)
    },
    BuiltIn {
        short_names: &["po"],
        categories: &["all"],
        subresources: POD_PARTS,
        // Since 1.33 a pod counts its spec changes too, for resize and observedGeneration.
        has_generation: true,
        ..line("", "pods", "pod", "Pod", NAMESPACED)
    },
    line("", "secrets", "secret", "Secret", NAMESPACED),
    BuiltIn { short_names: &["sa"], ..line("", "serviceaccounts", "serviceaccount", "ServiceAccount", NAMESPACED) },
    BuiltIn {
        short_names: &["svc"],
        categories: &["all"],
        subresources: STATUS,
        name_rule: NameRule::Label,
        ..line("", "services", "service", "Service", NAMESPACED)
    },
    line("apps", "controllerrevisions", "controllerrevision", "ControllerRevision", NAMESPACED),
    BuiltIn {
        short_names: &["ds"],
        categories: &["all"],
        subresources: STATUS,
        has_generation: true,
        ..line("apps", "daemonsets", "daemonset", "DaemonSet", NAMESPACED)
    },
    BuiltIn {
        short_names: &["deploy"],
        categories: &["all"],
        subresources: SCALABLE,
        has_generation: true,
        ..line("apps", "deployments", "deployment", "Deployment", NAMESPACED)
    },
    BuiltIn {
        short_names: &["rs"],
        categories: &["all"],
        subresources: SCALABLE,
        has_generation: true,
        ..line("apps", "replicasets", "replicaset", "ReplicaSet", NAMESPACED)
    },
    BuiltIn {
        short_names: &["sts"],
        categories: &["all"],
        subresources: SCALABLE,
        has_generation: true,
        ..line("apps", "statefulsets", "statefulset", "StatefulSet", NAMESPACED)
    },
    BuiltIn { short_names: &["ev"], ..line("events.k8s.io", "events", "event", "Event", NAMESPACED) },
    BuiltIn {
        categories: &["all"],
        subresources: STATUS,
        has_generation: true,
        ..line("batch", "jobs", "job", "Job", NAMESPACED)
    },
    BuiltIn {
        short_names: &["pdb"],
        subresources: STATUS,
        has_generation: true,
        ..line("policy", "poddisruptionbudgets", "poddisruptionbudget", "PodDisruptionBudget", NAMESPACED)
    },
    line("storage.k8s.io", "csinodes", "csinode", "CSINode", CLUSTER),
    BuiltIn {
        short_names: &["sc"],
        ..line("storage.k8s.io", "storageclasses", "storageclass", "StorageClass", CLUSTER)
    },
    BuiltIn {
        subresources: STATUS,
        ..line("storage.k8s.io", "volumeattachments", "volumeattachment", "VolumeAttachment", CLUSTER)
    },
    BuiltIn {
        short_names: &["crd", "crds"],
        categories: &["api-extensions"],
        subresources: STATUS,
        has_generation: true,
        ..line(
            "apiextensions.k8s.io",
            "customresourcedefinitions",
            "customresourcedefinition",
            "CustomResourceDefinition",
            CLUSTER,
        )
    },
    BuiltIn {
        short_names: &["pc"],
        has_generation: true,
        ..line("scheduling.k8s.io", "priorityclasses", "priorityclass", "PriorityClass", CLUSTER)
    },
    line("coordination.k8s.io", "leases", "lease", "Lease", NAMESPACED),
];

impl BuiltIn {
    pub fn to_resource(&self) -> Resource {
        let owned = |list: &[&str]| list.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>();
        let verbs = if self.plural == "namespaces" { NAMESPACE_VERBS } else { ALL_VERBS };
        // Both Event resources show the objects of one store, kept in the core group's shape.
        let stored_in = if self.group == "events.k8s.io" { "" } else { self.group };
        Resource {
            group: self.group.to_owned(),
            version: self.version.to_owned(),
            plural: self.plural.to_owned(),
            singular: self.singular.to_owned(),
            kind: self.kind.to_owned(),
            list_kind: format!("{}List", self.kind),
            namespaced: self.namespaced,
            short_names: owned(self.short_names),
            categories: owned(self.categories),
            verbs: owned(verbs),
            subresources: self.subresources.to_vec(),
            storage: Storage {
                group: stored_in.to_owned(),
                plural: self.plural.to_owned(),
                version: self.version.to_owned(),
                name_rule: self.name_rule,
                has_generation: self.has_generation,
                unconditional_update: !matches!(
                    self.kind,
                    "Lease" | "PodDisruptionBudget" | "CSINode" | "VolumeAttachment" | "CustomResourceDefinition"
                ),
                create_on_update: matches!(self.kind, "Event" | "Lease"),
            },
            custom: None,
        }
    }
}
