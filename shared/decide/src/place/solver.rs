//! The solve itself: shape by shape, pod by pod, onto what is there, onto what was opened, onto something new.

use model::place::Scene;

use super::amounts::{Row, add, one_device, subtract};
use super::attempts::{self, Plan};
use super::counters::{Counted, Counter, PlaceId, Spot};
use super::find::{Cursors, Mode};
use super::ground::{Ground, take_part};
use super::growth::Growth;
use super::hash::Map;
use super::limits::Limits;
use super::mask::Mask;
use super::moving::Full;
use super::order;
use super::places::Places;
use super::shapes::{Shape, ShapeId};
use super::states::{Domain, StateId};
use super::taints;

pub struct Solver<'a> {
    pub ground: Ground<'a>,
    pub shapes: Vec<Shape<'a>>,
    pub plans: Vec<Plan>,
    pub places: Places<'a>,
    pub limits: Limits,
    /// Where each pod of the scene went.
    pub placed: Vec<Option<PlaceId>>,
    pub out_of_time: bool,
    pub scratch: Mask,
    pub row: Row,
    pub cursors: Cursors,
    /// What all pods ask for that have no place yet.
    pub waiting: Row,
    /// By shape: what a node for one pod of it alone costs, as far as anybody wanted to know.
    pub alone: Vec<Option<u64>>,
    /// What claims opened for a shape may grow into, by the types they begin with.
    pub growths: Map<(ShapeId, StateId), Growth>,
    /// By shape: whether its pods can be packed anew.
    pub free: Vec<bool>,
    /// Whether pods of the shape in hand look for room that is paid for.
    pub fills: bool,
    /// Nodes that need not be looked at.
    pub full: Full,
}

/// A place that will do, and what a claim becomes by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    pub place: PlaceId,
    pub state: Option<StateId>,
}

/// What a share costs that is larger than a device: more than anything has.
const NEVER: i64 = i64::MAX / 4;

/// How many pods are placed between two looks at the clock.
const PODS_A_LOOK: usize = 64;

impl<'a> Solver<'a> {
    pub fn new(scene: &'a Scene) -> Self {
        let (mut ground, shapes) = Ground::new(scene);
        let mut plans: Vec<Plan> =
            shapes.iter().enumerate().map(|(id, shape)| attempts::plan(id, shape, &mut ground)).collect();
        for (plan, shape) in plans.iter_mut().zip(&shapes) {
            attempts::complete(plan, shape, &ground);
        }
        ground.count_bound(&shapes);
        let places = Places::new(&ground);
        let limits = Limits::new(scene, &mut ground);
        let placed = vec![None; scene.pods.len()];
        let alone = vec![None; shapes.len()];
        let waiting = asked_for(&shapes, ground.columns.len());
        let (scratch, row, cursors) = (Mask::default(), vec![], Cursors::default());
        let mut solver = Solver {
            ground,
            shapes,
            plans,
            places,
            limits,
            placed,
            out_of_time: false,
            scratch,
            row,
            cursors,
            waiting,
            alone,
            growths: Map::default(),
            free: vec![],
            fills: false,
            full: Full::default(),
        };
        solver.free = (0..solver.shapes.len()).map(|shape| solver.is_free(shape)).collect();
        solver
    }

    /// Places what can be placed: pods that ask for GPUs first, so that their claims are packed well before others fill the gaps.
    /// Those of `first` were left out before.
    pub fn run(&mut self, first: &[ShapeId], still_time: &mut dyn FnMut() -> bool) {
        let order = order::of_shapes(self, first);
        let accelerated: Vec<ShapeId> = order.iter().copied().filter(|shape| self.shapes[*shape].accelerated).collect();
        self.keep_planned(&accelerated);
        self.keep_planned(&order);
        self.place_shapes(accelerated, first, still_time);
        self.improve(true, still_time);
        self.place_shapes(order, first, still_time);
        self.improve(false, still_time);
    }

    /// Shapes that fail are tried again as long as others got on: a pod may wait for another. Those of `eager` are tried again
    /// after each other shape, before somebody takes what they waited for; and after each pod that a spread of theirs counts, because
    /// the next one may take the last place that it leaves them.
    fn place_shapes(&mut self, mut waiting: Vec<ShapeId>, eager: &[ShapeId], still_time: &mut dyn FnMut() -> bool) {
        let mut since_look = 0;
        while !waiting.is_empty() && !self.out_of_time {
            let mut progress = false;
            let mut failed: Vec<ShapeId> = vec![];
            for shape in waiting {
                loop {
                    let waited_for = |again: &ShapeId| eager.contains(again) && self.is_counted_for(shape, *again);
                    let most = if failed.iter().any(waited_for) { 1 } else { usize::MAX };
                    let (placed, all) = self.place_shape(shape, most, &mut since_look, still_time);
                    progress |= placed > 0;
                    if placed > 0 && !eager.is_empty() {
                        failed.retain(|again| {
                            !eager.contains(again)
                                || !self.place_shape(*again, usize::MAX, &mut since_look, still_time).1
                        });
                    }
                    if all || placed < most {
                        failed.extend((!all).then_some(shape));
                        break;
                    }
                }
            }
            if !progress {
                return;
            }
            waiting = failed;
        }
    }

