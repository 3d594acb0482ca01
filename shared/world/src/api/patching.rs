//! Patches, by their content type, and what a write leaves in `managedFields`.

use bytes::Bytes;
use http::{HeaderValue, StatusCode};
use serde_json::{Value, json};
use serde_saphyr::options::DuplicateKeyPolicy;

use super::{go_json, status::Failure};
use crate::{
    patch::{
        PatchError,
        apply::{self, Manager},
        fields::FieldSet,
        json::json_patch,
        managed::keep_times_if_nothing_else_changed,
        merge::merge_patch,
        reset_fields::ignored_fields,
        schema_of::Schema,
        strategic::{self, strategic_merge_patch},
    },
    resources::{
        decode,
        errors::{FieldError, invalid_status},
        kinds::{Resource, Subresource},
    },
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatchType {
    Json,
    Merge,
    Strategic,
    Apply,
}

impl PatchType {
    pub fn of(content_type: Option<&HeaderValue>, resource: &Resource) -> Result<Self, Failure> {
        let text = content_type.and_then(|value| value.to_str().ok()).unwrap_or_default();
        match text.split(';').next().unwrap_or_default().trim() {
            "application/json-patch+json" => Ok(PatchType::Json),
            "application/merge-patch+json" => Ok(PatchType::Merge),
            "application/apply-patch+yaml" => Ok(PatchType::Apply),
            // It needs to know the Go type, which a custom resource does not have.
            "application/strategic-merge-patch+json" if resource.custom.is_none() => Ok(PatchType::Strategic),
            "application/strategic-merge-patch+json" => Err(failure(strategic::unsupported())),
            // The router refuses it before anybody has looked at the resource.
            _ => {
                let code = StatusCode::UNSUPPORTED_MEDIA_TYPE;
                let failure = Failure::new(code, "UnsupportedMediaType", "415: Unsupported Media Type");
                Err(Failure { details: json!({}), ..failure })
            }
        }
    }
}

/// What a patch other than apply makes of an object.
pub fn patched(resource: &Resource, kind: PatchType, live: &Value, body: &Bytes) -> Result<Value, Failure> {
    go_json::scan(body).map_err(|trouble| {
        let said = if kind == PatchType::Strategic { trouble } else { format!("error decoding patch: {trouble}") };
        Failure::bad_request(said)
    })?;
    let patch: Value = serde_json::from_slice(body).map_err(|error| Failure::bad_request(error.to_string()))?;
    let patched = match kind {
        PatchType::Json => json_patch(live, &patch),
        PatchType::Strategic => strategic_merge_patch(live, &patch, &schema(resource)),
        PatchType::Merge | PatchType::Apply => merge_patch(live, &patch),
    };
    patched.map_err(failure)
}

/// A patch whose outcome is no object of its kind: all of it is shown, as the real server does.
pub fn undecodable(resource: &Resource, patched: &str, failure: Failure) -> Failure {
    let prefix = decode::bad_request(resource, "");
    let why = failure.message.strip_prefix(&prefix).unwrap_or(&failure.message).to_owned();
    let errors = [FieldError::invalid("patch", patched, &why)];
    let mut refused = Failure::from_status(&invalid_status("", "", "", &errors));
    if let Value::Object(details) = &mut refused.details {
        details.remove("kind");
    }
    refused
}

/// YAML as a value, or what is wrong with it. JSON is YAML too.
pub fn yaml(body: &Bytes) -> Result<Value, String> {
    let text = std::str::from_utf8(body).map_err(|_| "yaml: invalid leading UTF-8 octet".to_owned())?;
    // As the real server's parser does, `y` and `n` stay texts, and of two equal keys the last one wins.
    let options = serde_saphyr::options! { strict_booleans: true, duplicate_keys: DuplicateKeyPolicy::LastWins };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| format!("yaml: {error}"))
}

/// The configuration in an apply. It has to say of what kind it is.
pub fn apply_configuration(resource: &Resource, body: &Bytes) -> Result<Value, Failure> {
    let decoding = |why: String| Failure::bad_request(format!("error decoding YAML: {why}"));
    let config = yaml(body).map_err(|error| decoding(format!("error converting YAML to JSON: {error}")))?;
    let given = match &config {
        Value::Object(_) => None,
        Value::Array(_) => Some("array"),
        Value::String(_) => Some("string"),
        Value::Number(_) => Some("number"),
        Value::Bool(_) => Some("bool"),
        Value::Null => None,
    };
    if let Some(given) = given {
        let why = format!("json: cannot unmarshal {given} into Go value of type map[string]interface {{}}");
        return Err(decoding(format!("error unmarshaling JSON: while decoding JSON: {why}")));
    }
    let of = |field: &str| config[field].as_str().unwrap_or_default();
    let (api_version, kind) = (of("apiVersion"), of("kind"));
    if api_version != resource.api_version() || kind != resource.kind {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        return Err(Failure::bad_request(format!("invalid object type: {group}/{version}, Kind={kind}")));
    }
    Ok(config)
}

/// Whether a configuration fits its schema, before anything is filled in.
pub fn check_configuration(resource: &Resource, config: &Value) -> Result<(), Failure> {
    apply::check_shape(config, &schema(resource)).map_err(failure)
}

/// Server-side apply.
pub fn applied(
    resource: &Resource,
    live: Option<&Value>,
    config: &Value,
    manager: &str,
    subresource: Option<&str>,
    force: bool,
    now: &str,
) -> Result<Value, Failure> {
    let (schema, subresource) = (schema(resource), subresource.unwrap_or_default());
    let ignored = ignored(resource, &schema, subresource);
    let manager = Manager { name: manager, subresource, ignored: &ignored };
    apply::apply(live, config, &manager, force, &schema, now).map_err(failure)
}

/// Brings `managedFields` up to date after any other write.
pub fn tracked(
    resource: &Resource,
    old: Option<&Value>,
    new: Value,
    manager: &str,
    subresource: Option<&str>,
    now: &str,
) -> Value {
    let (schema, subresource) = (schema(resource), subresource.unwrap_or_default());
    let ignored = ignored(resource, &schema, subresource);
    let manager = Manager { name: manager, subresource, ignored: &ignored };
    let mut tracked = apply::track_update(old, new, &manager, &schema, now);
    if subresource == "scale" {
        forget_times_of_scale(&mut tracked);
    }
    if let Some(old) = old {
        keep_times_if_nothing_else_changed(old, &mut tracked);
    }
    tracked
}

/// Who scales is noted without a time.
fn forget_times_of_scale(object: &mut Value) {
    for entry in object["metadata"]["managedFields"].as_array_mut().into_iter().flatten() {
        if let (true, Value::Object(entry)) = (entry["subresource"] == "scale", entry) {
            entry.remove("time");
        }
    }
}

fn schema(resource: &Resource) -> Schema {
    let api_version = resource.api_version();
    let custom = resource.custom.as_ref().map(|custom| &custom.schema);
    match Schema::of_core(&api_version, &resource.kind) {
        Some(core) if custom.is_none() => core,
        _ => Schema::of_custom_resource(&api_version, &resource.kind, custom),
    }
}

/// What a path leaves as it is: the status beside the object, or the object beside its status.
fn ignored(resource: &Resource, schema: &Schema, subresource: &str) -> FieldSet {
    let custom_status = resource.custom.is_some() && resource.subresources.contains(&Subresource::Status);
    ignored_fields(schema, subresource, custom_status)
}

fn failure(error: PatchError) -> Failure {
    let PatchError { code, reason, message, details } = error;
    let code = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    Failure { details, ..Failure::new(code, reason, message) }
}
