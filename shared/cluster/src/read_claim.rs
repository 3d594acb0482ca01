//! A NodeClaim as it was read, in our words. What cannot be read as one says which field is to blame.

use jiff::{SignedDuration, Timestamp};
use kube::api::{DynamicObject, ObjectMeta};
use model::{
    Claim, ClaimStatus, ClassRef, Condition, ConditionKind, InstanceKey, ObjectName, Requirement, Truth, names,
};
use serde_json::Value;

use crate::{
    crd::{NodeClaimSpec, NodeClaimStatus, RequirementWithMinimum},
    error::cut,
    fields::{deleted_at, identity, resources, taints},
    launch_record,
};

/// What stands under a claim's name.
#[derive(Debug, Clone, PartialEq)]
pub enum ClaimRead {
    Claim(Box<ClaimAsRead>),
    /// A person has to look at it; others are not held up.
    Malformed(Malformed),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed {
    pub key: InstanceKey,
    /// A sentence that names the field.
    pub why: String,
}

/// A claim, and its status word for word: a write of ours leaves in it what others wrote.
#[derive(Debug, Clone, PartialEq)]
pub struct ClaimAsRead {
    pub claim: Claim,
    pub(crate) status: Value,
    pub(crate) generation: Option<i64>,
    /// As it is written, `Never` too.
    pub(crate) expire_after: Option<String>,
}

impl ClaimRead {
    /// `None` for one that cannot be read.
    pub fn claim(self) -> Option<Claim> {
        match self {
            ClaimRead::Claim(read) => Some(read.claim),
            ClaimRead::Malformed(_) => None,
        }
    }

    pub fn key(&self) -> &InstanceKey {
        match self {
            ClaimRead::Claim(read) => &read.claim.key,
            ClaimRead::Malformed(malformed) => &malformed.key,
        }
    }
}

/// An error is an object without an identity, which no API server sends.
pub fn read_claim(object: DynamicObject) -> Result<ClaimRead, String> {
    let DynamicObject { metadata, mut data, .. } = object;
    let identity = identity(&metadata)?;
    let key = InstanceKey { claim: identity.uid, name: identity.name };
    let generation = metadata.generation;
    let status = data["status"].take();
    let expire_after = data["spec"]["expireAfter"].as_str().map(str::to_owned);
    let read = parts(&data["spec"], &status, identity.created_at).map(|parts| Claim {
        key: key.clone(),
        version: identity.version,
        created_at: identity.created_at,
        deleted_at: deleted_at(&metadata),
        launch: launch_record::read(annotation(&metadata, names::LAUNCH)),
        has_owner: metadata.owner_references.is_some_and(|owners| !owners.is_empty()),
        labels: metadata.labels.unwrap_or_default(),
        annotations: metadata.annotations.unwrap_or_default(),
        finalizers: metadata.finalizers.unwrap_or_default().into_iter().collect(),
        class: parts.class,
        requirements: parts.requirements,
        requests: parts.requests,
        taints: parts.taints,
        startup_taints: parts.startup_taints,
        termination_grace: parts.termination_grace,
        status: parts.status,
    });
    Ok(match read {
        Ok(claim) => ClaimRead::Claim(Box::new(ClaimAsRead { claim, status, generation, expire_after })),
        Err(why) => ClaimRead::Malformed(Malformed { key, why: cut(&why) }),
    })
}

fn annotation<'a>(metadata: &'a ObjectMeta, key: &str) -> Option<&'a str> {
    metadata.annotations.as_ref()?.get(key).map(String::as_str)
}

/// What is in `spec` and `status`, as far as we read it.
struct Parts {
    class: ClassRef,
    requirements: Vec<Requirement>,
    requests: model::Resources,
    taints: Vec<model::Taint>,
    startup_taints: Vec<model::Taint>,
    termination_grace: Option<SignedDuration>,
    status: ClaimStatus,
}

