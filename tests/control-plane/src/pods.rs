//! The life of a pod on a real control plane: the real scheduler finds no node for it, one is made, it runs there, and all of it
//! goes again; or it is told why no node is made.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use faults::{Kind, gpu_pod};
use k8s_openapi::api::{core::v1::Pod, events::v1::Event};
use kube::Api;
use serde_json::{Value, json};
use std::time::Duration;

use crate::{
    audit,
    lives::{pod_path, rack_class, until_nothing_is_left},
    seen::{self, Seen},
    site::Site,
    stagehand::{claim_path, is},
};

/// A pod that only nodes of one pool can serve, and that pool. All of them have the same name.
pub struct PodLife {
    pub name: String,
    pub kind: Kind,
    /// What has to be there first: the node class, the pool.
    pub beside: Vec<Value>,
    pub pod: Value,
    /// Of the rack, by its number.
    machine: usize,
}

/// How far a pod has come, in the order of its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// The scheduler has found no node for it.
    Waits,
    /// There is a NodeClaim for it.
    Claimed,
    /// The launch record is written; the machine may be ordered or not.
    Ordered,
    Launched,
    Registered,
    Runs,
    /// The pod is gone, and the claim was deleted a moment ago.
    Deleted,
    /// The machine is on its way out.
    Drained,
}

impl Step {
    pub const ALL: [Step; 8] = [
        Step::Waits,
        Step::Claimed,
        Step::Ordered,
        Step::Launched,
        Step::Registered,
        Step::Runs,
        Step::Deleted,
        Step::Drained,
    ];
}

impl PodLife {
    /// `machine` is the number of a machine of the rack that nobody else has; other providers do not look at it.
    pub fn new(site: &Site, kind: Kind, name: &str, machine: usize) -> Self {
        let mut pod = gpu_pod(name, 1);
        pod["spec"]["nodeSelector"] = json!({ "karpenter.sh/nodepool": name });
        pod["spec"]["terminationGracePeriodSeconds"] = json!(1);
        let mut pool = kind.pool(name);
        pool["spec"]["disruption"] = json!({ "consolidateAfter": "Never" });
        let mut life = PodLife { name: name.to_owned(), kind, beside: vec![pool], pod, machine };
        if kind == Kind::Power {
            life.use_class(rack_class(site, machine));
        }
        life
    }

    /// A node class of its own, which its pool refers to.
    pub fn use_class(&mut self, class: Value) {
        let pool = self.beside.last_mut().unwrap();
        pool["spec"]["template"]["spec"]["nodeClassRef"]["name"] = class["metadata"]["name"].clone();
        self.beside.insert(0, class);
    }

    /// Its nodes may go as soon as nobody needs them, or needs less of them.
    pub fn may_go(mut self) -> Self {
        let pool = self.beside.last_mut().unwrap();
        pool["spec"]["disruption"] = json!({ "consolidateAfter": "1s", "budgets": [{ "nodes": "100%" }] });
        pool["metadata"]["annotations"] = json!({
            "pilotlight.dev/consolidate-gpu": "true", "pilotlight.dev/idle-window": "1s",
            "pilotlight.dev/minimum-on-time": "1s", "pilotlight.dev/cool-down": "1s",
        });
        self
    }

    pub async fn begin(&self, site: &Site) {
        for object in &self.beside {
            site.apply(object).await;
        }
        site.apply(&self.pod).await;
    }

    /// The claims of its pool.
    pub async fn claims(&self, site: &Site) -> Option<Vec<Value>> {
        let list = site.get(&format!("/apis/karpenter.sh/v1/nodeclaims?labelSelector={}", self.selector())).await?;
        list["items"].as_array().cloned()
    }

    /// The one claim of its pool, if it has one.
    async fn claim(&self, site: &Site) -> Option<Value> {
        let mut claims = self.claims(site).await?;
        assert!(claims.len() < 2, "{}: one pod, one claim: {claims:#?}", self.name);
        claims.pop()
    }

