//! The words the specification is written in: a claim for a GPU, what its cloud says, and its node.

use core::time::Duration;
use decide::claim::{ClassSeen, OfferingsSeen, Ours, Policy, Situation, conclude, plan};
use jiff::{SignedDuration, Timestamp};
use model::*;

use crate::market::{self, A100, A100_X2, aks, resources};

pub const NODE: &str = "aks-gpu1-0";
pub const PROVIDER_ID: &str = "azure:///gpu1/0";
pub const FIRST: &str = "aks/Standard_NC24ads_A100_v4/regional/on-demand";
pub const SECOND: &str = "aks/Standard_NC48ads_A100_v4/regional/on-demand";

/// So many seconds after the claim was made.
pub fn at(seconds: i64) -> Timestamp {
    market::now().checked_add(SignedDuration::from_secs(seconds)).unwrap()
}

pub fn name(text: &str) -> ObjectName {
    ObjectName::new(text).unwrap()
}

pub fn uid(text: &str) -> Uid {
    Uid::new(text).unwrap()
}

pub fn taint(key: &str, effect: Effect) -> Taint {
    Taint { key: key.into(), value: String::new(), effect }
}

pub fn text(pairs: &[(&str, &str)]) -> std::collections::BTreeMap<String, String> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

/// A claim that was made just now, by an owner who makes another if it goes. Two offerings fit, `FIRST` is the cheaper.
pub fn asked() -> Situation {
    let requirement = |key: &str, values: &[&str]| Requirement {
        key: key.into(),
        operator: Operator::In,
        values: values.iter().map(|value| (*value).to_owned()).collect(),
    };
    let requirements = vec![requirement(names::INSTANCE_TYPE, &[A100, A100_X2]), requirement("team", &["vision"])];
    Situation {
        claim: Claim {
            key: InstanceKey { claim: uid("c-1"), name: name("gpu1") },
            version: ResourceVersion::new("7").unwrap(),
            created_at: at(0),
            deleted_at: None,
            labels: text(&[(names::NODE_POOL, "gpu")]),
            annotations: text(&[("note", "of the team"), (names::LAUNCH, "{}")]),
            finalizers: Default::default(),
            has_owner: true,
            class: ClassRef { group: "karpenter.azure.com".into(), kind: "AKSNodeClass".into(), name: name("default") },
            requirements: requirements.clone(),
            requests: resources(&[("nvidia.com/gpu", "1"), ("storage", "512Gi")]),
            taints: vec![taint("sku", Effect::NoSchedule)],
            startup_taints: vec![taint("cni", Effect::NoExecute)],
            termination_grace: None,
            launch: Launch::NotBegun,
            status: ClaimStatus::default(),
        },
        ours: Ours { provider: "aks", like_gpu_provisioner: false },
        requirements,
        class: ClassSeen::Known(text(&[("imageFamily", "Ubuntu")])),
        offerings: OfferingsSeen::Known(vec![
            aks(A100_X2, None, CapacityType::OnDemand, 2, 7_346_000),
            aks(A100, None, CapacityType::OnDemand, 1, 3_673_000),
        ]),
        stock: StockMemory::default(),
        nodes: vec![],
        policy: Policy::default(),
        money: Default::default(),
        tell_joined: false,
        now: at(0),
    }
}

/// Ordered ten seconds later; the cloud is at it.
pub fn launching() -> Situation {
    let situation = Situation { now: at(10), ..asked() };
    Situation { now: at(60), ..taken(&situation, &[ActionResult::Done, in_progress("operation 1")]).0 }
}

/// The machine runs since second 120, and no node has joined.
pub fn launched() -> Situation {
    let situation = Situation { now: at(120), ..launching() };
    Situation { now: at(130), ..taken(&situation, &[running()]).0 }
}

/// Its node is there, as a kubelet makes it.
pub fn joining() -> Situation {
    Situation { nodes: vec![node(NODE)], now: at(180), ..launched() }
}

/// Its node was registered at second 180; the startup taint and the GPU driver are still being worked on.
pub fn registered() -> Situation {
    Situation { now: at(190), ..taken(&joining(), &[]).0 }
}

/// Nothing is missing any more.
pub fn usable() -> Situation {
    let mut situation = registered();
    let node = &mut situation.nodes[0];
    node.ready = Truth::True;
    node.taints.retain(|taint| taint.key == "sku");
    node.allocatable = resources(&[("cpu", "23"), ("nvidia.com/gpu", "1")]);
    situation
}

pub fn ready() -> Situation {
    Situation { now: at(600), ..taken(&usable(), &[]).0 }
}

pub fn node(text: &str) -> Node {
    Node {
        name: name(text),
        uid: uid(&format!("uid-{text}")),
        version: ResourceVersion::new("3").unwrap(),
        created_at: at(170),
        deleted_at: None,
        provider_id: Some(PROVIDER_ID.into()),
        labels: Default::default(),
        annotations: Default::default(),
        finalizers: Default::default(),
        owners: Default::default(),
        taints: vec![
            taint(names::UNREGISTERED_TAINT, Effect::NoExecute),
            taint("node.kubernetes.io/not-ready", Effect::NoSchedule),
        ],
        unschedulable: false,
        ready: Truth::False,
        capacity: resources(&[("cpu", "24"), ("nvidia.com/gpu", "1")]),
        allocatable: resources(&[("cpu", "23")]),
        os_image: Some("Ubuntu 22.04".into()),
        boot_id: None,
        conditions: vec![],
    }
}

pub fn in_progress(progress: &str) -> ActionResult {
    ActionResult::Ensured(Ensured::InProgress { progress: Progress(progress.into()), look_again_seconds: 20 })
}

