//! Reading verbs: get, list and watch, in the form the client asked for.

use bytes::Bytes;
use http::{Response, StatusCode};
use serde_json::{Value, json};
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use super::{
    decoding::go_package,
    edit,
    list::{Page, Selection, page, version},
    objects::key,
    request::{Form, Query},
    selector::FieldSelector,
    server::{ApiServer, Call, json_response, with_body},
    status::Failure,
    store::Stored,
    versions::shown,
    watch::{Watch, watch},
};
use crate::{
    body::WorldBody,
    resources::{kinds::Resource, table},
};

impl ApiServer {
    pub(super) fn get(&self, call: &Call) -> Result<Response<WorldBody>, Failure> {
        if let Some(text) = call.query.get("resourceVersion") {
            version(text)?;
        }
        check_form(call, false)?;
        let stored = self.find(call)?;
        self.show(call, &stored, StatusCode::OK)
    }

    /// The object a call names, as it is or, for a stale read, as it was.
    pub(super) fn find(&self, call: &Call) -> Result<Arc<Stored>, Failure> {
        let wanted = key(call.namespace(), call.name());
        let found = match call.stale_by {
            None => self.objects.store.get(&call.key, &wanted),
            Some(revisions) => {
                let past = self.objects.store.revision().saturating_sub(revisions);
                let list = self.objects.store.list_at(&call.key, Some(call.namespace()), past).unwrap_or_default();
                list.into_iter().find(|(found, _)| *found == wanted).map(|(_, stored)| stored)
            }
        };
        found.ok_or_else(|| Failure::not_found(call.about()))
    }

    /// One object in the form that was asked for.
    pub(super) fn show(
        &self,
        call: &Call,
        stored: &Stored,
        status: StatusCode,
    ) -> Result<Response<WorldBody>, Failure> {
        Ok(match call.form {
            Form::Object => with_body(status, "application/json", object_json(&call.resource, stored)),
            Form::Partial | Form::PartialList => {
                json_response(status, &partial(&stored.value, "PartialObjectMetadata"))
            }
            Form::Table => {
                let metadata = json!({ "resourceVersion": stored.value["metadata"]["resourceVersion"] });
                let table = self.table(call, std::iter::once(&stored.value), metadata);
                json_response(status, &table)
            }
        })
    }

    pub(super) fn list(&self, call: &Call) -> Result<Response<WorldBody>, Failure> {
        let selection = self.selection(call)?;
        check_form(call, true)?;
        let page = match call.stale_by {
            None => page(&self.objects.store, &call.key, self.scope(call), &selection, &call.query)?,
            Some(revisions) => {
                let past = self.objects.store.revision().saturating_sub(revisions).to_string();
                let query = Query::parse(Some(&format!("resourceVersion={past}&resourceVersionMatch=Exact")));
                page(&self.objects.store, &call.key, self.scope(call), &selection, &query)?
            }
        };
        Ok(match call.form {
            Form::Object => with_body(StatusCode::OK, "application/json", list_json(&call.resource, &page)),
            Form::Partial | Form::PartialList => {
                let items: Vec<Value> =
                    page.items.iter().map(|stored| partial(&stored.value, "PartialObjectMetadata")).collect();
                let list = json!({ "kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1",
                    "metadata": page.metadata(), "items": items });
                json_response(StatusCode::OK, &list)
            }
            Form::Table => {
                let table = self.table(call, page.items.iter().map(|stored| &stored.value), page.metadata());
                json_response(StatusCode::OK, &table)
            }
        })
    }

    pub(super) fn watch(&self, call: &Call) -> Result<Response<WorldBody>, Failure> {
        let selection = self.selection(call)?;
        let (server, resource) = (self.clone(), call.resource.clone());
        let form = call.form;
        let include = include_object(call);
        // A watch names its columns once.
        let named = AtomicBool::new(false);
        let view: Arc<dyn Fn(&Stored) -> Bytes + Send + Sync> = match form {
            Form::Object => Arc::new(move |stored| object_json(&resource, stored)),
            Form::Partial | Form::PartialList => {
                Arc::new(|stored| Bytes::from(partial(&stored.value, "PartialObjectMetadata").to_string()))
            }
            Form::Table => Arc::new(move |stored| {
                let metadata = json!({ "resourceVersion": stored.value["metadata"]["resourceVersion"] });
                let now = server.objects.clock.now();
                let objects = [shown(&resource, stored.value.clone())];
                let first = !named.swap(true, Ordering::Relaxed);
                Bytes::from(table::table(&resource, &objects, &metadata, include, first, now).to_string())
            }),
        };
        let type_meta = match form {
            Form::Object => (call.resource.api_version(), call.resource.kind.clone()),
            Form::Partial | Form::PartialList => ("meta.k8s.io/v1".to_owned(), "PartialObjectMetadata".to_owned()),
            Form::Table => ("meta.k8s.io/v1".to_owned(), "Table".to_owned()),
        };
        let what = Watch {
            resource: call.key.clone(),
            namespace: self.scope(call).map(str::to_owned),
            selection,
            view,
            bookmark: (form == Form::Table).then(|| self.table_bookmark(call)),
            type_meta,
        };
        let body = watch(self.objects.store.clone(), self.objects.clock, what, &call.query)?;
        let mut response = with_body(StatusCode::OK, "application/json", Bytes::new());
        *response.body_mut() = body;
        Ok(response)
    }

