//! Nodes as candidates: which may be looked at at all, and what is known of those.

use jiff::{SignedDuration, Timestamp};
use model::{
    disruption::{After, KeptCode, NodeHere, PoolHere, Reason},
    names,
    place::{NodeStage, NodeThere},
};

use super::{
    Situation, Stay,
    budgets::Counted,
    cost,
    drift::{self, Now},
    held,
    price::{self, Paid},
};

/// A node that somebody's pool made and that is up.
pub struct Candidate<'s> {
    /// Position in `Scene::nodes`.
    pub node: usize,
    pub there: &'s NodeThere,
    pub here: &'s NodeHere,
    /// Position in `Scene::pools`.
    pub pool: usize,
    pub pool_here: &'s PoolHere,
    pub paid: Result<Paid, String>,
    /// Positions of its pods that have to move, in `Scene::bound`.
    pub moving: Vec<usize>,
    /// Of those, the ones that hold it only until a deadline that the user set.
    pub left_behind: Vec<usize>,
    /// What emptying it costs.
    pub cost: f64,
    /// What keeps everybody's hands off it but a repair.
    pub spared: Option<Stay>,
    /// The first of its pods that must not be disturbed.
    pub held: Option<Stay>,
    /// The first pod that makes it no empty node.
    pub busy: Option<String>,
    /// The first pod that costs nothing to disturb, and will want another place all the same.
    pub comes_back: Option<String>,
    /// The first pod that uses a GPU.
    pub gpu_work: Option<String>,
    /// It was left alone for long enough, or why not.
    pub quiet: Result<(), Stay>,
}

impl Candidate<'_> {
    pub fn name(&self) -> &str {
        self.there.name.as_str()
    }

    pub fn price(&self) -> u64 {
        self.paid.as_ref().map_or(0, |paid| paid.price)
    }

    /// Its pool, and its type in the pool's catalogue.
    pub fn kind(&self) -> Option<(usize, usize)> {
        self.paid.as_ref().ok().map(|paid| (self.pool, paid.instance_type))
    }

    pub fn termination_grace(&self) -> Option<SignedDuration> {
        self.here.claim.as_ref().map_or(self.pool_here.termination_grace, |claim| claim.termination_grace)
    }

    pub fn created_at(&self) -> Timestamp {
        self.here.claim.as_ref().map_or(self.here.created_at, |claim| claim.created_at)
    }

    /// When it is too old; never where nothing is said.
    pub fn expires_at(&self) -> Option<Timestamp> {
        let after = self.here.claim.as_ref().map_or(self.pool_here.expire_after, |claim| claim.expire_after)?;
        self.created_at().checked_add(after).ok()
    }

    /// It was not left alone for long enough. A pool that leaves nodes alone for ever says nothing about when pods may come.
    pub fn is_unsettled(&self) -> bool {
        self.quiet.as_ref().is_err_and(|stay| stay.code != KeptCode::ConsolidateAfterNever)
    }

    /// Nobody needs it, not even a pod that costs nothing to disturb.
    pub fn is_idle(&self) -> bool {
        self.busy.is_none() && self.comes_back.is_none()
    }

    /// Budgets have counted it before it goes: as not ready, and as one that repair is about to deal with.
    pub fn counted(&self) -> Counted {
        match (self.here.ready, &self.here.unhealthy) {
            (true, _) => Counted::No,
            (false, None) => Counted::NotReady,
            (false, Some(_)) => Counted::Unhealthy,
        }
    }

    /// Pods that must not be disturbed hold it for ever, unless the user set a deadline.
    pub fn held_from_leaving(&self) -> Option<&Stay> {
        self.held.as_ref().filter(|_| self.termination_grace().is_none())
    }
}

