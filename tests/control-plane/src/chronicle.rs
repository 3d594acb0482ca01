//! What happened, in the order in which the API server has it: watches see every change, and the version of each is its place in
//! one history, whatever the kind.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use futures_util::StreamExt as _;
use kube::{
    Api, ResourceExt as _,
    api::{ApiResource, DynamicObject, GroupVersionKind},
    runtime::{WatchStreamExt as _, watcher, watcher::Event},
};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::sync::Notify;

use crate::{seen::Watching, site::Site};

/// Each fact with the version at which it was seen first.
type Facts = Arc<Mutex<BTreeMap<String, u64>>>;

pub const COMMAND: &str = "pilotlight.dev/disruption";
pub const CLOSED: &str = "karpenter.sh/disrupted";

/// Facts of claims, nodes and pods from now on, for as long as it is kept:
/// `claim/NAME CONDITION`, `claim/NAME PHASE`, `pool/NAME PHASE`, `claim/NAME deleting`, `claim/NAME gone`; `node/NAME closed`, `node/NAME open`,
/// `node/NAME gone`; `pod/NAME on NODE`, `pod/NAME leaving`, `pod/NAME gone`.
pub struct Chronicle {
    facts: Facts,
    news: Arc<Notify>,
    _watching: Vec<Watching>,
}

impl Chronicle {
    pub fn begin(site: &Site) -> Self {
        let (facts, news) = (Facts::default(), Arc::new(Notify::new()));
        let kind = |group: &str, version: &str, kind: &str, plural: &str| {
            let kind = GroupVersionKind::gvk(group, version, kind);
            Api::<DynamicObject>::all_with(site.client.clone(), &ApiResource::from_gvk_with_plural(&kind, plural))
        };
        let watching = vec![
            follow(kind("karpenter.sh", "v1", "NodeClaim", "nodeclaims"), &facts, &news, of_claim),
            follow(kind("", "v1", "Node", "nodes"), &facts, &news, of_node),
            follow(kind("", "v1", "Pod", "pods"), &facts, &news, of_pod),
        ];
        Chronicle { facts, news, _watching: watching }
    }

    /// When it was so for the first time.
    pub fn first(&self, fact: &str) -> Option<u64> {
        self.facts().get(fact).copied()
    }

    /// Waits until it is so, and goes on at once.
    pub async fn until(&self, site: &Site, fact: &str) {
        let seen = || async {
            loop {
                let news = self.news.notified();
                if let Some(at) = self.first(fact) {
                    return Some(at);
                }
                // Whoever waits for all of it has an end to its patience.
                tokio::time::timeout(Duration::from_secs(1), news).await.ok()?;
            }
        };
        site.until(fact, seen).await;
    }

    /// Panics unless each of them was first seen after the one before it.
    pub fn was_in_this_order(&self, facts: &[String]) {
        let at = |fact: &String| {
            self.first(fact).unwrap_or_else(|| panic!("{fact}: never; seen were {:#?}", self.facts().keys()))
        };
        for pair in facts.windows(2) {
            assert!(at(&pair[0]) < at(&pair[1]), "{} was before {}", pair[1], pair[0]);
        }
    }

    fn facts(&self) -> MutexGuard<'_, BTreeMap<String, u64>> {
        self.facts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn follow(
    api: Api<DynamicObject>,
    facts: &Facts,
    news: &Arc<Notify>,
    read: fn(&str, &Value) -> Vec<String>,
) -> Watching {
    let (facts, news) = (facts.clone(), news.clone());
    Watching(tokio::spawn(async move {
        let mut changes = watcher(api, watcher::Config::default()).default_backoff().boxed();
        while let Some(change) = changes.next().await {
            let (object, gone) = match change {
                Ok(Event::Apply(object) | Event::InitApply(object)) => (object, false),
                Ok(Event::Delete(object)) => (object, true),
                Ok(Event::Init | Event::InitDone) | Err(_) => continue,
            };
            let (name, version) = (object.name_any(), object.resource_version().unwrap_or_default());
            let Ok(version) = version.parse::<u64>() else { continue };
            let value = serde_json::to_value(&object).unwrap_or_default();
            let kind = value["kind"].as_str().unwrap_or_default().to_owned();
            let mut found = read(&name, &value);
            if gone {
                let kind = kind.replace("NodeClaim", "claim").to_lowercase();
                found.push(format!("{kind}/{name} gone"));
            }
            let mut facts = facts.lock().unwrap_or_else(PoisonError::into_inner);
            for fact in found {
                facts.entry(fact).or_insert(version);
            }
            drop(facts);
            news.notify_waiters();
        }
    }))
}

fn of_claim(name: &str, claim: &Value) -> Vec<String> {
    let mut facts = vec![format!("claim/{name} there")];
    let conditions = claim["status"]["conditions"].as_array().into_iter().flatten();
    let so = conditions.filter(|one| one["status"] == "True").filter_map(|one| one["type"].as_str());
    facts.extend(so.map(|kind| format!("claim/{name} {kind}")));
    if let Some(phase) = phase(claim) {
        let pool = claim["metadata"]["labels"]["karpenter.sh/nodepool"].as_str().unwrap_or_default();
        facts.extend([format!("claim/{name} {phase}"), format!("pool/{pool} {phase}")]);
    }
    if claim["metadata"]["deletionTimestamp"].is_string() {
        facts.push(format!("claim/{name} deleting"));
    }
    facts
}

/// Of the command on a claim; none if there is no command.
pub fn phase(claim: &Value) -> Option<String> {
    let record: Value = serde_json::from_str(claim["metadata"]["annotations"][COMMAND].as_str()?).ok()?;
    record["phase"].as_str().map(str::to_owned)
}

fn of_node(name: &str, node: &Value) -> Vec<String> {
    vec![format!("node/{name} {}", if is_closed(node) { "closed" } else { "open" })]
}

pub fn is_closed(node: &Value) -> bool {
    let taints = node["spec"]["taints"].as_array();
    taints.is_some_and(|taints| taints.iter().any(|taint| taint["key"] == CLOSED))
}

fn of_pod(name: &str, pod: &Value) -> Vec<String> {
    let on = pod["spec"]["nodeName"].as_str().map(|node| format!("pod/{name} on {node}"));
    let leaving = pod["metadata"]["deletionTimestamp"].is_string().then(|| format!("pod/{name} leaving"));
    on.into_iter().chain(leaving).collect()
}
