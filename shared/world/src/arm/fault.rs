//! What goes wrong, as data: which pools it hits, when, how often, and what happens.

use jiff::Timestamp;
use std::time::Duration;

#[derive(Debug, Clone)]
pub struct Fault {
    pub on: Target,
    /// How many requests or machines it still hits; `None`: all.
    pub times: Option<u32>,
    pub effect: Effect,
}

/// Which machines a fault is about; `None` is any.
#[derive(Debug, Clone, Default)]
pub struct Target {
    /// Pool names that start with this.
    pub pool: Option<String>,
    pub size: Option<String>,
    pub place: Option<Place>,
    pub spot: Option<bool>,
    pub from: Option<Timestamp>,
    pub until: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    Regional,
    /// A zone by its number, `1`.
    Zone(String),
}

#[derive(Debug, Clone)]
pub enum Effect {
    /// No machine of this kind can be had.
    Refuse {
        why: Shortage,
        when: When,
    },
    /// Only this many machines of this kind can be alive at one time.
    Stock {
        machines: u64,
        why: Shortage,
        when: When,
    },
    /// The PUT is refused at once with any status and code, for example 409 `AnotherOperationInProgress`.
    Answer {
        status: u16,
        code: String,
        message: String,
    },
    /// The operation fails with a code of the caller's choice.
    OperationFails {
        code: String,
        message: String,
    },
    /// The operation takes this long in all, whatever the machines do.
    OperationTakes(Duration),
    /// The operation never ends.
    OperationStuck,
    /// After an accepted DELETE the machines run on for this long.
    DeletionTakes(Duration),
    /// The machines run on, and the operation never ends.
    DeletionStuck,
    /// The operation fails; pool and machines stay, Failed.
    DeletionFails {
        code: String,
        message: String,
    },
    BootTakes(Duration),
    /// The machine runs and is billed, the operation succeeds, no Node appears.
    NodeNeverJoins,
    GpuAfter(Duration),
    GpuNeverAppears,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shortage {
    SkuNotAvailable,
    AllocationFailed,
    ZonalAllocationFailed,
    OverconstrainedAllocationRequest,
    OverconstrainedZonalAllocationRequest,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// The PUT itself is refused; nothing stays.
    AtOnce,
    /// The PUT is accepted, the operation fails with the code itself, a Failed pool stays.
    InOperation,
    /// The same, with the code one level down, under `ReconcileVMSSAgentPoolFailed`.
    InOperationNested,
}

/// One machine that is asked for, as faults see it.
#[derive(Debug, Clone)]
pub(super) struct Wanted<'a> {
    pub pool: &'a str,
    pub size: &'a str,
    pub zone: Option<&'a str>,
    pub spot: bool,
    pub now: Timestamp,
}

impl Fault {
    pub fn new(effect: Effect) -> Self {
        Fault { on: Target::default(), times: None, effect }
    }

    pub fn on_pool(mut self, pool: &str) -> Self {
        self.on.pool = Some(pool.into());
        self
    }

    pub fn on_size(mut self, size: &str) -> Self {
        self.on.size = Some(size.into());
        self
    }

    pub fn in_place(mut self, place: Place) -> Self {
        self.on.place = Some(place);
        self
    }

    pub fn spot(mut self, spot: bool) -> Self {
        self.on.spot = Some(spot);
        self
    }

    pub fn between(mut self, from: Timestamp, until: Timestamp) -> Self {
        (self.on.from, self.on.until) = (Some(from), Some(until));
        self
    }

    pub fn times(mut self, times: u32) -> Self {
        self.times = Some(times);
        self
    }

    pub(super) fn hits(&self, wanted: &Wanted<'_>) -> bool {
        self.times != Some(0) && self.on.matches(wanted)
    }

    pub(super) fn spend(&mut self) {
        self.times = self.times.map(|times| times.saturating_sub(1));
    }
}

impl Target {
    pub(super) fn matches(&self, wanted: &Wanted<'_>) -> bool {
        self.pool.as_ref().is_none_or(|prefix| wanted.pool.starts_with(prefix.as_str()))
            && self.size.as_ref().is_none_or(|size| size.eq_ignore_ascii_case(wanted.size))
            && self.spot.is_none_or(|spot| spot == wanted.spot)
            && self.from.is_none_or(|from| from <= wanted.now)
            && self.until.is_none_or(|until| wanted.now < until)
            && match &self.place {
                None => true,
                Some(Place::Regional) => wanted.zone.is_none(),
                Some(Place::Zone(zone)) => wanted.zone == Some(zone.as_str()),
            }
    }
}

impl Shortage {
    pub(super) fn code(self) -> &'static str {
        match self {
            Shortage::SkuNotAvailable => "SkuNotAvailable",
            Shortage::AllocationFailed => "AllocationFailed",
            Shortage::ZonalAllocationFailed => "ZonalAllocationFailed",
            Shortage::OverconstrainedAllocationRequest => "OverconstrainedAllocationRequest",
            Shortage::OverconstrainedZonalAllocationRequest => "OverconstrainedZonalAllocationRequest",
        }
    }

    pub(super) fn message(self, size: &str, location: &str) -> String {
        match self {
            Shortage::SkuNotAvailable => format!(
                "The requested VM size for resource 'Following SKUs have failed for Capacity Restrictions: {size}' is currently not available in location '{location}'. Please try another size or deploy to a different location or different zone."
            ),
            Shortage::AllocationFailed => format!(
                "Allocation failed. We do not have sufficient capacity for the requested VM size {size} in this region."
            ),
            Shortage::ZonalAllocationFailed => {
                format!("Allocation failed. We do not have sufficient capacity for the requested VM size {size} in this zone.")
            }
            Shortage::OverconstrainedAllocationRequest => {
                "Allocation failed. The constraints are too restrictive. Constraints applied are:\n  - VM Size\n".into()
            }
            Shortage::OverconstrainedZonalAllocationRequest => {
                "Allocation failed. The constraints are too restrictive. Constraints applied are:\n  - Availability Zone\n  - VM Size\n".into()
            }
        }
    }
}
