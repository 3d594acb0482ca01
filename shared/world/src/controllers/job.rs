//! Jobs: pods that finish, counted until enough have.

mod status;

use jiff::SignedDuration;
use serde_json::{Value, json};
use std::{collections::BTreeSet, sync::Arc};

use super::{
    Controller,
    context::Context,
    events::{self, Saying},
    fields,
    kinds::Kind,
    pod_template::{self, count},
    timers::Alarm,
    view::Noticed,
};
use crate::api::{
    objects::Propagation,
    store::{ObjectKey, Stored},
};

/// Keeps a finished pod until it was counted.
const TRACKING: &str = "batch.kubernetes.io/job-tracking";
const INDEX: &str = "batch.kubernetes.io/job-completion-index";

#[derive(Debug, Default)]
pub(super) struct Jobs {
    changed: BTreeSet<ObjectKey>,
}

impl Controller for Jobs {
    fn notice(&mut self, _context: &Context, noticed: &Noticed) {
        match noticed.kind {
            Some(Kind::Job) => _ = self.changed.insert(noticed.change.key.clone()),
            Some(Kind::Pod) => self.changed.extend(pod_template::owner_of(noticed, Kind::Job)),
            _ => {}
        }
    }

    fn ring(&mut self, _context: &mut Context, alarm: &Alarm) {
        if let Alarm::Again { kind: Kind::Job, key } = alarm {
            self.changed.insert(key.clone());
        }
    }

    fn work(&mut self, context: &mut Context) {
        for at in std::mem::take(&mut self.changed) {
            let Some(job) = context.fresh(Kind::Job, &at) else { continue };
            let pods = context.view.controlled(Kind::Pod, fields::uid(&job.value));
            let pods: Vec<Arc<Stored>> = pods.into_iter().map(|(_, pod)| pod).collect();
            count_finished(context, &at, &pods);
            let Some(job) = context.fresh(Kind::Job, &at) else { continue };
            reconcile(context, &at, &job.value, &pods);
        }
    }
}

fn is_tracked(pod: &Value) -> bool {
    fields::list(&pod["metadata"]["finalizers"]).iter().any(|one| one == TRACKING)
}

/// A pod that ended, or that will never end because it was deleted.
fn has_ended(pod: &Value) -> bool {
    fields::is_over(pod)
        || (fields::is_going(pod) && pod["metadata"]["deletionGracePeriodSeconds"].as_i64().unwrap_or(0) == 0)
}

/// Counts every ended pod once: first in the status, then its finalizer goes.
fn count_finished(context: &mut Context, at: &ObjectKey, pods: &[Arc<Stored>]) {
    let ended: Vec<&Arc<Stored>> = pods.iter().filter(|pod| is_tracked(&pod.value) && has_ended(&pod.value)).collect();
    if ended.is_empty() {
        return;
    }
    let good: Vec<&&Arc<Stored>> = ended.iter().filter(|pod| fields::phase(&pod.value) == "Succeeded").collect();
    let (succeeded, failed) = (count(good.iter()), count(ended.iter()) - count(good.iter()));
    let indexes: BTreeSet<i64> = good.iter().filter_map(|pod| index(&pod.value)).collect();
    context.update(Kind::Job, at, |job| {
        if job["spec"]["completionMode"] == "Indexed" {
            let mut done = status::read_ranges(job["status"]["completedIndexes"].as_str().unwrap_or_default());
            done.extend(indexes);
            job["status"]["succeeded"] = count(done.iter()).into();
            job["status"]["completedIndexes"] = status::write_ranges(&done).into();
        } else {
            status::add(job, "succeeded", succeeded);
        }
        status::add(job, "failed", failed);
    });
    for pod in ended {
        release(context, &pod.value);
    }
}

fn release(context: &Context, pod: &Value) {
    let at = (fields::namespace(pod).to_owned(), fields::name(pod).to_owned());
    context.update(Kind::Pod, &at, |pod| fields::remove_finalizer(pod, TRACKING));
}

fn index(pod: &Value) -> Option<i64> {
    fields::annotation(pod, INDEX)?.parse().ok()
}

