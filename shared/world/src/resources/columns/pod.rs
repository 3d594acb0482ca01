//! A pod's row: how its phase, conditions and containers become one word of status.

use super::{age, or_none};
use crate::resources::age::age_of;
use crate::resources::look::{at, has, items, number, text};
use jiff::Timestamp;
use serde_json::{Value, json};

pub fn cells(pod: &Value, now: Timestamp) -> Vec<Value> {
    let summary = summarise(pod);
    let restarts = match summary.last_restart.as_str() {
        "" => summary.restarts.to_string(),
        _ if summary.restarts == 0 => "0".to_owned(),
        last => format!("{} ({} ago)", summary.restarts, age_of(last, now)),
    };
    vec![
        json!(text(pod, &["metadata", "name"])),
        json!(format!("{}/{}", summary.ready, summary.total)),
        json!(summary.reason),
        json!(restarts),
        json!(age(pod, now)),
        json!(or_none(text(pod, &["status", "podIP"]))),
        json!(or_none(text(pod, &["spec", "nodeName"]))),
        json!(or_none(text(pod, &["status", "nominatedNodeName"]))),
        json!(readiness_gates(pod)),
    ]
}

/// The word `kubectl get pods` shows under STATUS.
pub fn status_word(pod: &Value) -> String {
    summarise(pod).reason
}

#[derive(Default)]
struct Summary {
    reason: String,
    ready: usize,
    total: usize,
    restarts: i64,
    last_restart: String,
}

impl Summary {
    fn count_restarts(&mut self, status: &Value) {
        self.restarts += number(status, &["restartCount"]).unwrap_or_default();
        let finished = text(status, &["lastState", "terminated", "finishedAt"]);
        // Times of one form order as text does.
        if finished > self.last_restart.as_str() {
            self.last_restart = finished.to_owned();
        }
    }
}

fn summarise(pod: &Value) -> Summary {
    let phase = text(pod, &["status", "phase"]);
    let mut summary = Summary { reason: phase.to_owned(), ..Summary::default() };
    if !text(pod, &["status", "reason"]).is_empty() {
        summary.reason = text(pod, &["status", "reason"]).to_owned();
    }
    if condition(pod, "PodScheduled").is_some_and(|one| text(one, &["reason"]) == "SchedulingGated") {
        summary.reason = "SchedulingGated".to_owned();
    }
    let sidecars = items(pod, &["spec", "initContainers"]).iter().filter(|one| is_sidecar(one)).count();
    summary.total = items(pod, &["spec", "containers"]).len() + sidecars;
    let (initializing, of_sidecars) = summarise_init(pod, &mut summary);
    if !initializing || is_true(pod, "Initialized") {
        // Restarts of init containers are forgotten once they are through; those of sidecars are not.
        summary.restarts = of_sidecars.restarts;
        summary.last_restart = of_sidecars.last_restart;
        summarise_containers(pod, &mut summary);
    }
    if has(pod, &["metadata", "deletionTimestamp"]) {
        if text(pod, &["status", "reason"]) == "NodeLost" {
            summary.reason = "Unknown".to_owned();
        } else if !matches!(phase, "Succeeded" | "Failed") {
            summary.reason = "Terminating".to_owned();
        }
    }
    summary
}

/// Whether the pod still initializes, and the restarts of its sidecars.
fn summarise_init(pod: &Value, summary: &mut Summary) -> (bool, Summary) {
    let specs = items(pod, &["spec", "initContainers"]);
    let mut of_sidecars = Summary::default();
    for (index, status) in items(pod, &["status", "initContainerStatuses"]).iter().enumerate() {
        let spec = specs.iter().find(|spec| text(spec, &["name"]) == text(status, &["name"]));
        let sidecar = spec.is_some_and(is_sidecar);
        summary.count_restarts(status);
        if sidecar {
            of_sidecars.count_restarts(status);
        }
        let terminated = at(status, &["state", "terminated"]);
        let waiting = text(status, &["state", "waiting", "reason"]);
        if !terminated.is_null() && number(terminated, &["exitCode"]).unwrap_or_default() == 0 {
            continue;
        }
        if sidecar && at(status, &["started"]) == true {
            summary.ready += usize::from(at(status, &["ready"]) == true);
            continue;
        }
        summary.reason = if !terminated.is_null() {
            format!("Init:{}", end_of(terminated))
        } else if !waiting.is_empty() && waiting != "PodInitializing" {
            format!("Init:{waiting}")
        } else {
            format!("Init:{index}/{}", specs.len())
        };
        return (true, of_sidecars);
    }
    (false, of_sidecars)
}

fn summarise_containers(pod: &Value, summary: &mut Summary) {
    let mut runs = false;
    // From the last to the first, so that the first container has the last word.
    for status in items(pod, &["status", "containerStatuses"]).iter().rev() {
        summary.count_restarts(status);
        let waiting = text(status, &["state", "waiting", "reason"]);
        let terminated = at(status, &["state", "terminated"]);
        if !waiting.is_empty() {
            summary.reason = waiting.to_owned();
        } else if !terminated.is_null() {
            summary.reason = end_of(terminated);
        } else if at(status, &["ready"]) == true && has(status, &["state", "running"]) {
            runs = true;
            summary.ready += 1;
        }
    }
    if summary.reason == "Completed" && runs {
        summary.reason = if is_true(pod, "Ready") { "Running" } else { "NotReady" }.to_owned();
    }
}

fn end_of(terminated: &Value) -> String {
    match (text(terminated, &["reason"]), number(terminated, &["signal"]).unwrap_or_default()) {
        ("", 0) => format!("ExitCode:{}", number(terminated, &["exitCode"]).unwrap_or_default()),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    }
}

fn is_sidecar(container: &Value) -> bool {
    text(container, &["restartPolicy"]) == "Always"
}

fn condition<'a>(pod: &'a Value, kind: &str) -> Option<&'a Value> {
    items(pod, &["status", "conditions"]).iter().find(|one| text(one, &["type"]) == kind)
}

fn is_true(pod: &Value, kind: &str) -> bool {
    condition(pod, kind).is_some_and(|one| text(one, &["status"]) == "True")
}

fn readiness_gates(pod: &Value) -> String {
    let gates = items(pod, &["spec", "readinessGates"]);
    if gates.is_empty() {
        return "<none>".to_owned();
    }
    let open = gates.iter().filter(|gate| is_true(pod, text(gate, &["conditionType"]))).count();
    format!("{open}/{}", gates.len())
}

#[cfg(test)]
#[path = "pod_tests.rs"]
mod tests;
