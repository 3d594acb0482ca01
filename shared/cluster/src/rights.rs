//! What we ask of the API server, in the words of RBAC: error messages and role manifests go by this list.

use core::fmt;

/// One line of a role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Right<'a> {
    pub verb: &'static str,
    /// Empty for the core group.
    pub group: &'a str,
    /// With its subresource, as in `pods/eviction`.
    pub resource: &'a str,
    pub place: Place,
}

/// Where a right is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Place {
    /// In the whole cluster.
    Cluster,
    /// In the namespace that we run in.
    Own,
    KubeSystem,
    Default,
}

const KARPENTER: &str = "karpenter.sh";

pub(crate) const GET_CLAIM: Right<'_> = everywhere("get", KARPENTER, "nodeclaims");
pub(crate) const LIST_CLAIMS: Right<'_> = everywhere("list", KARPENTER, "nodeclaims");
pub(crate) const CREATE_CLAIM: Right<'_> = everywhere("create", KARPENTER, "nodeclaims");
pub(crate) const PATCH_CLAIM: Right<'_> = everywhere("patch", KARPENTER, "nodeclaims");
pub(crate) const PATCH_CLAIM_STATUS: Right<'_> = everywhere("patch", KARPENTER, "nodeclaims/status");
pub(crate) const DELETE_CLAIM: Right<'_> = everywhere("delete", KARPENTER, "nodeclaims");
pub(crate) const GET_POOL: Right<'_> = everywhere("get", KARPENTER, "nodepools");
pub(crate) const LIST_POOLS: Right<'_> = everywhere("list", KARPENTER, "nodepools");
pub(crate) const PATCH_POOL: Right<'_> = everywhere("patch", KARPENTER, "nodepools");
pub(crate) const GET_NODE: Right<'_> = everywhere("get", "", "nodes");
pub(crate) const LIST_NODES: Right<'_> = everywhere("list", "", "nodes");
pub(crate) const PATCH_NODE: Right<'_> = everywhere("patch", "", "nodes");
pub(crate) const DELETE_NODE: Right<'_> = everywhere("delete", "", "nodes");
pub(crate) const GET_POD: Right<'_> = everywhere("get", "", "pods");
pub(crate) const LIST_PODS: Right<'_> = everywhere("list", "", "pods");
pub(crate) const EVICT_POD: Right<'_> = everywhere("create", "", "pods/eviction");
pub(crate) const DELETE_POD: Right<'_> = everywhere("delete", "", "pods");
pub(crate) const LIST_ATTACHMENTS: Right<'_> = everywhere("list", "storage.k8s.io", "volumeattachments");
pub(crate) const GET_VOLUME_CLAIM: Right<'_> = everywhere("get", "", "persistentvolumeclaims");
pub(crate) const LIST_DAEMONS: Right<'_> = everywhere("list", "apps", "daemonsets");
pub(crate) const LIST_NAMESPACES: Right<'_> = everywhere("list", "", "namespaces");
pub(crate) const LIST_VOLUME_CLAIMS: Right<'_> = everywhere("list", "", "persistentvolumeclaims");
pub(crate) const LIST_VOLUMES: Right<'_> = everywhere("list", "", "persistentvolumes");
pub(crate) const LIST_STORAGE_CLASSES: Right<'_> = everywhere("list", "storage.k8s.io", "storageclasses");
pub(crate) const LIST_CSI_NODES: Right<'_> = everywhere("list", "storage.k8s.io", "csinodes");
pub(crate) const LIST_BUDGETS: Right<'_> = everywhere("list", "policy", "poddisruptionbudgets");
pub(crate) const LIST_SERVICES: Right<'_> = everywhere("list", "", "services");
pub(crate) const LIST_REPLICATION_CONTROLLERS: Right<'_> = everywhere("list", "", "replicationcontrollers");
pub(crate) const LIST_REPLICA_SETS: Right<'_> = everywhere("list", "apps", "replicasets");
pub(crate) const LIST_STATEFUL_SETS: Right<'_> = everywhere("list", "apps", "statefulsets");
pub(crate) const GET_LEASE: Right<'_> =
    Right { verb: "get", group: "coordination.k8s.io", resource: "leases", place: Place::KubeSystem };
pub(crate) const GET_KUBE_SYSTEM: Right<'_> =
    Right { verb: "get", group: "", resource: "namespaces", place: Place::KubeSystem };
pub(crate) const GET_OWN_LEASE: Right<'_> = Right { place: Place::Own, ..GET_LEASE };
pub(crate) const CREATE_OWN_LEASE: Right<'_> = Right { verb: "create", ..GET_OWN_LEASE };
pub(crate) const LIST_OWN_LEASES: Right<'_> = Right { verb: "list", ..GET_OWN_LEASE };
pub(crate) const PATCH_OWN_LEASE: Right<'_> = Right { verb: "patch", ..GET_OWN_LEASE };
pub(crate) const DELETE_OWN_LEASE: Right<'_> = Right { verb: "delete", ..GET_OWN_LEASE };
pub(crate) const GET_SECRET: Right<'_> = Right { verb: "get", group: "", resource: "secrets", place: Place::Own };
pub(crate) const GET_STOCK: Right<'_> = Right { verb: "get", group: "", resource: "configmaps", place: Place::Own };
pub(crate) const CREATE_STOCK: Right<'_> = Right { verb: "create", ..GET_STOCK };
pub(crate) const PATCH_STOCK: Right<'_> = Right { verb: "patch", ..GET_STOCK };
pub(crate) const CREATE_EVENT: Right<'_> =
    Right { verb: "create", group: "events.k8s.io", resource: "events", place: Place::Default };

