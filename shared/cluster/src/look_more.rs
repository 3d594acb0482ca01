//! Looking, for racks: all classes of a kind, and what a Node says about its machine's power.

use jiff::Timestamp;
use kube::{
    Api,
    api::{DynamicObject, ListParams},
};
use model::names;
use serde_json::{Value, json};

use crate::{
    Cluster, ClusterError,
    ask::Asking,
    look::{ClassServed, resource},
    rights,
};

/// A Node, as far as power is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodePower {
    pub ready: bool,
    /// Since when it is ready, if it is.
    pub on_since: Option<Timestamp>,
    /// Since when we have it switched off.
    pub off_since: Option<Timestamp>,
}

impl Cluster {
    /// Name and object of each; none where nobody serves the kind.
    pub async fn class_objects(
        &self,
        group: &str,
        kind: &str,
        served: ClassServed<'_>,
    ) -> Result<Vec<(String, Value)>, ClusterError> {
        let classes = resource(group, served.version, kind, served.plural);
        let api: Api<DynamicObject> = Api::all_with(self.client.clone(), &classes);
        let asking = Asking::new(rights::list_classes(group, served.plural), "listing node classes", kind);
        match self.list(asking, &api, ListParams::default()).await {
            Ok(found) => Ok(found
                .into_iter()
                .map(|mut class| {
                    (class.metadata.name.unwrap_or_default(), json!({ "spec": class.data["spec"].take() }))
                })
                .collect()),
            Err(error) if error.is_not_found() => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    /// `None` if there is no such Node.
    pub async fn node_power(&self, name: &str) -> Result<Option<NodePower>, ClusterError> {
        let asking = Asking::new(rights::GET_NODE, "reading Node", name);
        let found = self.look_for(asking, self.node_api().get(name)).await?;
        Ok(found.map(|node| {
            let conditions = node.status.and_then(|status| status.conditions).unwrap_or_default();
            let ready = conditions.into_iter().find(|one| one.type_ == "Ready" && one.status == "True");
            let annotations = node.metadata.annotations.unwrap_or_default();
            NodePower {
                on_since: ready.as_ref().and_then(|ready| ready.last_transition_time.as_ref()).map(|time| time.0),
                ready: ready.is_some(),
                off_since: annotations.get(names::OFF_SINCE).and_then(|text| text.parse().ok()),
            }
        }))
    }
}
