//! Everything the files hold, by kind, each in the order of the files.

use cluster::{
    crd::{self, NodePool, PowerNodeClass},
    read_claim,
    scene::{PoolSource, SceneSource},
};
use k8s_openapi::api::{
    apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet},
    batch::v1::Job,
    core::v1::{Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod, ReplicationController, Service},
    node::v1::RuntimeClass,
    policy::v1::PodDisruptionBudget,
    scheduling::v1::PriorityClass,
    storage::v1::{CSINode, StorageClass},
};
use kube::api::DynamicObject;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::collections::BTreeMap;

use super::{
    catalogue::Market,
    strict::{Schema, typed},
};

#[derive(Default)]
pub struct Manifest {
    pub pods: Vec<Pod>,
    pub nodes: Vec<Node>,
    pub pools: Vec<NodePool>,
    /// As JSON: what a claim does not say is put in before it is read.
    pub claims: Vec<Value>,
    pub daemon_sets: Vec<DaemonSet>,
    pub deployments: Vec<Deployment>,
    pub stateful_sets: Vec<StatefulSet>,
    pub replica_sets: Vec<ReplicaSet>,
    pub jobs: Vec<Job>,
    pub volumes: Vec<PersistentVolume>,
    pub volume_claims: Vec<PersistentVolumeClaim>,
    pub storage_classes: Vec<StorageClass>,
    pub csi_nodes: Vec<CSINode>,
    pub budgets: Vec<PodDisruptionBudget>,
    pub namespaces: Vec<Namespace>,
    pub priority_classes: Vec<PriorityClass>,
    pub runtime_classes: Vec<RuntimeClass>,
    pub services: Vec<Service>,
    pub replication_controllers: Vec<ReplicationController>,
    pub power_classes: Vec<PowerNodeClass>,
    /// Node classes of every kind, as they stand in the files.
    pub classes: Vec<Value>,
    pub warnings: Vec<String>,
    /// `Kind namespace/name` to the place that defined it.
    origin: BTreeMap<String, String>,
    schemas: BTreeMap<String, Schema>,
}

/// Kind, the one version that is understood, and whether it lives in a namespace.
const KINDS: &[(&str, &str, bool)] = &[
    ("Pod", "v1", true),
    ("Node", "v1", false),
    ("Namespace", "v1", false),
    ("Service", "v1", true),
    ("ReplicationController", "v1", true),
    ("PersistentVolume", "v1", false),
    ("PersistentVolumeClaim", "v1", true),
    ("Deployment", "apps/v1", true),
    ("StatefulSet", "apps/v1", true),
    ("ReplicaSet", "apps/v1", true),
    ("DaemonSet", "apps/v1", true),
    ("Job", "batch/v1", true),
    ("NodePool", "karpenter.sh/v1", false),
    ("NodeClaim", "karpenter.sh/v1", false),
    ("PodDisruptionBudget", "policy/v1", true),
    ("StorageClass", "storage.k8s.io/v1", false),
    ("CSINode", "storage.k8s.io/v1", false),
    ("PriorityClass", "scheduling.k8s.io/v1", false),
    ("RuntimeClass", "node.k8s.io/v1", false),
    ("PowerNodeClass", "pilotlight.dev/v1alpha1", false),
];
/// How kinds end that say what nodes are made of.
const CLASS: &str = "NodeClass";
/// What a namespaced object that names none is in.
const USUAL_NAMESPACE: &str = "default";

