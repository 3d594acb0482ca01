//! How the lists of built-in types merge: for strategic merge patches (key and strategy) and for server-side apply
//! (list type and keys). k8s-openapi's schemas leave these out, so they stand here as data.

use serde_json::{Value, json};

/// How server-side apply sees a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListKind {
    /// One owner, replaced as a whole.
    Atomic,
    /// Each value has its owners.
    Set,
    /// Each item has its owners, told apart by these keys.
    Map(&'static [&'static str]),
}

/// How one field of one type merges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strategy {
    /// The `patchStrategy`: `merge`, `retainKeys`, `merge,retainKeys`, `replace`, or empty.
    pub patch: &'static str,
    pub merge_key: &'static str,
    pub list: ListKind,
}

impl Strategy {
    /// Writes it into a field's schema as a real server does.
    pub fn describe(self, property: &mut Value) {
        if !self.patch.is_empty() {
            property["x-kubernetes-patch-strategy"] = json!(self.patch);
        }
        if !self.merge_key.is_empty() {
            property["x-kubernetes-patch-merge-key"] = json!(self.merge_key);
        }
        if property["type"] == "array" {
            let (kind, keys) = match self.list {
                ListKind::Atomic => ("atomic", None),
                ListKind::Set => ("set", None),
                ListKind::Map(keys) => ("map", Some(keys)),
            };
            property["x-kubernetes-list-type"] = json!(kind);
            if let Some(keys) = keys {
                property["x-kubernetes-list-map-keys"] = json!(keys);
            }
        }
    }
}

/// How a field merges, by the schema name of its type; none where nothing special is said.
pub fn strategy(schema: &str, field: &str) -> Option<Strategy> {
    let short = schema.strip_prefix("io.k8s.api.").or(schema.strip_prefix("io.k8s.apimachinery.pkg.apis."))?;
    if field == "conditions" && short.ends_with("Status") {
        return Some(merged("type", &["type"]));
    }
    STRATEGIES.iter().find(|(known, name, _)| *known == short && *name == field).map(|(_, _, strategy)| *strategy)
}

