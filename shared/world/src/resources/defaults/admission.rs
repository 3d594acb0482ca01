//! What the admission plugins of a default server add on creation: tolerations, priority, the service account with its
//! token, protection finalizers, the default storage class, and the taint of a node not yet ready.
//!
//! Left out: LimitRanger, ResourceQuota, webhooks.

use crate::resources::look::{at, each_item, has, items, object_at, text};
use serde_json::{Value, json};

/// Why a pod is refused for its priority, with the server's words after `pods "x" is forbidden: `.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PriorityError {
    NoSuchClass(String),
    GivenByHand { given: i64, computed: i64 },
}

impl std::fmt::Display for PriorityError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            PriorityError::NoSuchClass(name) => write!(formatter, "no PriorityClass with name {name} was found"),
            PriorityError::GivenByHand { given, computed } => write!(
                formatter,
                "the integer value of priority ({given}) must not be provided in pod spec; priority admission \
                 controller computed {computed} from the given PriorityClass name"
            ),
        }
    }
}

/// Where containers find the token of their service account.
const TOKEN_PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// The service account of a new pod: its name, the secrets it pulls images with, and its token in every container.
/// `volume` is the name that the token's volume gets.
pub fn admit_service_account(pod: &mut Value, account: &Value, volume: &str) {
    let spec = object_at(pod, "spec");
    if items(spec, &["imagePullSecrets"]).is_empty() && !items(account, &["imagePullSecrets"]).is_empty() {
        spec["imagePullSecrets"] = at(account, &["imagePullSecrets"]).clone();
    }
    let wanted = |object: &Value| at(object, &["automountServiceAccountToken"]).as_bool();
    if !wanted(spec).or(wanted(account)).unwrap_or(true) {
        return;
    }
    let mut mounted = false;
    for list in ["initContainers", "containers"] {
        each_item(spec, list, &mut |container| {
            let mut mounts = items(container, &["volumeMounts"]).to_vec();
            if mounts.iter().all(|mount| text(mount, &["mountPath"]) != TOKEN_PATH) {
                mounts.push(json!({"name": volume, "readOnly": true, "mountPath": TOKEN_PATH}));
                container["volumeMounts"] = Value::Array(mounts);
                mounted = true;
            }
        });
    }
    if mounted {
        let mut volumes = items(spec, &["volumes"]).to_vec();
        volumes.push(json!({"name": volume, "projected": {"defaultMode": 420, "sources": [
            {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
            {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {"downwardAPI": {"items": [{"path": "namespace",
                "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}]}},
        ]}}));
        spec["volumes"] = Value::Array(volumes);
    }
}

/// Priority and tolerations of a new pod. `classes` are all PriorityClass objects there are.
pub fn admit_pod(pod: &mut Value, classes: &[Value]) -> Result<(), PriorityError> {
    let wanted = text(pod, &["spec", "priorityClassName"]).to_owned();
    let (class_name, value, preemption) = priority_of(&wanted, classes)?;
    let spec = object_at(pod, "spec");
    if let Some(given) = at(spec, &["priority"]).as_i64().filter(|given| *given != value) {
        return Err(PriorityError::GivenByHand { given, computed: value });
    }
    spec["priority"] = json!(value);
    if !class_name.is_empty() {
        spec["priorityClassName"] = json!(class_name);
    }
    if !has(spec, &["preemptionPolicy"]) {
        spec["preemptionPolicy"] = json!(preemption);
    }
    tolerate_lost_nodes(spec);
    Ok(())
}

/// A pod stays for a while on a node that went away, unless it says otherwise. Added to changed pods, too.
pub fn tolerate_lost_nodes(spec: &mut Value) {
    for key in ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] {
        add_toleration(spec, key);
    }
}

fn priority_of(wanted: &str, classes: &[Value]) -> Result<(String, i64, String), PriorityError> {
    let built_in = match wanted {
        "system-cluster-critical" => Some(2_000_000_000),
        "system-node-critical" => Some(2_000_001_000),
        _ => None,
    };
    if let Some(value) = built_in {
        return Ok((wanted.to_owned(), value, "PreemptLowerPriority".to_owned()));
    }
    let found = if wanted.is_empty() {
        // Of several defaults the least wins, so that no new default lifts old pods.
        let defaults = classes.iter().filter(|class| at(class, &["globalDefault"]) == true);
        defaults.min_by_key(|class| at(class, &["value"]).as_i64().unwrap_or_default())
    } else {
        classes.iter().find(|class| text(class, &["metadata", "name"]) == wanted)
    };
    match found {
        Some(class) => {
            let preemption = match text(class, &["preemptionPolicy"]) {
                "" => "PreemptLowerPriority",
                given => given,
            };
            let name = text(class, &["metadata", "name"]).to_owned();
            Ok((name, at(class, &["value"]).as_i64().unwrap_or_default(), preemption.to_owned()))
        }
        None if wanted.is_empty() => Ok((String::new(), 0, "PreemptLowerPriority".to_owned())),
        None => Err(PriorityError::NoSuchClass(wanted.to_owned())),
    }
}

fn add_toleration(spec: &mut Value, key: &str) {
    let tolerated = items(spec, &["tolerations"]).iter().any(|one| {
        let same_key = text(one, &["key"]) == key || text(one, &["key"]).is_empty();
        same_key && matches!(text(one, &["effect"]), "NoExecute" | "")
    });
    if !tolerated {
        let mut tolerations = items(spec, &["tolerations"]).to_vec();
        tolerations.push(json!({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}));
        spec["tolerations"] = Value::Array(tolerations);
    }
}

/// What is added to a new object of any other kind. `default_storage_class` is the name of the default StorageClass.
pub fn admit_on_create(kind: &str, object: &mut Value, default_storage_class: Option<&str>) {
    match kind {
        "PersistentVolume" => add_finalizer(object, "kubernetes.io/pv-protection"),
        "PersistentVolumeClaim" => {
            add_finalizer(object, "kubernetes.io/pvc-protection");
            if let Some(class) = default_storage_class
                && !has(object, &["spec", "storageClassName"])
            {
                object_at(object, "spec")["storageClassName"] = json!(class);
            }
        }
        "Node" => {
            let taint = json!({"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"});
            let mut taints = items(object, &["spec", "taints"]).to_vec();
            let there = taints.iter().any(|one| one["key"] == taint["key"] && one["effect"] == taint["effect"]);
            if !there {
                taints.push(taint);
                object_at(object, "spec")["taints"] = Value::Array(taints);
            }
        }
        _ => {}
    }
}

fn add_finalizer(object: &mut Value, finalizer: &str) {
    let mut finalizers = items(object, &["metadata", "finalizers"]).to_vec();
    if !finalizers.iter().any(|one| one == finalizer) {
        finalizers.push(json!(finalizer));
        object_at(object, "metadata")["finalizers"] = Value::Array(finalizers);
    }
}