impl Manifest {
    /// One object, or a List of them. `at` is where it stands, for words.
    pub fn add(&mut self, at: &str, mut value: Value) -> Result<(), String> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        if !value.is_object() {
            return Err(format!("{at}: this is no Kubernetes object"));
        }
        drop_nulls(&mut value);
        let (kind, version) = (text(&value["kind"]), text(&value["apiVersion"]));
        if kind.is_empty() || version.is_empty() {
            return Err(format!("{at}: kind or apiVersion is missing"));
        }
        if let Some(Value::Array(items)) = value.as_object_mut().and_then(|fields| fields.remove("items")) {
            let mut each = items.into_iter().enumerate();
            return each.try_for_each(|(index, mut item)| {
                of_list(&kind, &version, &mut item);
                self.add(&format!("{at}, item {}", index + 1), item)
            });
        }
        let given = &value["metadata"]["name"];
        let name = text(given);
        // Others may have a kind of the same name in a group of their own, as Knative has a Service.
        let is_it = |known: &&(&str, &str, bool)| known.0 == kind && group(known.1) == group(&version);
        if kind.ends_with(CLASS) {
            self.classes.push(value.clone());
        }
        let Some((_, understood, namespaced)) = KINDS.iter().find(is_it) else {
            if kind.ends_with(CLASS) {
                return Ok(());
            }
            let of = if group(&version).is_empty() { String::new() } else { format!(" of {}", group(&version)) };
            self.warnings.push(format!("{at}: {kind} {name}{of} is passed over, it has no part in placing pods"));
            return Ok(());
        };
        if version != *understood {
            return Err(format!("{at}: {kind} {name}: apiVersion is {version}, only {understood} is understood"));
        }
        if !given.is_null() && !given.is_string() {
            let hint = if given.is_boolean() { " (y, n, yes, no, on and off are true or false in YAML)" } else { "" };
            return Err(format!("{at}: {kind}: metadata.name is {given} and no text: write it in quotes{hint}"));
        }
        if name.is_empty() {
            return Err(format!("{at}: {kind}: metadata.name is missing"));
        }
        if *namespaced && text(&value["metadata"]["namespace"]).is_empty() {
            value["metadata"]["namespace"] = USUAL_NAMESPACE.into();
        }
        let schema = self.schemas.entry(kind.clone()).or_insert_with(|| schema(&kind));
        if let Some(wrong) = schema.wrong(&value) {
            return Err(format!("{at}: {kind} {name}: {wrong}"));
        }
        let full = match value["metadata"]["namespace"].as_str().filter(|_| *namespaced) {
            Some(namespace) => format!("{namespace}/{name}"),
            None => name.clone(),
        };
        self.keep(&kind, value).map_err(|why| format!("{at}: {kind} {name}: {why}"))?;
        match self.note(&kind, &full, at) {
            None => Ok(()),
            Some(first) => Err(format!("{at}: {kind} {full} is already in {first}")),
        }
    }

    /// Writes down where something comes from; answers with the place that has it already.
    pub fn note(&mut self, kind: &str, name: &str, at: &str) -> Option<String> {
        let key = format!("{kind} {name}");
        if let Some(first) = self.origin.get(&key) {
            return Some(first.clone());
        }
        self.origin.insert(key, at.to_owned());
        None
    }

    /// Where an object stands, for words.
    pub fn place(&self, kind: &str, name: &str) -> String {
        let key = format!("{kind} {name}");
        let at = self.origin.get(&key).map(|at| format!("{at}: ")).unwrap_or_default();
        format!("{at}{key}")
    }

    fn keep(&mut self, kind: &str, value: Value) -> Result<(), String> {
        match kind {
            "Pod" => push(&mut self.pods, value),
            "Node" => push(&mut self.nodes, value),
            "Namespace" => push(&mut self.namespaces, value),
            "Service" => push(&mut self.services, value),
            "ReplicationController" => push(&mut self.replication_controllers, value),
            "PersistentVolume" => push(&mut self.volumes, value),
            "PersistentVolumeClaim" => push(&mut self.volume_claims, value),
            "Deployment" => push(&mut self.deployments, value),
            "StatefulSet" => push(&mut self.stateful_sets, value),
            "ReplicaSet" => push(&mut self.replica_sets, value),
            "DaemonSet" => push(&mut self.daemon_sets, value),
            "Job" => push(&mut self.jobs, value),
            "PodDisruptionBudget" => push(&mut self.budgets, value),
            "StorageClass" => push(&mut self.storage_classes, value),
            "CSINode" => push(&mut self.csi_nodes, value),
            "PriorityClass" => push(&mut self.priority_classes, value),
            "RuntimeClass" => push(&mut self.runtime_classes, value),
            "PowerNodeClass" => push(&mut self.power_classes, value),
            "NodePool" => {
                let mut value = with_defaults(value, "/spec/template/spec");
                let conditions = value.pointer_mut("/status/conditions").and_then(Value::as_array_mut);
                for condition in conditions.into_iter().flatten().filter_map(Value::as_object_mut) {
                    condition.entry("lastTransitionTime").or_insert_with(|| "1970-01-01T00:00:00Z".into());
                }
                push(&mut self.pools, value)
            }
            _ => {
                self.claims.push(with_defaults(value, "/spec"));
                Ok(())
            }
        }
    }

    /// What placing looks at, and what there is to say about it. Claims are read last, when nothing is missing from them any more.
    pub fn into_source(mut self, market: &Market) -> (SceneSource, Vec<String>) {
        let mut warnings = std::mem::take(&mut self.warnings);
        let mut claims = Vec::new();
        for value in &self.claims {
            let name = value["metadata"]["name"].as_str().unwrap_or_default();
            let read = typed::<DynamicObject>(value.clone()).and_then(read_claim);
            match read {
                // One that makes no sense is named by whoever reads the scene, and stops nobody else.
                Ok(read) => claims.push(read),
                Err(why) => warnings.push(format!("{}: {why}: it counts for nothing", self.place("NodeClaim", name))),
            }
        }
        let with_catalogue = |pool: NodePool| {
            let (catalogue, spot_taints) = (market.of_pool(&pool), market.spot_taints(&pool));
            PoolSource { pool, catalogue, spot_taints }
        };
        let source = SceneSource {
            pods: self.pods,
            nodes: self.nodes,
            claims,
            pools: self.pools.into_iter().map(with_catalogue).collect(),
            daemon_sets: self.daemon_sets,
            volumes: self.volumes,
            volume_claims: self.volume_claims,
            storage_classes: self.storage_classes,
            csi_nodes: self.csi_nodes,
            namespaces: self.namespaces,
            priority_classes: self.priority_classes,
            budgets: self.budgets,
            services: self.services,
            replica_sets: self.replica_sets,
            stateful_sets: self.stateful_sets,
            replication_controllers: self.replication_controllers,
            catalogues: market.catalogues.clone(),
            ..SceneSource::default()
        };
        (source, warnings)
    }
}

