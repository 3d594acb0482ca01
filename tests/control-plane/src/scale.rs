//! A large cluster, and pods that wait in it: our programs apart, our programs in one process, and Karpenter, one after the other on
//! the same control plane, with the same pods, the same types of machines and the same prices.

use faults::gpu_pod;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::{
    Api, Client,
    api::{DeleteParams, ListParams, PostParams},
};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    path::Path,
    time::{Duration, Instant},
};

use cluster::crd::NodeClaim;

use crate::{
    ControlPlane, KWOK_NODE, account, audit, karpenter,
    measure::{Latency, Measured},
    process::Program,
    seen::{self, Seen, Watching},
    site::{self, kubectl},
    troupe::{Cast, Troupe},
};

/// How much there is, and how much waits.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    pub nodes: usize,
    pub bound: usize,
    /// Pods that wait one after the other: the next one comes when there is a claim for the last.
    pub single: usize,
    /// Pods that wait all at once.
    pub burst: usize,
}

/// The pool of whoever is measured: there is one at a time.
const POOL: &str = "gpu";
/// Whatever has not happened by then is told as missing.
const LONGEST: Duration = Duration::from_secs(240);
/// A cluster of this size takes longer where others need the cores; what is not there by then is told.
const LONGEST_TO_FILL: Duration = Duration::from_secs(600);
/// Until a pod that comes alone has its claim.
const LONGEST_FOR_ONE: Duration = Duration::from_secs(60);
/// Requests under way at once while the cluster is filled.
const AT_ONCE: usize = 32;
/// The simulated cloud's minutes are a fifth of our seconds: what is measured is not the cloud.
const CLOUD_SPEED: f64 = 300.0;

/// Where machines are to be had, and which: all of one model, so that both sides buy from the same short list.
const ZONE: &str = "fr-par-2";
const MODEL: &str = "L4-";

/// `programs` is the folder of our binaries.
pub async fn measure(supervisor: &Path, programs: &Path, load: Load) -> Result<Vec<Measured>, String> {
    karpenter::ensure_built()?;
    let control_plane = ControlPlane::start(supervisor, &[]).await?;
    let client = control_plane.client().await?;
    site::prepare(&control_plane).await?;
    karpenter::install(&control_plane).await?;
    let (_world, _fleet, clouds) = site::beside(&control_plane, &client, |options| options.speed = CLOUD_SPEED).await?;
    let begin = Instant::now();
    fill(&client, load).await?;
    eprintln!("{} nodes and {} pods on them are there after {:.0?}", load.nodes, load.bound, begin.elapsed());
    let stage = Stage { control_plane, client };
    let mut all = Vec::new();
    for cast in Cast::BOTH {
        stage.make_pool(json!({ "group": "pilotlight.dev", "kind": "ScalewayNodeClass", "name": "default" })).await?;
        let troupe = Troupe::engage(cast, programs, &stage.control_plane, &stage.client, &clouds).await?;
        all.push(stage.play(Running::Ours(troupe), load).await?);
    }
    stage.make_pool(karpenter::class_ref()).await?;
    let program = karpenter::start(&stage.control_plane, &stage.client, &types()).await?;
    all.push(stage.play(Running::Karpenter(program), load).await?);
    Ok(all)
}

/// Who is measured. Its processes end with it.
enum Running {
    Ours(Troupe),
    Karpenter(Program),
}

impl Running {
    fn name(&self) -> &'static str {
        match self {
            Running::Ours(troupe) if troupe.cast == Cast::Apart => "forwarder and functions",
            Running::Ours(_) => "pilotlight run",
            Running::Karpenter(_) => "Karpenter",
        }
    }

    fn of_each(&self, read: impl Fn(&Program) -> Option<f64>) -> BTreeMap<&'static str, f64> {
        match self {
            Running::Ours(troupe) => troupe.of_each(read),
            Running::Karpenter(program) => read(program).map(|value| (karpenter::ACCOUNT, value)).into_iter().collect(),
        }
    }

    fn requests(&self, log: &Path) -> Result<usize, String> {
        let accounts: Vec<(&str, &str)> = match self {
            Running::Ours(troupe) => troupe.cast.members().iter().map(|name| (account::NAMESPACE, *name)).collect(),
            Running::Karpenter(_) => vec![(karpenter::NAMESPACE, karpenter::ACCOUNT)],
        };
        let of_one = |(namespace, name)| audit::of_account(log, namespace, name).map(|account| account.requests);
        accounts.into_iter().map(of_one).sum()
    }
}

