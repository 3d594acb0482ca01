//! From a pod that finds no node to the request at the cloud: the world, the forwarder and the functions as processes, HTTP between.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use kube::api::{Api, DynamicObject, ListParams, PostParams, WatchEvent, WatchParams};
use serde_json::{Value, json};

use crate::Result;
use crate::loopback::Loopback;
use crate::report::Measurement;
use crate::statistics::percentile;

/// Before anything is measured: connections are made, catalogues are read.
const WARM_UP: usize = 10;
/// One after the other.
const ALONE: usize = 120;
const BETWEEN: Duration = Duration::from_millis(150);
/// Some at once, again and again: those behind the first wait for each other.
const BURSTS: usize = 8;
const IN_A_BURST: usize = 5;
const BETWEEN_BURSTS: Duration = Duration::from_millis(600);
const PATIENCE: Duration = Duration::from_secs(120);

/// A whole machine, so that each pod is a claim and each claim a request.
const GPUS: u32 = 8;
const MACHINE: &str = "H100-SXM-8-80G";

pub fn measure(bin_dir: &Path, logs: &Path) -> Result<Vec<Measurement>> {
    let site = Loopback::start(bin_dir, &logs.join("latency"))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(prepare(&site))?;
    let _forwarder = site.forward(0)?;
    let pending = runtime.block_on(arrive(&site))?;
    let waited = runtime.block_on(follow(&site, &pending));
    let waited = waited.map_err(|cause| site.forwarder.blame("latency", &cause))?;
    Ok(vec![
        Measurement::new("latency.pod_to_cloud_call.p50_ms", percentile(&waited, 50), "ms"),
        Measurement::at_most("latency.pod_to_cloud_call.p99_ms", percentile(&waited, 99), "ms", 125.0),
    ])
}

async fn prepare(site: &Loopback) -> Result<()> {
    site.define().await?;
    let pool = json!({ "apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": { "name": "gpu" },
        "spec": { "template": { "spec": {
            "nodeClassRef": { "group": "pilotlight.dev", "kind": "ScalewayNodeClass", "name": "default" },
            "requirements": [{ "key": "node.kubernetes.io/instance-type", "operator": "In", "values": [MACHINE] }],
            "expireAfter": "Never" } } } });
    let pools = site.api("karpenter.sh", "NodePool", "nodepools").await?;
    pools.create(&PostParams::default(), &serde_json::from_value(pool)?).await?;
    Ok(())
}

/// Makes the pods and answers when the scheduler said of each that it finds no node, by UID. The warm-up is not among them.
async fn arrive(site: &Loopback) -> Result<BTreeMap<String, Timestamp>> {
    let pods = site.api("", "Pod", "pods").await?;
    let hearing = tokio::spawn(hear(site.api("", "Pod", "pods").await?));
    let mut made = 0..;
    let mut make = async || -> Result<()> {
        let name = format!("train-{}", made.next().unwrap_or_default());
        pods.create(&PostParams::default(), &serde_json::from_value(pod(&name))?).await?;
        Ok(())
    };
    for _ in 0..WARM_UP + ALONE {
        make().await?;
        tokio::time::sleep(BETWEEN).await;
    }
    for _ in 0..BURSTS {
        for _ in 0..IN_A_BURST {
            make().await?;
        }
        tokio::time::sleep(BETWEEN_BURSTS).await;
    }
    let mut pending = hearing.await??;
    for pod in pods.list(&ListParams::default()).await?.items {
        let number = pod.metadata.name.as_deref().and_then(|name| name.strip_prefix("train-")?.parse::<usize>().ok());
        if number.is_none_or(|number| number < WARM_UP) {
            pending.remove(pod.metadata.uid.as_deref().unwrap_or_default());
        }
    }
    Ok(pending)
}

