//! Sends an event for every change of a claim or its node, for every pod that finds no node, and for every tick of the timer,
//! and does what the answers ask for: call again, or later.

use model::{Answer, Cap};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{sync::Notify, task::JoinSet};
use world::{World, api::store::ResourceKey, chance::Chance, deliveries::DeliveryFaults};

use crate::{
    Copy, Make,
    subject::{self, IDLE_TIMER, PENDING_POD, Subject, text},
};

/// One event that was answered, or whose function died over it.
#[derive(Debug, Clone)]
pub struct Delivery {
    /// The claim's name, `namespace/name` of a pod, or `tick`.
    pub subject: String,
    pub function: &'static str,
    pub answer: Option<Answer>,
}

/// Hears of every delivery.
pub type Telling = Arc<dyn Fn(&Delivery) + Send + Sync>;

/// How events get to the functions.
#[derive(Clone)]
pub struct Messenger {
    pub world: World,
    /// Whose clouds the functions reach: the world's own, or those of another one.
    pub clouds: World,
    pub functions: Vec<Make>,
    /// How many processes run side by side. Each hears of everything.
    pub copies: usize,
    /// What happens to events on their way; none are dropped for good, the next change or look brings them.
    pub faults: DeliveryFaults,
    /// Every event is lost, for ever: only the timer ticks.
    pub only_ticks: bool,
    /// How often the timer ticks; as a forwarder's does, if nobody says otherwise.
    pub tick: Duration,
    /// What all machines together may cost an hour.
    pub cap: Option<Cap>,
    pub telling: Telling,
}

/// A claim or a pod in the hands of one copy.
struct Lane {
    subject: Subject,
    changed: Arc<Notify>,
}

/// How often all claims and waiting pods are told again, changed or not.
const RESYNC: Duration = Duration::from_secs(300);
/// As a forwarder's timer.
const TICK: Duration = Duration::from_secs(30);
/// After a crash somebody starts the process again.
const UNTIL_RESTARTED: Duration = Duration::from_secs(2);

impl Messenger {
    /// Everything right: one copy, nothing lost.
    pub fn new(world: &World, functions: &[Make]) -> Self {
        Messenger {
            world: world.clone(),
            clouds: world.clone(),
            functions: functions.to_vec(),
            copies: 1,
            faults: DeliveryFaults::default(),
            only_ticks: false,
            tick: TICK,
            cap: None,
            telling: Arc::new(|_| {}),
        }
    }

    /// Works for as long as the future is polled.
    pub async fn run(self) {
        if let Some(cap) = &self.cap {
            self.world.cap_all(cap.millionths_per_hour);
        }
        let mut copies = JoinSet::new();
        for number in 0..self.copies {
            copies.spawn(self.clone().run_copy(number));
        }
        while copies.join_next().await.is_some() {}
    }

    async fn run_copy(self, number: usize) {
        let user = format!("pilotlight-{}", number + 1);
        let Some(copy) = self.start(&user) else { return };
        let places_pods = copy.has(PENDING_POD);
        let ticks = copy.has(IDLE_TIMER);
        let copy = Arc::new(Mutex::new(Arc::new(copy)));
        let chance = self.world.chance.stream(&user);
        let store = &self.world.objects.store;
        let (mut news, mut lanes, mut work) =
            (store.subscribe(), BTreeMap::<Subject, Arc<Notify>>::new(), JoinSet::new());
        if ticks {
            work.spawn(self.clone().tick(user.clone(), copy.clone()));
        }
        let mut revision = 0;
        let mut resync = Box::pin(self.world.clock.sleep(RESYNC));
        loop {
            let since = revision;
            let names = self.changed_claims(&mut revision);
            let mut subjects: Vec<Subject> = names.into_iter().map(Subject::Claim).collect();
            if places_pods {
                subjects.extend(self.waiting_pods(since));
            }
            for subject in self.delivered(&chance, subjects) {
                let changed = lanes.entry(subject.clone()).or_default().clone();
                changed.notify_one();
                if Arc::strong_count(&changed) == 2 {
                    let lane = Lane { subject, changed };
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
        let claims = subject::claims();
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

    /// Pods that find no node and changed since a revision; all of them since none.
    fn waiting_pods(&self, since: u64) -> Vec<Subject> {
        let store = &self.world.objects.store;
        let log = if since == 0 { Err(()) } else { store.read_log(&subject::pods(), since).map_err(drop) };
        let mut pods: Vec<Subject> = match log {
            Ok((changes, _)) => {
                let changes = changes.iter().filter(|change| !change.deleted);
                changes.filter_map(|change| subject::waiting(&change.after.value)).collect()
            }
            Err(()) => {
                let all = self.world.objects.list(&subject::pods());
                all.iter().filter_map(|stored| subject::waiting(&stored.value)).collect()
            }
        };
        pods.sort();
        pods.dedup();
        pods
    }

    /// What arrives of them. A delay is made by the lane, so that only the order and the number change here.
    fn delivered(&self, chance: &Chance, subjects: Vec<Subject>) -> Vec<Subject> {
        if self.only_ticks {
            return Vec::new();
        }
        if self.faults == DeliveryFaults::default() {
            return subjects;
        }
        self.faults.apply(chance, &subjects).into_iter().map(|(_, subject)| subject).collect()
    }

    fn start(&self, user: &str) -> Option<Copy> {
        Copy::with(&self.world, &self.clouds, user, &self.functions, self.cap.clone())
            .inspect_err(|problem| tracing::error!(user, problem, "a copy did not start"))
            .ok()
    }

    /// One claim or pod: told of, answered, and looked at again when the answer says so, until it is gone.
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
            let now = lane.subject.look(&self.world);
            let is_there = now.is_some();
            if !is_there && matches!(lane.subject, Subject::Pod(..)) {
                // It has its node, or is gone.
                wait = None;
                continue;
            }
            let Some(object) = now.or_else(|| last.clone()) else { continue };
            let function = lane.subject.function(&object);
            let running = copy.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let answer = running.call(function, &lane.subject.event(&object)).await.ok();
            (self.telling)(&Delivery { subject: lane.subject.to_string(), function, answer: answer.clone() });
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
            last = Some(object);
        }
    }

    /// The timer: it ticks, and sooner where the last answer asked for it.
    async fn tick(self, user: String, copy: Arc<Mutex<Arc<Copy>>>) {
        let mut wait = self.tick;
        loop {
            self.world.clock.sleep(wait).await;
            let running = copy.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let answer = running.call(IDLE_TIMER, &subject::tick(self.world.clock.now())).await.ok();
            (self.telling)(&Delivery { subject: "tick".to_owned(), function: IDLE_TIMER, answer: answer.clone() });
            wait = answer.as_ref().and_then(Answer::retry_after).map_or(self.tick, |after| after.min(self.tick));
            if answer.is_none() {
                wait = UNTIL_RESTARTED;
                self.restart(&user, &copy, &running);
            }
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

fn name_of(object: &Value) -> String {
    text(&object["metadata"]["name"])
}
