//! Tells functions over HTTP of every change of a claim or its node, and calls again when an answer asks for it.

use futures_util::StreamExt as _;
use k8s_openapi::api::core::v1::Node;
use kube::{
    Api, Client, ResourceExt as _,
    api::{ApiResource, DynamicObject, GroupVersionKind},
    runtime::{WatchStreamExt as _, watcher},
};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{
    sync::mpsc,
    task::{AbortHandle, JoinSet},
    time::{sleep, timeout},
};

/// A function that does not listen, because it was killed, is asked again soon.
const UNTIL_RESTARTED: Duration = Duration::from_millis(200);
/// What was lost is told again.
const RESYNC: Duration = Duration::from_secs(15);

/// Where each function listens, by name, and how much faster than ours the clouds' time runs.
#[derive(Clone)]
pub struct Sender {
    pub functions: BTreeMap<&'static str, SocketAddr>,
    pub speed: f64,
    /// The last answer about each claim, for whoever wants to know why something does not happen.
    pub answers: Arc<Mutex<BTreeMap<String, String>>>,
}

pub fn claims(client: Client) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("karpenter.sh", "v1", "NodeClaim");
    Api::all_with(client, &ApiResource::from_gvk_with_plural(&kind, "nodeclaims"))
}

impl Sender {
    pub fn new(functions: BTreeMap<&'static str, SocketAddr>, speed: f64) -> Self {
        Sender { functions, speed, answers: Arc::default() }
    }

    /// Works until the handle is aborted.
    pub fn start(&self, client: Client) -> AbortHandle {
        tokio::spawn(self.clone().run(client)).abort_handle()
    }

    async fn run(self, client: Client) {
        let all = claims(client.clone());
        let mut changes = watcher(all.clone(), watcher::Config::default()).default_backoff().applied_objects().boxed();
        let nodes: Api<Node> = Api::all(client);
        let mut node_changes = watcher(nodes, watcher::Config::default()).default_backoff().touched_objects().boxed();
        let mut lanes: BTreeMap<String, mpsc::UnboundedSender<()>> = BTreeMap::new();
        let mut work = JoinSet::new();
        loop {
            let mut told = Vec::new();
            tokio::select! {
                Some(Ok(claim)) = changes.next() => told.push(claim.name_any()),
                Some(Ok(node)) = node_changes.next() => {
                    let owners = node.metadata.owner_references.unwrap_or_default();
                    told.extend(owners.into_iter().filter(|owner| owner.kind == "NodeClaim").map(|owner| owner.name));
                    // A node that nobody owns yet may be of any claim that waits for one.
                    if told.is_empty() {
                        told.extend(lanes.keys().cloned());
                    }
                }
                () = sleep(RESYNC) => told.extend(lanes.keys().cloned()),
            }
            for name in told {
                let lane = lanes.entry(name.clone()).or_insert_with(|| {
                    let (lane, changed) = mpsc::unbounded_channel();
                    work.spawn(self.clone().follow(all.clone(), name, changed));
                    lane
                });
                // A lane ends only with the whole.
                let _ = lane.send(());
            }
        }
    }

    /// One claim: told of, answered, and looked at again when the answer says so.
    async fn follow(self, all: Api<DynamicObject>, name: String, mut changed: mpsc::UnboundedReceiver<()>) {
        let http = reqwest::Client::new();
        let (mut last, mut wait): (Option<Value>, Option<Duration>) = (None, None);
        loop {
            match wait {
                Some(wait) => drop(timeout(wait, changed.recv()).await),
                None => drop(changed.recv().await),
            }
            while changed.try_recv().is_ok() {}
            let now = match all.get_opt(&name).await {
                Ok(now) => now.and_then(|claim| serde_json::to_value(claim).ok()),
                Err(_) => {
                    wait = Some(UNTIL_RESTARTED);
                    continue;
                }
            };
            let is_there = now.is_some();
            let Some(claim) = now.or_else(|| last.clone()) else {
                wait = None;
                continue;
            };
            wait = self.tell(&http, &name, &claim).await;
            last = (is_there || wait.is_some()).then_some(claim);
        }
    }

    /// One event. Gives back when to call again, if at all.
    async fn tell(&self, http: &reqwest::Client, name: &str, claim: &Value) -> Option<Duration> {
        let function = stage::function_for(claim);
        let Some(answer) = self.send(http, function, stage::event(function, claim)).await else {
            return Some(UNTIL_RESTARTED);
        };
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.insert(name.to_owned(), format!("{function}: {answer}"));
        let seconds = answer["retryAfterSeconds"].as_f64()?;
        Some(Duration::from_secs_f64((seconds / self.speed).clamp(0.1, 30.0)))
    }

    /// The answer to an event; nothing if nobody listens.
    pub async fn send(&self, http: &reqwest::Client, function: &str, event: String) -> Option<Value> {
        let address = self.functions.get(function)?;
        let request = http
            .post(format!("http://{address}/{function}"))
            .header("content-type", "application/cloudevents+json")
            .header("prefer", "reply")
            .body(event);
        let answer: Value = request.send().await.ok()?.json().await.ok()?;
        // A reply is a CloudEvent around the answer; a failure is the answer itself.
        Some(if answer["data"].is_object() { answer["data"].clone() } else { answer })
    }
}