struct Stage {
    control_plane: ControlPlane,
    client: Client,
}

/// What was seen, by the names of pods and claims.
#[derive(Default)]
struct Sights {
    made: Seen,
    waiting: Seen,
    running: Seen,
    claims: Seen,
}

impl Sights {
    fn watch(&self, client: &Client) -> [Watching; 4] {
        let pods = || Api::<Pod>::namespaced(client.clone(), "default");
        let name = |pod: &Pod| pod.metadata.name.clone();
        [
            seen::follow(pods(), &self.made, name),
            seen::follow(pods(), &self.waiting, move |pod| name(pod).filter(|_| seen::is_unschedulable(pod))),
            seen::follow(pods(), &self.running, move |pod| name(pod).filter(|_| is_running(pod))),
            seen::follow(Api::<NodeClaim>::all(client.clone()), &self.claims, |claim| claim.metadata.name.clone()),
        ]
    }
}

impl Stage {
    /// The same pool for everybody but for its class.
    async fn make_pool(&self, class: Value) -> Result<(), String> {
        let types: Vec<&str> = machines().map(|known| known.name).collect();
        let requirement = |key: &str, values: Value| json!({ "key": key, "operator": "In", "values": values });
        let pool = json!({
            "apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": { "name": POOL },
            "spec": {
                "disruption": { "consolidateAfter": "Never" },
                "template": { "spec": {
                    "nodeClassRef": class,
                    "requirements": [
                        requirement("karpenter.sh/capacity-type", json!(["on-demand"])),
                        requirement("topology.kubernetes.io/zone", json!([ZONE])),
                        requirement("node.kubernetes.io/instance-type", json!(types)),
                    ],
                    "expireAfter": "Never",
                } },
            },
        });
        kubectl(&self.control_plane, &["apply", "--server-side", "-f", "-"], &pool.to_string()).await.map(drop)
    }

    async fn play(&self, running: Running, load: Load) -> Result<Measured, String> {
        let name = running.name();
        eprintln!("{name}: {} pods one after the other, then {} at once ...", load.single, load.burst);
        let sights = Sights::default();
        let watching = sights.watch(&self.client);
        // One that is not counted: whoever has just started reads the cluster first.
        self.one_after_the_other(&sights, "warm", 1).await?;
        until(LONGEST_FOR_ONE, || sights.running.count() >= 1).await;
        let log = &self.control_plane.facts.audit_log;
        let (requests, cpu) = (running.requests(log)?, running.of_each(Program::cpu_seconds));
        let memory_before = running.of_each(Program::now_mib);
        self.one_after_the_other(&sights, "single", load.single).await?;
        let pods = Api::<Pod>::namespaced(self.client.clone(), "default");
        make_all(&pods, (0..load.burst).map(|number| waiting_pod("burst", number)).collect()).await?;
        let total = 1 + load.single + load.burst;
        until(LONGEST, || sights.running.count() >= total).await;
        let of_pods = self.claims_of_pods().await?;
        let prices: BTreeMap<&str, u64> = machines().map(|known| (known.name, known.price)).collect();
        let bought: Vec<String> = self.types_of_claims().await?;
        let after: BTreeMap<&str, f64> = running.of_each(Program::cpu_seconds);
        let measured = Measured {
            system: name,
            pods: load.single + load.burst,
            running: sights.running.count().saturating_sub(1),
            single: Latency::of("single", &of_pods, &sights.made, &sights.waiting, &sights.claims),
            burst: Latency::of("burst", &of_pods, &sights.made, &sights.waiting, &sights.claims),
            all_running_ms: (sights.running.count() >= total).then(|| between(&sights.made, &sights.running)).flatten(),
            claims: bought.len(),
            price_an_hour: bought.iter().filter_map(|one| prices.get(one.as_str())).sum::<u64>() as f64 / 1e6,
            memory_before_mib: memory_before,
            memory_peak_mib: running.of_each(Program::peak_mib),
            cpu_seconds: after.iter().map(|(name, now)| now - cpu.get(name).unwrap_or(&0.0)).sum(),
            requests: running.requests(log)? - requests,
        };
        drop(watching);
        self.clear(&pods).await;
        drop(running);
        Ok(measured)
    }

