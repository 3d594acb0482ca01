//! Azure as the suite sees it: a world of its own, looked at from inside, never by way of the provider.

use async_trait::async_trait;
use bytes::Bytes;
use core::{fmt, time::Duration};
use http::Request as HttpRequest;
use model::{CapacityType, InstanceKey, InstanceRequest, ObjectName, Offering};
use provider::contract::{self, Foreign, Mishap, Request, Subject, Unobtainable};
use provider::{Provider, Scope};
use provider_aks::{CLAIM_UID, PROVIDER, QUOTA_FAMILY, Settings, bundled, pool_name};
use serde_json::{Value, json};
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};
use world::{
    World, WorldOptions,
    arm::{Effect, Fault, PoolRecord, QuotaAnswer, Shortage, When},
    faults::{self, Matching},
    history::Place,
};

use crate::{azure, weather::Weather};

const OBTAINABLE: &str = "Standard_NC24ads_A100_v4";
const OUT_OF_STOCK: &str = "Standard_NC40ads_H100_v5";
const OVER_QUOTA: &str = "Standard_ND96isr_H200_v5";

pub struct Azure {
    world: World,
    settings: Settings,
    weather: Weather,
    numbers: AtomicU64,
    tally: Tally,
}

/// How much was tried.
#[derive(Clone, Default)]
pub struct Tally(Arc<(AtomicU64, AtomicU64)>);

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (worlds, faults) = &*self.0;
        write!(f, "{} worlds, {} faults", worlds.load(Ordering::Relaxed), faults.load(Ordering::Relaxed))
    }
}

impl Azure {
    /// Shortages show up when `shortage` says, quota as `quota` does.
    pub fn start(weather: Weather, shortage: When, quota: QuotaAnswer, tally: &Tally) -> Azure {
        let mut options = WorldOptions::default();
        azure::quick(&mut options.arm);
        let effect = Effect::Refuse { why: Shortage::SkuNotAvailable, when: shortage };
        options.arm.faults.push(Fault::new(effect).on_size(OUT_OF_STOCK));
        options.arm.quota.families.insert("standardNDISRH200V5Family".to_owned(), 10);
        options.arm.quota.answer = quota;
        // More than one page for the crowd, the stranger and the system pool.
        options.arm.limits.page = 2;
        let settings = azure::settings(&options.arm);
        tally.0.0.fetch_add(1, Ordering::Relaxed);
        Azure { world: World::start(options), settings, weather, numbers: AtomicU64::new(0), tally: tally.clone() }
    }

    fn pools(&self, key: &InstanceKey) -> Vec<PoolRecord> {
        let ours = |pool: &PoolRecord| pool.labels.get(CLAIM_UID).is_some_and(|uid| uid == key.claim.as_str());
        self.world.arm.snapshot().pools.into_iter().filter(ours).collect()
    }

    /// Somebody else at work: past the door, so that neither faults nor history know of it.
    async fn strangers_call(&self, request: HttpRequest<Bytes>) -> Value {
        let answer = self.world.arm.respond(request).await;
        assert!(answer.status().is_success(), "a stranger was refused: {:?}", answer.body());
        serde_json::from_slice(answer.body()).unwrap_or(Value::Null)
    }

    async fn strangers_token(&self) -> String {
        let options = world::arm::ArmOptions::default();
        let form = format!(
            "grant_type=client_credentials&client_id={}&client_secret={}&scope=https%3A%2F%2Fmanagement.azure.com%2F.default",
            options.identities[0].client_id,
            options.identities[0].secret.as_deref().unwrap()
        );
        let address = format!("https://login.microsoftonline.com/{}/oauth2/v2.0/token", options.tenant);
        let request = HttpRequest::post(address).header("content-type", "application/x-www-form-urlencoded");
        let answer = self.strangers_call(request.body(Bytes::from(form)).unwrap()).await;
        answer["access_token"].as_str().unwrap().to_owned()
    }
}

#[async_trait]
impl Subject for Azure {
    async fn provider(&self) -> Arc<dyn Provider> {
        Arc::new(azure::provider(&self.world, &self.settings))
    }

    /// Every other name is one that AKS takes as it is.
    fn fresh_key(&self) -> InstanceKey {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let key = contract::key(number);
        match number % 2 {
            0 => InstanceKey { name: ObjectName::new(format!("gpu{number}")).unwrap(), ..key },
            _ => key,
        }
    }

