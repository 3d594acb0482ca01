//! Everything that placing changes, kept as a whole: the way back.
//!
//! Trying the same again would not do: where pods go depends on what was asked before.

use super::amounts::Row;
use super::counters::{Counter, PlaceId};
use super::limits::Left;
use super::places::Places;
use super::solver::Solver;

pub struct Saved<'a> {
    places: Places<'a>,
    counters: Vec<Counter>,
    limits: Left,
    placed: Vec<Option<PlaceId>>,
    waiting: Row,
}

impl<'a> Solver<'a> {
    pub fn save(&self) -> Saved<'a> {
        Saved {
            places: self.places.clone(),
            counters: self.ground.counters.all.clone(),
            limits: self.limits.left(),
            placed: self.placed.clone(),
            waiting: self.waiting.clone(),
        }
    }

    pub fn restore(&mut self, saved: Saved<'a>) {
        let Saved { places, counters, limits, placed, waiting } = saved;
        self.places = places;
        self.ground.counters.all = counters;
        self.limits.restore(limits);
        self.placed = placed;
        self.waiting = waiting;
        self.full.forget();
    }
}
