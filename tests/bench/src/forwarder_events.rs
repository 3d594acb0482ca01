//! How many watch events a second one core decodes, filters and queues.

use std::sync::Arc;
use std::time::{Duration, Instant};

use forwarder::cache::{Change, News};
use forwarder::desk::Desk;
use forwarder::keep::Seen;
use forwarder::queue::Verdict;
use forwarder::rows::{Kind, Pod};
use forwarder::settings::Settings;
use forwarder::sink::FUNCTIONS;
use jiff::Timestamp;
use kube::core::WatchEvent;
use serde_json::{Value, json};

use crate::Result;
use crate::forwarder::pod;
use crate::report::Measurement;

const PODS: usize = 20_000;
/// Of the pods, one in so many waits for a node.
const WAITING: usize = 20;
/// The quickest counts: what else runs on the machine is not what is measured.
const ROUNDS: usize = 5;

pub fn measure() -> Result<Measurement> {
    let lines: Vec<String> = (0..PODS).map(line).collect::<Result<_>>()?;
    let (now, wall) = (tokio::time::Instant::now(), Timestamp::now());
    let source = host::SettingSource::from_pairs([("PILOTLIGHT_ALLOW_UNSIGNED", "true")]);
    let (_, settings) = Settings::read(source)?;
    let mut desk = Desk::new(settings, FUNCTIONS.into_iter(), Arc::new(|| 0_u64), now, wall);
    for kind in Kind::ALL {
        desk.hear(News::NotServed(kind), now);
    }
    desk.set_leads(true, now);
    let (mut jobs, mut took) = (0_u32, Duration::MAX);
    for _ in 0..ROUNDS {
        let begin = Instant::now();
        for (index, line) in lines.iter().enumerate() {
            let event: WatchEvent<Seen<Pod>> = serde_json::from_str(line)?;
            let WatchEvent::Modified(seen) = event else { return Err("every line is a change".into()) };
            let now = now + Duration::from_micros(50) * u32::try_from(index)?;
            desk.hear(News::Pod(Change::Changed(seen.row)), now);
            desk.turn(now, wall);
            while let Some(job) = desk.next_job(now) {
                desk.finish(job.lane, Verdict::Acknowledged, now);
                jobs += 1;
            }
        }
        took = took.min(begin.elapsed());
    }
    if jobs == 0 || desk.cache.pods.len() != PODS || desk.cache.waiting() != PODS / WAITING {
        return Err(format!("{jobs} jobs, {} pods, {} waiting", desk.cache.pods.len(), desk.cache.waiting()).into());
    }
    let rate = PODS as f64 / took.as_secs_f64();
    Ok(Measurement::at_least("forwarder.events_per_second", rate, "1/s", 20_000.0))
}

/// As an API server writes it: the type first, with managed fields, on one line.
fn line(index: usize) -> Result<String> {
    let waits = index.is_multiple_of(WAITING);
    let mut object = pod(index, (!waits).then_some(index % 1000));
    let metadata = &mut object["metadata"];
    metadata["namespace"] = json!("default");
    metadata["uid"] = json!(format!("6f1c0d3e-0000-4000-8000-{index:012}"));
    metadata["resourceVersion"] = json!((1_000_000 + index).to_string());
    metadata["creationTimestamp"] = json!("2026-11-17T09:00:00Z");
    let fields: Value =
        (0..40).map(|number| (format!("f:field-{number}"), json!({ "f:inner": {}, ".": {} }))).collect();
    metadata["managedFields"] = json!([{ "manager": "kube-controller-manager", "operation": "Update", "apiVersion": "v1",
        "time": "2026-11-17T09:00:00Z", "fieldsType": "FieldsV1", "fieldsV1": { "f:metadata": fields, "f:spec": fields } }]);
    let condition = |kind: &str, status: &str, reason: &str| {
        json!({ "type": kind, "status": status, "reason": reason, "lastTransitionTime": "2026-11-17T09:00:00Z",
            "message": "0/1000 nodes are available: 1000 Insufficient nvidia.com/gpu." })
    };
    object["status"] = if waits {
        json!({ "phase": "Pending", "conditions": [condition("PodScheduled", "False", "Unschedulable")] })
    } else {
        json!({ "phase": "Running", "conditions": [condition("PodScheduled", "True", ""), condition("Ready", "True", "")] })
    };
    Ok(format!("{{\"type\":\"MODIFIED\",\"object\":{}}}", serde_json::to_string(&object)?))
}
