//! One claim from its making to its end, for each provider.

#![allow(clippy::unwrap_used)]

use faults::{KINDS, Kind, Theatre, condition};
use jiff::SignedDuration;
use serde_json::json;
use std::time::Duration;
use world::history::Exchange;

async fn lives_and_goes(kind: Kind) {
    let mut theatre = Theatre::open().await;
    theatre.play(theatre.messenger());
    theatre.create(kind.claim("gpu1")).await;
    theatre.until("the claim is ready", |theatre| theatre.is_ready("gpu1")).await;
    let claim = theatre.claim("gpu1").unwrap();
    for kind in ["Launched", "Registered", "Initialized", "Ready"] {
        assert_eq!(condition(&claim, kind).unwrap()["status"], "True", "{kind}: {claim:#}");
    }
    let status = &claim["status"];
    assert!(status["providerID"].is_string() && status["nodeName"].is_string(), "{status:#}");
    assert!(status["capacity"]["nvidia.com/gpu"].is_string(), "{status:#}");
    // A claim that is ready is left in peace.
    theatre.pass(Duration::from_secs(60)).await;
    let quiet_from = theatre.world.clock.now();
    theatre.pass(Duration::from_secs(3600)).await;
    theatre.world.check_quiet_since(quiet_from).unwrap();
    theatre.delete("gpu1").await;
    theatre.until("the claim is gone", |theatre| theatre.claim("gpu1").is_none()).await;
    theatre.world.check(SignedDuration::ZERO).unwrap();
    theatre.world.check_secrets(&[stage::JOIN_TOKEN]).unwrap();
    assert!(theatre.world.power.snapshot().iter().all(|machine| !machine.on), "every machine is off");
    assert!(theatre.world.instances().iter().all(|instance| instance.until.is_some()), "nothing is left");
}

#[tokio::test(start_paused = true)]
async fn a_claim_of_each_provider_becomes_a_node_and_goes_without_a_trace() {
    for kind in KINDS {
        lives_and_goes(kind).await;
    }
}

#[tokio::test(start_paused = true)]
async fn work_that_tolerates_every_taint_is_evicted_before_its_machine_goes() {
    for kind in KINDS {
        let mut theatre = Theatre::open().await;
        theatre.play(theatre.messenger());
        theatre.create(kind.claim("gpu1")).await;
        theatre.until("the claim is ready", |theatre| theatre.is_ready("gpu1")).await;
        theatre.bind_pod_that_tolerates("train", &theatre.node_of("gpu1"), json!({"operator": "Exists"})).await;
        theatre.until("the pod runs", |theatre| theatre.runs("train")).await;
        theatre.delete("gpu1").await;
        theatre.until("the claim is gone", |theatre| theatre.is_gone("gpu1")).await;
        theatre.world.check(SignedDuration::ZERO).unwrap();
        let asked = |exchange: &Exchange| exchange.path.ends_with("/pods/train/eviction");
        assert!(theatre.world.history.exchanges().iter().any(asked), "{}: it is asked to go", kind.name());
    }
}
