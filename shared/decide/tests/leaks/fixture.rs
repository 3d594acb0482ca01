//! The words the specification is written in: claims, what clouds hold, and Nodes.

use decide::leaks::Situation;
use jiff::{Timestamp, civil::date};
use model::*;
use std::collections::{BTreeMap, BTreeSet};

use crate::common;

pub const NOW: i64 = 1_000_000;

pub fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(NOW + seconds).unwrap()
}

pub fn name(text: &str) -> ObjectName {
    ObjectName::new(text).unwrap()
}

pub fn uid(text: &str) -> Uid {
    Uid::new(text).unwrap()
}

/// A cluster with nothing in it, whose three clouds were listed whole and hold nothing.
pub fn clean() -> Situation {
    Situation {
        clouds: ["aks", "scaleway", "power"].map(|provider| (provider, vec![])).into(),
        now: at(0),
        ..Situation::default()
    }
}

/// With these claims, seen before and after.
pub fn with_claims(claims: Vec<Claim>) -> Situation {
    let known: BTreeSet<Uid> = claims.iter().map(|claim| claim.key.claim.clone()).collect();
    Situation { known_before: known.clone(), known_after: known, claims, ..clean() }
}

/// A claim that was launched an hour ago, with a ready Node called like it.
pub fn launched(claim: &str, provider: &str) -> Claim {
    let offering = Offering {
        id: OfferingId {
            provider: provider.to_owned(),
            instance_type: "L4-1-24G".to_owned(),
            zone: None,
            capacity_type: CapacityType::OnDemand,
        },
        gpu: None,
        capacity: model::Resources::new(),
        arch: Arch::Amd64,
        price: Some(Price { millionths_per_hour: 750_000, currency: "EUR".to_owned(), as_of: date(2026, 11, 1) }),
        labels: BTreeMap::new(),
        stock: Stock::Available,
    };
    let record = LaunchRecord {
        epoch: 1,
        offering,
        begun_at: at(-3600),
        accepted_at: Some(at(-3600)),
        deadline: at(-2700),
        progress: None,
        tried: vec![],
        told_joined: true,
    };
    let condition =
        |kind| Condition { kind, status: Truth::True, reason: String::new(), message: String::new(), since: at(-3500) };
    Claim {
        created_at: at(-3600),
        finalizers: BTreeSet::from([names::FINALIZER.to_owned()]),
        class: ClassRef { group: "pilotlight.dev".into(), kind: "ScalewayNodeClass".into(), name: name("default") },
        launch: Launch::Recorded(Box::new(record)),
        status: ClaimStatus {
            node: Some(claim.to_owned()),
            conditions: vec![condition(ConditionKind::Launched), condition(ConditionKind::Registered)],
            ..ClaimStatus::default()
        },
        ..common::claim(claim)
    }
}

/// A machine that a cloud holds for a claim since an hour.
pub fn machine(claim: &str) -> Owned {
    let instance = Instance {
        provider_id: format!("scaleway://instance/fr-par-2/{claim}"),
        node: Some(claim.to_owned()),
        instance_type: "L4-1-24G".to_owned(),
        zone: None,
        capacity_type: CapacityType::OnDemand,
        image: None,
        created_at: Some(at(-3600)),
        state: InstanceState::Running,
    };
    let key = InstanceKey { claim: uid(claim), name: name(claim) };
    Owned { key, instance: Some(instance), what: format!("server {claim}"), is_of_this_cluster: true }
}

/// What a machine left: a volume.
pub fn volume(claim: &str) -> Owned {
    Owned { instance: None, what: format!("volume of {claim}"), ..machine(claim) }
}

/// A Node that says whose it is, if it says so.
pub fn node(called: &str, claim: Option<&str>, ready: Truth) -> Node {
    let labels = claim.map(|claim| (names::CLAIM_UID.to_owned(), claim.to_owned()));
    Node {
        created_at: at(-3600),
        provider_id: Some(format!("scaleway://instance/fr-par-2/{called}")),
        labels: labels.into_iter().collect(),
        finalizers: BTreeSet::from([names::FINALIZER.to_owned()]),
        ready,
        ..common::node(called)
    }
}
