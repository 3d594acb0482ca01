//! Files to objects: Kubernetes YAML, many documents, Lists.

use std::path::{Path, PathBuf};
use std::{fs, io};

use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{
    Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod, ReplicationController,
};
use k8s_openapi::api::node::v1::RuntimeClass;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::storage::v1::{CSINode, StorageClass};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::objects::{NodeClaim, NodePool};

/// What is wrong with the input. It names the place.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("cannot read {0}: {1}")]
    File(PathBuf, #[source] io::Error),
    #[error("{at}: {why}")]
    Object { at: String, why: String },
    #[error("the catalogue is not what Karpenter's KWOK provider reads: {0}")]
    Catalog(String),
    #[error("the answer is not the JSON of a plan: {0}")]
    Answer(String),
}

/// Everything the files hold that a plan depends on, by kind, as written.
#[derive(Debug, Clone, Default)]
pub struct Objects {
    pub pods: Vec<Pod>,
    pub deployments: Vec<Deployment>,
    pub replica_sets: Vec<ReplicaSet>,
    pub stateful_sets: Vec<StatefulSet>,
    pub jobs: Vec<Job>,
    pub daemon_sets: Vec<DaemonSet>,
    pub nodes: Vec<Node>,
    pub pools: Vec<NodePool>,
    pub claims: Vec<NodeClaim>,
    pub volumes: Vec<PersistentVolume>,
    pub volume_claims: Vec<PersistentVolumeClaim>,
    pub storage_classes: Vec<StorageClass>,
    pub csi_nodes: Vec<CSINode>,
    pub namespaces: Vec<Namespace>,
    pub budgets: Vec<PodDisruptionBudget>,
    pub replication_controllers: Vec<ReplicationController>,
    pub runtime_classes: Vec<RuntimeClass>,
}

impl Objects {
    /// Reads files, and all `.yaml`, `.yml` and `.json` files below directories, by name.
    pub fn read(paths: &[PathBuf]) -> Result<Self, LoadError> {
        let mut objects = Self::default();
        for path in paths {
            for file in files_at(path).map_err(|error| LoadError::File(path.clone(), error))? {
                let text = fs::read_to_string(&file).map_err(|error| LoadError::File(file.clone(), error))?;
                objects.add_yaml(&file.display().to_string(), &text)?;
            }
        }
        Ok(objects)
    }

    /// Takes the documents of one YAML text.
    pub fn add_yaml(&mut self, source: &str, text: &str) -> Result<(), LoadError> {
        for (at, value) in values(source, text)? {
            self.add(&at, value)?;
        }
        Ok(())
    }

    /// Takes one object, or a List of them. Kinds that have no part in a plan are passed over.
    pub fn add(&mut self, at: &str, mut value: Value) -> Result<(), LoadError> {
        strip_nulls(&mut value);
        if let Some(Value::Array(items)) = value.get_mut("items").map(Value::take) {
            for (number, item) in items.into_iter().enumerate() {
                self.add(&format!("{at}, item {}", number + 1), item)?;
            }
            return Ok(());
        }
        let kind = value.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
        match kind.as_str() {
            "Pod" => push(&mut self.pods, at, value),
            "Deployment" => push(&mut self.deployments, at, value),
            "ReplicaSet" => push(&mut self.replica_sets, at, value),
            "StatefulSet" => push(&mut self.stateful_sets, at, value),
            "Job" => push(&mut self.jobs, at, value),
            "DaemonSet" => push(&mut self.daemon_sets, at, value),
            "Node" => push(&mut self.nodes, at, value),
            "NodePool" => push(&mut self.pools, at, value),
            "NodeClaim" => push(&mut self.claims, at, value),
            "PersistentVolume" => push(&mut self.volumes, at, value),
            "PersistentVolumeClaim" => push(&mut self.volume_claims, at, value),
            "StorageClass" => push(&mut self.storage_classes, at, value),
            "CSINode" => push(&mut self.csi_nodes, at, value),
            "Namespace" => push(&mut self.namespaces, at, value),
            "PodDisruptionBudget" => push(&mut self.budgets, at, value),
            "ReplicationController" => push(&mut self.replication_controllers, at, value),
            "RuntimeClass" => push(&mut self.runtime_classes, at, value),
            _ => Ok(()),
        }
    }
}

