//! The stage of the tests: a world with a rack, a provider that speaks to it through its door, and a driver that obeys.

#![allow(dead_code, reason = "each test file uses its part of the stage")]

use async_trait::async_trait;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::BodyExt as _;
use jiff::Timestamp;
use model::{Ensured, Gone, Instance, InstanceKey, InstanceRequest, ObjectName, Offering, Progress, Uid};
use provider::{Change as _, Look as _, ProviderError, Retry};
use provider_power::{
    Auth, BackEndConfig, HoldTable, HostRule, MachineConfig, NodeSign, Power, RequestTemplate, Secret, StatusRule,
    StatusTemplate, Transport, TransportError, UrlPolicy, presets,
};
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
    power::{BackEnd, MachineOptions, MachineRecord, Options, PowerCall, Verb},
};

pub const MACHINE: &str = "rack-1";
pub const PASSWORD: &str = "canary-password";
pub const MAAS_KEY: &str = "consumer:token:canary-secret";

/// The world's door as a transport: a connection that breaks may have carried the request.
pub struct DoorTransport(pub World);

#[async_trait]
impl Transport for DoorTransport {
    async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, TransportError> {
        let broken = |error: std::io::Error| TransportError::after(error.to_string());
        let (head, body) = self.0.power().call(request).await.map_err(broken)?.into_parts();
        let body = body.collect().await.map_err(|_| TransportError::after("the body broke"))?.to_bytes();
        Ok(Response::from_parts(head, body))
    }
}

/// What a test says about all Nodes, beside what the world's cluster shows of each.
pub type Since = Arc<Mutex<NodeSign>>;

/// Holds in a table, and Nodes from the world's cluster.
pub fn holders(world: &World, since: &Since) -> HoldTable {
    let (clock, world, since) = (world.clock, world.clone(), since.clone());
    let ready = move |node: &str| {
        let nodes = world.objects.list(&("".into(), "nodes".into()));
        let found = nodes.iter().find(|stored| stored.value["metadata"]["name"] == node)?;
        let conditions = found.value["status"]["conditions"].as_array().cloned().unwrap_or_default();
        Some(conditions.iter().any(|one| one["type"] == "Ready" && one["status"] == "True"))
    };
    let nodes = move |node: &str| NodeSign { ready: ready(node), ..*since.lock().unwrap() };
    HoldTable::new(Arc::new(move || clock.now()), Arc::new(nodes))
}

/// The back ends that the world has, as a machine may be configured for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Seed,
    WebhookWithStatus,
    MaasPower,
    MaasApi,
    Redfish,
    RedfishByName,
}

pub const KINDS: [Kind; 6] =
    [Kind::Seed, Kind::WebhookWithStatus, Kind::MaasPower, Kind::MaasApi, Kind::Redfish, Kind::RedfishByName];

impl Kind {
    pub fn world(self) -> BackEnd {
        match self {
            Kind::Seed | Kind::WebhookWithStatus => BackEnd::Webhook,
            Kind::MaasPower => BackEnd::MaasPower,
            Kind::MaasApi => BackEnd::Maas,
            Kind::Redfish | Kind::RedfishByName => BackEnd::Redfish,
        }
    }

    pub fn config(self, world: &World, machine: &str) -> BackEndConfig {
        let basic = Auth::Basic { user: "admin".to_owned(), password: Secret::new(PASSWORD) };
        let webhook = |verb: &str| format!("http://rack.test/webhook/{machine}/{verb}");
        let post = |verb: &str| Box::new(RequestTemplate::new("POST", webhook(verb)).with_json("{}"));
        let maas = |verb: &str| format!("http://rack.test/maaspower/{machine}/{verb}");
        let system = |id: &str| presets::redfish(&format!("http://rack.test/redfish/v1/Systems/{id}"), &basic);
        match self {
            Kind::Seed => presets::seed(&webhook("up"), &webhook("down")),
            Kind::WebhookWithStatus => BackEndConfig::Templates {
                on: post("on"),
                off: post("off"),
                soft_off: Some(post("soft-off")),
                status: Some(Box::new(StatusTemplate {
                    request: RequestTemplate::new("GET", webhook("status")),
                    read: StatusRule::Pointer {
                        at: "/power".to_owned(),
                        on: vec!["on".to_owned()],
                        off: vec!["off".to_owned()],
                        turning_on: vec![],
                        turning_off: vec![],
                    },
                })),
            },
            Kind::MaasPower => presets::maas(&maas("on"), &maas("off"), &maas("query"), &basic),
            Kind::MaasApi => presets::maas_api("http://rack.test/MAAS", machine, &Auth::MaasKey(Secret::new(MAAS_KEY))),
            Kind::Redfish => system(&world.power.system_id(machine).unwrap()),
            Kind::RedfishByName => system(machine),
        }
    }
}

pub struct Stage {
    pub world: World,
    pub holders: HoldTable,
    pub since: Since,
    pub kind: Kind,
    pub power: Power,
    pub crashed: Arc<AtomicBool>,
    config: MachineConfig,
}

impl Stage {
    pub fn of(kind: Kind) -> Stage {
        Stage::with(kind, |_| {}, |_| {})
    }

