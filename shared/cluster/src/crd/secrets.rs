//! References to Secrets in node classes, and the values once somebody has read them.

use super::schema::DNS_NAME;
use kube::KubeSchema;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, fmt};

/// One key of a Secret in the namespace that pilotlight runs in. A class cannot name another namespace: whoever may write
/// classes would otherwise read every Secret that pilotlight may.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, KubeSchema)]
pub struct SecretKeyReference {
    /// The name of the Secret. It is looked for in the namespace that pilotlight runs in.
    #[schemars(length(min = 1, max = 253), regex(pattern = DNS_NAME))]
    pub name: String,
    /// The key in its data.
    #[schemars(length(min = 1, max = 253), regex(pattern = "^[-._a-zA-Z0-9]+$"))]
    pub key: String,
}

/// What the references stand for. It has no way to show a value.
#[derive(Clone, Default)]
pub struct Secrets(BTreeMap<SecretKeyReference, String>);

/// A Secret, or a key in it, that a class names and that is not there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the node class names key {} of Secret {}, which is not there: create it in pilotlight's namespace", .0.key, .0.name)]
pub struct MissingSecret(pub SecretKeyReference);

impl Secrets {
    /// The value as a class means it: people end files with a line break, and no secret has one there.
    pub(super) fn get(&self, reference: &SecretKeyReference) -> Result<&str, MissingSecret> {
        let value = self.0.get(reference).map(|value| value.trim_end_matches(['\r', '\n']));
        value.filter(|value| !value.is_empty()).ok_or_else(|| MissingSecret(reference.clone()))
    }
}

impl FromIterator<(SecretKeyReference, String)> for Secrets {
    fn from_iter<T: IntoIterator<Item = (SecretKeyReference, String)>>(values: T) -> Self {
        Secrets(values.into_iter().collect())
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}
