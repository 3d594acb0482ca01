//! What is still to be delivered: one place a lane, the newest wins, and nothing leaves before it was answered.
//!
//! A pure state machine on a clock that is passed in. A lane waits (for its turn, or for the time that an answer asked for) or
//! is under way, and then what is new waits behind it. So at most one delivery of a lane is under way at any time.

use core::time::Duration;
use provider::{Chance, up_to};
use std::collections::{BTreeSet, HashMap};
use tokio::time::Instant;

use crate::filter::{Lane, Wake};

#[derive(Debug)]
pub struct Queue {
    lanes: HashMap<Lane, Place>,
    /// Those that wait, the next one first. The number keeps the order of those that came together.
    order: BTreeSet<(Instant, u64, Lane)>,
    next: u64,
    under_way: usize,
    limits: Limits,
    /// Lanes that found no room: their names only. What there is to tell is asked for when there is room.
    overflow: BTreeSet<Lane>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub lanes: usize,
    /// Failures in a row, until a delivery is given up.
    pub tries: u32,
}

#[derive(Debug)]
struct Place {
    wake: Wake,
    failures: u32,
    /// When somebody first wanted it.
    since: Instant,
    state: State,
}

#[derive(Debug)]
enum State {
    Waiting { due: Instant, number: u64, for_: For },
    UnderWay { newer: Option<Wake> },
}

/// What a lane waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum For {
    ItsTurn,
    /// An answer said "later"; news are sooner.
    Later,
    /// It failed: news wait as long, or a sink that is down would be tried at the pace of the changes.
    BackOff,
}

/// Why something is to be delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Because {
    ItChanged,
    /// Changed or not; whatever waits already waits on.
    Resync,
}

/// A delivery to make now.
#[derive(Debug, Clone)]
pub struct Job {
    pub lane: Lane,
    pub wake: Wake,
    pub waited: Duration,
}

/// What came of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Acknowledged,
    /// To be called again after this long.
    Later(Duration),
    /// Without a time of its own, the back-off decides.
    Failed(Option<Duration>),
    Refused,
}

/// What became of a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    Settled,
    Waits(Duration),
    /// Given up until a resync brings it again.
    GivenUp {
        failures: u32,
    },
}

const FIRST_BACK_OFF: Duration = Duration::from_millis(500);
const LONGEST_BACK_OFF: Duration = Duration::from_secs(60);

impl Queue {
    pub fn new(limits: Limits) -> Self {
        Queue {
            lanes: HashMap::new(),
            order: BTreeSet::new(),
            next: 0,
            under_way: 0,
            limits,
            overflow: BTreeSet::new(),
        }
    }

    /// `false` if there is no room. Nothing is lost by that: `next_overflow` names the lane again.
    pub fn offer(&mut self, wake: Wake, because: Because, now: Instant) -> bool {
        let lane = wake.lane();
        let Some(place) = self.lanes.get_mut(&lane) else {
            // What no resync would bring again is taken in any case.
            if self.lanes.len() >= self.limits.lanes && !wake.is_last() {
                self.overflow.insert(lane);
                return false;
            }
            let state = self.wait(lane.clone(), now, For::ItsTurn);
            self.lanes.insert(lane, Place { wake, failures: 0, since: now, state });
            return true;
        };
        match &mut place.state {
            State::UnderWay { newer } => {
                if because == Because::ItChanged {
                    *newer = Some(wake);
                }
            }
            State::Waiting { due, number, for_ } => {
                place.wake = wake;
                if because == Because::ItChanged && *for_ == For::Later {
                    let old = (*due, *number, lane.clone());
                    place.since = now;
                    self.order.remove(&old);
                    let state = self.wait(lane.clone(), now, For::ItsTurn);
                    if let Some(place) = self.lanes.get_mut(&lane) {
                        place.state = state;
                    }
                }
            }
        }
        true
    }

    /// The next one whose time has come.
    pub fn take(&mut self, now: Instant) -> Option<Job> {
        let (due, _, _) = self.order.first()?;
        if *due > now {
            return None;
        }
        let (_, _, lane) = self.order.pop_first()?;
        let place = self.lanes.get_mut(&lane)?;
        place.state = State::UnderWay { newer: None };
        self.under_way += 1;
        Some(Job { lane, wake: place.wake.clone(), waited: now.saturating_duration_since(place.since) })
    }

    pub fn finish(&mut self, lane: Lane, verdict: Verdict, now: Instant, luck: &dyn Chance) -> After {
        let Some(mut place) = self.lanes.remove(&lane) else { return After::Settled };
        self.under_way = self.under_way.saturating_sub(1);
        let newer = match place.state {
            State::UnderWay { newer } => newer,
            State::Waiting { .. } => None,
        };
        let is_newer = newer.is_some();
        if let Some(newer) = newer {
            place.wake = newer;
        }
        place.failures = if matches!(verdict, Verdict::Failed(_)) { place.failures + 1 } else { 0 };
        let (after, for_) = match verdict {
            Verdict::Acknowledged | Verdict::Later(_) | Verdict::Refused if is_newer => (Duration::ZERO, For::ItsTurn),
            Verdict::Acknowledged => return After::Settled,
            Verdict::Refused => return After::GivenUp { failures: 1 },
            Verdict::Later(after) => (after, For::Later),
            Verdict::Failed(_) if place.failures >= self.limits.tries && !place.wake.is_last() => {
                return After::GivenUp { failures: place.failures };
            }
            Verdict::Failed(asked) => (back_off(place.failures, asked, luck), For::BackOff),
        };
        if for_ == For::ItsTurn {
            place.since = now;
        }
        place.state = self.wait(lane.clone(), now + after, for_);
        self.lanes.insert(lane, place);
        After::Waits(after)
    }

    /// When `take` has something next.
    pub fn due(&self) -> Option<Instant> {
        self.order.first().map(|(due, _, _)| *due)
    }

    /// A lane that found no room, if there is room now.
    pub fn next_overflow(&mut self) -> Option<Lane> {
        if self.lanes.len() < self.limits.lanes { self.overflow.pop_first() } else { None }
    }

    /// Forgets what waits; what is under way is still to be finished. For a replica that does not lead any more.
    pub fn clear(&mut self) {
        self.order.clear();
        self.overflow.clear();
        self.lanes.retain(|_, place| match &mut place.state {
            State::Waiting { .. } => false,
            State::UnderWay { newer } => {
                *newer = None;
                true
            }
        });
    }

    pub fn len(&self) -> usize {
        self.lanes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.lanes.is_empty()
    }

    pub fn under_way(&self) -> usize {
        self.under_way
    }

    fn wait(&mut self, lane: Lane, due: Instant, for_: For) -> State {
        self.next += 1;
        self.order.insert((due, self.next, lane));
        State::Waiting { due, number: self.next, for_ }
    }
}

/// What the answer asked for and a little more, so that those who failed together come back apart; without a wish twice as
/// long each time, and anything between half of that and all of it.
fn back_off(failures: u32, asked: Option<Duration>, luck: &dyn Chance) -> Duration {
    match asked {
        Some(asked) => asked + up_to(luck, asked / 10),
        None => {
            let doubled = FIRST_BACK_OFF.saturating_mul(2_u32.saturating_pow(failures.saturating_sub(1).min(16)));
            let half = doubled.min(LONGEST_BACK_OFF) / 2;
            half + up_to(luck, half)
        }
    }
}
