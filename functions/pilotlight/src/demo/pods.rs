//! Pods of the play: that they find no node, what is said to them, and that they run.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

use super::life::News;

/// Who says what a pod is told.
const WE: &str = "pilotlight.dev/on-pending-pod";

#[derive(Default)]
pub struct Pods {
    running: BTreeSet<String>,
    told: BTreeMap<String, Vec<News>>,
    said: BTreeSet<(String, String)>,
}

impl Pods {
    pub fn runs(&self, pod: &str) -> bool {
        self.running.contains(pod)
    }

    /// What is to be told since the last time, pod by pod.
    pub fn news(&mut self) -> BTreeMap<String, Vec<News>> {
        std::mem::take(&mut self.told)
    }

    pub fn pod_changed(&mut self, pod: &Value) {
        let name = text(&pod["metadata"]["name"]);
        let conditions = pod["status"]["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
        let refused = conditions.iter().find(|one| one["reason"] == "Unschedulable");
        if let Some(refused) = refused.filter(|_| pod["spec"]["nodeName"].is_null()) {
            let words = text(&refused["message"]).split('.').next().unwrap_or_default();
            self.say(name, "Waiting", format!("the pod finds no node: {words}"));
        }
        if pod["status"]["phase"] == "Running" {
            self.running.insert(name.to_owned());
        }
    }

    pub fn event(&mut self, event: &Value) {
        let about = &event["involvedObject"];
        if event["reportingComponent"] == WE && about["kind"] == "Pod" {
            self.say(text(&about["name"]), text(&event["reason"]), text(&event["message"]).to_owned());
        }
    }

    /// A phase is told once; waiting again for another reason is nothing new.
    fn say(&mut self, pod: &str, phase: &str, what: String) {
        if self.said.insert((pod.to_owned(), phase.to_owned())) {
            self.told.entry(pod.to_owned()).or_default().push(News { phase: phase.to_owned(), what });
        }
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
