//! What the tests share: a world with our provider in it, a claim, and a caller that obeys `retry()`.

use async_trait::async_trait;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::BodyExt as _;
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
    door::{Door, Respond},
    history::{Exchange, Place},
};

pub const A100: &str = "Standard_NC24ads_A100_v4";
pub const UID: &str = "6f1c0d3e-1111-4222-8333-944444444444";

/// The world's Azure as a transport.
pub struct WorldTransport<R>(pub Door<R>);

#[async_trait]
impl<R: Respond> Transport for WorldTransport<R> {
    async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, TransportError> {
        let lost = |why: String| TransportError { sent: true, why };
        let response = self.0.call(request).await.map_err(|error| lost(error.to_string()))?;
        let (head, body) = response.into_parts();
        let body = body.collect().await.map_err(|error| lost(error.to_string()))?.to_bytes();
        Ok(Response::from_parts(head, body))
    }
}

/// Tokens from the world's Entra ID, by client secret.
pub struct WorldTokens {
    host: String,
    transport: Arc<dyn Transport>,
    tenant: String,
    client: String,
    secret: String,
    kept: Mutex<Option<String>>,
}

impl WorldTokens {
    /// The identity every world has, asked for at this address.
    pub fn at(host: &str, transport: Arc<dyn Transport>) -> Self {
        let options = ArmOptions::default();
        WorldTokens {
            host: host.to_owned(),
            transport,
            tenant: options.tenant,
            client: options.identities[0].client_id.clone(),
            secret: "world-secret".to_owned(),
            kept: Mutex::new(None),
        }
    }
}

#[async_trait]
impl Tokens for WorldTokens {
    async fn token(&self, scope: &str) -> Result<String, TokenError> {
        if let Some(kept) = self.kept.lock().unwrap().clone() {
            return Ok(kept);
        }
        let form = format!(
            "grant_type=client_credentials&client_id={}&client_secret={}&scope={}",
            self.client,
            self.secret,
            scope.replace(':', "%3A").replace('/', "%2F")
        );
        let address = format!("{}/{}/oauth2/v2.0/token", self.host, self.tenant);
        let request = Request::post(address).header("content-type", "application/x-www-form-urlencoded");
        let response = self.transport.send(request.body(Bytes::from(form)).unwrap()).await;
        let response = response.map_err(|error| TokenError::Unavailable(error.why))?;
        let body: Value = serde_json::from_slice(response.body()).unwrap_or(Value::Null);
        match body["access_token"].as_str() {
            Some(token) => {
                *self.kept.lock().unwrap() = Some(token.to_owned());
                Ok(token.to_owned())
            }
            None if matches!(response.status().as_u16(), 400 | 401) => {
                Err(TokenError::Denied(body["error_description"].as_str().unwrap_or_default().to_owned()))
            }
            None => Err(TokenError::Unavailable(response.status().to_string())),
        }
    }

    fn forget(&self) {
        *self.kept.lock().unwrap() = None;
    }
}

pub struct Rig {
    pub world: World,
    pub aks: Aks,
    settings: Settings,
    crashed: Arc<AtomicBool>,
}

pub fn settings(options: &ArmOptions) -> Settings {
    let lookup = |name: &str| {
        let value = match name {
            "ARM_SUBSCRIPTION_ID" => &options.subscription,
            "ARM_RESOURCE_GROUP" => &options.resource_group,
            "AZURE_CLUSTER_NAME" => &options.cluster,
            "LOCATION" => &options.location,
            "AZURE_TENANT_ID" => &options.tenant,
            "AZURE_CLIENT_ID" => &options.identities[0].client_id,
            "AZURE_CLIENT_SECRET" => return options.identities[0].secret.clone(),
            _ => return None,
        };
        Some(value.clone())
    };
    Settings::read(lookup).unwrap()
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
    let aks = another(&world, &settings);
    Rig { world, aks, settings, crashed }
}

/// A provider of the same world that knows nothing of the others.
fn another(world: &World, settings: &Settings) -> Aks {
    another_with(world, settings, "world-secret")
}

/// The same, with another secret to sign in with.
pub fn another_with(world: &World, settings: &Settings, secret: &str) -> Aks {
    let transport: Arc<dyn Transport> = Arc::new(WorldTransport(world.aks()));
    let mut tokens = WorldTokens::at("https://login.microsoftonline.com", transport.clone());
    tokens.secret = secret.to_owned();
    let clock = world.clock;
    Aks::new(settings.clone(), transport, Arc::new(tokens)).with_clock(move || clock.now())
}

impl Rig {
    pub fn another(&self) -> Aks {
        another(&self.world, &self.settings)
    }

    pub fn with_settings(&self, change: impl FnOnce(&mut Settings)) -> Aks {
        let mut settings = self.settings.clone();
        change(&mut settings);
        another(&self.world, &settings)
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
        requests: BTreeMap::from([
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