const fn merged(merge_key: &'static str, keys: &'static [&'static str]) -> Strategy {
    Strategy { patch: "merge", merge_key, list: ListKind::Map(keys) }
}

const fn retained(merge_key: &'static str, keys: &'static [&'static str]) -> Strategy {
    Strategy { patch: "merge,retainKeys", merge_key, list: ListKind::Map(keys) }
}

const ATOMIC: Strategy = Strategy { patch: "", merge_key: "", list: ListKind::Atomic };
const SET: Strategy = Strategy { patch: "merge", merge_key: "", list: ListKind::Set };

const STRATEGIES: &[(&str, &str, Strategy)] = &[
    ("meta.v1.ObjectMeta", "finalizers", SET),
    ("meta.v1.ObjectMeta", "ownerReferences", merged("uid", &["uid"])),
    ("meta.v1.ObjectMeta", "managedFields", ATOMIC),
    ("meta.v1.LabelSelector", "matchExpressions", ATOMIC),
    ("meta.v1.LabelSelectorRequirement", "values", ATOMIC),
    ("core.v1.PodSpec", "containers", merged("name", &["name"])),
    ("core.v1.PodSpec", "initContainers", merged("name", &["name"])),
    ("core.v1.PodSpec", "ephemeralContainers", merged("name", &["name"])),
    ("core.v1.PodSpec", "volumes", retained("name", &["name"])),
    ("core.v1.PodSpec", "imagePullSecrets", merged("name", &["name"])),
    ("core.v1.PodSpec", "hostAliases", merged("ip", &["ip"])),
    ("core.v1.PodSpec", "topologySpreadConstraints", merged("topologyKey", &["topologyKey", "whenUnsatisfiable"])),
    ("core.v1.PodSpec", "schedulingGates", merged("name", &["name"])),
    ("core.v1.PodSpec", "resourceClaims", retained("name", &["name"])),
    ("core.v1.PodSpec", "tolerations", ATOMIC),
    ("core.v1.PodSpec", "readinessGates", ATOMIC),
    ("core.v1.PodStatus", "podIPs", merged("ip", &["ip"])),
    ("core.v1.PodStatus", "hostIPs", Strategy { patch: "merge", merge_key: "ip", list: ListKind::Atomic }),
    ("core.v1.PodStatus", "containerStatuses", ATOMIC),
    ("core.v1.PodStatus", "initContainerStatuses", ATOMIC),
    ("core.v1.PodStatus", "ephemeralContainerStatuses", ATOMIC),
    ("core.v1.PodStatus", "resourceClaimStatuses", retained("name", &["name"])),
    ("core.v1.Container", "ports", merged("containerPort", &["containerPort", "protocol"])),
    ("core.v1.Container", "env", merged("name", &["name"])),
    ("core.v1.Container", "envFrom", ATOMIC),
    ("core.v1.Container", "command", ATOMIC),
    ("core.v1.Container", "args", ATOMIC),
    ("core.v1.Container", "resizePolicy", ATOMIC),
    ("core.v1.Container", "volumeMounts", merged("mountPath", &["mountPath"])),
    ("core.v1.Container", "volumeDevices", merged("devicePath", &["devicePath"])),
    ("core.v1.EphemeralContainer", "ports", merged("containerPort", &["containerPort", "protocol"])),
    ("core.v1.EphemeralContainer", "env", merged("name", &["name"])),
    ("core.v1.EphemeralContainer", "volumeMounts", merged("mountPath", &["mountPath"])),
    ("core.v1.EphemeralContainer", "volumeDevices", merged("devicePath", &["devicePath"])),
    ("core.v1.ResourceRequirements", "claims", Strategy { patch: "", merge_key: "", list: ListKind::Map(&["name"]) }),
    ("core.v1.PodSecurityContext", "supplementalGroups", ATOMIC),
    ("core.v1.PodSecurityContext", "sysctls", ATOMIC),
    ("core.v1.Affinity", "required", ATOMIC),
    ("core.v1.NodeSelector", "nodeSelectorTerms", ATOMIC),
    ("core.v1.NodeSelectorTerm", "matchExpressions", ATOMIC),
    ("core.v1.NodeSelectorTerm", "matchFields", ATOMIC),
    ("core.v1.NodeSelectorRequirement", "values", ATOMIC),
    ("core.v1.NodeAffinity", "preferredDuringSchedulingIgnoredDuringExecution", ATOMIC),
    ("core.v1.PodAffinity", "preferredDuringSchedulingIgnoredDuringExecution", ATOMIC),
    ("core.v1.PodAffinity", "requiredDuringSchedulingIgnoredDuringExecution", ATOMIC),
    ("core.v1.PodAntiAffinity", "preferredDuringSchedulingIgnoredDuringExecution", ATOMIC),
    ("core.v1.PodAntiAffinity", "requiredDuringSchedulingIgnoredDuringExecution", ATOMIC),
    ("core.v1.NodeSpec", "podCIDRs", SET),
    ("core.v1.NodeSpec", "taints", ATOMIC),
    ("core.v1.NodeStatus", "addresses", merged("type", &["type"])),
    ("core.v1.NodeStatus", "images", ATOMIC),
    ("core.v1.NodeStatus", "volumesAttached", ATOMIC),
    ("core.v1.NodeStatus", "volumesInUse", ATOMIC),
    ("core.v1.NamespaceSpec", "finalizers", ATOMIC),
    ("core.v1.ServiceSpec", "ports", merged("port", &["port", "protocol"])),
    ("core.v1.ServiceSpec", "clusterIPs", ATOMIC),
    ("core.v1.ServiceSpec", "externalIPs", ATOMIC),
    ("core.v1.ServiceSpec", "ipFamilies", ATOMIC),
    ("core.v1.ServiceSpec", "loadBalancerSourceRanges", ATOMIC),
    ("core.v1.ServiceAccount", "secrets", merged("name", &["name"])),
    ("core.v1.ServiceAccount", "imagePullSecrets", ATOMIC),
    ("core.v1.PersistentVolumeSpec", "accessModes", ATOMIC),
    ("core.v1.PersistentVolumeSpec", "mountOptions", ATOMIC),
    ("core.v1.PersistentVolumeClaimSpec", "accessModes", ATOMIC),
    ("core.v1.PersistentVolumeClaimStatus", "accessModes", ATOMIC),
    ("apps.v1.DeploymentSpec", "strategy", Strategy { patch: "retainKeys", merge_key: "", list: ListKind::Atomic }),
    ("apps.v1.StatefulSetSpec", "volumeClaimTemplates", ATOMIC),
    (
        "policy.v1.PodDisruptionBudgetSpec",
        "selector",
        Strategy { patch: "replace", merge_key: "", list: ListKind::Atomic },
    ),
    ("storage.v1.CSINodeSpec", "drivers", merged("name", &["name"])),
    ("storage.v1.CSINodeDriver", "topologyKeys", ATOMIC),
    ("storage.v1.StorageClass", "mountOptions", ATOMIC),
    ("storage.v1.StorageClass", "allowedTopologies", ATOMIC),
];
