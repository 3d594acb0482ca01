//! The schemas of the built-in types, made once from k8s-openapi's and brought to the form a real server writes.

use super::{kind_extension, strategy};
use crate::resources::kinds::BUILT_IN;
use k8s_openapi::api::{apps, autoscaling, batch, coordination, core, events, policy, scheduling, storage};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::apis::meta;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// All built-in schemas by name, such as `io.k8s.api.core.v1.Pod`.
pub static SCHEMAS: LazyLock<BTreeMap<String, Value>> = LazyLock::new(|| {
    let mut generator = SchemaSettings::openapi3().into_generator();
    add_kinds(&mut generator);
    let mut schemas: BTreeMap<String, Value> = generator.take_definitions(true).into_iter().collect();
    for (name, schema) in &mut schemas {
        to_server_form(name, schema);
    }
    schemas
});

fn add_kinds(generator: &mut SchemaGenerator) {
    add::<core::v1::Pod>(generator);
    add::<core::v1::Node>(generator);
    add::<core::v1::Namespace>(generator);
    add::<core::v1::Event>(generator);
    add::<core::v1::ConfigMap>(generator);
    add::<core::v1::Secret>(generator);
    add::<core::v1::Service>(generator);
    add::<core::v1::ServiceAccount>(generator);
    add::<core::v1::PersistentVolume>(generator);
    add::<core::v1::PersistentVolumeClaim>(generator);
    add::<apps::v1::Deployment>(generator);
    add::<apps::v1::StatefulSet>(generator);
    add::<apps::v1::DaemonSet>(generator);
    add::<apps::v1::ReplicaSet>(generator);
    add::<apps::v1::ControllerRevision>(generator);
    add::<batch::v1::Job>(generator);
    add::<coordination::v1::Lease>(generator);
    add::<events::v1::Event>(generator);
    add::<policy::v1::PodDisruptionBudget>(generator);
    add::<scheduling::v1::PriorityClass>(generator);
    add::<storage::v1::StorageClass>(generator);
    add::<storage::v1::CSINode>(generator);
    add::<storage::v1::VolumeAttachment>(generator);
    add::<CustomResourceDefinition>(generator);
    add::<autoscaling::v1::Scale>(generator);
    add::<policy::v1::Eviction>(generator);
    add::<core::v1::Binding>(generator);
    add::<meta::v1::DeleteOptions>(generator);
    add::<meta::v1::ListMeta>(generator);
    add::<meta::v1::Status>(generator);
}

fn add<Kind: JsonSchema>(generator: &mut SchemaGenerator) {
    generator.subschema_for::<Kind>();
}

/// Whether the server knows such a type at all, be it one that has no path of its own.
pub fn is_registered(group: &str, version: &str, kind: &str) -> bool {
    let anywhere = ["Status", "DeleteOptions", "ListOptions", "PatchOptions", "CreateOptions", "UpdateOptions"];
    let kind = kind.strip_suffix("List").unwrap_or(kind);
    SCHEMAS.contains_key(&schema_name(group, version, kind)) || (version == "v1" && anywhere.contains(&kind))
}

/// The name a kind's schema has in the documents; groups outside Kubernetes are written backwards.
pub fn schema_name(group: &str, version: &str, kind: &str) -> String {
    match group {
        "" => format!("io.k8s.api.core.{version}.{kind}"),
        "apiextensions.k8s.io" => {
            format!("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.{version}.{kind}")
        }
        _ if !group.contains('.') => format!("io.k8s.api.{group}.{version}.{kind}"),
        _ if is_built_in(group) => {
            let first = group.split('.').next().unwrap_or_default();
            format!("io.k8s.api.{first}.{version}.{kind}")
        }
        _ => {
            let backwards: Vec<&str> = group.split('.').rev().collect();
            format!("{}.{version}.{kind}", backwards.join("."))
        }
    }
}

fn is_built_in(group: &str) -> bool {
    BUILT_IN.iter().any(|line| line.group == group)
}

fn to_server_form(name: &str, schema: &mut Value) {
    match name.rsplit('.').next().unwrap_or_default() {
        "Quantity" => one_of(schema, ["string", "number"]),
        "IntOrString" => {
            one_of(schema, ["integer", "string"]);
            schema["format"] = json!("int-or-string");
        }
        _ => {}
    }
    if let Some((group, version, kind)) = kind_of(name) {
        schema["x-kubernetes-group-version-kind"] = kind_extension(group, version, kind);
    }
    let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) else { return };
    for (field, property) in properties {
        wrap_reference(property);
        if let Some(strategy) = strategy(name, field) {
            strategy.describe(property);
        }
    }
}

/// A reference with a description beside it is ignored by some readers; the server wraps it in `allOf`.
fn wrap_reference(property: &mut Value) {
    if let Some(map) = property.as_object_mut()
        && map.len() > 1
        && let Some(reference) = map.remove("$ref")
    {
        map.insert("allOf".to_owned(), json!([{"$ref": reference}]));
    }
}

fn one_of(schema: &mut Value, types: [&str; 2]) {
    if let Some(map) = schema.as_object_mut() {
        map.remove("x-kubernetes-int-or-string");
        map.insert("oneOf".to_owned(), Value::Array(types.iter().map(|one| json!({"type": one})).collect()));
    }
}

/// The group, version and kind of a schema that is a kind.
fn kind_of(name: &str) -> Option<(&'static str, &'static str, &'static str)> {
    const OTHERS: [(&str, &str, &str, &str); 4] = [
        ("io.k8s.api.autoscaling.v1.Scale", "autoscaling", "v1", "Scale"),
        ("io.k8s.api.policy.v1.Eviction", "policy", "v1", "Eviction"),
        ("io.k8s.api.core.v1.Binding", "", "v1", "Binding"),
        ("io.k8s.apimachinery.pkg.apis.meta.v1.Status", "", "v1", "Status"),
    ];
    let known = BUILT_IN.iter().find(|line| schema_name(line.group, line.version, line.kind) == name);
    known.map(|line| (line.group, line.version, line.kind)).or_else(|| {
        OTHERS.iter().find(|other| other.0 == name).map(|(_, group, version, kind)| (*group, *version, *kind))
    })
}
