//! What selects the pods of a kind, as the scheduler finds it out: from Services and from the controller of a pod.

use k8s_openapi::{
    api::core::v1::Pod,
    apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta},
};
use model::place::Selector;

use super::{SceneSource, rules::selector};

/// `None` where nothing tells. Looked for only where default constraints would use it.
pub(super) fn default_selector(source: &SceneSource, pod: &Pod) -> Option<Selector> {
    if source.default_spread.is_empty() {
        return None;
    }
    let mut found = Selector::default();
    for service in source.services.iter().filter(|service| service.metadata.namespace == pod.metadata.namespace) {
        let selects = service.spec.as_ref().and_then(|spec| spec.selector.as_ref());
        let Some(selects) = selects.filter(|selects| !selects.is_empty()) else { continue };
        let labels = pod.metadata.labels.as_ref();
        if selects.iter().all(|(key, value)| labels.and_then(|labels| labels.get(key)) == Some(value)) {
            found.labels.extend(selects.clone());
        }
    }
    if let Some(own) = of_controller(source, &pod.metadata) {
        found.labels.extend(own.labels);
        found.expressions.extend(own.expressions);
    }
    (found != Selector::default()).then_some(found)
}

fn of_controller(source: &SceneSource, pod: &ObjectMeta) -> Option<Selector> {
    let owner = pod.owner_references.iter().flatten().find(|owner| owner.controller == Some(true))?;
    let is_owner = |metadata: &ObjectMeta| {
        metadata.namespace == pod.namespace && metadata.name.as_deref() == Some(owner.name.as_str())
    };
    let read = |given: &LabelSelector| selector("spec.selector", Some(given)).ok().flatten();
    match owner.kind.as_str() {
        "ReplicaSet" => {
            let set = source.replica_sets.iter().find(|set| is_owner(&set.metadata))?;
            read(&set.spec.as_ref()?.selector)
        }
        "StatefulSet" => {
            let set = source.stateful_sets.iter().find(|set| is_owner(&set.metadata))?;
            read(&set.spec.as_ref()?.selector)
        }
        "ReplicationController" => {
            let controller = source.replication_controllers.iter().find(|one| is_owner(&one.metadata))?;
            let labels = controller.spec.as_ref()?.selector.clone()?;
            Some(Selector { labels: labels.into(), expressions: vec![] })
        }
        _ => None,
    }
}