    async fn one_after_the_other(&self, sights: &Sights, prefix: &str, count: usize) -> Result<(), String> {
        let pods = Api::<Pod>::namespaced(self.client.clone(), "default");
        for number in 0..count {
            let claims = sights.claims.count();
            // Only those that ask for a whole GPU are sure to need a machine of their own.
            make_all(&pods, vec![waiting_pod(prefix, number * 4)]).await?;
            until(LONGEST_FOR_ONE, || sights.claims.count() > claims).await;
        }
        Ok(())
    }

    /// By the node that a pod runs on: the claim whose node it is.
    async fn claims_of_pods(&self) -> Result<BTreeMap<String, String>, String> {
        let of_node: BTreeMap<String, String> = self
            .claims()
            .await?
            .into_iter()
            .filter_map(|claim| Some((claim.status?.node_name?, claim.metadata.name?)))
            .collect();
        let pods = Api::<Pod>::namespaced(self.client.clone(), "default").list(&ListParams::default()).await;
        let pods = pods.map_err(|why| why.to_string())?.items.into_iter();
        Ok(pods.filter_map(|pod| Some((pod.metadata.name?, of_node.get(&pod.spec?.node_name?)?.clone()))).collect())
    }

    async fn types_of_claims(&self) -> Result<Vec<String>, String> {
        let label = |claim: NodeClaim| claim.metadata.labels?.get("node.kubernetes.io/instance-type").cloned();
        Ok(self.claims().await?.into_iter().map(|claim| label(claim).unwrap_or_default()).collect())
    }

    async fn claims(&self) -> Result<Vec<NodeClaim>, String> {
        let claims = Api::<NodeClaim>::all(self.client.clone()).list(&ListParams::default()).await;
        Ok(claims.map_err(|why| why.to_string())?.items)
    }

    /// Nothing of it is left for whoever comes next; what takes too long is told.
    async fn clear(&self, pods: &Api<Pod>) {
        let begin = Instant::now();
        let at_once = DeleteParams { grace_period_seconds: Some(0), ..DeleteParams::default() };
        drop(pods.delete_collection(&at_once, &ListParams::default()).await);
        let claims: Api<NodeClaim> = Api::all(self.client.clone());
        drop(claims.delete_collection(&DeleteParams::default(), &ListParams::default()).await);
        while begin.elapsed() < LONGEST {
            match self.claims().await {
                // Another class needs another pool.
                Ok(left) if left.is_empty() => {
                    drop(kubectl(&self.control_plane, &["delete", "nodepool", POOL], "").await);
                    return;
                }
                _ => tokio::time::sleep(Duration::from_millis(500)).await,
            }
        }
        eprintln!("after {LONGEST:?} there are still NodeClaims");
    }
}

/// A cluster that is full: as many pods as nodes have room for.
async fn fill(client: &Client, load: Load) -> Result<(), String> {
    let each = load.bound.div_ceil(load.nodes.max(1));
    let running = Seen::default();
    let there = Api::<Pod>::namespaced(client.clone(), "kube-public");
    let _watching = seen::follow(there.clone(), &running, |pod| pod.metadata.name.clone().filter(|_| is_running(pod)));
    let nodes = (0..load.nodes).map(|number| full_node(number, each)).collect();
    make_all(&Api::<Node>::all(client.clone()), nodes).await?;
    let pods = (0..load.bound).map(|number| bound_pod(number, number / each.max(1))).collect();
    make_all(&there, pods).await?;
    until(LONGEST_TO_FILL, || running.count() >= load.bound).await;
    match running.count() {
        count if count >= load.bound => Ok(()),
        count => Err(format!("of {} pods on nodes only {count} run after {LONGEST_TO_FILL:?}", load.bound)),
    }
}

