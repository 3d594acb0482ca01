//! What each account may do, from its manifest, against what its process did, from the audit log.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use k8s_openapi::api::rbac::v1::PolicyRule;
use serde::Deserialize;
use std::collections::BTreeSet;

use crate::{
    account::{self, NAMESPACE},
    audit::{self, Use},
    site::Site,
};

/// Asked for by an admission plugin on behalf of the process, so no request of its own shows it. Each is proved by taking
/// it away.
pub const ASKED_BY_ADMISSION: [(&str, &str, &str, &str); 7] = [
    ("on-nodeclaim", "update", "karpenter.sh", "nodeclaims/finalizers"),
    ("on-nodeclaim", "delete", "", "nodes"),
    ("on-pending-pod", "update", "karpenter.sh", "nodepools/finalizers"),
    ("on-idle-timer", "update", "karpenter.sh", "nodeclaims/finalizers"),
    ("on-idle-timer", "update", "karpenter.sh", "nodepools/finalizers"),
    ("pilotlight", "update", "karpenter.sh", "nodeclaims/finalizers"),
    ("pilotlight", "update", "karpenter.sh", "nodepools/finalizers"),
];

#[derive(Debug, Deserialize)]
struct Role {
    kind: String,
    metadata: RoleMetadata,
    #[serde(default)]
    rules: Vec<PolicyRule>,
}

#[derive(Debug, Deserialize)]
struct RoleMetadata {
    #[serde(default)]
    namespace: String,
}

/// One line for each verb, group and resource; the namespace is empty where it is all of them.
pub fn granted(function: &str) -> BTreeSet<Use> {
    let text = account::manifest(function).unwrap();
    let roles: Vec<Role> = serde_saphyr::from_multiple(&text).unwrap_or_else(|why| panic!("{function}: {why}"));
    let mut all = BTreeSet::new();
    for role in roles.iter().filter(|role| role.kind.ends_with("Role")) {
        for rule in &role.rules {
            let (groups, resources) = (rule.api_groups.iter().flatten(), rule.resources.iter().flatten());
            for (group, resource) in groups.flat_map(|group| resources.clone().map(move |one| (group, one))) {
                for verb in &rule.verbs {
                    let (verb, group, resource) = (verb.clone(), group.clone(), resource.clone());
                    all.insert(Use { verb, group, resource, namespace: role.metadata.namespace.clone() });
                }
            }
        }
    }
    all
}

/// A right in one namespace says nothing where the same is granted in all of them.
pub fn without_what_is_granted_everywhere(all: BTreeSet<Use>) -> BTreeSet<Use> {
    let is_needed = |one: &&Use| as_granted_everywhere(one).is_none_or(|everywhere| !all.contains(&everywhere));
    all.iter().filter(is_needed).cloned().collect()
}

/// The same right for the whole cluster, of one that is for a namespace.
fn as_granted_everywhere(one: &Use) -> Option<Use> {
    (!one.namespace.is_empty()).then(|| Use { namespace: String::new(), ..one.clone() })
}

/// Panics with the lines that are too many and those that are missing.
pub fn check(site: &Site, function: &str) {
    let account = audit::of_account(&site.control_plane.facts.audit_log, NAMESPACE, function).unwrap();
    let granted = granted(function);
    assert!(account.requests > 0, "{function} asked for nothing, so nothing is proved");
    assert!(account.refused.is_empty(), "{function} was refused: {}", lines(&account.refused));
    let used: BTreeSet<Use> = account.used.iter().map(|one| as_granted(one, &granted)).collect();
    let unseen = |one: &Use| {
        let line = (function, one.verb.as_str(), one.group.as_str(), one.resource.as_str());
        ASKED_BY_ADMISSION.contains(&line)
    };
    let unused: BTreeSet<Use> = granted.difference(&used).filter(|one| !unseen(one)).cloned().collect();
    let missing: BTreeSet<Use> = used.difference(&granted).cloned().collect();
    assert!(unused.is_empty(), "{function} may do what it never did: {}", lines(&unused));
    assert!(missing.is_empty(), "{function} did what its role does not say: {}", lines(&missing));
    println!(
        "{function}: {} rights, each used or listed with its reason, in {} requests",
        granted.len(),
        account.requests
    );
}

/// A use in one namespace is a use of the rule for that namespace, or else of the rule for all of them.
fn as_granted(one: &Use, granted: &BTreeSet<Use>) -> Use {
    let everywhere = as_granted_everywhere(one).filter(|everywhere| granted.contains(everywhere));
    everywhere.filter(|_| !granted.contains(one)).unwrap_or_else(|| one.clone())
}

fn lines(uses: &BTreeSet<Use>) -> String {
    let line = |one: &Use| {
        let place = if one.namespace.is_empty() { "the cluster" } else { &one.namespace };
        format!(
            "\n  {} {} ({}) in {place}",
            one.verb,
            one.resource,
            if one.group.is_empty() { "core" } else { &one.group }
        )
    };
    uses.iter().map(line).collect()
}
