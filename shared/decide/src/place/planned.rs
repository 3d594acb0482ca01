//! What an earlier answer said about pods that still wait.

use super::counters::PlaceId;
use super::rules::DomainKind;
use super::shapes::ShapeId;
use super::solver::{Choice, Solver};

impl Solver<'_> {
    /// Pods that an earlier answer placed stay where it put them, if that still holds.
    pub fn keep_planned(&mut self, order: &[ShapeId]) {
        let planned: Vec<(ShapeId, usize, PlaceId)> = order
            .iter()
            .flat_map(|shape| self.shapes[*shape].pods.iter().map(move |pod| (*shape, *pod)))
            .filter(|(_, pod)| self.placed[*pod].is_none())
            .filter_map(|(shape, pod)| Some((shape, pod, self.ground.scene.pods[pod].planned?)))
            .filter(|(_, _, place)| self.places.bucket_of.get(*place).is_some_and(|bucket| *bucket != usize::MAX))
            .collect();
        let mut waiting = planned;
        loop {
            let before = waiting.len();
            waiting.retain(|(shape, pod, place)| {
                let attempts = self.plans[*shape].attempts.len();
                let musts = attempts - self.plans[*shape].musts..attempts;
                let holds = musts.into_iter().any(|attempt| self.holds_on_node(*shape, attempt, *place));
                if holds {
                    self.commit(*shape, *pod, Choice { place: *place, state: None });
                }
                !holds
            });
            if waiting.is_empty() || waiting.len() == before {
                break;
            }
        }
        // A spread held when the earlier answer came to a pod, and may not hold now that those are counted who came after it.
        for (shape, pod, place) in waiting {
            let attempts = self.plans[shape].attempts.clone();
            for attempt in &mut self.plans[shape].attempts {
                attempt.domains.retain(|rule| !matches!(rule.kind, DomainKind::Spread { .. }));
            }
            let musts = attempts.len() - self.plans[shape].musts..attempts.len();
            let holds = musts.into_iter().any(|attempt| self.holds_on_node(shape, attempt, place));
            self.plans[shape].attempts = attempts;
            if holds {
                self.commit(shape, pod, Choice { place, state: None });
            }
        }
    }
}
