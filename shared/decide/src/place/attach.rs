//! What a host has once: its ports, and so many volumes.

use super::counters::PlaceId;
use super::places::collide;
use super::shapes::ShapeId;
use super::solver::Solver;

impl Solver<'_> {
    pub fn ports_collide(&self, shape: ShapeId, place: PlaceId) -> bool {
        let wanted = &self.shapes[shape].example.host_ports;
        !wanted.is_empty() && {
            let taken = &self.places.extras[place].ports;
            wanted.iter().any(|port| taken.iter().any(|taken| collide(port, taken)))
        }
    }

    /// Whether a node can attach the pod's volumes.
    pub fn node_attaches(&self, shape: ShapeId, place: PlaceId) -> bool {
        let handles = self.handles_with(shape, Some(place));
        let limits = &self.ground.scene.nodes[place].volume_limits;
        handles.iter().all(|(driver, count)| limits.get(*driver).is_none_or(|limit| *count <= *limit as usize))
    }

    /// How many volumes of each driver a place would have with the pod on it. Nothing for a pod that brings none.
    pub fn handles_with(&self, shape: ShapeId, place: Option<PlaceId>) -> Vec<(&str, usize)> {
        let mut all: Vec<_> =
            self.shapes[shape].example.volumes.iter().filter_map(|volume| volume.handle.as_ref()).collect();
        if all.is_empty() {
            return vec![];
        }
        let mut counts: Vec<(&str, usize)> = vec![];
        all.extend(place.map_or(&[][..], |place| &self.places.extras[place].volumes[..]));
        all.sort_unstable();
        all.dedup();
        for handle in all {
            match counts.iter_mut().find(|(driver, _)| *driver == handle.driver) {
                Some((_, count)) => *count += 1,
                None => counts.push((&handle.driver, 1)),
            }
        }
        counts
    }
}
