//! The event recorder: what components say about objects, repeated sayings counted in one Event.

use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};

use super::{context::Context, fields, kinds::Kind};
use crate::api::{objects::Deletion, store::ObjectKey};

/// API servers forget Events after an hour.
const KEPT: jiff::SignedDuration = jiff::SignedDuration::from_secs(3600);
/// The recorder's memory of what can still be counted up.
const REMEMBERED: usize = 4096;

#[derive(Debug, Default)]
pub(super) struct Recorder {
    known: BTreeMap<String, ObjectKey>,
    order: VecDeque<String>,
    count: u64,
}

/// Something to say.
pub(super) struct Saying<'a> {
    pub(super) component: &'a str,
    pub(super) warning: bool,
    pub(super) reason: &'a str,
    pub(super) message: &'a str,
}

impl Saying<'_> {
    fn kind(&self) -> &'static str {
        if self.warning { "Warning" } else { "Normal" }
    }
}

/// Says something about an object.
pub(super) fn say(context: &mut Context, kind: Kind, about: &Value, saying: &Saying<'_>) {
    let scheduling = saying.component == "default-scheduler";
    let subject = fields::uid(about);
    // The scheduler speaks the newer API, which counts by reason; the others count only what they repeat word by word.
    let same = if scheduling { "" } else { saying.message };
    let known = format!("{subject}/{}/{}/{same}", saying.component, saying.reason);
    let now = context.stamp();
    if let Some(key) = context.recorder.known.get(&known)
        && context.update(Kind::Event, key, |event| count(event, saying, &now, scheduling))
    {
        return;
    }
    context.recorder.count += 1;
    let namespace = if fields::namespace(about).is_empty() { "default" } else { fields::namespace(about) };
    let unique = u64::try_from(context.now().as_nanosecond()).unwrap_or(0).wrapping_add(context.recorder.count);
    let name = format!("{}.{unique:016x}", fields::name(about));
    let event = new_event(kind, about, saying, (namespace, &name), scheduling, context);
    context.create(Kind::Event, event);
    remember(&mut context.recorder, known, (namespace.to_owned(), name));
}

fn new_event(
    kind: Kind,
    about: &Value,
    saying: &Saying<'_>,
    (namespace, name): (&str, &str),
    scheduling: bool,
    context: &Context,
) -> Value {
    let now = context.stamp();
    let precise = context.now().strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string();
    let mut subject = json!({
        "kind": kind.name(),
        "apiVersion": kind.api_version(),
        "name": fields::name(about),
        "uid": fields::uid(about),
        "resourceVersion": about["metadata"]["resourceVersion"],
    });
    if !fields::namespace(about).is_empty() {
        subject["namespace"] = fields::namespace(about).into();
    }
    let mut event = json!({
        "metadata": { "name": name, "namespace": namespace },
        "involvedObject": subject,
        "type": saying.kind(),
        "reason": saying.reason,
        "message": saying.message,
        "reportingComponent": saying.component,
        "reportingInstance": "",
    });
    if scheduling {
        event["eventTime"] = precise.into();
        event["action"] = if saying.warning { "Scheduling" } else { "Binding" }.into();
        event["reportingInstance"] = "default-scheduler-world".into();
        event["source"] = json!({});
        event["firstTimestamp"] = Value::Null;
        event["lastTimestamp"] = Value::Null;
    } else {
        event["source"] = json!({ "component": saying.component });
        event["firstTimestamp"] = now.clone().into();
        event["lastTimestamp"] = now.into();
        event["count"] = 1.into();
        event["eventTime"] = Value::Null;
    }
    event
}

fn count(event: &mut Value, saying: &Saying<'_>, now: &str, scheduling: bool) {
    event["message"] = saying.message.into();
    if scheduling {
        let already = event["series"]["count"].as_i64().unwrap_or(1);
        event["series"] = json!({ "count": already + 1, "lastObservedTime": now.replace('Z', ".000000Z") });
    } else {
        event["count"] = (event["count"].as_i64().unwrap_or(0) + 1).into();
        event["lastTimestamp"] = now.into();
    }
}

fn remember(recorder: &mut Recorder, known: String, key: ObjectKey) {
    if recorder.known.insert(known.clone(), key).is_none() {
        recorder.order.push_back(known);
    }
    while recorder.order.len() > REMEMBERED {
        if let Some(oldest) = recorder.order.pop_front() {
            recorder.known.remove(&oldest);
        }
    }
}

/// Removes Events that nobody repeated for an hour.
pub(super) fn forget_old(context: &mut Context) {
    let Ok(limit) = context.now().checked_sub(KEPT) else { return };
    let last = |event: &Value| {
        let times = [&event["series"]["lastObservedTime"], &event["lastTimestamp"], &event["eventTime"]];
        times.into_iter().find_map(fields::time).or_else(|| fields::time(&event["metadata"]["creationTimestamp"]))
    };
    let old = context.view.all(Kind::Event).filter(|(_, stored)| last(&stored.value).is_some_and(|at| at < limit));
    let old: Vec<ObjectKey> = old.map(|(key, _)| key.clone()).collect();
    for key in old {
        _ = context.objects.delete(context.view.resource(Kind::Event), &key.0, &key.1, &Deletion::default());
    }
}
