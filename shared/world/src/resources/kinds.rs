//! Which resources exist: the description of one resource, the fixed table of built-in ones, and the registry that
//! merges the table with the custom resources of installed CRDs.

mod builtin;
mod definition;
mod registry;

pub use builtin::{BUILT_IN, BuiltIn};
pub use definition::{accepted_status, custom_resources, first_status};
pub use registry::{Group, Registry, compare_versions};

use crate::resources::crd::CustomVersion;
use crate::resources::names::NameRule;
use std::sync::Arc;

/// One resource of one version of one group.
#[derive(Clone, Debug)]
pub struct Resource {
    /// Empty for the core group.
    pub group: String,
    pub version: String,
    pub plural: String,
    pub singular: String,
    pub kind: String,
    pub list_kind: String,
    pub namespaced: bool,
    pub short_names: Vec<String>,
    pub categories: Vec<String>,
    pub verbs: Vec<String>,
    pub subresources: Vec<Subresource>,
    pub storage: Storage,
    /// Set for the resources of a CRD: its schema, printer columns and rules.
    pub custom: Option<Arc<CustomVersion>>,
}

/// Where and how the objects of a resource are kept. Two resources with the same `group` and `plural` here are two
/// views of the same objects (core and events.k8s.io Events).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Storage {
    pub group: String,
    pub plural: String,
    /// The version objects are stored in, which the storage version hash of discovery is made of.
    pub version: String,
    pub name_rule: NameRule,
    /// `metadata.generation` counts changes of anything but metadata and status.
    pub has_generation: bool,
    /// An unconditional PUT (no resourceVersion) is allowed.
    pub unconditional_update: bool,
    /// A PUT of an absent object creates it.
    pub create_on_update: bool,
}

/// What hangs below a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subresource {
    Status,
    Scale,
    Eviction,
    Binding,
    Log,
    /// Only namespaces: the finalizers of `spec`.
    Finalize,
}

impl Subresource {
    pub fn name(self) -> &'static str {
        match self {
            Subresource::Status => "status",
            Subresource::Scale => "scale",
            Subresource::Eviction => "eviction",
            Subresource::Binding => "binding",
            Subresource::Log => "log",
            Subresource::Finalize => "finalize",
        }
    }

    pub fn verbs(self) -> &'static [&'static str] {
        match self {
            Subresource::Status | Subresource::Scale => &["get", "patch", "update"],
            Subresource::Eviction | Subresource::Binding => &["create"],
            Subresource::Log => &["get"],
            Subresource::Finalize => &["update"],
        }
    }

    /// Group, version and kind of what is sent and answered, where it is not the resource's own.
    pub fn own_kind(self) -> Option<(&'static str, &'static str, &'static str)> {
        match self {
            Subresource::Scale => Some(("autoscaling", "v1", "Scale")),
            Subresource::Eviction => Some(("policy", "v1", "Eviction")),
            Subresource::Binding => Some(("", "v1", "Binding")),
            Subresource::Status | Subresource::Log | Subresource::Finalize => None,
        }
    }
}

impl Resource {
    /// What users of this version are warned of.
    pub fn deprecation(&self) -> Option<String> {
        self.custom.as_ref()?.deprecation.clone()
    }

    /// `v1` or `apps/v1`: what stands in `apiVersion`.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    pub fn subresource(&self, name: &str) -> Option<Subresource> {
        self.subresources.iter().copied().find(|one| one.name() == name)
    }

    pub fn allows(&self, verb: &str) -> bool {
        self.verbs.iter().any(|one| one == verb)
    }
}
