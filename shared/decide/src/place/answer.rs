//! What was placed, in the words of the model: claims with their contract, and where every pod is.

use model::place::{ClaimPlanned, OfferingRef, Placing, PodToPlace, PoolRequirement, Where};
use model::{CapacityType, Operator, Requirement, Resources, names};
use std::sync::Arc;

use super::allowed::Allowed;
use super::amounts::{Row, quantity};
use super::explain;
use super::hash::Map;
use super::mask::Mask;
use super::places::Claim;
use super::solver::Solver;
use super::states::StateId;
use super::words::{Key, Words};

/// Lists of offerings that several claims have.
pub type Lists = Map<(StateId, Mask), Listed>;

/// Offerings, cheapest first, and their capacity types.
pub type Listed = (Arc<[OfferingRef]>, Vec<CapacityType>);

pub fn answer(mut solver: Solver<'_>) -> Placing {
    if solver.ground.sources.iter().any(|source| !source.accelerators.is_empty()) {
        for at in 0..solver.places.claims.len() {
            solver.places.claims[at].types = solver.types_of(&solver.places.claims[at]);
        }
    }
    share_slack(&mut solver);
    let scene = solver.ground.scene;
    let whys = explain::all(&mut solver);
    // A thousand claims are about to be described: what only the solve needed can go before.
    solver.forget_rules();
    let mut lists = Lists::default();
    let mut claims = vec![];
    let mut position = vec![usize::MAX; solver.places.claims.len()];
    for (claim, position) in solver.places.claims.iter().zip(&mut position).filter(|(claim, _)| !claim.pods.is_empty())
    {
        *position = claims.len();
        let name = format!("claim-{}", claims.len());
        claims.push(planned(&solver, claim, name, &mut lists));
    }
    let on = |(at, pod): (usize, &PodToPlace)| match (solver.placed[at], &pod.invalid) {
        (Some(place), _) if place < solver.places.nodes => Where::Node(place),
        (Some(place), _) => Where::Claim(position[place - solver.places.nodes]),
        (None, Some(invalid)) => Where::Nowhere(explain::invalid(invalid)),
        (None, None) => Where::Nowhere(whys.get(&at).cloned().unwrap_or_else(explain::unknown)),
    };
    let pods = scene.pods.iter().enumerate().map(on).collect();
    Placing { pods, claims, out_of_time: solver.out_of_time }
}

pub fn planned(solver: &Solver<'_>, claim: &Claim, name: String, lists: &mut Lists) -> ClaimPlanned {
    let ground = &solver.ground;
    let state = ground.states.get(claim.state);
    let source = &ground.sources[state.pool];
    let types = fewest(solver, claim);
    let (offerings, seen) =
        lists.entry((claim.state, types.clone())).or_insert_with(|| list(solver, claim.state, &types)).clone();
    let mut requirements = vec![];
    let mut labels = source.pool.labels.clone();
    for (key, allowed) in &state.labels {
        let of_key = source.pool.requirements.iter().filter(|of| ground.words.key(&of.requirement.key) == Some(*key));
        let min_values = of_key.filter_map(|of| of.min_values).max().filter(|_| !claim.relaxed);
        if let Some(value) = allowed.single() {
            labels.insert(ground.words.key_name(*key).to_owned(), ground.words.value_name(*key, value).to_owned());
        }
        if ground.words.key_name(*key) != names::INSTANCE_TYPE {
            // A list that is shorter than minValues would be refused: what the pool asked for is in the choice of types.
            let is_open = |requirement: &Requirement| requirement.operator != Operator::In;
            let of = |requirement: Requirement| {
                let fits = |least: &u32| is_open(&requirement) || requirement.values.len() >= *least as usize;
                PoolRequirement { min_values: min_values.filter(fits), requirement }
            };
            requirements.extend(told(*key, allowed, &ground.words).into_iter().map(of));
        }
    }
    requirements.retain(|of| of.requirement.key != names::CAPACITY_TYPE || of.min_values.is_some());
    if !requirements.iter().any(|of| of.requirement.key == names::CAPACITY_TYPE) {
        let values = seen.into_iter().map(|of| of.as_str().to_owned()).collect();
        let key = names::CAPACITY_TYPE.to_owned();
        requirements.push(Requirement { key, operator: Operator::In, values }.into());
    }
    requirements.sort_by(|a, b| a.requirement.key.cmp(&b.requirement.key));
    labels.insert(names::NODE_POOL.to_owned(), source.pool.name.to_string());
    labels.remove(names::INSTANCE_TYPE);
    let mut pods = claim.pods.clone();
    pods.sort_unstable();
    let requests = requests(solver, &claim.request, &source.overhead, &types);
    ClaimPlanned {
        name,
        pool: state.pool,
        labels,
        requirements,
        requests,
        offerings,
        pods,
        min_values_relaxed: claim.relaxed,
    }
}

/// The cheapest types of a claim, as many as it may list.
fn fewest(solver: &Solver<'_>, claim: &Claim) -> Mask {
    let most = solver.ground.scene.policy.most_types.max(1);
    if claim.types.len() <= most {
        return claim.types.clone();
    }
    let mut kept = Mask::none(0);
    let order = &solver.ground.states.prices(claim.state).order;
    order.iter().filter(|of| claim.types.has(**of)).take(most).for_each(|of| kept.insert(*of));
    let pool = solver.ground.states.get(claim.state).pool;
    if claim.relaxed || solver.keeps_min_values(pool, &kept) { kept } else { claim.types.clone() }
}