    /// Drops what no answer needs.
    pub fn forget_rules(&mut self) {
        self.plans = vec![];
        self.shapes = vec![];
        self.cursors = Cursors::default();
        self.growths = Map::default();
        self.places.forget_rooms();
    }

    /// Whether a rule about domains of one shape counts the pods of another.
    fn is_counted_for(&self, shape: ShapeId, by: ShapeId) -> bool {
        let rules = self.plans[by].attempts.last().map(|must| must.domains.as_slice()).unwrap_or_default();
        rules.iter().any(|rule| self.plans[shape].adds.contains(&rule.counter))
    }

    /// How many pods of a shape found a place just now, and whether none is left.
    fn place_shape(
        &mut self,
        shape: ShapeId,
        most: usize,
        since_look: &mut usize,
        still_time: &mut dyn FnMut() -> bool,
    ) -> (usize, bool) {
        self.cursors.reset();
        self.fills = self.has_room_to_fill(shape);
        let mut placed = 0;
        for at in 0..self.shapes[shape].pods.len() {
            let pod = self.shapes[shape].pods[at];
            if self.placed[pod].is_some() {
                continue;
            }
            if placed >= most {
                return (placed, false);
            }
            *since_look += 1;
            if *since_look >= PODS_A_LOOK {
                *since_look = 0;
                self.out_of_time = self.out_of_time || !still_time();
            }
            if self.out_of_time {
                return (placed, false);
            }
            // Pods of one shape are alike: where one finds nothing, neither do the others.
            let Some(choice) = self.choose(shape, self.shapes[shape].pods.len() - at) else { return (placed, false) };
            self.commit(shape, pod, choice);
            placed += 1;
        }
        (placed, true)
    }

    /// Whether one pod of a shape would find a place now. Nothing is placed by asking.
    pub fn could_place(&mut self, shape: ShapeId) -> bool {
        self.cursors.reset();
        self.choose(shape, 1).is_some()
    }

    /// The best place for one more pod of a shape, opening a claim if need be. `left` pods of it still wait.
    pub fn choose(&mut self, shape: ShapeId, left: usize) -> Option<Choice> {
        let attempts = self.plans[shape].attempts.len();
        for attempt in 0..attempts {
            if let Some(choice) = self.gather(shape, attempt, left) {
                return Some(choice);
            }
            if let Some(choice) = self.find(shape, attempt, Mode::Courteous) {
                return Some(self.or_fill(shape, attempt, choice));
            }
            let plan = &self.plans[shape];
            let could_be_ruder = !plan.courtesy_hosts.is_empty() || !plan.courtesy_domains.is_empty();
            let has_wishes = could_be_ruder || !plan.attempts[attempt].host_wishes.is_empty();
            if let Some(choice) = has_wishes.then(|| self.find(shape, attempt, Mode::Plain)).flatten() {
                return Some(choice);
            }
            if let Some(choice) = self.on_a_node(shape, attempt + 1) {
                return Some(choice);
            }
            if let Some(choice) = self.fill(shape, attempt).or_else(|| self.open(shape, attempt)) {
                return Some(choice);
            }
        }
        let musts = self.plans[shape].musts;
        (attempts - musts..attempts).find_map(|attempt| self.find(shape, attempt, Mode::Desperate))
    }

    /// A node that is there and that a later of several terms allows: the scheduler asks for all of them at once, and would take it.
    fn on_a_node(&mut self, shape: ShapeId, from: usize) -> Option<Choice> {
        let attempts = self.plans[shape].attempts.len();
        if from <= attempts - self.plans[shape].musts || self.places.nodes == 0 {
            return None;
        }
        let nodes = self.places.nodes;
        (from..attempts)
            .find_map(|attempt| self.find(shape, attempt, Mode::Plain).filter(|choice| choice.place < nodes))
    }

    /// Pods that must share one host begin where there is room for all of them.
    fn gather(&mut self, shape: ShapeId, attempt: usize, left: usize) -> Option<Choice> {
        if left < 2 || !self.begins_a_group(shape, attempt) {
            return None;
        }
        let one = self.shapes[shape].request.clone();
        let mut choice = None;
        // A little fewer each time, until that many find room together.
        let mut together = left;
        while choice.is_none() && together > 1 {
            self.shapes[shape].request = one.iter().map(|amount| amount.saturating_mul(together as i64)).collect();
            choice = self.find(shape, attempt, Mode::Plain).or_else(|| self.open(shape, attempt));
            together = (together * 15 / 16).min(together - 1);
            self.cursors.reset();
        }
        self.shapes[shape].request = one;
        choice
    }

