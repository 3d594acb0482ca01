//! The world put together: a cluster, its controllers, three clouds, and one door to each.

use bytes::Bytes;
use http::{HeaderMap, Request, Response, header::AUTHORIZATION};
use http_body_util::BodyExt as _;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use std::{collections::BTreeMap, io, sync::Arc};

use crate::{
    api::{
        admission,
        objects::Objects,
        server::ApiServer,
        store::{ResourceKey, Store, Stored},
    },
    arm::{Arm, ArmOptions, price_of},
    body::WorldBody,
    chance::Chance,
    check::{
        CLAIM_KEY, CLAIM_TAG, Instance, Violation, Watchman, first_line_with, first_write_since, lines_about,
        nothing_left_behind, one_instance_a_claim,
    },
    check_money::millionths,
    clock::{BEGINNING, Clock},
    controllers::{Controllers, ControllersOptions},
    door::{CrashHook, Door, Hall, Respond},
    faults::Faults,
    fleet::Fleet,
    history::{Audit, History, Place},
    power::{self, Power},
    resources::kinds::Registry,
    scaleway::{self, Scaleway},
};

/// How a world is made.
#[derive(Debug, Clone)]
pub struct WorldOptions {
    pub seed: u64,
    /// The world's first moment.
    pub beginning: Timestamp,
    /// Virtual seconds in a second of tokio's time.
    pub speed: f64,
    /// Changes of each resource that watches can still ask for.
    pub most_changes: usize,
    /// Exchanges that are kept in memory.
    pub most_exchanges: usize,
    pub controllers: ControllersOptions,
    pub arm: ArmOptions,
    pub scaleway: scaleway::options::Options,
    pub power: power::options::Options,
}

impl Default for WorldOptions {
    fn default() -> Self {
        WorldOptions {
            seed: 42,
            beginning: BEGINNING,
            speed: 1.0,
            most_changes: 100_000,
            most_exchanges: 100_000,
            controllers: ControllersOptions::default(),
            arm: ArmOptions::default(),
            scaleway: scaleway::options::Options::default(),
            power: rack(),
        }
    }
}

/// The rack of a world that was told of none: two machines with a webhook, one with Redfish.
fn rack() -> power::options::Options {
    use power::options::{BackEnd, MachineOptions, Options};
    let machines = vec![
        MachineOptions::new("rack-1", BackEnd::Webhook, 1),
        MachineOptions::new("rack-2", BackEnd::Webhook, 4),
        MachineOptions::new("rack-3", BackEnd::Redfish, 8),
    ];
    Options { machines, ..Options::default() }
}

/// A running world. Cheap to clone; all clones are the same world.
#[derive(Clone)]
pub struct World {
    pub clock: Clock,
    pub chance: Chance,
    pub objects: Objects,
    pub faults: Faults,
    pub history: History,
    pub arm: Arm,
    pub scaleway: Scaleway,
    pub power: Power,
    kubernetes: Door<ApiServer>,
    aks: Door<Cloud<Arm>>,
    scaleway_door: Door<Cloud<Scaleway>>,
    power_door: Door<Cloud<Power>>,
    fleet: Arc<dyn Fleet>,
    watchman: Watchman,
    _controllers: Arc<Controllers>,
}

impl World {
    /// Starts everything. Must be called inside a runtime.
    pub fn start(options: WorldOptions) -> Self {
        World::start_with(options, Arc::new(|_: &str| {}))
    }

    /// The same, told who crashed by an injected fault.
    pub fn start_with(options: WorldOptions, crashed: CrashHook) -> Self {
        World::start_where(options, crashed, None)
    }

    /// Its clouds beside another cluster: machines join there, and the world's own cluster stays empty.
    pub fn beside(options: WorldOptions, fleet: Arc<dyn Fleet>) -> Self {
        World::start_where(options, Arc::new(|_: &str| {}), Some(fleet))
    }

