//! Whom an event is about, and the event that a forwarder would send.

use jiff::Timestamp;
use serde_json::{Value, json};
use std::fmt;
use world::{World, api::store::ResourceKey};

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    Claim(String),
    /// Namespace and name of a pod that finds no node.
    Pod(String, String),
}

impl Subject {
    /// As it is now; a pod only while it waits.
    pub fn look(&self, world: &World) -> Option<Value> {
        match self {
            Subject::Claim(name) => world.objects.get(&claims(), "", name).map(|stored| stored.value.clone()),
            Subject::Pod(namespace, name) => {
                let found = world.objects.get(&pods(), namespace, name).map(|stored| stored.value.clone());
                found.filter(finds_no_node)
            }
        }
    }

    pub fn function(&self, object: &Value) -> &'static str {
        match self {
            Subject::Pod(..) => PENDING_POD,
            Subject::Claim(_) if object["metadata"]["deletionTimestamp"].is_string() => "on-delete",
            Subject::Claim(_) => "on-nodeclaim",
        }
    }

    pub fn event(&self, object: &Value) -> String {
        self.event_for(self.function(object), object)
    }

    fn event_for(&self, function: &str, object: &Value) -> String {
        let metadata = &object["metadata"];
        let mut seen =
            json!({ "name": metadata["name"], "uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"] });
        let (kind, subject, data) = match (self, function) {
            (Subject::Pod(namespace, _), _) => {
                seen["namespace"] = json!(namespace);
                seen["requests"] = json!({});
                ("dev.pilotlight.pod.pending.v1", self.to_string(), json!({ "pod": seen }))
            }
            (Subject::Claim(name), "on-delete") => {
                seen["kind"] = json!("NodeClaim");
                ("dev.pilotlight.deletion.requested.v1", format!("nodeclaim/{name}"), json!({ "object": seen }))
            }
            (Subject::Claim(name), _) => {
                seen["nodeClassRef"] = object["spec"]["nodeClassRef"].clone();
                ("dev.pilotlight.nodeclaim.changed.v1", format!("nodeclaim/{name}"), json!({ "claim": seen }))
            }
        };
        let event = json!({
            "specversion": "1.0",
            "id": format!("{}-{}", text(&metadata["uid"]), text(&metadata["resourceVersion"])),
            "source": "world",
            "type": kind,
            "subject": subject,
            "datacontenttype": "application/json",
            "data": data,
        });
        event.to_string()
    }
}

/// `team-a/train-0`, or the claim's name.
impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Subject::Claim(name) => f.write_str(name),
            Subject::Pod(namespace, name) => write!(f, "{namespace}/{name}"),
        }
    }
}

/// Which function a claim is for, as it is now.
pub fn function_for(claim: &Value) -> &'static str {
    of_claim(claim).function(claim)
}

/// The event that a forwarder would send about a claim.
pub fn event(function: &str, claim: &Value) -> String {
    of_claim(claim).event_for(function, claim)
}

fn of_claim(claim: &Value) -> Subject {
    Subject::Claim(text(&claim["metadata"]["name"]))
}

/// The event of a tick.
pub fn tick(due: Timestamp) -> String {
    let event = json!({
        "specversion": "1.0",
        "id": format!("world/{due}"),
        "source": "world",
        "type": "dev.pilotlight.timer.idle.v1",
        "subject": "idle",
        "time": due.to_string(),
        "datacontenttype": "application/json",
        "data": { "tick": due.to_string() },
    });
    event.to_string()
}

pub const PENDING_POD: &str = "on-pending-pod";
pub const IDLE_TIMER: &str = "on-idle-timer";

pub fn claims() -> ResourceKey {
    ("karpenter.sh".into(), "nodeclaims".into())
}

pub fn pods() -> ResourceKey {
    ("".into(), "pods".into())
}

/// The pod's subject, if it finds no node.
pub fn waiting(pod: &Value) -> Option<Subject> {
    let metadata = &pod["metadata"];
    finds_no_node(pod).then(|| Subject::Pod(text(&metadata["namespace"]), text(&metadata["name"])))
}

fn finds_no_node(pod: &Value) -> bool {
    let conditions = pod["status"]["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let unschedulable = |one: &Value| one["type"] == "PodScheduled" && one["reason"] == "Unschedulable";
    pod["spec"]["nodeName"].is_null() && conditions.iter().any(unschedulable)
}

pub fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
