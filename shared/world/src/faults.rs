//! Faults as data: which request, and what happens to it.

use http::StatusCode;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use crate::history::Place;

/// One fault: it waits for the request it is meant for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Fault {
    #[serde(flatten)]
    pub on: Matching,
    #[serde(flatten)]
    pub then: Mishap,
}

/// Which requests. Everything that is given must fit.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Matching {
    /// `kubernetes`, `aks`, `scaleway` or `power`.
    pub to: Option<String>,
    pub user: Option<String>,
    pub method: Option<String>,
    /// A part of the path.
    pub path: Option<String>,
    /// A part of the query, as in `watch=true`.
    pub query: Option<String>,
    /// The how many-th fitting request is meant, from 1; without it, the first.
    pub nth: Option<u64>,
    /// How many from there on; 1 unless told.
    pub times: Option<u64>,
    pub from: Option<String>,
    pub until: Option<String>,
}

/// What happens. `done` says whether the request still has its effect.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "fault")]
pub enum Mishap {
    /// The caller dies: its crash hook is called and the connection ends.
    Crash { done: bool },
    /// No answer ever comes.
    TimeOut { done: bool },
    /// The connection is reset.
    Reset { done: bool },
    /// Somebody on the way answers this instead.
    Answer {
        status: u16,
        #[serde(default)]
        done: bool,
        #[serde(default)]
        retry_after: Option<u64>,
    },
    /// The answer takes this long, in milliseconds of the world's time.
    Slow { milliseconds: u64 },
    /// A read sees the cluster as it was this many revisions ago.
    Stale { revisions: u64 },
    /// A watch ends after this long.
    DropWatch { milliseconds: u64 },
    /// Each event of a watch comes this much later.
    DelayWatch { milliseconds: u64 },
}

/// A request, as far as faults look at it.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
    pub at: Timestamp,
    pub to: Place,
    pub user: &'a str,
    pub method: &'a str,
    pub path: &'a str,
    pub query: &'a str,
}

/// The faults that are still to come. Cheap to clone; all clones are the same.
#[derive(Debug, Clone, Default)]
pub struct Faults(Arc<Mutex<Vec<(Fault, u64)>>>);

impl Faults {
    pub fn add(&self, fault: Fault) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((fault, 0));
    }

    pub fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// The first fault that is meant for this request. Every fitting fault counts it, whether its turn has come or not.
    pub fn next(&self, seen: Seen<'_>) -> Option<Mishap> {
        let mut faults = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found = None;
        for (fault, count) in faults.iter_mut().filter(|(fault, _)| fault.on.fits(seen)) {
            *count += 1;
            let first = fault.on.nth.unwrap_or(1);
            let last = first.saturating_add(fault.on.times.unwrap_or(1));
            if found.is_none() && (first..last).contains(count) {
                found = Some(fault.then.clone());
            }
        }
        found
    }
}

impl Matching {
    fn fits(&self, seen: Seen<'_>) -> bool {
        let equal = |wanted: &Option<String>, given: &str| wanted.as_ref().is_none_or(|wanted| wanted == given);
        let part =
            |wanted: &Option<String>, given: &str| wanted.as_ref().is_none_or(|wanted| given.contains(wanted.as_str()));
        let time = |text: &Option<String>| text.as_ref().and_then(|text| text.parse::<Timestamp>().ok());
        equal(&self.to, seen.to.as_str())
            && equal(&self.user, seen.user)
            && equal(&self.method, seen.method)
            && part(&self.path, seen.path)
            && part(&self.query, seen.query)
            && time(&self.from).is_none_or(|from| seen.at >= from)
            && time(&self.until).is_none_or(|until| seen.at < until)
    }
}

impl Mishap {
    /// Its name in a history.
    pub fn name(&self) -> String {
        match self {
            Mishap::Crash { done } => format!("crash, {}", after(*done)),
            Mishap::TimeOut { done } => format!("time-out, {}", after(*done)),
            Mishap::Reset { done } => format!("reset, {}", after(*done)),
            Mishap::Answer { status, done, .. } => format!("answer {status}, {}", after(*done)),
            Mishap::Slow { milliseconds } => format!("slow by {milliseconds} ms"),
            Mishap::Stale { revisions } => format!("stale by {revisions}"),
            Mishap::DropWatch { milliseconds } => format!("watch dropped after {milliseconds} ms"),
            Mishap::DelayWatch { milliseconds } => format!("watch delayed by {milliseconds} ms"),
        }
    }

    /// Whether the request has its effect in spite of it.
    pub fn is_done(&self) -> bool {
        match self {
            Mishap::Crash { done }
            | Mishap::TimeOut { done }
            | Mishap::Reset { done }
            | Mishap::Answer { done, .. } => *done,
            Mishap::Slow { .. } | Mishap::Stale { .. } | Mishap::DropWatch { .. } | Mishap::DelayWatch { .. } => true,
        }
    }

    pub fn delay(&self) -> Option<Duration> {
        match self {
            Mishap::Slow { milliseconds } => Some(Duration::from_millis(*milliseconds)),
            _ => None,
        }
    }
}

fn after(done: bool) -> &'static str {
    if done { "though it was done" } else { "nothing was done" }
}

/// The status of an injected answer; what is no status is a 500.
pub fn status(code: u16) -> StatusCode {
    StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn seen(path: &str) -> Seen<'_> {
        Seen { at: crate::clock::BEGINNING, to: Place::Aks, user: "u", method: "PUT", path, query: "" }
    }

    fn fault(json: &str) -> Fault {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn a_fault_waits_for_its_turn_and_happens_as_often_as_it_says() {
        let faults = Faults::default();
        faults.add(fault(
            r#"{"to":"aks","path":"agentPools","nth":2,"times":2,"fault":"answer","status":429,"retryAfter":3}"#,
        ));
        let happened: Vec<bool> = (0..5).map(|_| faults.next(seen("/x/agentPools/y")).is_some()).collect();
        assert_eq!(happened, [false, true, true, false, false]);
        assert!(faults.next(seen("/other")).is_none());
    }

    #[test]
    fn a_fault_may_be_meant_for_a_time() {
        let faults = Faults::default();
        faults.add(fault(r#"{"until":"2025-01-01T00:00:00Z","fault":"crash","done":false}"#));
        assert!(faults.next(seen("/")).is_none(), "the world begins later");
        faults.clear();
        faults.add(fault(r#"{"from":"2025-01-01T00:00:00Z","fault":"timeOut","done":true}"#));
        assert_eq!(faults.next(seen("/")), Some(Mishap::TimeOut { done: true }));
    }
}
