//! Writing verbs: create, update and patch. Every write passes the same steps in the same order.

use http::{Response, StatusCode, header::CONTENT_TYPE};
use serde_json::{Value, json};
use std::sync::Arc;

use super::{
    admission,
    decoding::{Body, check_kind_is_said, check_name, check_namespace, check_type, decode_body},
    edit,
    objects::{Written, text},
    options::{self, Options},
    patching::{self, PatchType},
    server::{ApiServer, Call, with_body, with_warnings},
    status::{About, Failure},
    store::Stored,
    versions::shown,
};
use crate::{
    body::WorldBody,
    resources::kinds::{self, Resource, Subresource},
};

/// Which part of an object a write is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Main,
    Status,
    Scale,
}

impl Part {
    /// As managed fields name it.
    fn subresource(self) -> Option<&'static str> {
        match self {
            Part::Main => None,
            Part::Status => Some("status"),
            Part::Scale => Some("scale"),
        }
    }
}

impl ApiServer {
    pub(super) fn create(&self, call: &Call) -> Result<Response<WorldBody>, Failure> {
        options::check(Options::Create, &call.query)?;
        let (stored, warnings) = self.create_value(call, decode_body(call)?)?;
        let response = self.show(call, &stored, StatusCode::CREATED)?;
        Ok(with_warnings(response, &warnings))
    }

    /// Creates what a body (or an apply) describes. Who manages what is noted before admission adds to it.
    pub(super) fn create_value(&self, call: &Call, body: Body) -> Result<(Arc<Stored>, Vec<String>), Failure> {
        let (resource, Body { mut value, doubled }) = (&call.resource, body);
        check_kind_is_said(call, &value)?;
        check_type(resource, &mut value)?;
        let warnings = admission::decode(resource, &mut value, &doubled, &call.query)?;
        let stored = self.create_decoded(call, value).map_err(|failure| failure.warning(&warnings))?;
        Ok((stored, warnings))
    }

    fn create_decoded(&self, call: &Call, mut value: Value) -> Result<Arc<Stored>, Failure> {
        let resource = &call.resource;
        check_namespace(call, &mut value)?;
        admission::default(resource, &mut value);
        self.check_namespace_is_there(call, &text(&value, "name"))?;
        let (now, version) = (self.objects.now(), text(&value, "resourceVersion"));
        if let Value::Object(metadata) = &mut value["metadata"] {
            metadata.retain(|field, _| !["deletionTimestamp", "deletionGracePeriodSeconds"].contains(&field.as_str()));
        }
        if value["metadata"].get("managedFields").is_none() {
            value = patching::tracked(resource, None, value, &call.field_manager(), None, &now);
        }
        self.objects.prepare(&mut value);
        admission::begin(&self.objects, resource, &mut value)?;
        admission::validate(resource, &value, None)?;
        let names_a_version = !version.is_empty() && call.name.is_none();
        if names_a_version {
            return Err(Failure::internal("resourceVersion should not be set on objects to be created"));
        }
        if admission::is_definition(resource) {
            value["status"] = kinds::first_status(&value);
        }
        let value = admission::in_storage_version(resource, value);
        let stored = self.objects.create(&call.key, value, call.query.dry_run())?;
        self.learn(resource, &stored, call.query.dry_run());
        Ok(stored)
    }

    pub(super) fn update(&self, call: &Call) -> Result<Response<WorldBody>, Failure> {
        options::check(Options::Update, &call.query)?;
        let body = decode_body(call)?;
        if call.resource.storage.create_on_update && self.find(call).is_err() {
            check_name(call, &body.value)?;
            let (stored, warnings) = self.create_value(call, body)?;
            return Ok(with_warnings(self.show(call, &stored, StatusCode::CREATED)?, &warnings));
        }
        self.replace(call, body, Part::Main)
    }