    fn selector(&self) -> String {
        format!("karpenter.sh%2Fnodepool%3D{}", self.name)
    }

    /// Waits until it has come as far as this. What has passed it counts.
    pub async fn until(&self, site: &Site, step: Step) {
        let look = || async { self.has_reached(site, step).await.then_some(()) };
        site.until(&format!("{} is as far as {step:?}", self.name), look).await;
    }

    async fn has_reached(&self, site: &Site, step: Step) -> bool {
        let Some(claim) = self.claim(site).await else {
            // Gone already is as far as it can come; not made yet is not far enough.
            return match step {
                Step::Waits => self.waits(site).await,
                Step::Drained => true,
                _ => false,
            };
        };
        match step {
            Step::Waits | Step::Claimed => true,
            Step::Ordered => claim["metadata"]["annotations"]["pilotlight.dev/launch"].is_string(),
            Step::Launched => is(&claim, "Launched"),
            Step::Registered => is(&claim, "Registered"),
            Step::Runs => self.runs_on(site, &claim).await.is_some(),
            Step::Deleted => claim["metadata"]["deletionTimestamp"].is_string(),
            Step::Drained => is(&claim, "Drained"),
        }
    }

    async fn waits(&self, site: &Site) -> bool {
        let pod = site.get(&pod_path(&self.name)).await.unwrap_or_default();
        let conditions = pod["status"]["conditions"].as_array().cloned().unwrap_or_default();
        conditions.iter().any(|one| one["type"] == "PodScheduled" && one["reason"] == "Unschedulable")
    }

    /// The node of the claim, once the pod runs there.
    async fn runs_on(&self, site: &Site, claim: &Value) -> Option<String> {
        let pod = site.get(&pod_path(&self.name)).await?;
        let node = claim["status"]["nodeName"].as_str()?;
        (pod["status"]["phase"] == "Running" && pod["spec"]["nodeName"] == node).then(|| node.to_owned())
    }

    /// It runs on the node that was made for it, and was told so once: by whoever made the claim, unless that was killed before it
    /// could and the pod runs already. Gives back the claim and its node.
    pub async fn until_running(&self, site: &Site) -> (Value, String) {
        let look = || async {
            let claim = self.claim(site).await?;
            let node = self.runs_on(site, &claim).await?;
            Some((claim, node))
        };
        let (claim, node) = site.until(&format!("pod {} runs", self.name), look).await;
        let owner = &claim["metadata"]["ownerReferences"][0];
        assert_eq!((&owner["kind"], &owner["name"]), (&json!("NodePool"), &json!(self.name)), "{claim:#}");
        let told = said_of(site, &self.name).await;
        let is_right = |(reason, text): &(String, String)| {
            reason == "Nominated" && text.contains(claim["metadata"]["name"].as_str().unwrap())
        };
        assert!(told.len() <= 1 && told.iter().all(is_right), "{} was told {told:?}", self.name);
        (claim, node)
    }

    /// The pod goes, and the claim with its machine.
    pub async fn end(&self, site: &Site, claim: &Value, node: &str) {
        let name = claim["metadata"]["name"].as_str().unwrap();
        site.delete(&pod_path(&self.name)).await;
        site.until_gone(&pod_path(&self.name)).await;
        site.delete(&claim_path(name)).await;
        until_nothing_is_left(site, name, node, self.kind == Kind::Power).await;
        self.there_was_one_of_each(site, claim);
    }

    /// One claim was ever made, and one machine for it.
    pub fn there_was_one_of_each(&self, site: &Site, claim: &Value) {
        let log = &site.control_plane.facts.audit_log;
        let made = audit::created(log, "nodeclaims", &format!("{}-", self.name)).unwrap();
        // A request whose sender was killed in the middle of it has no answer in the log: the claim is there all the same.
        assert!(made.len() <= 1, "{}: claims that were made: {made:?}", self.name);
        let uid = claim["metadata"]["uid"].as_str().unwrap();
        let machines = match self.kind {
            Kind::Aks | Kind::Scaleway => {
                site.world.instances().iter().filter(|one| one.claim.as_deref() == Some(uid)).count()
            }
            Kind::Power => {
                let machine = format!("rack-{}", self.machine);
                let booted = site.world.power.snapshot().into_iter().find(|one| one.name == machine);
                usize::try_from(booted.map_or(0, |one| one.boots)).unwrap()
            }
        };
        assert_eq!(machines, 1, "{}: machines of {uid}", self.name);
    }
}

