//! The world's Scaleway under the contract suite. What it says about the cloud it reads from the double itself.

use async_trait::async_trait;
use core::{fmt, time::Duration};
use http::Request;
use model::{InstanceKey, InstanceRequest, ObjectName, Offering};
use provider::contract::{Fault, Foreign, Mishap, Request as Sent, Subject, Unobtainable, key};
use provider::{Provider, Scope};
use provider_scaleway::PROVIDER;
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};
use world::{
    World,
    faults::{Fault as WorldFault, Matching, Mishap as WorldMishap},
    history::Place,
    scaleway::{
        Snapshot,
        options::{Availability, ShortageManner, Stock, Window},
    },
};

use crate::common::{PROJECT, SECRET_KEY, Stage, kubeadm, offering, provider_in, words};

const ZONE: &str = "fr-par-2";
/// The type with a local disk, so that there is one more thing to leave behind.
const OBTAINABLE: &str = "L40S-1-48G";
const WITHOUT_STOCK: &str = "H100-1-80G";
const OVER_QUOTA: &str = "L4-2-24G";

/// A world of its own, with a provider for it.
pub struct Double {
    tongue: Tongue,
    world: World,
    keys: AtomicU64,
    told: Told,
}

/// Which of the world's faults stand for those that the suite names.
#[derive(Debug, Clone, Copy)]
pub enum Tongue {
    /// A reset is a reset, a bad gateway says 502.
    Plain,
    /// The connection ends as at a crash, a bad gateway says 503.
    Harsh,
}

/// What was done in all, by name: so that a report can say how much it stands for.
#[derive(Clone, Default)]
pub struct Told(Arc<Mutex<BTreeMap<String, u64>>>);

impl Told {
    fn count(&self, what: String) {
        *self.0.lock().unwrap().entry(what).or_default() += 1;
    }
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.lock().unwrap().iter().try_for_each(|(what, count)| writeln!(f, "{count:8} {what}"))
    }
}

impl Double {
    pub fn start(told: &Told) -> Double {
        Double::without_stock(told, ShortageManner::RefusesPoweron)
    }

    /// The manner is how a shortage shows.
    pub fn without_stock(told: &Told, manner: ShortageManner) -> Double {
        let stage = Stage::with(|options| {
            let (commercial_type, zone) = (WITHOUT_STOCK.to_owned(), ZONE.to_owned());
            let availability = Availability::Shortage;
            options.stock.push(Stock { commercial_type, zone, window: Window::ALWAYS, availability, manner });
            options.quotas.servers.insert(OVER_QUOTA.to_owned(), 0);
        });
        told.count("worlds".to_owned());
        Double { tongue: Tongue::Plain, world: stage.world, keys: AtomicU64::new(0), told: told.clone() }
    }

    pub fn speaking(self, tongue: Tongue) -> Double {
        Double { tongue, ..self }
    }

    fn present(&self) -> Snapshot {
        self.world.scaleway.snapshot().present()
    }

    /// Past the door: it meets no fault and is in no history.
    async fn by_hand(&self, method: &str, path: &str, body: Value) -> Value {
        let request = Request::builder().method(method).uri(path).header("x-auth-token", SECRET_KEY);
        let answer = self.world.scaleway.respond(request.body(body.to_string().into()).unwrap()).await;
        assert!(answer.status().is_success(), "{answer:?}");
        serde_json::from_slice(answer.body()).unwrap_or_default()
    }
}

#[async_trait]
impl Subject for Double {
    async fn provider(&self) -> Arc<dyn Provider> {
        Arc::new(provider_in(&self.world, SECRET_KEY, "east"))
    }

    /// Plain names, and the longest with dots that a node can have.
    fn fresh_key(&self) -> InstanceKey {
        let plain = key(self.keys.fetch_add(1, Ordering::SeqCst) + 1);
        let long = format!("{}.{}", plain.name, "x".repeat(63 - plain.name.as_str().len() - 1));
        let is_even = plain.claim.as_str().ends_with(['0', '2', '4', '6', '8', 'a', 'c', 'e']);
        if is_even { InstanceKey { name: ObjectName::new(long).unwrap(), ..plain } } else { plain }
    }

    fn obtainable(&self) -> Offering {
        offering(OBTAINABLE, ZONE)
    }

    fn without_stock(&self) -> Option<Unobtainable> {
        let offering = offering(WITHOUT_STOCK, ZONE);
        Some(Unobtainable { scope: Scope::Offering(offering.id.clone()), offering })
    }

    fn over_quota(&self) -> Option<Unobtainable> {
        let (provider, instance_type) = (PROVIDER.to_owned(), OVER_QUOTA.to_owned());
        Some(Unobtainable {
            offering: offering(OVER_QUOTA, ZONE),
            scope: Scope::InstanceType { provider, instance_type },
        })
    }

    /// With everything that can be left behind: a local disk, an address, a place in a network.
    fn request(&self, key: InstanceKey, offering: Offering, epoch: u32) -> InstanceRequest {
        let network = "6f1c0d3e-5555-4222-8333-944444444444";
        let mut class = kubeadm();
        class.extend(words(&[("scratch", "true"), ("public-ip", "flexible"), ("private-network", network)]));
        InstanceRequest { key, offering, epoch, class, ..crate::common::request(OBTAINABLE, ZONE) }
    }

    async fn advance(&self, by: Duration) {
        self.world.clock.sleep(by).await;
    }

    async fn live(&self, key: &InstanceKey) -> usize {
        self.present().servers.iter().filter(|server| is_of(&server.tags, key)).count()
    }

