//! Deleting verbs: one object, or all that a selector finds.

use http::{Response, StatusCode};
use serde_json::{Value, json};

use super::{
    admission,
    decoding::{Body, decode_body},
    edit,
    objects::{Deleted, Deletion, Propagation, text},
    options,
    read::success,
    server::{ApiServer, Call, json_response, with_warnings},
    status::Failure,
    versions::shown,
};
use crate::{
    body::WorldBody,
    resources::{errors::FieldError, kinds::Resource, look},
};

impl ApiServer {
    pub(super) fn delete(&self, call: &Call) -> Result<Response<WorldBody>, Failure> {
        let deletion = deletion(call)?;
        if call.resource.kind == "Namespace" && IMMORTAL.contains(&call.name()) {
            return Err(Failure::forbidden(call.about(), "this namespace may not be deleted"));
        }
        let mut warnings = Vec::new();
        let said = call.query.get("propagationPolicy").is_some()
            || String::from_utf8_lossy(&call.body).contains("propagationPolicy");
        if keeps_its_pods(&call.resource) && !said {
            warnings.push(JOB_WARNING.to_owned());
        }
        let answer = match self.remove(call, call.name(), &deletion)? {
            Deleted::Going(stored) => self.show(call, &stored, StatusCode::OK),
            Deleted::Gone(stored) if shows_what_is_gone(&call.resource) => self.show(call, &stored, StatusCode::OK),
            Deleted::Gone(stored) => {
                let mut details =
                    json!({ "name": call.name(), "kind": call.resource.plural, "uid": text(&stored.value, "uid") });
                if !call.resource.group.is_empty() {
                    details["group"] = call.resource.group.as_str().into();
                }
                Ok(success(details))
            }
        };
        answer.map(|response| with_warnings(response, &warnings))
    }

    pub(super) fn delete_collection(&self, call: &Call) -> Result<Response<WorldBody>, Failure> {
        let deletion = deletion(call)?;
        let selection = self.selection(call)?;
        let namespace = call.namespace.as_deref().filter(|_| call.resource.namespaced);
        let (listed, revision) = self.objects.store.list(&call.key, namespace);
        let mut items = Vec::new();
        for ((namespace, name), stored) in listed.into_iter().filter(|(_, stored)| selection.matches(&stored.value)) {
            let about = Deletion { uid: Some(text(&stored.value, "uid")), ..deletion.clone() };
            // Somebody else may be quicker; then it is gone, which is what was asked for.
            if self.objects.delete(&call.key, &namespace, &name, &about).is_ok() {
                items.push(item(&call.resource, &stored.value));
            }
        }
        let mut metadata = json!({ "resourceVersion": revision.to_string() });
        if call.resource.custom.is_some() {
            metadata["continue"] = "".into();
        }
        let list = json!({ "kind": call.resource.list_kind, "apiVersion": call.resource.api_version(),
            "metadata": metadata, "items": items });
        Ok(json_response(StatusCode::OK, &list))
    }

    /// Deletes one object. A definition takes its custom resources with it.
    fn remove(&self, call: &Call, name: &str, deletion: &Deletion) -> Result<Deleted, Failure> {
        let deleted = self.objects.delete(&call.key, call.namespace(), name, deletion)?;
        if let (true, Deleted::Gone(stored)) = (admission::is_definition(&call.resource) && !deletion.dry_run, &deleted)
        {
            let group = look::text(&stored.value, &["spec", "group"]);
            let plural = look::text(&stored.value, &["spec", "names", "plural"]);
            let resource = (group.into(), plural.into());
            for ((namespace, name), _) in self.objects.store.list(&resource, None).0 {
                drop(self.objects.delete(&resource, &namespace, &name, &Deletion::default()));
            }
            self.registry_mut().remove(name);
        }
        Ok(deleted)
    }
}

const JOB_WARNING: &str = "child pods are preserved by default when jobs are deleted; set \
    propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning";

