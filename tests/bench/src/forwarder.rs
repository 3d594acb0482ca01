//! The forwarder as it is deployed, beside the world over loopback: what it holds in memory, idle and with a large cluster.

use std::ffi::OsStr;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, PostParams};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::Result;
use crate::http::Connection;
use crate::process::{Program, Running};
use crate::report::Measurement;
use spec::free_address;

const PODS: usize = 20_000;
const NODES: usize = 1_000;
/// Requests at once while the cluster is filled.
const WRITERS: usize = 8;
const PATIENCE: Duration = Duration::from_secs(300);
/// How long a figure is left to settle.
const SETTLE: Duration = Duration::from_secs(5);

pub fn measure(bin_dir: &Path, logs: &Path) -> Result<Vec<Measurement>> {
    let scene = Scene::start(bin_dir, logs)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(define(&scene.kubeconfig))?;
    let idle = scene.forward("idle", 0)?;
    runtime.block_on(fill(&scene.kubeconfig))?;
    let full = scene.forward("20000_pods", PODS)?;
    Ok(vec![
        Measurement::at_most("forwarder.rss_mib.idle", idle.0, "MiB", 12.0),
        Measurement::at_most("forwarder.rss_mib.20000_pods", full.0, "MiB", 32.0),
        Measurement::new("forwarder.rss_peak_mib.20000_pods", full.1, "MiB"),
    ])
}

/// The world and the functions, as processes.
struct Scene {
    forwarder: Program,
    kubeconfig: PathBuf,
    functions: SocketAddr,
    _processes: [Running; 2],
}

impl Scene {
    fn start(bin_dir: &Path, logs: &Path) -> Result<Scene> {
        let folder = logs.join("forwarder");
        fs::create_dir_all(&folder)?;
        let (kubeconfig, env_file) = (folder.join("kubeconfig"), folder.join("env"));
        drop(fs::remove_file(&kubeconfig));
        let path = |path: &Path| path.display().to_string();
        let arguments = ["--kubeconfig".to_owned(), path(&kubeconfig), "--env-file".to_owned(), path(&env_file)];
        let world = Program::new(bin_dir, "world", &folder).start_with(&arguments, &[])?;
        wait("the world", || kubeconfig.exists())?;
        let functions = free_address()?;
        let unsigned = ("PILOTLIGHT_ALLOW_UNSIGNED", "true".to_owned());
        let variables =
            [unsigned, ("PORT", functions.port().to_string()), ("PILOTLIGHT_BIND", functions.ip().to_string())];
        let served = Program::new(bin_dir, "pilotlight", &folder).start_with(&["serve".to_owned()], &variables)?;
        let forwarder = Program::new(bin_dir, "forwarder", &folder);
        Ok(Scene { forwarder, kubeconfig, functions, _processes: [world, served] })
    }

    /// Starts a forwarder, waits until it knows this many pods and has settled: what it holds, and the most it held.
    fn forward(&self, doing: &str, pods: usize) -> Result<(f64, f64)> {
        let address = free_address()?;
        let variables = [
            ("PILOTLIGHT_ALLOW_UNSIGNED", "true".to_owned()),
            ("PILOTLIGHT_SINK", format!("http://{}", self.functions)),
            ("PILOTLIGHT_BIND", address.ip().to_string()),
            ("PILOTLIGHT_TICK", "1s".to_owned()),
            ("PORT", address.port().to_string()),
            ("KUBECONFIG", self.kubeconfig.display().to_string()),
        ];
        let mut running = self.forwarder.start(&variables)?;
        let measured = (|| -> Result<(f64, f64)> {
            wait("the forwarder", || is_ready(address, pods).unwrap_or(false))?;
            std::thread::sleep(SETTLE);
            running.still_runs()?;
            Ok((running.resident_mebibytes()?, running.peak_mebibytes()?))
        })();
        measured.map_err(|cause| self.forwarder.blame(doing, &cause).into())
    }
}

