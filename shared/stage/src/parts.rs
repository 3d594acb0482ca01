//! The parts of functions, wired to the world instead of the network.

use act::Providers;
use async_trait::async_trait;
use bytes::Bytes;
use cluster::Cluster;
use decide::claim::AlsoManage;
use host::parts::{Classes, Clock, Parts, Rack};
use http::Request;
use model::Cap;
use provider::dressed;
use provider_aks::{TokenError, Tokens, Transport as _};
use provider_power::environment;
use serde_json::Value;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};
use world::{World, arm::ArmOptions, power::BackEnd, scaleway};

use crate::line::{Line, Pulse, client};

/// The bootstrap token of the world's cluster. It must be seen nowhere but in user data.
pub const JOIN_TOKEN: &str = "world1.0123456789abcdef";

/// Where the rack's webhooks are. The line goes to the world whatever the host is called.
const RACK: &str = "http://rack.world";

/// The variables that describe the world's rack, as k8s-gpu-autoprovision wants them.
pub fn environment(world: &World) -> Vec<(String, String)> {
    let machines = world.power.snapshot();
    let webhooks = machines.iter().filter(|machine| machine.back_end == BackEnd::Webhook);
    let of_machine = |(index, machine): (usize, &world::power::MachineRecord)| {
        let variable = |part: &str| format!("GPU_NODE_{}_{part}", index + 1);
        let endpoint = |verb: &str| format!("{RACK}/webhook/{}/{verb}", machine.name);
        [
            (variable("NAME"), machine.node.clone()),
            (variable("GPU_COUNT"), machine.gpus.to_string()),
            (variable("SCALE_UP_ENDPOINT"), endpoint("up")),
            (variable("SCALE_DOWN_ENDPOINT"), endpoint("down")),
        ]
    };
    webhooks.enumerate().flat_map(of_machine).collect()
}

/// `clouds` may be those of another world: two clusters can share an account.
pub fn parts(
    world: &World,
    clouds: &World,
    pulse: &Pulse,
    user: &str,
    max_price: Option<Cap>,
) -> Result<Parts, String> {
    let cluster = Cluster::new(client(world, pulse, user), "default".to_owned());
    let line = Arc::new(Line { world: clouds.clone(), pulse: pulse.clone() });
    let uid = cluster_uid(world);
    let world_clock = world.clock;
    let clock: Clock = Arc::new(move || world_clock.now());
    let limits = provider::Settings::default;
    let mut providers = Providers::default();
    providers.add(dressed(aks(line.clone(), clock.clone(), uid.clone())?, limits()));
    providers.add(dressed(scaleway(line.clone(), clock.clone(), uid)?, limits()));
    let variables = environment(world);
    let variables = variables.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let environment = environment::read(variables).map_err(|error| error.to_string())?;
    let carrier = Arc::new(move |_: &provider_power::UrlPolicy| line.clone() as Arc<dyn provider_power::Transport>);
    let rack = Rack::new(cluster.clone(), &environment, clock.clone(), carrier);
    providers.add(dressed(rack, provider::Settings::own_cluster()));
    let classes = Classes { scaleway_defaults: scaleway_class(), machines: environment.machines.clone() };
    Ok(Parts {
        cluster,
        providers,
        classes,
        also_manage: AlsoManage::default(),
        repair: decide::repair::built_in(),
        own_node: None,
        max_price,
        default_spread: vec![],
        clock,
    })
}

/// What tells the world's cluster from all others, as every process reads it for itself.
pub fn cluster_uid(world: &World) -> Option<String> {
    let found = world.objects.get(&("".into(), "namespaces".into()), "", "kube-system")?;
    found.value["metadata"]["uid"].as_str().map(str::to_owned)
}

/// How machines of the world's Scaleway join the world's cluster.
fn scaleway_class() -> BTreeMap<String, String> {
    let pairs = [
        ("join", "kubeadm"),
        ("join.endpoint", "kubernetes.world:6443"),
        ("join.token", JOIN_TOKEN),
        ("join.ca-cert-hash", "sha256:0f0e0d0c0b0a09080706050403020100f0e0d0c0b0a090807060504030201000"),
        ("join.kubernetes-version", "1.36"),
    ];
    pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).into()
}