    /// A bookmark in a table is a row about nothing.
    fn table_bookmark(&self, call: &Call) -> Arc<dyn Fn(u64, bool) -> Bytes + Send + Sync> {
        let (server, resource, include) = (self.clone(), call.resource.clone(), include_object(call));
        Arc::new(move |revision, end_of_initial| {
            let mut metadata = json!({ "resourceVersion": revision.to_string() });
            if end_of_initial {
                metadata["annotations"] = json!({ "k8s.io/initial-events-end": "true" });
            }
            let object = json!({ "kind": resource.kind, "apiVersion": resource.api_version(), "metadata": metadata });
            let version = json!({ "resourceVersion": revision.to_string() });
            let now = server.objects.clock.now();
            Bytes::from(table::table(&resource, &[object], &version, include, false, now).to_string())
        })
    }

    fn scope<'a>(&self, call: &'a Call) -> Option<&'a str> {
        if call.resource.namespaced { call.namespace.as_deref() } else { None }
    }

    pub(super) fn selection(&self, call: &Call) -> Result<Selection, Failure> {
        let custom = call.resource.custom.as_ref();
        let selectable: Option<Vec<&str>> = custom.map(|custom| custom.selectable.iter().map(String::as_str).collect());
        let supported = supported_fields(&call.resource).or(selectable.as_deref());
        let mut selection = Selection::parse(&call.query, supported)?;
        if let Some(name) = &call.name {
            selection.fields = FieldSelector::name(name);
        }
        Ok(selection)
    }

    fn table<'a>(&self, call: &Call, objects: impl Iterator<Item = &'a Value>, metadata: Value) -> Value {
        let objects: Vec<Value> = objects.map(|object| shown(&call.resource, object.clone())).collect();
        table::table(&call.resource, &objects, &metadata, include_object(call), true, self.objects.clock.now())
    }
}

/// Metadata of one object is not that of a list, and tables can leave out only what they know.
fn check_form(call: &Call, list: bool) -> Result<(), Failure> {
    let unacceptable = |message: String| Err(Failure::new(StatusCode::NOT_ACCEPTABLE, "NotAcceptable", message));
    let resource = &call.resource;
    let suffix = if list { "List" } else { "" };
    let go_type = match &resource.custom {
        Some(_) => format!("*unstructured.Unstructured{suffix}"),
        None => format!("*{}.{}{suffix}", go_package(&resource.group), resource.kind),
    };
    match call.form {
        Form::Partial if list => {
            unacceptable(format!("you requested PartialObjectMetadata, but the requested object is a list ({go_type})"))
        }
        Form::PartialList if !list => unacceptable(format!(
            "you requested PartialObjectMetadataList, but the requested object is not a list ({go_type})"
        )),
        Form::Table => match call.query.get("includeObject") {
            None | Some("None" | "Metadata" | "Object") => Ok(()),
            Some(other) => {
                let why = format!("Invalid value: {other:?}: must be 'Metadata', 'Object', 'None', or empty");
                Err(Failure::bad_request(format!("Unable to convert to Table as requested: includeObject: {why}")))
            }
        },
        _ => Ok(()),
    }
}

fn include_object(call: &Call) -> table::IncludeObject {
    let asked = call.query.get("includeObject").unwrap_or_default();
    table::IncludeObject::parse(asked).unwrap_or(table::IncludeObject::Metadata)
}

/// An object as one version of its group shows it.
pub(super) fn object_json(resource: &Resource, stored: &Stored) -> Bytes {
    let api_version = resource.api_version();
    if stored.value["apiVersion"] == api_version.as_str() {
        return stored.json();
    }
    Bytes::from(shown(resource, stored.value.clone()).to_string())
}

/// Items of built-in kinds do not repeat kind and version; those of custom resources do.
fn list_json(resource: &Resource, page: &Page) -> Bytes {
    let mut text = Vec::with_capacity(page.items.len() * 1024 + 256);
    let mut metadata = page.metadata();
    if resource.custom.is_some() && page.next.is_none() {
        // Custom resources are shown field by field, empty ones too.
        metadata["continue"] = "".into();
    }
    let head = json!({ "kind": resource.list_kind, "apiVersion": resource.api_version(), "metadata": metadata });
    let head = head.to_string();
    text.extend_from_slice(head.strip_suffix('}').unwrap_or(&head).as_bytes());
    text.extend_from_slice(b",\"items\":[");
    for (index, stored) in page.items.iter().enumerate() {
        if index > 0 {
            text.push(b',');
        }
        let item = match &resource.custom {
            None if resource.group == resource.storage.group => stored.bare_json(),
            None => {
                let mut value = shown(resource, stored.value.clone());
                edit::remove(&mut value, &["kind", "apiVersion"]);
                Bytes::from(value.to_string())
            }
            Some(_) => object_json(resource, stored),
        };
        text.extend_from_slice(&item);
    }
    text.extend_from_slice(b"]}");
    Bytes::from(text)
}

fn partial(value: &Value, kind: &str) -> Value {
    json!({ "kind": kind, "apiVersion": "meta.k8s.io/v1", "metadata": value["metadata"] })
}

/// What can be asked about in a field selector, beside name and namespace.
fn supported_fields(resource: &Resource) -> Option<&'static [&'static str]> {
    if resource.custom.is_some() {
        return None;
    }
    Some(match (resource.group.as_str(), resource.plural.as_str()) {
        ("", "pods") => &[
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.podIPs",
            "status.nominatedNodeName",
        ],
        ("", "nodes") => &["spec.unschedulable"],
        ("", "namespaces") => &["status.phase"],
        ("", "secrets") => &["type"],
        ("", "services") => &["spec.clusterIP", "spec.type"],
        ("" | "events.k8s.io", "events") => &[
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
        ],
        ("batch", "jobs") => &["status.successful"],
        _ => return None,
    })
}

/// A `Status` that says something worked.
pub(super) fn success(details: Value) -> Response<WorldBody> {
    let status =
        json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details });
    json_response(StatusCode::OK, &status)
}
