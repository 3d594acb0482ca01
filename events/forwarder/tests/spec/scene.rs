//! The verbs: a world with our custom resources, forwarders that can be stopped and killed, and a sink that remembers.

use async_trait::async_trait;
use forwarder::{
    Forwarder, Health, Settings, Sinks,
    event::Letter,
    sink::{FUNCTIONS, Sink, Told},
};
use host::SettingSource;
use jiff::Timestamp;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api,
    api::{ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams, PostParams},
};
use model::Answer;
use schema::{CloudEvent, Known};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{sync::oneshot, task::JoinHandle};
use world::{World, WorldOptions, faults::Fault, fleet::Machine};

/// One event that arrived.
#[derive(Debug, Clone)]
pub struct Delivery {
    pub at: Timestamp,
    /// Which forwarder sent it.
    pub from: String,
    pub function: &'static str,
    pub event: Value,
    pub told: Told,
}

impl Delivery {
    pub fn subject(&self) -> &str {
        self.event["subject"].as_str().unwrap_or_default()
    }

    pub fn is_acknowledged(&self) -> bool {
        matches!(self.told, Told::Answered(Answer::Done { .. } | Answer::Nothing { .. }))
    }
}

type Answering = Box<dyn FnMut(&str, &Value) -> Told + Send>;

/// Takes every delivery, and answers as it was told to.
#[derive(Clone)]
pub struct Post(Arc<Mutex<Letters>>);

struct Letters {
    arrived: Vec<Delivery>,
    answering: Answering,
    /// How long functions take.
    takes: Duration,
}

struct Door {
    post: Post,
    world: World,
    from: String,
}

impl Post {
    pub fn arrived(&self) -> Vec<Delivery> {
        self.0.lock().unwrap().arrived.clone()
    }

    /// Those of one function, by subject.
    pub fn to(&self, function: &str) -> Vec<Delivery> {
        self.arrived().into_iter().filter(|delivery| delivery.function == function).collect()
    }

    /// The last one of a function.
    pub fn last(&self, function: &str) -> Option<Delivery> {
        self.0.lock().unwrap().arrived.iter().rev().find(|delivery| delivery.function == function).cloned()
    }

    pub fn answer(&self, answering: impl FnMut(&str, &Value) -> Told + Send + 'static) {
        self.0.lock().unwrap().answering = Box::new(answering);
    }

    pub fn take(&self, time: Duration) {
        self.0.lock().unwrap().takes = time;
    }

    pub fn forget(&self) {
        self.0.lock().unwrap().arrived.clear();
    }
}

#[async_trait]
impl Sink for Door {
    async fn deliver(&self, function: &'static str, letter: &Letter) -> Told {
        let event: Value = serde_json::from_str(&letter.text).expect("an event is JSON");
        check_event(&event);
        assert_eq!(event["id"], letter.id.as_str());
        let takes = self.post.0.lock().unwrap().takes;
        tokio::time::sleep(takes).await;
        let mut letters = self.post.0.lock().unwrap();
        let told = (letters.answering)(function, &event);
        let (at, from) = (self.world.clock.now(), self.from.clone());
        letters.arrived.push(Delivery { at, from, function, event, told: told.clone() });
        told
    }
}

/// Whatever is sent is what the functions read.
fn check_event(event: &Value) {
    let event = CloudEvent::from_value(event.clone()).expect("a CloudEvent");
    let Known::Event(kind) = schema::known(&event.kind) else { panic!("an unknown type {}", event.kind) };
    schema::read(&event, kind).expect("an event that is understood");
}

pub struct Scene {
    pub world: World,
    pub post: Post,
}

/// A forwarder at work.
pub struct Running {
    stop: oneshot::Sender<()>,
    work: JoinHandle<()>,
    pub health: Health,
}

impl Running {
    /// As SIGTERM.
    pub async fn stop(self) {
        drop(self.stop);
        self.work.await.expect("it ends in order");
    }

    /// As kill -9: nothing is finished and everything is forgotten.
    pub async fn kill(self) {
        self.work.abort();
        drop(self.work.await);
    }
}

impl Scene {
    pub async fn open() -> Self {
        let scene = Scene::without_definitions();
        scene.define().await;
        // The cluster's own first nodes join.
        scene.pass(Duration::from_secs(120)).await;
        scene
    }