fn aks(line: Arc<Line>, clock: Clock, uid: Option<String>) -> Result<provider_aks::Aks, String> {
    let options = ArmOptions::default();
    let identity = options.identities.first();
    let known = [
        ("ARM_SUBSCRIPTION_ID", options.subscription.clone()),
        ("ARM_RESOURCE_GROUP", options.resource_group.clone()),
        ("AZURE_CLUSTER_NAME", options.cluster.clone()),
        ("LOCATION", options.location.clone()),
        ("AZURE_TENANT_ID", options.tenant.clone()),
        ("AZURE_CLIENT_ID", identity.map(|one| one.client_id.clone()).unwrap_or_default()),
        ("AZURE_CLIENT_SECRET", identity.and_then(|one| one.secret.clone()).unwrap_or_default()),
    ];
    let settings = provider_aks::Settings::read(|name| value(&known, name));
    let mut settings = settings.map_err(|problems| format!("{problems:?}"))?;
    settings.cluster_uid = uid;
    let tokens = EntraTokens {
        line: line.clone(),
        address: format!("{}/{}/oauth2/v2.0/token", settings.authority_host, options.tenant),
        client: value(&known, "AZURE_CLIENT_ID").unwrap_or_default(),
        secret: value(&known, "AZURE_CLIENT_SECRET").unwrap_or_default(),
        kept: Mutex::default(),
    };
    Ok(provider_aks::Aks::new(settings, line, Arc::new(tokens)).with_clock(move || clock()))
}

fn scaleway(line: Arc<Line>, clock: Clock, uid: Option<String>) -> Result<provider_scaleway::Scaleway, String> {
    let options = scaleway::Options::default();
    let key = options.keys.first().map(|key| key.secret.clone()).unwrap_or_default();
    let known = [
        ("SCW_SECRET_KEY", key),
        ("SCW_DEFAULT_PROJECT_ID", options.project),
        ("SCW_DEFAULT_ZONE", "fr-par-2".to_owned()),
        ("PILOTLIGHT_CLUSTER_ID", "world".to_owned()),
        ("SCW_API_URL", "http://127.0.0.1:1".to_owned()),
    ];
    let settings = provider_scaleway::Settings::from_lookup(|name| value(&known, name));
    let mut settings = settings.map_err(|problems| problems.to_string())?;
    settings.cluster_uid = uid;
    Ok(provider_scaleway::Scaleway::with(settings, line, clock))
}

fn value(known: &[(&str, String)], name: &str) -> Option<String> {
    known.iter().find(|(own, _)| *own == name).map(|(_, value)| value.clone())
}

/// Tokens from the world's Entra ID, by client secret. The real client has its own connections, which a world has not.
struct EntraTokens {
    line: Arc<Line>,
    address: String,
    client: String,
    secret: String,
    kept: Mutex<Option<String>>,
}

impl EntraTokens {
    fn keep(&self, token: Option<String>) {
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = token;
    }
}

#[async_trait]
impl Tokens for EntraTokens {
    async fn token(&self, scope: &str) -> Result<String, TokenError> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(kept) = kept {
            return Ok(kept);
        }
        let unavailable = |why: String| TokenError::Unavailable(why);
        let scope = scope.replace(':', "%3A").replace('/', "%2F");
        let (client, secret) = (&self.client, &self.secret);
        let form = format!("grant_type=client_credentials&client_id={client}&client_secret={secret}&scope={scope}");
        let request = Request::post(&self.address).header("content-type", "application/x-www-form-urlencoded");
        let request = request.body(Bytes::from(form)).map_err(|error| unavailable(error.to_string()))?;
        let answer = self.line.send(request).await;
        let answer = answer.map_err(|error: provider_aks::TransportError| unavailable(error.why))?;
        let body: Value = serde_json::from_slice(answer.body()).unwrap_or_default();
        match body["access_token"].as_str() {
            Some(token) => {
                self.keep(Some(token.to_owned()));
                Ok(token.to_owned())
            }
            None if matches!(answer.status().as_u16(), 400 | 401) => {
                Err(TokenError::Denied(body["error_description"].as_str().unwrap_or_default().to_owned()))
            }
            None => Err(unavailable(answer.status().to_string())),
        }
    }

    fn forget(&self) {
        self.keep(None);
    }
}
