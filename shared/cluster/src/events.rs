//! Events for people, on a claim: `kubectl describe nodeclaim` and `kubectl get events` show them.

use jiff::Timestamp;
use k8s_openapi::{
    api::{core::v1::ObjectReference, events::v1::Event},
    apimachinery::pkg::apis::meta::v1::MicroTime,
};
use kube::{
    Api,
    api::{ObjectMeta, PostParams},
};
use model::{InstanceKey, Note};
use sha2::{Digest as _, Sha256};

use crate::{Cluster, ClusterError, FIELD_MANAGER, ask::Asking, rights};

/// Where Kubernetes keeps the events of things that have no namespace.
const NAMESPACE: &str = "default";
const LONGEST_NOTE: usize = 1024;
const LONGEST_REASON: usize = 128;
/// Of a claim's name in an event's: with the hash it stays under the 253 of any name.
const LONGEST_NAME: usize = 200;

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
        let api: Api<Event> = Api::namespaced(self.client.clone(), NAMESPACE);
        let asking = Asking::new(rights::CREATE_EVENT, "noting an Event about NodeClaim", claim.name.as_str());
        let how = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
        match self.change(asking, api.create(&how, &event(function, claim, note, now))).await {
            Err(error) if !error.is_conflict() => Err(error),
            _ => Ok(()),
        }
    }
}

fn event(function: &str, claim: &InstanceKey, note: &Note, now: Timestamp) -> Event {
    let reason = cut(note.reason, LONGEST_REASON);
    Event {
        metadata: ObjectMeta {
            name: Some(name(claim, note)),
            namespace: Some(NAMESPACE.to_owned()),
            ..ObjectMeta::default()
        },
        regarding: Some(ObjectReference {
            api_version: Some("karpenter.sh/v1".to_owned()),
            kind: Some("NodeClaim".to_owned()),
            name: Some(claim.name.to_string()),
            uid: Some(claim.claim.to_string()),
            ..ObjectReference::default()
        }),
        type_: Some(if note.warning { "Warning" } else { "Normal" }.to_owned()),
        // The field must not be empty, and a claim's events have no deed apart from their reason.
        action: Some(reason.clone()),
        reason: Some(reason),
        note: Some(cut(&note.text, LONGEST_NOTE)),
        event_time: Some(MicroTime(now)),
        reporting_controller: Some(format!("pilotlight.dev/{function}")),
        // Functions have no instances that anybody could look for.
        reporting_instance: Some(function.to_owned()),
        ..Event::default()
    }
}

fn name(claim: &InstanceKey, note: &Note) -> String {
    let mut hash = Sha256::new();
    for part in [claim.claim.as_str(), note.reason, &note.text] {
        hash.update(part.as_bytes());
        hash.update([0]);
    }
    let hash: String = hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let claim = cut(claim.name.as_str(), LONGEST_NAME);
    format!("{}.{hash}", claim.trim_end_matches(['-', '.']))
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

    fn note(text: &str) -> Note {
        Note { warning: true, reason: "LaunchFailed", text: text.to_owned() }
    }

    fn key(name: &str, uid: &str) -> InstanceKey {
        InstanceKey { claim: Uid::new(uid).unwrap(), name: ObjectName::new(name).unwrap() }
    }

    #[test]
    fn the_name_is_that_of_the_claim_and_of_what_is_said() {
        let first = name(&key("gpu-1", "u"), &note("a"));
        assert_eq!(first, name(&key("gpu-1", "u"), &note("a")));
        assert!(first.starts_with("gpu-1.") && first.len() == "gpu-1.".len() + 16, "{first}");
        assert_ne!(first, name(&key("gpu-1", "other"), &note("a")));
        assert_ne!(first, name(&key("gpu-1", "u"), &note("b")));
        let long = format!("{}-{}", "a".repeat(199), "b".repeat(40));
        assert!(ObjectName::new(name(&key(&long, "u"), &note("a"))).is_ok());
    }

    #[test]
    fn what_is_too_long_is_cut_between_characters() {
        let event = event("on-nodeclaim", &key("a", "u"), &note(&"ö".repeat(2000)), Timestamp::UNIX_EPOCH);
        assert_eq!(event.note.unwrap().len(), 1024);
        assert_eq!(cut(&"€".repeat(9), 10), "€€€");
    }
}