    pub fn without_definitions() -> Self {
        let world = World::start(WorldOptions::default());
        let letters = Letters { arrived: Vec::new(), answering: Box::new(|_, _| done()), takes: Duration::ZERO };
        Scene { world, post: Post(Arc::new(Mutex::new(letters))) }
    }

    pub async fn define(&self) {
        let definitions: Api<CustomResourceDefinition> = Api::all(self.world.client("admin"));
        for definition in cluster::crd::all() {
            definitions.create(&PostParams::default(), &definition).await.expect("our definitions are accepted");
        }
    }

    /// Starts one that is the only one, unless the settings are changed.
    pub fn forward(&self, user: &str, change: impl FnOnce(&mut Settings)) -> Running {
        let mut settings = settings(&[]);
        change(&mut settings);
        let door: Arc<dyn Sink> =
            Arc::new(Door { post: self.post.clone(), world: self.world.clone(), from: user.to_owned() });
        let mut sinks = Sinks::default();
        FUNCTIONS.into_iter().for_each(|function| sinks.add(function, door.clone()));
        let clock = self.world.clock;
        let forwarder = Forwarder::new(settings, sinks, self.world.client(user))
            .with_clock(Arc::new(move || clock.now()))
            .with_identity(user);
        let (stop, stopped) = oneshot::channel();
        let health = forwarder.health();
        let work = tokio::spawn(forwarder.run(async move { drop(stopped.await) }));
        Running { stop, work, health }
    }

    pub fn fault(&self, text: &str) {
        let fault: Fault = serde_json::from_str(text).expect("a fault");
        self.world.faults.add(fault);
    }

