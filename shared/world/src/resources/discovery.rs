//! Discovery: which groups, versions and resources the server has, in the old shape and the aggregated one.

use crate::resources::kinds::{Group, Registry, Resource, Subresource};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

/// The content type of the aggregated answers, and what a client sends in `Accept` to get them.
pub const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// True when the client prefers aggregated discovery v2. Media type parameters come in any order.
pub fn accepts_aggregated(accept: &str) -> bool {
    accept.split(',').any(|one| {
        let parts: Vec<&str> = one.split(';').map(str::trim).collect();
        ["application/json", "g=apidiscovery.k8s.io", "v=v2", "as=APIGroupDiscoveryList"]
            .iter()
            .all(|wanted| parts.contains(wanted))
    })
}

/// `/version`.
pub fn version() -> Value {
    json!({
        "major": "1", "minor": "36", "emulationMajor": "1", "emulationMinor": "36", "minCompatibilityMajor": "1",
        "minCompatibilityMinor": "35", "gitVersion": "v1.36.0", "gitCommit": "0000000000000000000000000000000000000000",
        "gitTreeState": "clean", "buildDate": "2026-04-22T00:00:00Z", "goVersion": "go1.26.0", "compiler": "gc",
        "platform": "linux/amd64",
    })
}

/// `/api`.
pub fn core_versions(server_address: &str) -> Value {
    json!({"kind": "APIVersions", "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": server_address}]})
}