/// The documents of one YAML text as they are, each with its place.
pub fn values(source: &str, text: &str) -> Result<Vec<(String, Value)>, LoadError> {
    let read = |(number, document): (usize, &str)| {
        let at = format!("{source}, document {}", number + 1);
        // No budget: a benchmark's file is as large as it is, and nobody attacks us with it.
        let options = serde_saphyr::options! { budget: None };
        match serde_saphyr::from_str_with_options(document, options) {
            Ok(value) => Ok((at, value)),
            Err(error) => Err(LoadError::Object { at, why: error.to_string() }),
        }
    };
    documents(text).into_iter().enumerate().map(read).collect()
}

fn push<T: DeserializeOwned>(list: &mut Vec<T>, at: &str, mut value: Value) -> Result<(), LoadError> {
    // The API server fills in what its schemas require and people leave out.
    if let Value::Object(map) = &mut value {
        map.entry("metadata").or_insert_with(|| Value::Object(Default::default()));
    }
    complete_conditions(&mut value);
    let object = serde_json::from_value(value)
        .map_err(|error| LoadError::Object { at: at.to_owned(), why: error.to_string() })?;
    list.push(object);
    Ok(())
}

/// People write conditions of NodePools and NodeClaims in short; the type wants all of them. What a Node or a pod does not say since
/// when, nobody knows.
fn complete_conditions(value: &mut Value) {
    if value["apiVersion"] == "v1" {
        return;
    }
    let Some(Value::Array(conditions)) = value.pointer_mut("/status/conditions") else { return };
    for condition in conditions {
        if let Value::Object(map) = condition {
            for (key, fallback) in [("message", ""), ("reason", ""), ("lastTransitionTime", "2026-01-01T00:00:00Z")] {
                map.entry(key).or_insert_with(|| Value::String(fallback.to_owned()));
            }
        }
    }
}

/// In Kubernetes null means that a field is not given.
fn strip_nulls(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|_, one| !one.is_null());
            map.values_mut().for_each(strip_nulls);
        }
        Value::Array(list) => list.iter_mut().for_each(strip_nulls),
        _ => {}
    }
}

/// Splits at lines that are `---`, and leaves out what holds nothing but comments.
fn documents(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut begin, mut offset) = (0, 0);
    for line in text.split_inclusive('\n') {
        if line.starts_with("---") {
            parts.push(&text[begin..offset]);
            begin = offset + line.len();
        }
        offset += line.len();
    }
    parts.push(&text[begin..]);
    let says_something = |part: &&str| part.lines().any(|line| !matches!(line.trim().chars().next(), None | Some('#')));
    parts.into_iter().filter(says_something).collect()
}

fn files_at(path: &Path) -> io::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut entries =
        fs::read_dir(path)?.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<Vec<_>>>()?;
    entries.sort();
    let mut files = Vec::new();
    for entry in entries {
        let known = entry.extension().is_some_and(|end| ["yaml", "yml", "json"].iter().any(|one| end == *one));
        if entry.is_dir() || known {
            files.extend(files_at(&entry)?);
        }
    }
    Ok(files)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn lists_documents_comments_and_nulls_are_read() {
        let text = "# only words\n---\nkind: List\nitems:\n- {kind: Pod, metadata: {name: a}, spec: {containers: null}}\n---\n\
                    kind: Node\nmetadata: {name: n1}\nstatus: {capacity: {cpu: 4, memory: 1.5}}\n--- \nkind: Gadget\n";
        let mut objects = Objects::default();
        objects.add_yaml("test", text).unwrap();
        assert_eq!((objects.pods.len(), objects.nodes.len()), (1, 1));
        let capacity = objects.nodes[0].status.as_ref().unwrap().capacity.as_ref().unwrap();
        assert_eq!((capacity["cpu"].0.as_str(), capacity["memory"].0.as_str()), ("4", "1.5"));
    }

    #[test]
    fn an_error_names_the_document() {
        let error = Objects::default().add_yaml("f.yaml", "kind: Pod\n---\nkind: Pod\nspec: 3\n").unwrap_err();
        assert!(error.to_string().starts_with("f.yaml, document 2:"), "{error}");
    }
}