    pub fn api(&self, kind: &str) -> Api<DynamicObject> {
        let (group, plural) = match kind {
            "NodeClaim" => ("karpenter.sh", "nodeclaims"),
            "NodePool" => ("karpenter.sh", "nodepools"),
            "Pod" => ("", "pods"),
            "Node" => ("", "nodes"),
            other => panic!("no {other} here"),
        };
        let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, "v1", kind), plural);
        let client = self.world.client("person");
        if kind == "Pod" { Api::default_namespaced_with(client, &resource) } else { Api::all_with(client, &resource) }
    }

    pub async fn create(&self, kind: &str, object: Value) {
        let object = serde_json::from_value(object).expect("an object");
        self.api(kind).create(&PostParams::default(), &object).await.expect("it is accepted");
    }

    /// Any object that the API server accepts, with its status; one that it refuses is left out.
    pub async fn add(&self, object: Value, deleting: bool) {
        let object: DynamicObject = serde_json::from_value(object).expect("an object");
        let types = object.types.clone().expect("a kind");
        let (group, version) = types.api_version.split_once('/').unwrap_or(("", &types.api_version));
        let gvk = GroupVersionKind::gvk(group, version, &types.kind);
        let resource = ApiResource::from_gvk(&gvk);
        let client = self.world.client("person");
        let api: Api<DynamicObject> = match &object.metadata.namespace {
            Some(namespace) => Api::namespaced_with(client, namespace, &resource),
            None if ["Pod", "DaemonSet", "PersistentVolumeClaim", "PodDisruptionBudget"].contains(&&*types.kind) => {
                Api::default_namespaced_with(client, &resource)
            }
            None => Api::all_with(client, &resource),
        };
        let Ok(made) = api.create(&PostParams::default(), &object).await else { return };
        let name = made.metadata.name.expect("a name");
        if let Some(status) = object.data.get("status") {
            let patch = Patch::Merge(json!({ "status": status }));
            drop(api.patch_status(&name, &PatchParams::default(), &patch).await);
        }
        if deleting {
            drop(api.delete(&name, &DeleteParams::default()).await);
        }
    }

    /// The name of a node that has been there from the beginning.
    pub async fn a_node(&self) -> String {
        let nodes = self.api("Node").list(&ListParams::default()).await.expect("nodes").items;
        let oldest = nodes.into_iter().min_by_key(|node| node.metadata.creation_timestamp.as_ref().map(|time| time.0));
        oldest.and_then(|node| node.metadata.name).expect("a node")
    }

    /// As the scheduler does it.
    pub async fn bind(&self, pod: &str, node: &str) {
        let binding = json!({ "apiVersion": "v1", "kind": "Binding", "metadata": { "name": pod },
            "target": { "apiVersion": "v1", "kind": "Node", "name": node } });
        let request = http::Request::post(format!("/api/v1/namespaces/default/pods/{pod}/binding"))
            .header("content-type", "application/json")
            .body(binding.to_string().into_bytes())
            .expect("a request");
        self.world.client("person").request::<Value>(request).await.expect("it is bound");
    }

    pub async fn merge(&self, kind: &str, name: &str, change: Value) {
        self.api(kind).patch(name, &PatchParams::default(), &Patch::Merge(change)).await.expect("it is changed");
    }

    pub async fn merge_status(&self, kind: &str, name: &str, change: Value) {
        let patch = Patch::Merge(change);
        self.api(kind).patch_status(name, &PatchParams::default(), &patch).await.expect("it is changed");
    }

    /// Puts a condition onto a node.
    pub async fn say(&self, node: &str, condition: &str, status: &str) {
        let patch = json!({ "status": { "conditions": [{ "type": condition, "status": status }] } });
        let patch = Patch::Strategic(patch);
        self.api("Node").patch_status(node, &PatchParams::default(), &patch).await.expect("the node is there");
    }

    pub async fn delete(&self, kind: &str, name: &str) {
        self.api(kind).delete(name, &DeleteParams::default()).await.expect("it is there");
    }

    pub async fn version(&self, kind: &str, name: &str) -> String {
        self.api(kind).get(name).await.expect("it is there").metadata.resource_version.expect("a version")
    }

    pub async fn pass(&self, span: Duration) {
        self.world.clock.sleep(span).await;
    }

    /// Waits, at most ten minutes of the world's time.
    pub async fn until(&self, what: &str, mut is_so: impl FnMut(&Scene) -> bool) {
        for _ in 0..60_000 {
            if is_so(self) {
                return;
            }
            self.pass(Duration::from_millis(10)).await;
        }
        let said: Vec<String> = self.post.arrived().iter().rev().take(10).map(|one| format!("{one:?}")).collect();
        panic!("{what}: not after ten minutes\n{}", said.join("\n"));
    }

    /// A machine of no cloud.
    pub fn join(&self, node: &str, labels: &[(&str, &str)]) {
        let capacity = [("cpu", "8"), ("memory", "32Gi"), ("ephemeral-storage", "100Gi"), ("pods", "110")];
        let text = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        self.world.fleet().join(Machine {
            node: node.to_owned(),
            provider_id: format!("world://{node}"),
            labels: labels.iter().map(text).collect(),
            annotations: BTreeMap::new(),
            taints: Vec::new(),
            capacity: capacity.iter().map(text).collect(),
            accelerator: None,
            accelerator_after: None,
            boot_id: format!("boot-{node}"),
        });
    }
}

/// As the variables say; without a second replica.
pub fn settings(pairs: &[(&str, &str)]) -> Settings {
    let usual = [("PILOTLIGHT_ALLOW_UNSIGNED", "true"), ("PILOTLIGHT_LEASE_DURATION", "0s")];
    let source = SettingSource::from_pairs(usual.into_iter().chain(pairs.iter().copied()));
    Settings::read(source).expect("good settings").1
}

pub fn done() -> Told {
    Told::Answered(Answer::Done { reason: "it is so".to_owned() })
}

pub fn claim(name: &str) -> Value {
    json!({ "apiVersion": "karpenter.sh/v1", "kind": "NodeClaim",
        "metadata": { "name": name, "finalizers": ["karpenter.sh/termination"], "labels": { "karpenter.sh/nodepool": "gpu" } },
        "spec": { "nodeClassRef": { "group": "kaito.sh", "kind": "KaitoNodeClass", "name": "default" },
            "requirements": [{ "key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["Standard_NC24ads_A100_v4"] }] } })
}

pub fn gpu_pod(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name },
        "spec": { "containers": [{ "name": "main", "image": "work",
            "resources": { "limits": { "nvidia.com/gpu": "1" } } }] } })
}
