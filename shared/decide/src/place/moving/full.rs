//! Nodes that have no room for pods of a kind, so that nobody looks at them again and again.
//!
//! What is free only becomes less as pods are moved, so a node that is full stays full; until something is undone that had begun
//! before the look.

use std::rc::Rc;

use super::super::hash::Map;
use super::super::mask::Mask;
use super::super::shapes::{Shape, ShapeId};
use super::Moving;

/// By shape: the nodes that are full for it. Nothing is known where nobody has looked.
#[derive(Debug, Default)]
pub struct Full {
    of_shape: Vec<Rc<Mask>>,
    /// How often it was looked.
    looks: usize,
}

impl Full {
    pub fn of(&self, shape: ShapeId) -> Option<Rc<Mask>> {
        self.of_shape.get(shape).cloned()
    }

    pub fn looks(&self) -> usize {
        self.looks
    }

    /// What was seen holds no longer.
    pub fn forget(&mut self) {
        self.of_shape.clear();
    }
}

impl Moving<'_> {
    /// Looks which nodes are full, for each amount that shapes ask for.
    pub fn look_who_is_full(&mut self) {
        let places = &self.solver.places;
        let full_for = |shape: &Shape<'_>| {
            let mut full = Mask::none(places.nodes);
            let lacks = |node: &usize| {
                let columns = shape.request.iter().zip(places.room(*node));
                columns.into_iter().any(|(request, room)| *request > 0 && request > room)
            };
            (0..places.nodes).filter(lacks).for_each(|node| full.insert(node));
            Rc::new(full)
        };
        let mut by_request: Map<&[i64], Rc<Mask>> = Map::default();
        let all = self.solver.shapes.iter();
        let of_shape = all.map(|shape| by_request.entry(&shape.request).or_insert_with(|| full_for(shape)).clone());
        self.solver.full = Full { of_shape: of_shape.collect(), looks: self.solver.full.looks + 1 };
    }
}