/// Until all of them were heard of.
async fn hear(pods: Api<DynamicObject>) -> std::result::Result<BTreeMap<String, Timestamp>, String> {
    use futures_util::{StreamExt as _, pin_mut};
    let watching = async {
        let events = pods.watch(&WatchParams::default(), "0").await.map_err(|error| error.to_string())?;
        pin_mut!(events);
        let mut pending = BTreeMap::new();
        while let Some(event) = events.next().await {
            let event = event.map_err(|error| error.to_string())?;
            let (WatchEvent::Added(pod) | WatchEvent::Modified(pod)) = event else { continue };
            if finds_no_node(&pod.data) {
                pending.entry(pod.metadata.uid.unwrap_or_default()).or_insert_with(Timestamp::now);
            }
            if pending.len() == WARM_UP + ALONE + BURSTS * IN_A_BURST {
                return Ok(pending);
            }
        }
        Err("the watch of pods ended".to_owned())
    };
    tokio::time::timeout(PATIENCE, watching)
        .await
        .unwrap_or_else(|_| Err("not every pod was left without a node".into()))
}

fn finds_no_node(pod: &Value) -> bool {
    let conditions = pod["status"]["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
    conditions.iter().any(|one| one["type"] == "PodScheduled" && one["reason"] == "Unschedulable")
}

/// How long each pod waited for the request of its claim. The claim names its pods, the request its claim.
async fn follow(site: &Loopback, pending: &BTreeMap<String, Timestamp>) -> Result<Vec<Duration>> {
    let claims = site.api("karpenter.sh", "NodeClaim", "nodeclaims").await?;
    let begin = std::time::Instant::now();
    loop {
        let mut claim_of = BTreeMap::new();
        for claim in claims.list(&ListParams::default()).await?.items {
            let uid = claim.metadata.uid.unwrap_or_default();
            let named = claim.metadata.annotations.unwrap_or_default().remove(model::names::PODS).unwrap_or_default();
            claim_of.extend(named.split(',').map(|pod| (pod.to_owned(), uid.clone())));
        }
        let asked = asked(&fs::read_to_string(&site.record)?);
        let waited: Vec<Duration> = pending
            .iter()
            .filter_map(|(pod, since)| {
                let at = asked.get(claim_of.get(pod)?)?;
                Some(Duration::try_from(at.duration_since(*since)).unwrap_or_default())
            })
            .collect();
        if waited.len() == pending.len() {
            return Ok(waited);
        }
        if begin.elapsed() > PATIENCE {
            return Err(format!("{} of {} pods led to a request", waited.len(), pending.len()).into());
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

/// When a machine was first asked for, by the UID of its claim, which is in a tag.
fn asked(record: &str) -> BTreeMap<String, Timestamp> {
    let mut asked = BTreeMap::new();
    for line in record.lines().filter(|line| line.contains("\"scaleway\"")) {
        let Ok(line) = serde_json::from_str::<Value>(line) else { continue };
        let is_order = line["to"] == "scaleway" && line["method"] == "POST";
        let is_server = line["path"].as_str().is_some_and(|path| path.ends_with("/servers"));
        let Some(at) = line["at"].as_str().and_then(|at| at.parse().ok()) else { continue };
        if is_order && is_server {
            let tags = line["request"]["tags"].as_array().map(Vec::as_slice).unwrap_or_default();
            let uids = tags.iter().filter_map(Value::as_str).filter_map(|tag| tag.rsplit(['=', ':']).next());
            uids.for_each(|uid| _ = asked.entry(uid.to_owned()).or_insert(at));
        }
    }
    asked
}

fn pod(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name },
        "spec": { "containers": [{ "name": "main", "image": "example.org/work",
            "resources": { "requests": { "cpu": "1" }, "limits": { "nvidia.com/gpu": GPUS.to_string() } } }] } })
}

#[cfg(test)]
mod tests {
    use super::asked;

    #[test]
    fn the_first_order_of_a_claim_counts_and_nothing_else() {
        let line = |at: u8, method: &str, uid: &str| {
            format!(
                r#"{{"at":"2026-01-01T00:00:0{at}Z","to":"scaleway","method":"{method}","path":"/instance/v1/zones/z/servers","request":{{"tags":["pilotlight","claim={uid}"]}}}}"#
            )
        };
        let record = [line(3, "GET", "a"), line(4, "POST", "a"), line(5, "POST", "a"), line(6, "POST", "b")].join("\n");
        let asked = asked(&record);
        let at = |uid: &str| asked.get(uid).map(ToString::to_string);
        assert_eq!(at("a").as_deref(), Some("2026-01-01T00:00:04Z"));
        assert_eq!(at("b").as_deref(), Some("2026-01-01T00:00:06Z"));
        assert_eq!(at("c"), None);
    }
}
