//! Writing verbs: create, update and patch. Every write passes the same steps in the same order.

use http::{Response, StatusCode, header::CONTENT_TYPE};
use serde_json::{Value, json};
use std::sync::Arc;

use super::{
    admission, edit,
    objects::{Written, text},
    patching::{self, PatchType},
    server::{ApiServer, Call, with_body},
    status::{About, Failure},
    store::Stored,
    versions::shown,
};
use crate::{
    body::WorldBody,
    resources::{
        kinds::{self, Resource, Subresource},
        protobuf,
    },
};

/// Which part of an object a write is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Main,
    Status,
}

impl ApiServer {
    pub(super) fn create(&self, call: &Call) -> Result<Response<WorldBody>, Failure> {
        let value = decode_body(call)?;
        let (stored, warnings) = self.create_value(call, value)?;
        let response = self.show(call, &stored, StatusCode::CREATED)?;
        Ok(with_warnings(response, &warnings))
    }

    /// Creates what a body (or an apply) describes.
    pub(super) fn create_value(&self, call: &Call, mut value: Value) -> Result<(Arc<Stored>, Vec<String>), Failure> {
        let resource = &call.resource;
        check_type(resource, &mut value)?;
        check_namespace(call, &mut value)?;
        if text(&value, "name").is_empty() && text(&value, "generateName").is_empty() {
            let detail = "metadata.name: Required value: name or generateName is required";
            return Err(admission::invalid_message(resource, "", detail));
        }
        let warnings = admission::decode(resource, &mut value, &call.query)?;
        self.objects.prepare(&mut value);
        admission::default(resource, &mut value);
        admission::begin(&self.objects, resource, &mut value)?;
        admission::validate(resource, &value, None)?;
        self.check_namespace_is_there(call)?;
        let now = self.objects.now();
        if admission::is_definition(resource) {
            value["status"] = kinds::accepted_status(&value, &now);
        }
        let value = if value["metadata"].get("managedFields").is_some() {
            // An apply has said who manages what.
            value
        } else {
            patching::tracked(resource, None, value, &call.field_manager(), None, &now)
        };
        let value = admission::in_storage_version(resource, value);
        let stored = self.objects.create(&call.key, value, call.query.dry_run())?;
        self.learn(resource, &stored, call.query.dry_run());
        Ok((stored, warnings))
    }

    pub(super) fn update(&self, call: &Call) -> Result<Response<WorldBody>, Failure> {
        let value = decode_body(call)?;
        if call.resource.storage.create_on_update && self.find(call).is_err() {
            let (stored, warnings) = self.create_value(call, value)?;
            return Ok(with_warnings(self.show(call, &stored, StatusCode::CREATED)?, &warnings));
        }
        self.replace(call, value, Part::Main)
    }

    /// Puts a whole object (or its status) in place of the present one.
    pub(super) fn replace(&self, call: &Call, mut value: Value, part: Part) -> Result<Response<WorldBody>, Failure> {
        check_type(&call.resource, &mut value)?;
        check_namespace(call, &mut value)?;
        let given = text(&value, "name");
        if given != call.name() {
            let message =
                format!("the name of the object ({given}) does not match the name on the URL ({})", call.name());
            return Err(Failure::bad_request(message));
        }
        let warnings = admission::decode(&call.resource, &mut value, &call.query)?;
        let written = self.write(call, part, |_| Ok(value))?;
        Ok(with_warnings(self.show(call, &written.stored, StatusCode::OK)?, &warnings))
    }

    /// One step: look at the present state, make the new one, check it, store it.
    pub(super) fn write(
        &self,
        call: &Call,
        part: Part,
        make: impl FnOnce(&Value) -> Result<Value, Failure>,
    ) -> Result<Written, Failure> {
        let resource = &call.resource;
        let now = self.objects.now();
        let written = self.objects.update(&call.key, call.namespace(), call.name(), call.query.dry_run(), |live| {
            let old = shown(resource, live.clone());
            let mut new = make(&old)?;
            check_version(call, &old, &new)?;
            merge_part(resource, part, &old, &mut new);
            admission::default(resource, &mut new);
            let subresource = (part == Part::Status).then_some("status");
            let new = patching::tracked(resource, Some(&old), new, &call.field_manager(), subresource, &now);
            admission::validate(resource, &new, Some(&old))?;
            *live = admission::in_storage_version(resource, new);
            Ok(())
        })?;
        self.learn(resource, &written.stored, call.query.dry_run());
        Ok(written)
    }