async fn make_all<K>(api: &Api<K>, objects: Vec<Value>) -> Result<(), String>
where
    K: Clone + std::fmt::Debug + serde::de::DeserializeOwned + serde::Serialize,
{
    let make = |object: Value| async move {
        let object: K = serde_json::from_value(object).map_err(|why| why.to_string())?;
        api.create(&PostParams::default(), &object).await.map(drop).map_err(|why| why.to_string())
    };
    stream::iter(objects).map(make).buffer_unordered(AT_ONCE).try_collect().await
}

fn full_node(number: usize, pods: usize) -> Value {
    let amounts = json!({ "cpu": pods.to_string(), "memory": format!("{}Gi", pods * 4), "pods": "110" });
    let name = format!("full-{number}");
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {
                "kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
                "topology.kubernetes.io/zone": ZONE, "node.kubernetes.io/instance-type": "rack",
            },
            "annotations": { KWOK_NODE.0: KWOK_NODE.1 },
        },
        "status": { "capacity": amounts, "allocatable": amounts },
    })
}

fn bound_pod(number: usize, node: usize) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": { "name": format!("work-{number}"), "labels": { "app": format!("app-{}", number % 50) } },
        "spec": {
            "nodeName": format!("full-{node}"),
            "containers": [{ "name": "main", "image": "example.org/work",
                "resources": { "requests": { "cpu": "1", "memory": "2Gi" } } }],
        },
    })
}

/// Three of four ask for one GPU, the fourth only for CPUs; no node that is there has either.
fn waiting_pod(prefix: &str, number: usize) -> Value {
    let mut pod = gpu_pod(&format!("{prefix}-{number}"), 1);
    if number % 4 == 3 {
        pod["spec"]["containers"][0]["resources"] = json!({ "requests": { "cpu": "2", "memory": "4Gi" } });
    }
    pod
}

/// The machines of the pool, as Scaleway sells them.
fn machines() -> impl Iterator<Item = &'static provider_scaleway::catalogue::BundledType> {
    provider_scaleway::catalogue::BUNDLED
        .iter()
        .filter(|known| known.name.starts_with(MODEL) && known.zones.contains(&ZONE))
}

/// The same as Karpenter's KWOK provider reads them: capacity and price are those that our own provider tells.
fn types() -> Value {
    let offered = provider_scaleway::catalogue::bundled_offerings(&[ZONE.to_owned()]);
    let ours = offered.iter().filter(|offering| offering.id.instance_type.starts_with(MODEL));
    let known = ours.map(|offering| {
        let resources: BTreeMap<&String, String> =
            offering.capacity.iter().map(|(name, amount)| (name, amount.to_string())).collect();
        let price = offering.price.as_ref().map_or(0.0, |price| price.millionths_per_hour as f64 / 1e6);
        json!({
            "name": offering.id.instance_type, "architecture": "amd64", "operatingSystems": ["linux"],
            "resources": resources,
            "offerings": [{ "Price": price, "Available": true, "Requirements": [
                { "key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"] },
                { "key": "topology.kubernetes.io/zone", "operator": "In", "values": [ZONE] },
            ] }],
        })
    });
    known.collect()
}

fn is_running(pod: &Pod) -> bool {
    pod.status.as_ref().and_then(|status| status.phase.as_deref()) == Some("Running")
}

/// From the first of the burst that was made to the last that runs.
fn between(made: &Seen, running: &Seen) -> Option<f64> {
    let first = made.all().into_iter().filter(|(name, _)| name.starts_with("burst")).map(|(_, at)| at).min()?;
    let last = running.all().into_values().max()?;
    Some(last.saturating_duration_since(first).as_secs_f64() * 1e3)
}

/// Until it is so, or the time is over.
async fn until(longest: Duration, is_so: impl Fn() -> bool) {
    let end = Instant::now() + longest;
    while !is_so() && Instant::now() < end {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
