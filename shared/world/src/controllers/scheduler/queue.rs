//! The scheduling queue: pods to be tried now, pods that wait out a back-off, pods that wait for the cluster to change.

use jiff::Timestamp;
use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use crate::{api::store::ObjectKey, controllers::timers::later};

/// A pod that waits without anything changing is tried again after this long.
const LONGEST_WAIT: Duration = Duration::from_secs(300);

#[derive(Debug, Default)]
pub(super) struct Queue {
    pods: BTreeMap<ObjectKey, Waiting>,
    active: BTreeSet<(Reverse<i64>, u64, ObjectKey)>,
    backing_off: BTreeSet<(Timestamp, ObjectKey)>,
    count: u64,
    pub(super) timer: Option<Timestamp>,
}

#[derive(Debug)]
struct Waiting {
    priority: i64,
    order: u64,
    attempts: u32,
    tried: Timestamp,
    /// The plugins that refused it.
    refused_by: u16,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Active,
    BackingOff(Timestamp),
    Refused,
}

impl Queue {
    /// A new pod, or one whose own wishes changed.
    pub(super) fn push(&mut self, key: &ObjectKey, priority: i64, now: Timestamp) {
        let attempts = self.remove(key).unwrap_or(0);
        self.count += 1;
        let waiting =
            Waiting { priority, order: self.count, attempts, tried: now, refused_by: 0, state: State::Active };
        self.active.insert((Reverse(priority), waiting.order, key.clone()));
        self.pods.insert(key.clone(), waiting);
    }

    /// Forgets a pod and says how often it was tried.
    pub(super) fn remove(&mut self, key: &ObjectKey) -> Option<u32> {
        let waiting = self.pods.remove(key)?;
        match waiting.state {
            State::Active => _ = self.active.remove(&(Reverse(waiting.priority), waiting.order, key.clone())),
            State::BackingOff(until) => _ = self.backing_off.remove(&(until, key.clone())),
            State::Refused => {}
        }
        Some(waiting.attempts)
    }

    pub(super) fn pop(&mut self) -> Option<ObjectKey> {
        self.active.pop_first().map(|(_, _, key)| key)
    }

    pub(super) fn has_active(&self) -> bool {
        !self.active.is_empty()
    }

    pub(super) fn refused(&mut self, key: &ObjectKey, by: u16, now: Timestamp) {
        if let Some(waiting) = self.pods.get_mut(key) {
            waiting.attempts += 1;
            waiting.tried = now;
            waiting.refused_by = by;
            waiting.state = State::Refused;
        }
    }

    /// Something changed that pods refused by these plugins wait for: they come back after their back-off.
    pub(super) fn wake(&mut self, plugins: u16, now: Timestamp) {
        let waits = |waiting: &Waiting| waiting.state == State::Refused && (waiting.refused_by & plugins != 0);
        let woken: Vec<ObjectKey> =
            self.pods.iter().filter(|(_, one)| waits(one)).map(|(key, _)| key.clone()).collect();
        for key in woken {
            let Some(waiting) = self.pods.get_mut(&key) else { continue };
            // One second, doubled up to ten.
            let backoff =
                Duration::from_secs(1 << waiting.attempts.saturating_sub(1).min(4)).min(Duration::from_secs(10));
            let until = later(waiting.tried, backoff);
            if until <= now {
                waiting.state = State::Active;
                self.active.insert((Reverse(waiting.priority), waiting.order, key));
            } else {
                waiting.state = State::BackingOff(until);
                self.backing_off.insert((until, key));
            }
        }
    }

    /// Ends back-offs that are over and waits that are too long.
    pub(super) fn tick(&mut self, now: Timestamp) {
        while self.backing_off.first().is_some_and(|(until, _)| *until <= now) {
            if let Some((_, key)) = self.backing_off.pop_first() {
                self.activate(key);
            }
        }
        let too_long = |one: &Waiting| one.state == State::Refused && later(one.tried, LONGEST_WAIT) <= now;
        let tired: Vec<ObjectKey> =
            self.pods.iter().filter(|(_, one)| too_long(one)).map(|(key, _)| key.clone()).collect();
        for key in tired {
            self.activate(key);
        }
    }

    fn activate(&mut self, key: ObjectKey) {
        if let Some(waiting) = self.pods.get_mut(&key) {
            waiting.state = State::Active;
            self.active.insert((Reverse(waiting.priority), waiting.order, key));
        }
    }

    /// When the next back-off or wait ends.
    pub(super) fn next(&self) -> Option<Timestamp> {
        let refused =
            self.pods.values().filter(|one| one.state == State::Refused).map(|one| later(one.tried, LONGEST_WAIT));
        let backoff = self.backing_off.first().map(|(until, _)| *until);
        refused.min().into_iter().chain(backoff).min()
    }
}
