//! Room that is paid for. A claim for pods that rules keep apart, or that asks for more than a pod does, often has room for others;
//! it is used before another claim gets dearer. Where only amounts bind nobody looks: all of that is packed anew anyway.

use super::find::Mode;
use super::mask::Mask;
use super::places::{BucketId, Claim, Kind};
use super::shapes::ShapeId;
use super::solver::{Choice, Solver};
use super::states::StateId;

impl Solver<'_> {
    /// Whether there are claims that pods of a shape should fill first.
    pub fn has_room_to_fill(&mut self, shape: ShapeId) -> bool {
        let Some(must) = self.plans[shape].attempts.len().checked_sub(1) else { return false };
        self.free[shape] && (0..self.places.buckets.len()).any(|bucket| self.is_to_fill(shape, must, bucket))
    }

    /// Whether claims of a bucket are not packed anew together with those that a pod of the shape would open.
    pub fn is_to_fill(&mut self, shape: ShapeId, attempt: usize, bucket: BucketId) -> bool {
        let of = &self.places.buckets[bucket];
        match of.kind {
            Kind::Claim(state) => of.held || !self.opens_in(shape, attempt, state),
            Kind::Node(_) => false,
        }
    }

    /// Whether a claim that is opened for the shape begins in this state.
    fn opens_in(&mut self, shape: ShapeId, attempt: usize, state: StateId) -> bool {
        let base = self.ground.sources[self.ground.states.get(state).pool].base;
        let Some(base) = base.and_then(|base| self.as_tolerated(shape, base)) else { return false };
        let ground = &mut self.ground;
        let needs = &self.plans[shape].attempts[attempt].needs;
        ground.ways_to_buy.iter().any(|way| {
            let Some(bought) = ground.states.narrow(base, *way, &ground.needs, &ground.words) else { return false };
            needs.iter().any(|need| ground.states.narrow(bought, *need, &ground.needs, &ground.words) == Some(state))
        })
    }

    /// Another claim that has room for the pod, if the one that was chosen gets dearer by it.
    pub fn or_fill(&mut self, shape: ShapeId, attempt: usize, chosen: Choice) -> Choice {
        let (Some(claim), Some(state), true) = (self.places.claim(chosen.place), chosen.state, self.fills) else {
            return chosen;
        };
        if self.costs_no_more(claim, state, &self.scratch) {
            return chosen;
        }
        if let Some(other) = self.fill(shape, attempt) {
            return other;
        }
        // What the chosen one becomes was forgotten over the others.
        let devices = self.device_cost(shape, Some(chosen.place));
        self.grows(shape, chosen.place, state, Mode::Courteous, devices);
        chosen
    }

    /// A claim that takes the pod and costs no more.
    pub fn fill(&mut self, shape: ShapeId, attempt: usize) -> Option<Choice> {
        if self.fills { self.find(shape, attempt, Mode::Filling) } else { None }
    }

    /// Whether a claim costs what it costs now if it goes into a state and can still become these types.
    pub fn costs_no_more(&self, claim: &Claim, state: StateId, types: &Mask) -> bool {
        let (now, then) = (self.cheapest_of(claim), self.ground.states.cheapest(state, types));
        matches!((now, then), (Some((_, now)), Some((_, then))) if then <= now)
    }
}
