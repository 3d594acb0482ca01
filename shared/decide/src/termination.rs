//! Taking a claim down: deadline, taint, drain, volumes, machine, finalizers, in this order and never in another.
//!
//! Nothing is remembered between steps but what stands in the cluster: each step looks, derives how far things are, and
//! does the next. So any machine can go on where another stopped, and a step that finds nothing to change writes nothing.
//!
//! What holds, whatever comes back:
//! - No pod is evicted before the taint is on its node: the taint stands before it in the plan, and a plan ends at what
//!   does not come out.
//! - No machine goes while a pod holds its node, unless a deadline that somebody set has passed. Pods may still be on
//!   their way while the taint is written, so the taint must have been seen, and the node been watched for
//!   [`SHORTEST_DRAIN`], before "no pod left" counts.
//! - The claim's finalizer goes only in a plan in which the provider has just confirmed that nothing is left. For that
//!   plan `Gone::Confirmed` counts as done, and `Gone::InProgress` ends it.

mod conclude;
mod deadline;
mod nodes;
mod orphan;
mod pods;
mod stage;
mod words;

use jiff::{SignedDuration, Timestamp};
use model::{Action, Claim, ClaimChange, Conclusion, FinalizerChange, Node, Plan, Pod, PodRef, VolumeAttached};

pub use orphan::{Orphan, orphan_needs_observation, plan_for_orphan};
use stage::{Emptying, Stage, Wait};

/// From the beginning of the drain until "no pod left" is believed. Karpenter's figure.
pub const SHORTEST_DRAIN: SignedDuration = SignedDuration::from_secs(5);

/// A pod that is still there so long after it should have gone does not go by waiting.
pub const STUCK_AFTER: SignedDuration = SignedDuration::from_mins(1);

/// What was seen of a claim that is to go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Situation {
    pub claim: Claim,
    /// All of this claim.
    pub nodes: Vec<Node>,
    /// All on those nodes.
    pub pods: Vec<Pod>,
    /// All on those nodes.
    pub attachments: Vec<VolumeAttached>,
    pub instance: InstanceSeen,
    /// Absent where nobody can tell whose machine it would be.
    pub provider: Option<Kept>,
    pub now: Timestamp,
}

/// What the provider said about the machine. It is asked only where [`needs_observation`] says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InstanceSeen {
    NotAsked,
    Absent,
    Present,
}

/// Who has, or may have, the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// `aks`, `scaleway` or `power`.
    pub provider: String,
    /// The machine is only switched off: its Node stays, so that its identity survives.
    pub node_stays: bool,
}

/// Whether the provider has to be asked if the machine is there, before `plan` can decide.
///
/// A node that is not ready may have lost its machine already; then its pods cannot be reached, and nobody waits for them.
pub fn needs_observation(situation: &Situation) -> bool {
    let unreachable = !situation.nodes.is_empty() && !nodes::any_ready(&situation.nodes);
    situation.instance == InstanceSeen::NotAsked
        && situation.provider.is_some()
        && unreachable
        && matches!(Stage::of(situation), Stage::Emptying(_))
}

/// The next step.
pub fn plan(situation: &Situation) -> Plan {
    let actions = match Stage::of(situation) {
        Stage::NotToGo | Stage::Released => vec![],
        Stage::NeverLaunched => vec![release_claim()],
        Stage::Emptying(emptying) => {
            let Emptying { prepare, drain, wait, deadline: _ } = *emptying;
            let mut actions: Vec<Action> = prepare.claim.map(Action::ChangeClaim).into_iter().collect();
            actions.extend(prepare.changes.into_iter().map(Action::ChangeNode));
            actions.extend(prepare.deletions.into_iter().map(|(name, uid)| Action::DeleteNode { name, uid }));
            if wait == Wait::Pods {
                let delete = |(pod, grace)| Action::DeletePod { pod: pod_ref(pod), grace };
                actions.extend(drain.delete.into_iter().map(delete));
                actions.extend(drain.evict.into_iter().map(|pod| Action::Evict(pod_ref(pod))));
            }
            actions
        }
        Stage::Removing(_) => match &situation.provider {
            None => vec![],
            Some(kept) => {
                let mut actions = vec![Action::EnsureGone {
                    provider: kept.provider.clone(),
                    key: situation.claim.key.clone(),
                    progress: stage::progress_of_removing(&situation.claim),
                }];
                actions.extend(nodes::releases(situation, kept).into_iter().map(Action::ChangeNode));
                actions.push(release_claim());
                actions
            }
        },
    };
    Plan { actions }
}

/// What is written down about it, and what comes next.
pub fn conclude(situation: &Situation, plan: &Plan, results: &[model::ActionResult]) -> Conclusion {
    conclude::conclude(situation, plan, results)
}

/// A person deleted the Node: that means the machine, so its claim goes too, and takes the Node with it.
pub fn plan_for_node(node: &Node, claim: &Claim) -> Plan {
    let asked_for = node.deleted_at.is_some() && claim.deleted_at.is_none();
    Plan { actions: if asked_for { vec![Action::DeleteClaim] } else { vec![] } }
}

/// One step of emptying a node that stays: who is told to go now, and who still holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Emptied {
    pub actions: Vec<Action>,
    /// Namespace and name of each pod that holds it.
    pub holding: Vec<String>,
}

/// By the same rules as for a node that goes: tiers, budgets, `do-not-disrupt`, and the deadline if there is one.
pub fn empty_node(pods: &[Pod], deadline: Option<Timestamp>, began: Timestamp, now: Timestamp) -> Emptied {
    let deadline = deadline::Deadline { at: deadline, is_new: false, unreadable: false };
    let drain = pods::Drain::of(pods, &deadline, began, now);
    let delete = drain.delete.iter().map(|(pod, grace)| Action::DeletePod { pod: pod_ref(pod), grace: *grace });
    let evict = drain.evict.iter().map(|pod| Action::Evict(pod_ref(pod)));
    Emptied {
        actions: delete.chain(evict).collect(),
        holding: drain.holding.iter().map(|pod| words::pod_name(pod)).collect(),
    }
}

fn release_claim() -> Action {
    Action::ChangeClaim(ClaimChange { finalizer: FinalizerChange::Remove, ..ClaimChange::default() })
}

fn pod_ref(pod: &Pod) -> PodRef {
    PodRef { namespace: pod.namespace.clone(), name: pod.name.clone(), uid: pod.uid.clone() }
}

/// As late as time goes, at the latest: arithmetic on what somebody wrote must not fail.
fn later(time: Timestamp, by: SignedDuration) -> Timestamp {
    time.checked_add(by).unwrap_or(if by.is_negative() { Timestamp::MIN } else { Timestamp::MAX })
}
