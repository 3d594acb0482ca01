//! Lists: selectors, pages that stay consistent, and the meanings of `resourceVersion`.

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use std::sync::Arc;

use super::{
    go_json, options,
    request::Query,
    selector::{FieldSelector, LabelSelector},
    status::Failure,
    store::{ObjectKey, ResourceKey, Store, Stored},
};
use crate::resources::errors::FieldError;

/// What a list or watch is restricted to.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    pub labels: LabelSelector,
    pub fields: FieldSelector,
}

/// A page of objects.
#[derive(Debug)]
pub struct Page {
    pub items: Vec<Arc<Stored>>,
    pub revision: u64,
    pub next: Option<String>,
    pub remaining: Option<usize>,
}

impl Selection {
    /// `supported` are the fields of the resource that can be asked about, beside name and namespace. A kind that has
    /// none of its own refuses in other words.
    pub fn parse(query: &Query, supported: Option<&[&str]>) -> Result<Self, Failure> {
        let labels =
            LabelSelector::parse(query.get("labelSelector").unwrap_or_default()).map_err(Failure::bad_request)?;
        let fields =
            FieldSelector::parse(query.get("fieldSelector").unwrap_or_default()).map_err(Failure::bad_request)?;
        let known = |field: &str| {
            ["metadata.name", "metadata.namespace"].contains(&field)
                || supported.is_some_and(|supported| supported.contains(&field))
        };
        if let Some(field) = fields.fields().find(|field| !known(field)) {
            return Err(Failure::bad_request(match supported {
                Some(_) => format!("field label not supported: {field}"),
                None => {
                    let only = "only \"metadata.name\", \"metadata.namespace\"";
                    format!("{field:?} is not a known field selector: {only}")
                }
            }));
        }
        Ok(Selection { labels, fields })
    }

    pub fn matches(&self, object: &Value) -> bool {
        self.labels.matches(object) && self.fields.matches(object)
    }

    fn is_everything(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }
}

pub fn page(
    store: &Store,
    resource: &ResourceKey,
    namespace: Option<&str>,
    selection: &Selection,
    query: &Query,
) -> Result<Page, Failure> {
    check_options(query)?;
    query.number("timeoutSeconds")?;
    let limit = query.number("limit")?.and_then(|limit| usize::try_from(limit).ok()).filter(|limit| *limit > 0);
    let token = query.get("continue").map(read_token).transpose()?;
    let current = store.revision();
    let given = query.get("resourceVersion");
    if token.is_some() && given.is_some_and(|given| given != "0") {
        return Err(Failure::bad_request("specifying resource version is not allowed when using continue"));
    }
    let named = |failure: Failure| Failure::bad_request(format!("invalid resource version: {}", failure.message));
    let asked = given.filter(|_| token.is_none()).map(version).transpose().map_err(named)?;
    // What a cache holds is given at once: pages are for those who ask the store itself.
    let limit = limit.filter(|_| asked != Some(0) || query.get("resourceVersionMatch") == Some("Exact"));
    if let Some(asked) = asked.filter(|asked| *asked > current) {
        return Err(Failure::too_large_revision(asked, current));
    }
    let exact = asked.filter(|asked| match query.get("resourceVersionMatch") {
        Some(wanted) => wanted == "Exact",
        // The first page of a list at a version is a page of that very version.
        None => limit.is_some() && *asked > 0,
    });
    let (listed, revision, start) = match (&token, exact) {
        (Some((revision, start)), _) => {
            let listed = store.list_at(resource, namespace, *revision).map_err(|_| token_expired())?;
            (listed, *revision, Some(start.clone()))
        }
        (None, Some(revision)) => {
            let too_old = |_| Failure::expired("The resourceVersion for the provided list is too old.");
            (store.list_at(resource, namespace, revision).map_err(too_old)?, revision, None)
        }
        (None, None) => {
            let (listed, revision) = store.list(resource, namespace);
            (listed, revision, None)
        }
    };
    let after = |key: &ObjectKey| start.as_ref().is_none_or(|start| key > start);
    let mut matching =
        listed.into_iter().filter(|(key, stored)| after(key) && selection.matches(&stored.value)).peekable();
    let mut items = Vec::new();
    let mut last = None;
    while let Some((key, stored)) = matching.next_if(|_| limit.is_none_or(|limit| items.len() < limit)) {
        items.push(stored);
        last = Some(key);
    }
    let more = matching.peek().is_some();
    let next = last.filter(|_| more).map(|key| write_token(revision, &key));
    // Counting what a selector would leave over costs a full scan, so the real server does not say it.
    let remaining = (more && selection.is_everything()).then(|| matching.count());
    Ok(Page { items, revision, next, remaining })
}

impl Page {
    pub fn metadata(&self) -> Value {
        let mut metadata = json!({ "resourceVersion": self.revision.to_string() });
        if let Some(next) = &self.next {
            metadata["continue"] = next.as_str().into();
        }
        if let Some(remaining) = self.remaining {
            metadata["remainingItemCount"] = remaining.into();
        }
        metadata
    }
}

/// A revision as clients write it.
pub fn version(text: &str) -> Result<u64, Failure> {
    let refused = |_| {
        let why = format!("strconv.ParseUint: parsing {text:?}: invalid syntax");
        Failure::internal(format!("resourceVersion: Invalid value: {text:?}: {why}"))
    };
    text.parse().map_err(refused)
}

