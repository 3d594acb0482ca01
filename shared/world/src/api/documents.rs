//! Paths that name no resource: discovery, OpenAPI, version.

use serde_json::Value;

use crate::resources::{discovery, kinds::Registry, openapi};

/// A document and how it is labelled.
pub struct Document {
    pub content_type: String,
    pub body: Value,
}

/// The document at a path, in the old shape of discovery or the aggregated one.
pub fn document(registry: &Registry, path: &str, accept: &str) -> Option<Document> {
    let json = |body: Value| Some(Document { content_type: "application/json".to_owned(), body });
    let aggregated = |core| {
        let body = discovery::aggregated(registry, core);
        Some(Document { content_type: discovery::AGGREGATED.to_owned(), body })
    };
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    match parts.as_slice() {
        ["version"] => json(discovery::version()),
        ["api"] if discovery::accepts_aggregated(accept) => aggregated(true),
        ["apis"] if discovery::accepts_aggregated(accept) => aggregated(false),
        ["api"] => json(discovery::core_versions("127.0.0.1")),
        ["apis"] => json(discovery::group_list(registry)),
        ["apis", group] => json(discovery::group(registry, group)?),
        ["api", version] => json(discovery::resource_list(registry, "", version)?),
        ["apis", group, version] => json(discovery::resource_list(registry, group, version)?),
        ["openapi", "v3"] => json(openapi::index(registry)),
        ["openapi", "v3", rest @ ..] => json(openapi::document(registry, &rest.join("/"))?),
        ["openapi", "v2"] => json(openapi::document_v2(registry)),
        _ => None,
    }
}
