//! What the tests share: a world with our provider in it, a claim, and a caller that obeys `retry()`.

use crate::azure;
pub use crate::azure::settings;
use async_trait::async_trait;
use bytes::Bytes;
use http::{Request, Response};
use model::{
    CapacityType, Effect, Ensured, Gone, Instance, InstanceKey, InstanceRequest, ObjectName, Offering, Progress, Taint,
    Uid,
};
use provider::{Change as _, ProviderError, Retry};
use provider_aks::{Aks, Settings, TokenError, Tokens, Transport, TransportError, bundled};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use world::{
    World, WorldOptions,
    arm::{ArmOptions, PoolRecord},
    history::{Exchange, Place},
};

pub const A100: &str = "Standard_NC24ads_A100_v4";
pub const UID: &str = "6f1c0d3e-1111-4222-8333-944444444444";

pub struct Rig {
    pub world: World,
    pub aks: Aks,
    settings: Settings,
    crashed: Arc<AtomicBool>,
}

pub fn rig() -> Rig {
    rig_with(|_| {})
}

pub fn rig_with(change: impl FnOnce(&mut ArmOptions)) -> Rig {
    let mut options = WorldOptions::default();
    change(&mut options.arm);
    let settings = settings(&ArmOptions::default());
    let crashed = Arc::new(AtomicBool::new(false));
    let hook = crashed.clone();
    let world = World::start_with(options, Arc::new(move |_: &str| hook.store(true, Ordering::SeqCst)));
    let aks = azure::provider(&world, &settings);
    Rig { world, aks, settings, crashed }
}

/// The same world, signed in to with another secret.
pub fn with_secret(world: &World, secret: &str) -> Aks {
    let mut options = ArmOptions::default();
    options.identities[0].secret = Some(secret.to_owned());
    azure::provider(world, &settings(&options))
}

impl Rig {
    pub fn another(&self) -> Aks {
        azure::provider(&self.world, &self.settings)
    }

    pub fn with_settings(&self, change: impl FnOnce(&mut Settings)) -> Aks {
        let mut settings = self.settings.clone();
        change(&mut settings);
        azure::provider(&self.world, &settings)
    }

    pub async fn sleep(&self, seconds: u64) {
        self.world.clock.sleep(Duration::from_secs(seconds)).await;
    }

    /// What reached Azure.
    pub fn requests(&self) -> Vec<Exchange> {
        self.world.history.exchanges().into_iter().filter(|one| one.to == Place::Aks).collect()
    }

    /// Changes that Azure accepted.
    pub fn mutations(&self) -> Vec<Exchange> {
        let changes = |one: &Exchange| {
            one.method != "GET" && !one.path.contains("oauth2") && one.status.is_some_and(|status| status < 300)
        };
        self.requests().into_iter().filter(changes).collect()
    }

    pub fn pools(&self) -> Vec<PoolRecord> {
        self.world.arm.snapshot().alive().filter(|pool| !pool.system).cloned().collect()
    }

    /// The caller's part of the port: asks until there is an answer, as `retry()` says. A crash is a new process that has
    /// what the last call returned, or, if `forgetful`, nothing at all.
    pub async fn make(&self, request: &InstanceRequest, forgetful: bool) -> Result<Instance, ProviderError> {
        let (mut aks, mut progress): (Aks, Option<Progress>) = (self.another(), None);
        for _ in 0..500 {
            match aks.ensure(request, progress.as_ref()).await {
                Ok(Ensured::Running(instance)) => return Ok(instance),
                Ok(Ensured::InProgress { progress: now, look_again_seconds }) => {
                    assert!(now.0.len() < 1500, "too long for an annotation: {}", now.0);
                    progress = Some(now);
                    self.sleep(u64::from(look_again_seconds)).await;
                }
                Err(error) => self.obey(error).await?,
            }
            if self.crashed.swap(false, Ordering::SeqCst) {
                aks = self.another();
                progress = progress.filter(|_| !forgetful);
            }
        }
        panic!("it does not converge");
    }

    pub async fn unmake(&self, key: &InstanceKey, forgetful: bool) -> Result<(), ProviderError> {
        let (mut aks, mut progress): (Aks, Option<Progress>) = (self.another(), None);
        for _ in 0..500 {
            match aks.ensure_gone(key, progress.as_ref()).await {
                Ok(Gone::Confirmed) => return Ok(()),
                Ok(Gone::InProgress { progress: now, look_again_seconds }) => {
                    progress = Some(now);
                    self.sleep(u64::from(look_again_seconds)).await;
                }
                Err(error) => self.obey(error).await?,
            }
            if self.crashed.swap(false, Ordering::SeqCst) {
                aks = self.another();
                progress = progress.filter(|_| !forgetful);
            }
        }
        panic!("it does not converge");
    }