/// The candidate, or why it is none.
pub fn candidate<'s>(
    situation: &'s Situation,
    here: &'s NodeHere,
    pods: &[usize],
) -> Option<Result<Candidate<'s>, Stay>> {
    let scene = &situation.provision.scene;
    let there = scene.nodes.get(here.node)?;
    let pool = match not_ours(situation, here, there) {
        Err(stay) => return Some(Err(stay)),
        Ok(pool) => pool,
    };
    let pool_here = situation.inventory.pools.get(pool)?;
    let catalogue = scene.pools.get(pool).and_then(|pool| scene.catalogues.get(pool.catalogue));
    let now = situation.provision.now;
    let inventory = &situation.inventory;
    let known = |at: &usize| Some((*at, scene.bound.get(*at)?, inventory.pods.get(*at)?));
    let known: Vec<_> = pods.iter().filter_map(known).collect();
    let held = |(_, there, pod): &(usize, &_, &_)| held::held(inventory, there, pod, now);
    let moving: Vec<_> = known.iter().filter(|(_, _, pod)| pod.moves.is_some()).collect();
    // Whatever it costs to disturb it: work on a GPU needs its node.
    let keeps_busy =
        |pod: &model::disruption::PodHere| !pod.ignored && (cost::of_pod(pod) > 0.0 || cost::uses_gpus(pod));
    let first = |keeps: &dyn Fn(&model::disruption::PodHere) -> bool| {
        moving.iter().find(|(_, _, pod)| keeps(pod)).map(|(_, there, _)| held::name(there))
    };
    let candidate = Candidate {
        node: here.node,
        there,
        here,
        pool,
        pool_here,
        paid: price::paid(there, catalogue),
        cost: cost::of_node(moving.iter().map(|(_, _, pod)| *pod)),
        spared: spared(here, pool_here),
        held: known.iter().find_map(held),
        busy: first(&keeps_busy),
        comes_back: first(&|pod| !pod.ignored),
        gpu_work: first(&cost::uses_gpus),
        left_behind: moving.iter().filter(|pod| held(pod).is_some()).map(|(at, _, _)| *at).collect(),
        moving: moving.iter().map(|(at, _, _)| *at).collect(),
        quiet: quiet(here, pool_here, now),
    };
    Some(Ok(candidate))
}

/// Whether it is not what its pool would make today.
pub fn drift_of(candidate: &Candidate<'_>, situation: &Situation) -> Option<model::disruption::Drift> {
    drift::drift(candidate.there, candidate.here, &Now::of(situation, candidate.pool)?)
}

/// Whether it has to leave, whatever that costs.
pub fn has_to_leave(candidate: &Candidate<'_>, situation: &Situation) -> bool {
    candidate.here.unhealthy.is_some()
        || candidate.expires_at().is_some_and(|expires| expires <= situation.provision.now)
        || drift_of(candidate, situation).is_some()
}

/// Nothing of ours to take away, or its pool.
fn not_ours(situation: &Situation, here: &NodeHere, there: &NodeThere) -> Result<usize, Stay> {
    let stay = |code, words: String| Err(Stay { code, words, until: None });
    let Some(name) = &there.pool else {
        return stay(KeptCode::NotManaged, format!("no NodePool made it (it has no label {})", names::NODE_POOL));
    };
    let pools = &situation.provision.scene.pools;
    let Some(pool) = pools.iter().position(|pool| pool.name == *name) else {
        return stay(KeptCode::PoolNotFound, format!("its NodePool {name} is not there"));
    };
    if there.deleting {
        return stay(KeptCode::Deleting, "it is on its way out already".to_owned());
    }
    if here.disrupted {
        return stay(KeptCode::Disrupting, "a command is at work on it already".to_owned());
    }
    if there.stage != NodeStage::Initialized {
        return stay(KeptCode::NotInitialized, "it is not ready for pods yet (Initialized)".to_owned());
    }
    if here.control_plane {
        return stay(KeptCode::ControlPlane, "it is part of the control plane".to_owned());
    }
    if here.runs_us {
        return stay(KeptCode::RunsUs, "pilotlight itself runs on it".to_owned());
    }
    Ok(pool)
}

fn spared(here: &NodeHere, pool: &PoolHere) -> Option<Stay> {
    let stay = |code, words: String| Some(Stay { code, words, until: None });
    if here.do_not_disrupt {
        return stay(KeptCode::NodeDoNotDisrupt, format!("it must not be disturbed ({})", names::DO_NOT_DISRUPT));
    }
    let expected =
        || here.nominated.as_ref().and_then(|who| stay(KeptCode::Nominated, format!("{who} is expected on it")));
    worked_on(here, pool).or_else(expected)
}

fn worked_on(here: &NodeHere, pool: &PoolHere) -> Option<Stay> {
    let words = || "it is cordoned: somebody works on it".to_owned();
    (here.cordoned && pool.rack.is_some()).then(|| Stay { code: KeptCode::Cordoned, words: words(), until: None })
}

