//! Sends an event for every change of a claim or its node, and does what the answers ask for: call again, or later.

use model::Answer;
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{sync::Notify, task::JoinSet};
use world::{World, api::store::ResourceKey, chance::Chance, deliveries::DeliveryFaults};

use crate::{Copy, Make};

/// One event that was answered, or whose function died over it.
#[derive(Debug, Clone)]
pub struct Delivery {
    pub claim: String,
    pub function: &'static str,
    pub answer: Option<Answer>,
}

/// Hears of every delivery.
pub type Telling = Arc<dyn Fn(&Delivery) + Send + Sync>;

/// How events get to the functions.
#[derive(Clone)]
pub struct Messenger {
    pub world: World,
    pub functions: Vec<Make>,
    /// How many processes run side by side. Each hears of every claim.
    pub copies: usize,
    /// What happens to events on their way; none are dropped for good, the next change or look brings them.
    pub faults: DeliveryFaults,
    pub telling: Telling,
}

/// A claim in the hands of one copy.
struct Lane {
    claim: String,
    changed: Arc<Notify>,
}

/// How often all claims are told again, changed or not.
const RESYNC: Duration = Duration::from_secs(300);
/// After a crash somebody starts the process again.
const UNTIL_RESTARTED: Duration = Duration::from_secs(2);

impl Messenger {
    /// Everything right: one copy, nothing lost.
    pub fn new(world: &World, functions: &[Make]) -> Self {
        Messenger {
            world: world.clone(),
            functions: functions.to_vec(),
            copies: 1,
            faults: DeliveryFaults::default(),
            telling: Arc::new(|_| {}),
        }
    }

    /// Works for as long as the future is polled.
    pub async fn run(self) {
        let mut copies = JoinSet::new();
        for number in 0..self.copies {
            copies.spawn(self.clone().run_copy(number));
        }
        while copies.join_next().await.is_some() {}
    }

    async fn run_copy(self, number: usize) {
        let user = format!("pilotlight-{}", number + 1);
        let Some(copy) = self.start(&user) else { return };
        let copy = Arc::new(Mutex::new(Arc::new(copy)));
        let chance = self.world.chance.stream(&user);
        let store = &self.world.objects.store;
        let (mut news, mut lanes, mut work) =
            (store.subscribe(), BTreeMap::<String, Arc<Notify>>::new(), JoinSet::new());
        let mut revision = 0;
        let mut resync = Box::pin(self.world.clock.sleep(RESYNC));
        loop {
            let names = self.changed_claims(&mut revision);
            for name in self.delivered(&chance, names) {
                let changed = lanes.entry(name.clone()).or_default().clone();
                changed.notify_one();
                if Arc::strong_count(&changed) == 2 {
                    let lane = Lane { claim: name, changed };
                    work.spawn(self.clone().follow(lane, user.clone(), copy.clone(), chance.stream("lane")));
                }
            }
            tokio::select! {
                changed = news.changed() => if changed.is_err() { return },
                // What was lost on the way is told again.
                () = &mut resync => {
                    revision = 0;
                    resync = Box::pin(self.world.clock.sleep(RESYNC));
                }
                Some(_) = work.join_next() => {}
            }
        }
    }