    /// Puts a whole object (or its status) in place of the present one.
    pub(super) fn replace(&self, call: &Call, body: Body, part: Part) -> Result<Response<WorldBody>, Failure> {
        let Body { mut value, doubled } = body;
        check_kind_is_said(call, &value)?;
        check_type(&call.resource, &mut value)?;
        let warnings = admission::decode(&call.resource, &mut value, &doubled, &call.query)?;
        check_namespace(call, &mut value)?;
        check_name(call, &value)?;
        let uid = text(&value, "uid");
        let outcome = self.write(call, part, |old| {
            // A whole object that names an identity is meant for no other.
            let found = text(old, "uid");
            if uid.is_empty() || uid == found {
                return Ok(value);
            }
            let key = self.objects.path(&call.resource, call.namespace(), call.name());
            let why = format!(
                "StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: \
                 Precondition failed: UID in precondition: {uid}, UID in object meta: {found}"
            );
            Err(Failure::conflict(call.about(), &why))
        });
        let written = outcome.map_err(|failure| failure.warning(&warnings))?;
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
            admission::carry_on(resource, &old, &mut new, &now);
            let manager = call.field_manager();
            let new = patching::tracked(resource, Some(&old), new, &manager, part.subresource(), &now);
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
        options::check(Options::Patch(kind), &call.query)?;
        if kind == PatchType::Apply {
            return self.apply(call, part);
        }
        let mut warnings = Vec::new();
        let written = self.write(call, part, |old| {
            let mut new = patching::patched(&call.resource, kind, old, &call.body)?;
            let text = new.to_string();
            let decoded = admission::decode(&call.resource, &mut new, &[], &call.query);
            warnings = decoded.map_err(|failure| patching::undecodable(&call.resource, &text, failure))?;
            check_name(call, &new)?;
            check_namespace(call, &mut new)?;
            Ok(new)
        })?;
        Ok(with_warnings(self.show(call, &written.stored, StatusCode::OK)?, &warnings))
    }

    /// Server-side apply: makes the object if there is none.
    fn apply(&self, call: &Call, part: Part) -> Result<Response<WorldBody>, Failure> {
        let manager = call.query.get("fieldManager").unwrap_or_default();
        let mut config = patching::apply_configuration(&call.resource, &call.body)?;
        patching::check_configuration(&call.resource, &config)?;
        check_namespace(call, &mut config)?;
        if config["metadata"].get("name").is_none() {
            config["metadata"]["name"] = call.name().into();
        }
        check_name(call, &config)?;
        let warnings = admission::decode_configuration(&call.resource, &mut config, &call.query)?;
        let (force, now) = (call.query.flag("force"), self.objects.now());
        let subresource = part.subresource();
        let applying =
            |live: Option<&Value>| patching::applied(&call.resource, live, &config, manager, subresource, force, &now);
        if self.objects.get(&call.key, call.namespace(), call.name()).is_none() && part == Part::Main {
            let uid = text(&config, "uid");
            if !uid.is_empty() {
                let why =
                    format!("uid mismatch: the provided object specified uid {uid}, and no existing object was found");
                return Err(Failure::conflict(call.about(), &why));
            }
            let body = Body { value: applying(None)?, doubled: Vec::new() };
            let (stored, _) = self.create_value(call, body)?;
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

    /// A definition that was written is served from now on, and says so.
    fn learn(&self, resource: &Resource, stored: &Stored, dry_run: bool) {
        if !admission::is_definition(resource) || dry_run {
            return;
        }
        self.registry_mut().install(&stored.value);
        let key = ("apiextensions.k8s.io".into(), "customresourcedefinitions".into());
        let now = self.objects.now();
        // It may be gone again already, which is as good.
        _ = self.objects.update(&key, "", &text(&stored.value, "name"), false, |definition| {
            let old = definition.clone();
            definition["status"] = kinds::accepted_status(&old, &now);
            if definition["status"] != old["status"] {
                let new = std::mem::take(definition);
                *definition = patching::tracked(resource, Some(&old), new, "kube-apiserver", Some("status"), &now);
            }
            Ok(())
        });
    }

    fn check_namespace_is_there(&self, call: &Call, object: &str) -> Result<(), Failure> {
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
            let mut failure = Failure::forbidden(About { name: object, ..call.about() }, &why);
            failure.details["causes"] = json!([{ "reason": "NamespaceTerminating",
                "message": format!("namespace {name} is being terminated"), "field": "metadata.namespace" }]);
            return Err(failure);
        }
        Ok(())
    }
}

/// Optimistic concurrency: who names a version must name the present one.
fn check_version(call: &Call, old: &Value, new: &Value) -> Result<(), Failure> {
    let given = text(new, "resourceVersion");
    if given.is_empty() || given == "0" {
        if call.resource.storage.unconditional_update {
            return Ok(());
        }
        return Err(admission::version_required(&call.resource, call.name()));
    }
    if given.parse::<u64>().is_err() {
        return Err(Failure::internal(format!("strconv.ParseUint: parsing {given:?}: invalid syntax")));
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
        Part::Main | Part::Scale if has_status => put_back(new, "status"),
        Part::Main | Part::Scale => {}
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

/// For subresources that answer with the object they changed.
pub(super) fn created(value: &Value) -> Response<WorldBody> {
    with_body(StatusCode::CREATED, "application/json", value.to_string())
}
