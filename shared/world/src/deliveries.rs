//! Faults of delivery: events that come twice, late, out of order, or not at all.

use serde::{Deserialize, Serialize};
use std::time::Duration;

use crate::chance::Chance;

/// How often, out of a hundred, something happens to an event on its way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DeliveryFaults {
    pub duplicated: u8,
    pub dropped: u8,
    /// Comes after events that were sent later.
    pub reordered: u8,
    pub delayed: u8,
    pub longest_delay_ms: u64,
}

impl DeliveryFaults {
    /// What arrives of a list of events: when, counted from its sending, and in which order.
    pub fn apply<T: Clone>(&self, chance: &Chance, events: &[T]) -> Vec<(Duration, T)> {
        let happens = |percent: u8| chance.below(100) < u64::from(percent);
        let mut arriving = Vec::with_capacity(events.len());
        for (position, event) in events.iter().enumerate() {
            let copies = if happens(self.duplicated) { 2 } else { 1 };
            for _ in 0..copies {
                if happens(self.dropped) {
                    continue;
                }
                let delay =
                    if happens(self.delayed) { chance.below(self.longest_delay_ms.saturating_add(1)) } else { 0 };
                let behind = if happens(self.reordered) { 1 + chance.below(events.len() as u64) } else { 0 };
                arriving.push((position as u64 + behind, Duration::from_millis(delay), event.clone()));
            }
        }
        // Stable: what nothing happened to keeps its order.
        arriving.sort_by_key(|(place, _, _)| *place);
        arriving.into_iter().map(|(_, delay, event)| (delay, event)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrive(faults: DeliveryFaults) -> Vec<u32> {
        let events: Vec<u32> = (0..100).collect();
        faults.apply(&Chance::new(1), &events).into_iter().map(|(_, event)| event).collect()
    }

    #[test]
    fn without_faults_everything_arrives_once_and_in_order() {
        assert_eq!(arrive(DeliveryFaults::default()), (0..100).collect::<Vec<u32>>());
    }

    #[test]
    fn each_fault_does_what_it_says_and_the_same_for_the_same_seed() {
        let duplicated = arrive(DeliveryFaults { duplicated: 50, ..DeliveryFaults::default() });
        assert!(duplicated.len() > 120 && duplicated.is_sorted());
        let dropped = arrive(DeliveryFaults { dropped: 50, ..DeliveryFaults::default() });
        assert!(dropped.len() < 80 && dropped.is_sorted());
        let reordered = DeliveryFaults { reordered: 30, ..DeliveryFaults::default() };
        assert!(!arrive(reordered).is_sorted());
        assert_eq!(arrive(reordered), arrive(reordered));
        assert!(arrive(DeliveryFaults { dropped: 100, ..DeliveryFaults::default() }).is_empty());
    }
}