    pub(super) fn patch(&self, call: &Call) -> Result<Response<WorldBody>, Failure> {
        self.patch_part(call, Part::Main)
    }

    pub(super) fn patch_part(&self, call: &Call, part: Part) -> Result<Response<WorldBody>, Failure> {
        let kind = PatchType::of(call.headers.get(CONTENT_TYPE), &call.resource)?;
        if kind == PatchType::Apply {
            return self.apply(call, part);
        }
        let mut warnings = Vec::new();
        let written = self.write(call, part, |old| {
            let mut new = patching::patched(&call.resource, kind, old, &call.body)?;
            warnings = admission::decode(&call.resource, &mut new, &call.query)?;
            Ok(new)
        })?;
        Ok(with_warnings(self.show(call, &written.stored, StatusCode::OK)?, &warnings))
    }

    /// Server-side apply: makes the object if there is none.
    fn apply(&self, call: &Call, part: Part) -> Result<Response<WorldBody>, Failure> {
        let Some(manager) = call.query.get("fieldManager") else {
            let detail = "fieldManager: Required value: is required for apply patch";
            return Err(admission::options_invalid("PatchOptions", detail));
        };
        let mut config = patching::apply_configuration(&call.body)?;
        check_type(&call.resource, &mut config)?;
        check_namespace(call, &mut config)?;
        if config["metadata"].get("name").is_none() {
            config["metadata"]["name"] = call.name().into();
        }
        let warnings = admission::decode_configuration(&call.resource, &mut config, &call.query)?;
        let (force, now) = (call.query.flag("force"), self.objects.now());
        let subresource = (part == Part::Status).then_some("status");
        let applying =
            |live: Option<&Value>| patching::applied(&call.resource, live, &config, manager, subresource, force, &now);
        if self.objects.get(&call.key, call.namespace(), call.name()).is_none() && part == Part::Main {
            let value = applying(None)?;
            let (stored, _) = self.create_value(call, value)?;
            return Ok(with_warnings(self.show(call, &stored, StatusCode::CREATED)?, &warnings));
        }
        let written = self.objects.update(&call.key, call.namespace(), call.name(), call.query.dry_run(), |live| {
            let old = shown(&call.resource, live.clone());
            let mut new = applying(Some(&old))?;
            check_version(call, &old, &new)?;
            merge_part(&call.resource, part, &old, &mut new);
            admission::default(&call.resource, &mut new);
            admission::validate(&call.resource, &new, Some(&old))?;
            *live = admission::in_storage_version(&call.resource, new);
            Ok(())
        })?;
        self.learn(&call.resource, &written.stored, call.query.dry_run());
        Ok(with_warnings(self.show(call, &written.stored, StatusCode::OK)?, &warnings))
    }

    /// A definition that was written is served from now on.
    fn learn(&self, resource: &Resource, stored: &Stored, dry_run: bool) {
        if admission::is_definition(resource) && !dry_run {
            self.registry_mut().install(&stored.value);
        }
    }

    fn check_namespace_is_there(&self, call: &Call) -> Result<(), Failure> {
        if !call.resource.namespaced {
            return Ok(());
        }
        let namespaces = ("".into(), "namespaces".into());
        let name = call.namespace();
        let Some(found) = self.objects.get(&namespaces, "", name) else {
            return Err(Failure::not_found(About { group: "", resource: "namespaces", name }));
        };
        if found.value["metadata"]["deletionTimestamp"].is_string() {
            let why = format!("unable to create new content in namespace {name} because it is being terminated");
            let mut failure = Failure::forbidden(call.about(), &why);
            failure.details["causes"] = json!([{ "reason": "NamespaceTerminating",
                "message": format!("namespace {name} is being terminated"), "field": "metadata.namespace" }]);
            return Err(failure);
        }
        Ok(())
    }
}

/// JSON or YAML; an empty body is an error everywhere but in a deletion.
pub(super) fn decode_body(call: &Call) -> Result<Value, Failure> {
    let content_type =
        call.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("application/json");
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    let value = match essence {
        "application/json" => serde_json::from_slice(&call.body).map_err(|error| {
            let kind = &call.resource.kind;
            Failure::bad_request(format!(
                "{kind} in version {:?} cannot be handled as a {kind}: {error}",
                call.resource.version
            ))
        })?,
        "application/yaml" => patching::apply_configuration(&call.body)?,
        "application/vnd.kubernetes.protobuf" => protobuf::to_json(&call.body)
            .ok_or_else(|| Failure::unsupported_media_type("application/json, application/yaml"))?,
        _ => return Err(Failure::unsupported_media_type("application/json, application/yaml")),
    };
    if value.is_object() { Ok(value) } else { Err(Failure::bad_request("the body of the request is not an object")) }
}

