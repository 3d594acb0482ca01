//! Deleting verbs: one object, or all that a selector finds.

use http::{Response, StatusCode};
use serde_json::json;

use super::{
    admission,
    objects::{Deleted, Deletion, Propagation, text},
    read::success,
    server::{ApiServer, Call, json_response},
    status::Failure,
    versions::shown,
    write::decode_body,
};
use crate::{body::WorldBody, resources::look};

impl ApiServer {
    pub(super) fn delete(&self, call: &Call) -> Result<Response<WorldBody>, Failure> {
        let deletion = deletion(call)?;
        match self.remove(call, call.name(), &deletion)? {
            Deleted::Going(stored) => self.show(call, &stored, StatusCode::OK),
            // A pod answers with itself even when it is gone at once; other kinds with a Status.
            Deleted::Gone(stored) if call.resource.kind == "Pod" => self.show(call, &stored, StatusCode::OK),
            Deleted::Gone(stored) => {
                let mut details =
                    json!({ "name": call.name(), "kind": call.resource.plural, "uid": text(&stored.value, "uid") });
                if !call.resource.group.is_empty() {
                    details["group"] = call.resource.group.as_str().into();
                }
                Ok(success(details))
            }
        }
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
                items.push(shown(&call.resource, stored.value.clone()));
            }
        }
        let list = json!({ "kind": call.resource.list_kind, "apiVersion": call.resource.api_version(),
            "metadata": { "resourceVersion": revision.to_string() }, "items": items });
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

/// `DeleteOptions` from the body, or from the query.
fn deletion(call: &Call) -> Result<Deletion, Failure> {
    let options = if call.body.is_empty() { json!({}) } else { decode_body(call)? };
    let word = |name: &str| options[name].as_str().or_else(|| call.query.get(name)).map(str::to_owned);
    let grace = options["gracePeriodSeconds"]
        .as_i64()
        .or_else(|| call.query.get("gracePeriodSeconds").and_then(|text| text.parse().ok()));
    let propagation = match word("propagationPolicy").as_deref() {
        None | Some("Background") => Propagation::Background,
        Some("Foreground") => Propagation::Foreground,
        Some("Orphan") => Propagation::Orphan,
        Some(other) => {
            let detail = format!(
                "propagationPolicy: Unsupported value: {other:?}: supported values: \"Foreground\", \"Background\", \"Orphan\", \"nil\""
            );
            return Err(admission::options_invalid("DeleteOptions", &detail));
        }
    };
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
