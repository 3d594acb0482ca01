//! The stage of every test: a world, the provider over its door, requests as data, and a driver that obeys `retry()`.

#![allow(dead_code, clippy::unwrap_used, clippy::panic)]

use async_trait::async_trait;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::BodyExt as _;
use model::{
    Effect, Ensured, Gone, Instance, InstanceKey, InstanceRequest, ObjectName, Offering, Progress, Taint, Uid,
};
use provider::{Change as _, ProviderError, Retry};
use provider_scaleway::{Scaleway, Settings, Transport, TransportError, catalogue};
use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use world::{World, WorldOptions, door::Door, history::Exchange, scaleway};

pub const SECRET_KEY: &str = "11111111-2222-4333-8444-555555555555";
pub const PROJECT: &str = "20b1b1b1-0000-4000-8000-000000000001";
pub const CLAIM: &str = "6f1c0d3e-1111-4222-8333-944444444444";
/// What must be seen nowhere but in user data.
pub const TOKEN: &str = "canary.0123456789abcdef";

/// The world's door as a transport; an answer that does not come is given up after the time of a real client.
pub struct ThroughTheDoor(pub World);

#[async_trait]
impl Transport for ThroughTheDoor {
    async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, TransportError> {
        let lost = |why: String| TransportError { sent: true, why };
        let door = self.0.scaleway();
        // A task of its own: a cloud goes on with a request that its client has given up.
        let asking = tokio::spawn(async move { through(&door, request).await });
        let answer = tokio::time::timeout(Duration::from_secs(30), asking).await;
        let answer = answer.map_err(|_| lost("no answer within 30 s".to_owned()))?;
        answer.map_err(|error| lost(error.to_string()))?.map_err(|error| lost(error.to_string()))
    }
}

async fn through<R: world::door::Respond>(door: &Door<R>, request: Request<Bytes>) -> std::io::Result<Response<Bytes>> {
    let (head, body) = door.call(request).await?.into_parts();
    let body = body.collect().await.map_err(std::io::Error::other)?.to_bytes();
    Ok(Response::from_parts(head, body))
}

pub struct Stage {
    pub world: World,
    pub provider: Scaleway,
    crashed: Arc<AtomicBool>,
}

pub fn settings(secret: &str, cluster: &str) -> Settings {
    let known = [
        ("SCW_SECRET_KEY", secret),
        ("SCW_DEFAULT_PROJECT_ID", PROJECT),
        ("PILOTLIGHT_CLUSTER_ID", cluster),
        ("SCW_API_URL", "http://127.0.0.1:1"),
    ];
    Settings::from_lookup(|name| known.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned()))
        .unwrap()
}

impl Stage {
    pub fn plain() -> Stage {
        Stage::with(|_| {})
    }

    pub fn with(change: impl FnOnce(&mut scaleway::Options)) -> Stage {
        Stage::at_speed(WorldOptions::default().speed, change)
    }

    /// For tests over real sockets, where the clock cannot jump.
    pub fn at_speed(speed: f64, change: impl FnOnce(&mut scaleway::Options)) -> Stage {
        let mut options = WorldOptions { speed, ..WorldOptions::default() };
        options.scaleway.join_secrets = Some(vec![TOKEN.to_owned()]);
        change(&mut options.scaleway);
        let crashed = Arc::new(AtomicBool::new(false));
        let hook = crashed.clone();
        let world = World::start_with(options, Arc::new(move |_: &str| hook.store(true, Ordering::SeqCst)));
        let provider = provider_in(&world, SECRET_KEY, "east");
        Stage { world, provider, crashed }
    }

    pub async fn seconds(&self, seconds: u64) {
        self.world.clock.sleep(Duration::from_secs(seconds)).await;
    }

    pub fn present(&self) -> scaleway::Snapshot {
        self.world.scaleway.snapshot().present()
    }

    /// Requests that changed something, as a person writes them.
    pub fn mutations(&self) -> Vec<String> {
        let exchanges = self.world.history.exchanges();
        exchanges.iter().filter(|one| one.method != "GET").map(|one| format!("{} {}", one.method, one.path)).collect()
    }

    /// Asks until it runs or cannot; a crash forgets all progress.
    pub async fn drive(&self, request: &InstanceRequest) -> Result<Instance, ProviderError> {
        let mut progress: Option<Progress> = None;
        for _ in 0..400 {
            let outcome = self.provider.ensure(request, progress.as_ref()).await;
            if self.crashed.swap(false, Ordering::SeqCst) {
                progress = None;
                self.seconds(1).await;
                continue;
            }
            match outcome {
                Ok(Ensured::Running(instance)) => return Ok(instance),
                Ok(Ensured::InProgress { progress: next, look_again_seconds }) => {
                    progress = Some(next);
                    self.seconds(u64::from(look_again_seconds)).await;
                }
                Err(error) => self.obey(error).await?,
            }
        }
        panic!("it never settled: {:?}", self.present());
    }

