//! Looking for a place among those there are, bucket by bucket.

use std::rc::Rc;

use super::attempts::{Attempt, Plan};
use super::counters::{CounterId, Counters, PlaceId, Spot};
use super::places::{BucketId, Kind};
use super::rules::{DomainRule, HostRule};
use super::shapes::ShapeId;
use super::solver::{Choice, Solver};
use super::states::{Domain, StateId, States};
use super::taints;
use super::words::Words;

/// How much is asked of a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// All wishes, and what pods of other shapes would like.
    Courteous,
    /// What the attempt demands.
    Plain,
    /// The same, also beside GPUs that are free: for pods that could open nothing but another node with GPUs.
    BesideGpus,
    /// As courteous, and only claims that cost no more with the pod than without it. Nodes were asked before.
    Filling,
    /// What the attempt demands, though a claim gets dearer by it than another claim would be.
    Desperate,
}

/// How many modes there are.
const MODES: usize = 5;

impl Mode {
    fn is_courteous(self) -> bool {
        matches!(self, Mode::Courteous | Mode::Filling)
    }
}

/// Where each attempt of the shape in hand has got to. What failed once for one pod of a shape fails for all of them: places only
/// fill up.
#[derive(Debug, Default)]
pub struct Cursors {
    sets: Vec<Cursor>,
}

#[derive(Debug, Default)]
struct Cursor {
    verdicts: Vec<Verdict>,
    at: Vec<usize>,
    candidates: Vec<Candidate>,
    finals: Vec<Final>,
    /// The number of buckets that the candidates were made from, where they do not depend on counts.
    made_from: usize,
}

/// What labels and taints of a bucket say to an attempt.
#[derive(Debug, Clone)]
enum Verdict {
    Unknown,
    No,
    Node,
    /// The states a claim of it would be in: one for each way its volumes can be reached.
    Claim(Rc<[StateId]>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    rank: u8,
    crowd: u32,
    bucket: BucketId,
    from: usize,
    to: usize,
}

/// A state that a claim would end in, and how crowded its domain is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Final {
    pub crowd: u32,
    pub price: u64,
    pub state: StateId,
}

impl Cursors {
    pub fn reset(&mut self) {
        for set in &mut self.sets {
            set.verdicts.clear();
            set.at.clear();
            set.candidates.clear();
            set.made_from = 0;
        }
    }

    fn take(&mut self, attempt: usize, mode: Mode) -> (usize, Cursor) {
        let at = attempt * MODES + mode as usize;
        if self.sets.len() <= at {
            self.sets.resize_with(at + 1, Cursor::default);
        }
        (at, core::mem::take(&mut self.sets[at]))
    }
}

