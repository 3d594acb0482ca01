//! The pods on the machines, each a small state machine: starting, running, waiting to restart, stopping.
//!
//! Annotations steer a pod: `pull-seconds` before it runs, `run-seconds` until it ends, `exit-code` with which it does,
//! `stop-seconds` that it takes to stop, all under `world.pilotlight.dev/`.

use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use super::{
    Running, admission, after, node,
    pod_status::{self, Facts, State},
};
use crate::{
    api::store::{ObjectKey, Stored},
    chance::Chance,
    controllers::{
        context::Context,
        events::{self, Saying},
        fields,
        kinds::Kind,
        quantity::{self, Amounts},
        view::Noticed,
    },
};

const PREFIX: &str = "world.pilotlight.dev/";
/// What a container answers to the signal that asks it to stop.
const STOPPED: i64 = 143;
/// What a container ends with when its machine did.
const MACHINE_LOST: i64 = 255;

pub(super) struct Pods {
    chance: Chance,
    runs: BTreeMap<ObjectKey, Run>,
    /// What the running pods of each node ask for.
    used: BTreeMap<String, Amounts>,
    changed: BTreeSet<ObjectKey>,
    count: u64,
}

struct Run {
    uid: String,
    node: String,
    asks: Amounts,
    /// Resource and message, for a pod that will not be run. It is said after a while: were it said at once, a
    /// controller that replaces the pod would never let time pass.
    refusal: Option<(String, String)>,
    /// Only the timer of this turn counts; older ones are void.
    turn: u64,
    step: Step,
    restarts: i64,
    last_code: Option<i64>,
    address: String,
    /// The grace period it is stopping under.
    grace: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Starting,
    Running,
    Restarting,
    Stopping,
}

impl Pods {
    pub(super) fn new(chance: Chance) -> Self {
        Pods { chance, runs: BTreeMap::new(), used: BTreeMap::new(), changed: BTreeSet::new(), count: 0 }
    }

    pub(super) fn notice(&mut self, noticed: &Noticed) {
        let after = &noticed.change.after.value;
        if noticed.change.deleted {
            self.forget(&noticed.change.key);
        } else if fields::node_of(after).is_some() {
            let run = self.runs.get(&noticed.change.key);
            // Its own writes come back too; what matters is a pod that is new or that was asked to stop.
            if run.is_none_or(|run| run.uid != fields::uid(after)) || fields::is_going(after) {
                self.changed.insert(noticed.change.key.clone());
            }
        }
    }

    pub(super) fn work(&mut self, context: &mut Context, machines: &BTreeMap<String, Running>) {
        for key in std::mem::take(&mut self.changed) {
            let Some(stored) = context.fresh(Kind::Pod, &key) else { continue };
            let Some(machine) = alive(machines, &stored.value) else { continue };
            if fields::is_going(&stored.value) {
                self.stop(context, &key, &stored.value);
            } else if !fields::is_over(&stored.value)
                && self.runs.get(&key).is_none_or(|run| run.uid != fields::uid(&stored.value))
            {
                self.begin(context, machine, &key, &stored.value);
            }
        }
    }

    fn begin(&mut self, context: &mut Context, machine: &Running, key: &ObjectKey, pod: &Value) {
        self.forget(key);
        let node = fields::node_of(pod).unwrap_or_default().to_owned();
        let asks = admission::asks(pod);
        let used = self.used.entry(node.clone()).or_default();
        let refusal = admission::does_not_fit(context, &node, used, &asks);
        let asks = if refusal.is_some() { Amounts::new() } else { asks };
        quantity::add(used, &asks);
        self.count += 1;
        let address =
            format!("10.{}.{}.{}", 200 + self.count / 62_500 % 50, self.count / 250 % 250, 2 + self.count % 250);
        let (uid, grace) = (fields::uid(pod).to_owned(), i64::MAX);
        let run = Run {
            refusal,
            uid,
            node,
            asks,
            turn: 0,
            step: Step::Starting,
            restarts: 0,
            last_code: None,
            address,
            grace,
        };
        self.runs.insert(key.clone(), run);
        if self.runs.get(key).is_some_and(|run| run.refusal.is_none()) {
            self.write(context, machine, key, State::Waiting("ContainerCreating"));
        }
        let wait = seconds(pod, "pull-seconds")
            .unwrap_or_else(|| self.chance.between(context.options.pod_start.0, context.options.pod_start.1));
        self.go_on(context, key, Step::Starting, wait);
    }