/// What stands before the version; nothing for Kubernetes' first kinds.
fn group(version: &str) -> &str {
    version.rsplit_once('/').map_or("", |(group, _)| group)
}

/// The items of a PodList are Pods of its version: the API server does not repeat that in each of them.
fn of_list(kind: &str, version: &str, item: &mut Value) {
    let (Some(of), Some(fields)) = (kind.strip_suffix("List").filter(|of| !of.is_empty()), item.as_object_mut()) else {
        return;
    };
    fields.entry("kind").or_insert_with(|| of.into());
    fields.entry("apiVersion").or_insert_with(|| version.into());
}

/// A field that is null is a field that is not there: so Kubernetes reads it.
fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            fields.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

fn push<T: DeserializeOwned>(list: &mut Vec<T>, value: Value) -> Result<(), String> {
    list.push(typed(value)?);
    Ok(())
}

/// A plan does without a class and without requirements.
fn with_defaults(mut value: Value, spec: &str) -> Value {
    if let Some(fields) = value.pointer_mut(spec).and_then(Value::as_object_mut) {
        fields.entry("requirements").or_insert_with(|| json!([]));
        fields.entry("nodeClassRef").or_insert_with(|| json!({ "group": "", "kind": "", "name": "default" }));
    }
    value
}

fn schema(kind: &str) -> Schema {
    match kind {
        "Pod" => Schema::of::<Pod>(),
        "Node" => Schema::of::<Node>(),
        "Namespace" => Schema::of::<Namespace>(),
        "Service" => Schema::of::<Service>(),
        "ReplicationController" => Schema::of::<ReplicationController>(),
        "PersistentVolume" => Schema::of::<PersistentVolume>(),
        "PersistentVolumeClaim" => Schema::of::<PersistentVolumeClaim>(),
        "Deployment" => Schema::of::<Deployment>(),
        "StatefulSet" => Schema::of::<StatefulSet>(),
        "ReplicaSet" => Schema::of::<ReplicaSet>(),
        "DaemonSet" => Schema::of::<DaemonSet>(),
        "Job" => Schema::of::<Job>(),
        "PodDisruptionBudget" => Schema::of::<PodDisruptionBudget>(),
        "StorageClass" => Schema::of::<StorageClass>(),
        "CSINode" => Schema::of::<CSINode>(),
        "PriorityClass" => Schema::of::<PriorityClass>(),
        "RuntimeClass" => Schema::of::<RuntimeClass>(),
        _ => {
            let all = crd::all();
            let found = all.iter().find(|definition| definition.spec.names.kind == kind);
            Schema::of_resource(found.and_then(|one| serde_json::to_value(one).ok()).unwrap_or_default())
        }
    }
}
