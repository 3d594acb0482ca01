//! The API server: from a request to the verb that answers it.

use bytes::Bytes;
use http::{
    HeaderMap, HeaderValue, Method, Request, Response, StatusCode,
    header::{AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER},
};
use serde_json::Value;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::{
    documents,
    objects::Objects,
    request::{Form, Query, ResourceRequest, Unacceptable, form, resource_request, verb},
    status::{About, Failure},
    store::ResourceKey,
};
use crate::{
    body::WorldBody,
    door::{Respond, StaleBy},
    history::Audit,
    patch::managed::name_of,
    resources::kinds::{Registry, Resource, Subresource},
};

/// As large as a request may be; etcd refuses objects of more than half of it.
pub const MOST_BYTES: usize = 3 * 1024 * 1024;

/// Cheap to clone; all clones are the same server.
#[derive(Debug, Clone)]
pub struct ApiServer {
    pub objects: Objects,
    registry: Arc<RwLock<Registry>>,
}

/// A request for a resource that exists, understood.
pub(super) struct Call {
    pub resource: Arc<Resource>,
    pub key: ResourceKey,
    pub subresource: Option<Subresource>,
    /// Empty for resources without one; absent for "in all namespaces".
    pub namespace: Option<String>,
    pub name: Option<String>,
    pub query: Query,
    pub form: Form,
    pub headers: HeaderMap,
    pub body: Bytes,
    pub stale_by: Option<u64>,
}

impl Call {
    pub fn about(&self) -> About<'_> {
        About {
            group: &self.resource.group,
            resource: &self.resource.plural,
            name: self.name.as_deref().unwrap_or_default(),
        }
    }

    /// The namespace of one object.
    pub fn namespace(&self) -> &str {
        self.namespace.as_deref().unwrap_or_default()
    }

    pub fn name(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }

    /// Who is named in `managedFields`: the parameter, or the client's program.
    pub fn field_manager(&self) -> String {
        let agent = self.headers.get("user-agent").and_then(|value| value.to_str().ok()).unwrap_or_default();
        name_of(self.query.get("fieldManager").unwrap_or_default(), agent)
    }
}

impl ApiServer {
    pub fn new(objects: Objects) -> Self {
        ApiServer { objects, registry: Arc::new(RwLock::new(Registry::new())) }
    }

    pub(crate) fn registry(&self) -> RwLockReadGuard<'_, Registry> {
        self.registry.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn registry_mut(&self) -> RwLockWriteGuard<'_, Registry> {
        self.registry.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(&self, request: Request<Bytes>) -> Result<Response<WorldBody>, Failure> {
        let path = request.uri().path();
        if request.body().len() > MOST_BYTES {
            return Err(Failure::too_large_body(MOST_BYTES));
        }
        match resource_request(path) {
            Some(asked) => self.resource(asked, request),
            None => self.document(&request),
        }
    }

    /// Paths without a resource: discovery, OpenAPI, health.
    fn document(&self, request: &Request<Bytes>) -> Result<Response<WorldBody>, Failure> {
        let path = request.uri().path().trim_end_matches('/');
        if ["/healthz", "/livez", "/readyz"].iter().any(|health| path.starts_with(health)) {
            return Ok(with_body(StatusCode::OK, "text/plain; charset=utf-8", "ok"));
        }
        if request.method() != Method::GET {
            return Err(Failure::method_not_allowed());
        }
        let accept = request.headers().get(http::header::ACCEPT).and_then(|value| value.to_str().ok());
        let registry = self.registry();
        let Some(found) = documents::document(&registry, path, accept.unwrap_or_default()) else {
            let mut parts = path.split('/').skip(1);
            let known = match (parts.next(), parts.next()) {
                (Some("api"), _) => true,
                (Some("apis"), Some(group)) => registry.has_group(group),
                _ => false,
            };
            if path.starts_with("/openapi/v3/") {
                return Ok(empty(StatusCode::NOT_FOUND));
            }
            return if known { Err(Failure::no_such_resource()) } else { Ok(no_such_page()) };
        };
        Ok(with_body(StatusCode::OK, &found.content_type, found.body.to_string()))
    }

    fn resource(&self, asked: ResourceRequest, request: Request<Bytes>) -> Result<Response<WorldBody>, Failure> {
        let ResourceRequest { group, version, namespace, plural, name, subresource, watch } = asked;
        let resource = self.registry().find(&group, &version, &plural);
        let Some(resource) = resource else {
            return if self.registry().has_group(&group) {
                Err(Failure::no_such_resource())
            } else {
                Ok(no_such_page())
            };
        };
        let subresource = match subresource {
            Some(text) => Some(resource.subresource(&text).ok_or_else(|| match (&resource.custom, &name) {
                (Some(_), Some(name)) => {
                    Failure::not_found(About { group: &resource.group, resource: &resource.plural, name })
                }
                _ => Failure::no_such_resource(),
            })?),
            None => None,
        };
        if namespace.is_some() && !resource.namespaced {
            return if resource.custom.is_some() { Ok(no_such_page()) } else { Err(Failure::no_such_resource()) };
        }
        let form = form(request.headers()).map_err(|why| not_acceptable(why, request.method(), name.is_none()))?;
        let stale_by = request.extensions().get::<StaleBy>().map(|stale| stale.0);
        let mut query = Query::parse(request.uri().query());
        if watch {
            query.set("watch", "true");
        }
        let (head, body) = request.into_parts();
        let key: ResourceKey = (resource.storage.group.as_str().into(), resource.storage.plural.as_str().into());
        let namespace = if resource.namespaced { namespace } else { Some(String::new()) };
        let call =
            Call { resource, key, subresource, namespace, name, query, form, headers: head.headers, body, stale_by };
        if call.namespace.is_none() && (call.name.is_some() || head.method != Method::GET) {
            return Err(match call.name {
                Some(_) => Failure::no_such_resource(),
                None => Failure::method_not_allowed(),
            });
        }
        let deprecated: Vec<String> = call.resource.deprecation().into_iter().collect();
        let answer = self.verb(&head.method, call).map_err(|failure| failure.warning(&deprecated))?;
        Ok(with_warnings(answer, &deprecated))
    }

