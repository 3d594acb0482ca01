//! Patches, by their content type, and what a write leaves in `managedFields`.

use bytes::Bytes;
use http::{HeaderValue, StatusCode};
use serde_json::Value;

use super::status::Failure;
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
    resources::kinds::{Resource, Subresource},
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
            _ => {
                let mut accepted = vec!["application/json-patch+json", "application/merge-patch+json"];
                if resource.custom.is_none() {
                    accepted.push("application/strategic-merge-patch+json");
                }
                accepted.push("application/apply-patch+yaml");
                Err(Failure::unsupported_media_type(&accepted.join(", ")))
            }
        }
    }
}

/// What a patch other than apply makes of an object.
pub fn patched(resource: &Resource, kind: PatchType, live: &Value, body: &Bytes) -> Result<Value, Failure> {
    let patch: Value = serde_json::from_slice(body).map_err(|error| Failure::bad_request(error.to_string()))?;
    let patched = match kind {
        PatchType::Json => json_patch(live, &patch),
        PatchType::Strategic => strategic_merge_patch(live, &patch, &schema(resource)),
        PatchType::Merge | PatchType::Apply => merge_patch(live, &patch),
    };
    patched.map_err(failure)
}

/// The configuration in an apply, or any YAML body. JSON is YAML too.
pub fn apply_configuration(body: &Bytes) -> Result<Value, Failure> {
    let text = std::str::from_utf8(body).map_err(|_| Failure::bad_request("error decoding YAML: not UTF-8"))?;
    serde_saphyr::from_str(text).map_err(|_| Failure::bad_request("error decoding YAML"))
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
    if let Some(old) = old {
        keep_times_if_nothing_else_changed(old, &mut tracked);
    }
    tracked
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
