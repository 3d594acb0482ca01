//! The registry: every resource the server serves now, by group, version and plural, or by kind.

use super::{BUILT_IN, BuiltIn, Resource, Subresource, custom_resources};
use serde_json::Value;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The order in which a real server lists its groups; custom groups follow by name.
const GROUP_ORDER: &[&str] = &[
    "",
    "apps",
    "events.k8s.io",
    "batch",
    "policy",
    "storage.k8s.io",
    "apiextensions.k8s.io",
    "scheduling.k8s.io",
    "coordination.k8s.io",
];

/// One API group with its versions, the preferred first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    pub name: String,
    pub versions: Vec<String>,
}

/// The built-in resources, and those of the CRDs installed so far.
#[derive(Clone, Debug)]
pub struct Registry {
    built_in: Vec<Arc<Resource>>,
    custom: BTreeMap<String, Vec<Arc<Resource>>>,
}

impl Default for Registry {
    fn default() -> Self {
        Registry::new()
    }
}

impl Registry {
    pub fn new() -> Self {
        let built_in = BUILT_IN.iter().map(BuiltIn::to_resource).map(Arc::new).collect();
        Registry { built_in, custom: BTreeMap::new() }
    }

    /// Serves the resources of a CRD from now on, in place of what it served before.
    pub fn install(&mut self, definition: &Value) {
        let name = crate::resources::look::text(definition, &["metadata", "name"]).to_owned();
        let resources = custom_resources(definition).into_iter().map(Arc::new).collect();
        self.custom.insert(name, resources);
    }

    /// Stops serving the resources of a deleted CRD. True when there were any.
    pub fn remove(&mut self, definition_name: &str) -> bool {
        self.custom.remove(definition_name).is_some()
    }

    pub fn resources(&self) -> impl Iterator<Item = &Arc<Resource>> {
        self.built_in.iter().chain(self.custom.values().flatten())
    }

    pub fn find(&self, group: &str, version: &str, plural: &str) -> Option<Arc<Resource>> {
        self.resources().find(|one| one.group == group && one.version == version && one.plural == plural).cloned()
    }

    pub fn has_group(&self, group: &str) -> bool {
        self.resources().any(|one| one.group == group)
    }

    pub fn find_subresource(
        &self,
        group: &str,
        version: &str,
        plural: &str,
        subresource: &str,
    ) -> Option<(Arc<Resource>, Subresource)> {
        let resource = self.find(group, version, plural)?;
        let part = resource.subresource(subresource)?;
        Some((resource, part))
    }

    pub fn find_kind(&self, group: &str, version: &str, kind: &str) -> Option<Arc<Resource>> {
        self.resources().find(|one| one.group == group && one.version == version && one.kind == kind).cloned()
    }

    /// By the text of an object's `apiVersion` and `kind`, or of an ownerReference.
    pub fn find_object(&self, api_version: &str, kind: &str) -> Option<Arc<Resource>> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        self.find_kind(group, version, kind)
    }

    /// The resources of one group version, in order of their plurals as discovery lists them.
    pub fn of_version(&self, group: &str, version: &str) -> Vec<Arc<Resource>> {
        let mut found: Vec<_> =
            self.resources().filter(|one| one.group == group && one.version == version).cloned().collect();
        found.sort_by(|left, right| left.plural.cmp(&right.plural));
        found
    }

    /// All groups, the core group (empty name) first.
    pub fn groups(&self) -> Vec<Group> {
        let mut versions: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for resource in self.resources() {
            let known = versions.entry(&resource.group).or_default();
            if !known.contains(&resource.version) {
                known.push(resource.version.clone());
            }
        }
        let mut groups: Vec<Group> = versions
            .into_iter()
            .map(|(name, mut versions)| {
                versions.sort_by(|left, right| compare_versions(left, right));
                Group { name: name.to_owned(), versions }
            })
            .collect();
        // Stable, so that custom groups keep the order of their names.
        groups.sort_by_key(|group| GROUP_ORDER.iter().position(|one| *one == group.name).unwrap_or(usize::MAX));
        groups
    }
}

/// Kubernetes' order of versions: v10 before v2 before v1beta1 before v1alpha1 before anything else by name.
pub fn compare_versions(left: &str, right: &str) -> Ordering {
    match (rank(left), rank(right)) {
        (Some(one), Some(other)) => other.cmp(&one),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => left.cmp(right),
    }
}

fn rank(version: &str) -> Option<(u8, u64, u64)> {
    let digits = version.strip_prefix('v')?;
    let end = digits.find(|one: char| !one.is_ascii_digit()).unwrap_or(digits.len());
    let major = digits[..end].parse().ok()?;
    let rest = &digits[end..];
    if rest.is_empty() {
        return Some((3, major, 0));
    }
    let (stage, minor) =
        rest.strip_prefix("beta").map(|minor| (2, minor)).or(rest.strip_prefix("alpha").map(|minor| (1, minor)))?;
    Some((stage, major, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn versions_order_by_stage_then_number() {
        let mut versions = vec!["foo1", "v1alpha1", "v2", "v1beta2", "v10", "v1beta10", "foo10", "v1"];
        versions.sort_by(|left, right| compare_versions(left, right));
        assert_eq!(versions, ["v10", "v2", "v1", "v1beta10", "v1beta2", "v1alpha1", "foo1", "foo10"]);
    }

    #[test]
    fn a_resource_is_found_by_its_path_its_subresource_and_its_kind() {
        let registry = Registry::new();
        assert_eq!(registry.find("", "v1", "pods").map(|pod| pod.kind.clone()).as_deref(), Some("Pod"));
        assert!(registry.find_subresource("", "v1", "pods", "eviction").is_some());
        assert!(registry.find_subresource("", "v1", "configmaps", "status").is_none());
        assert!(registry.find_object("apps/v1", "Deployment").is_some());
        assert!(registry.find("apps", "v1beta1", "deployments").is_none());
        assert_eq!(registry.groups()[0].name, "");
    }

    #[test]
    fn both_events_share_one_store() {
        let registry = Registry::new();
        let core = registry.find("", "v1", "events").map(|one| one.storage.clone());
        assert_eq!(core, registry.find("events.k8s.io", "v1", "events").map(|one| one.storage.clone()));
    }

    #[test]
    fn an_installed_definition_is_served_until_it_is_removed() {
        let mut registry = Registry::new();
        registry.install(&json!({"metadata": {"name": "toys.example.com"}, "spec": {"group": "example.com",
            "scope": "Namespaced", "names": {"plural": "toys", "kind": "Toy"},
            "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object"}}},
                {"name": "v1beta1", "served": false, "storage": false}]}}));
        let toy = registry.find("example.com", "v1", "toys");
        assert_eq!(toy.as_ref().map(|toy| toy.singular.clone()).as_deref(), Some("toy"));
        assert!(registry.find_subresource("example.com", "v1", "toys", "status").is_some());
        assert!(registry.find("example.com", "v1beta1", "toys").is_none());
        assert!(registry.remove("toys.example.com"));
        assert!(registry.find("example.com", "v1", "toys").is_none());
    }
}