    /// `rack` changes the world's side, `config` ours.
    pub fn with(kind: Kind, rack: impl FnOnce(&mut Options), config: impl FnOnce(&mut MachineConfig)) -> Stage {
        let mut options = Options {
            machines: vec![MachineOptions::new(MACHINE, kind.world(), 4)],
            account: Some(("admin".to_owned(), PASSWORD.to_owned())),
            maas_key: Some(MAAS_KEY.to_owned()),
            ..Options::default()
        };
        rack(&mut options);
        let crashed = Arc::new(AtomicBool::new(false));
        let hook = crashed.clone();
        let world = World::start_with(
            WorldOptions { power: options, ..WorldOptions::default() },
            Arc::new(move |_: &str| hook.store(true, Ordering::SeqCst)),
        );
        let since = Since::default();
        let holders = holders(&world, &since);
        let mut machine = MachineConfig::new(MACHINE, 4, kind.config(&world, MACHINE));
        config(&mut machine);
        let power = provider(&world, &holders, vec![machine.clone()]);
        Stage { world, holders, since, kind, power, crashed, config: machine }
    }

    pub fn record(&self) -> MachineRecord {
        self.world.power.snapshot().into_iter().find(|record| record.name == MACHINE).unwrap()
    }

    pub fn commands(&self) -> Vec<PowerCall> {
        self.world.power.calls().into_iter().filter(|call| call.verb != Verb::Status).collect()
    }

    pub async fn offering(&self) -> Offering {
        self.power.offerings().await.unwrap().remove(0)
    }

    pub async fn request(&self) -> InstanceRequest {
        InstanceRequest {
            key: key(),
            offering: self.offering().await,
            epoch: 1,
            labels: BTreeMap::new(),
            annotations: BTreeMap::new(),
            taints: vec![],
            startup_taints: vec![],
            requests: model::Resources::new(),
            class: BTreeMap::new(),
        }
    }

    pub async fn seconds(&self, seconds: u64) {
        self.world.clock.sleep(Duration::from_secs(seconds)).await;
    }

    /// What a caller does: asks until it is there, and does what an error says.
    pub async fn drive_on(&mut self) -> Result<Instance, ProviderError> {
        let (request, mut progress) = (self.request().await, None::<Progress>);
        for _ in 0..1000 {
            let answer = self.power.ensure(&request, progress.as_ref()).await;
            self.after_a_crash(&mut progress);
            match answer {
                Ok(Ensured::Running(instance)) => return Ok(instance),
                Ok(Ensured::InProgress { progress: next, look_again_seconds }) => {
                    progress = Some(next);
                    self.seconds(u64::from(look_again_seconds)).await;
                }
                Err(error) => self.obey(error).await?,
            }
        }
        panic!("{:?} did not come on", self.kind);
    }

    pub async fn drive_off(&mut self) -> Result<(), ProviderError> {
        let mut progress = None::<Progress>;
        for _ in 0..1000 {
            let answer = self.power.ensure_gone(&key(), progress.as_ref()).await;
            self.after_a_crash(&mut progress);
            match answer {
                Ok(Gone::Confirmed) => return Ok(()),
                Ok(Gone::InProgress { progress: next, look_again_seconds }) => {
                    progress = Some(next);
                    self.seconds(u64::from(look_again_seconds)).await;
                }
                Err(error) => self.obey(error).await?,
            }
        }
        panic!("{:?} did not go off", self.kind);
    }

    async fn obey(&self, error: ProviderError) -> Result<(), ProviderError> {
        for canary in ["canary", "webhook/", "Systems/", "op-power"] {
            assert!(!error.to_string().contains(canary), "an error shows {canary}: {error}");
        }
        match error.retry() {
            Retry::SameAfter(wait) => self.seconds(wait.as_secs().max(1)).await,
            Retry::ReadBack => drop(self.power.observe(&key()).await),
            Retry::NextOffering | Retry::Never => return Err(error),
        }
        Ok(())
    }

    /// A process that died takes its memory along, and the progress that it had not written down.
    fn after_a_crash(&mut self, progress: &mut Option<Progress>) {
        if self.crashed.swap(false, Ordering::SeqCst) {
            self.restart();
            *progress = None;
        }
    }

    pub fn restart(&mut self) {
        self.power = provider(&self.world, &self.holders, vec![self.config.clone()]);
    }
}

pub fn provider(world: &World, holders: &HoldTable, machines: Vec<MachineConfig>) -> Power {
    let policy = UrlPolicy::new(vec![HostRule::parse("rack.test").unwrap()], true);
    let clock = world.clock;
    let transport = Arc::new(DoorTransport(world.clone()));
    Power::new(machines, policy, transport, Arc::new(holders.clone()), Arc::new(move || clock.now())).unwrap()
}

pub fn claim() -> Uid {
    Uid::new("6f1c0d3e-1111-4222-8333-944444444444").unwrap()
}

pub fn key() -> InstanceKey {
    InstanceKey { claim: claim(), name: ObjectName::new("train-0").unwrap() }
}

pub fn time(text: &str) -> Timestamp {
    text.parse().unwrap()
}
