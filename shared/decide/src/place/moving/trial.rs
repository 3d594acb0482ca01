//! What a trial changed, noted as it goes, and put back if it is not kept.

use super::super::counters::{Counter, CounterId, PlaceId};
use super::super::limits::Left;
use super::super::places::{Claim, Extra};
use super::super::shapes::ShapeId;
use super::Moving;

/// What was tried, and what it takes to undo it.
pub struct Trial<'a> {
    /// Pods that found no place.
    pub homeless: Vec<usize>,
    /// All pods that were moved.
    pub moved: Vec<usize>,
    pub(super) closed: Vec<(PlaceId, usize)>,
    pub(super) emptied: Vec<(usize, Vec<usize>)>,
    pub(super) rooms: Vec<(PlaceId, Vec<i64>, Extra<'a>)>,
    /// As they were.
    pub(super) counters: Vec<(CounterId, Counter)>,
    pub(super) placed: Vec<(usize, Option<PlaceId>)>,
    /// How many claims there were, and those that were changed.
    pub(super) claims: usize,
    changed: Vec<Changed<'a>>,
    pub(super) limits: Left,
    /// How often it had been looked who is full.
    looks: usize,
}

/// A claim as it was, with its room.
struct Changed<'a> {
    at: usize,
    claim: Claim,
    room: Vec<i64>,
    extra: Extra<'a>,
    bucket: usize,
}

impl<'a> Moving<'a> {
    /// Claims may again become all that they could before a trial without growth.
    pub fn let_grow(&mut self, trial: &Trial<'a>) {
        for changed in &trial.changed {
            let claim = &self.solver.places.claims[changed.at];
            let source = self.solver.ground.states.get(claim.state).pool;
            let mut types = changed.claim.types.clone();
            if claim.state == changed.claim.state
                && self.solver.ground.sources[source].fit.keep(&claim.request, &mut types)
            {
                self.solver.scratch.copy_from(&types);
                self.solver.shrink(changed.at);
            }
        }
    }

    pub fn undo(&mut self, trial: Trial<'a>) {
        let solver = &mut self.solver;
        if solver.full.looks() != trial.looks {
            solver.full.forget();
        }
        for (id, counter) in trial.counters {
            solver.ground.counters.all[id] = counter;
        }
        let nodes = solver.places.nodes;
        for (pod, place) in trial.placed.into_iter().rev() {
            solver.placed[pod] = place;
        }
        if solver.places.claims.len() > trial.claims {
            solver.places.truncate_claims(trial.claims);
        }
        for Changed { at, claim, room, extra, bucket } in trial.changed.into_iter().rev() {
            let place = nodes + at;
            solver.places.room_mut(place).copy_from_slice(&room);
            solver.places.extras[place] = extra;
            solver.places.bucket_of[place] = bucket;
            solver.places.claims[at] = claim;
        }
        for (place, room, extra) in trial.rooms.into_iter().rev() {
            solver.places.room_mut(place).copy_from_slice(&room);
            solver.places.extras[place] = extra;
            self.on[place].pop();
        }
        for (node, pods) in trial.emptied {
            self.on[node] = pods;
        }
        for (node, bucket) in trial.closed {
            solver.places.bucket_of[node] = bucket;
        }
        solver.limits.restore(trial.limits);
    }

    pub(super) fn begin(&self) -> Trial<'a> {
        Trial {
            homeless: vec![],
            moved: vec![],
            closed: vec![],
            emptied: vec![],
            rooms: vec![],
            counters: vec![],
            placed: vec![],
            claims: self.solver.places.claims.len(),
            changed: vec![],
            limits: self.solver.limits.left(),
            looks: self.solver.full.looks(),
        }
    }

    /// Keeps the counters that a shape's pods are counted in.
    pub(super) fn remember(&self, trial: &mut Trial<'a>, shape: ShapeId) {
        for id in &self.solver.plans[shape].adds {
            if !trial.counters.iter().any(|(known, _)| known == id) {
                trial.counters.push((*id, self.solver.ground.counters.all[*id].clone()));
            }
        }
    }

    pub(super) fn note(&self, trial: &mut Trial<'a>, place: PlaceId) {
        let places = &self.solver.places;
        let Some(at) = place.checked_sub(places.nodes) else {
            return trial.rooms.push((place, places.room(place).to_vec(), places.extras[place].clone()));
        };
        if at < trial.claims && !trial.changed.iter().any(|known| known.at == at) {
            trial.changed.push(Changed {
                at,
                claim: places.claims[at].clone(),
                room: places.room(place).to_vec(),
                extra: places.extras[place].clone(),
                bucket: places.bucket_of[place],
            });
        }
    }
}