    fn verb(&self, method: &Method, call: Call) -> Result<Response<WorldBody>, Failure> {
        let not_allowed = Failure::method_not_allowed();
        if let Some(subresource) = call.subresource {
            return self.subresource(method, subresource, &call);
        }
        match (method.as_str(), call.name.is_some()) {
            ("GET", false) if call.query.flag("watch") => self.watch(&call),
            ("GET", true) => self.get(&call),
            ("GET", false) => self.list(&call),
            ("POST", false) => self.create(&call),
            ("PUT", true) => self.update(&call),
            ("PATCH", true) => self.patch(&call),
            ("DELETE", true) => self.delete(&call),
            ("DELETE", false) if call.resource.verbs.iter().any(|verb| verb == "deletecollection") => {
                self.delete_collection(&call)
            }
            _ => Err(not_allowed),
        }
    }
}

impl Respond for ApiServer {
    async fn respond(&self, request: Request<Bytes>) -> Response<WorldBody> {
        let head = request.method() == Method::HEAD;
        let mut response = self.answer(request).unwrap_or_else(|failure| failure_response(&failure));
        if head {
            *response.body_mut() = WorldBody::from(Bytes::new());
        }
        response
    }

    /// Tokens name their user after a colon: `world:alice`.
    fn user(&self, headers: &HeaderMap) -> String {
        let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let token = header(AUTHORIZATION.as_str()).and_then(|value| value.strip_prefix("Bearer "));
        let user = header("impersonate-user").or_else(|| token.and_then(|token| token.strip_prefix("world:")));
        user.unwrap_or("system:anonymous").to_owned()
    }

    fn audit(&self, request: &Request<Bytes>) -> Option<Audit> {
        let asked = resource_request(request.uri().path())?;
        let verb = verb(request.method(), &asked, &Query::parse(request.uri().query()));
        // Who asks for a namespace asks in it, as the real server sees it.
        let is_namespace = asked.group.is_empty() && asked.plural == "namespaces";
        let namespace = if is_namespace { asked.name } else { asked.namespace };
        Some(Audit {
            verb,
            group: asked.group,
            resource: asked.plural,
            subresource: asked.subresource.unwrap_or_default(),
            namespace: namespace.unwrap_or_default(),
        })
    }
}

pub(super) fn failure_response(failure: &Failure) -> Response<WorldBody> {
    let mut response = with_warnings(json_response(failure.code, &failure.to_value()), &failure.warnings);
    if let Some(seconds) = failure.details["retryAfterSeconds"].as_u64() {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

fn not_acceptable(why: Unacceptable, method: &Method, collection: bool) -> Failure {
    const TYPES: &str = "application/json, application/yaml, application/vnd.kubernetes.protobuf";
    let refuse = |message: String| Failure::new(StatusCode::NOT_ACCEPTABLE, "NotAcceptable", message);
    match why {
        Unacceptable::Form => refuse(format!("only the following media types are accepted: {TYPES}")),
        Unacceptable::Type => {
            let streams = ", application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch";
            let streams = if method == Method::GET && collection { streams } else { "" };
            let failure = refuse(format!("406: Not Acceptable\n\nAvailable representations: {TYPES}{streams}"));
            Failure { details: serde_json::json!({}), ..failure }
        }
    }
}

fn empty(status: StatusCode) -> Response<WorldBody> {
    let mut response = Response::new(WorldBody::from(Bytes::new()));
    *response.status_mut() = status;
    response
}

/// Where no API begins, the answer is a page.
fn no_such_page() -> Response<WorldBody> {
    with_body(StatusCode::NOT_FOUND, "text/plain; charset=utf-8", "404 page not found\n")
}

pub(super) fn with_warnings(mut response: Response<WorldBody>, warnings: &[String]) -> Response<WorldBody> {
    for warning in warnings {
        let text = format!("299 - \"{}\"", warning.replace('\\', "\\\\").replace('"', "\\\""));
        if let Ok(value) = HeaderValue::from_str(&text) {
            response.headers_mut().append(http::header::WARNING, value);
        }
    }
    response
}

pub(super) fn json_response(status: StatusCode, value: &Value) -> Response<WorldBody> {
    with_body(status, "application/json", value.to_string())
}

pub(super) fn with_body(status: StatusCode, content_type: &str, body: impl Into<Bytes>) -> Response<WorldBody> {
    let mut response = Response::new(WorldBody::from(body.into()));
    *response.status_mut() = status;
    let content_type = HeaderValue::from_str(content_type).unwrap_or(HeaderValue::from_static("application/json"));
    response.headers_mut().insert(CONTENT_TYPE, content_type);
    response
}
