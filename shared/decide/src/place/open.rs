//! Opening claims and letting them grow.

use model::place::MinValues;
use std::rc::Rc;

use super::amounts::Row;
use super::counters::PlaceId;
use super::find::{Asked, Final, Mode};
use super::mask::Mask;
use super::places::{Claim, collide};
use super::rules::HostRule;
use super::shapes::ShapeId;
use super::solver::{Choice, Solver};
use super::states::StateId;
use super::taints;

/// A claim that could be opened.
struct Opening {
    state: StateId,
    types: Mask,
    grow: Rc<Mask>,
    /// What one pod of the shape costs on the best of its types, at full load.
    unit: f64,
    relaxed: bool,
}

impl Solver<'_> {
    /// Opens a claim for a pod, in the pool that comes first by weight and then by cost.
    pub fn open(&mut self, shape: ShapeId, attempt: usize) -> Option<Choice> {
        let near = |rule: &HostRule| match rule {
            HostRule::Near { counter, itself } => *itself && self.ground.counters.all[*counter].total == 0,
            HostRule::AtMost { .. } => true,
        };
        if !self.plans[shape].attempts[attempt].hosts.iter().all(near) {
            return None;
        }
        let accelerated = self.shapes[shape].accelerated;
        let plain = !accelerated && self.ground.sources.iter().any(|source| !source.accelerators.is_empty());
        // A pod that asks for no GPU opens a node with one only if nothing else is allowed, and none that is there has room.
        let opening = if plain { self.best_opening(shape, attempt, true) } else { None };
        if plain
            && opening.is_none()
            && let Some(choice) = self.find(shape, attempt, Mode::BesideGpus)
        {
            return Some(choice);
        }
        let opening = opening.or_else(|| self.best_opening(shape, attempt, false))?;
        let columns = self.ground.columns.len();
        let place = self.places.open(Claim {
            state: opening.state,
            types: opening.types.clone(),
            grow: opening.grow,
            request: vec![0; columns],
            pods: vec![],
            accelerated,
            charge: None,
            charged_for: None,
            relaxed: opening.relaxed,
        });
        self.scratch.copy_from(&opening.types);
        Some(Choice { place, state: Some(opening.state) })
    }

    fn best_opening(&mut self, shape: ShapeId, attempt: usize, plain: bool) -> Option<Opening> {
        let mut best: Option<(u8, Opening, bool)> = None;
        for at in 0..self.ground.by_weight.len() {
            let source = self.ground.by_weight[at];
            let weight = self.ground.sources[source].pool.weight;
            if best.as_ref().is_some_and(|(better, ..)| *better > weight) {
                break;
            }
            let Some(opening) = self.opening(shape, attempt, source, plain) else { continue };
            let free = self.ground.sources[source].min_values.is_empty();
            // What must keep its minValues cannot grow as it likes.
            let better = |(_, known, known_free): &(u8, Opening, bool)| {
                opening.unit < known.unit || (free && !known_free && opening.unit <= known.unit)
            };
            if best.as_ref().is_none_or(better) {
                best = Some((weight, opening, free));
            }
        }
        best.map(|(_, opening, _)| opening)
    }

    /// What a pool could open for a pod.
    fn opening(&mut self, shape: ShapeId, attempt: usize, source: usize, plain: bool) -> Option<Opening> {
        let asked = &self.plans[shape].attempts[attempt];
        let of = &self.ground.sources[source];
        let base = of.base.filter(|_| of.pool.closed.is_none())?;
        let tolerations = &self.shapes[shape].example.tolerations;
        if !taints::tolerated(&of.taints, tolerations, asked.ignores_preferred_taints) {
            return None;
        }
        let base = self.as_tolerated(shape, base)?;
        let ways = self.ground.ways_to_buy.clone();
        ways.iter().find_map(|way| {
            let ground = &mut self.ground;
            let base = ground.states.narrow(base, *way, &ground.needs, &ground.words)?;
            self.opening_from(shape, attempt, source, plain, base)
        })
    }

    fn opening_from(
        &mut self,
        shape: ShapeId,
        attempt: usize,
        source: usize,
        plain: bool,
        base: StateId,
    ) -> Option<Opening> {
        let mut finals: Vec<Final> = vec![];
        for courteous in [true, false] {
            let plan = &self.plans[shape];
            let asked = Asked { plan, attempt: &plan.attempts[attempt], courteous };
            let ground = &mut self.ground;
            for need in &asked.attempt.needs {
                if let Some(state) = ground.states.narrow(base, *need, &ground.needs, &ground.words) {
                    asked.settle(state, &mut ground.states, &ground.counters, &ground.words, &mut finals);
                }
            }
            finals.sort_unstable();
            let opening = self.first_opening(shape, source, plain, &finals);
            if opening.is_some() || self.plans[shape].courtesy_domains.is_empty() {
                return opening;
            }
            finals.clear();
        }
        None
    }

    /// Of the least crowded states, the one with the lowest cost.
    fn first_opening(&mut self, shape: ShapeId, source: usize, plain: bool, finals: &[Final]) -> Option<Opening> {
        let mut best: Option<(u32, Opening)> = None;
        for found in finals {
            if best.as_ref().is_some_and(|(crowd, _)| *crowd < found.crowd) {
                break;
            }
            let Some(opening) = self.opening_in(shape, source, plain, found.state) else { continue };
            if best.as_ref().is_none_or(|(_, known)| opening.unit < known.unit) {
                best = Some((found.crowd, opening));
            }
        }
        best.map(|(_, opening)| opening)
    }

    fn opening_in(&mut self, shape: ShapeId, source: usize, plain: bool, state: StateId) -> Option<Opening> {
        let mut types = self.ground.states.get(state).types.clone();
        let mut request = self.shapes[shape].request.clone();
        if let Some((device, cost)) = self.device_cost(shape, None) {
            request[device] += cost;
        }
        let mut with_dear = if plain { types.clone() } else { Mask::default() };
        if plain {
            types.remove_all(&self.ground.sources[source].accelerators);
        }
        if !self.ground.sources[source].fit.keep(&request, &mut types) {
            return None;
        }
        let relaxed = self.keep_rest(shape, source, state, None, &mut types)?;
        let (unit, grow) = self.growth(shape, source, state, &request, &types)?;
        if plain && self.ground.sources[source].fit.keep(&request, &mut with_dear) {
            // It is not opened for those with a GPU, but may grow into them where nothing else is left.
            self.keep_rest(shape, source, state, None, &mut with_dear);
            types.or(&with_dear);
        }
        Some(Opening { state, types, grow, unit, relaxed })
    }

    /// The types that a claim stands for: those with a GPU only if one of its pods asks for one, or nothing else is left.
    pub fn types_of(&self, claim: &Claim) -> Mask {
        let source = self.ground.states.get(claim.state).pool;
        let accelerators = &self.ground.sources[source].accelerators;
        if claim.accelerated || !claim.types.meets(accelerators) {
            return claim.types.clone();
        }
        let mut plain = claim.types.clone();
        plain.remove_all(accelerators);
        let enough = !plain.is_empty() && (claim.relaxed || self.keeps_min_values(source, &plain));
        if enough { plain } else { claim.types.clone() }
    }

    /// The type that a claim most likely becomes, and its price.
    pub fn cheapest_of(&self, claim: &Claim) -> Option<(usize, u64)> {
        let source = self.ground.states.get(claim.state).pool;
        if claim.accelerated || self.ground.sources[source].accelerators.is_empty() {
            return self.ground.states.cheapest(claim.state, &claim.types);
        }
        self.ground.states.cheapest(claim.state, &self.types_of(claim))
    }

    /// Whether a claim can take one more pod and go into a state. Leaves in `scratch` what it could still become.
    pub fn grows(
        &mut self,
        shape: ShapeId,
        place: PlaceId,
        state: StateId,
        mode: Mode,
        devices: Option<(usize, i64)>,
    ) -> bool {
        let Some(claim) = self.places.claim(place) else { return false };
        let source = self.ground.states.get(state).pool;
        let mut types = core::mem::take(&mut self.scratch);
        types.copy_from(&claim.types);
        if claim.state != state {
            types.and(&self.ground.states.get(state).types);
        }
        let mut request = core::mem::take(&mut self.row);
        request.clear();
        request.extend(claim.request.iter().zip(&self.shapes[shape].request).map(|(own, more)| own + more));
        if let Some((device, cost)) = devices {
            request[device] += cost;
        }
        let mut fine = self.ground.sources[source].fit.keep(&request, &mut types);
        if fine && mode != Mode::Desperate {
            let moves = claim.state != state;
            let fills = mode == Mode::Filling;
            let wanted = if fills { self.costs_no_more(claim, state, &types) } else { types.meets(&claim.grow) };
            fine = wanted
                && (self.shapes[shape].accelerated
                    || !claim.accelerated
                    || mode == Mode::BesideGpus
                    || self.leaves_devices(place, source, &request))
                && (!moves || fills || self.pays(shape, place, state, &types));
        }
        self.row = request;
        let relaxed = if fine { self.keep_rest(shape, source, state, Some(place), &mut types) } else { None };
        self.scratch = types;
        if let (Some(true), Some(at)) = (relaxed, place.checked_sub(self.places.nodes)) {
            self.places.claims[at].relaxed = true;
        }
        relaxed.is_some()
    }

    /// Whether a claim that has to be bought in another way for a pod gets no dearer by it than a node for that pod alone.
    fn pays(&mut self, shape: ShapeId, place: PlaceId, state: StateId, types: &Mask) -> bool {
        let Some(claim) = self.places.claim(place) else { return false };
        let price = |of: Option<(usize, u64)>| of.map_or(u64::MAX, |(_, price)| price);
        let states = &self.ground.states;
        let (as_before, after) = (price(states.cheapest(claim.state, types)), price(states.cheapest(state, types)));
        if after <= as_before {
            return true;
        }
        let before = price(self.cheapest_of(claim));
        if self.alone[shape].is_none() {
            let must = self.plans[shape].attempts.len() - 1;
            let opening = self.best_opening(shape, must, false);
            let cheapest = opening.map(|opening| self.ground.states.cheapest(opening.state, &opening.types));
            self.alone[shape] = Some(cheapest.map_or(u64::MAX, price));
        }
        after.saturating_sub(before) <= self.alone[shape].unwrap_or(u64::MAX)
    }

    /// A pod that asks for no GPU may use what a GPU node has too much of: it costs nothing more, and every free GPU keeps its
    /// part of the machine.
    fn leaves_devices(&self, place: PlaceId, source: usize, request: &[i64]) -> bool {
        let Some(claim) = self.places.claim(place) else { return false };
        let Some((cheapest, _)) = self.cheapest_of(claim) else { return false };
        let row = &self.ground.sources[source].fit.rows[cheapest];
        let names = self.ground.columns.names();
        let is_device = |column: usize| super::amounts::is_accelerator(names[column]);
        let devices = (0..row.len()).filter(|column| is_device(*column) && row[*column] > 0);
        // In thousandths: how much of the machine its free devices stand for.
        let free = devices.map(|column| (row[column] - request[column]).max(0) * 1000 / row[column]).max().unwrap_or(0);
        (0..row.len()).all(|column| is_device(column) || request[column] <= row[column] - row[column] / 1000 * free)
    }

    /// The rules that few pods and pools have: ports of DaemonSets, volume limits, limits, minValues. Answers nothing if no type is
    /// left, else whether minValues had to give way.
    pub fn keep_rest(
        &mut self,
        shape: ShapeId,
        source: usize,
        state: StateId,
        place: Option<PlaceId>,
        types: &mut Mask,
    ) -> Option<bool> {
        let of = &self.ground.sources[source];
        let wanted = &self.shapes[shape].example.host_ports;
        if !wanted.is_empty() {
            let taken = of.ports.iter().filter(|(port, _)| wanted.iter().any(|wanted| collide(wanted, port)));
            for (_, holders) in taken {
                holders.iter().for_each(|of| types.remove(of));
            }
        }
        let handles = self.handles_with(shape, place);
        if !handles.is_empty() {
            let shelf = self.ground.states.shelf(source);
            let attaches = |of: usize| {
                let limits = &shelf.types[of].volume_limits;
                handles.iter().all(|(driver, count)| limits.get(*driver).is_none_or(|limit| *count <= *limit as usize))
            };
            let gone: Vec<usize> = types.iter().filter(|of| !attaches(*of)).collect();
            gone.into_iter().for_each(|of| types.remove(of));
        }
        if self.limits.bind(source) {
            let charge = place.and_then(|place| self.places.claim(place)).and_then(|claim| claim.charge.as_ref());
            self.limits.keep(source, state, types, charge, &mut self.ground);
        }
        if types.is_empty() {
            return None;
        }
        let enough = self.keeps_min_values(source, types);
        let best_effort = self.ground.scene.policy.min_values == MinValues::BestEffort;
        (enough || best_effort).then_some(!enough)
    }

    pub fn keeps_min_values(&self, source: usize, types: &Mask) -> bool {
        let shelf = self.ground.states.shelf(source);
        let min_values = &self.ground.sources[source].min_values;
        min_values.iter().all(|(key, least)| shelf.count_values(*key, types) >= *least)
    }

    /// Brings a claim up to date after it took a pod: its types are those in `scratch`.
    pub fn shrink(&mut self, at: usize) {
        let place = self.places.nodes + at;
        let claim = &mut self.places.claims[at];
        claim.types.copy_from(&self.scratch);
        let source = self.ground.states.get(claim.state).pool;
        let fit = self.ground.sources[source].fit.clone();
        let (types, request) = (&self.places.claims[at].types, &self.places.claims[at].request);
        let row: Row = request.iter().enumerate().map(|(column, taken)| fit.most(column, types) - taken).collect();
        self.places.room_mut(place).copy_from_slice(&row);
        if self.limits.bind(source) {
            self.charge(at, source);
        }
    }

    /// Takes from the limits what the claim's cheapest type needs; where minValues keep many types, what the largest needs.
    fn charge(&mut self, at: usize, source: usize) {
        let claim = &self.places.claims[at];
        let one = self.ground.sources[source].min_values.is_empty();
        if one && !self.limits.have_quotas() && claim.charged_for.is_some_and(|of| claim.types.has(of)) {
            return;
        }
        let cheapest = self.cheapest_of(claim).map(|(of, _)| of);
        let types: Vec<usize> =
            if one { cheapest.into_iter().collect() } else { self.types_of(claim).iter().collect() };
        let charge = self.limits.charge(source, claim.state, &types, &mut self.ground);
        self.limits.take(source, &charge, claim.charge.as_ref());
        let claim = &mut self.places.claims[at];
        claim.charge = Some(charge);
        claim.charged_for = cheapest;
    }
}