    fn start_where(options: WorldOptions, crashed: CrashHook, elsewhere: Option<Arc<dyn Fleet>>) -> Self {
        let (clock, chance) = (Clock::start_at(options.beginning, options.speed), Chance::new(options.seed));
        let objects = Objects::new(Store::new(options.most_changes), clock, chance.stream("objects"));
        let admitting = (objects.clone(), Registry::new());
        let admit =
            move |key: &ResourceKey, value: &mut Value| admission::admit(&admitting.0, &admitting.1, key, value);
        let controllers_options = ControllersOptions { admission: Some(Arc::new(admit)), ..options.controllers };
        let (controllers, fleet) =
            Controllers::start(objects.clone(), clock, chance.stream("controllers"), controllers_options);
        let history = History::new(options.most_exchanges);
        let watchman = Watchman::new(Arc::new(fleet), objects.clone(), clock, history.clone());
        tokio::spawn(watchman.clone().follow_claims());
        let fleet: Arc<dyn Fleet> = elsewhere.unwrap_or_else(|| Arc::new(watchman.clone()));
        let arm = Arm::new(clock, chance.stream("aks"), fleet.clone(), options.arm);
        let scaleway = Scaleway::new(clock, chance.stream("scaleway"), fleet.clone(), options.scaleway);
        let power = Power::new(clock, chance.stream("power"), fleet.clone(), options.power);
        let hall = Hall { clock, faults: Faults::default(), history, crashed };
        World {
            clock,
            chance,
            faults: hall.faults.clone(),
            history: hall.history.clone(),
            kubernetes: Door::new(Place::Kubernetes, Arc::new(ApiServer::new(objects.clone())), hall.clone()),
            aks: Door::new(Place::Aks, Arc::new(Cloud(arm.clone())), hall.clone()),
            scaleway_door: Door::new(Place::Scaleway, Arc::new(Cloud(scaleway.clone())), hall.clone()),
            power_door: Door::new(Place::Power, Arc::new(Cloud(power.clone())), hall),
            objects,
            arm,
            scaleway,
            power,
            fleet,
            watchman,
            _controllers: Arc::new(controllers),
        }
    }

    /// The way in for machines that no cloud made.
    pub fn fleet(&self) -> Arc<dyn Fleet> {
        self.fleet.clone()
    }

    /// The next loss of this node is the test's doing, not a broken promise.
    pub fn expect_loss(&self, node: &str) {
        self.watchman.expect_loss(node);
    }

    /// All machines together may cost no more than this an hour, in millionths: [`World::check`] sees to it.
    pub fn cap_all(&self, millionths: u64) {
        self.watchman.cap_all(millionths);
    }

    /// The first invariant that was broken so far, with the lines that led to it. `grace` is how long a cloud may take
    /// to delete, on top of the minute that a leak may live.
    pub fn check(&self, grace: SignedDuration) -> Result<(), Violation> {
        if let Some(violation) = self.watchman.first_violation() {
            return Err(violation);
        }
        let instances = self.instances();
        let about = |(what, name): (String, String), invariant| {
            let lines = lines_about(&self.history.exchanges(), &name);
            Violation { invariant, what, lines }
        };
        one_instance_a_claim(&instances).map_err(|broken| about(broken, 1))?;
        self.watchman.purse().holds(&instances).map_err(|broken| about(broken, 6))?;
        let claims = self.claims();
        nothing_left_behind(&instances, &claims, self.clock.now(), grace).map_err(|broken| about(broken, 3))
    }

    /// Whether nobody has changed anything since then (invariant 5).
    pub fn check_quiet_since(&self, since: Timestamp) -> Result<(), Violation> {
        let exchanges = self.history.exchanges();
        match first_write_since(&exchanges, since) {
            None => Ok(()),
            Some(write) => {
                let what = format!("{} still writes after {since}", write.user);
                Err(Violation { invariant: 5, what, lines: lines_about(&exchanges, &write.path) })
            }
        }
    }

    /// Whether none of these secrets was written into the cluster outside of a Secret (invariant 7).
    pub fn check_secrets(&self, secrets: &[&str]) -> Result<(), Violation> {
        let exchanges = self.history.exchanges();
        match secrets.iter().find_map(|secret| first_line_with(&exchanges, secret)) {
            None => Ok(()),
            // The line itself is left out: it holds the secret.
            Some(said) => {
                let what = format!("{} wrote a secret: {} {}", said.user, said.method, said.path);
                Err(Violation { invariant: 7, what, lines: Vec::new() })
            }
        }
    }

