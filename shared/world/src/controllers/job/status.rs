//! The status of a Job: what is counted, when it is over, and how.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use std::{collections::BTreeSet, sync::Arc};

use crate::{
    api::store::{ObjectKey, Stored},
    controllers::{
        context::Context,
        fields::{self, Condition},
        kinds::Kind,
    },
};

/// How a Job ends.
pub(super) enum Ending {
    Complete,
    Failed { reason: &'static str, message: &'static str },
}

impl Ending {
    pub(super) fn is_failure(&self) -> bool {
        matches!(self, Ending::Failed { .. })
    }

    pub(super) fn event(&self) -> &'static str {
        match self {
            Ending::Complete => "Completed",
            Ending::Failed { reason, .. } => reason,
        }
    }

    pub(super) fn message(&self) -> &'static str {
        match self {
            Ending::Complete => "Job completed",
            Ending::Failed { message, .. } => message,
        }
    }
}

pub(super) fn is_finished(job: &Value) -> bool {
    fields::condition_is(job, "Complete", "True") || fields::condition_is(job, "Failed", "True")
}

pub(super) fn finished_at(job: &Value) -> Option<Timestamp> {
    let ends = ["Complete", "Failed"].into_iter().filter(|kind| fields::condition_is(job, kind, "True"));
    ends.filter_map(|kind| fields::time(&fields::condition(job, kind)?["lastTransitionTime"])).next()
}

/// When the Job has taken too long.
pub(super) fn deadline(job: &Value) -> Option<Timestamp> {
    let seconds = job["spec"]["activeDeadlineSeconds"].as_i64()?;
    fields::time(&job["status"]["startTime"])?.checked_add(SignedDuration::from_secs(seconds)).ok()
}

/// Whether the counts say that it is over.
pub(super) fn verdict(job: &Value, now: Timestamp) -> Option<Ending> {
    let number = |value: &Value| value.as_i64().unwrap_or(0);
    let (succeeded, failed) = (number(&job["status"]["succeeded"]), number(&job["status"]["failed"]));
    let limit = job["spec"]["backoffLimit"].as_i64().unwrap_or(6);
    if failed > limit {
        return Some(Ending::Failed {
            reason: "BackoffLimitExceeded",
            message: "Job has reached the specified backoff limit",
        });
    }
    if deadline(job).is_some_and(|deadline| deadline <= now) {
        return Some(Ending::Failed {
            reason: "DeadlineExceeded",
            message: "Job was active longer than specified deadline",
        });
    }
    let active = number(&job["status"]["active"]);
    let done = match job["spec"]["completions"].as_i64() {
        Some(completions) => succeeded >= completions,
        None => succeeded > 0 && active == 0,
    };
    done.then_some(Ending::Complete)
}

pub(super) fn finish(context: &Context, at: &ObjectKey, ending: &Ending) {
    let now = context.stamp();
    context.update(Kind::Job, at, |job| {
        let kinds = match ending {
            Ending::Complete => ["SuccessCriteriaMet", "Complete"],
            Ending::Failed { .. } => ["FailureTarget", "Failed"],
        };
        let (reason, message) = match ending {
            Ending::Complete => ("CompletionsReached", "Reached expected number of succeeded pods"),
            Ending::Failed { reason, message } => (*reason, *message),
        };
        for kind in kinds {
            fields::set_condition(job, &Condition { kind, status: "True", reason, message }, &now, &["lastProbeTime"]);
        }
        if !ending.is_failure() {
            job["status"]["completionTime"] = now.clone().into();
        }
        if let Some(status) = job["status"].as_object_mut() {
            status.remove("active");
            status.insert("ready".to_owned(), 0.into());
        }
    });
}

pub(super) fn set_started(context: &Context, at: &ObjectKey, suspended: bool) {
    let now = context.stamp();
    context.update(Kind::Job, at, |job| {
        let was = fields::condition_is(job, "Suspended", "True");
        if suspended && !was {
            let condition =
                Condition { kind: "Suspended", status: "True", reason: "JobSuspended", message: "Job suspended" };
            fields::set_condition(job, &condition, &now, &["lastProbeTime"]);
        } else if !suspended && was {
            let condition =
                Condition { kind: "Suspended", status: "False", reason: "JobResumed", message: "Job resumed" };
            fields::set_condition(job, &condition, &now, &["lastProbeTime"]);
            job["status"]["startTime"] = now.clone().into();
        }
        if !suspended && job["status"]["startTime"].is_null() {
            job["status"]["startTime"] = now.clone().into();
        }
    });
}

pub(super) fn set_active(context: &Context, at: &ObjectKey, active: i64, ready: i64) {
    context.update(Kind::Job, at, |job| {
        job["status"]["ready"] = ready.into();
        job["status"]["terminating"] = 0.into();
        job["status"]["uncountedTerminatedPods"] = serde_json::json!({});
        match job["status"].as_object_mut() {
            Some(status) if active == 0 => _ = status.remove("active"),
            _ => job["status"]["active"] = active.into(),
        }
    });
}

/// After a failure the next pod waits: ten seconds, doubled up to ten minutes.
pub(super) fn backs_off_until(job: &Value, pods: &[Arc<Stored>]) -> Option<Timestamp> {
    let ended = |pod: &Value| fields::time(&pod["status"]["containerStatuses"][0]["state"]["terminated"]["finishedAt"]);
    let failed = pods.iter().filter(|pod| fields::phase(&pod.value) == "Failed");
    let last = failed.filter_map(|pod| ended(&pod.value)).max()?;
    let succeeded = pods.iter().filter(|pod| fields::phase(&pod.value) == "Succeeded");
    if succeeded.filter_map(|pod| ended(&pod.value)).any(|success| success > last) {
        return None;
    }
    let failures = job["status"]["failed"].as_i64().unwrap_or(1).clamp(1, 7);
    let wait = SignedDuration::from_secs((10 << (failures - 1)).min(600));
    last.checked_add(wait).ok()
}

pub(super) fn add(job: &mut Value, field: &str, more: i64) {
    if more > 0 {
        job["status"][field] = (job["status"][field].as_i64().unwrap_or(0) + more).into();
    }
}

/// `0,2-4` as numbers.
pub(super) fn read_ranges(text: &str) -> BTreeSet<i64> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse::<i64>().ok()?..=last.parse::<i64>().ok()?)
    };
    text.split(',').filter_map(range).flatten().collect()
}

/// Numbers as `0,2-4`; two neighbours are written one by one, as the real controller does.
pub(super) fn write_ranges(numbers: &BTreeSet<i64>) -> String {
    let mut runs: Vec<(i64, i64)> = Vec::new();
    for number in numbers {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == *number => *last = *number,
            _ => runs.push((*number, *number)),
        }
    }
    let written = runs.iter().map(|(first, last)| match last - first {
        0 => first.to_string(),
        1 => format!("{first},{last}"),
        _ => format!("{first}-{last}"),
    });
    written.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn completed_indexes_are_written_as_ranges() {
        let numbers = BTreeSet::from([0, 1, 3, 5, 6, 7]);
        assert_eq!(write_ranges(&numbers), "0,1,3,5-7");
        assert_eq!(read_ranges("0,1,3,5-7"), numbers);
        assert_eq!(read_ranges(""), BTreeSet::new());
    }
}
