//! From a wake to the text of its CloudEvent, in structured mode.

use jiff::Timestamp;
use model::{ClusterId, InvalidId, Namespace, ObjectName, ResourceVersion, Resources, Uid};
use schema::{
    CloudEvent, EventData,
    deletion_requested::{DeletedObject, DeletionRequestedData, Kind},
    nodeclaim_changed::{NodeClaim, NodeClaimChangedData},
    object::{NodeClassRef, NodeSelectorRequirement, Object, PodToleration, ResourceMap, TolerationOperator},
    pod_pending::{self, PodPendingData},
    registry::EventShape,
    timer_idle,
    workspace_changed::{self, WorkspaceChangedData},
};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

use crate::{
    filter::Wake,
    rows::{Claim, Id, Pod, Workspace},
    wire::{ClassRef, Requirement, Toleration},
};

/// What every event of this forwarder says.
#[derive(Debug, Clone)]
pub struct Letterhead {
    pub cluster: ClusterId,
    /// Knative's overrides.
    pub extensions: BTreeMap<String, Value>,
}

/// An event, ready to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Letter {
    pub id: String,
    pub subject: String,
    pub text: String,
}

/// Why there is no event for an object: it is one that no API server should have accepted.
#[derive(Debug, thiserror::Error)]
pub enum Unwritable {
    #[error("no event can be written about it: {0}")]
    Id(#[from] InvalidId),
    #[error("no event can be written about it: {0}")]
    Json(#[from] serde_json::Error),
}

impl Letterhead {
    /// `snapshot` is JSON already: it may be large, and is never more than text here.
    pub fn write(&self, wake: &Wake, snapshot: Option<&str>, now: Timestamp) -> Result<Letter, Unwritable> {
        let (kind, subject, data) = match wake {
            Wake::Place(pod) => (PodPendingData::TYPE, place_of(&pod.id), text(&pending(pod)?)?),
            Wake::Claim { row, .. } if row.deleting => deletion(Kind::NodeClaim, &row.id)?,
            Wake::Claim { row, .. } => (NodeClaimChangedData::TYPE, row.id.name.to_string(), text(&claim(row)?)?),
            Wake::Node { row, .. } => deletion(Kind::Node, &row.id)?,
            Wake::Workspace { row, gone } if row.deleting || *gone => deletion(Kind::Workspace, &row.id)?,
            Wake::Workspace { row, .. } => (WorkspaceChangedData::TYPE, place_of(&row.id), text(&workspace(row)?)?),
            Wake::Tick(due) => return self.tick(*due, snapshot),
        };
        let id = match wake {
            Wake::Place(row) => event_id(&row.id),
            Wake::Claim { row, .. } => event_id(&row.id),
            Wake::Node { row, .. } => event_id(&row.id),
            Wake::Workspace { row, .. } => event_id(&row.id),
            Wake::Tick(due) => due.to_string(),
        };
        let head = CloudEvent {
            id: id.clone(),
            source: self.cluster.to_string(),
            kind: kind.to_owned(),
            subject: Some(subject.clone()),
            time: Some(now),
            data_content_type: Some("application/json".to_owned()),
            data_schema: None,
            extensions: self.extensions.clone(),
            data: EventData::Absent,
        };
        Ok(Letter { id, subject, text: seal(&head, data, snapshot) })
    }

    fn tick(&self, due: Timestamp, snapshot: Option<&str>) -> Result<Letter, Unwritable> {
        let mut event = timer_idle::tick(&self.cluster, due);
        event.extensions.clone_from(&self.extensions);
        let data = event.json_data().unwrap_or_else(|_| Value::Object(Map::new())).to_string();
        event.data = EventData::Absent;
        let subject = event.subject.clone().unwrap_or_default();
        Ok(Letter { id: event.id.clone(), subject, text: seal(&event, data, snapshot) })
    }
}

/// Puts the parts together as text: a snapshot of half a megabyte is not taken apart again for it.
fn seal(head: &CloudEvent, data: String, snapshot: Option<&str>) -> String {
    let data = match snapshot {
        Some(snapshot) => with_field(data, "snapshot", snapshot),
        None => data,
    };
    with_field(head.to_value().to_string(), "data", &data)
}

/// Adds a field to the text of a JSON object that has at least one already.
fn with_field(mut object: String, name: &str, value: &str) -> String {
    object.pop();
    object.reserve(value.len() + name.len() + 5);
    for part in [",\"", name, "\":", value, "}"] {
        object.push_str(part);
    }
    object
}

fn text(data: &impl serde::Serialize) -> Result<String, Unwritable> {
    Ok(serde_json::to_string(data)?)
}

fn event_id(id: &Id) -> String {
    format!("{}/{}", id.uid, id.version)
}

fn place_of(id: &Id) -> String {
    match &id.namespace {
        Some(namespace) => format!("{namespace}/{}", id.name),
        None => id.name.to_string(),
    }
}

fn deletion(kind: Kind, id: &Id) -> Result<(&'static str, String, String), Unwritable> {
    let subject = match kind {
        Kind::NodeClaim => format!("nodeclaim/{}", place_of(id)),
        Kind::Node => format!("node/{}", place_of(id)),
        Kind::Workspace => format!("workspace/{}", place_of(id)),
    };
    let data = DeletionRequestedData { object: DeletedObject { kind, object: object(id)? }, snapshot: None };
    Ok((DeletionRequestedData::TYPE, subject, text(&data)?))
}

fn pending(pod: &Pod) -> Result<PodPendingData, Unwritable> {
    let pod = pod_pending::Pod {
        object: object(&pod.id)?,
        requests: resource_map(&pod.shape.requests),
        node_selector: pod.shape.node_selector.clone(),
        tolerations: pod.shape.tolerations.iter().filter_map(toleration).collect(),
    };
    Ok(PodPendingData { pod, snapshot: None })
}

fn claim(claim: &Claim) -> Result<NodeClaimChangedData, Unwritable> {
    let claim = NodeClaim {
        object: object(&claim.id)?,
        node_class_ref: class_ref(&claim.class)?,
        node_pool: claim.pool.clone().map(ObjectName::new).transpose()?.map(Into::into),
        requests: resource_map(&claim.requests),
        requirements: claim.requirements.iter().filter_map(requirement).collect(),
        provider_id: claim.provider_id.clone(),
    };
    Ok(NodeClaimChangedData { claim, snapshot: None })
}

fn workspace(space: &Workspace) -> Result<WorkspaceChangedData, Unwritable> {
    let workspace = workspace_changed::Workspace {
        object: object(&space.id)?,
        instance_type: space.instance_type.clone(),
        count: space.count,
        preset: space.preset.clone(),
    };
    Ok(WorkspaceChangedData { workspace, snapshot: None })
}

fn object(id: &Id) -> Result<Object, InvalidId> {
    Ok(Object {
        namespace: id.namespace.as_deref().map(Namespace::new).transpose()?.map(Into::into),
        name: ObjectName::new(&*id.name)?.into(),
        uid: Uid::new(&*id.uid)?.into(),
        resource_version: ResourceVersion::new(&*id.version)?.into(),
    })
}

pub(crate) fn class_ref(class: &ClassRef) -> Result<NodeClassRef, InvalidId> {
    let ClassRef { group, kind, name } = class;
    Ok(NodeClassRef { group: group.clone(), kind: kind.clone(), name: ObjectName::new(name.as_str())?.into() })
}

pub(crate) fn resource_map(resources: &Resources) -> ResourceMap {
    resources.iter().map(|(name, amount)| (name.clone(), (*amount).into())).collect()
}

/// An operator that we do not know is the function's to find: it reads the claim itself.
pub(crate) fn requirement(given: &Requirement) -> Option<NodeSelectorRequirement> {
    let Requirement { key, operator, values } = given;
    let operator: model::Operator = operator.parse().ok()?;
    Some(NodeSelectorRequirement { key: key.clone(), operator: operator.into(), values: values.clone() })
}

pub(crate) fn toleration(given: &Toleration) -> Option<PodToleration> {
    let Toleration { key, operator, value, effect } = given;
    let operator = match operator.as_deref() {
        None | Some("") => None,
        Some("Exists") => Some(TolerationOperator::Exists),
        Some("Equal") => Some(TolerationOperator::Equal),
        Some(_) => return None,
    };
    let effect = effect.as_deref().filter(|effect| !effect.is_empty()).map(str::parse::<model::Effect>).transpose();
    Some(PodToleration {
        key: key.clone().filter(|key| !key.is_empty()),
        operator,
        value: value.clone(),
        effect: effect.ok()?.map(Into::into),
    })
}
