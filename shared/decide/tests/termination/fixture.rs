//! The words the specification is written in: a claim that is to go, its node, and pods.

use core::time::Duration;
use decide::termination::{InstanceSeen, Kept, Situation, conclude, plan};
use jiff::{SignedDuration, Timestamp};
use model::*;

use crate::common;

/// When the claim was deleted.
pub const ASKED: i64 = 1_000_000;
pub const NODE: &str = "gpu-1-node";

/// So many seconds after the claim was deleted.
pub fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(ASKED + seconds).unwrap()
}

pub fn seconds(seconds: i64) -> SignedDuration {
    SignedDuration::from_secs(seconds)
}

pub fn name(text: &str) -> ObjectName {
    ObjectName::new(text).unwrap()
}

pub fn uid(text: &str) -> Uid {
    Uid::new(text).unwrap()
}

pub fn disrupted() -> Taint {
    Taint { key: names::DISRUPTED_TAINT.into(), value: String::new(), effect: Effect::NoSchedule }
}

/// A launched claim whose node has joined; it was deleted just now and nothing was done yet.
pub fn joined() -> Situation {
    Situation {
        claim: claim(),
        nodes: vec![node(NODE)],
        pods: vec![],
        attachments: vec![],
        instance: InstanceSeen::NotAsked,
        provider: Some(Kept { provider: "aks".into(), node_stays: false }),
        now: at(0),
    }
}

/// The same, prepared at second 0 and looked at so many seconds later.
pub fn draining(lasted: i64) -> Situation {
    let mut situation = joined();
    situation.now = at(lasted);
    for node in &mut situation.nodes {
        close(node);
        node.deleted_at = Some(at(0));
    }
    set(&mut situation, ConditionKind::Drained, Truth::Unknown, "0 pods left", 0);
    situation
}

/// A machine in the rack, prepared, drained, ready to be switched off.
pub fn powered() -> Situation {
    let mut situation = draining(10);
    situation.provider = Some(Kept { provider: "power".into(), node_stays: true });
    situation.nodes[0].deleted_at = None;
    situation
}

/// Drained, and its removal ordered.
pub fn removing() -> Situation {
    let mut situation = draining(10);
    for kind in [ConditionKind::Drained, ConditionKind::VolumesDetached, ConditionKind::InstanceTerminating] {
        set(&mut situation, kind, Truth::True, "", 6);
    }
    situation
}

pub fn close(node: &mut Node) {
    node.taints.push(disrupted());
    node.labels.insert(names::EXCLUDE_FROM_BALANCERS.into(), "karpenter".into());
}

pub fn set(situation: &mut Situation, kind: ConditionKind, truth: Truth, message: &str, since: i64) {
    let conditions = &mut situation.claim.status.conditions;
    conditions.retain(|condition| condition.kind != kind);
    let reason = if kind == ConditionKind::Drained && truth == Truth::Unknown { "Draining" } else { kind.as_str() };
    let condition = Condition { kind, status: truth, reason: reason.into(), message: message.into(), since: at(since) };
    conditions.push(condition);
}

pub fn claim() -> Claim {
    Claim {
        key: InstanceKey { claim: uid("c-1"), name: name("gpu-1") },
        version: ResourceVersion::new("7").unwrap(),
        created_at: at(-1000),
        deleted_at: Some(at(0)),
        finalizers: [names::FINALIZER.to_owned()].into(),
        has_owner: false,
        launch: Launch::Recorded(Box::new(record())),
        status: ClaimStatus { provider_id: Some("azure:///gpu-1".into()), ..ClaimStatus::default() },
        ..common::claim("gpu-1")
    }
}

pub fn record() -> LaunchRecord {
    LaunchRecord {
        epoch: 1,
        offering: Offering {
            id: OfferingId {
                provider: "aks".into(),
                instance_type: "Standard_NC24ads_A100_v4".into(),
                zone: None,
                capacity_type: CapacityType::OnDemand,
            },
            gpu: None,
            capacity: Resources::new(),
            arch: Arch::Amd64,
            price: None,
            labels: Default::default(),
            stock: Stock::Unknown,
        },
        begun_at: at(-900),
        accepted_at: Some(at(-890)),
        deadline: at(300),
        progress: Some(Progress("making".into())),
        tried: vec![],
        told_joined: true,
    }
}

