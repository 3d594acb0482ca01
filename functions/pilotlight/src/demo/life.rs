//! The life of one claim: what each change of it, its node, its pods and its machine says that was not said before.

use jiff::Timestamp;
use model::names;
use serde_json::Value;
use std::collections::BTreeSet;

use super::span;

/// A phase and plain words about it.
#[derive(Debug, PartialEq, Eq)]
pub struct News {
    pub phase: String,
    pub what: String,
}

/// A machine of a cloud or of the rack, as the world knows it.
pub struct Machine {
    pub runs: bool,
    /// What is to be said when it does not run any more.
    pub stopped: News,
}

pub struct Life {
    pub claim: Value,
    pub provider: &'static str,
    /// The launch record on the claim: what was chosen for it.
    launch: Value,
    node: Option<String>,
    asked: Timestamp,
    ready: Option<Timestamp>,
    leaving: Option<Timestamp>,
    gone: Option<Timestamp>,
    ran: bool,
    said: BTreeSet<(String, String)>,
    news: Vec<News>,
}

impl Life {
    pub fn begin(claim: &Value, now: Timestamp) -> Self {
        let mut life = Life {
            claim: claim.clone(),
            provider: provider(&claim["spec"]["nodeClassRef"]),
            launch: Value::Null,
            node: None,
            asked: now,
            ready: None,
            leaving: None,
            gone: None,
            ran: false,
            said: BTreeSet::new(),
            news: Vec::new(),
        };
        life.say("Asked", format!("a claim for {}", wish(claim)));
        life
    }

    /// What is to be told since the last time.
    pub fn news(&mut self) -> Vec<News> {
        std::mem::take(&mut self.news)
    }

    /// The type of its machine, or the machine's name in a rack; as soon as it was chosen.
    pub fn machine(&self) -> Option<&str> {
        self.launch["offering"]["instanceType"].as_str()
    }

    pub fn is_gone(&self) -> bool {
        self.gone.is_some()
    }

    pub fn seconds_to_ready(&self) -> Option<i64> {
        self.ready.map(|ready| ready.duration_since(self.asked).as_secs())
    }

    pub fn seconds_to_gone(&self) -> Option<i64> {
        Some(self.gone?.duration_since(self.leaving?).as_secs())
    }

    pub fn claim_changed(&mut self, claim: &Value, deleted: bool, now: Timestamp) {
        self.claim = claim.clone();
        if let Some(record) = claim["metadata"]["annotations"][names::LAUNCH].as_str() {
            self.launch = serde_json::from_str(record).unwrap_or_default();
        }
        if let Some(node) = claim["status"]["nodeName"].as_str() {
            self.node = Some(node.to_owned());
        }
        self.growing(claim, now);
        if claim["metadata"]["deletionTimestamp"].is_string() && self.leaving.is_none() {
            self.leaving = Some(now);
            self.say("Deleted", "somebody deleted the claim; the machine stays until its pods are gone");
        }
        self.leaving(claim);
        if deleted && self.gone.is_none() {
            self.gone = Some(now);
            let after =
                self.leaving.map(|leaving| format!(", {} after it was deleted", span(now.duration_since(leaving))));
            self.say("Gone", format!("the claim is gone{}", after.unwrap_or_default()));
        }
    }

    fn growing(&mut self, claim: &Value, now: Timestamp) {
        if let Some(launched) = condition(claim, "Launched") {
            self.say_condition(launched);
        }
        for kind in ["Registered", "Initialized"] {
            match condition(claim, kind) {
                Some(failed) if failed["status"] == "False" => self.say_condition(failed),
                Some(registered) if kind == "Registered" && registered["status"] == "True" => {
                    self.say("Registered", "the node has the claim's labels and taints");
                }
                _ => {}
            }
        }
        let is_ready = condition(claim, "Ready").is_some_and(|ready| ready["status"] == "True");
        if is_ready && self.ready.is_none() {
            self.ready = Some(now);
            self.say("Ready", format!("usable, {} after it was asked for", span(now.duration_since(self.asked))));
        }
    }

    fn leaving(&mut self, claim: &Value) {
        for kind in ["Drained", "VolumesDetached"] {
            if let Some(waiting) = condition(claim, kind).filter(|condition| condition["status"] != "True") {
                self.say_condition(waiting);
            }
        }
        if condition(claim, "InstanceTerminating").is_some_and(|condition| condition["status"] == "True") {
            self.say("Terminating", format!("the node is empty; {} takes the machine down", self.provider));
        }
    }

    /// Whether a node is this claim's: by what is written on either, or because the machine that was chosen has this node.
    pub fn is_of(&self, node: &Value) -> bool {
        let (name, status) = (&node["metadata"]["name"], &self.claim["status"]);
        let pairs = [
            (&node["metadata"]["labels"][names::CLAIM_UID], &self.claim["metadata"]["uid"]),
            (&node["spec"]["providerID"], &status["providerID"]),
            (name, &status["nodeName"]),
            (name, &self.launch["offering"]["labels"][names::HOSTNAME]),
        ];
        !self.is_gone() && pairs.iter().any(|(one, other)| one.is_string() && one == other)
    }