impl Solver<'_> {
    /// The first place that will do, domains with fewest pods first.
    pub fn find(&mut self, shape: ShapeId, attempt: usize, mode: Mode) -> Option<Choice> {
        if let Some(hosts) = self.only_hosts(shape, attempt) {
            return hosts.into_iter().find_map(|place| self.try_one(shape, attempt, place, mode));
        }
        let (at, mut cursor) = self.cursors.take(attempt, mode);
        let choice = self.search(shape, attempt, mode, &mut cursor);
        self.cursors.sets[at] = cursor;
        choice
    }

    /// Whether pods of this shape must share a host and none is there yet.
    pub fn begins_a_group(&self, shape: ShapeId, attempt: usize) -> bool {
        let rules = self.plans[shape].attempts[attempt].hosts.iter();
        rules.into_iter().any(|rule| match rule {
            HostRule::Near { counter, itself } => *itself && self.ground.counters.all[*counter].total == 0,
            HostRule::AtMost { .. } => false,
        })
    }

    /// The only hosts that can do, if it must be near pods that are somewhere already.
    fn only_hosts(&self, shape: ShapeId, attempt: usize) -> Option<Vec<PlaceId>> {
        self.plans[shape].attempts[attempt].hosts.iter().find_map(|rule| match rule {
            HostRule::Near { counter, itself } => {
                let counter = &self.ground.counters.all[*counter];
                (counter.total > 0 || !itself).then(|| counter.hosts.clone())
            }
            HostRule::AtMost { .. } => None,
        })
    }

    /// Whether one place will do.
    pub fn try_one(&mut self, shape: ShapeId, attempt: usize, place: PlaceId, mode: Mode) -> Option<Choice> {
        let bucket = self.places.bucket_of[place];
        if bucket == usize::MAX {
            return None;
        }
        let verdict = self.verdict(shape, attempt, bucket);
        let mut finals = vec![];
        self.finals(shape, attempt, mode, bucket, &verdict, &mut finals)?;
        finals.sort_unstable();
        self.takes(shape, attempt, mode, place, &finals)
    }

    fn search(&mut self, shape: ShapeId, attempt: usize, mode: Mode, cursor: &mut Cursor) -> Option<Choice> {
        let buckets = self.places.buckets.len();
        cursor.verdicts.resize(buckets, Verdict::Unknown);
        cursor.at.resize(buckets, 0);
        let (plan, accelerated) = (&self.plans[shape], self.shapes[shape].accelerated);
        let lasting = plan.attempts[attempt].settle.is_empty() && plan.courtesy_domains.is_empty();
        if !lasting || cursor.made_from != buckets {
            cursor.candidates.clear();
            cursor.finals.clear();
            cursor.made_from = buckets;
            for bucket in 0..buckets {
                if cursor.at[bucket] >= self.places.buckets[bucket].places.len() {
                    if !lasting {
                        continue;
                    }
                } else if matches!(cursor.verdicts[bucket], Verdict::No) {
                    continue;
                }
                if mode == Mode::Filling && !self.is_to_fill(shape, attempt, bucket) {
                    continue;
                }
                if matches!(cursor.verdicts[bucket], Verdict::Unknown) {
                    cursor.verdicts[bucket] = self.verdict(shape, attempt, bucket);
                }
                let from = cursor.finals.len();
                let Some(crowd) =
                    self.finals(shape, attempt, mode, bucket, &cursor.verdicts[bucket], &mut cursor.finals)
                else {
                    continue;
                };
                let to = cursor.finals.len();
                cursor.finals[from..to].sort_unstable();
                let of = &self.places.buckets[bucket];
                let open = matches!(of.kind, Kind::Claim(_));
                let dear = of.accelerated && !accelerated;
                let rank = u8::from(open) * 4 + u8::from(dear) * 2 + u8::from(of.starting);
                cursor.candidates.push(Candidate { rank, crowd, bucket, from, to });
            }
            cursor.candidates.sort_unstable();
        }
        let full = self.full.of(shape);
        for at in 0..cursor.candidates.len() {
            let Candidate { bucket, from, to, .. } = cursor.candidates[at];
            let mut next = cursor.at[bucket];
            while let Some(place) = self.places.buckets[bucket].places.get(next).copied() {
                let is_full = full.as_ref().is_some_and(|full| full.has(place));
                let here = self.places.bucket_of[place] == bucket && !is_full;
                let choice =
                    if here { self.takes(shape, attempt, mode, place, &cursor.finals[from..to]) } else { None };
                if choice.is_some() {
                    return choice;
                }
                // With several ways to settle, another pod may find one where this one found none.
                if next == cursor.at[bucket] && (!here || to - from <= 1) {
                    cursor.at[bucket] += 1;
                }
                next += 1;
            }
        }
        None
    }

    /// A state without spot machines, where the pool's cloud puts taints on those that the pod does not tolerate.
    pub fn as_tolerated(&mut self, shape: ShapeId, state: StateId) -> Option<StateId> {
        let ground = &mut self.ground;
        let of_spot = &ground.sources[ground.states.get(state).pool].spot_taints;
        if taints::tolerated(of_spot, &self.shapes[shape].example.tolerations, true) {
            return Some(state);
        }
        ground.states.narrow(state, ground.not_spot, &ground.needs, &ground.words)
    }

    /// What labels and taints say, once for a bucket.
    fn verdict(&mut self, shape: ShapeId, attempt: usize, bucket: BucketId) -> Verdict {
        let kind = match self.places.buckets[bucket].kind {
            Kind::Claim(state) => match self.as_tolerated(shape, state) {
                Some(state) => Kind::Claim(state),
                None => return Verdict::No,
            },
            node @ Kind::Node(_) => node,
        };
        let tolerations = &self.shapes[shape].example.tolerations;
        let attempt = &self.plans[shape].attempts[attempt];
        let ground = &mut self.ground;
        match kind {
            Kind::Node(node) => {
                let info = &ground.nodes[node];
                let kept = attempt.needs.iter().any(|need| ground.needs.kept(*need, |key| info.labels[key]));
                let fine = kept && taints::tolerated(&info.taints, tolerations, attempt.ignores_preferred_taints);
                if fine { Verdict::Node } else { Verdict::No }
            }
            Kind::Claim(state) => {
                let taints = &ground.sources[ground.states.get(state).pool].taints;
                if !taints::tolerated(taints, tolerations, attempt.ignores_preferred_taints) {
                    return Verdict::No;
                }
                let narrowed = attempt
                    .needs
                    .iter()
                    .filter_map(|need| ground.states.narrow(state, *need, &ground.needs, &ground.words));
                let states: Vec<StateId> = narrowed.collect();
                if states.is_empty() { Verdict::No } else { Verdict::Claim(states.into()) }
            }
        }
    }

    /// Adds the states in which a claim of the bucket would keep every rule about domains. Answers how crowded the best of them
    /// is, or nothing if there is none; a node has no states, only its own domain.
    fn finals(
        &mut self,
        shape: ShapeId,
        attempt: usize,
        mode: Mode,
        bucket: BucketId,
        verdict: &Verdict,
        into: &mut Vec<Final>,
    ) -> Option<u32> {
        let plan = &self.plans[shape];
        let asked = Asked { attempt: &plan.attempts[attempt], plan, courteous: mode.is_courteous() };
        let ground = &mut self.ground;
        match (verdict, self.places.buckets[bucket].kind) {
            (Verdict::Node, Kind::Node(node)) => {
                let domains = &ground.nodes[node].domains;
                let holds = asked.rules().all(|rule| rule.holds(domains[rule.slot], &ground.counters));
                holds.then(|| asked.crowd(domains, &ground.counters))
            }
            (Verdict::Claim(states), _) => {
                let from = into.len();
                for state in states.iter() {
                    asked.settle(*state, &mut ground.states, &ground.counters, &ground.words, into);
                }
                into[from..].iter().map(|found| found.crowd).min()
            }
            (Verdict::No | Verdict::Unknown | Verdict::Node, _) => None,
        }
    }

    /// Whether a place takes one more pod. For a claim, `finals` are the states it could go into; the types it could then still
    /// become are left in `scratch`.
    fn takes(
        &mut self,
        shape: ShapeId,
        attempt: usize,
        mode: Mode,
        place: PlaceId,
        finals: &[Final],
    ) -> Option<Choice> {
        let plan = &self.plans[shape];
        let asked = &plan.attempts[attempt];
        let counters = &self.ground.counters;
        let holds = |rules: &[HostRule]| rules.iter().all(|rule| rule.holds(place, counters));
        if !holds(&asked.hosts) || (mode.is_courteous() && !(holds(&asked.host_wishes) && holds(&plan.courtesy_hosts)))
        {
            return None;
        }
        let request = &self.shapes[shape].request;
        let devices = self.device_cost(shape, Some(place));
        let room = self.places.room(place);
        let enough = request.iter().zip(room).enumerate().all(|(column, (request, room))| {
            let more = devices.map_or(0, |(device, cost)| if device == column { cost } else { 0 });
            request + more <= *room || (*request == 0 && more == 0)
        });
        if !enough || self.ports_collide(shape, place) {
            return None;
        }
        if place < self.places.nodes {
            return self.node_attaches(shape, place).then_some(Choice { place, state: None });
        }
        let found = finals.iter().find(|found| self.grows(shape, place, found.state, mode, devices))?;
        Some(Choice { place, state: Some(found.state) })
    }

    /// Whether a node keeps all a pod must have.
    pub fn holds_on_node(&mut self, shape: ShapeId, attempt: usize, place: PlaceId) -> bool {
        self.try_one(shape, attempt, place, Mode::Plain).is_some()
    }
}