fn parts(spec: &Value, status: &Value, created_at: Timestamp) -> Result<Parts, String> {
    let spec: NodeClaimSpec = typed("spec", spec.clone())?;
    let class = &spec.node_class_ref;
    let name = ObjectName::new(&class.name).map_err(|error| format!("spec.nodeClassRef.name: {error}"))?;
    let requirements = spec.requirements.iter().enumerate().map(requirement);
    let grace = spec.termination_grace_period.as_deref().map(duration).transpose();
    Ok(Parts {
        class: ClassRef { group: class.group.clone(), kind: class.kind.clone(), name },
        requirements: requirements.collect::<Result<_, String>>()?,
        requests: resources("spec.resources.requests", &spec.resources.requests)?,
        taints: taints("spec.taints", &spec.taints)?,
        startup_taints: taints("spec.startupTaints", &spec.startup_taints)?,
        termination_grace: grace.map_err(|why| format!("spec.terminationGracePeriod: {why}"))?,
        status: read_status(status, created_at)?,
    })
}

fn requirement((index, given): (usize, &RequirementWithMinimum)) -> Result<Requirement, String> {
    let operator = given.operator.parse();
    let operator = operator.map_err(|error| format!("spec.requirements[{index}].operator: {error}"))?;
    Ok(Requirement { key: given.key.clone(), operator, values: given.values.clone() })
}

fn read_status(raw: &Value, created_at: Timestamp) -> Result<ClaimStatus, String> {
    if raw.is_null() {
        return Ok(ClaimStatus::default());
    }
    let mut rest = raw.clone();
    // Others may write conditions that our type refuses; of those we know, each field is looked at alone.
    let conditions = rest.as_object_mut().and_then(|fields| fields.remove("conditions"));
    let conditions = conditions.iter().filter_map(Value::as_array).flatten();
    let status: NodeClaimStatus = typed("status", rest)?;
    Ok(ClaimStatus {
        provider_id: status.provider_id.filter(|text| !text.is_empty()),
        node: status.node_name.filter(|text| !text.is_empty()),
        image: status.image_id.filter(|text| !text.is_empty()),
        capacity: resources("status.capacity", &status.capacity)?,
        allocatable: resources("status.allocatable", &status.allocatable)?,
        conditions: conditions.filter_map(|raw| condition(raw, created_at)).collect(),
        last_pod_event: status.last_pod_event_time.and_then(|text| text.parse().ok()),
    })
}

/// `None` for a kind that is not ours to know.
pub(crate) fn condition(raw: &Value, created_at: Timestamp) -> Option<Condition> {
    let text = |field: &str| raw[field].as_str().unwrap_or_default();
    let kind = ConditionKind::ALL.into_iter().find(|kind| kind.as_str() == text("type"))?;
    let status = [Truth::True, Truth::False].into_iter().find(|truth| truth.as_str() == text("status"));
    Some(Condition {
        kind,
        status: status.unwrap_or(Truth::Unknown),
        reason: text("reason").to_owned(),
        message: text("message").to_owned(),
        since: text("lastTransitionTime").parse().unwrap_or(created_at),
    })
}

/// The error names the path of the field.
fn typed<T: serde::de::DeserializeOwned>(root: &str, value: Value) -> Result<T, String> {
    serde_path_to_error::deserialize(value).map_err(|error| match error.path().to_string().as_str() {
        "." => format!("{root}: {}", error.inner()),
        path => format!("{root}.{path}: {}", error.inner()),
    })
}

/// What Go reads; time does not run backwards.
fn duration(text: &str) -> Result<SignedDuration, String> {
    let read = model::duration::parse(text).filter(|read| !read.is_negative());
    read.ok_or_else(|| format!("{text:?} is not a duration: numbers with h, m or s, as in '1h30m'"))
}

#[cfg(test)]
#[path = "read_claim_tests.rs"]
mod tests;
