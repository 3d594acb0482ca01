//! A world with our custom resources in it, functions at work, and waiting for what happens.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api,
    api::{ApiResource, DeleteParams, DynamicObject, GroupVersionKind, PostParams},
};
use model::Answer;
use serde_json::Value;
use stage::{Delivery, JOIN_TOKEN, Make, Messenger};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::task::JoinHandle;
use world::{
    World, WorldOptions,
    api::store::Stored,
    power::{BackEnd, MachineOptions},
};

/// The functions that are on stage.
pub const FUNCTIONS: [Make; 3] = [on_pending_pod::function, on_nodeclaim::function, on_delete::function];

/// The same, and the one that looks after what the others left.
pub const WITH_TIMER: [Make; 4] =
    [on_pending_pod::function, on_nodeclaim::function, on_delete::function, on_idle_timer::function];

/// Of the world's time: whatever has not happened by then does not.
const LONGEST: Duration = Duration::from_secs(6 * 3600);

pub struct Theatre {
    pub world: World,
    /// What was answered last, by claim.
    pub answers: Arc<Mutex<BTreeMap<String, Option<Answer>>>>,
    work: Option<JoinHandle<()>>,
}

impl Theatre {
    pub async fn open() -> Self {
        Theatre::with(|_| {}).await
    }

    /// The world as told, with our custom resources and a rack of machines that claims may have.
    pub async fn with(change: impl FnOnce(&mut WorldOptions)) -> Self {
        let mut options = WorldOptions::default();
        options.scaleway.join_secrets = Some(vec![JOIN_TOKEN.to_owned()]);
        options.power.machines =
            (1..=2).map(|number| MachineOptions::new(&format!("rack-{number}"), BackEnd::Webhook, 1)).collect();
        change(&mut options);
        let world = World::start(options);
        let definitions: Api<CustomResourceDefinition> = Api::all(world.client("admin"));
        for definition in cluster::crd::all() {
            definitions.create(&PostParams::default(), &definition).await.expect("our definitions are accepted");
        }
        Theatre { world, answers: Arc::default(), work: None }
    }

    pub fn messenger(&self) -> Messenger {
        self.messenger_for(&FUNCTIONS)
    }

    pub fn messenger_for(&self, functions: &[Make]) -> Messenger {
        let mut messenger = Messenger::new(&self.world, functions);
        let answers = self.answers.clone();
        messenger.telling = Arc::new(move |delivery: &Delivery| {
            answers.lock().unwrap().insert(delivery.subject.clone(), delivery.answer.clone());
        });
        messenger
    }

    /// Sets the functions to work, for as long as this value lives.
    pub fn play(&mut self, messenger: Messenger) {
        self.work(tokio::spawn(messenger.run()));
    }

    pub(crate) fn work(&mut self, work: JoinHandle<()>) {
        self.work = Some(work);
    }

    /// Nobody works any more: whatever happens now, no function hears of it.
    pub fn stop(&mut self) {
        if let Some(work) = self.work.take() {
            work.abort();
        }
    }

    pub fn claims(&self) -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk("karpenter.sh", "v1", "NodeClaim");
        Api::all_with(self.world.client("person"), &ApiResource::from_gvk_with_plural(&kind, "nodeclaims"))
    }

    pub async fn create(&self, claim: Value) {
        let object = serde_json::from_value(claim).expect("a claim is an object");
        self.claims().create(&PostParams::default(), &object).await.expect("the claim is accepted");
    }

    pub async fn delete(&self, name: &str) {
        self.claims().delete(name, &DeleteParams::default()).await.expect("the claim is there");
    }

    /// The claim as it is in the store, without asking the API server.
    pub fn claim(&self, name: &str) -> Option<Value> {
        self.stored(name).map(|stored| stored.value.clone())
    }

    pub fn is_ready(&self, name: &str) -> bool {
        let ready = |claim: &Value| condition(claim, "Ready").is_some_and(|ready| ready["status"] == "True");
        self.stored(name).is_some_and(|stored| ready(&stored.value))
    }

    pub fn is_gone(&self, name: &str) -> bool {
        self.stored(name).is_none()
    }

    fn stored(&self, name: &str) -> Option<Arc<Stored>> {
        self.world.objects.get(&("karpenter.sh".into(), "nodeclaims".into()), "", name)
    }

    /// Waits until it was so for each of them, one after the other.
    pub async fn until_each(&self, what: &str, names: &[String], is_so: impl Fn(&Theatre, &str) -> bool) {
        for name in names {
            self.until(what, |theatre| is_so(theatre, name)).await;
        }
    }

    /// Waits until it is so. What does not happen in time fails, with what was said last.
    pub async fn until(&self, what: &str, is_so: impl Fn(&Theatre) -> bool) {
        let mut news = self.world.objects.store.subscribe();
        let waiting = async {
            while !is_so(self) {
                news.changed().await.expect("the world goes on");
            }
        };
        if tokio::time::timeout(LONGEST, waiting).await.is_err() {
            let lines: Vec<String> = self.world.history.exchanges().iter().rev().take(12).map(line).collect();
            let answers = self.answers.lock().unwrap();
            let open = answers.iter().filter(|(name, _)| !self.is_ready(name));
            let open: Vec<String> = open.take(5).map(|(name, answer)| format!("{name}: {answer:?}")).collect();
            let claims = self.all_claims();
            let claims: Vec<String> =
                claims.iter().take(3).map(|claim| format!("{} {}", claim["spec"], claim["status"])).collect();
            panic!("{what}: not within {LONGEST:?}; {}\n{}\n{}", open.join("\n"), claims.join("\n"), lines.join("\n"));
        }
    }

    /// Waits for some of the world's time.
    pub async fn pass(&self, span: Duration) {
        self.world.clock.sleep(span).await;
    }
}

impl Drop for Theatre {
    fn drop(&mut self) {
        if let Some(work) = &self.work {
            work.abort();
        }
    }
}

pub fn condition<'a>(claim: &'a Value, kind: &str) -> Option<&'a Value> {
    claim["status"]["conditions"].as_array()?.iter().find(|condition| condition["type"] == kind)
}

fn line(exchange: &world::history::Exchange) -> String {
    let status = exchange.status.map_or("no answer".to_owned(), |status| status.to_string());
    format!("{} {} {} {} {status}", exchange.at, exchange.user, exchange.method, exchange.path)
}