fn list(solver: &Solver<'_>, state: StateId, types: &Mask) -> Listed {
    let all = &solver.ground.states.prices(state).offerings;
    let listed: Arc<[OfferingRef]> = all.iter().filter(|of| types.has(of.instance_type as usize)).copied().collect();
    let shelf = solver.ground.states.shelf(solver.ground.states.get(state).pool);
    let offered = |of: &OfferingRef| &shelf.types[of.instance_type as usize].offerings[of.offering as usize];
    let mut seen = vec![CapacityType::OnDemand, CapacityType::Reserved, CapacityType::Spot];
    seen.retain(|capacity_type| listed.iter().any(|of| offered(of).capacity_type == *capacity_type));
    (listed, seen)
}

/// What is allowed, as requirements: two where there are two bounds.
pub fn told(key: Key, allowed: &Allowed, words: &Words<'_>) -> Vec<Requirement> {
    let requirement = |operator, values| Requirement { key: words.key_name(key).to_owned(), operator, values };
    let name = |value: usize| words.value_name(key, value).to_owned();
    if !allowed.allows_others() {
        let mut values: Vec<String> = allowed.values().iter().map(name).collect();
        values.sort_unstable();
        let operator = if values.is_empty() { Operator::DoesNotExist } else { Operator::In };
        return vec![requirement(operator, values)];
    }
    let (least, most) = allowed.bounds().unwrap_or((i64::MIN, i64::MAX));
    let within = |value: &str| {
        allowed.bounds().is_none() || value.parse::<i64>().is_ok_and(|number| (least..=most).contains(&number))
    };
    let mut all = vec![];
    let all_values = words.values(key).iter().enumerate();
    let mut denied: Vec<String> =
        all_values.filter(|(at, value)| !allowed.has(*at) && within(value)).map(|(at, _)| name(at)).collect();
    denied.sort_unstable();
    if !denied.is_empty() {
        all.push(requirement(Operator::NotIn, denied));
    }
    // A NodeClaim takes no negative number: at least zero is said as such.
    if least > 0 {
        all.push(requirement(Operator::Gt, vec![(least - 1).to_string()]));
    } else if allowed.bounds().is_some() && (least > i64::MIN || most == i64::MAX) {
        all.push(requirement(Operator::Gte, vec!["0".to_owned()]));
    }
    if most < i64::MAX {
        all.push(requirement(Operator::Lt, vec![(most + 1).to_string()]));
    }
    if !allowed.allows_absent() && allowed.bounds().is_none() {
        all.push(requirement(Operator::Exists, vec![]));
    }
    all
}

/// What pods take, and what DaemonSets take on every type that is listed.
fn requests(solver: &Solver<'_>, request: &Row, overhead: &[Row], types: &Mask) -> Resources {
    let mut all = Resources::new();
    for (column, name) in solver.ground.columns.names().iter().enumerate() {
        let daemons = types.iter().map(|of| overhead[of][column]).min().unwrap_or(0);
        let amount = request[column] + daemons;
        if amount > 0 {
            all.insert((*name).to_owned(), quantity(name, amount));
        }
    }
    all
}

/// Claims were charged for their cheapest type. What the limits have left lets them list larger ones too: first up to twice
/// as much, then up to four times, then all.
fn share_slack(solver: &mut Solver<'_>) {
    let claims = solver.places.claims.len();
    let listed_freely = |pool: usize| solver.limits.suffice(pool, claims);
    let limited: Vec<usize> = (0..claims)
        .filter(|at| solver.places.claims[*at].charge.is_some())
        .filter(|at| !listed_freely(solver.ground.states.get(solver.places.claims[*at].state).pool))
        .collect();
    let full: Vec<Mask> = limited.iter().map(|at| solver.places.claims[*at].types.clone()).collect();
    for times in [1, 2, 4, i64::MAX] {
        for (at, full) in limited.iter().zip(&full) {
            solver.widen(*at, full, times);
        }
    }
}

impl Solver<'_> {
    /// Keeps of a claim's types those that take no more of limits than what it is charged for, where limits are short.
    pub fn keep_charged(&mut self, claim: &mut Claim) {
        let source = self.ground.states.get(claim.state).pool;
        let (Some(charge), false) = (&claim.charge, self.limits.suffice(source, self.places.claims.len())) else {
            return;
        };
        let takes_more = |takes: Row| takes.iter().zip(charge).any(|(takes, charged)| takes > charged);
        let types: Vec<usize> = claim.types.iter().collect();
        let dear = types
            .into_iter()
            .filter(|of| takes_more(self.limits.charge(source, claim.state, &[*of], &mut self.ground)));
        let dear: Vec<usize> = dear.collect();
        dear.into_iter().for_each(|of| claim.types.remove(of));
    }

    /// Lists of a claim's types those that take at most `times` what it is charged for, and that the limits allow.
    fn widen(&mut self, at: usize, full: &Mask, times: i64) {
        let claim = &self.places.claims[at];
        let (state, Some(charge)) = (claim.state, claim.charge.clone()) else { return };
        let source = self.ground.states.get(state).pool;
        if !self.ground.sources[source].min_values.is_empty() {
            return;
        }
        let mut types = full.clone();
        self.limits.keep(source, state, &mut types, Some(&charge), &mut self.ground);
        let small: Vec<usize> = types
            .iter()
            .filter(|of| {
                let takes = self.limits.charge(source, state, &[*of], &mut self.ground);
                times == i64::MAX
                    || takes.iter().zip(&charge).all(|(takes, charged)| *takes <= charged.saturating_mul(times))
            })
            .collect();
        let larger = self.limits.charge(source, state, &small, &mut self.ground);
        let claim = &mut self.places.claims[at];
        claim.types = Mask::none(full.words().len() * 64);
        small.iter().for_each(|of| claim.types.insert(*of));
        self.limits.take(source, &larger, Some(&charge));
        claim.charge = Some(larger);
    }
}