/// Waits, runs, goes.
pub async fn from_pod_to_nothing(site: &Site, life: PodLife) {
    life.begin(site).await;
    let (claim, node) = life.until_running(site).await;
    assert_eq!(said_of(site, &life.name).await.len(), 1, "{} is told which node comes", life.name);
    life.end(site, &claim, &node).await;
}

/// What we said in Events about a pod: reason and text.
pub async fn said_of(site: &Site, pod: &str) -> Vec<(String, String)> {
    let events = site.get("/apis/events.k8s.io/v1/namespaces/default/events").await.unwrap_or_default();
    let events = events["items"].as_array().cloned().unwrap_or_default();
    let ours = events.iter().filter(|event| {
        let from = event["reportingController"].as_str().unwrap_or_default();
        from.starts_with("pilotlight.dev/") && event["regarding"]["name"] == pod
    });
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    ours.map(|event| (text(&event["reason"]), text(&event["note"]))).collect()
}

/// How long it may take until a pod knows why it gets no node.
const SOON: Duration = Duration::from_secs(1);

/// Pods that cannot be served, each for another reason, and a word of what they have to be told.
fn hopeless(pool: &str) -> Vec<(Value, &'static str)> {
    let pod = |name: &str, change: &dyn Fn(&mut Value)| {
        let mut pod = gpu_pod(name, 1);
        pod["spec"]["nodeSelector"] = json!({ "karpenter.sh/nodepool": pool });
        change(&mut pod["spec"]);
        pod
    };
    let gpus = |count: &str| json!({ "limits": { "nvidia.com/gpu": count } });
    let volume = json!([{ "name": "data", "persistentVolumeClaim": { "claimName": "nobodys" } }]);
    vec![
        (pod("hopeless-size", &|spec| spec["containers"][0]["resources"] = gpus("64")), "64"),
        (
            pod("hopeless-label", &|spec| spec["nodeSelector"]["example.com/colour"] = json!("green")),
            "example.com/colour",
        ),
        (pod("hopeless-pool", &|spec| spec["nodeSelector"]["karpenter.sh/nodepool"] = json!("none")), "none"),
        (pod("hopeless-volume", &|spec| spec["volumes"] = volume.clone()), "nobodys"),
    ]
}

/// Each is told why, in its own words, within a second of the scheduler's giving up; half of them at least, since this machine may be
/// busy with other lives.
pub async fn hopeless_pods_are_told_why(site: &Site) {
    let pool = "hopeless";
    site.apply(&Kind::Scaleway.pool(pool)).await;
    let (waiting, told) = (Seen::default(), Seen::default());
    let _watching = [
        seen::follow(Api::<Pod>::namespaced(site.client.clone(), "default"), &waiting, |pod: &Pod| {
            seen::is_unschedulable(pod).then(|| pod.metadata.name.clone())?
        }),
        seen::follow(Api::<Event>::namespaced(site.client.clone(), "default"), &told, |event: &Event| {
            let ours = event.reporting_controller.as_deref()?.starts_with("pilotlight.dev/");
            event.regarding.as_ref()?.name.clone().filter(|_| ours)
        }),
    ];
    let mut took = Vec::new();
    for (pod, word) in hopeless(pool) {
        let name = pod["metadata"]["name"].as_str().unwrap().to_owned();
        site.apply(&pod).await;
        let both = || async { Some((waiting.at(&name)?, told.at(&name)?)) };
        let (waited, was_told) = site.until(&format!("{name} is told why"), both).await;
        took.push(was_told.saturating_duration_since(waited));
        let said = said_of(site, &name).await;
        assert!(said.iter().all(|(reason, _)| reason != "Nominated"), "{name}: {said:?}");
        assert!(said.iter().any(|(_, text)| text.contains(word) && text.len() <= 1024), "{name}: {said:?}");
        site.delete(&pod_path(&name)).await;
    }
    took.sort_unstable();
    println!("{:?}: pods that cannot be served were told why after {took:?}", site.troupe.cast);
    assert!(took[took.len() / 2 - 1] <= SOON, "told why after {took:?}");
    assert_eq!(audit::created(&site.control_plane.facts.audit_log, "nodeclaims", pool).unwrap(), Vec::<String>::new());
}

