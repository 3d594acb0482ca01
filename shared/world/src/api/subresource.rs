//! What hangs below an object: status, scale, eviction, binding, log, finalize.

use http::{Method, Response, StatusCode, header::CONTENT_TYPE};
use serde_json::{Value, json};

use super::{
    decoding::{Body, check_name, decode_body},
    edit,
    objects::{Deletion, text},
    options::{self, Options},
    patching::{self, PatchType},
    server::{ApiServer, Call, json_response, with_body},
    status::{About, Failure},
    write::{Part, created},
};
use crate::{
    body::WorldBody,
    controllers::eviction,
    resources::{
        errors::{FieldError, invalid_status},
        kinds::{Resource, Subresource},
        look,
    },
};

impl ApiServer {
    pub(super) fn subresource(
        &self,
        method: &Method,
        subresource: Subresource,
        call: &Call,
    ) -> Result<Response<WorldBody>, Failure> {
        match (method.as_str(), subresource) {
            ("GET", Subresource::Status) => self.get(call),
            ("PUT", Subresource::Status) => {
                options::check(Options::Update, &call.query)?;
                self.replace(call, decode_body(call)?, Part::Status)
            }
            ("PATCH", Subresource::Status) => self.patch_part(call, Part::Status),
            ("GET", Subresource::Scale) => self.scale(call),
            ("PUT" | "PATCH", Subresource::Scale) => self.set_scale(method, call),
            ("POST", Subresource::Eviction) => self.evict(call),
            ("POST", Subresource::Binding) => self.bind(call),
            ("GET", Subresource::Log) => self.log(call),
            ("PUT", Subresource::Finalize) => self.finalize(call),
            _ => Err(Failure::method_not_allowed()),
        }
    }

    fn scale(&self, call: &Call) -> Result<Response<WorldBody>, Failure> {
        Ok(json_response(StatusCode::OK, &scale_of(&call.resource, &self.find(call)?.value)))
    }

    fn set_scale(&self, method: &Method, call: &Call) -> Result<Response<WorldBody>, Failure> {
        let paths = scale_paths(&call.resource);
        let written = self.write(call, Part::Scale, |old| {
            let before = scale_of(&call.resource, old);
            let after = if method == Method::PUT {
                decode_body(call)?.value
            } else {
                let kind = PatchType::of(call.headers.get(CONTENT_TYPE), &call.resource)?;
                patching::patched(&call.resource, kind, &before, &call.body)?
            };
            check_name(call, &after)?;
            let replicas = after["spec"]["replicas"].as_i64().unwrap_or(0);
            if replicas < 0 {
                let errors = [FieldError::invalid("spec.replicas", replicas, "must be greater than or equal to 0")];
                return Err(Failure::from_status(&invalid_status("autoscaling", "Scale", call.name(), &errors)));
            }
            let mut new = old.clone();
            edit::set(&mut new, &paths.0, replicas.into());
            // The version that the scale named stands for the object's own.
            match after["metadata"]["resourceVersion"].as_str() {
                Some(version) => new["metadata"]["resourceVersion"] = version.into(),
                None => new["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"].clone(),
            }
            Ok(new)
        })?;
        Ok(json_response(StatusCode::OK, &scale_of(&call.resource, &written.stored.value)))
    }

