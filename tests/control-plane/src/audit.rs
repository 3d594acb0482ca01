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

/// Reads the log from its beginning. A line that is still being written is passed over.
pub fn of_account(log: &Path, namespace: &str, account: &str) -> Result<Account, String> {
    let text = fs::read_to_string(log).map_err(|why| format!("{}: {why}", log.display()))?;
    let user = format!("system:serviceaccount:{namespace}:{account}");
    let lines = text.lines().filter(|line| line.contains(&user));
    let mut found = Account::default();
    for line in lines.filter_map(|line| serde_json::from_str::<Line>(line).ok()) {
        let Line { verb, user: who, object_ref, response_status } = line;
        let Some(object) = object_ref.filter(|_| who.username == user) else { continue };
        let resource = object.resource.unwrap_or_default();
        let resource = object.subresource.iter().fold(resource, |resource, sub| format!("{resource}/{sub}"));
        let (group, namespace) = (object.api_group.unwrap_or_default(), object.namespace.unwrap_or_default());
        let one = Use { verb, group, resource, namespace };
        found.requests += 1;
        match response_status.and_then(|status| status.code) {
            Some(403) => found.refused.insert(one),
            _ => found.used.insert(one),
        };
    }
    Ok(found)
}