    async fn obey(&self, error: ProviderError) -> Result<(), ProviderError> {
        match error.retry() {
            Retry::SameAfter(span) => self.world.clock.sleep(span).await,
            Retry::ReadBack => self.sleep(1).await,
            Retry::NextOffering | Retry::Never => return Err(error),
        }
        Ok(())
    }
}

pub fn key(name: &str, uid: &str) -> InstanceKey {
    InstanceKey { claim: Uid::new(uid).unwrap(), name: ObjectName::new(name).unwrap() }
}

/// A bundled offering of eastus.
pub fn offering(size: &str, zone: Option<&str>, capacity_type: CapacityType) -> Offering {
    let zone = zone.map(|zone| format!("eastus-{zone}"));
    let fits =
        |one: &Offering| one.id.instance_type == size && one.id.zone == zone && one.id.capacity_type == capacity_type;
    bundled("eastus", &["1", "2", "3"]).into_iter().find(fits).unwrap()
}

/// What KAITO asks for: spec §8.
pub fn request(name: &str) -> InstanceRequest {
    let text = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    };
    InstanceRequest {
        key: key(name, UID),
        offering: offering(A100, None, CapacityType::OnDemand),
        epoch: 1,
        labels: text(&[
            ("karpenter.sh/nodepool", "kaito"),
            ("kaito.sh/workspace", "falcon"),
            ("kaito.sh/workspacenamespace", "default"),
        ]),
        annotations: text(&[("karpenter.sh/do-not-disrupt", "true")]),
        taints: vec![Taint { key: "sku".into(), value: "gpu".into(), effect: Effect::NoSchedule }],
        startup_taints: vec![Taint { key: "wait".into(), value: String::new(), effect: Effect::NoExecute }],
        requests: model::Resources::from([
            ("storage".to_owned(), "120Gi".parse().unwrap()),
            ("nvidia.com/gpu".to_owned(), "1".parse().unwrap()),
        ]),
        class: text(&[("creationTimestamp", "2026-01-01T00:00:00Z")]),
    }
}

type Answers = Box<dyn Fn(&str, &str) -> (u16, Value) + Send + Sync>;

/// The answers of a transport that is only a list, and what it was asked.
pub struct Script {
    pub asked: Mutex<Vec<Value>>,
    answer: Answers,
}

#[async_trait]
impl Transport for Script {
    async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, TransportError> {
        let header = |name: &str| request.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
        let mut headers = serde_json::Map::new();
        for name in ["accept", "authorization", "content-type", "if-match", "if-none-match"] {
            headers.extend(header(name).map(|value| (name.to_owned(), json!(value))));
        }
        let (method, url) = (request.method().to_string(), request.uri().to_string());
        let body: Value = serde_json::from_slice(request.body()).unwrap_or(Value::Null);
        self.asked.lock().unwrap().push(json!({"method": method, "url": url, "headers": headers, "body": body}));
        let (status, body) = (self.answer)(&method, &url);
        Ok(Response::builder().status(status).body(Bytes::from(body.to_string())).unwrap())
    }
}

impl Script {
    /// What was asked by this method, in order.
    pub fn sent(&self, method: &str) -> Vec<Value> {
        self.asked.lock().unwrap().iter().filter(|one| one["method"] == method).cloned().collect()
    }
}

/// The answers of a cluster that has no pool and takes any.
pub fn empty_cluster(method: &str, _: &str) -> (u16, Value) {
    match method {
        "GET" => (404, json!({"code": "NotFound", "message": "any words at all"})),
        _ => (201, Value::Null),
    }
}

struct OneToken;

#[async_trait]
impl Tokens for OneToken {
    async fn token(&self, _: &str) -> Result<String, TokenError> {
        Ok("token".to_owned())
    }

    fn forget(&self) {}
}

/// A provider whose Azure is one function from method and address to status and body.
pub fn scripted(
    settings: Settings,
    answer: impl Fn(&str, &str) -> (u16, Value) + Send + Sync + 'static,
) -> (Aks, Arc<Script>) {
    let script = Arc::new(Script { asked: Mutex::default(), answer: Box::new(answer) });
    (Aks::new(settings, script.clone(), Arc::new(OneToken)), script)
}
