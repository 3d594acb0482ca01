//! What happens to an object between the request and the store: decoding, defaults, admission, validation.

use http::StatusCode;
use serde_json::{Value, json};
use std::sync::Arc;

use super::{edit, objects::Objects, request::Query, status::Failure, store::ResourceKey, versions};
use crate::resources::{
    crd::prune,
    decode as decoding, defaults,
    errors::invalid_status,
    kinds::{Registry, Resource, Subresource},
    validate,
};

/// Whether the resource is the one that makes resources.
pub fn is_definition(resource: &Resource) -> bool {
    resource.group == "apiextensions.k8s.io" && resource.kind == "CustomResourceDefinition"
}

/// Reads an object as its schema does. What it does not know is dropped, and said as the client asked: as an error,
/// as warnings, or not at all.
pub fn decode(resource: &Resource, value: &mut Value, query: &Query) -> Result<Vec<String>, Failure> {
    let unknown = decoding::decode(resource, value).map_err(Failure::bad_request)?;
    say_unknown(resource, &unknown, query)
}

/// Reads the configuration of an apply: as an object, but without defaults, which nobody has applied.
pub fn decode_configuration(resource: &Resource, value: &mut Value, query: &Query) -> Result<Vec<String>, Failure> {
    let unknown = match &resource.custom {
        Some(custom) if custom.preserve_unknown => Vec::new(),
        Some(custom) => prune(&custom.schema, value),
        None => decoding::decode(resource, value).map_err(Failure::bad_request)?,
    };
    say_unknown(resource, &unknown, query)
}

fn say_unknown(resource: &Resource, unknown: &[String], query: &Query) -> Result<Vec<String>, Failure> {
    match query.get("fieldValidation").unwrap_or("Warn") {
        "Strict" if !unknown.is_empty() => Err(Failure::bad_request(decoding::strict_message(resource, unknown))),
        "Warn" => Ok(decoding::unknown_warnings(unknown)),
        "Strict" | "Ignore" => Ok(Vec::new()),
        other => {
            let detail = format!(
                "fieldValidation: Unsupported value: {other:?}: supported values: \"\", \"Ignore\", \"Strict\", \"Warn\""
            );
            Err(options_invalid("PatchOptions", &detail))
        }
    }
}

/// Fills in what the client left open.
pub fn default(resource: &Resource, value: &mut Value) {
    match &resource.custom {
        Some(custom) => drop(custom.decode(value)),
        None => defaults::apply(resource, value),
    }
}

/// What only a new object gets: its first status and generation, and what admission plugins add.
pub fn begin(objects: &Objects, resource: &Resource, value: &mut Value) -> Result<(), Failure> {
    if resource.storage.has_generation {
        value["metadata"]["generation"] = 1.into();
    }
    let built_in = resource.custom.is_none();
    if built_in && resource.kind == "Pod" {
        let classes: Vec<Value> = list(objects, "scheduling.k8s.io", "priorityclasses");
        defaults::admit_pod(value, &classes).map_err(|error| {
            let about = super::status::About {
                group: "",
                resource: "pods",
                name: value["metadata"]["name"].as_str().unwrap_or_default(),
            };
            Failure::forbidden(about, &error.to_string())
        })?;
    }
    if built_in {
        let marked =
            |class: &Value| class["metadata"]["annotations"]["storageclass.kubernetes.io/is-default-class"] == "true";
        let classes = list(objects, "storage.k8s.io", "storageclasses");
        let class = classes.iter().find(|class| marked(class)).and_then(|class| class["metadata"]["name"].as_str());
        defaults::admit_on_create(&resource.kind, value, class);
        match resource.kind.as_str() {
            "Job" => defaults::generate_job_selector(value),
            "Service" => allocate_address(objects, value),
            _ => {}
        }
    }
    match defaults::initial_status(resource, value) {
        Some(status) if built_in => value["status"] = status,
        _ if resource.subresources.contains(&Subresource::Status) && resource.kind != "Node" => {
            if let Value::Object(object) = value {
                object.remove("status");
            }
        }
        _ => {}
    }
    edit::drop_nulls(value);
    Ok(())
}

