//! What happens to an object between the request and the store: decoding, defaults, admission, validation.

use serde_json::{Value, json};
use std::sync::Arc;

use super::{
    edit,
    objects::Objects,
    request::Query,
    status::{About, Failure},
    store::ResourceKey,
    versions,
};
use crate::resources::{
    crd::prune,
    decode as decoding, defaults,
    errors::{FieldError, invalid_status},
    kinds::{Registry, Resource, Subresource},
    validate,
};

/// Whether the resource is the one that makes resources.
pub fn is_definition(resource: &Resource) -> bool {
    resource.group == "apiextensions.k8s.io" && resource.kind == "CustomResourceDefinition"
}

/// Reads an object as its schema does. What it does not know is dropped, and said as the client asked: as an error,
/// as warnings, or not at all.
pub fn decode(
    resource: &Resource,
    value: &mut Value,
    doubled: &[String],
    query: &Query,
) -> Result<Vec<String>, Failure> {
    let unknown = decoding::decode(resource, value)
        .map_err(|trouble| Failure::bad_request(decoding::bad_request(resource, &trouble)))?;
    say_strict(resource, decoding::strict_troubles(doubled, &unknown), query)
}

/// Reads the configuration of an apply: as an object, but without defaults, which nobody has applied.
pub fn decode_configuration(resource: &Resource, value: &mut Value, query: &Query) -> Result<Vec<String>, Failure> {
    let unknown = match &resource.custom {
        Some(custom) if custom.preserve_unknown => Vec::new(),
        Some(custom) => prune(&custom.schema, value),
        None => decoding::decode(resource, value).map_err(Failure::bad_request)?,
    };
    say_strict(resource, decoding::strict_troubles(&[], &unknown), query)
}

/// What strict decoding finds is an error, a warning or nothing.
fn say_strict(resource: &Resource, troubles: Vec<String>, query: &Query) -> Result<Vec<String>, Failure> {
    match query.get("fieldValidation") {
        Some("Strict") if !troubles.is_empty() => {
            Err(Failure::bad_request(decoding::strict_message(resource, &troubles)))
        }
        Some("Strict" | "Ignore") => Ok(Vec::new()),
        _ => Ok(troubles),
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
        give_service_account(objects, value)?;
        let classes: Vec<Value> = list(objects, "scheduling.k8s.io", "priorityclasses");
        defaults::admit_pod(value, &classes).map_err(|error| {
            let about =
                About { group: "", resource: "pods", name: value["metadata"]["name"].as_str().unwrap_or_default() };
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
    if built_in {
        defaults::settle_new(&resource.kind, value);
    }
    match defaults::initial_status(resource, value, &objects.now()) {
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

/// A pod acts as an account of its namespace. The real server waits a moment for one that is called `default`, which a
/// controller makes with the namespace; here it is as if it had come meanwhile.
fn give_service_account(objects: &Objects, pod: &mut Value) -> Result<(), Failure> {
    let text = |field: &str| pod["spec"][field].as_str().unwrap_or_default().to_owned();
    let name = Some(text("serviceAccountName")).filter(|name| !name.is_empty()).unwrap_or("default".to_owned());
    let namespace = pod["metadata"]["namespace"].as_str().unwrap_or_default().to_owned();
    let found = objects.get(&("".into(), "serviceaccounts".into()), &namespace, &name);
    if found.is_none() && name != "default" {
        let about = About { group: "", resource: "pods", name: pod["metadata"]["name"].as_str().unwrap_or_default() };
        let why = format!("error looking up service account {namespace}/{name}: serviceaccount {name:?} not found");
        return Err(Failure::forbidden(about, &why));
    }
    pod["spec"]["serviceAccountName"] = name.as_str().into();
    pod["spec"]["serviceAccount"] = name.into();
    let account = found.map(|stored| stored.value.clone()).unwrap_or_default();
    defaults::admit_service_account(pod, &account, &format!("kube-api-access-{}", objects.suffix()));
    Ok(())
}

/// What a change brings with it, in kinds that count or note their own changes.
pub fn carry_on(resource: &Resource, old: &Value, new: &mut Value, now: &str) {
    if resource.custom.is_none() {
        defaults::carry_on(&resource.kind, old, new, now);
    }
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
    // Events of either group are refused as those of the core group.
    let group = if resource.custom.is_none() && resource.kind == "Event" { "" } else { resource.group.as_str() };
    Err(Failure::from_status(&invalid_status(group, &resource.kind, name, &errors)))
}

/// The object as it is stored, and small tidying that no client sees.
pub fn in_storage_version(resource: &Resource, mut value: Value) -> Value {
    edit::drop_nulls(&mut value["metadata"]);
    let mut stored = versions::to_stored(resource, value);
    if resource.custom.is_none() && resource.kind == "Event" {
        // Times that an event does not have are shown as such.
        for time in ["eventTime", "firstTimestamp", "lastTimestamp"] {
            if stored.get(time).is_none() {
                stored[time] = Value::Null;
            }
        }
    }
    stored
}

/// A kind that wants to know which version is replaced. The resource is named where other refusals name the kind.
pub fn version_required(resource: &Resource, name: &str) -> Failure {
    let errors = [FieldError::invalid("metadata.resourceVersion", 0, "must be specified for an update")];
    Failure::from_status(&invalid_status(&resource.group, &resource.plural, name, &errors))
}