fn wait(what: &str, is_so: impl Fn() -> bool) -> Result<()> {
    let begin = Instant::now();
    while !is_so() {
        if begin.elapsed() > PATIENCE {
            return Err(format!("{what}: not ready after {PATIENCE:?}").into());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

/// Whether it has listed everything and told a function something.
fn is_ready(address: SocketAddr, pods: usize) -> Result<bool> {
    let mut connection = Connection::open(address)?;
    let request = |path: &str| format!("GET {path} HTTP/1.1\r\nhost: {address}\r\n\r\n").into_bytes();
    let ready = connection.ask(&request("/readyz"))?.status() == Some(200);
    let figures = connection.ask(&request("/metrics"))?.text();
    let known = figures.lines().find_map(|line| line.strip_prefix("pilotlight_forwarder_objects{kind=\"pods\"} "));
    let told = figures.contains("pilotlight_forwarder_deliveries_total{function=\"on-idle-timer\"");
    Ok(ready && told && known.and_then(|count| count.parse::<usize>().ok()) >= Some(pods))
}

async fn api(kubeconfig: &Path, group: &str, kind: &str, plural: &str) -> Result<Api<DynamicObject>> {
    let client = cluster::connect(Some(OsStr::new(kubeconfig))).await?;
    let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, "v1", kind), plural);
    let namespaced = kind == "Pod";
    Ok(if namespaced { Api::default_namespaced_with(client, &resource) } else { Api::all_with(client, &resource) })
}

async fn define(kubeconfig: &Path) -> Result<()> {
    let api = api(kubeconfig, "apiextensions.k8s.io", "CustomResourceDefinition", "customresourcedefinitions").await?;
    for definition in cluster::crd::all() {
        let object: DynamicObject = serde_json::from_value(serde_json::to_value(definition)?)?;
        api.create(&PostParams::default(), &object).await?;
    }
    Ok(())
}

async fn fill(kubeconfig: &Path) -> Result<()> {
    create_all(&api(kubeconfig, "", "Node", "nodes").await?, NODES, node).await?;
    create_all(&api(kubeconfig, "", "Pod", "pods").await?, PODS, |index| pod(index, Some(index % NODES))).await
}

async fn create_all(api: &Api<DynamicObject>, count: usize, make: impl Fn(usize) -> Value) -> Result<()> {
    let mut writers = JoinSet::new();
    for index in 0..count {
        let (api, object): (_, DynamicObject) = (api.clone(), serde_json::from_value(make(index))?);
        if writers.len() >= WRITERS
            && let Some(written) = writers.join_next().await
        {
            written??;
        }
        writers.spawn(async move { api.create(&PostParams::default(), &object).await.map(drop) });
    }
    while let Some(written) = writers.join_next().await {
        written??;
    }
    Ok(())
}

/// A node with the labels that a cloud gives one.
fn node(index: usize) -> Value {
    let labels: Value = (0..16)
        .map(|number| (format!("cloud.example.com/label-{number}"), json!(format!("value-{number}-{}", index % 7))))
        .collect();
    let amounts =
        json!({ "cpu": "64", "memory": "512Gi", "nvidia.com/gpu": "8", "pods": "110", "ephemeral-storage": "1Ti" });
    json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": format!("gpu-node-{index}"), "labels": labels },
        "spec": { "providerID": format!("cloud://region/{index}") }, "status": { "capacity": amounts, "allocatable": amounts } })
}

/// A pod as a Deployment makes it, of a few kilobytes.
pub fn pod(index: usize, node: Option<usize>) -> Value {
    let application = index / 50;
    let variables: Vec<Value> = (0..12)
        .map(|number| json!({ "name": format!("VARIABLE_{number}"), "value": format!("some-value-{number}") }))
        .collect();
    let mut pod = json!({ "apiVersion": "v1", "kind": "Pod",
        "metadata": { "name": format!("application-{application}-7d4b9c6f5d-{index:05}"),
            "labels": { "app": format!("application-{application}"), "pod-template-hash": "7d4b9c6f5d", "tier": "work" },
            "annotations": { "checksum/config": "0f".repeat(32), "prometheus.io/scrape": "true" } },
        "spec": { "containers": [
                { "name": "main", "image": "registry.example.com/team/application:1.2.3", "env": variables,
                    "ports": [{ "containerPort": 8080 }], "volumeMounts": [{ "name": "data", "mountPath": "/data" }],
                    "resources": { "requests": { "cpu": "500m", "memory": "1Gi" }, "limits": { "memory": "2Gi" } } },
                { "name": "side", "image": "registry.example.com/team/side:4.5.6", "env": variables,
                    "resources": { "requests": { "cpu": "50m", "memory": "64Mi" } } }],
            "volumes": [{ "name": "data", "emptyDir": {} }],
            "tolerations": [{ "key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule" }] } });
    if let Some(node) = node {
        pod["spec"]["nodeName"] = json!(format!("gpu-node-{node}"));
    }
    pod
}
