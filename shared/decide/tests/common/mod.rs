//! Claims, Nodes and pods of which nothing is known but their name: fixtures say what matters to them on top.

#![allow(dead_code, clippy::unwrap_used)]

use jiff::{SignedDuration, Timestamp};
use model::*;

fn name(text: &str) -> ObjectName {
    ObjectName::new(text).unwrap()
}

/// One that nobody has begun with.
pub fn claim(text: &str) -> Claim {
    Claim {
        key: InstanceKey { claim: Uid::new(text).unwrap(), name: name(text) },
        version: ResourceVersion::new("1").unwrap(),
        created_at: Timestamp::UNIX_EPOCH,
        deleted_at: None,
        labels: Default::default(),
        annotations: Default::default(),
        finalizers: Default::default(),
        has_owner: true,
        class: ClassRef { group: "karpenter.azure.com".into(), kind: "AKSNodeClass".into(), name: name("default") },
        requirements: vec![],
        requests: Resources::new(),
        taints: vec![],
        startup_taints: vec![],
        termination_grace: None,
        launch: Launch::NotBegun,
        status: ClaimStatus::default(),
    }
}

/// One that is ready, and nobody's.
pub fn node(text: &str) -> Node {
    Node {
        name: name(text),
        uid: Uid::new(format!("node-{text}")).unwrap(),
        version: ResourceVersion::new("1").unwrap(),
        created_at: Timestamp::UNIX_EPOCH,
        deleted_at: None,
        provider_id: None,
        labels: Default::default(),
        annotations: Default::default(),
        finalizers: Default::default(),
        owners: Default::default(),
        taints: vec![],
        unschedulable: false,
        ready: Truth::True,
        capacity: Resources::new(),
        allocatable: Resources::new(),
        os_image: None,
        boot_id: None,
        conditions: vec![],
    }
}

/// An ordinary one in `team`, with 30 s of grace.
pub fn pod(text: &str) -> Pod {
    Pod {
        namespace: Namespace::new("team").unwrap(),
        name: name(text),
        uid: Uid::new(format!("pod-{text}")).unwrap(),
        kind: PodKind::Ordinary,
        critical: false,
        terminal: false,
        deleted_at: None,
        grace: SignedDuration::from_secs(30),
        tolerations: vec![],
        do_not_disrupt: None,
        started_at: None,
    }
}
