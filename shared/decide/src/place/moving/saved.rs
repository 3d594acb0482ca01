//! The way back past several trials at once.

use super::super::saved;
use super::Moving;

pub struct Saved<'a> {
    solver: saved::Saved<'a>,
    on: Vec<Vec<usize>>,
}

impl<'a> Moving<'a> {
    pub fn save(&self) -> Saved<'a> {
        Saved { solver: self.solver.save(), on: self.on.clone() }
    }

    pub fn restore(&mut self, saved: Saved<'a>) {
        self.solver.restore(saved.solver);
        self.on = saved.on;
    }
}