    pub fn node_changed(&mut self, node: &Value) {
        let name = text(&node["metadata"]["name"]);
        // The Node of a machine that is off says nothing of itself.
        let speaks = condition(node, "Ready").is_some_and(|ready| ready["status"] != "Unknown");
        if speaks && self.ready.is_none() {
            self.say("Joined", format!("node {name} is in the cluster"));
        }
        self.node = Some(name.to_owned());
        let gpus = text(&node["status"]["allocatable"]["nvidia.com/gpu"]);
        if !gpus.is_empty() && gpus != "0" {
            self.say("GPUs", format!("{gpus} nvidia.com/gpu can be used"));
        }
    }

    pub fn pod_changed(&mut self, pod: &Value) {
        if self.node.is_none() || pod["spec"]["nodeName"].as_str() != self.node.as_deref() {
            return;
        }
        let metadata = &pod["metadata"];
        let name = format!("{}/{}", text(&metadata["namespace"]), text(&metadata["name"]));
        if pod["status"]["phase"] == "Running" {
            self.say("Running", format!("pod {name} runs on it"));
        }
        let evicted = condition(pod, "DisruptionTarget").is_some_and(|why| why["reason"] == "EvictionByEvictionAPI");
        if evicted {
            self.say("Evicted", format!("pod {name} is asked to stop"));
        }
    }

    pub fn machine_is(&mut self, machine: Machine) {
        if self.ran && !machine.runs {
            self.say(&machine.stopped.phase, machine.stopped.what);
        }
        self.ran = machine.runs;
    }

    fn say_condition(&mut self, condition: &Value) {
        self.say(text(&condition["reason"]), text(&condition["message"]));
    }

    /// Says it, if it was not said before.
    fn say(&mut self, phase: &str, what: impl Into<String>) {
        let (phase, what) = (phase.to_owned(), what.into());
        if self.said.insert((phase.clone(), what.clone())) {
            self.news.push(News { phase, what });
        }
    }
}

fn provider(class: &Value) -> &'static str {
    match text(&class["kind"]) {
        "KaitoNodeClass" | "AKSNodeClass" => "aks",
        "ScalewayNodeClass" => "scaleway",
        "PowerNodeClass" => "power",
        _ => "-",
    }
}

/// `Standard_NC24ads_A100_v4`, or `1 nvidia.com/gpu`.
fn wish(claim: &Value) -> String {
    let requirements = claim["spec"]["requirements"].as_array().map(Vec::as_slice).unwrap_or_default();
    let types = requirements.iter().find(|one| one["key"] == names::INSTANCE_TYPE && one["operator"] == "In");
    if let Some(types) = types.and_then(|one| one["values"].as_array()) {
        return types.iter().map(text).collect::<Vec<_>>().join(" or ");
    }
    let requests = claim["spec"]["resources"]["requests"].as_object();
    let requests = requests.into_iter().flatten().map(|(resource, amount)| format!("{} {resource}", text(amount)));
    requests.collect::<Vec<_>>().join(", ")
}

fn condition<'a>(object: &'a Value, kind: &str) -> Option<&'a Value> {
    object["status"]["conditions"].as_array()?.iter().find(|condition| condition["type"] == kind)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn claim(status: Value) -> Value {
        json!({"metadata": {"name": "a", "uid": "u"}, "status": status, "spec": {
            "nodeClassRef": {"kind": "ScalewayNodeClass"}, "resources": {"requests": {"nvidia.com/gpu": "1"}}}})
    }

    fn life() -> Life {
        let mut life = Life::begin(&claim(Value::Null), Timestamp::UNIX_EPOCH);
        let first = News { phase: "Asked".to_owned(), what: "a claim for 1 nvidia.com/gpu".to_owned() };
        assert_eq!((life.provider, life.news()), ("scaleway", vec![first]));
        life
    }

    fn phases(life: &mut Life) -> Vec<String> {
        life.news().into_iter().map(|news| news.phase).collect()
    }

    #[test]
    fn what_was_said_is_not_said_again() {
        let mut life = life();
        let ready = claim(json!({"conditions": [{"type": "Ready", "status": "True"}]}));
        life.claim_changed(&ready, false, Timestamp::UNIX_EPOCH);
        life.claim_changed(&ready, false, Timestamp::UNIX_EPOCH);
        assert_eq!(phases(&mut life), ["Ready"]);
    }

    #[test]
    fn a_failure_is_told_in_its_own_words() {
        let mut life = life();
        let failed = json!({"type": "Launched", "status": "False", "reason": "OutOfStock", "message": "none left"});
        life.claim_changed(&claim(json!({"conditions": [failed]})), false, Timestamp::UNIX_EPOCH);
        assert_eq!(life.news(), [News { phase: "OutOfStock".to_owned(), what: "none left".to_owned() }]);
    }

    #[test]
    fn the_node_of_a_machine_that_is_off_has_not_joined() {
        let mut life = life();
        let node = |ready: &str| {
            json!({"metadata": {"name": "n", "labels": {"pilotlight.dev/claim-uid": "u"}},
            "status": {"conditions": [{"type": "Ready", "status": ready}], "allocatable": {"nvidia.com/gpu": "0"}}})
        };
        assert!(life.is_of(&node("Unknown")));
        life.node_changed(&node("Unknown"));
        assert_eq!(phases(&mut life), Vec::<String>::new());
        life.node_changed(&node("False"));
        assert_eq!(phases(&mut life), ["Joined"]);
    }
}
