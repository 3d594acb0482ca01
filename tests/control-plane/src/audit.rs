//! What each account really used, from the API server's audit log.

use serde::Deserialize;
use std::{collections::BTreeSet, fs, path::Path};

/// One use of a right, in the words of RBAC.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Use {
    pub verb: String,
    pub group: String,
    /// With its subresource, as in `pods/eviction`.
    pub resource: String,
    /// Empty for what is asked of the whole cluster.
    pub namespace: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    verb: String,
    user: User,
    object_ref: Option<ObjectRef>,
    response_status: Option<Status>,
}

#[derive(Debug, Deserialize)]
struct User {
    username: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ObjectRef {
    resource: Option<String>,
    name: Option<String>,
    namespace: Option<String>,
    api_group: Option<String>,
    subresource: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Status {
    code: Option<u16>,
}

/// What a service account was allowed and what it was refused, so far.
#[derive(Debug, Default)]
pub struct Account {
    pub used: BTreeSet<Use>,
    pub refused: BTreeSet<Use>,
    pub requests: usize,
}

/// Reads the log from its beginning.
pub fn of_account(log: &Path, namespace: &str, account: &str) -> Result<Account, String> {
    let user = format!("system:serviceaccount:{namespace}:{account}");
    let mut found = Account::default();
    for (verb, object, code) in
        lines(log, &user)?.into_iter().filter(|line| line.user.username == user).filter_map(parts)
    {
        let resource = object.resource.unwrap_or_default();
        let resource = object.subresource.iter().fold(resource, |resource, sub| format!("{resource}/{sub}"));
        let (group, namespace) = (object.api_group.unwrap_or_default(), object.namespace.unwrap_or_default());
        let one = Use { verb, group, resource, namespace };
        found.requests += 1;
        match code {
            Some(403) => found.refused.insert(one),
            _ => found.used.insert(one),
        };
    }
    Ok(found)
}

/// The names of all objects of a resource that were ever made and that begin so.
pub fn created(log: &Path, resource: &str, prefix: &str) -> Result<Vec<String>, String> {
    let made = lines(log, prefix)?.into_iter().filter_map(parts).filter(|(verb, object, code)| {
        verb == "create"
            && *code == Some(201)
            && object.resource.as_deref() == Some(resource)
            && object.subresource.is_none()
    });
    let names = made.filter_map(|(_, object, _)| object.name);
    Ok(names.filter(|name| name.starts_with(prefix)).collect())
}

/// How every eviction of a pod whose name begins so was answered, in order.
pub fn evictions(log: &Path, prefix: &str) -> Result<Vec<u16>, String> {
    let asked = lines(log, "\"eviction\"")?.into_iter().filter_map(parts).filter(|(verb, object, _)| {
        let name = object.name.as_deref().unwrap_or_default();
        verb == "create" && object.subresource.as_deref() == Some("eviction") && name.starts_with(prefix)
    });
    Ok(asked.filter_map(|(_, _, code)| code).collect())
}

/// Those that have the text in them. A line that is still being written is passed over.
fn lines(log: &Path, text: &str) -> Result<Vec<Line>, String> {
    let all = fs::read_to_string(log).map_err(|why| format!("{}: {why}", log.display()))?;
    Ok(all.lines().filter(|line| line.contains(text)).filter_map(|line| serde_json::from_str(line).ok()).collect())
}

fn parts(line: Line) -> Option<(String, ObjectRef, Option<u16>)> {
    Some((line.verb, line.object_ref?, line.response_status.and_then(|status| status.code)))
}