/// A pool of AKS: what the machine in it is called, only its Node can tell.
pub fn running() -> ActionResult {
    ActionResult::Ensured(Ensured::Running(Instance {
        provider_id: "/subscriptions/s/agentPools/gpu1".into(),
        node: None,
        instance_type: A100.into(),
        zone: None,
        capacity_type: CapacityType::OnDemand,
        image: Some("AKSUbuntu-2204".into()),
        created_at: None,
        state: InstanceState::Running,
    }))
}

pub fn failed(reason: &'static str, retry: Retry) -> ActionResult {
    ActionResult::Failed(failure(reason, retry))
}

pub fn failure(reason: &'static str, retry: Retry) -> Failure {
    Failure { reason, message: format!("making agent pool gpu1: {reason}"), retry, scope: None, limit: None }
}

/// The cloud has none of what this plan asks for.
pub fn no_capacity(situation: &Situation) -> ActionResult {
    let scope = Some(Scope::Offering(request(situation).offering.id));
    ActionResult::Failed(Failure { scope, ..failure("InsufficientCapacity", Retry::NextOffering) })
}

/// What a plan does, one short line an action.
pub fn steps(situation: &Situation) -> Vec<String> {
    plan(situation).actions.iter().map(step).collect()
}

pub fn step(action: &Action) -> String {
    match action {
        Action::ChangeClaim(ClaimChange { record: Some(record), .. }) => {
            format!("record {}: {}", record.epoch, record.offering.id)
        }
        Action::ChangeClaim(_) => "finalizer".into(),
        Action::DeleteClaim => "delete claim".into(),
        Action::ChangeNode(change) => format!("change {}", change.name),
        Action::Ensure { request, .. } if request.class.contains_key("joined") => "tell joined".into(),
        Action::Ensure { request, .. } => format!("ensure {}: {}", request.epoch, request.offering.id),
        other => panic!("no part of a launch: {other:?}"),
    }
}

/// The request that the plan makes.
pub fn request(situation: &Situation) -> InstanceRequest {
    let mut actions = plan(situation).actions.into_iter();
    actions.find_map(|action| if let Action::Ensure { request, .. } = action { Some(*request) } else { None }).unwrap()
}

/// One invocation whose actions come out like this, in order, and `Done` where nothing is said. What it did and wrote down
/// is there when the next one looks.
pub fn taken(before: &Situation, results: &[ActionResult]) -> (Situation, Conclusion) {
    let plan = plan(before);
    let mut results = results.to_vec();
    results.resize(plan.actions.len(), ActionResult::Done);
    let mut after = before.clone();
    for (action, result) in plan.actions.iter().zip(&results) {
        match action {
            Action::ChangeClaim(change) if *result == ActionResult::Done => change_claim(&mut after.claim, change),
            Action::ChangeNode(change) if *result == ActionResult::Done => {
                after
                    .nodes
                    .iter_mut()
                    .filter(|node| node.name == change.name)
                    .for_each(|node| change_node(node, change));
            }
            _ => {}
        }
    }
    let conclusion = conclude(before, &plan, &results);
    change_claim(&mut after.claim, &conclusion.claim);
    after.claim.status = conclusion.status.clone();
    after.stock.lines.extend(conclusion.unavailable.clone());
    (after, conclusion)
}

pub fn change_claim(claim: &mut Claim, change: &ClaimChange) {
    if let Some(record) = &change.record {
        claim.launch = Launch::Recorded(record.clone());
    }
    claim.labels.extend(change.labels.clone());
    for (key, value) in &change.annotations {
        match value {
            Some(value) => drop(claim.annotations.insert(key.clone(), value.clone())),
            None => drop(claim.annotations.remove(key)),
        }
    }
    if change.finalizer == FinalizerChange::Add {
        claim.finalizers.insert(names::FINALIZER.into());
    }
}

pub fn change_node(node: &mut Node, change: &NodeChange) {
    for (all, changes) in [(&mut node.labels, &change.labels), (&mut node.annotations, &change.annotations)] {
        all.retain(|key, _| changes.get(key) != Some(&None));
        all.extend(changes.iter().filter_map(|(key, value)| Some((key.clone(), value.clone()?))));
    }
    node.taints = change.taints.clone().unwrap_or(core::mem::take(&mut node.taints));
    if change.finalizer == FinalizerChange::Add {
        node.finalizers.insert(names::FINALIZER.into());
    }
    if let OwnerChange::Add(key) = &change.owner {
        node.owners.insert(key.claim.clone());
    }
}

/// Truth, reason and message of a condition.
pub fn says(conclusion: &Conclusion, kind: ConditionKind) -> Option<(Truth, &str, &str)> {
    let found = conclusion.status.conditions.iter().find(|condition| condition.kind == kind)?;
    Some((found.status, &found.reason, &found.message))
}

/// Reasons of the Events, with a mark on warnings.
pub fn events(conclusion: &Conclusion) -> Vec<String> {
    let mark = |warning: bool| if warning { "!" } else { "" };
    conclusion.notes.iter().map(|note| format!("{}{}", note.reason, mark(note.warning))).collect()
}

pub fn later(reason: &str, seconds: u64) -> Next {
    Next::Answer(Answer::Later { reason: reason.into(), after: Duration::from_secs(seconds) })
}

pub fn nothing(reason: &str) -> Next {
    Next::Answer(Answer::nothing(reason))
}

/// Nothing is written: not the claim, not its status, no Event, no memory.
pub fn is_silent(situation: &Situation, conclusion: &Conclusion) -> bool {
    conclusion.claim.is_empty()
        && conclusion.status == situation.claim.status
        && conclusion.notes.is_empty()
        && conclusion.unavailable.is_empty()
}