pub fn node(text: &str) -> Node {
    Node {
        uid: uid(&format!("uid-{text}")),
        version: ResourceVersion::new("3").unwrap(),
        created_at: at(-800),
        provider_id: Some("azure:///gpu-1".into()),
        labels: [names::REGISTERED, names::INITIALIZED].map(|label| (label.to_owned(), "true".to_owned())).into(),
        finalizers: [names::FINALIZER.to_owned()].into(),
        owners: [uid("c-1")].into(),
        ..common::node(text)
    }
}

/// An ordinary pod in `team`, with 30 s of grace.
pub fn pod(text: &str) -> Pod {
    Pod { uid: uid(&format!("uid-{text}")), started_at: Some(at(-600)), ..common::pod(text) }
}

pub fn volume(text: &str) -> VolumeAttached {
    VolumeAttached { name: name(text), of_staying_pod: false }
}

/// What a plan does, one short line an action.
pub fn steps(situation: &Situation) -> Vec<String> {
    plan(situation).actions.iter().map(step).collect()
}

pub fn step(action: &Action) -> String {
    match action {
        Action::ChangeClaim(change) if change.finalizer == FinalizerChange::Remove => "release claim".into(),
        Action::ChangeClaim(change) => {
            format!("annotate claim {:?}", change.annotations.values().flatten().collect::<Vec<_>>())
        }
        Action::Reserve(_) => "reserve".into(),
        Action::DeleteClaim => "delete claim".into(),
        Action::ChangeNode(change) if change.finalizer == FinalizerChange::Remove => format!("release {}", change.name),
        Action::ChangeNode(change) => format!("close {}", change.name),
        Action::DeleteNode { name, .. } => format!("delete {name}"),
        Action::Evict(pod) => format!("evict {}", pod.name),
        Action::DeletePod { pod, grace } => format!("delete pod {} in {} s", pod.name, grace.as_secs()),
        Action::Ensure { .. } => "ensure".into(),
        Action::EnsureGone { provider, .. } => format!("ensure gone at {provider}"),
    }
}

/// The conclusion if the actions come out like this, in order; `Done` for those that are not named.
pub fn concluded(situation: &Situation, results: &[ActionResult]) -> Conclusion {
    let plan = plan(situation);
    let mut all = results.to_vec();
    all.resize(plan.actions.len(), ActionResult::Done);
    conclude(situation, &plan, &all)
}

pub fn find(status: &ClaimStatus, kind: ConditionKind) -> Option<&Condition> {
    status.conditions.iter().find(|condition| condition.kind == kind)
}

/// Truth, reason and message of a condition.
pub fn says(conclusion: &Conclusion, kind: ConditionKind) -> Option<(Truth, &str, &str)> {
    find(&conclusion.status, kind).map(|found| (found.status, found.reason.as_str(), found.message.as_str()))
}

pub fn later(reason: &str, after: Duration) -> Next {
    Next::Answer(Answer::Later { reason: reason.into(), after })
}

pub fn after(conclusion: &Conclusion) -> Option<Duration> {
    match &conclusion.next {
        Next::Answer(answer) => answer.retry_after(),
        Next::AtOnce => None,
    }
}

pub fn reasons(conclusion: &Conclusion) -> Vec<&'static str> {
    conclusion.notes.iter().map(|note| note.reason).collect()
}

/// Nothing is written: not the claim, not its status, no note.
pub fn is_silent(situation: &Situation, conclusion: &Conclusion) -> bool {
    conclusion.claim.is_empty() && conclusion.status == situation.claim.status && conclusion.notes.is_empty()
}

pub fn failed(reason: &'static str, retry: Retry) -> ActionResult {
    let message = format!("deleting agent pool gpu1: {reason}");
    ActionResult::Failed(Failure { reason, message, retry, scope: None, limit: None })
}

pub fn not_now() -> ActionResult {
    ActionResult::NotNow { why: "the disruption budget team/db needs 1 more healthy pod".into() }
}