/// Options of a list that contradict each other.
fn check_options(query: &Query) -> Result<(), Failure> {
    let mut errors = Vec::new();
    let mut forbid = |field: &str, why: &str| errors.push(FieldError::forbidden(field, why));
    let (field, version) = ("resourceVersionMatch", query.get("resourceVersion"));
    if let Some(wanted) = query.get(field) {
        if version.is_none() {
            forbid(field, "resourceVersionMatch is forbidden unless resourceVersion is provided");
        }
        if query.get("continue").is_some() {
            forbid(field, "resourceVersionMatch is forbidden when continue is provided");
        }
        if !["Exact", "NotOlderThan"].contains(&wanted) {
            errors.push(FieldError::not_supported(field, wanted, &["Exact", "NotOlderThan", ""]));
        } else if wanted == "Exact" && version == Some("0") {
            forbid(field, "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
        }
    }
    if query.given("sendInitialEvents").is_some() {
        errors.push(FieldError::forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"));
    }
    options::refuse("ListOptions", &errors)
}

fn write_token(revision: u64, (namespace, name): &ObjectKey) -> String {
    let token = json!({ "v": "meta.k8s.io/v1", "rv": revision, "start": format!("{namespace}/{name}") });
    BASE64_URL_SAFE_NO_PAD.encode(token.to_string())
}

fn read_token(text: &str) -> Result<(u64, ObjectKey), Failure> {
    let refused = |why: &str| Failure::bad_request(format!("invalid continue token: continue key is not valid: {why}"));
    let invalid = || refused("incorrect encoded start resourceVersion 0 (version meta.k8s.io/v1)");
    let bytes = BASE64_URL_SAFE_NO_PAD
        .decode(text.trim_end_matches('='))
        .map_err(|_| refused(&format!("illegal base64 data at input byte {}", text.len())))?;
    go_json::scan(&bytes).map_err(|why| refused(&why))?;
    let token: Value = serde_json::from_slice(&bytes).map_err(|_| invalid())?;
    let (namespace, name) = token["start"].as_str().and_then(|start| start.split_once('/')).ok_or_else(invalid)?;
    Ok((token["rv"].as_u64().ok_or_else(invalid)?, (namespace.to_owned(), name.to_owned())))
}

fn token_expired() -> Failure {
    Failure::expired(
        "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.",
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::api::store::Next;

    fn pods() -> ResourceKey {
        ("".into(), "pods".into())
    }

    fn with_pods(count: usize) -> Store {
        let store = Store::new(1000);
        for index in 0..count {
            let name = format!("p{index}");
            let value =
                json!({ "metadata": { "name": name, "namespace": "a", "labels": { "odd": (index % 2).to_string() } } });
            store.change(&pods(), &("a".to_owned(), name), |_, _| (Some(Next::Write(value)), ()));
        }
        store
    }

    fn list(store: &Store, query: &str) -> Result<Page, Failure> {
        let query = Query::parse(Some(query));
        page(store, &pods(), None, &Selection::parse(&query, None)?, &query)
    }

    #[test]
    fn pages_show_one_moment_even_if_objects_change_between_them() {
        let store = with_pods(5);
        let first = list(&store, "limit=2").unwrap();
        assert_eq!((first.items.len(), first.remaining), (2, Some(3)));
        store.change(&pods(), &("a".to_owned(), "p3".to_owned()), |before, _| {
            (Some(Next::Remove(before.unwrap().value.clone())), ())
        });
        let rest = list(&store, &format!("limit=10&continue={}", first.next.unwrap())).unwrap();
        assert_eq!((rest.items.len(), rest.next, rest.revision), (3, None, first.revision));
    }

    #[test]
    fn a_page_token_that_is_too_old_is_gone() {
        let store = with_pods(3);
        let first = list(&store, "limit=1").unwrap();
        with_one_more(&store);
        store.compact();
        assert_eq!(list(&store, &format!("continue={}", first.next.unwrap())).unwrap_err().code, 410);
        assert_eq!(list(&store, "continue=nonsense").unwrap_err().code, 400);
    }

    fn with_one_more(store: &Store) {
        let value = json!({ "metadata": { "name": "x", "namespace": "a" } });
        store.change(&pods(), &("a".to_owned(), "x".to_owned()), |_, _| (Some(Next::Write(value)), ()));
    }

    #[test]
    fn selectors_hide_the_remaining_count() {
        let page = list(&with_pods(6), "limit=1&labelSelector=odd%3D1").unwrap();
        assert_eq!((page.items.len(), page.remaining, page.next.is_some()), (1, None, true));
        assert_eq!(
            list(&with_pods(1), "fieldSelector=spec.color%3Dred").unwrap_err().message,
            "\"spec.color\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
        );
    }

    #[test]
    fn a_revision_can_be_asked_for() {
        let store = with_pods(3);
        let past = store.revision() - 1;
        assert_eq!(list(&store, &format!("resourceVersion={past}&resourceVersionMatch=Exact")).unwrap().items.len(), 2);
        assert_eq!(list(&store, &format!("resourceVersion={past}")).unwrap().items.len(), 3, "not older than");
        assert_eq!(list(&store, "resourceVersion=999999").unwrap_err().code, 504);
        assert_eq!(list(&store, "resourceVersionMatch=Exact").unwrap_err().code, 422);
        assert_eq!(list(&store, "resourceVersion=x").unwrap_err().code, 400);
    }
}
