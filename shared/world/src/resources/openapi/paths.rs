//! The paths and operations of a resource, as far as clients read them: the kind an operation is about, its
//! parameters, and which patches it takes.

use super::{REFERENCE, schema_name};
use crate::resources::kinds::{Resource, Subresource};
use serde_json::{Map, Value, json};

/// Schemas every document refers to whatever its kinds.
pub const ALWAYS_REFERENCED: &[&str] = &[
    "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions",
    "io.k8s.apimachinery.pkg.apis.meta.v1.Status",
    "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
];

const LIST_PARAMETERS: &[(&str, &str)] = &[
    ("allowWatchBookmarks", "boolean"),
    ("continue", "string"),
    ("fieldSelector", "string"),
    ("labelSelector", "string"),
    ("limit", "integer"),
    ("resourceVersion", "string"),
    ("resourceVersionMatch", "string"),
    ("sendInitialEvents", "boolean"),
    ("timeoutSeconds", "integer"),
    ("watch", "boolean"),
];
const WRITE_PARAMETERS: &[(&str, &str)] =
    &[("dryRun", "string"), ("fieldManager", "string"), ("fieldValidation", "string")];
const DELETE_PARAMETERS: &[(&str, &str)] =
    &[("dryRun", "string"), ("gracePeriodSeconds", "integer"), ("propagationPolicy", "string")];

pub fn of_resource(resource: &Resource) -> Map<String, Value> {
    let root = if resource.group.is_empty() { "/api".to_owned() } else { format!("/apis/{}", resource.group) };
    let root = format!("{root}/{}", resource.version);
    let base = if resource.namespaced {
        format!("{root}/namespaces/{{namespace}}/{}", resource.plural)
    } else {
        format!("{root}/{}", resource.plural)
    };
    let mut paths = Map::new();
    let mut collection = json!({
        "get": operation(resource, "list", LIST_PARAMETERS),
        "post": with_body(operation(resource, "post", WRITE_PARAMETERS), resource),
        "parameters": path_parameters(resource.namespaced, false),
    });
    if resource.allows("deletecollection") {
        collection["delete"] = operation(resource, "deletecollection", DELETE_PARAMETERS);
    }
    paths.insert(base.clone(), collection);
    if resource.namespaced {
        let all = json!({"get": operation(resource, "list", LIST_PARAMETERS), "parameters": []});
        paths.insert(format!("{root}/{}", resource.plural), all);
    }
    let mut one = changeable(resource);
    one["delete"] = operation(resource, "delete", DELETE_PARAMETERS);
    one["parameters"] = path_parameters(resource.namespaced, true);
    paths.insert(format!("{base}/{{name}}"), one);
    for part in &resource.subresources {
        if *part == Subresource::Status {
            let mut status = changeable(resource);
            status["parameters"] = path_parameters(resource.namespaced, true);
            paths.insert(format!("{base}/{{name}}/status"), status);
        }
    }
    paths
}

fn changeable(resource: &Resource) -> Value {
    let mut patch = operation(resource, "patch", WRITE_PARAMETERS);
    if let Some(parameters) = patch["parameters"].as_array_mut() {
        parameters.push(parameter("force", "boolean"));
    }
    let body = json!({"schema": {"type": "object"}});
    let mut content = Map::new();
    for format in ["application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json"] {
        content.insert(format.to_owned(), body.clone());
    }
    // Custom resources have no Go type that could say how their lists merge.
    if resource.custom.is_none() {
        content.insert("application/strategic-merge-patch+json".to_owned(), body);
    }
    patch["requestBody"] = json!({"required": true, "content": content});
    json!({
        "get": operation(resource, "get", &[]),
        "put": with_body(operation(resource, "put", WRITE_PARAMETERS), resource),
        "patch": patch,
    })
}

fn operation(resource: &Resource, action: &str, parameters: &[(&str, &str)]) -> Value {
    let kind = if action == "list" { &resource.list_kind } else { &resource.kind };
    let schema = reference(&schema_name(&resource.group, &resource.version, kind));
    json!({
        "operationId": format!("{action}{}{}", resource.version, resource.kind),
        "parameters": parameters.iter().map(|(name, kind)| parameter(name, kind)).collect::<Vec<_>>(),
        "responses": {"200": {"description": "OK", "content": {"application/json": {"schema": schema}}}},
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind":
            {"group": resource.group, "version": resource.version, "kind": resource.kind},
    })
}

fn with_body(mut operation: Value, resource: &Resource) -> Value {
    let schema = reference(&schema_name(&resource.group, &resource.version, &resource.kind));
    operation["requestBody"] = json!({"required": true, "content": {"*/*": {"schema": schema}}});
    operation
}

fn path_parameters(namespaced: bool, named: bool) -> Value {
    let mut parameters = Vec::new();
    for (name, present) in [("name", named), ("namespace", namespaced)] {
        if present {
            parameters.push(json!({"name": name, "in": "path", "required": true,
                "schema": {"type": "string", "uniqueItems": true}}));
        }
    }
    Value::Array(parameters)
}

fn parameter(name: &str, kind: &str) -> Value {
    json!({"name": name, "in": "query", "schema": {"type": kind, "uniqueItems": true}})
}

fn reference(schema: &str) -> Value {
    json!({"$ref": format!("{REFERENCE}{schema}")})
}