/// The rules about domains that are in force.
pub struct Asked<'p> {
    pub plan: &'p Plan,
    pub attempt: &'p Attempt,
    pub courteous: bool,
}

impl<'p> Asked<'p> {
    fn rules(&self) -> impl Iterator<Item = &'p DomainRule> + use<'p> {
        let courtesy: &[DomainRule] = if self.courteous { &self.plan.courtesy_domains } else { &[] };
        self.attempt.domains.iter().chain(courtesy)
    }

    fn crowd(&self, domains: &[Domain], counters: &Counters) -> u32 {
        let all = self.attempt.domains.iter().chain(&self.plan.courtesy_domains);
        let spread: u32 = all
            .map(|rule| match domains[rule.slot] {
                Domain::Known(value) => rule.crowd(value, counters),
                Domain::Open | Domain::Unknown | Domain::Absent => 0,
            })
            .sum();
        spread + if counters.some_wanted { self.unwanted(domains, counters) } else { 0 }
    }

    /// Much, where a pod would be the first of those that others wait for, and in no domain of theirs.
    fn unwanted(&self, domains: &[Domain], counters: &Counters) -> u32 {
        const MUCH: u32 = 1 << 20;
        let is_unwanted = |id: &CounterId| match counters.all[*id].spot {
            Spot::Slot(slot) => {
                matches!(domains[slot], Domain::Known(value) if counters.all[*id].is_unwanted(value))
            }
            Spot::Host => false,
        };
        if self.plan.adds.iter().any(is_unwanted) { MUCH } else { 0 }
    }

    /// The states in which all slots that matter are settled and every rule holds.
    pub fn settle(
        &self,
        state: StateId,
        states: &mut States<'_>,
        counters: &Counters,
        words: &Words<'_>,
        into: &mut Vec<Final>,
    ) {
        let domains = &states.get(state).domains;
        let open = self.attempt.settle.iter().find(|slot| domains[**slot] == Domain::Open).copied();
        let fails = |rule: &DomainRule| {
            Some(rule.slot) != open && domains[rule.slot] != Domain::Open && !rule.holds(domains[rule.slot], counters)
        };
        if self.rules().any(fails) {
            return;
        }
        let Some(slot) = open else {
            let (crowd, price) = (self.crowd(domains, counters), states.lowest_price(state));
            into.push(Final { crowd, price, state });
            return;
        };
        let pins = states.pins(state, slot, words);
        for (value, to) in pins.iter() {
            if self.rules().filter(|rule| rule.slot == slot).all(|rule| rule.holds_at(*value, counters)) {
                self.settle(*to, states, counters, words, into);
            }
        }
    }
}