    fn stop(&mut self, context: &mut Context, key: &ObjectKey, pod: &Value) {
        let grace = pod["metadata"]["deletionGracePeriodSeconds"].as_i64().unwrap_or(0).max(0);
        let uid = fields::uid(pod).to_owned();
        if fields::is_over(pod) || self.runs.get(key).is_none_or(|run| run.uid != uid) {
            context.delete_now(key, &uid);
            return;
        }
        if self.runs.get(key).is_some_and(|run| run.step == Step::Stopping && run.grace <= grace) {
            return;
        }
        let own = seconds(pod, "stop-seconds")
            .unwrap_or_else(|| self.chance.between(context.options.pod_stop.0, context.options.pod_stop.1));
        if let Some(run) = self.runs.get_mut(key) {
            run.grace = grace;
        }
        say(context, pod, "Killing", "Stopping container");
        self.go_on(context, key, Step::Stopping, own.min(Duration::from_secs(grace.unsigned_abs())));
    }

    fn forget(&mut self, key: &ObjectKey) -> Option<Run> {
        let run = self.runs.remove(key)?;
        if let Some(used) = self.used.get_mut(&run.node) {
            for (resource, amount) in &run.asks {
                *used.entry(resource.clone()).or_insert(0) -= amount;
            }
        }
        Some(run)
    }

    fn go_on(&mut self, context: &mut Context, key: &ObjectKey, step: Step, wait: Duration) {
        self.count += 1;
        if let Some(run) = self.runs.get_mut(key) {
            run.turn = self.count;
            run.step = step;
            after(context, wait, key, &run.uid, run.turn);
        }
    }

    /// A timer of a pod rang.
    pub(super) fn step(
        &mut self,
        context: &mut Context,
        machines: &BTreeMap<String, Running>,
        key: &ObjectKey,
        uid: &str,
        turn: u64,
    ) {
        let Some(step) = self.runs.get(key).filter(|run| run.uid == uid && run.turn == turn).map(|run| run.step) else {
            return;
        };
        let Some(stored) = context.fresh(Kind::Pod, key).filter(|stored| fields::uid(&stored.value) == uid) else {
            return;
        };
        let Some(machine) = alive(machines, &stored.value) else { return };
        if let Some((resource, message)) = self.runs.get_mut(key).and_then(|run| run.refusal.take()) {
            self.forget(key);
            admission::refuse(context, key, &format!("OutOf{resource}"), &message);
            return;
        }
        match step {
            Step::Starting | Step::Restarting => self.run(context, machine, key, &stored),
            Step::Running => self.end(context, machine, key, &stored.value),
            Step::Stopping => {
                self.write(context, machine, key, State::Ended(STOPPED));
                context.delete_now(key, uid);
            }
        }
    }

    fn run(&mut self, context: &mut Context, machine: &Running, key: &ObjectKey, stored: &Stored) {
        self.write(context, machine, key, State::Running);
        say(context, &stored.value, "Started", "Container started");
        let of_job = fields::controller(&stored.value).is_some_and(|owner| owner["kind"] == "Job");
        let lasting = seconds(&stored.value, "run-seconds").or(context.options.job_pods_run.filter(|_| of_job));
        match lasting {
            Some(lasting) => self.go_on(context, key, Step::Running, lasting),
            None => {
                if let Some(run) = self.runs.get_mut(key) {
                    (run.step, run.turn) = (Step::Running, 0);
                }
            }
        }
    }

    fn end(&mut self, context: &mut Context, machine: &Running, key: &ObjectKey, pod: &Value) {
        let code = setting(pod, "exit-code").and_then(|code| code.parse().ok()).unwrap_or(0);
        self.end_with(context, machine, key, pod, code);
    }

