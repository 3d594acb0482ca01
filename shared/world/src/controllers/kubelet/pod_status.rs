//! The status of a pod as its kubelet writes it.

use serde_json::{Value, json};

use crate::controllers::fields::{self, Condition};

/// What the containers of a pod do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State<'a> {
    /// Waiting, with the reason shown by `kubectl get pods`.
    Waiting(&'a str),
    Running,
    /// All ended, with this code.
    Ended(i64),
}

/// What else there is to know for a status.
pub(super) struct Facts<'a> {
    pub(super) now: &'a str,
    pub(super) host: &'a str,
    pub(super) address: &'a str,
    pub(super) restarts: i64,
    pub(super) last_code: Option<i64>,
}

pub(super) fn write(pod: &mut Value, state: State<'_>, facts: &Facts<'_>) {
    let phase = match state {
        State::Waiting(_) if facts.restarts > 0 => "Running",
        State::Waiting(_) => "Pending",
        State::Running => "Running",
        State::Ended(0) => "Succeeded",
        State::Ended(_) => "Failed",
    };
    pod["status"]["phase"] = phase.into();
    pod["status"]["hostIP"] = facts.host.into();
    pod["status"]["hostIPs"] = json!([{ "ip": facts.host }]);
    if pod["status"]["startTime"].is_null() {
        pod["status"]["startTime"] = facts.now.into();
    }
    if state != State::Waiting("ContainerCreating") {
        let address = if pod["spec"]["hostNetwork"] == true { facts.host } else { facts.address };
        pod["status"]["podIP"] = address.into();
        pod["status"]["podIPs"] = json!([{ "ip": address }]);
    }
    set_conditions(pod, state, facts.now);
    for (spec, status, begins) in
        [("initContainers", "initContainerStatuses", true), ("containers", "containerStatuses", false)]
    {
        let statuses: Vec<Value> = fields::containers(pod, spec)
            .iter()
            .map(|container| {
                let before = fields::list(&pod["status"][status]).iter().find(|one| one["name"] == container["name"]);
                let sidecar = container["restartPolicy"] == "Always";
                container_status(container, before, state, begins && !sidecar, facts)
            })
            .collect();
        if !statuses.is_empty() {
            pod["status"][status] = statuses.into();
        }
    }
}

fn set_conditions(pod: &mut Value, state: State<'_>, now: &str) {
    let names: Vec<&str> =
        fields::containers(pod, "containers").iter().filter_map(|one| one["name"].as_str()).collect();
    let unready = format!("containers with unready status: [{}]", names.join(" "));
    let gates = fields::list(&pod["spec"]["readinessGates"]);
    let open = gates
        .iter()
        .filter_map(|gate| gate["conditionType"].as_str())
        .all(|gate| fields::condition_is(pod, gate, "True"));
    let ready = match state {
        State::Running if !open => ("False", "ReadinessGatesNotReady", ""),
        State::Running => ("True", "", ""),
        State::Ended(0) => ("False", "PodCompleted", ""),
        State::Ended(_) => ("False", "PodFailed", ""),
        State::Waiting(_) => ("False", "ContainersNotReady", unready.as_str()),
    };
    let initialized = if matches!(state, State::Ended(0)) { ("True", "PodCompleted", "") } else { ("True", "", "") };
    let sandbox = if matches!(state, State::Running) { ("True", "", "") } else { ("False", "", "") };
    let containers = if state == State::Running { ("True", "", "") } else { ready };
    let all = [
        ("PodReadyToStartContainers", sandbox),
        ("Initialized", initialized),
        ("Ready", ready),
        ("ContainersReady", containers),
    ];
    for (kind, (status, reason, message)) in all {
        fields::set_condition(pod, &Condition { kind, status, reason, message }, now, &[]);
    }
    fields::set_condition(pod, &Condition { kind: "PodScheduled", status: "True", reason: "", message: "" }, now, &[]);
}

/// `done_early` is for init containers, which are over once the others run.
fn container_status(
    container: &Value,
    before: Option<&Value>,
    state: State<'_>,
    done_early: bool,
    facts: &Facts<'_>,
) -> Value {
    let started = before.and_then(|before| before["state"]["running"]["startedAt"].as_str()).unwrap_or(facts.now);
    let ended = |code: i64| {
        let reason = if code == 0 { "Completed" } else { "Error" };
        json!({ "terminated": { "exitCode": code, "reason": reason, "startedAt": started, "finishedAt": facts.now } })
    };
    let shown = match state {
        State::Waiting(reason) => {
            let reason = if done_early || reason != "ContainerCreating" { reason } else { "PodInitializing" };
            let reason = if before.is_none() && !done_early { "ContainerCreating" } else { reason };
            json!({ "waiting": { "reason": reason } })
        }
        State::Running if done_early => ended(0),
        State::Running => json!({ "running": { "startedAt": started } }),
        State::Ended(_) if done_early => before.map_or_else(|| ended(0), |before| before["state"].clone()),
        State::Ended(code) => ended(code),
    };
    let runs = state == State::Running;
    let image = container["image"].as_str().unwrap_or_default();
    let last = facts.last_code.filter(|_| !done_early).map_or_else(|| json!({}), ended);
    let mut status = json!({
        "name": container["name"],
        "image": image,
        "imageID": if runs { image } else { "" },
        "ready": runs || (done_early && !matches!(state, State::Waiting(_))),
        "started": runs && !done_early,
        "restartCount": if done_early { 0 } else { facts.restarts },
        "state": shown,
        "lastState": last,
    });
    if !matches!(state, State::Waiting(_)) {
        let seed = json!([container["name"], facts.address, facts.restarts]);
        status["containerID"] = format!("containerd://{}", fields::hash(&seed)).into();
    }
    status
}
