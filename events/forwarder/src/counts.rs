//! The figures on `/metrics`: a bounded number of series, whatever the cluster holds.
//!
//! The functions cannot be scraped where they run, so what they answer is counted here.

use core::time::Duration;
use metrics::{counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram};

use crate::rows::Kind;

const DELIVERIES: &str = "pilotlight_forwarder_deliveries_total";
const DELIVERY_SECONDS: &str = "pilotlight_forwarder_delivery_seconds";
const WAIT_SECONDS: &str = "pilotlight_forwarder_wait_seconds";
const DEAD_LETTERS: &str = "pilotlight_forwarder_dead_letters_total";
const EVENTS: &str = "pilotlight_forwarder_watch_events_total";
const RESTARTS: &str = "pilotlight_forwarder_watch_restarts_total";
const QUEUE: &str = "pilotlight_forwarder_queue_depth";
const UNDER_WAY: &str = "pilotlight_forwarder_deliveries_under_way";
const OBJECTS: &str = "pilotlight_forwarder_objects";
const WAITING: &str = "pilotlight_forwarder_pending_pods";
const LEADER: &str = "pilotlight_forwarder_leader";
const SNAPSHOTS_LEFT_OUT: &str = "pilotlight_forwarder_snapshots_left_out_total";
const OVERFLOWS: &str = "pilotlight_forwarder_queue_overflows_total";

/// Says what each figure means. Before somebody counts, nothing is kept.
pub fn describe() {
    describe_counter!(DELIVERIES, "Deliveries by function and outcome; no-answer: nobody was reached.");
    describe_histogram!(DELIVERY_SECONDS, "How long functions took to answer.");
    describe_histogram!(WAIT_SECONDS, "From the change to its delivery.");
    describe_counter!(DEAD_LETTERS, "Deliveries that were given up until the next resync.");
    describe_counter!(EVENTS, "What the watches said, by kind of object.");
    describe_counter!(RESTARTS, "How often a watch broke and was begun again.");
    describe_gauge!(QUEUE, "Objects that wait for a delivery or an answer.");
    describe_gauge!(UNDER_WAY, "Deliveries that are waiting for their answer.");
    describe_gauge!(OBJECTS, "Objects that are known, by kind.");
    describe_gauge!(WAITING, "Pods that wait for a node.");
    describe_gauge!(LEADER, "1 for the replica that sends.");
    describe_counter!(SNAPSHOTS_LEFT_OUT, "Events that were sent without a snapshot because it was too large.");
    describe_counter!(OVERFLOWS, "Changes that found no room in the queue and came with a resync.");
}

pub fn delivered(function: &'static str, outcome: &'static str, took: Duration) {
    counter!(DELIVERIES, "function" => function, "outcome" => outcome).increment(1);
    histogram!(DELIVERY_SECONDS, "function" => function).record(took.as_secs_f64());
}

pub fn waited(function: &'static str, time: Duration) {
    histogram!(WAIT_SECONDS, "function" => function).record(time.as_secs_f64());
}

pub fn dead_letter(function: &'static str) {
    counter!(DEAD_LETTERS, "function" => function).increment(1);
}

pub fn watch_event(kind: Kind) {
    counter!(EVENTS, "kind" => kind.as_str()).increment(1);
}

pub fn watch_restarted(kind: Kind) {
    counter!(RESTARTS, "kind" => kind.as_str()).increment(1);
}

pub fn queue(depth: usize, under_way: usize, waiting: usize) {
    gauge!(QUEUE).set(depth as f64);
    gauge!(UNDER_WAY).set(under_way as f64);
    gauge!(WAITING).set(waiting as f64);
}

pub fn objects(kind: Kind, count: usize) {
    gauge!(OBJECTS, "kind" => kind.as_str()).set(count as f64);
}

pub fn leader(leads: bool) {
    gauge!(LEADER).set(f64::from(u8::from(leads)));
}

pub fn snapshot_left_out() {
    counter!(SNAPSHOTS_LEFT_OUT).increment(1);
}

pub fn overflow() {
    counter!(OVERFLOWS).increment(1);
}
