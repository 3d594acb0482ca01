//! Everything that trials change, kept as a whole: the way back past several of them at once.
//!
//! Trying the same again would not do: where pods go depends on what was asked before.

use super::super::amounts::Row;
use super::super::counters::{Counter, PlaceId};
use super::super::limits::Left;
use super::super::places::Places;
use super::Moving;

pub struct Saved<'a> {
    places: Places<'a>,
    counters: Vec<Counter>,
    limits: Left,
    placed: Vec<Option<PlaceId>>,
    waiting: Row,
    on: Vec<Vec<usize>>,
}

impl<'a> Moving<'a> {
    pub fn save(&self) -> Saved<'a> {
        let solver = &self.solver;
        Saved {
            places: solver.places.clone(),
            counters: solver.ground.counters.all.clone(),
            limits: solver.limits.left(),
            placed: solver.placed.clone(),
            waiting: solver.waiting.clone(),
            on: self.on.clone(),
        }
    }

    pub fn restore(&mut self, saved: Saved<'a>) {
        let Saved { places, counters, limits, placed, waiting, on } = saved;
        let solver = &mut self.solver;
        solver.places = places;
        solver.ground.counters.all = counters;
        solver.limits.restore(limits);
        solver.placed = placed;
        solver.waiting = waiting;
        solver.full.forget();
        self.on = on;
    }
}
