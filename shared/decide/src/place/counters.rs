//! How many pods of some kins are where: the memory of every rule between pods.

use super::hash::Map;
use super::mask::Mask;
use super::needs::NeedId;
use super::words::Value;

pub type CounterId = usize;
pub type FilterId = usize;
pub type PlaceId = usize;

/// What "the same place" is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Spot {
    Host,
    /// A topology slot.
    Slot(usize),
}

/// What a counter counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Counted {
    /// Pods of the kins, on nodes that a filter lets through (the first lets all through).
    Pods(FilterId),
    /// Pods that have a required anti-affinity against the kins.
    Averse,
}

/// Which nodes a spread constraint looks at.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Filter {
    /// One of these must be kept; none at all lets every node through.
    pub needs: Vec<NeedId>,
    /// The shape whose tolerations must tolerate the node's taints.
    pub tolerated_by: Option<usize>,
    /// The topology slots of which the node must have all: a scheduler passes over nodes that lack one of the keys that are required.
    pub slots: Vec<usize>,
}

#[derive(Debug, Clone)]
pub struct Counter {
    pub spot: Spot,
    pub kins: Mask,
    pub counted: Counted,
    /// By place for hosts, by value for slots.
    counts: Vec<u32>,
    pub total: u32,
    /// How many of them are on nodes to come of which nobody knows the domain.
    pub unknown: u32,
    /// Some were there before anybody was placed.
    pub was_there: bool,
    /// Some rule that must be kept depends on it, so a claim whose domain is open must settle before it takes a counted pod.
    pub hard: bool,
    /// The strictest hard spread over it, and the domains that one looks at.
    pub evenly: Option<(u32, Rc<Mask>)>,
    /// Hosts with at least one, in order of arrival.
    pub hosts: Vec<PlaceId>,
    /// The domains in which somebody waits for a first one, who found none before.
    pub wanted: Option<Mask>,
}

use std::rc::Rc;

#[derive(Debug, Default)]
pub struct Counters {
    pub all: Vec<Counter>,
    ids: Map<(Spot, Mask, Counted), CounterId>,
    /// Some counter is wanted somewhere.
    pub some_wanted: bool,
    pub filters: Vec<Filter>,
    filter_ids: Map<Filter, FilterId>,
}

impl Counters {
    pub fn new() -> Self {
        let mut counters = Counters::default();
        counters.filter(Filter::default());
        counters
    }

    pub fn filter(&mut self, filter: Filter) -> FilterId {
        *self.filter_ids.entry(filter).or_insert_with_key(|filter| {
            self.filters.push(filter.clone());
            self.filters.len() - 1
        })
    }

    pub fn id(&mut self, spot: Spot, kins: Mask, counted: Counted) -> CounterId {
        *self.ids.entry((spot, kins, counted)).or_insert_with_key(|(spot, kins, counted)| {
            self.all.push(Counter {
                spot: *spot,
                kins: kins.clone(),
                counted: *counted,
                counts: vec![],
                total: 0,
                unknown: 0,
                was_there: false,
                hard: false,
                evenly: None,
                hosts: vec![],
                wanted: None,
            });
            self.all.len() - 1
        })
    }
}

impl Counter {
    pub fn at(&self, place_or_value: usize) -> u32 {
        self.counts.get(place_or_value).copied().unwrap_or(0)
    }

    pub fn add(&mut self, place_or_value: usize) {
        if self.counts.len() <= place_or_value {
            self.counts.resize(place_or_value + 1, 0);
        }
        self.counts[place_or_value] += 1;
        self.total += 1;
        if self.spot == Spot::Host && self.counts[place_or_value] == 1 {
            self.hosts.push(place_or_value);
        }
    }

    pub fn add_unknown(&mut self) {
        self.unknown += 1;
        self.total += 1;
    }

    pub fn remove_unknown(&mut self) {
        if self.unknown > 0 {
            self.unknown -= 1;
            self.total -= 1;
        }
    }

    /// Whether one here would be of no use to those who wait for a first one.
    pub fn is_unwanted(&self, value: Value) -> bool {
        let wanted = self.wanted.as_ref().filter(|wanted| wanted.iter().all(|wanted| self.at(wanted) == 0));
        wanted.is_some_and(|wanted| !wanted.has(value))
    }

    pub fn remove(&mut self, place_or_value: usize) {
        let Some(count) = self.counts.get_mut(place_or_value).filter(|count| **count > 0) else { return };
        *count -= 1;
        self.total -= 1;
        if self.spot == Spot::Host && *count == 0 {
            self.hosts.retain(|host| *host != place_or_value);
        }
    }

    /// The least count among the domains.
    pub fn least(&self, domains: &Mask) -> u32 {
        domains.iter().map(|value: Value| self.at(value)).min().unwrap_or(0)
    }
}