/// For controllers, which write past HTTP: defaults, and for pods what admission adds. A status they set stays.
pub fn admit(objects: &Objects, registry: &Registry, key: &ResourceKey, value: &mut Value) {
    let is_it = |resource: &&Arc<Resource>| *resource.storage.group == *key.0 && *resource.storage.plural == *key.1;
    let Some(resource) = registry.resources().find(is_it) else { return };
    let status = value.get("status").cloned();
    default(resource, value);
    if resource.kind == "Pod" {
        // A pod of an unknown priority class is refused to people; a controller's template was admitted with its owner.
        drop(begin(objects, resource, value));
    }
    if let Some(status) = status {
        value["status"] = status;
    }
}

/// A Service inside the cluster gets an address of its own, the first that is free.
fn allocate_address(objects: &Objects, service: &mut Value) {
    let spec = &mut service["spec"];
    let given = spec["clusterIP"].as_str().is_some_and(|address| !address.is_empty());
    if given || spec["type"] == "ExternalName" {
        return;
    }
    let services = list(objects, "", "services");
    let taken = |address: &String| services.iter().any(|one| one["spec"]["clusterIP"] == address.as_str());
    let addresses = (1..=255_u32).flat_map(|third| (1..=254_u32).map(move |last| format!("10.96.{third}.{last}")));
    if let Some(free) = addresses.into_iter().find(|address| !taken(address)) {
        spec["clusterIPs"] = json!([free]);
        spec["clusterIP"] = free.into();
    }
}

fn list(objects: &Objects, group: &str, plural: &str) -> Vec<Value> {
    objects.list(&(group.into(), plural.into())).into_iter().map(|stored| stored.value.clone()).collect()
}

pub fn validate(resource: &Resource, value: &Value, old: Option<&Value>) -> Result<(), Failure> {
    let errors = match old {
        None => validate::validate_create(resource, value),
        Some(old) => validate::validate_update(resource, value, old),
    };
    if errors.is_empty() {
        return Ok(());
    }
    let name = value["metadata"]["name"].as_str().unwrap_or_default();
    Err(from_status(&invalid_status(&resource.group, &resource.kind, name, &errors)))
}

/// The object as it is stored, and small tidying that no client sees.
pub fn in_storage_version(resource: &Resource, mut value: Value) -> Value {
    edit::drop_nulls(&mut value["metadata"]);
    versions::to_stored(resource, value)
}

/// One field is wrong, and its message is known already.
pub fn invalid_message(resource: &Resource, name: &str, detail: &str) -> Failure {
    let kind =
        if resource.group.is_empty() { resource.kind.clone() } else { format!("{}.{}", resource.kind, resource.group) };
    let mut failure = invalid(&format!("{kind} {name:?} is invalid: {detail}"), detail);
    failure.details["name"] = name.into();
    failure.details["kind"] = resource.kind.as_str().into();
    if !resource.group.is_empty() {
        failure.details["group"] = resource.group.as_str().into();
    }
    failure
}

/// The parameters of a request are wrong.
pub fn options_invalid(kind: &str, detail: &str) -> Failure {
    let mut failure = invalid(&format!("{kind}.meta.k8s.io \"\" is invalid: {detail}"), detail);
    failure.details["group"] = "meta.k8s.io".into();
    failure.details["kind"] = kind.into();
    failure
}

fn invalid(message: &str, detail: &str) -> Failure {
    let (field, said) = detail.split_once(": ").unwrap_or(("", detail));
    let reason = match said.split(':').next() {
        Some("Required value") => "FieldValueRequired",
        Some("Unsupported value") => "FieldValueNotSupported",
        Some("Forbidden") => "FieldValueForbidden",
        _ => "FieldValueInvalid",
    };
    let details = json!({ "causes": [{ "reason": reason, "message": said, "field": field }] });
    Failure { details, ..Failure::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", message) }
}

fn from_status(status: &Value) -> Failure {
    let message = status["message"].as_str().unwrap_or_default();
    Failure { details: status["details"].clone(), ..Failure::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", message) }
}
