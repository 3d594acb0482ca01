//! What several objects have in common: identity, times, amounts, taints.

use jiff::Timestamp;
use k8s_openapi::{
    api::core::v1::Taint as KubeTaint,
    apimachinery::pkg::{
        api::resource::Quantity as KubeQuantity,
        apis::meta::v1::{ObjectMeta, Time},
    },
};
use model::{Effect, Namespace, ObjectName, ResourceVersion, Resources, Taint, Uid};
use std::collections::BTreeMap;

/// What every object has that an API server sends.
pub(crate) struct Identity {
    pub name: ObjectName,
    pub uid: Uid,
    pub version: ResourceVersion,
    pub created_at: Timestamp,
}

/// The error says which field an API server left out: none ever does.
pub(crate) fn identity(metadata: &ObjectMeta) -> Result<Identity, String> {
    let bad = |error: model::InvalidId| error.to_string();
    let Some(Time(created_at)) = metadata.creation_timestamp else {
        return Err("metadata.creationTimestamp is missing".to_owned());
    };
    Ok(Identity {
        name: ObjectName::new(metadata.name.clone().unwrap_or_default()).map_err(bad)?,
        uid: Uid::new(metadata.uid.clone().unwrap_or_default()).map_err(bad)?,
        version: version(metadata)?,
        created_at,
    })
}

pub(crate) fn version(metadata: &ObjectMeta) -> Result<ResourceVersion, String> {
    ResourceVersion::new(metadata.resource_version.clone().unwrap_or_default()).map_err(|error| error.to_string())
}

pub(crate) fn namespace(metadata: &ObjectMeta) -> Result<Namespace, String> {
    Namespace::new(metadata.namespace.clone().unwrap_or_default()).map_err(|error| error.to_string())
}

pub(crate) fn deleted_at(metadata: &ObjectMeta) -> Option<Timestamp> {
    metadata.deletion_timestamp.as_ref().map(|Time(at)| *at)
}

/// Kubernetes keeps whole seconds: what is written finer would come back as something else.
pub(crate) fn in_seconds(at: Timestamp) -> Timestamp {
    Timestamp::from_second(at.as_second()).unwrap_or(at)
}

/// The error is a sentence that names the field.
pub(crate) fn resources(path: &str, given: &BTreeMap<String, KubeQuantity>) -> Result<Resources, String> {
    let amount = |(name, KubeQuantity(text)): (&String, &KubeQuantity)| match text.parse() {
        Ok(amount) => Ok((name.clone(), amount)),
        Err(error) => Err(format!("{path}.{name}: {error}")),
    };
    given.iter().map(amount).collect()
}

/// The error is a sentence that names the field.
pub(crate) fn taints(path: &str, given: &[KubeTaint]) -> Result<Vec<Taint>, String> {
    let taint = |(index, given): (usize, &KubeTaint)| {
        let effect: Effect = given.effect.parse().map_err(|error| format!("{path}[{index}].effect: {error}"))?;
        Ok(Taint { key: given.key.clone(), value: given.value.clone().unwrap_or_default(), effect })
    };
    given.iter().enumerate().map(taint).collect()
}
