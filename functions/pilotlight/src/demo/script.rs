//! What happens, and in which order: claims are made and pods wait for nodes; they become Ready and run, are left to work, and are
//! taken down.

use jiff::SignedDuration;
use kube::{
    Api,
    api::{ApiResource, DeleteParams, DynamicObject, GroupVersionKind, PostParams},
};
use model::Answer;
use stage::{Delivery, Messenger};
use std::{
    collections::BTreeMap,
    fs,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use world::World;

use super::{
    Failure,
    show::{Ending, Screen},
    watch::Watch,
};

/// The play that comes with the program.
const OWN: [(&str, &str); 4] = [
    ("aks.yaml", include_str!("../../demo/aks.yaml")),
    ("scaleway.yaml", include_str!("../../demo/scaleway.yaml")),
    ("power.yaml", include_str!("../../demo/power.yaml")),
    ("pods.yaml", include_str!("../../demo/pods.yaml")),
];

/// How long the nodes are left to work.
const AT_WORK: SignedDuration = SignedDuration::from_secs(30);
/// How long it is watched that nothing more is done, once everything is gone, and what may still be under way by then.
const QUIET: SignedDuration = SignedDuration::from_secs(40);
const SETTLES: SignedDuration = SignedDuration::from_secs(10);
/// What has not happened by then does not.
const LONGEST: SignedDuration = SignedDuration::from_mins(30);
/// What happens inside a cloud wakes nobody, so it is looked at this often.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Who plays.
pub struct Scene {
    pools: Vec<DynamicObject>,
    claims: Vec<DynamicObject>,
    pods: Vec<DynamicObject>,
}

impl Scene {
    pub fn names(&self) -> Vec<String> {
        names(&self.claims)
    }

    /// What the widest name on the screen may be: a pool's claims are called like it, with ten digits behind.
    pub fn widest(&self) -> usize {
        let made = names(&self.pools).into_iter().map(|pool| pool.chars().count() + "-0123456789".len());
        let given = self.names().into_iter().chain(names(&self.pods)).map(|name| name.chars().count());
        made.chain(given).max().unwrap_or_default()
    }
}

fn names(objects: &[DynamicObject]) -> Vec<String> {
    objects.iter().filter_map(|object| object.metadata.name.clone()).collect()
}

/// Reads the files, or what comes with the program where there are none.
pub fn read(files: &[PathBuf]) -> Result<Scene, Failure> {
    let mut texts: Vec<(String, String)> = Vec::new();
    for file in files {
        let text = fs::read_to_string(file).map_err(|error| format!("cannot read {}: {error}", file.display()))?;
        texts.push((file.display().to_string(), text));
    }
    if files.is_empty() {
        texts.extend(OWN.map(|(name, text)| (name.to_owned(), text.to_owned())));
    }
    let mut scene = Scene { pools: Vec::new(), claims: Vec::new(), pods: Vec::new() };
    for (name, text) in texts {
        let objects: Vec<DynamicObject> =
            serde_saphyr::from_multiple(&text).map_err(|error| format!("{name} is no Kubernetes YAML: {error}"))?;
        for object in objects {
            if object.metadata.name.is_none() {
                return Err(format!("{name} holds an object without metadata.name").into());
            }
            match object.types.as_ref().map(|types| (types.api_version.as_str(), types.kind.as_str())) {
                Some(("karpenter.sh/v1", "NodePool")) => scene.pools.push(object),
                Some(("karpenter.sh/v1", "NodeClaim")) => scene.claims.push(object),
                Some(("v1", "Pod")) => scene.pods.push(object),
                other => {
                    let found =
                        other.map_or("an object without a kind".to_owned(), |(group, kind)| format!("{group} {kind}"));
                    return Err(format!(
                        "{name} holds {found}: only karpenter.sh/v1 NodePool and NodeClaim and v1 Pod can play"
                    )
                    .into());
                }
            }
        }
    }
    if scene.claims.is_empty() && (scene.pools.is_empty() || scene.pods.is_empty()) {
        return Err("there is no NodeClaim in these files, and no NodePool with Pods".into());
    }
    Ok(scene)
}

pub async fn install_definitions(world: &World) -> Result<(), Failure> {
    let definitions = Api::all(world.client("admin"));
    for definition in cluster::crd::all() {
        definitions.create(&PostParams::default(), &definition).await?;
    }
    Ok(())
}

pub struct Script {
    world: World,
    watch: Watch,
    screen: Screen,
    /// What a function answered last, by claim: the best reason why nothing happens.
    answers: Arc<Mutex<BTreeMap<String, Answer>>>,
    /// What did not go as it should.
    wrong: Vec<String>,
}

impl Script {
    pub fn new(world: &World, watch: Watch, screen: Screen) -> Self {
        Script { world: world.clone(), watch, screen, answers: Arc::default(), wrong: Vec::new() }
    }

    /// The messenger, overheard.
    pub fn listening(&self, mut messenger: Messenger) -> Messenger {
        let answers = self.answers.clone();
        messenger.telling = Arc::new(move |delivery: &Delivery| {
            if let Some(answer) = &delivery.answer {
                let mut answers = answers.lock().unwrap_or_else(PoisonError::into_inner);
                answers.insert(delivery.subject.clone(), answer.clone());
            }
        });
        messenger
    }

    pub async fn play(&mut self, scene: &Scene, keep: bool) -> Result<(), Failure> {
        let (claims, pods) = (scene.names(), names(&scene.pods));
        for object in scene.pools.iter().chain(&scene.claims).chain(&scene.pods) {
            self.api(object)?.create(&PostParams::default(), object).await?;
        }
        self.until_each(&claims, |watch, name| watch.was_ready(name) || watch.is_gone(name)).await;
        self.note_unless(&claims, "was not Ready", Watch::was_ready);
        self.until_each(&pods, Watch::runs).await;
        self.note_unless(&pods, "did not run", Watch::runs);
        if keep {
            self.screen.say("All are left as they are; Ctrl-C ends it.");
            self.look_until(|_| false).await;
        }
        self.pass(AT_WORK).await;
        // Those that were made for pods too.
        let names = self.watch.claims();
        let claims: Api<DynamicObject> = self.claims();
        for name in &names {
            match claims.delete(name, &DeleteParams::default()).await {
                // One that failed for good has been taken away already.
                Err(kube::Error::Api(status)) if status.code == 404 => {}
                deleted => drop(deleted?),
            }
        }
        self.until_each(&names, Watch::is_gone).await;
        self.note_unless(&names, "is not gone", Watch::is_gone);
        let settled = self.world.clock.now() + SETTLES;
        self.pass(QUIET).await;
        self.wrong.extend(self.world.check_quiet_since(settled).err().map(|violation| violation.to_string()));
        Ok(())
    }

    /// The last word. Whether all went as it should.
    pub fn end(mut self, keep: bool) -> bool {
        let checks = [self.world.check(SignedDuration::ZERO), self.world.check_secrets(&[stage::JOIN_TOKEN])];
        self.wrong
            .extend(checks.into_iter().filter_map(|checked| checked.err().map(|violation| violation.to_string())));
        let running = self.watch.machines_running();
        if !keep && !running.is_empty() {
            self.wrong.push(format!("still there: {}", running.join(", ")));
        }
        let good = self.wrong.is_empty();
        self.screen.end(&Ending { claims: self.watch.endings(), running, wrong: self.wrong, kept: keep });
        good
    }

    /// Waits until it is so for each of them, but not for ever.
    async fn until_each(&mut self, names: &[String], is_so: impl Fn(&Watch, &str) -> bool) {
        let (clock, deadline) = (self.world.clock, self.world.clock.now() + LONGEST);
        self.look_until(|watch| clock.now() > deadline || names.iter().all(|name| is_so(watch, name))).await;
    }

    fn note_unless(&mut self, names: &[String], what: &str, is_so: impl Fn(&Watch, &str) -> bool) {
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        for name in names.iter().filter(|name| !is_so(&self.watch, name)) {
            let of_pod = || answers.get(&format!("default/{name}"));
            let reason = answers.get(name).or_else(of_pod).map_or("nothing", |answer| answer.reason());
            self.wrong.push(format!("{name} {what}; the last answer was: {reason}"));
        }
    }

    async fn pass(&mut self, span: SignedDuration) {
        let (clock, end) = (self.world.clock, self.world.clock.now() + span);
        self.look_until(|_| clock.now() >= end).await;
    }

    async fn look_until(&mut self, is_so: impl Fn(&Watch) -> bool) {
        let mut news = self.world.objects.store.subscribe();
        loop {
            for line in self.watch.look() {
                self.screen.tell(line);
            }
            if is_so(&self.watch) {
                return;
            }
            tokio::select! {
                // The world holds the other end, and we hold the world.
                _ = news.changed() => {}
                () = self.world.clock.sleep(LOOK_EVERY) => {}
            }
        }
    }

    fn claims(&self) -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk("karpenter.sh", "v1", "NodeClaim");
        Api::all_with(self.world.client("person"), &ApiResource::from_gvk(&kind))
    }

    fn api(&self, object: &DynamicObject) -> Result<Api<DynamicObject>, Failure> {
        let kind: GroupVersionKind = object.types.as_ref().ok_or("an object without a kind")?.try_into()?;
        let (client, resource) = (self.world.client("person"), ApiResource::from_gvk(&kind));
        // Claims and pools are cluster-wide; a pod is where it says, or in the default namespace.
        Ok(match (kind.kind.as_str(), &object.metadata.namespace) {
            ("Pod", Some(namespace)) => Api::namespaced_with(client, namespace, &resource),
            ("Pod", None) => Api::default_namespaced_with(client, &resource),
            _ => Api::all_with(client, &resource),
        })
    }
}