/// Pools, classes and pods with mistakes that an API server takes: whoever lives beside them must not notice.
pub async fn beside_mistakes(site: &Site) {
    let changed = |name: &str, change: &dyn Fn(&mut Value)| {
        let mut pool = Kind::Scaleway.pool(name);
        change(&mut pool["spec"]);
        pool
    };
    let class = |group: &str, kind: &str, name: &str| json!({ "group": group, "kind": kind, "name": name });
    let requires =
        |key: &str, operator: &str, value: &str| json!([{ "key": key, "operator": operator, "values": [value] }]);
    let pools = [
        changed("bad-class", &|spec| {
            spec["template"]["spec"]["nodeClassRef"] = class("karpenter.azure.com", "AKSNodeClass", "missing");
        }),
        changed("bad-group", &|spec| {
            spec["template"]["spec"]["nodeClassRef"] = class("karpenter.k8s.aws", "EC2NodeClass", "default");
        }),
        changed("bad-secret", &|spec| {
            spec["template"]["spec"]["nodeClassRef"] = class("pilotlight.dev", "ScalewayNodeClass", "bad-secret");
        }),
        changed("bad-type", &|spec| {
            spec["template"]["spec"]["requirements"] = requires("node.kubernetes.io/instance-type", "In", "Nothing-1");
        }),
        changed("bad-number", &|spec| {
            spec["template"]["spec"]["requirements"] = requires("example.com/cores", "Gt", "4000000000");
        }),
        changed("bad-limit", &|spec| spec["limits"] = json!({ "nvidia.com/gpu": "1e400" })),
        changed("bad-time", &|spec| spec["template"]["spec"]["terminationGracePeriod"] = json!("0s")),
    ];
    let secret = json!({ "name": "nobodys", "key": "token" });
    let join = json!({ "method": "k3s", "endpoint": "https://10.0.0.1:6443", "secretRef": secret });
    let classes = [
        json!({ "apiVersion": "pilotlight.dev/v1alpha1", "kind": "ScalewayNodeClass",
            "metadata": { "name": "bad-secret" }, "spec": { "join": join } }),
        json!({ "apiVersion": "pilotlight.dev/v1alpha1", "kind": "PowerNodeClass", "metadata": { "name": "bad-rack" },
            "spec": { "machines": [{ "name": "bad-1", "gpu": { "count": 1 },
                "backEnd": { "seed": { "onURL": "https://rack.example/on", "offURL": "https://rack.example/off" } } }] } }),
    ];
    let mut pod = gpu_pod("bad-pod", 1);
    pod["spec"]["affinity"] = json!({ "nodeAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [{ "matchExpressions": [{ "key": "example.com/cores", "operator": "Gt", "values": ["many"] }] }] } } });
    for object in classes.iter().chain(&pools).chain([&pod]) {
        site.apply(object).await;
    }
}

/// One pod for each provider, side by side, beside whatever others have got wrong.
pub async fn of_every_provider(site: &Site) {
    beside_mistakes(site).await;
    let life = |kind: Kind| PodLife::new(site, kind, &format!("train-{}", kind.name()), 3);
    tokio::join!(
        from_pod_to_nothing(site, life(Kind::Aks)),
        from_pod_to_nothing(site, life(Kind::Scaleway)),
        from_pod_to_nothing(site, life(Kind::Power)),
    );
}