    /// An eviction is a deletion that asks the disruption budgets first, and pays before it is known to succeed.
    fn evict(&self, call: &Call) -> Result<Response<WorldBody>, Failure> {
        let Body { value: body, .. } = decode_body(call)?;
        check_kind(&body, "policy", "Eviction")?;
        if text(&body, "name") != call.name() {
            return Err(Failure::bad_request("name in URL does not match name in Eviction object"));
        }
        let options = &body["deleteOptions"];
        let pod = self.find(call)?;
        let dry_run =
            call.query.dry_run() || options["dryRun"].as_array().is_some_and(|list| list.contains(&json!("All")));
        let (manager, now) = (call.field_manager(), self.objects.now());
        let budgets = self.registry().find("policy", "v1", "poddisruptionbudgets");
        let track = |resource: Option<&Resource>, subresource, old: &Value, new: Value| match resource {
            Some(resource) => patching::tracked(resource, Some(old), new, &manager, subresource, &now),
            None => new,
        };
        eviction::ask(&self.objects, &pod.value, dry_run, |old, new| track(budgets.as_deref(), None, old, new))?;
        let wanted = options["preconditions"]["uid"].as_str();
        let is_this = wanted.is_none_or(|uid| uid == text(&pod.value, "uid"));
        if !dry_run && is_this {
            self.objects.update(&call.key, call.namespace(), call.name(), false, |pod| {
                let old = pod.clone();
                edit::set_condition(
                    &mut pod["status"],
                    json!({ "type": "DisruptionTarget", "status": "True",
                    "reason": "EvictionByEvictionAPI", "message": "Eviction API: evicting", "lastProbeTime": null,
                    "lastTransitionTime": now }),
                );
                *pod = track(Some(&call.resource), Some("status"), &old, std::mem::take(pod));
                Ok(())
            })?;
        }
        let deletion = Deletion {
            uid: options["preconditions"]["uid"].as_str().map(str::to_owned),
            resource_version: options["preconditions"]["resourceVersion"].as_str().map(str::to_owned),
            grace: options["gracePeriodSeconds"].as_i64(),
            dry_run,
            ..Deletion::default()
        };
        self.objects.delete(&call.key, call.namespace(), call.name(), &deletion)?;
        Ok(created(&done()))
    }

    fn bind(&self, call: &Call) -> Result<Response<WorldBody>, Failure> {
        let Body { value: binding, .. } = decode_body(call)?;
        check_kind(&binding, "", "Binding")?;
        if text(&binding, "name") != call.name() {
            return Err(Failure::bad_request("name in URL does not match name in Binding object"));
        }
        let target = |field: &str| binding["target"][field].as_str().unwrap_or_default().to_owned();
        let (kind, node) = (target("kind"), target("name"));
        if !["", "Node"].contains(&kind.as_str()) {
            let known = "supported values: \"Node\", \"<empty>\"";
            return Err(Failure::internal(format!("target.kind: Unsupported value: {kind:?}: {known}")));
        }
        if node.is_empty() {
            return Err(Failure::internal("target.name: Required value"));
        }
        let now = self.objects.now();
        let about = About { group: "", resource: "pods/binding", name: call.name() };
        self.objects.update(&call.key, call.namespace(), call.name(), call.query.dry_run(), |pod| {
            let (wanted, found) = (text(&binding, "uid"), text(pod, "uid"));
            if !wanted.is_empty() && wanted != found {
                let key = self.objects.path(&call.resource, call.namespace(), call.name());
                let why = format!(
                    "StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: \
                     Precondition failed: UID in precondition: {wanted}, UID in object meta: {found}"
                );
                return Err(Failure::conflict(call.about(), &why));
            }
            if pod["metadata"]["deletionTimestamp"].is_string() {
                let why = format!("pod {} is being deleted, cannot be assigned to a host", call.name());
                return Err(Failure::conflict(about, &why));
            }
            if let Some(assigned) = pod["spec"]["nodeName"].as_str().filter(|name| !name.is_empty()) {
                let why = format!("pod {} is already assigned to node {assigned:?}", call.name());
                return Err(Failure::conflict(about, &why));
            }
            if !look::items(pod, &["spec", "schedulingGates"]).is_empty() {
                let why = format!("pod {} has non-empty .spec.schedulingGates", call.name());
                return Err(Failure::conflict(about, &why));
            }
            pod["spec"]["nodeName"] = node.as_str().into();
            for (key, value) in binding["metadata"]["annotations"].as_object().into_iter().flatten() {
                pod["metadata"]["annotations"][key] = value.clone();
            }
            edit::set_condition(
                &mut pod["status"],
                json!({ "type": "PodScheduled", "status": "True",
                "lastProbeTime": null, "lastTransitionTime": now }),
            );
            Ok(())
        })?;
        Ok(created(&done()))
    }

