//! The simulated world: requests a second, size of objects, scheduling of a large cluster, a quiet hour.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Request;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use world::{World, WorldOptions, fleet::Machine};

use crate::Result;
use crate::paused::paused;
use crate::report::Measurement;

const PODS: usize = 10_000;
const NODES: usize = 1_000;
const PODS_PATH: &str = "/api/v1/namespaces/default/pods";

pub fn measure() -> Result<Vec<Measurement>> {
    let mut measurements = paused(large_cluster())?;
    measurements.push(paused(quiet_hour())?);
    Ok(measurements)
}

async fn large_cluster() -> Result<Vec<Measurement>> {
    let world = World::start(WorldOptions { most_exchanges: 0, ..WorldOptions::default() });
    world.clock.sleep(Duration::from_secs(1)).await;
    let started = Instant::now();
    for index in 0..NODES {
        world.fleet().join(machine(&format!("node-{index}")));
    }
    world.clock.sleep(Duration::from_secs(60)).await;
    let joined = started.elapsed();

    let started = Instant::now();
    for index in 0..PODS {
        ask(&world, "POST", PODS_PATH, pod(index)).await?;
    }
    let created = started.elapsed();

    let started = Instant::now();
    let mut bound = 0;
    for _ in 0..600 {
        let (pods, _) = world.objects.store.list(&("".into(), "pods".into()), Some("default"));
        bound = pods.iter().filter(|(_, pod)| pod.value["spec"]["nodeName"].is_string()).count();
        if bound == PODS {
            break;
        }
        world.clock.sleep(Duration::from_secs(1)).await;
    }
    if bound < PODS {
        return Err(format!("only {bound} of {PODS} pods were scheduled").into());
    }
    let scheduled = created + started.elapsed();

    let started = Instant::now();
    let list = ask(&world, "GET", PODS_PATH, Value::Null).await?;
    let listed = started.elapsed();
    let started = Instant::now();
    watched(&world).await?;
    let watched = started.elapsed();
    let per_second = |count: usize, time: Duration| count as f64 / time.as_secs_f64();
    Ok(vec![
        Measurement::new("world.nodes_joined_per_second.1000", per_second(NODES, joined), "1/s"),
        Measurement::new("world.create_requests_per_second.10000", per_second(PODS, created), "1/s"),
        Measurement::new("world.pods_scheduled_per_second.10000x1000", per_second(PODS, scheduled), "1/s"),
        Measurement::new("world.list_ms.10000", listed.as_secs_f64() * 1000.0, "ms"),
        Measurement::new("world.watch_events_per_second.10000", per_second(PODS, watched), "1/s"),
        Measurement::new("world.bytes_per_object.pod", list.len() as f64 / PODS as f64, "B"),
    ])
}

/// Reads a watch from the beginning until every pod has come.
async fn watched(world: &World) -> Result<()> {
    let path = format!("{PODS_PATH}?watch=true&resourceVersion=0");
    let request = Request::builder().uri(path).body(Bytes::new())?;
    let mut body = world.kubernetes().call(request).await?.into_body();
    let mut events = 0;
    while events < PODS {
        let frame = body.frame().await.ok_or("the watch ended early")??;
        events += frame.data_ref().map_or(0, |data| data.iter().filter(|byte| **byte == b'\n').count());
    }
    Ok(())
}

async fn quiet_hour() -> Result<Measurement> {
    let world = World::start(WorldOptions::default());
    for index in 0..50 {
        world.fleet().join(machine(&format!("node-{index}")));
    }
    world.clock.sleep(Duration::from_secs(120)).await;
    let started = Instant::now();
    world.clock.sleep(Duration::from_secs(3600)).await;
    Ok(Measurement::at_most("world.quiet_hour_ms.50_nodes", started.elapsed().as_secs_f64() * 1000.0, "ms", 1000.0))
}

async fn ask(world: &World, method: &str, path: &str, body: Value) -> Result<Bytes> {
    let body = if body.is_null() { Bytes::new() } else { Bytes::from(body.to_string()) };
    let request = Request::builder().method(method).uri(path).header("content-type", "application/json").body(body)?;
    let response = world.kubernetes().call(request).await?;
    let status = response.status();
    let body = response.into_body().collect().await?.to_bytes();
    if status.is_success() {
        Ok(body)
    } else {
        Err(format!("{method} {path}: {}", String::from_utf8_lossy(&body)).into())
    }
}

fn pod(index: usize) -> Value {
    json!({ "metadata": { "name": format!("pod-{index}"), "labels": { "app": format!("app-{}", index % 20) } },
        "spec": { "containers": [{ "name": "main", "image": "work", "resources": { "requests": { "cpu": "500m", "memory": "1Gi" } } }] } })
}

fn machine(node: &str) -> Machine {
    let capacity = [("cpu", "8"), ("memory", "32Gi"), ("ephemeral-storage", "100Gi"), ("pods", "110")];
    Machine {
        node: node.to_owned(),
        provider_id: format!("world://{node}"),
        labels: BTreeMap::from([("kubernetes.io/hostname".to_owned(), node.to_owned())]),
        annotations: BTreeMap::new(),
        taints: Vec::new(),
        capacity: capacity.iter().map(|(name, amount)| ((*name).to_owned(), (*amount).to_owned())).collect(),
        accelerator: None,
        accelerator_after: None,
        boot_id: format!("boot-{node}"),
    }
}