    fn obtainable(&self) -> Offering {
        offering(OBTAINABLE)
    }

    fn without_stock(&self) -> Option<Unobtainable> {
        let offering = offering(OUT_OF_STOCK);
        Some(Unobtainable { scope: Scope::Offering(offering.id.clone()), offering })
    }

    fn over_quota(&self) -> Option<Unobtainable> {
        let offering = offering(OVER_QUOTA);
        let family = offering.labels[QUOTA_FAMILY].clone();
        Some(Unobtainable { scope: Scope::Family { provider: PROVIDER.to_owned(), family }, offering })
    }

    fn request(&self, key: InstanceKey, offering: Offering, epoch: u32) -> InstanceRequest {
        InstanceRequest {
            key,
            offering,
            epoch,
            labels: [("kaito.sh/workspace".to_owned(), "falcon".to_owned())].into(),
            annotations: [].into(),
            taints: vec![],
            startup_taints: vec![],
            requests: [("storage".to_owned(), "120Gi".parse().unwrap())].into(),
            class: [].into(),
        }
    }

    async fn advance(&self, by: Duration) {
        self.world.clock.sleep(by).await;
    }

    async fn live(&self, key: &InstanceKey) -> usize {
        self.pools(key).iter().flat_map(|pool| &pool.machines).filter(|machine| machine.gone.is_none()).count()
    }

    /// A pool without machines costs nothing but its name, which is as much in the way.
    async fn billed(&self, key: &InstanceKey) -> Vec<String> {
        let mut billed = Vec::new();
        for pool in self.pools(key) {
            let machines = pool.machines.iter().filter(|machine| machine.gone.is_none());
            billed.extend(machines.map(|machine| format!("machine {}", machine.node)));
            if pool.deleted.is_none() {
                billed.push(format!("agent pool {} ({:?})", pool.name, pool.provisioning));
            }
        }
        billed
    }

    async fn requests(&self) -> Vec<Request> {
        let exchanges = self.world.history.exchanges();
        let ours = exchanges.into_iter().filter(|one| one.to == Place::Aks);
        ours.map(|one| {
            let changes = one.method != "GET" && !one.path.ends_with("/oauth2/v2.0/token");
            Request { what: format!("{} {}", one.method, one.path), changes }
        })
        .collect()
    }

    async fn inject(&self, fault: contract::Fault) {
        self.tally.0.1.fetch_add(1, Ordering::Relaxed);
        let on = Matching { to: Some("aks".to_owned()), nth: Some(fault.nth), ..Matching::default() };
        self.world.faults.add(faults::Fault { on, then: (self.weather.becomes)(fault.mishap) });
    }

    async fn plant_foreign(&self, key: &InstanceKey) -> Foreign {
        let Settings { endpoint, subscription, resource_group, cluster, .. } = &self.settings;
        let pool = pool_name(key);
        let address = format!(
            "{endpoint}/subscriptions/{subscription}/resourceGroups/{resource_group}/providers/Microsoft.ContainerService/managedClusters/{cluster}/agentPools/{pool}?api-version=2025-05-01"
        );
        let body = json!({"properties": {"count": 1, "vmSize": "Standard_NC4as_T4_v3", "mode": "User"}});
        let token = self.strangers_token().await;
        let request = HttpRequest::put(address).header("authorization", format!("Bearer {token}"));
        let request = request.header("content-type", "application/json").body(Bytes::from(body.to_string())).unwrap();
        self.strangers_call(request).await;
        // The cluster does one thing at a time: the stranger is through before we begin.
        self.advance(Duration::from_secs(60)).await;
        Foreign::TakesTheName
    }

    async fn foreign(&self, key: &InstanceKey) -> String {
        format!("{:?}", self.world.arm.snapshot().pool(&pool_name(key)))
    }

    fn mishaps(&self) -> Vec<Mishap> {
        self.weather.tries.into()
    }
}

/// A bundled one of the world's region, anywhere in it and on demand.
fn offering(size: &str) -> Offering {
    let fits = |one: &Offering| {
        one.id.instance_type == size && one.id.zone.is_none() && one.id.capacity_type == CapacityType::OnDemand
    };
    bundled("eastus", &[]).into_iter().find(fits).unwrap()
}