fn reconcile(context: &mut Context, at: &ObjectKey, job: &Value, pods: &[Arc<Stored>]) {
    if status::is_finished(job) {
        for pod in pods.iter().filter(|pod| is_tracked(&pod.value)) {
            release(context, &pod.value);
        }
        remove_when_due(context, at, job);
        return;
    }
    let suspended = job["spec"]["suspend"] == true;
    status::set_started(context, at, suspended);
    let Some(job) = context.fresh(Kind::Job, at) else { return };
    let job = &job.value;
    let active: Vec<&Arc<Stored>> = pods.iter().filter(|pod| fields::is_active(&pod.value)).collect();
    let ending = status::verdict(job, context.now());
    if let Some(ending) = ending {
        delete_all(context, job, &active);
        status::finish(context, at, &ending);
        let saying = Saying {
            component: "job-controller",
            warning: ending.is_failure(),
            reason: ending.event(),
            message: ending.message(),
        };
        events::say(context, Kind::Job, job, &saying);
        if let Some(job) = context.fresh(Kind::Job, at) {
            remove_when_due(context, at, &job.value);
        }
        return;
    }
    if let Some(deadline) = status::deadline(job).filter(|_| !suspended) {
        context.timers.set(deadline, Alarm::Again { kind: Kind::Job, key: at.clone() });
    }
    let mut now_active = count(active.iter());
    if suspended || fields::is_going(job) {
        delete_all(context, job, &active);
        now_active = 0;
    } else {
        now_active += fill(context, job, &active, pods);
    }
    let ready = count(active.iter().filter(|pod| fields::is_ready(&pod.value)));
    status::set_active(context, at, now_active, ready);
}

/// Brings the number of running pods to what is asked for; says how many came or went.
fn fill(context: &mut Context, job: &Value, active: &[&Arc<Stored>], pods: &[Arc<Stored>]) -> i64 {
    let parallel = job["spec"]["parallelism"].as_i64().unwrap_or(1);
    let running = count(active.iter());
    let succeeded = job["status"]["succeeded"].as_i64().unwrap_or(0);
    let wanted = match job["spec"]["completions"].as_i64() {
        Some(completions) => parallel.min(completions - succeeded),
        // A queue of work: once one has found it empty, no new ones are needed.
        None if succeeded > 0 => running,
        None => parallel,
    };
    if running > wanted {
        let surplus = usize::try_from(running - wanted.max(0)).unwrap_or(0);
        delete_all(context, job, &active[active.len().saturating_sub(surplus)..]);
        return wanted.max(0) - running;
    }
    // A pod that is on its way out is replaced when it is gone.
    let leaving = count(
        pods.iter()
            .filter(|pod| fields::is_going(&pod.value) && is_tracked(&pod.value) && !fields::is_over(&pod.value)),
    );
    let missing = (wanted - running - leaving).max(0);
    if let Some(until) = status::backs_off_until(job, pods).filter(|until| missing > 0 && *until > context.now()) {
        let at = (fields::namespace(job).to_owned(), fields::name(job).to_owned());
        context.timers.set(until, Alarm::Again { kind: Kind::Job, key: at });
        return 0;
    }
    let indexed = job["spec"]["completionMode"] == "Indexed";
    let mut taken = status::read_ranges(job["status"]["completedIndexes"].as_str().unwrap_or_default());
    taken.extend(active.iter().filter_map(|pod| index(&pod.value)));
    for _ in 0..missing {
        let number = indexed.then(|| (0..).find(|number| !taken.contains(number))).flatten();
        taken.extend(number);
        create(context, job, number);
    }
    missing
}

fn create(context: &mut Context, job: &Value, index: Option<i64>) {
    let name = fields::name(job);
    let prefix = index.map_or_else(|| format!("{name}-"), |index| format!("{name}-{index}-"));
    let mut pod = pod_template::pod_from(Kind::Job, job, &job["spec"]["template"], &prefix, true);
    for prefix in ["", "batch.kubernetes.io/"] {
        pod["metadata"]["labels"][format!("{prefix}job-name")] = name.into();
        pod["metadata"]["labels"][format!("{prefix}controller-uid")] = fields::uid(job).into();
    }
    if let Some(index) = index {
        pod["metadata"]["labels"][INDEX] = index.to_string().into();
        pod["metadata"]["annotations"][INDEX] = index.to_string().into();
    }
    pod["metadata"]["finalizers"] = json!([TRACKING]);
    if let Some(pod) = pod_template::create(context, pod) {
        let message = format!("Created pod: {}", fields::name(&pod.value));
        let saying =
            Saying { component: "job-controller", warning: false, reason: "SuccessfulCreate", message: &message };
        events::say(context, Kind::Job, job, &saying);
    }
}

fn delete_all(context: &mut Context, job: &Value, pods: &[&Arc<Stored>]) {
    for pod in pods {
        let at = (fields::namespace(job).to_owned(), fields::name(&pod.value).to_owned());
        context.delete(Kind::Pod, &at, Propagation::Background);
    }
}

fn remove_when_due(context: &mut Context, at: &ObjectKey, job: &Value) {
    let Some(seconds) = job["spec"]["ttlSecondsAfterFinished"].as_i64() else { return };
    let Some(finished) = status::finished_at(job) else { return };
    let due = finished.checked_add(SignedDuration::from_secs(seconds)).unwrap_or(finished);
    if due <= context.now() {
        context.delete(Kind::Job, at, Propagation::Foreground);
    } else {
        context.timers.set(due, Alarm::Again { kind: Kind::Job, key: at.clone() });
    }
}
