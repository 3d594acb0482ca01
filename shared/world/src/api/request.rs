//! What a request asks for: its path and query, taken apart as the API server's own RequestInfo is.

use http::{HeaderMap, Method, header::ACCEPT};
use std::collections::BTreeMap;

use super::status::Failure;

/// A request for a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceRequest {
    pub group: String,
    pub version: String,
    pub namespace: Option<String>,
    pub plural: String,
    pub name: Option<String>,
    pub subresource: Option<String>,
    /// The path itself asks for a watch, as paths of old did.
    pub watch: bool,
}

/// The query, each name once (the last wins, as the API server reads it).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Query(BTreeMap<String, String>);

/// In which form the client wants the object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Object,
    Table,
    /// Metadata only, of one object or of a list.
    Partial,
    PartialList,
}

/// Why no form was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unacceptable {
    /// No media type that is written here.
    Type,
    /// JSON, but as something that is not offered.
    Form,
}

/// `/api/v1/…` and `/apis/<group>/<version>/…`, if the path names a resource.
pub fn resource_request(path: &str) -> Option<ResourceRequest> {
    let mut parts = path.trim_matches('/').split('/').filter(|part| !part.is_empty()).map(decoded);
    let (group, version) = match parts.next()?.as_str() {
        "api" => (String::new(), parts.next()?),
        "apis" => (parts.next()?, parts.next()?),
        _ => return None,
    };
    let mut rest: Vec<String> = parts.collect();
    let watch = rest.len() > 1 && rest[0] == "watch";
    if watch {
        rest.remove(0);
    }
    let mut namespace = None;
    // A namespace is an object too: `/namespaces/x` and `/namespaces/x/status` are about it, not inside it.
    if rest.first()? == "namespaces" && rest.len() > 2 && !["status", "finalize"].contains(&rest[2].as_str()) {
        namespace = Some(rest.remove(1));
        rest.remove(0);
    }
    let mut rest = rest.into_iter();
    let plural = rest.next()?;
    let (name, subresource) = (rest.next(), rest.next());
    let end = rest.next().is_none();
    end.then_some(ResourceRequest { group, version, namespace, plural, name, subresource, watch })
}

fn decoded(part: &str) -> String {
    percent_encoding::percent_decode_str(part).decode_utf8_lossy().into_owned()
}

impl Query {
    pub fn parse(query: Option<&str>) -> Self {
        Query(form_urlencoded::parse(query.unwrap_or_default().as_bytes()).into_owned().collect())
    }

    /// An empty value is as good as none.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    pub fn set(&mut self, name: &str, value: &str) {
        self.0.insert(name.to_owned(), value.to_owned());
    }

    /// What was given, be it empty.
    pub fn given(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Whatever is not expressly false is true.
    pub fn flag(&self, name: &str) -> bool {
        self.given(name).is_some_and(|given| !matches!(given.to_ascii_lowercase().as_str(), "false" | "0"))
    }

    /// A number, or the server's words about what is none.
    pub fn number(&self, name: &str) -> Result<Option<i64>, Failure> {
        let Some(text) = self.get(name) else { return Ok(None) };
        let refused = |_| Failure::bad_request(format!("strconv.ParseInt: parsing {text:?}: invalid syntax"));
        text.parse::<i64>().map(Some).map_err(refused)
    }

    pub fn dry_run(&self) -> bool {
        self.get("dryRun") == Some("All")
    }
}

/// The verb that an audit line shows.
pub fn verb(method: &Method, request: &ResourceRequest, query: &Query) -> &'static str {
    match (method.as_str(), request.name.is_some()) {
        ("GET" | "HEAD", _) if query.flag("watch") => "watch",
        ("GET" | "HEAD", true) => "get",
        ("GET" | "HEAD", false) => "list",
        ("POST", _) => "create",
        ("PUT", _) => "update",
        ("PATCH", _) => "patch",
        ("DELETE", true) => "delete",
        ("DELETE", false) => "deletecollection",
        _ => "unknown",
    }
}

/// The first form in `Accept` that is JSON.
pub fn form(headers: &HeaderMap) -> Result<Form, Unacceptable> {
    let accept: Vec<&str> = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()).collect();
    if accept.iter().all(|value| value.trim().is_empty()) {
        return Ok(Form::Object);
    }
    let mut refused = Unacceptable::Type;
    let found = accept.iter().flat_map(|value| value.split(',')).find_map(|clause| {
        let mut parameters = clause.split(';').map(str::trim);
        let essence = parameters.next().unwrap_or_default().to_ascii_lowercase();
        if !["application/json", "*/*"].contains(&essence.as_str()) {
            return None;
        }
        refused = Unacceptable::Form;
        let parameters: Vec<&str> = parameters.collect();
        let of = |name: &str| parameters.iter().find_map(|parameter| parameter.strip_prefix(name));
        let known =
            of("g=").is_none_or(|group| group == "meta.k8s.io") && of("v=").is_none_or(|version| version == "v1");
        match of("as=") {
            None => Some(Form::Object),
            _ if !known => None,
            Some("Table") => Some(Form::Table),
            Some("PartialObjectMetadata") => Some(Form::Partial),
            Some("PartialObjectMetadataList") => Some(Form::PartialList),
            Some(_) => None,
        }
    });
    found.ok_or(refused)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn shown(path: &str) -> Option<String> {
        let request = resource_request(path)?;
        let or_dash = |text: Option<String>| text.unwrap_or("-".to_owned());
        Some(format!(
            "{} {} {} {} {} {}",
            request.group,
            request.version,
            or_dash(request.namespace),
            request.plural,
            or_dash(request.name),
            or_dash(request.subresource)
        ))
    }

    #[test]
    fn paths_are_taken_apart_as_the_api_server_does() {
        for (path, expected) in [
            ("/api/v1/pods", Some(" v1 - pods - -")),
            ("/api/v1/namespaces/a/pods/x/log", Some(" v1 a pods x log")),
            ("/api/v1/namespaces/a", Some(" v1 - namespaces a -")),
            ("/api/v1/namespaces/a/status", Some(" v1 - namespaces a status")),
            ("/api/v1/namespaces/a/finalize", Some(" v1 - namespaces a finalize")),
            ("/apis/karpenter.sh/v1/nodeclaims/n/status", Some("karpenter.sh v1 - nodeclaims n status")),
            ("/apis/apps/v1/namespaces/a/deployments", Some("apps v1 a deployments - -")),
            ("/apis/apps/v1", None),
            ("/api/v1/pods/x/log/more", None),
            ("/version", None),
        ] {
            assert_eq!(shown(path).as_deref(), expected, "{path}");
        }
    }

    #[test]
    fn the_first_json_form_is_taken() {
        let check = |accept: &str, expected| {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, accept.parse().unwrap());
            assert_eq!(form(&headers), expected, "{accept}");
        };
        check("application/json;as=Table;v=v1;g=meta.k8s.io,application/json", Ok(Form::Table));
        check("application/vnd.kubernetes.protobuf, */*", Ok(Form::Object));
        check("application/vnd.kubernetes.protobuf,application/json", Ok(Form::Object));
        check("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", Ok(Form::PartialList));
        check("application/vnd.kubernetes.protobuf", Err(Unacceptable::Type));
        check("application/json;as=Nothing", Err(Unacceptable::Form));
    }
}