    /// Puts a pod onto its place and counts it everywhere.
    pub fn commit(&mut self, shape: ShapeId, pod: usize, choice: Choice) {
        let Choice { place, state } = choice;
        self.placed[pod] = Some(place);
        let of = &self.shapes[shape];
        subtract(&mut self.waiting, &of.request);
        if let Some(part) = of.part {
            self.waiting[part.device] -= part.of_whole();
        }
        let extra = &mut self.places.extras[place];
        extra.ports.extend(&of.example.host_ports);
        for handle in of.example.volumes.iter().filter_map(|volume| volume.handle.as_ref()) {
            if !extra.volumes.contains(&handle) {
                extra.volumes.push(handle);
            }
        }
        let devices = of.part.map(|part| (part.device, take_part(&mut extra.partials, part)));
        let room = self.places.room_mut(place);
        subtract(room, &of.request);
        if let Some((device, taken)) = devices {
            room[device] -= taken;
        }
        if let (Some(state), Some(at)) = (state, place.checked_sub(self.places.nodes)) {
            let claim = &mut self.places.claims[at];
            claim.pods.push(pod);
            add(&mut claim.request, &of.request);
            if let Some((device, taken)) = devices {
                claim.request[device] += taken;
            }
            let from = claim.state;
            let moved = from != state || (of.accelerated && !claim.accelerated);
            claim.state = state;
            claim.accelerated |= of.accelerated;
            self.shrink(at);
            if from != state {
                self.grow_anew(shape, at, from);
            }
            if moved || self.places.bucket_of[place] == usize::MAX {
                self.places.settle(place);
            }
            if !self.free[shape] {
                self.places.hold(place);
            }
        }
        self.count(shape, place);
    }

    /// What a pod of a shape takes of a place's row: its share of a device may cost a whole one, or nothing.
    pub fn device_cost(&self, shape: ShapeId, place: Option<PlaceId>) -> Option<(usize, i64)> {
        let part = self.shapes[shape].part?;
        let has_room = |(device, left): &(usize, i64)| *device == part.device && *left >= part.amount;
        let partials = place.map(|place| &self.places.extras[place].partials);
        let free = partials.is_some_and(|partials| partials.iter().any(has_room));
        let cost = if part.amount > part.per_device { NEVER } else { one_device() };
        Some((part.device, if free { 0 } else { cost }))
    }

    pub fn count(&mut self, shape: ShapeId, place: PlaceId) {
        self.tally(shape, place, Counter::add, Counter::add_unknown);
    }

    /// One pod of a shape less at a place.
    pub fn uncount(&mut self, shape: ShapeId, place: PlaceId) {
        self.tally(shape, place, Counter::remove, Counter::remove_unknown);
    }

    fn tally(
        &mut self,
        shape: ShapeId,
        place: PlaceId,
        step: impl Fn(&mut Counter, usize),
        unknown: impl Fn(&mut Counter),
    ) {
        for at in 0..self.plans[shape].adds.len() {
            let id = self.plans[shape].adds[at];
            let (counted, spot) = (self.ground.counters.all[id].counted, self.ground.counters.all[id].spot);
            if matches!(counted, Counted::Pods(filter) if filter != 0 && !self.lets_through(filter, place)) {
                continue;
            }
            match spot {
                Spot::Host => step(&mut self.ground.counters.all[id], place),
                Spot::Slot(slot) => match self.domain(place, slot) {
                    Domain::Known(value) => step(&mut self.ground.counters.all[id], value),
                    Domain::Unknown => unknown(&mut self.ground.counters.all[id]),
                    Domain::Open | Domain::Absent => {}
                },
            }
        }
    }

    pub fn domain(&self, place: PlaceId, slot: usize) -> Domain {
        match self.places.claim(place) {
            Some(claim) => self.ground.states.get(claim.state).domains[slot],
            None => self.ground.nodes[place].domains[slot],
        }
    }

    /// Whether a spread looks at this place at all.
    pub fn lets_through(&mut self, filter: usize, place: PlaceId) -> bool {
        let Some(claim) = self.places.claim(place) else { return self.ground.passes(filter, place, &self.shapes) };
        let state = claim.state;
        let ground = &mut self.ground;
        let of = ground.counters.filters[filter].clone();
        let tolerated = of.tolerated_by.is_none_or(|shape| {
            let pool = ground.states.get(state).pool;
            taints::tolerated(&ground.sources[pool].taints, &self.shapes[shape].example.tolerations, true)
        });
        let domains = &ground.states.get(state).domains;
        let labelled = of.slots.iter().all(|slot| !matches!(domains[*slot], Domain::Absent | Domain::Unknown));
        let mut kept = of.needs.is_empty();
        for need in of.needs {
            kept = kept || ground.states.narrow(state, need, &ground.needs, &ground.words).is_some();
        }
        tolerated && labelled && kept
    }
}

/// What all pods ask for together; a share of a device as that part of a whole one.
fn asked_for(shapes: &[Shape<'_>], columns: usize) -> Row {
    let mut all = vec![0; columns];
    for shape in shapes {
        let count = shape.pods.len() as i64;
        for (sum, request) in all.iter_mut().zip(&shape.request) {
            *sum += request.saturating_mul(count);
        }
        if let Some(part) = shape.part {
            all[part.device] += part.of_whole().saturating_mul(count);
        }
    }
    all
}