/// Whether nothing has come or gone for as long as its pool says.
fn quiet(here: &NodeHere, pool: &PoolHere, now: Timestamp) -> Result<(), Stay> {
    let claim = here.claim.as_ref();
    let up_since = claim.and_then(|claim| claim.initialized_at).unwrap_or(here.created_at);
    let last = match claim {
        Some(claim) => claim.last_pod_event.unwrap_or(up_since),
        None => here.last_came.map_or(up_since, |came| came.max(up_since)),
    };
    let wait = |code, from: Timestamp, time: SignedDuration, words: &str| match from.checked_add(time) {
        Ok(until) if now < until => {
            Err(Stay { code, words: format!("{words} until {until} ({time:#})"), until: Some(until) })
        }
        _ => Ok(()),
    };
    match pool.consolidate_after {
        After::Never => {
            let words = "its pool leaves nodes alone for ever (consolidateAfter: Never)".to_owned();
            return Err(Stay { code: KeptCode::ConsolidateAfterNever, words, until: None });
        }
        After::Time(time) => wait(
            KeptCode::WithinConsolidateAfter,
            last,
            time,
            "a pod came or went a short while ago, and its pool waits",
        )?,
    }
    let Some(rack) = &pool.rack else { return Ok(()) };
    wait(KeptCode::WithinIdleWindow, last, rack.idle, "it has not been idle for long enough:")?;
    wait(KeptCode::WithinMinimumOnTime, up_since, rack.on, "it was switched on a short while ago, and stays on")?;
    let changed = here.changed_at.unwrap_or(Timestamp::MIN);
    wait(
        KeptCode::CoolingDown,
        changed,
        rack.rest,
        "it was switched, or left alone again, a short while ago, and rests",
    )
}

/// Whether a node may be emptied, and if not, why not.
pub fn may_be_empty(candidate: &Candidate<'_>) -> Result<(), Stay> {
    common(candidate)?;
    match &candidate.busy {
        None => Ok(()),
        Some(pod) => {
            let words = format!("pod {pod} runs on it, and its pool takes only empty nodes away (WhenEmpty)");
            Err(Stay { code: KeptCode::NotEmpty, words, until: None })
        }
    }
}

/// Whether a node with pods may be taken away to save money, as far as it alone decides that.
pub fn may_be_consolidated(candidate: &Candidate<'_>) -> Result<(), Stay> {
    let stay = |code, words: String| Err(Stay { code, words, until: None });
    if candidate.pool_here.policy == model::disruption::Policy::WhenEmpty {
        may_be_empty(candidate)?;
    }
    common(candidate)?;
    match (&candidate.gpu_work, candidate.pool_here.moves_gpu_work) {
        (Some(pod), false) => {
            let words = format!(
                "pod {pod} uses its GPUs, and such work is not moved to save money ({})",
                names::CONSOLIDATE_GPU
            );
            stay(KeptCode::GpuWork, words)
        }
        _ => match &candidate.paid {
            Err(why) => stay(KeptCode::PriceUnknown, format!("what it costs is not known: {why}")),
            Ok(_) => Ok(()),
        },
    }
}

fn common(candidate: &Candidate<'_>) -> Result<(), Stay> {
    if let Some(stay) = &candidate.spared {
        return Err(stay.clone());
    }
    if candidate.pool_here.fixed_size.is_some() {
        let words = "its pool has a fixed number of nodes (spec.replicas)".to_owned();
        return Err(Stay { code: KeptCode::FixedSize, words, until: None });
    }
    candidate.quiet.clone()?;
    match &candidate.held {
        Some(stay) => Err(stay.clone()),
        None => Ok(()),
    }
}

/// Whether a node that has to leave may leave now.
pub fn may_leave(candidate: &Candidate<'_>, reason: Reason) -> Result<(), Stay> {
    if reason == Reason::Unhealthy {
        if candidate.here.do_not_repair {
            let words = format!("it must not be repaired ({})", names::DO_NOT_REPAIR);
            return Err(Stay { code: KeptCode::DoNotRepair, words, until: None });
        }
        // Whoever works on a machine of a rack has their hands in it.
        return worked_on(candidate.here, candidate.pool_here).map_or(Ok(()), Err);
    }
    if let Some(stay) = candidate.spared.as_ref().or_else(|| candidate.held_from_leaving()) {
        return Err(stay.clone());
    }
    Ok(())
}