/// `/apis`.
pub fn group_list(registry: &Registry) -> Value {
    let groups: Vec<Value> =
        registry.groups().iter().filter(|group| !group.name.is_empty()).map(group_summary).collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

/// `/apis/<group>`; none when there is no such group.
pub fn group(registry: &Registry, name: &str) -> Option<Value> {
    let group = registry.groups().into_iter().find(|group| group.name == name && !name.is_empty())?;
    let mut summary = group_summary(&group);
    summary["kind"] = json!("APIGroup");
    summary["apiVersion"] = json!("v1");
    Some(summary)
}

fn group_summary(group: &Group) -> Value {
    let version = |version: &String| json!({"groupVersion": format!("{}/{version}", group.name), "version": version});
    json!({"name": group.name, "versions": group.versions.iter().map(version).collect::<Vec<_>>(),
        "preferredVersion": group.versions.first().map(version)})
}

/// `/api/v1` and `/apis/<group>/<version>`; none when there is no such version.
pub fn resource_list(registry: &Registry, group: &str, version: &str) -> Option<Value> {
    let found = registry.of_version(group, version);
    if found.is_empty() {
        return None;
    }
    let resources: Vec<Value> = found.iter().flat_map(|resource| resource_entries(resource)).collect();
    let group_version = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
    let mut list = json!({"kind": "APIResourceList", "groupVersion": group_version, "resources": resources});
    // The core version answers without it, for the oldest of clients.
    if !group.is_empty() {
        list["apiVersion"] = json!("v1");
    }
    Some(list)
}

fn resource_entries(resource: &Resource) -> Vec<Value> {
    let mut entry = json!({
        "name": resource.plural, "singularName": resource.singular, "namespaced": resource.namespaced,
        "kind": resource.kind, "verbs": resource.verbs, "storageVersionHash": storage_version_hash(resource),
    });
    if !resource.short_names.is_empty() {
        entry["shortNames"] = json!(resource.short_names);
    }
    if !resource.categories.is_empty() {
        entry["categories"] = json!(resource.categories);
    }
    let mut entries = vec![entry];
    for part in &resource.subresources {
        let mut entry = Map::new();
        entry.insert("name".to_owned(), json!(format!("{}/{}", resource.plural, part.name())));
        entry.insert("singularName".to_owned(), json!(""));
        entry.insert("namespaced".to_owned(), json!(resource.namespaced));
        entry.insert("kind".to_owned(), json!(resource.kind));
        entry.insert("verbs".to_owned(), json!(part.verbs()));
        if let Some((group, version, kind)) = part.own_kind() {
            entry.insert("kind".to_owned(), json!(kind));
            if !group.is_empty() {
                entry.insert("group".to_owned(), json!(group));
                entry.insert("version".to_owned(), json!(version));
            }
        }
        entries.push(Value::Object(entry));
    }
    entries
}

/// `/api` and `/apis` for clients that accept the aggregated shape.
pub fn aggregated(registry: &Registry, core: bool) -> Value {
    let groups = registry.groups().into_iter().filter(|group| group.name.is_empty() == core);
    let items: Vec<Value> = groups
        .map(|group| {
            let versions: Vec<Value> =
                group.versions.iter().map(|version| aggregated_version(registry, &group.name, version)).collect();
            let metadata = if core { json!({}) } else { json!({"name": group.name}) };
            json!({"metadata": metadata, "versions": versions})
        })
        .collect();
    json!({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items})
}

fn aggregated_version(registry: &Registry, group: &str, version: &str) -> Value {
    let resources: Vec<Value> = registry
        .of_version(group, version)
        .iter()
        .map(|resource| {
            let mut entry = json!({
                "resource": resource.plural, "responseKind": response_kind(resource, None),
                "scope": if resource.namespaced { "Namespaced" } else { "Cluster" },
                "singularResource": resource.singular, "verbs": resource.verbs,
            });
            if !resource.short_names.is_empty() {
                entry["shortNames"] = json!(resource.short_names);
            }
            if !resource.categories.is_empty() {
                entry["categories"] = json!(resource.categories);
            }
            if !resource.subresources.is_empty() {
                let part = |part: &Subresource| {
                    json!({"subresource": part.name(), "responseKind": response_kind(resource, Some(*part)),
                        "verbs": part.verbs()})
                };
                entry["subresources"] = Value::Array(resource.subresources.iter().map(part).collect());
            }
            entry
        })
        .collect();
    json!({"version": version, "resources": resources, "freshness": "Current"})
}

fn response_kind(resource: &Resource, part: Option<Subresource>) -> Value {
    let own = (resource.group.as_str(), resource.version.as_str(), resource.kind.as_str());
    let (group, version, kind) = part.and_then(Subresource::own_kind).unwrap_or(own);
    // Built-in resources leave out what their group and version say already.
    if resource.custom.is_none() && (group, version) == (own.0, own.1) {
        return json!({"group": "", "version": "", "kind": kind});
    }
    json!({"group": group, "version": version, "kind": kind})
}

/// Tells clients when the stored version changed: the first eight bytes of a hash over group, version and kind.
fn storage_version_hash(resource: &Resource) -> String {
    // Definitions are still kept in the version they began with.
    let definition = resource.group == "apiextensions.k8s.io";
    let version = if definition { "v1beta1" } else { resource.storage.version.as_str() };
    let name = format!("{}/{version}/{}", resource.storage.group, resource.kind);
    let digest = Sha256::digest(name.as_bytes());
    base64(&digest[..8])
}

/// Standard base64 with padding.
pub fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let bits =
            chunk.iter().enumerate().fold(0_u32, |bits, (place, byte)| bits | u32::from(*byte) << (16 - 8 * place));
        for place in 0..4 {
            let index = (bits >> (18 - 6 * place)) & 63;
            text.push(if place <= chunk.len() { char::from(ALPHABET[index as usize]) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_are_listed_with_their_parts() {
        let registry = Registry::new();
        let Some(list) = resource_list(&registry, "", "v1") else { unreachable!("core is built in") };
        let find = |name: &str| {
            list["resources"]
                .as_array()
                .into_iter()
                .flatten()
                .find(|one| one["name"] == name)
                .cloned()
                .unwrap_or_default()
        };
        assert_eq!(find("pods")["shortNames"], json!(["po"]));
        // The hashes a real server prints.
        assert_eq!(find("pods")["storageVersionHash"], "xPOwRZ+Yhw8=");
        assert_eq!(find("nodes")["storageVersionHash"], "XwShjMxG9Fs=");
        assert_eq!(find("pods/eviction")["group"], "policy");
        assert_eq!(find("pods/status")["kind"], "Pod");
        assert_eq!(resource_list(&registry, "apps", "v2"), None);
    }

    #[test]
    fn groups_name_their_preferred_version() {
        let registry = Registry::new();
        let names: Vec<Value> =
            group_list(&registry)["groups"].as_array().into_iter().flatten().map(|one| one["name"].clone()).collect();
        assert_eq!(names[0], "apps");
        assert_eq!(
            group(&registry, "apps").map(|one| one["preferredVersion"]["groupVersion"].clone()),
            Some(json!("apps/v1"))
        );
        assert_eq!(group(&registry, ""), None);
    }

    #[test]
    fn the_aggregated_shape_is_told_by_its_media_type() {
        assert!(accepts_aggregated(
            "application/json;v=v2;g=apidiscovery.k8s.io;as=APIGroupDiscoveryList,application/json"
        ));
        assert!(!accepts_aggregated("application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"));
        let core = aggregated(&Registry::new(), true);
        assert_eq!(core["items"].as_array().map(Vec::len), Some(1));
        assert_eq!(aggregated(&Registry::new(), false)["items"][0]["metadata"]["name"], "apps");
    }
}
