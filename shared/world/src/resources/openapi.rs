//! OpenAPI v3: the index, one document per group version, and the schemas of the built-in types behind them. The
//! schemas come from k8s-openapi's own (its `schemars` feature), so they are Kubernetes 1.36's, field by field.

mod paths;
mod strategies;
mod types;

pub use strategies::{ListKind, Strategy, strategy};
pub use types::{SCHEMAS, is_registered, schema_name};

use crate::resources::kinds::{Registry, Resource};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

const REFERENCE: &str = "#/components/schemas/";
const LIST_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta";

/// The documentation of one field of a built-in type, empty when there is none.
pub fn described(schema: &str, field: &str) -> String {
    let found = SCHEMAS.get(schema).map(|schema| &schema["properties"][field]["description"]);
    found.and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// `/openapi/v3`: where each group version's document is. The hash changes when the document does.
pub fn index(registry: &Registry) -> Value {
    let mut paths = Map::new();
    for group in registry.groups() {
        for version in &group.versions {
            let path = document_path(&group.name, version);
            let hash = document_hash(&registry.of_version(&group.name, version));
            let address = format!("/openapi/v3/{path}?hash={hash}");
            paths.insert(path, json!({"serverRelativeURL": address}));
        }
    }
    json!({"paths": paths})
}

/// `/openapi/v3/<path>`, the path being `api/v1` or `apis/<group>/<version>`.
pub fn document(registry: &Registry, path: &str) -> Option<Value> {
    let (group, version) = match path.split('/').collect::<Vec<_>>().as_slice() {
        ["api", version] => ("", *version),
        ["apis", group, version] => (*group, *version),
        _ => return None,
    };
    let resources = registry.of_version(group, version);
    if resources.is_empty() {
        return None;
    }
    let mut schemas = BTreeMap::new();
    let mut all_paths = Map::new();
    for resource in &resources {
        all_paths.extend(paths::of_resource(resource));
        for (name, schema) in own_schemas(resource) {
            include(&name, schema, &mut schemas);
        }
    }
    for name in paths::ALWAYS_REFERENCED {
        if let Some(schema) = SCHEMAS.get(*name) {
            include(name, schema.clone(), &mut schemas);
        }
    }
    Some(json!({"openapi": "3.0.0", "info": {"title": "Kubernetes", "version": "v1.36.0"}, "paths": all_paths,
        "components": {"schemas": schemas}}))
}

/// `/openapi/v2`, for clients that know nothing newer: the same schemas under their older name, and no paths.
pub fn document_v2(registry: &Registry) -> Value {
    let mut schemas = BTreeMap::new();
    for resource in registry.resources() {
        for (name, schema) in own_schemas(resource) {
            include(&name, schema, &mut schemas);
        }
    }
    let definitions = serde_json::to_string(&schemas).unwrap_or_default().replace(REFERENCE, "#/definitions/");
    let definitions: Value = serde_json::from_str(&definitions).unwrap_or_default();
    json!({"swagger": "2.0", "info": {"title": "Kubernetes", "version": "v1.36.0"}, "paths": {},
        "definitions": definitions})
}

/// The schema of a resource and of its list, with the names they are referred to by.
fn own_schemas(resource: &Resource) -> Vec<(String, Value)> {
    let name = schema_name(&resource.group, &resource.version, &resource.kind);
    let list_name = schema_name(&resource.group, &resource.version, &resource.list_kind);
    let schema = match &resource.custom {
        None => SCHEMAS.get(&name).cloned().unwrap_or_default(),
        Some(custom) => {
            let mut schema = custom.schema.clone();
            schema["properties"]["apiVersion"] = inherited("apiVersion");
            schema["properties"]["kind"] = inherited("kind");
            schema["properties"]["metadata"] = inherited("metadata");
            schema["x-kubernetes-group-version-kind"] =
                kind_extension(&resource.group, &resource.version, &resource.kind);
            schema
        }
    };
    let list = json!({
        "description": format!("{} is a list of {}", resource.list_kind, resource.kind), "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": inherited("apiVersion"), "kind": inherited("kind"),
            "items": {"type": "array", "description": format!("List of {}.", resource.plural),
                "items": {"$ref": format!("{REFERENCE}{name}")}},
            "metadata": {"description": "Standard list metadata.",
                "allOf": [{"$ref": format!("{REFERENCE}{LIST_META}")}]},
        },
        "x-kubernetes-group-version-kind": kind_extension(&resource.group, &resource.version, &resource.list_kind),
    });
    vec![(name, schema), (list_name, list)]
}

/// A field every kind has, described as a pod describes it.
fn inherited(field: &str) -> Value {
    SCHEMAS.get("io.k8s.api.core.v1.Pod").map(|pod| pod["properties"][field].clone()).unwrap_or_default()
}

/// Adds a schema and all it refers to.
fn include(name: &str, schema: Value, into: &mut BTreeMap<String, Value>) {
    if into.contains_key(name) {
        return;
    }
    let mut referred = Vec::new();
    collect_references(&schema, &mut referred);
    into.insert(name.to_owned(), schema);
    for name in referred {
        if let Some(schema) = SCHEMAS.get(&name) {
            include(&name, schema.clone(), into);
        }
    }
}

fn collect_references(value: &Value, into: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            let reference = map.get("$ref").and_then(Value::as_str).and_then(|text| text.strip_prefix(REFERENCE));
            into.extend(reference.map(str::to_owned));
            map.values().for_each(|inner| collect_references(inner, into));
        }
        Value::Array(list) => list.iter().for_each(|inner| collect_references(inner, into)),
        _ => {}
    }
}

fn kind_extension(group: &str, version: &str, kind: &str) -> Value {
    json!([{"group": group, "version": version, "kind": kind}])
}

fn document_path(group: &str, version: &str) -> String {
    if group.is_empty() { format!("api/{version}") } else { format!("apis/{group}/{version}") }
}

fn document_hash(resources: &[std::sync::Arc<Resource>]) -> String {
    let mut hasher = Sha256::new();
    for resource in resources {
        hasher.update(resource.plural.as_bytes());
        if let Some(custom) = &resource.custom {
            hasher.update(custom.schema.to_string().as_bytes());
        }
    }
    hasher.finalize().iter().map(|byte| format!("{byte:02X}")).collect()
}

#[cfg(test)]
#[path = "openapi_tests.rs"]
mod tests;
