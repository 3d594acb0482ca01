//! From a CustomResourceDefinition object: the resources it makes, and the status it gets once accepted.

use super::{Resource, Storage, Subresource};
use crate::resources::crd::CustomVersion;
use crate::resources::look::{at, has, items, text};
use crate::resources::names::NameRule;
use serde_json::{Value, json};
use std::sync::Arc;

/// A custom resource's verbs, in the order a real server lists them.
const CUSTOM_VERBS: [&str; 8] = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];

/// One resource for each served version of the CRD.
pub fn custom_resources(definition: &Value) -> Vec<Resource> {
    let names = at(definition, &["spec", "names"]);
    let kind = text(names, &["kind"]);
    let lower = kind.to_lowercase();
    let or = |name: &str, otherwise: String| match text(names, &[name]) {
        "" => otherwise,
        given => given.to_owned(),
    };
    let stored = items(definition, &["spec", "versions"])
        .iter()
        .find(|version| at(version, &["storage"]) == true)
        .map(|version| text(version, &["name"]))
        .unwrap_or_default();
    let served = items(definition, &["spec", "versions"]).iter().filter(|version| at(version, &["served"]) == true);
    served
        .map(|version| {
            let mut subresources = Vec::new();
            if has(version, &["subresources", "scale"]) {
                subresources.push(Subresource::Scale);
            }
            if has(version, &["subresources", "status"]) {
                subresources.push(Subresource::Status);
            }
            Resource {
                group: text(definition, &["spec", "group"]).to_owned(),
                version: text(version, &["name"]).to_owned(),
                plural: text(names, &["plural"]).to_owned(),
                singular: or("singular", lower.clone()),
                kind: kind.to_owned(),
                list_kind: or("listKind", format!("{kind}List")),
                namespaced: text(definition, &["spec", "scope"]) != "Cluster",
                short_names: strings(items(names, &["shortNames"])),
                categories: strings(items(names, &["categories"])),
                verbs: CUSTOM_VERBS.iter().map(|verb| (*verb).to_owned()).collect(),
                subresources,
                storage: Storage {
                    group: text(definition, &["spec", "group"]).to_owned(),
                    plural: text(names, &["plural"]).to_owned(),
                    version: stored.to_owned(),
                    name_rule: NameRule::Subdomain,
                    has_generation: true,
                    unconditional_update: false,
                    create_on_update: false,
                },
                custom: Some(Arc::new(CustomVersion::of(definition, version))),
            }
        })
        .collect()
}

/// The status of a CRD that nobody has looked at yet.
pub fn first_status(definition: &Value) -> Value {
    let storage = |version: &&Value| at(version, &["storage"]) == true;
    let stored: Vec<&str> = items(definition, &["spec", "versions"])
        .iter()
        .filter(storage)
        .map(|version| text(version, &["name"]))
        .collect();
    json!({"conditions": null, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": stored})
}

/// The status of a CRD whose names nobody else holds: accepted and established, with the storage version remembered.
/// `now` is the time of the conditions; earlier stored versions stay listed until someone migrates and removes them.
pub fn accepted_status(definition: &Value, now: &str) -> Value {
    let names = at(definition, &["spec", "names"]);
    let mut accepted = names.clone();
    let kind = text(names, &["kind"]);
    if text(names, &["singular"]).is_empty() {
        accepted["singular"] = json!(kind.to_lowercase());
    }
    if text(names, &["listKind"]).is_empty() {
        accepted["listKind"] = json!(format!("{kind}List"));
    }
    let mut stored = strings(items(definition, &["status", "storedVersions"]));
    for version in items(definition, &["spec", "versions"]) {
        let name = text(version, &["name"]);
        if at(version, &["storage"]) == true && !stored.iter().any(|one| one == name) {
            stored.push(name.to_owned());
        }
    }
    let condition = |kind: &str, reason: &str, message: &str| {
        let before = items(definition, &["status", "conditions"]).iter().find(|one| text(one, &["type"]) == kind);
        let since = match before {
            Some(one) if text(one, &["status"]) == "True" => text(one, &["lastTransitionTime"]),
            _ => now,
        };
        json!({"type": kind, "status": "True", "lastTransitionTime": since, "reason": reason, "message": message})
    };
    json!({
        "conditions": [
            condition("NamesAccepted", "NoConflicts", "no conflicts found"),
            condition("Established", "InitialNamesAccepted", "the initial names have been accepted"),
        ],
        "acceptedNames": accepted,
        "storedVersions": stored,
    })
}

fn strings(list: &[Value]) -> Vec<String> {
    list.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_accepted_definition_is_established_and_keeps_its_first_transition() {
        let mut definition = json!({"spec": {"names": {"plural": "toys", "kind": "Toy"},
            "versions": [{"name": "v1", "storage": true, "served": true}]}});
        definition["status"] = accepted_status(&definition, "2026-01-01T00:00:00Z");
        let again = accepted_status(&definition, "2026-02-02T00:00:00Z");
        assert_eq!(again, definition["status"]);
        assert_eq!(again["acceptedNames"]["listKind"], "ToyList");
        assert_eq!(again["storedVersions"], json!(["v1"]));
    }
}
