//! Which NodeClaims are made for pods that wait, and what each pod is told.
//!
//! A claim is made for certain pods and says so. Until they are bound, its room is theirs: whoever decides next, in whatever
//! process, finds that on the claim and makes no second one.

pub(crate) mod claims;
pub(crate) mod learn;
pub(crate) mod machines;
mod naming;
pub(crate) mod nominations;
mod purse;
mod started_anew;
mod words;

use jiff::Timestamp;
use model::{
    Claim, ClaimToMake, ClassRef, ObjectName, Offering, PodNote, PodRef, PoolRef,
    place::{ClaimPlanned, Code, Placing, PodToPlace, Scene, Where, Why},
};
use std::{collections::BTreeMap, sync::Arc};

use crate::money::Allowance;
pub use claims::USUAL_DISK_GIB;
pub use nominations::nominations;
pub use words::{LONGEST_TEXT, on_its_way};

/// Everything that a decision looks at.
#[derive(Debug, Clone)]
pub struct Situation {
    pub scene: Scene,
    /// One for each of the scene's pools.
    pub pools: Vec<PoolFacts>,
    /// All that are there, read while it is our turn.
    pub claims: Vec<Claim>,
    pub now: Timestamp,
}

/// What a claim of a pool has that placing does not look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolFacts {
    /// Absent for the pool that nobody made: machines of the environment, where there is no NodePool at all.
    pub owner: Option<PoolRef>,
    pub class: ClassRef,
    /// The provider of its class; empty where the class is nobody's.
    pub provider: &'static str,
    /// Of the template, and what tells later whether the template has changed.
    pub annotations: BTreeMap<String, String>,
    pub expire_after: Option<String>,
    pub termination_grace_period: Option<String>,
    /// What its catalogue was made from.
    pub offerings: Arc<[Offering]>,
    pub allowance: Allowance,
}

/// What is to be done, and what there is to say.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Provisioning {
    pub claims: Vec<ClaimToMake>,
    /// Every pod that waits, with what becomes of it.
    pub pods: Vec<(PodRef, Told)>,
}

/// What becomes of a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// A claim is made for it now: position in `claims`.
    Coming {
        claim: usize,
    },
    /// A claim was made for it before.
    OnItsWay {
        claim: ObjectName,
        expected: String,
    },
    /// There is room for it: on a node, or on a claim that was made for others.
    HasRoom {
        on: String,
    },
    NoNode(Arc<Why>),
    /// Nobody asked us to see to it.
    NotOurs {
        why: String,
    },
}

/// Decides for all pods of the scene together.
///
/// `still_time` is asked now and then; once it answers no, what was decided so far is returned.
pub fn plan(situation: &Situation, still_time: &mut dyn FnMut() -> bool) -> Provisioning {
    let mut scene = situation.scene.clone();
    learn::learn(&mut scene);
    let mut provisioning = Provisioning::default();
    for (pod, claim) in nominations::settle(&mut scene, &situation.claims, situation.now) {
        let expected = words::expected_on(claim);
        let told = Told::OnItsWay { claim: claim.key.name.clone(), expected };
        provisioning.pods.push((reference(&pod), told));
    }
    not_ours(&mut scene, &situation.pools, &mut provisioning);
    machines::take_from_racks(&mut scene, situation);
    let mut maker = claims::Maker::new(situation);
    loop {
        let placing = crate::place::place(&scene, still_time);
        let pinned = machines::pin(&scene, situation, &placing);
        if pinned.is_empty() || placing.out_of_time {
            tell(&scene, &placing, &mut maker, &mut provisioning);
            break;
        }
        for pin in &pinned {
            let told = made(&scene, &pin.planned, &mut maker, &mut provisioning);
            let pods = pin.planned.pods.iter().filter_map(|at| scene.pods.get(*at));
            provisioning.pods.extend(pods.map(|pod| (reference(pod), told.clone())));
        }
        machines::give(&mut scene, pinned);
    }
    provisioning
}

/// Where no pool exists, machines of the environment are for pods that ask for GPUs; others wait for somebody else.
fn not_ours(scene: &mut Scene, pools: &[PoolFacts], provisioning: &mut Provisioning) {
    if pools.iter().any(|pool| pool.owner.is_some()) {
        return;
    }
    let (ours, others): (Vec<_>, Vec<_>) = core::mem::take(&mut scene.pods).into_iter().partition(asks_for_gpus);
    scene.pods = ours;
    let told = || Told::NotOurs { why: NO_POOL.to_owned() };
    provisioning.pods.extend(others.iter().map(|pod| (reference(pod), told())));
}

/// Why a pod without GPUs gets none of the machines that are there without a NodePool.
pub const NO_POOL: &str = "there is no NodePool, and machines without one are for pods that ask for GPUs";

const GPU_MAKERS: [&str; 3] = ["nvidia.com/", "amd.com/", "gpu.intel.com/"];

pub fn asks_for_gpus(pod: &PodToPlace) -> bool {
    pod.requests.keys().any(|name| GPU_MAKERS.iter().any(|maker| name.starts_with(maker)))
}

fn tell(scene: &Scene, placing: &Placing, maker: &mut claims::Maker<'_>, provisioning: &mut Provisioning) {
    let claims: Vec<Told> = placing.claims.iter().map(|planned| made(scene, planned, maker, provisioning)).collect();
    for (pod, place) in scene.pods.iter().zip(&placing.pods) {
        let told = match place {
            Where::Claim(at) => claims.get(*at).cloned().unwrap_or_else(|| no_money(String::new())),
            Where::Node(_) => Told::HasRoom { on: place.name(scene, placing).unwrap_or_default() },
            Where::Nowhere(why) => Told::NoNode(why.clone()),
        };
        provisioning.pods.push((reference(pod), told));
    }
}

/// What the pods of a planned claim are told: that it is made, or that there is no money for it.
fn made(scene: &Scene, planned: &ClaimPlanned, maker: &mut claims::Maker<'_>, provisioning: &mut Provisioning) -> Told {
    match maker.make(scene, planned) {
        Ok(claim) => {
            provisioning.claims.push(claim);
            Told::Coming { claim: provisioning.claims.len() - 1 }
        }
        Err(why) => no_money(why),
    }
}

fn no_money(reason: String) -> Told {
    Told::NoNode(Arc::new(Why { code: Code::Limits, reason }))
}

fn reference(pod: &PodToPlace) -> PodRef {
    PodRef { namespace: pod.namespace.clone(), name: pod.name.clone(), uid: pod.uid.clone() }
}

impl Provisioning {
    pub fn told(&self, pod: &PodRef) -> Option<&Told> {
        self.pods.iter().find(|(own, _)| own.uid == pod.uid).map(|(_, told)| told)
    }

    /// The Events to be written: one for each pod that a claim is made for now, or that gets none.
    pub fn notes(&self) -> Vec<PodNote> {
        let note = |(pod, told): &(PodRef, Told)| match told {
            Told::Coming { claim } => Some(words::nominated(pod, self.claims.get(*claim)?)),
            Told::NoNode(why) if why.code == Code::OutOfTime => None,
            Told::NoNode(why) => Some(words::no_node(pod, why)),
            Told::OnItsWay { .. } | Told::HasRoom { .. } | Told::NotOurs { .. } => None,
        };
        self.pods.iter().filter_map(note).collect()
    }
}