    pub async fn drive_gone(&self, key: &InstanceKey) -> Result<(), ProviderError> {
        let mut progress: Option<Progress> = None;
        for _ in 0..400 {
            let outcome = self.provider.ensure_gone(key, progress.as_ref()).await;
            if self.crashed.swap(false, Ordering::SeqCst) {
                progress = None;
                self.seconds(1).await;
                continue;
            }
            match outcome {
                Ok(Gone::Confirmed) => return Ok(()),
                Ok(Gone::InProgress { progress: next, look_again_seconds }) => {
                    progress = Some(next);
                    self.seconds(u64::from(look_again_seconds)).await;
                }
                Err(error) => self.obey(error).await?,
            }
        }
        panic!("it never went: {:?}", self.present());
    }

    async fn obey(&self, error: ProviderError) -> Result<(), ProviderError> {
        match error.retry() {
            Retry::SameAfter(wait) => self.world.clock.sleep(wait).await,
            Retry::ReadBack => self.seconds(1).await,
            Retry::NextOffering | Retry::Never => return Err(error),
        }
        Ok(())
    }

    /// No exchange shows a join secret, except the writing of user data.
    pub fn assert_no_secret_was_said(&self) {
        for exchange in self.world.history.exchanges() {
            if exchange.method != "PATCH" || !exchange.path.ends_with("/user_data/cloud-init") {
                assert!(!exchange.to_json().to_string().contains(TOKEN), "{:?}", exchange);
            }
        }
    }

    pub async fn send(&self, method: &str, path: &str, body: &serde_json::Value) -> serde_json::Value {
        let request = Request::builder().method(method).uri(path).header("x-auth-token", SECRET_KEY);
        let body = if body.is_null() { Bytes::new() } else { Bytes::from(body.to_string()) };
        let answer = through(&self.world.scaleway(), request.body(body).unwrap()).await.unwrap();
        assert!(answer.status().is_success(), "{answer:?}");
        serde_json::from_slice(answer.body()).unwrap_or_default()
    }
}

pub fn provider_in(world: &World, secret: &str, cluster: &str) -> Scaleway {
    let clock = world.clock;
    Scaleway::with(settings(secret, cluster), Arc::new(ThroughTheDoor(world.clone())), Arc::new(move || clock.now()))
}

pub fn offering(commercial_type: &str, zone: &str) -> Offering {
    let zones = catalogue::GPU_ZONES.map(str::to_owned);
    let all = catalogue::bundled_offerings(&zones);
    let wanted = |one: &&Offering| one.id.instance_type == commercial_type && one.id.zone.as_deref() == Some(zone);
    all.iter().find(wanted).cloned().unwrap()
}

pub fn key(uid: &str) -> InstanceKey {
    InstanceKey { claim: Uid::new(uid).unwrap(), name: ObjectName::new("train-0").unwrap() }
}

pub fn words(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

pub fn kubeadm() -> BTreeMap<String, String> {
    words(&[
        ("join", "kubeadm"),
        ("join.endpoint", "10.0.0.1:6443"),
        ("join.token", TOKEN),
        ("join.ca-cert-hash", "sha256:8a5f"),
        ("join.kubernetes-version", "1.34"),
    ])
}

pub fn request(commercial_type: &str, zone: &str) -> InstanceRequest {
    InstanceRequest {
        key: key(CLAIM),
        offering: offering(commercial_type, zone),
        epoch: 1,
        labels: words(&[("karpenter.sh/nodepool", "gpu"), ("karpenter.sh/capacity-type", "scaleway-gpu")]),
        annotations: BTreeMap::new(),
        taints: vec![taint("sku", "gpu", Effect::NoSchedule)],
        startup_taints: vec![taint("pilotlight.dev/starting", "", Effect::NoExecute)],
        requests: model::Resources::new(),
        class: kubeadm(),
    }
}

pub fn taint(key: &str, value: &str, effect: Effect) -> Taint {
    Taint { key: key.to_owned(), value: value.to_owned(), effect }
}

/// With further words of the class.
pub fn with_class(mut request: InstanceRequest, pairs: &[(&str, &str)]) -> InstanceRequest {
    request.class.extend(words(pairs));
    request
}

pub fn lines(exchanges: &[Exchange]) -> Vec<String> {
    exchanges.iter().map(|one| format!("{} {} {:?}", one.method, one.path, one.status)).collect()
}
