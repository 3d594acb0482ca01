//! Events for people, on a claim or a pod: `kubectl describe` and `kubectl get events` show them.

use jiff::Timestamp;
use k8s_openapi::{
    api::{core::v1::ObjectReference, events::v1::Event},
    apimachinery::pkg::apis::meta::v1::MicroTime,
};
use kube::{
    Api,
    api::{ObjectMeta, PostParams},
};
use model::{InstanceKey, Node, Note, PodNote, PodRef};
use sha2::{Digest as _, Sha256};

use crate::{Cluster, ClusterError, FIELD_MANAGER, ask::Asking, rights};

/// Where Kubernetes keeps the events of things that have no namespace.
const NAMESPACE: &str = "default";
const LONGEST_NOTE: usize = 1024;
const LONGEST_REASON: usize = 128;
/// Of an object's name in an event's: with the hash it stays under the 253 of any name.
const LONGEST_NAME: usize = 200;

/// What is said, about which object.
struct Saying<'a> {
    about: ObjectReference,
    warning: bool,
    reason: &'a str,
    text: &'a str,
}

impl Cluster {
    /// `function` is who says it. The same words about the same claim are the same Event, so saying them again, from
    /// whatever process, changes nothing.
    pub async fn note(
        &self,
        function: &str,
        claim: &InstanceKey,
        note: &Note,
        now: Timestamp,
    ) -> Result<(), ClusterError> {
        let asking = Asking::new(rights::CREATE_EVENT, "noting an Event about NodeClaim", claim.name.as_str());
        let Note { warning, reason, text } = note;
        self.say(asking, function, &Saying { about: about_claim(claim), warning: *warning, reason, text }, now).await
    }

    /// The same, about a Node.
    pub async fn note_node(
        &self,
        function: &str,
        node: &Node,
        note: &Note,
        now: Timestamp,
    ) -> Result<(), ClusterError> {
        let asking = Asking::new(rights::CREATE_EVENT, "noting an Event about Node", node.name.as_str());
        let about = ObjectReference {
            api_version: Some("v1".to_owned()),
            kind: Some("Node".to_owned()),
            name: Some(node.name.to_string()),
            uid: Some(node.uid.to_string()),
            ..ObjectReference::default()
        };
        let Note { warning, reason, text } = note;
        self.say(asking, function, &Saying { about, warning: *warning, reason, text }, now).await
    }

    /// The same, about a pod, in its namespace.
    pub async fn note_pod(&self, function: &str, note: &PodNote, now: Timestamp) -> Result<(), ClusterError> {
        let PodNote { pod, warning, again, reason, text } = note;
        let asking = Asking::new(rights::CREATE_POD_EVENT, "noting an Event about pod", pod.name.as_str());
        let about = ObjectReference {
            api_version: Some("v1".to_owned()),
            kind: Some("Pod".to_owned()),
            namespace: Some(pod.namespace.to_string()),
            name: Some(pod.name.to_string()),
            uid: Some(pod.uid.to_string()),
            ..ObjectReference::default()
        };
        let saying = Saying { about, warning: *warning, reason, text };
        if *again && self.was_said(pod, &saying).await? {
            return Ok(());
        }
        self.say(asking, function, &saying, now).await
    }

    async fn was_said(&self, pod: &PodRef, saying: &Saying<'_>) -> Result<bool, ClusterError> {
        let asking = Asking::new(rights::GET_POD_EVENT, "reading an Event about pod", pod.name.as_str());
        let api: Api<Event> = Api::namespaced(self.client.clone(), pod.namespace.as_str());
        Ok(self.look_for(asking, api.get_metadata(&name(saying))).await?.is_some())
    }

    async fn say(
        &self,
        asking: Asking<'_>,
        function: &str,
        saying: &Saying<'_>,
        now: Timestamp,
    ) -> Result<(), ClusterError> {
        let event = event(function, saying, now);
        let namespace = event.metadata.namespace.as_deref().unwrap_or(NAMESPACE);
        let api: Api<Event> = Api::namespaced(self.client.clone(), namespace);
        let how = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
        match self.change(asking, api.create(&how, &event)).await {
            Err(error) if !error.is_conflict() => Err(error),
            _ => Ok(()),
        }
    }
}

fn about_claim(claim: &InstanceKey) -> ObjectReference {
    ObjectReference {
        api_version: Some("karpenter.sh/v1".to_owned()),
        kind: Some("NodeClaim".to_owned()),
        name: Some(claim.name.to_string()),
        uid: Some(claim.claim.to_string()),
        ..ObjectReference::default()
    }
}

fn event(function: &str, saying: &Saying<'_>, now: Timestamp) -> Event {
    let reason = cut(saying.reason, LONGEST_REASON);
    let namespace = saying.about.namespace.clone().unwrap_or_else(|| NAMESPACE.to_owned());
    Event {
        metadata: ObjectMeta { name: Some(name(saying)), namespace: Some(namespace), ..ObjectMeta::default() },
        regarding: Some(saying.about.clone()),
        type_: Some(if saying.warning { "Warning" } else { "Normal" }.to_owned()),
        // The field must not be empty, and these events have no deed apart from their reason.
        action: Some(reason.clone()),
        reason: Some(reason),
        note: Some(cut(saying.text, LONGEST_NOTE)),
        event_time: Some(MicroTime(now)),
        reporting_controller: Some(format!("pilotlight.dev/{function}")),
        // Functions have no instances that anybody could look for.
        reporting_instance: Some(function.to_owned()),
        ..Event::default()
    }
}

fn name(saying: &Saying<'_>) -> String {
    let mut hash = Sha256::new();
    for part in [saying.about.uid.as_deref().unwrap_or_default(), saying.reason, saying.text] {
        hash.update(part.as_bytes());
        hash.update([0]);
    }
    let hash: String = hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let object = cut(saying.about.name.as_deref().unwrap_or_default(), LONGEST_NAME);
    format!("{}.{hash}", object.trim_end_matches(['-', '.']))
}

/// At most so many bytes, which is how the API server counts, and whole characters.
fn cut(text: &str, most: usize) -> String {
    text[..text.floor_char_boundary(most)].to_owned()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use model::{ObjectName, Uid};

    fn saying<'a>(name: &str, uid: &str, text: &'a str) -> Saying<'a> {
        let key = InstanceKey { claim: Uid::new(uid).unwrap(), name: ObjectName::new(name).unwrap() };
        Saying { about: about_claim(&key), warning: true, reason: "LaunchFailed", text }
    }

    #[test]
    fn the_name_is_that_of_the_object_and_of_what_is_said() {
        let first = name(&saying("gpu-1", "u", "a"));
        assert_eq!(first, name(&saying("gpu-1", "u", "a")));
        assert!(first.starts_with("gpu-1.") && first.len() == "gpu-1.".len() + 16, "{first}");
        assert_ne!(first, name(&saying("gpu-1", "other", "a")));
        assert_ne!(first, name(&saying("gpu-1", "u", "b")));
        let long = format!("{}-{}", "a".repeat(199), "b".repeat(40));
        assert!(ObjectName::new(name(&saying(&long, "u", "a"))).is_ok());
    }

    #[test]
    fn what_is_too_long_is_cut_between_characters() {
        let event = event("on-nodeclaim", &saying("a", "u", &"ö".repeat(2000)), Timestamp::UNIX_EPOCH);
        assert_eq!(event.note.unwrap().len(), 1024);
        assert_eq!(cut(&"€".repeat(9), 10), "€€€");
    }
}
