//! Reading verbs: get, list and watch, in the form the client asked for.

use bytes::Bytes;
use http::{Response, StatusCode};
use serde_json::{Value, json};
use std::sync::Arc;

use super::{
    list::{Page, Selection, page},
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

const TABLE_TYPE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";
const PARTIAL_TYPE: &str = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
const PARTIAL_LIST_TYPE: &str = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";

impl ApiServer {
    pub(super) fn get(&self, call: &Call) -> Result<Response<WorldBody>, Failure> {
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
            Form::Partial => {
                with_body(status, PARTIAL_TYPE, partial(&stored.value, "PartialObjectMetadata").to_string())
            }
            Form::Table => {
                let metadata = json!({ "resourceVersion": stored.value["metadata"]["resourceVersion"] });
                let table = self.table(call, std::iter::once(&stored.value), metadata);
                with_body(status, TABLE_TYPE, table.to_string())
            }
        })
    }

    pub(super) fn list(&self, call: &Call) -> Result<Response<WorldBody>, Failure> {
        let selection = self.selection(call)?;
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
            Form::Partial => {
                let items: Vec<Value> =
                    page.items.iter().map(|stored| partial(&stored.value, "PartialObjectMetadata")).collect();
                let list = json!({ "kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1",
                    "metadata": page.metadata(), "items": items });
                with_body(StatusCode::OK, PARTIAL_LIST_TYPE, list.to_string())
            }
            Form::Table => {
                let table = self.table(call, page.items.iter().map(|stored| &stored.value), page.metadata());
                with_body(StatusCode::OK, TABLE_TYPE, table.to_string())
            }
        })
    }

    pub(super) fn watch(&self, call: &Call) -> Result<Response<WorldBody>, Failure> {
        let selection = self.selection(call)?;
        let (server, resource) = (self.clone(), call.resource.clone());
        let form = call.form;
        let include = include_object(call);
        let view: Arc<dyn Fn(&Stored) -> Bytes + Send + Sync> = match form {
            Form::Object => Arc::new(move |stored| object_json(&resource, stored)),
            Form::Partial => {
                Arc::new(|stored| Bytes::from(partial(&stored.value, "PartialObjectMetadata").to_string()))
            }
            Form::Table => Arc::new(move |stored| {
                let metadata = json!({ "resourceVersion": stored.value["metadata"]["resourceVersion"] });
                let now = server.objects.clock.now();
                // A watch names the columns once; doing so in every event costs bytes and confuses nobody.
                let objects = [shown(&resource, stored.value.clone())];
                Bytes::from(table::table(&resource, &objects, &metadata, include, true, now).to_string())
            }),
        };
        let type_meta = match form {
            Form::Object => (call.resource.api_version(), call.resource.kind.clone()),
            Form::Partial => ("meta.k8s.io/v1".to_owned(), "PartialObjectMetadata".to_owned()),
            Form::Table => ("meta.k8s.io/v1".to_owned(), "Table".to_owned()),
        };
        let what = Watch {
            resource: call.key.clone(),
            namespace: self.scope(call).map(str::to_owned),
            selection,
            view,
            type_meta,
        };
        let body = watch(self.objects.store.clone(), self.objects.clock, what, &call.query)?;
        let mut response = with_body(StatusCode::OK, "application/json", Bytes::new());
        *response.body_mut() = body;
        Ok(response)
    }

    fn scope<'a>(&self, call: &'a Call) -> Option<&'a str> {
        if call.resource.namespaced { call.namespace.as_deref() } else { None }
    }

    pub(super) fn selection(&self, call: &Call) -> Result<Selection, Failure> {
        let mut selection = Selection::parse(&call.query, supported_fields(&call.resource))?;
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
    let head = json!({ "kind": resource.list_kind, "apiVersion": resource.api_version(), "metadata": page.metadata() });
    let head = head.to_string();
    text.extend_from_slice(head.strip_suffix('}').unwrap_or(&head).as_bytes());
    text.extend_from_slice(b",\"items\":[");
    for (index, stored) in page.items.iter().enumerate() {
        if index > 0 {
            text.push(b',');
        }
        let as_stored = resource.custom.is_none() && resource.group == resource.storage.group;
        let item = if as_stored { stored.bare_json() } else { object_json(resource, stored) };
        text.extend_from_slice(&item);
    }
    text.extend_from_slice(b"]}");
    Bytes::from(text)
}

fn partial(value: &Value, kind: &str) -> Value {
    json!({ "kind": kind, "apiVersion": "meta.k8s.io/v1", "metadata": value["metadata"] })
}

/// What can be asked about in a field selector, beside name and namespace.
fn supported_fields(resource: &Resource) -> &'static [&'static str] {
    match (resource.group.as_str(), resource.plural.as_str()) {
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
        ("apps", "replicasets") => &["status.replicas"],
        ("batch", "jobs") => &["status.successful"],
        _ => &[],
    }
}

/// A `Status` that says something worked.
pub(super) fn success(details: Value) -> Response<WorldBody> {
    let status =
        json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details });
    json_response(StatusCode::OK, &status)
}