/// Kind and version may be left out; if they are there, they must be those of the path.
fn check_type(resource: &Resource, value: &mut Value) -> Result<(), Failure> {
    let api_version = resource.api_version();
    let mismatch = |what: &str, given: &str, expected: &str| {
        Err(Failure::bad_request(format!(
            "the {what} in the data ({given}) does not match the expected {what} ({expected})"
        )))
    };
    match value["apiVersion"].as_str() {
        Some(given) if !given.is_empty() && given != api_version => {
            return mismatch("API version", given, &api_version);
        }
        _ => value["apiVersion"] = api_version.into(),
    }
    match value["kind"].as_str() {
        Some(given) if !given.is_empty() && given != resource.kind => return mismatch("kind", given, &resource.kind),
        _ => value["kind"] = resource.kind.as_str().into(),
    }
    Ok(())
}

fn check_namespace(call: &Call, value: &mut Value) -> Result<(), Failure> {
    let given = text(value, "namespace");
    if !value["metadata"].is_object() {
        value["metadata"] = json!({});
    }
    if !call.resource.namespaced {
        return if given.is_empty() {
            Ok(())
        } else {
            Err(Failure::bad_request("namespace may not be set on a cluster-scoped object"))
        };
    }
    let Some(namespace) = call.namespace.as_deref() else {
        return Err(Failure::bad_request("an empty namespace may not be set during creation"));
    };
    if !given.is_empty() && given != namespace {
        let message = "the namespace of the provided object does not match the namespace sent on the request";
        return Err(Failure::bad_request(message));
    }
    value["metadata"]["namespace"] = namespace.into();
    Ok(())
}

/// Optimistic concurrency: who names a version must name the present one, and so must a uid.
fn check_version(call: &Call, old: &Value, new: &Value) -> Result<(), Failure> {
    let given = text(new, "resourceVersion");
    let uid = text(new, "uid");
    if !uid.is_empty() && uid != text(old, "uid") {
        let why = format!("Precondition failed: UID in precondition: {uid}, UID in object meta: {}", text(old, "uid"));
        return Err(Failure::conflict(call.about(), &why));
    }
    if given.is_empty() || given == "0" {
        if call.resource.storage.unconditional_update {
            return Ok(());
        }
        let detail = "metadata.resourceVersion: Invalid value: 0: must be specified for an update";
        return Err(admission::invalid_message(&call.resource, call.name(), detail));
    }
    if given == text(old, "resourceVersion") { Ok(()) } else { Err(Failure::modified(call.about())) }
}

/// A write to an object leaves its status alone where that has a path of its own, and the other way round.
fn merge_part(resource: &Resource, part: Part, old: &Value, new: &mut Value) {
    let has_status = resource.subresources.contains(&Subresource::Status);
    let put_back = |new: &mut Value, field: &str| match old.get(field) {
        Some(value) => new[field] = value.clone(),
        None => {
            if let Value::Object(object) = new {
                object.remove(field);
            }
        }
    };
    match part {
        Part::Main if has_status => put_back(new, "status"),
        Part::Main => {}
        Part::Status => {
            let status = new.get("status").cloned();
            let mut metadata = new["metadata"].clone();
            *new = old.clone();
            match status {
                Some(status) => new["status"] = status,
                None => put_back(new, "status"),
            }
            // Built-in kinds let labels and annotations through here, custom resources do not.
            if resource.custom.is_none() {
                metadata["ownerReferences"] = old["metadata"]["ownerReferences"].clone();
                edit::drop_nulls(&mut metadata);
                new["metadata"] = metadata;
            } else {
                let fields = metadata.get("managedFields").cloned();
                if let Some(fields) = fields {
                    new["metadata"]["managedFields"] = fields;
                }
            }
        }
    }
}

fn with_warnings(mut response: Response<WorldBody>, warnings: &[String]) -> Response<WorldBody> {
    for warning in warnings {
        let text = format!("299 - \"{}\"", warning.replace('\\', "\\\\").replace('"', "\\\""));
        if let Ok(value) = http::HeaderValue::from_str(&text) {
            response.headers_mut().append(http::header::WARNING, value);
        }
    }
    response
}

/// For subresources that answer with the object they changed.
pub(super) fn created(value: &Value) -> Response<WorldBody> {
    with_body(StatusCode::CREATED, "application/json", value.to_string())
}