    /// All containers ended; the restart policy says what follows.
    fn end_with(&mut self, context: &mut Context, machine: &Running, key: &ObjectKey, pod: &Value, code: i64) {
        let policy = pod["spec"]["restartPolicy"].as_str().unwrap_or("Always");
        if policy == "Never" || (policy == "OnFailure" && code == 0) {
            self.write(context, machine, key, State::Ended(code));
            self.forget(key);
            return;
        }
        let Some(run) = self.runs.get_mut(key) else { return };
        run.restarts += 1;
        run.last_code = Some(code);
        // Ten seconds, doubled up to five minutes, as kubelets wait between crashes.
        let wait = Duration::from_secs(10 << (run.restarts - 1).clamp(0, 5)).min(Duration::from_secs(300));
        self.write(context, machine, key, State::Waiting("CrashLoopBackOff"));
        self.go_on(context, key, Step::Restarting, wait);
    }

    /// After a short absence containers still run; after a reboot they do not.
    pub(super) fn machine_is_back(&mut self, context: &mut Context, node: &str, same_boot: bool) {
        let keys: Vec<(ObjectKey, Step)> = context
            .view
            .pods_on(node)
            .filter_map(|(key, pod)| {
                Some((key.clone(), self.runs.get(key).filter(|run| run.uid == fields::uid(&pod.value))?.step))
            })
            .collect();
        for (key, step) in keys {
            let soon = self.chance.between(context.options.pod_start.0, context.options.pod_start.1);
            if let (Step::Running | Step::Restarting, false, Some(run)) = (step, same_boot, self.runs.get_mut(&key)) {
                run.restarts += 1;
                run.last_code = Some(MACHINE_LOST);
                self.lose_unless_restarted(context, &key, soon);
                continue;
            }
            let step = if step == Step::Running { Step::Restarting } else { step };
            self.go_on(context, &key, step, soon);
        }
        // Pods bound while it was away, or asked to go.
        let all: Vec<ObjectKey> = context.view.pods_on(node).map(|(key, _)| key.clone()).collect();
        self.changed.extend(all);
    }

    fn lose_unless_restarted(&mut self, context: &mut Context, key: &ObjectKey, soon: Duration) {
        let policy =
            context.fresh(Kind::Pod, key).map(|pod| pod.value["spec"]["restartPolicy"].clone()).unwrap_or_default();
        if policy != "Never" {
            self.go_on(context, key, Step::Restarting, soon);
            return;
        }
        let (now, address) = (context.stamp(), self.forget(key).map(|run| run.address).unwrap_or_default());
        context.update(Kind::Pod, key, |pod| {
            let host = pod["status"]["hostIP"].as_str().unwrap_or_default().to_owned();
            let facts = Facts { now: &now, host: &host, address: &address, restarts: 0, last_code: None };
            pod_status::write(pod, State::Ended(MACHINE_LOST), &facts);
        });
    }

    fn write(&self, context: &mut Context, machine: &Running, key: &ObjectKey, state: State<'_>) {
        let Some(run) = self.runs.get(key) else { return };
        let (now, host) = (context.stamp(), node::address(machine));
        let facts =
            Facts { now: &now, host: &host, address: &run.address, restarts: run.restarts, last_code: run.last_code };
        context.update(Kind::Pod, key, |pod| pod_status::write(pod, state, &facts));
    }
}

fn alive<'a>(machines: &'a BTreeMap<String, Running>, pod: &Value) -> Option<&'a Running> {
    machines.get(fields::node_of(pod)?).filter(|machine| machine.alive)
}

fn say(context: &mut Context, pod: &Value, reason: &str, what: &str) {
    let container =
        fields::containers(pod, "containers").first().and_then(|one| one["name"].as_str()).unwrap_or_default();
    let message = if reason == "Killing" { format!("{what} {container}") } else { what.to_owned() };
    events::say(context, Kind::Pod, pod, &Saying { component: "kubelet", warning: false, reason, message: &message });
}

fn setting<'a>(pod: &'a Value, name: &str) -> Option<&'a str> {
    fields::annotation(pod, &format!("{PREFIX}{name}"))
}

fn seconds(pod: &Value, name: &str) -> Option<Duration> {
    let seconds: f64 = setting(pod, name)?.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}