    /// Containers say what their annotation says; one that has not started cannot be asked.
    fn log(&self, call: &Call) -> Result<Response<WorldBody>, Failure> {
        let pod = self.find(call)?;
        let first = pod.value["spec"]["containers"][0]["name"].as_str().unwrap_or_default();
        let container = call.query.get("container").unwrap_or(first);
        let known = look::items(&pod.value, &["spec", "containers"]).iter().any(|one| one["name"] == container);
        if !known {
            let message = format!("container {container} is not valid for pod {}", call.name());
            return Err(Failure::bad_request(message));
        }
        if !matches!(pod.value["status"]["phase"].as_str(), Some("Running" | "Succeeded" | "Failed")) {
            let message =
                format!("container {container:?} in pod {:?} is waiting to start: ContainerCreating", call.name());
            return Err(Failure::bad_request(message));
        }
        let said = pod.value["metadata"]["annotations"]["world.pilotlight.dev/log"].as_str().unwrap_or_default();
        Ok(with_body(StatusCode::OK, "text/plain", said.to_owned()))
    }

    /// The namespace controller says with this that a namespace is empty.
    fn finalize(&self, call: &Call) -> Result<Response<WorldBody>, Failure> {
        let finalizers = decode_body(call)?.value["spec"]["finalizers"].clone();
        let written =
            self.objects.update(&call.key, call.namespace(), call.name(), call.query.dry_run(), |namespace| {
                let empty = finalizers.as_array().is_none_or(Vec::is_empty);
                namespace["spec"]["finalizers"] = if empty { Value::Null } else { finalizers };
                edit::drop_nulls(&mut namespace["spec"]);
                Ok(())
            })?;
        self.show(call, &written.stored, StatusCode::OK)
    }
}

/// What is posted below a pod has a kind of its own.
fn check_kind(body: &Value, package: &str, wanted: &str) -> Result<(), Failure> {
    let given = body["kind"].as_str().unwrap_or(wanted);
    if given == wanted {
        return Ok(());
    }
    let version = body["apiVersion"].as_str().unwrap_or("v1").rsplit('/').next().unwrap_or_default();
    let package = if package.is_empty() { "core" } else { package };
    Err(Failure::bad_request(format!(
        "{given} in version {version:?} cannot be handled as a {wanted}: converting ({version}.{given}) to \
         ({package}.{wanted}): unknown conversion"
    )))
}

fn done() -> Value {
    json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201 })
}

/// Where the numbers of the scale stand, as paths like `.spec.replicas`.
fn scale_paths(resource: &Resource) -> (String, String, Option<String>) {
    match resource.custom.as_ref().and_then(|custom| custom.scale.as_ref()) {
        Some(paths) => (paths.spec_replicas.clone(), paths.status_replicas.clone(), paths.label_selector.clone()),
        None => (".spec.replicas".to_owned(), ".status.replicas".to_owned(), None),
    }
}

fn scale_of(resource: &Resource, value: &Value) -> Value {
    let (spec, status, selector) = scale_paths(resource);
    let number = |path: &str| edit::get(value, path).as_i64().unwrap_or(0);
    let selector = match selector {
        Some(path) => edit::get(value, &path).as_str().unwrap_or_default().to_owned(),
        None => edit::selector_text(&value["spec"]["selector"]),
    };
    let metadata = &value["metadata"];
    let mut scale = json!({
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": { "name": metadata["name"], "namespace": metadata["namespace"], "uid": metadata["uid"],
            "resourceVersion": metadata["resourceVersion"], "creationTimestamp": metadata["creationTimestamp"] },
        "spec": {},
        "status": { "replicas": number(&status) },
    });
    if number(&spec) != 0 {
        scale["spec"]["replicas"] = number(&spec).into();
    }
    if !selector.is_empty() {
        scale["status"]["selector"] = selector.into();
    }
    scale
}