pub(crate) const GET_POD_EVENT: Right<'_> = everywhere("get", "events.k8s.io", "events");
pub(crate) const CREATE_POD_EVENT: Right<'_> = everywhere("create", "events.k8s.io", "events");

/// What the admission plugin OwnerReferencesPermissionEnforcement asks for on top, where we set an owner that holds back.
pub(crate) fn asked_by_admission(right: Right<'_>) -> &'static [Right<'static>] {
    const FINALIZE_CLAIM: Right<'_> = everywhere("update", KARPENTER, "nodeclaims/finalizers");
    const FINALIZE_POOL: Right<'_> = everywhere("update", KARPENTER, "nodepools/finalizers");
    match right {
        PATCH_NODE => &[FINALIZE_CLAIM, DELETE_NODE],
        CREATE_CLAIM => &[FINALIZE_POOL],
        _ => &[],
    }
}

/// All of them but the classes': those are `get` on whatever resource a claim's class is.
pub const ALL: &[Right<'_>] = &[
    GET_CLAIM,
    LIST_CLAIMS,
    CREATE_CLAIM,
    PATCH_CLAIM,
    PATCH_CLAIM_STATUS,
    DELETE_CLAIM,
    GET_POOL,
    LIST_POOLS,
    PATCH_POOL,
    GET_NODE,
    LIST_NODES,
    PATCH_NODE,
    DELETE_NODE,
    GET_POD,
    LIST_PODS,
    EVICT_POD,
    DELETE_POD,
    LIST_ATTACHMENTS,
    GET_VOLUME_CLAIM,
    LIST_DAEMONS,
    LIST_NAMESPACES,
    LIST_VOLUME_CLAIMS,
    LIST_VOLUMES,
    LIST_STORAGE_CLASSES,
    LIST_CSI_NODES,
    LIST_BUDGETS,
    LIST_SERVICES,
    LIST_REPLICATION_CONTROLLERS,
    LIST_REPLICA_SETS,
    LIST_STATEFUL_SETS,
    GET_LEASE,
    GET_KUBE_SYSTEM,
    GET_OWN_LEASE,
    CREATE_OWN_LEASE,
    LIST_OWN_LEASES,
    PATCH_OWN_LEASE,
    DELETE_OWN_LEASE,
    GET_SECRET,
    GET_STOCK,
    CREATE_STOCK,
    PATCH_STOCK,
    CREATE_EVENT,
    GET_POD_EVENT,
    CREATE_POD_EVENT,
];

const fn everywhere<'a>(verb: &'static str, group: &'a str, resource: &'a str) -> Right<'a> {
    Right { verb, group, resource, place: Place::Cluster }
}

/// The right to read all node classes of a kind.
pub(crate) fn list_classes<'a>(group: &'a str, plural: &'a str) -> Right<'a> {
    everywhere("list", group, plural)
}

/// The right to read a node class.
pub(crate) fn get_class<'a>(group: &'a str, plural: &'a str) -> Right<'a> {
    everywhere("get", group, plural)
}

impl Place {
    pub fn as_str(self) -> &'static str {
        match self {
            Place::Cluster => "cluster",
            Place::Own => "own namespace",
            Place::KubeSystem => "kube-system",
            Place::Default => "default",
        }
    }
}

/// `patch nodeclaims.karpenter.sh/status`, as `kubectl auth can-i` takes it.
impl fmt::Display for Right<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Right { verb, group, resource, place } = self;
        let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
        write!(f, "{verb} {resource}")?;
        if !group.is_empty() {
            write!(f, ".{group}")?;
        }
        if !subresource.is_empty() {
            write!(f, "/{subresource}")?;
        }
        match place {
            Place::Cluster => Ok(()),
            Place::Own => f.write_str(" in our own namespace"),
            Place::KubeSystem | Place::Default => write!(f, " in namespace {}", place.as_str()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_right_reads_as_kubectl_takes_it() {
        assert_eq!(PATCH_CLAIM_STATUS.to_string(), "patch nodeclaims.karpenter.sh/status");
        assert_eq!(EVICT_POD.to_string(), "create pods/eviction");
        assert_eq!(GET_SECRET.to_string(), "get secrets in our own namespace");
    }

    #[test]
    fn the_table_of_the_crate_says_the_same_as_the_list() {
        let text = include_str!("lib.rs");
        let rows = text.lines().filter_map(|line| line.strip_prefix("//! | `"));
        let cells = rows.map(|row| row.split('|').skip(1).take(4).map(str::trim).collect::<Vec<_>>().join(" | "));
        let mut told: Vec<String> = cells.filter(|row| !row.contains("(of the class)")).collect();
        let row = |right: &Right<'_>| {
            format!("{} | {} | {} | {}", right.verb, right.group, right.resource, right.place.as_str())
        };
        let mut known: Vec<String> = ALL.iter().map(row).collect();
        told.sort_unstable();
        known.sort_unstable();
        assert_eq!(told, known);
    }
}
