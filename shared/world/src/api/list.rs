//! Lists: selectors, pages that stay consistent, and the meanings of `resourceVersion`.

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use http::StatusCode;
use serde_json::{Value, json};
use std::sync::Arc;

use super::{
    request::Query,
    selector::{FieldSelector, LabelSelector},
    status::Failure,
    store::{ObjectKey, ResourceKey, Store, Stored},
};

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
    /// `supported` are the fields of the resource that can be asked about, beside name and namespace.
    pub fn parse(query: &Query, supported: &[&str]) -> Result<Self, Failure> {
        let labels =
            LabelSelector::parse(query.get("labelSelector").unwrap_or_default()).map_err(Failure::bad_request)?;
        let fields =
            FieldSelector::parse(query.get("fieldSelector").unwrap_or_default()).map_err(Failure::bad_request)?;
        let known =
            |field: &str| ["metadata.name", "metadata.namespace"].contains(&field) || supported.contains(&field);
        if let Some(field) = fields.fields().find(|field| !known(field)) {
            return Err(Failure::bad_request(format!("field label not supported: {field}")));
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
    let limit = limit(query)?;
    let token = query.get("continue").map(read_token).transpose()?;
    check_version_match(query, token.is_some(), limit)?;
    let current = store.revision();
    let asked = query.get("resourceVersion").filter(|_| token.is_none()).map(version).transpose()?;
    if let Some(asked) = asked.filter(|asked| *asked > current) {
        return Err(Failure::too_large_revision(asked, current));
    }
    let exact = asked.filter(|_| query.get("resourceVersionMatch") == Some("Exact"));
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
    let invalid = || {
        let why = "strconv.ParseUint: parsing";
        Failure::bad_request(format!("Invalid value: {text:?}: {why} {text:?}: invalid syntax"))
    };
    text.parse().map_err(|_| invalid())
}

fn limit(query: &Query) -> Result<Option<usize>, Failure> {
    let Some(text) = query.get("limit") else { return Ok(None) };
    let number: i64 = text
        .parse()
        .map_err(|_| Failure::bad_request(format!("strconv.ParseInt: parsing {text:?}: invalid syntax")))?;
    Ok(usize::try_from(number).ok().filter(|limit| *limit > 0))
}

fn check_version_match(query: &Query, continues: bool, limit: Option<usize>) -> Result<(), Failure> {
    let invalid = |message: &str| {
        Err(Failure::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "Invalid",
            format!("ListOptions.meta.k8s.io \"\" is invalid: {message}"),
        ))
    };
    let Some(wanted) = query.get("resourceVersionMatch") else {
        let exact_needed = limit.is_some() && continues && query.get("resourceVersion").is_some_and(|text| text != "0");
        if exact_needed {
            return Err(Failure::bad_request("specifying resource version is not allowed when using continue"));
        }
        return Ok(());
    };
    match (wanted, query.get("resourceVersion")) {
        ("Exact" | "NotOlderThan", None) => invalid(
            "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided",
        ),
        ("Exact", Some("0")) => invalid(
            "resourceVersionMatch: Forbidden: resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"",
        ),
        ("Exact" | "NotOlderThan", Some(_)) if continues => {
            invalid("resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when continue is provided")
        }
        ("Exact" | "NotOlderThan", Some(_)) => Ok(()),
        (other, _) => invalid(&format!(
            "resourceVersionMatch: Unsupported value: {other:?}: supported values: \"Exact\", \"NotOlderThan\", \"\""
        )),
    }
}

fn write_token(revision: u64, (namespace, name): &ObjectKey) -> String {
    let token = json!({ "v": "meta.k8s.io/v1", "rv": revision, "start": format!("{namespace}/{name}") });
    BASE64_URL_SAFE_NO_PAD.encode(token.to_string())
}

fn read_token(text: &str) -> Result<(u64, ObjectKey), Failure> {
    let invalid = || Failure::bad_request("continue key is not valid: illegal base64 data or unknown version");
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(text.trim_end_matches('=')).map_err(|_| invalid())?;
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
        page(store, &pods(), None, &Selection::parse(&query, &[])?, &query)
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
            "field label not supported: spec.color"
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
