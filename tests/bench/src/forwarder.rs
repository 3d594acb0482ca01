//! The forwarder as it is deployed, beside the world over loopback: what it holds in memory, idle and with a large cluster.

use std::path::Path;
use std::time::Duration;

use kube::api::{Api, DynamicObject, PostParams};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::Result;
use crate::loopback::Loopback;
use crate::report::Measurement;

const PODS: usize = 20_000;
const NODES: usize = 1_000;
/// Requests at once while the cluster is filled.
const WRITERS: usize = 8;
/// How long a figure is left to settle.
const SETTLE: Duration = Duration::from_secs(5);

pub fn measure(bin_dir: &Path, logs: &Path) -> Result<Vec<Measurement>> {
    let site = Loopback::start(bin_dir, &logs.join("forwarder"))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(site.define())?;
    let idle = memory(&site, "idle", 0)?;
    runtime.block_on(fill(&site))?;
    let full = memory(&site, "20000_pods", PODS)?;
    Ok(vec![
        Measurement::at_most("forwarder.rss_mib.idle", idle.0, "MiB", 12.0),
        Measurement::at_most("forwarder.rss_mib.20000_pods", full.0, "MiB", 32.0),
        Measurement::new("forwarder.rss_peak_mib.20000_pods", full.1, "MiB"),
    ])
}

/// What a forwarder holds that knows this many pods and has settled, and the most it held.
fn memory(site: &Loopback, doing: &str, pods: usize) -> Result<(f64, f64)> {
    let measured = (|| -> Result<(f64, f64)> {
        let mut running = site.forward(pods)?;
        std::thread::sleep(SETTLE);
        running.still_runs()?;
        Ok((running.resident_mebibytes()?, running.peak_mebibytes()?))
    })();
    measured.map_err(|cause| site.forwarder.blame(doing, &cause).into())
}

async fn fill(site: &Loopback) -> Result<()> {
    create_all(&site.api("", "Node", "nodes").await?, NODES, node).await?;
    create_all(&site.api("", "Pod", "pods").await?, PODS, |index| pod(index, Some(index % NODES))).await
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
