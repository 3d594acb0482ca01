//! Karpenter itself, with its KWOK provider, on a real control plane: pods wait, claims and nodes come, and it is timed.
//!
//! What it costs is read where it cannot be disputed: times from watches of the API server, requests from its audit log, memory
//! from the kernel.

use futures_util::StreamExt as _;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::{
    Api, Client,
    runtime::{WatchStreamExt as _, watcher},
};
use serde::Serialize;
use serde_json::json;
use spec::free_address;
use std::{
    collections::BTreeMap,
    fmt::Debug,
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use crate::{
    ControlPlane, build,
    process::{Program, until_it_listens},
    programs, sender,
    site::kubectl,
    versions::KARPENTER,
};

/// Whatever is not there by then is told as missing.
const LONGEST: Duration = Duration::from_secs(900);
const ACCOUNT: &str = "karpenter";

/// What came of it. Times count from the first pod that was seen.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Measured {
    pub system: &'static str,
    pub pods: usize,
    pub claims: usize,
    pub nodes: usize,
    pub running: usize,
    pub first_claim_ms: Option<u128>,
    pub last_claim_ms: Option<u128>,
    pub first_node_ms: Option<u128>,
    pub last_node_ms: Option<u128>,
    pub all_running_ms: Option<u128>,
    pub peak_mib: Option<u64>,
    pub requests: usize,
}

/// When things were first seen, by name.
type Seen = Arc<Mutex<BTreeMap<String, Instant>>>;

/// `catalogue` is the instance types of Karpenter's KWOK provider; without one, those that it brings.
pub async fn measure(supervisor: &Path, pods: usize, catalogue: Option<&Path>) -> Result<Measured, String> {
    let program = programs::of_peer(&KARPENTER).map_err(|why| why.to_string())?;
    let control_plane = ControlPlane::start(supervisor, &[]).await?;
    let client = control_plane.client().await?;
    install(&control_plane).await?;
    let mut karpenter = start(&control_plane, &client, &program, catalogue).await?;
    let (claims, nodes) = (Seen::default(), Seen::default());
    let (waiting, running) = (Seen::default(), Seen::default());
    let mut watching = vec![
        follow(sender::claims(client.clone()), claims.clone(), |_| true),
        follow(Api::<Node>::all(client.clone()), nodes.clone(), |_| true),
        follow(Api::<Pod>::namespaced(client.clone(), "default"), waiting.clone(), |_| true),
    ];
    watching.push(follow(Api::<Pod>::namespaced(client.clone(), "default"), running.clone(), |pod: &Pod| {
        pod.status.as_ref().and_then(|status| status.phase.as_deref()) == Some("Running")
    }));
    kubectl(&control_plane, &["apply", "--server-side", "-f", "-"], &work(pods)).await?;
    let begin = Instant::now();
    while count(&running) < pods && begin.elapsed() < LONGEST {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let peak_mib = karpenter.id().and_then(peak);
    karpenter.kill();
    watching.iter().for_each(|task| task.abort());
    let log = crate::audit::of_account(&control_plane.facts.audit_log, "kube-public", ACCOUNT)?;
    let zero = first(&waiting);
    let after = |when: Option<Instant>| Some(when?.duration_since(zero?).as_millis());
    Ok(Measured {
        system: "karpenter",
        pods,
        claims: count(&claims),
        nodes: count(&nodes),
        running: count(&running),
        first_claim_ms: after(first(&claims)),
        last_claim_ms: after(last(&claims)),
        first_node_ms: after(first(&nodes)),
        last_node_ms: after(last(&nodes)),
        all_running_ms: after(last(&running).filter(|_| count(&running) >= pods)),
        peak_mib,
        requests: log.requests,
    })
}

pub fn table(measured: &Measured) -> String {
    let time = |ms: Option<u128>| ms.map_or("-".to_owned(), |ms| format!("{ms} ms"));
    let Measured { system, pods, claims, nodes, running, peak_mib, requests, .. } = measured;
    let peak = peak_mib.map_or("-".to_owned(), |mib| format!("{mib} MiB"));
    format!(
        "{:28} {system}\n{:28} {pods}\n{:28} {running}\n{:28} {claims}\n{:28} {nodes}\n{:28} {}\n{:28} {}\n{:28} {}\n\
         {:28} {}\n{:28} {}\n{:28} {peak}\n{:28} {requests} ({:.1} a pod)",
        "",
        "pods",
        "running in the end",
        "NodeClaims",
        "Nodes",
        "pod to first NodeClaim",
        time(measured.first_claim_ms),
        "pod to last NodeClaim",
        time(measured.last_claim_ms),
        "pod to first Node",
        time(measured.first_node_ms),
        "pod to last Node",
        time(measured.last_node_ms),
        "pod to all running",
        time(measured.all_running_ms),
        "memory at its peak",
        "API requests",
        *requests as f64 / (*pods).max(1) as f64,
    )
}

/// Its own custom resources, from the module that it was built from, and an account that may do everything.
async fn install(control_plane: &ControlPlane) -> Result<(), String> {
    let module = module_folder()?;
    for folder in ["pkg/apis/crds", "kwok/apis/crds"] {
        let folder = module.join(folder).display().to_string();
        kubectl(control_plane, &["apply", "--server-side", "-f", &folder], "").await?;
    }
    kubectl(control_plane, &["wait", "--for=condition=Established", "crd", "--all", "--timeout=60s"], "").await?;
    // A namespace that the audit policy does not pass over.
    let account = json!({ "apiVersion": "v1", "kind": "ServiceAccount",
        "metadata": { "name": ACCOUNT, "namespace": "kube-public" } });
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": { "name": ACCOUNT },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin" },
        "subjects": [{ "kind": "ServiceAccount", "name": ACCOUNT, "namespace": "kube-public" }],
    });
    let class = json!({ "apiVersion": "karpenter.kwok.sh/v1alpha1", "kind": "KWOKNodeClass",
        "metadata": { "name": "default" } });
    let pool = json!({
        "apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": { "name": "default" },
        "spec": {
            "disruption": { "consolidateAfter": "Never" },
            "template": { "spec": {
                "nodeClassRef": { "group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default" },
                "requirements": [{ "key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"] }],
                "expireAfter": "Never",
            } },
        },
    });
    for object in [account, binding, class, pool] {
        kubectl(control_plane, &["apply", "--server-side", "-f", "-"], &object.to_string()).await?;
    }
    Ok(())
}

