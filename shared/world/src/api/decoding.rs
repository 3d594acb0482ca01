//! From the bytes of a request to an object of the right type, or to the server's words about why not.

use http::header::CONTENT_TYPE;
use serde_json::{Value, json};

use super::{go_json, objects::text, patching, server::Call, status::Failure};
use crate::resources::{
    errors::{FieldError, invalid_status},
    kinds::Resource,
    openapi, protobuf,
};

const MEDIA_TYPES: &str = "application/json, application/yaml, application/vnd.kubernetes.protobuf";
/// How Go prints the type into which the first look at a body goes.
const TYPE_META: &str =
    "struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }";

/// What a request carries.
#[derive(Debug)]
pub(super) struct Body {
    pub value: Value,
    /// Fields that appeared more than once.
    pub doubled: Vec<String>,
}

/// JSON, YAML or protobuf. Null is an empty object.
pub(super) fn decode_body(call: &Call) -> Result<Body, Failure> {
    let content_type =
        call.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("application/json");
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    let unrecognized = |why: String| unrecognized(call, &why);
    let (value, doubled) = match essence {
        "application/json" => {
            let unreadable = |why: String| unrecognized(format!("couldn't get version/kind; json parse error: {why}"));
            let doubled = go_json::scan(&call.body).map_err(unreadable)?;
            let value: Value = serde_json::from_slice(&call.body).map_err(|error| unreadable(error.to_string()))?;
            if let Some(given) = no_object(&value) {
                return Err(unreadable(format!("json: cannot unmarshal {given} into Go value of type {TYPE_META}")));
            }
            (value, doubled)
        }
        "application/yaml" => {
            let value = patching::yaml(&call.body).map_err(unrecognized)?;
            if let Some(given) = no_object(&value) {
                let why = format!("json: cannot unmarshal {given} into Go value of type {TYPE_META}");
                return Err(unrecognized(format!("couldn't get version/kind; json parse error: {why}")));
            }
            (value, Vec::new())
        }
        "application/vnd.kubernetes.protobuf" => {
            let refused = || {
                unrecognized(
                    "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]".to_owned(),
                )
            };
            (protobuf::to_json(&call.body).ok_or_else(refused)?, Vec::new())
        }
        _ => return Err(Failure::unsupported_media_type(MEDIA_TYPES)),
    };
    Ok(Body { value: if value.is_null() { json!({}) } else { value }, doubled })
}

fn unrecognized(call: &Call, why: &str) -> Failure {
    let (shown, kind) = (go_json::summary(&call.body), &call.resource.kind);
    Failure::bad_request(format!("the object provided is unrecognized (must be of type {kind}): {why} ({shown})"))
}

/// A custom resource has to say what it is; built-in types are known by their path.
pub(super) fn check_kind_is_said(call: &Call, value: &Value) -> Result<(), Failure> {
    if call.resource.custom.is_none() || value["kind"].as_str().is_some_and(|kind| !kind.is_empty()) {
        return Ok(());
    }
    let shown = String::from_utf8_lossy(&call.body);
    Err(unrecognized(call, &format!("Object 'Kind' is missing in '{shown}'")))
}

/// What a body is that is no object.
fn no_object(value: &Value) -> Option<&'static str> {
    match value {
        Value::Object(_) | Value::Null => None,
        Value::Bool(_) => Some("bool"),
        Value::Number(_) => Some("number"),
        Value::String(_) => Some("string"),
        Value::Array(_) => Some("array"),
    }
}

/// Kind and version may be left out; if they are there, they must be those of the path.
pub(super) fn check_type(resource: &Resource, value: &mut Value) -> Result<(), Failure> {
    let api_version = resource.api_version();
    let given = |field: &str, expected: &str| match value[field].as_str() {
        Some(given) if !given.is_empty() => given.to_owned(),
        _ => expected.to_owned(),
    };
    let (given_version, given_kind) = (given("apiVersion", &api_version), given("kind", &resource.kind));
    if given_version == api_version && given_kind == resource.kind {
        value["apiVersion"] = api_version.into();
        value["kind"] = resource.kind.as_str().into();
        return Ok(());
    }
    if resource.custom.is_some() && given_version == api_version {
        let errors = [FieldError::invalid("kind", given_kind.as_str(), &format!("must be {}", resource.kind))];
        let status = invalid_status(&resource.group, &given_kind, &text(value, "name"), &errors);
        return Err(Failure::from_status(&status));
    }
    if resource.custom.is_some() {
        let message = format!(
            "the API version in the data ({given_version}) does not match the expected API version ({api_version})"
        );
        return Err(Failure::bad_request(message));
    }
    let (group, version) = given_version.split_once('/').unwrap_or(("", &given_version));
    let expected = &resource.kind;
    let why = if openapi::is_registered(group, version, &given_kind) {
        let package = go_package(&resource.group);
        format!("converting ({version}.{given_kind}) to ({package}.{expected}): unknown conversion")
    } else {
        format!(
            "no kind {given_kind:?} is registered for version {given_version:?} in scheme \"pkg/runtime/scheme.go:111\""
        )
    };
    Err(Failure::bad_request(format!("{given_kind} in version {version:?} cannot be handled as a {expected}: {why}")))
}

/// The package of a group's internal types.
pub(super) fn go_package(group: &str) -> &str {
    match group {
        "" | "events.k8s.io" => "core",
        _ => group.split('.').next().unwrap_or_default(),
    }
}

pub(super) fn check_namespace(call: &Call, value: &mut Value) -> Result<(), Failure> {
    let given = text(value, "namespace");
    if !value["metadata"].is_object() {
        value["metadata"] = json!({});
    }
    if !call.resource.namespaced {
        // A namespace means nothing here, and is forgotten.
        if let Value::Object(metadata) = &mut value["metadata"] {
            metadata.remove("namespace");
        }
        return Ok(());
    }
    let namespace = call.namespace();
    if !given.is_empty() && given != namespace {
        let message = "the namespace of the provided object does not match the namespace sent on the request";
        return Err(Failure::bad_request(message));
    }
    value["metadata"]["namespace"] = namespace.into();
    Ok(())
}

/// A write names its object twice: in its path and in its body.
pub(super) fn check_name(call: &Call, value: &Value) -> Result<(), Failure> {
    let (given, wanted) = (text(value, "name"), call.name());
    let message = match given.as_str() {
        same if same == wanted => return Ok(()),
        "" => format!("the name of the object ({wanted} based on URL) was undeterminable: name must be provided"),
        other => format!("the name of the object ({other}) does not match the name on the URL ({wanted})"),
    };
    Err(Failure::bad_request(message))
}
