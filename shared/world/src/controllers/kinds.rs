//! The kinds the controllers know, as the store and owner references name them.

use crate::api::store::ResourceKey;

/// A built-in kind. Its number is its place in [`super::view::View`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Namespace,
    Node,
    Lease,
    Pod,
    ReplicaSet,
    Deployment,
    StatefulSet,
    DaemonSet,
    Job,
    ControllerRevision,
    PodDisruptionBudget,
    PersistentVolumeClaim,
    PersistentVolume,
    StorageClass,
    CsiNode,
    PriorityClass,
    CustomResourceDefinition,
    ConfigMap,
    ServiceAccount,
    Secret,
    Service,
    Event,
    VolumeAttachment,
}

/// Kind, group, version, plural, name of the kind, namespaced.
type Row = (Kind, &'static str, &'static str, &'static str, &'static str, bool);

const TABLE: [Row; 23] = [
    (Kind::Namespace, "", "v1", "namespaces", "Namespace", false),
    (Kind::Node, "", "v1", "nodes", "Node", false),
    (Kind::Lease, "coordination.k8s.io", "v1", "leases", "Lease", true),
    (Kind::Pod, "", "v1", "pods", "Pod", true),
    (Kind::ReplicaSet, "apps", "v1", "replicasets", "ReplicaSet", true),
    (Kind::Deployment, "apps", "v1", "deployments", "Deployment", true),
    (Kind::StatefulSet, "apps", "v1", "statefulsets", "StatefulSet", true),
    (Kind::DaemonSet, "apps", "v1", "daemonsets", "DaemonSet", true),
    (Kind::Job, "batch", "v1", "jobs", "Job", true),
    (Kind::ControllerRevision, "apps", "v1", "controllerrevisions", "ControllerRevision", true),
    (Kind::PodDisruptionBudget, "policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", true),
    (Kind::PersistentVolumeClaim, "", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", true),
    (Kind::PersistentVolume, "", "v1", "persistentvolumes", "PersistentVolume", false),
    (Kind::StorageClass, "storage.k8s.io", "v1", "storageclasses", "StorageClass", false),
    (Kind::CsiNode, "storage.k8s.io", "v1", "csinodes", "CSINode", false),
    (Kind::PriorityClass, "scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", false),
    (
        Kind::CustomResourceDefinition,
        "apiextensions.k8s.io",
        "v1",
        "customresourcedefinitions",
        "CustomResourceDefinition",
        false,
    ),
    (Kind::ConfigMap, "", "v1", "configmaps", "ConfigMap", true),
    (Kind::ServiceAccount, "", "v1", "serviceaccounts", "ServiceAccount", true),
    (Kind::Secret, "", "v1", "secrets", "Secret", true),
    (Kind::Service, "", "v1", "services", "Service", true),
    (Kind::Event, "", "v1", "events", "Event", true),
    (Kind::VolumeAttachment, "storage.k8s.io", "v1", "volumeattachments", "VolumeAttachment", false),
];

impl Kind {
    pub(super) fn all() -> impl Iterator<Item = Kind> {
        TABLE.iter().map(|row| row.0)
    }

    fn row(self) -> &'static Row {
        &TABLE[self as usize]
    }

    pub(super) fn resource(self) -> ResourceKey {
        let row = self.row();
        (row.1.into(), row.3.into())
    }

    pub(super) fn api_version(self) -> String {
        let row = self.row();
        if row.1.is_empty() { row.2.to_owned() } else { format!("{}/{}", row.1, row.2) }
    }

    pub(super) fn name(self) -> &'static str {
        self.row().4
    }

    pub(super) fn namespaced(self) -> bool {
        self.row().5
    }

    /// Kinds whose generation counts from one. The others have none.
    pub(super) fn has_generation(self) -> bool {
        use Kind::{DaemonSet, Deployment, Job, PodDisruptionBudget, ReplicaSet, StatefulSet};
        matches!(self, Deployment | ReplicaSet | StatefulSet | DaemonSet | Job | PodDisruptionBudget)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_stands_at_its_own_place() {
        for (place, row) in TABLE.iter().enumerate() {
            assert_eq!(row.0 as usize, place, "{}", row.4);
        }
    }
}