    /// Every instance of every cloud, those that are gone included. A machine in a rack is there for ever, so it is none.
    pub fn instances(&self) -> Vec<Instance> {
        let pools = self.arm.snapshot().pools.into_iter().filter(|pool| !pool.system).map(|pool| Instance {
            cloud: Place::Aks.as_str(),
            claim: pool.labels.get(CLAIM_KEY).or_else(|| pool.tags.get(CLAIM_KEY)).cloned(),
            price: millionths(price_of(&pool.size, pool.spot)),
            name: pool.name,
            from: pool.created,
            until: pool.deleted,
        });
        let servers = self.scaleway.snapshot().servers.into_iter().map(|server| Instance {
            cloud: Place::Scaleway.as_str(),
            claim: server.tags.iter().find_map(|tag| tag.strip_prefix(CLAIM_TAG)?.strip_prefix('=').map(str::to_owned)),
            name: server.id,
            from: server.created,
            until: server.deleted,
            price: millionths(server.euro_per_hour),
        });
        pools.chain(servers).collect()
    }

    /// Claims by UID: alive, or gone since when.
    fn claims(&self) -> BTreeMap<String, Option<Timestamp>> {
        let alive = self.objects.list(&("karpenter.sh".into(), "nodeclaims".into()));
        let uid = |stored: &Arc<Stored>| stored.value["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
        let mut claims: BTreeMap<String, Option<Timestamp>> = self.watchman.gone_claims();
        claims.extend(alive.iter().map(|stored| (uid(stored), None)));
        claims
    }

    pub fn kubernetes(&self) -> Door<ApiServer> {
        self.kubernetes.clone()
    }

    pub fn aks(&self) -> Door<Cloud<Arm>> {
        self.aks.clone()
    }

    pub fn scaleway(&self) -> Door<Cloud<Scaleway>> {
        self.scaleway_door.clone()
    }

    pub fn power(&self) -> Door<Cloud<Power>> {
        self.power_door.clone()
    }

    /// A real Kubernetes client that speaks to this world in process, as this user.
    pub fn client(&self, user: &str) -> kube::Client {
        let (door, token) = (self.kubernetes.clone(), format!("Bearer world:{user}"));
        let service = tower::service_fn(move |request: Request<kube::client::Body>| {
            let (door, token) = (door.clone(), token.clone());
            async move { call(&door, &token, request).await }
        });
        kube::Client::new(service, "default")
    }
}

async fn call(
    door: &Door<ApiServer>,
    token: &str,
    request: Request<kube::client::Body>,
) -> io::Result<Response<WorldBody>> {
    let (mut head, body) = request.into_parts();
    if let Ok(value) = token.parse() {
        head.headers.insert(AUTHORIZATION, value);
    }
    let body: Bytes = body.collect().await.map_err(io::Error::other)?.to_bytes();
    door.call(Request::from_parts(head, body)).await
}

/// A cloud behind a door: it answers at once and has no words of RBAC.
pub struct Cloud<C>(C);

/// What the three clouds have in common.
pub trait Answers: Send + Sync + 'static {
    fn answer(&self, request: Request<Bytes>) -> impl Future<Output = Response<Bytes>> + Send;
}

impl<C: Answers> Respond for Cloud<C> {
    async fn respond(&self, request: Request<Bytes>) -> Response<WorldBody> {
        self.0.answer(request).await.map(WorldBody::from)
    }

    fn user(&self, _: &HeaderMap) -> String {
        String::new()
    }

    fn audit(&self, _: &Request<Bytes>) -> Option<Audit> {
        None
    }
}

macro_rules! answers {
    ($($cloud:ident),+) => {$(
        impl Answers for $cloud {
            async fn answer(&self, request: Request<Bytes>) -> Response<Bytes> {
                self.respond(request).await
            }
        }
    )+};
}
answers!(Arm, Scaleway, Power);
