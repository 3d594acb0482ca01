//! The rules between pods that a shape brings, in terms of counters.

use std::rc::Rc;

use super::counters::{CounterId, Counters};
use super::mask::Mask;
use super::states::Domain;
use super::words::Value;

/// What one host must keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostRule {
    /// Anti-affinity and spread: no more than so many before the pod comes. A fresh host always has none, so the least count
    /// over hosts is taken to be zero.
    AtMost { counter: CounterId, most: u32 },
    /// Affinity: there is one already; or there is none anywhere and the pod selects itself.
    Near { counter: CounterId, itself: bool },
}

/// What a domain of a topology slot must keep.
#[derive(Debug, Clone)]
pub struct DomainRule {
    pub slot: usize,
    pub counter: CounterId,
    pub kind: DomainKind,
}

#[derive(Debug, Clone)]
pub enum DomainKind {
    Spread {
        skew: u32,
        /// 1 if the pod counts itself.
        itself: u32,
        /// The domains whose least count matters.
        eligible: Rc<Mask>,
        min_domains: usize,
    },
    Near {
        itself: bool,
    },
    Apart,
}

impl HostRule {
    pub fn holds(self, place: usize, counters: &Counters) -> bool {
        match self {
            HostRule::AtMost { counter, most } => counters.all[counter].at(place) <= most,
            HostRule::Near { counter, itself } => {
                let counter = &counters.all[counter];
                counter.at(place) > 0 || (itself && counter.total == 0)
            }
        }
    }

    pub fn counter(self) -> CounterId {
        match self {
            HostRule::AtMost { counter, .. } | HostRule::Near { counter, .. } => counter,
        }
    }
}

impl DomainRule {
    /// Whether a place of this domain will do. An open domain has to settle first.
    pub fn holds(&self, domain: Domain, counters: &Counters) -> bool {
        match domain {
            Domain::Known(value) => self.holds_at(value, counters),
            // Where there is no such label there is no such place to share, but nothing to be near or to spread over either.
            Domain::Absent => matches!(self.kind, DomainKind::Apart),
            // It may be any: whoever keeps away from others is sure of it only while there are none.
            Domain::Unknown => matches!(self.kind, DomainKind::Apart) && counters.all[self.counter].total == 0,
            Domain::Open => false,
        }
    }

    pub fn holds_at(&self, value: Value, counters: &Counters) -> bool {
        let counter = &counters.all[self.counter];
        match &self.kind {
            DomainKind::Apart => counter.at(value) == 0 && counter.unknown == 0,
            DomainKind::Near { itself } => {
                counter.at(value) > 0 || (*itself && counter.total == 0 && !counter.is_unwanted(value))
            }
            DomainKind::Spread { skew, itself, eligible, min_domains } => {
                let least = if eligible.len() < *min_domains { 0 } else { counter.least(eligible) };
                eligible.has(value) && counter.at(value) + itself <= skew + least
            }
        }
    }

    /// How many pods a spread has too many, in the domain that has most of them.
    pub fn too_many(&self, counters: &Counters) -> u32 {
        let DomainKind::Spread { skew, eligible, min_domains, .. } = &self.kind else { return 0 };
        let counter = &counters.all[self.counter];
        let least = if eligible.len() < *min_domains { 0 } else { counter.least(eligible) };
        let most = eligible.iter().map(|value| counter.at(value)).max().unwrap_or(0);
        most.saturating_sub(skew + least)
    }

    /// How crowded a domain is: spread goes where there are fewest.
    pub fn crowd(&self, value: Value, counters: &Counters) -> u32 {
        match &self.kind {
            DomainKind::Spread { .. } => counters.all[self.counter].at(value),
            DomainKind::Near { .. } | DomainKind::Apart => 0,
        }
    }
}