/// Jobs were made before there was garbage collection, and keep to what was promised then.
fn keeps_its_pods(resource: &Resource) -> bool {
    (resource.group.as_str(), resource.kind.as_str()) == ("batch", "Job")
}

/// Namespaces that every cluster needs.
const IMMORTAL: [&str; 3] = ["default", "kube-public", "kube-system"];

/// Some kinds answer with the object even when it is gone at once; the others with a Status.
fn shows_what_is_gone(resource: &Resource) -> bool {
    const KINDS: [&str; 9] = [
        "CSINode",
        "Namespace",
        "PersistentVolume",
        "PersistentVolumeClaim",
        "Pod",
        "Service",
        "ServiceAccount",
        "StorageClass",
        "VolumeAttachment",
    ];
    resource.custom.is_none() && KINDS.contains(&resource.kind.as_str())
}

/// Items of built-in kinds do not repeat kind and version; those of custom resources do.
fn item(resource: &Resource, value: &Value) -> Value {
    let mut item = shown(resource, value.clone());
    if resource.custom.is_none() {
        edit::remove(&mut item, &["kind", "apiVersion"]);
    }
    item
}

/// `DeleteOptions` from the body, or from the query.
fn deletion(call: &Call) -> Result<Deletion, Failure> {
    let options = if call.body.is_empty() { json!({}) } else { delete_options(call)? };
    let word = |name: &str| options[name].as_str().or_else(|| call.query.get(name)).map(str::to_owned);
    let grace = match options["gracePeriodSeconds"].as_i64() {
        Some(grace) => Some(grace),
        None => call.query.number("gracePeriodSeconds")?,
    };
    let mut errors = Vec::new();
    if let (Some(policy), true) = (word("propagationPolicy"), options["orphanDependents"].is_boolean()) {
        let detail = "orphanDependents and deletionPropagation cannot be both set";
        errors.push(FieldError::invalid("propagationPolicy", policy, detail));
    }
    let given_dry_run = options["dryRun"].get(0).and_then(Value::as_str).or_else(|| call.query.given("dryRun"));
    errors.extend(given_dry_run.filter(|given| *given != "All").map(options::dry_run_error));
    let propagation = match word("propagationPolicy").as_deref() {
        None if keeps_its_pods(&call.resource) => Propagation::Orphan,
        None | Some("Background") => Propagation::Background,
        Some("Foreground") => Propagation::Foreground,
        Some("Orphan") => Propagation::Orphan,
        Some(other) => {
            let known = ["Foreground", "Background", "Orphan", "nil"];
            errors.push(FieldError::not_supported("propagationPolicy", other, &known));
            Propagation::Background
        }
    };
    options::refuse("DeleteOptions", &errors)?;
    let precondition = |name: &str| options["preconditions"][name].as_str().map(str::to_owned);
    let dry_run = call.query.dry_run() || options["dryRun"].as_array().is_some_and(|list| list.contains(&json!("All")));
    Ok(Deletion {
        uid: precondition("uid"),
        resource_version: precondition("resourceVersion"),
        grace,
        propagation,
        dry_run,
    })
}

/// The body of a deletion says how, in an object of its own.
fn delete_options(call: &Call) -> Result<Value, Failure> {
    // It is read by itself: no word is said about the object that it is for.
    let plain = |failure: Failure| {
        let said = failure.message.split_once("): ").map_or(failure.message.as_str(), |(_, said)| said);
        Failure::bad_request(said.rsplit_once(" (").map_or(said, |(said, _)| said))
    };
    let Body { value, .. } = decode_body(call).map_err(plain)?;
    let kind = value["kind"].as_str().unwrap_or_default();
    if !kind.is_empty() && kind != "DeleteOptions" {
        let version = value["apiVersion"].as_str().unwrap_or_default();
        let message = format!("converting ({version}.{kind}) to (v1.DeleteOptions): unknown conversion");
        return Err(Failure::bad_request(message));
    }
    Ok(value)
}