    async fn boots(&self, key: &InstanceKey) -> Option<u32> {
        let present = self.present();
        present.servers.iter().find(|server| is_of(&server.tags, key)).map(|server| server.power_ons)
    }

    async fn billed(&self, key: &InstanceKey) -> Vec<String> {
        let present = self.present();
        let servers = present.servers.iter().filter(|one| is_of(&one.tags, key));
        let of_a_server =
            |id: &Option<String>| servers.clone().any(|server| id.as_deref().is_some_and(|id| id == server.id));
        // A disk has no tag before it gets one, and no server when that is gone; then its name is all it has.
        let named = |name: &str| name.strip_prefix(key.name.as_str()).is_some_and(|rest| rest.starts_with('-'));
        let volumes =
            present.volumes.iter().filter(|one| is_of(&one.tags, key) || of_a_server(&one.server) || named(&one.name));
        let ips = present.ips.iter().filter(|one| is_of(&one.tags, key) || of_a_server(&one.server));
        servers
            .clone()
            .map(|one| format!("server {} ({:?})", one.id, one.state))
            .chain(volumes.map(|one| format!("volume {} ({:?})", one.id, one.kind)))
            .chain(ips.map(|one| format!("address {}", one.address)))
            .collect()
    }

    async fn requests(&self) -> Vec<Sent> {
        self.world.history.select(|one| {
            let sent = || Sent { what: format!("{} {}", one.method, one.path), changes: one.method != "GET" };
            (one.to == Place::Scaleway).then(sent)
        })
    }

    async fn inject(&self, fault: Fault) {
        let answer = |status, done, retry_after| WorldMishap::Answer { status, done, retry_after };
        let then = match (fault.mishap, self.tongue) {
            (Mishap::Reset { done }, Tongue::Plain) => WorldMishap::Reset { done },
            (Mishap::Reset { done }, Tongue::Harsh) => WorldMishap::Crash { done },
            (Mishap::TimeOut { done }, _) => WorldMishap::TimeOut { done },
            (Mishap::BadGateway { done }, Tongue::Plain) => answer(502, done, None),
            (Mishap::BadGateway { done }, Tongue::Harsh) => answer(503, done, None),
            (Mishap::Throttled { retry_after }, _) => answer(429, false, Some(retry_after.as_secs())),
        };
        self.told.count(format!("times {}", then.name()));
        let on =
            Matching { to: Some(Place::Scaleway.as_str().to_owned()), nth: Some(fault.nth), ..Matching::default() };
        self.world.faults.add(WorldFault { on, then });
    }

    /// A neighbour's server that runs under the same name, with a disk and an address, and a UID that begins like ours.
    async fn plant_foreign(&self, key: &InstanceKey) -> Foreign {
        let tags = foreign_tags(key);
        let servers = format!("/instance/v1/zones/{ZONE}/servers");
        let image = "/marketplace/v2/local-images?image_label=ubuntu_jammy_gpu_os_12&zone=fr-par-2&type=instance_sbs";
        let images = self.by_hand("GET", image, Value::Null).await;
        let ips = format!("/instance/v1/zones/{ZONE}/ips");
        let address = self.by_hand("POST", &ips, json!({"project": PROJECT, "tags": tags})).await;
        let volume = json!({"name": "theirs", "size": 20_000_000_000_u64, "volume_type": "sbs_volume"});
        let body = json!({"name": key.name.as_str(), "commercial_type": "L4-1-24G", "project": PROJECT, "tags": tags,
            "image": images["local_images"][0]["id"], "volumes": {"0": volume}, "dynamic_ip_required": false,
            "public_ips": [address["ip"]["id"]]});
        let made = self.by_hand("POST", &servers, body).await;
        let (server, root) = (&made["server"]["id"], &made["server"]["volumes"]["0"]["id"]);
        let root = format!("/block/v1/zones/{ZONE}/volumes/{}", root.as_str().unwrap());
        self.by_hand("PATCH", &root, json!({"tags": tags})).await;
        let action = format!("{servers}/{}/action", server.as_str().unwrap());
        self.by_hand("POST", &action, json!({"action": "poweron"})).await;
        self.advance(Duration::from_secs(60)).await;
        Foreign::OnlyLooksAlike
    }

    async fn foreign(&self, key: &InstanceKey) -> String {
        let (present, tags) = (self.present(), foreign_tags(key));
        let servers = present.servers.iter().filter(|one| one.tags == tags);
        let servers: Vec<_> =
            servers.map(|one| (&one.id, &one.name, one.state, &one.user_data, one.power_ons)).collect();
        let volumes: Vec<_> = present.volumes.iter().filter(|one| one.tags == tags).collect();
        let ips: Vec<_> = present.ips.iter().filter(|one| one.tags == tags).collect();
        assert_eq!((servers.len(), volumes.len(), ips.len()), (1, 1, 1), "what was planted has grown or gone");
        format!("{servers:?} {volumes:?} {ips:?}")
    }

    /// A page has a hundred.
    fn crowd(&self) -> usize {
        101
    }
}

fn is_of(tags: &[String], key: &InstanceKey) -> bool {
    tags.contains(&format!("pilotlight-claim-uid={}", key.claim))
}

fn foreign_tags(key: &InstanceKey) -> Vec<String> {
    let uid = format!("pilotlight-claim-uid={}-2", key.claim);
    vec!["created-by=pilotlight".to_owned(), uid, "pilotlight-cluster=west".to_owned()]
}
