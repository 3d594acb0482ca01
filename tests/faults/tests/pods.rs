//! Pods that find no node: a node comes, they run on it, and nobody makes a second one.

#![allow(clippy::unwrap_used, clippy::panic)]

use faults::{KINDS, Kind, Theatre, gpu_pod};
use jiff::SignedDuration;
use std::time::Duration;

async fn playing() -> Theatre {
    let mut theatre = Theatre::open().await;
    theatre.play(theatre.messenger());
    theatre
}

async fn gets_its_node(kind: Kind) {
    let theatre = playing().await;
    theatre.create_pool(kind.pool("gpu")).await;
    theatre.create_pod(gpu_pod("train", 1)).await;
    theatre.until("the pod runs", |theatre| theatre.runs("train")).await;
    let claims = theatre.all_claims();
    let [claim] = claims.as_slice() else { panic!("{}: {} claims", kind.name(), claims.len()) };
    println!("{}", serde_json::to_string_pretty(claim).unwrap());
    println!("{:?}", theatre.said_of("train"));
    assert_eq!(claim["metadata"]["ownerReferences"][0]["kind"], "NodePool");
    assert_eq!(claim["metadata"]["labels"]["team"], "a");
    theatre.world.check(SignedDuration::ZERO).unwrap();
    theatre.pass(Duration::from_secs(600)).await;
    let quiet_from = theatre.world.clock.now();
    theatre.pass(Duration::from_secs(3600)).await;
    theatre.world.check_quiet_since(quiet_from).unwrap();
    assert_eq!(theatre.all_claims().len(), 1, "{}", kind.name());
}

#[tokio::test(start_paused = true)]
async fn a_pod_gets_its_node_from_each_provider() {
    for kind in KINDS {
        gets_its_node(kind).await;
    }
}