async fn start(
    control_plane: &ControlPlane,
    client: &Client,
    program: &Path,
    catalogue: Option<&Path>,
) -> Result<Program, String> {
    let kubeconfig = crate::account::kubeconfig_in(control_plane, client, "kube-public", ACCOUNT).await?;
    let free = || free_address().map_err(|why| why.to_string());
    let (metrics, health) = (free()?, free()?);
    let mut variables: BTreeMap<String, String> = [
        ("KUBECONFIG", kubeconfig.display().to_string()),
        ("SYSTEM_NAMESPACE", "kube-public".to_owned()),
        ("DISABLE_LEADER_ELECTION", "true".to_owned()),
        ("METRICS_PORT", metrics.port().to_string()),
        ("HEALTH_PROBE_PORT", health.port().to_string()),
        ("HOME", control_plane.facts.folder.display().to_string()),
        // As many workers as the machine has cores.
        ("CPU_REQUESTS", "2000".to_owned()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into();
    if let Some(catalogue) = catalogue {
        variables.insert("INSTANCE_TYPES_FILE_PATH".to_owned(), catalogue.display().to_string());
    }
    let mut karpenter = Program::named("karpenter", program, &control_plane.facts.folder, variables);
    karpenter.start()?;
    until_it_listens(health).await?;
    Ok(karpenter)
}

/// Where Go keeps the module, by its own word.
fn module_folder() -> Result<PathBuf, String> {
    let mut command = Command::new("go");
    command.args(["list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/karpenter"]).current_dir(build::source(&KARPENTER));
    let output = command.output().map_err(|why| format!("cannot start go: {why}"))?;
    Ok(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()))
}

fn work(pods: usize) -> String {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "work", "namespace": "default" },
        "spec": {
            "replicas": pods, "selector": { "matchLabels": { "app": "work" } },
            "template": {
                "metadata": { "labels": { "app": "work" } },
                "spec": { "containers": [{ "name": "main", "image": "work",
                    "resources": { "requests": { "cpu": "1", "memory": "2Gi" } } }] },
            },
        },
    })
    .to_string()
}

fn follow<K>(api: Api<K>, seen: Seen, counts: fn(&K) -> bool) -> tokio::task::JoinHandle<()>
where
    K: kube::Resource<DynamicType: Default> + Clone + Debug + Send + serde::de::DeserializeOwned + 'static,
{
    tokio::spawn(async move {
        let mut changes = watcher(api, watcher::Config::default()).default_backoff().applied_objects().boxed();
        while let Some(change) = changes.next().await {
            let Ok(object) = change else { continue };
            if counts(&object) {
                let name = object.meta().name.clone().unwrap_or_default();
                seen.lock().unwrap_or_else(PoisonError::into_inner).entry(name).or_insert_with(Instant::now);
            }
        }
    })
}

fn count(seen: &Seen) -> usize {
    seen.lock().unwrap_or_else(PoisonError::into_inner).len()
}

fn first(seen: &Seen) -> Option<Instant> {
    seen.lock().unwrap_or_else(PoisonError::into_inner).values().min().copied()
}

fn last(seen: &Seen) -> Option<Instant> {
    seen.lock().unwrap_or_else(PoisonError::into_inner).values().max().copied()
}

/// The most it ever held, as the kernel counted.
fn peak(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kibibytes / 1024)
}