    /// Names of claims that changed since a revision, or whose node did.
    fn changed_claims(&self, revision: &mut u64) -> Vec<String> {
        let store = &self.world.objects.store;
        let claims: ResourceKey = ("karpenter.sh".into(), "nodeclaims".into());
        let nodes: ResourceKey = ("".into(), "nodes".into());
        let mut names = Vec::new();
        let since = *revision;
        let log = if since == 0 { Err(()) } else { store.read_log(&claims, since).map_err(drop) };
        match log {
            Ok((changes, seen)) => {
                names.extend(changes.iter().map(|change| name_of(&change.after.value)));
                *revision = seen;
            }
            Err(_) => {
                *revision = store.revision();
                names.extend(self.world.objects.list(&claims).iter().map(|stored| name_of(&stored.value)));
            }
        }
        let changes = if since == 0 {
            Vec::new()
        } else {
            store.read_log(&nodes, since).map_or_else(|_| Vec::new(), |(changes, _)| changes)
        };
        for change in &changes {
            let owners = change.after.value["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default();
            names.extend(owners.iter().filter(|owner| owner["kind"] == "NodeClaim").map(|owner| text(&owner["name"])));
            let uid = &change.after.value["metadata"]["labels"]["pilotlight.dev/claim-uid"];
            let of_claim = |value: &Value| uid.is_string() && value["metadata"]["uid"] == *uid;
            let listed = if uid.is_string() { self.world.objects.list(&claims) } else { Vec::new() };
            names.extend(listed.iter().filter(|stored| of_claim(&stored.value)).map(|stored| name_of(&stored.value)));
        }
        names.sort();
        names.dedup();
        names
    }

    /// What arrives of them. A delay is made by the lane, so that only the order and the number change here.
    fn delivered(&self, chance: &Chance, names: Vec<String>) -> Vec<String> {
        if self.faults == DeliveryFaults::default() {
            return names;
        }
        self.faults.apply(chance, &names).into_iter().map(|(_, name)| name).collect()
    }

    fn start(&self, user: &str) -> Option<Copy> {
        Copy::start(&self.world, user, &self.functions)
            .inspect_err(|problem| tracing::error!(user, problem, "a copy did not start"))
            .ok()
    }

    /// One claim: told of, answered, and looked at again when the answer says so, until it is gone.
    async fn follow(self, lane: Lane, user: String, copy: Arc<Mutex<Arc<Copy>>>, chance: Chance) {
        let mut last: Option<Value> = None;
        let mut wait: Option<Duration> = None;
        loop {
            let changed = lane.changed.notified();
            match wait {
                Some(wait) => tokio::select! {
                    () = changed => {}
                    () = self.world.clock.sleep(wait) => {}
                },
                None => changed.await,
            }
            if self.faults.longest_delay_ms > 0 {
                let delay = chance.below(self.faults.longest_delay_ms);
                self.world.clock.sleep(Duration::from_millis(delay)).await;
            }
            let claims: ResourceKey = ("karpenter.sh".into(), "nodeclaims".into());
            let now = self.world.objects.get(&claims, "", &lane.claim).map(|stored| stored.value.clone());
            let is_there = now.is_some();
            let Some(claim) = now.or_else(|| last.clone()) else { continue };
            let function = function_for(&claim);
            let running = copy.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let answer = running.call(function, &event(function, &claim)).await.ok();
            (self.telling)(&Delivery { claim: lane.claim.clone(), function, answer: answer.clone() });
            wait = match &answer {
                Some(answer) => answer.retry_after(),
                None => Some(UNTIL_RESTARTED),
            };
            if answer.is_none() {
                self.restart(&user, &copy, &running);
            }
            if !is_there && wait.is_none() {
                // Nothing is left to be done about a claim that is gone.
                last = None;
                continue;
            }
            last = Some(claim);
        }
    }

    /// A new process in the place of the one that died, unless another lane has started it already.
    fn restart(&self, user: &str, copy: &Mutex<Arc<Copy>>, dead: &Arc<Copy>) {
        let mut place = copy.lock().unwrap_or_else(PoisonError::into_inner);
        if Arc::ptr_eq(&place, dead)
            && let Some(new) = self.start(user)
        {
            *place = Arc::new(new);
        }
    }
}

/// Which function a claim is for, as it is now.
pub fn function_for(claim: &Value) -> &'static str {
    if claim["metadata"]["deletionTimestamp"].is_string() { "on-delete" } else { "on-nodeclaim" }
}

/// The event that a forwarder would send about it.
pub fn event(function: &str, claim: &Value) -> String {
    let metadata = &claim["metadata"];
    let mut object =
        json!({ "name": metadata["name"], "uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"] });
    let (kind, data) = if function == "on-delete" {
        object["kind"] = json!("NodeClaim");
        ("dev.pilotlight.deletion.requested.v1", json!({ "object": object }))
    } else {
        object["nodeClassRef"] = claim["spec"]["nodeClassRef"].clone();
        ("dev.pilotlight.nodeclaim.changed.v1", json!({ "claim": object }))
    };
    let event = json!({
        "specversion": "1.0",
        "id": format!("{}-{}", text(&metadata["uid"]), text(&metadata["resourceVersion"])),
        "source": "world",
        "type": kind,
        "subject": format!("nodeclaim/{}", text(&metadata["name"])),
        "datacontenttype": "application/json",
        "data": data,
    });
    event.to_string()
}

fn name_of(object: &Value) -> String {
    text(&object["metadata"]["name"])
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
