//! What may be left behind, and twice there: each is found by its tag and taken away completely.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::{CLAIM, PROJECT, Stage, key, request, with_class};
use model::{Ensured, InstanceState};
use provider::{Change as _, Look as _};
use serde_json::{Value, json};
use std::time::Duration;
use world::faults::{Fault, Matching, Mishap};
use world::scaleway::ServerState;

const SERVERS: &str = "/instance/v1/zones/fr-par-2/servers";

fn tags() -> Value {
    let uid = format!("pilotlight-claim-uid={CLAIM}");
    json!(["created-by=pilotlight", uid, "pilotlight-claim=train-0", "pilotlight-cluster=east"])
}

/// A server of our key that somebody has made and nobody has finished: stopped, its volume without a tag.
async fn half_made(stage: &Stage, commercial_type: &str, volumes: Value) -> String {
    let label = "ubuntu_jammy_gpu_os_12";
    let path = format!("/marketplace/v2/local-images?image_label={label}&zone=fr-par-2&type=instance_sbs");
    let images = stage.send("GET", &path, &Value::Null).await;
    let body = json!({"name": "train-0", "commercial_type": commercial_type, "project": PROJECT, "tags": tags(),
                      "image": images["local_images"][0]["id"], "volumes": volumes, "dynamic_ip_required": false});
    let server = stage.send("POST", SERVERS, &body).await;
    server["server"]["id"].as_str().unwrap().to_owned()
}

async fn act(stage: &Stage, server: &str, action: &str) {
    stage.send("POST", &format!("{SERVERS}/{server}/action"), &json!({ "action": action })).await;
}

/// What is there before, by name.
#[derive(Debug, Clone, Copy)]
enum Leak {
    HalfMadeServer,
    HalfMadeServerWithScratch,
    HalfMadeServerWithLocalRoot,
    StartingServer,
    RunningServerWithoutTagOnItsVolume,
    ServerStoppedInPlace,
    PoweredOffServer,
    TerminatingServer,
    TwoServers,
    ServerInAnotherZone,
    FreeBlockVolume,
    FreeLocalVolume,
    FreeAddress,
    AttachedAddress,
}

const LEAKS: [Leak; 14] = [
    Leak::HalfMadeServer,
    Leak::HalfMadeServerWithScratch,
    Leak::HalfMadeServerWithLocalRoot,
    Leak::StartingServer,
    Leak::RunningServerWithoutTagOnItsVolume,
    Leak::ServerStoppedInPlace,
    Leak::PoweredOffServer,
    Leak::TerminatingServer,
    Leak::TwoServers,
    Leak::ServerInAnotherZone,
    Leak::FreeBlockVolume,
    Leak::FreeLocalVolume,
    Leak::FreeAddress,
    Leak::AttachedAddress,
];

async fn make(stage: &Stage, leak: Leak) {
    let none = json!({});
    match leak {
        Leak::HalfMadeServer => drop(half_made(stage, "L4-1-24G", none).await),
        Leak::HalfMadeServerWithScratch => {
            let scratch = json!({"1": {"volume_type": "scratch", "size": 1_600_000_000_000_u64}});
            half_made(stage, "L40S-1-48G", scratch).await;
        }
        Leak::HalfMadeServerWithLocalRoot => {
            let local = json!({"1": {"volume_type": "l_ssd", "size": 100_000_000_000_u64}});
            half_made(stage, "RENDER-S", local).await;
        }
        Leak::StartingServer => {
            let server = half_made(stage, "L4-1-24G", none).await;
            act(stage, &server, "poweron").await;
        }
        Leak::RunningServerWithoutTagOnItsVolume => {
            let server = half_made(stage, "L4-1-24G", none).await;
            act(stage, &server, "poweron").await;
            stage.seconds(60).await;
        }
        Leak::ServerStoppedInPlace | Leak::PoweredOffServer | Leak::TerminatingServer => {
            let server = half_made(stage, "L4-1-24G", none).await;
            act(stage, &server, "poweron").await;
            stage.seconds(60).await;
            let action = match leak {
                Leak::ServerStoppedInPlace => "stop_in_place",
                Leak::PoweredOffServer => "poweroff",
                _ => "terminate",
            };
            act(stage, &server, action).await;
            stage.seconds(if matches!(leak, Leak::TerminatingServer) { 1 } else { 60 }).await;
        }
        Leak::TwoServers => {
            half_made(stage, "L4-1-24G", none.clone()).await;
            let second = half_made(stage, "L4-1-24G", none).await;
            act(stage, &second, "poweron").await;
        }
        Leak::ServerInAnotherZone => {
            stage.provider.ensure(&request("L4-1-24G", "pl-waw-2"), None).await.map(drop).unwrap();
        }
        Leak::FreeBlockVolume => {
            let body = json!({"name": "left", "from_empty": {"size": 20_000_000_000_u64}, "tags": tags()});
            stage.send("POST", "/block/v1/zones/fr-par-2/volumes", &body).await;
        }
        Leak::FreeLocalVolume => {
            let body = json!({"name": "left", "volume_type": "l_ssd", "size": 20_000_000_000_u64, "tags": tags()});
            stage.send("POST", "/instance/v1/zones/fr-par-1/volumes", &body).await;
        }
        Leak::FreeAddress => {
            stage.send("POST", "/instance/v1/zones/pl-waw-2/ips", &json!({"tags": tags()})).await;
        }
        Leak::AttachedAddress => {
            let server = half_made(stage, "L4-1-24G", none).await;
            stage.send("POST", "/instance/v1/zones/fr-par-2/ips", &json!({"tags": tags(), "server": server})).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn every_leak_is_listed_as_ours_and_closed_by_the_key_alone() {
    for leak in LEAKS {
        let stage = Stage::plain();
        make(&stage, leak).await;
        let owned = stage.provider.owned().await.unwrap();
        assert!(!owned.is_empty() && owned.iter().all(|one| one.key == key(CLAIM)), "{leak:?}: {owned:?}");
        stage.drive_gone(&key(CLAIM)).await.unwrap_or_else(|error| panic!("{leak:?}: {error}"));
        assert!(stage.present().is_empty(), "{leak:?}: {:?}", stage.present());
        assert!(stage.provider.owned().await.unwrap().is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn whatever_is_there_before_an_ensure_ends_with_one_server_or_is_given_up_cleanly() {
    for leak in LEAKS {
        let stage = Stage::plain();
        make(&stage, leak).await;
        let wanted = request("L4-1-24G", "fr-par-2");
        match stage.drive(&wanted).await {
            Ok(instance) => {
                assert_eq!(instance.state, InstanceState::Running);
                assert_eq!(stage.present().servers.len(), 1, "{leak:?}");
            }
            Err(error) => {
                assert_eq!(error.reason(), "InsufficientCapacity", "{leak:?}");
                assert!(stage.present().servers.is_empty(), "{leak:?}");
            }
        }
        stage.drive_gone(&wanted.key).await.unwrap();
        assert!(stage.present().is_empty(), "{leak:?}: {:?}", stage.present());
    }
}

#[tokio::test(start_paused = true)]
async fn of_two_servers_the_oldest_stays_and_the_other_goes_with_all_it_has() {
    let stage = Stage::plain();
    let first = half_made(&stage, "L4-1-24G", json!({})).await;
    stage.seconds(1).await;
    let second = half_made(&stage, "L4-1-24G", json!({})).await;
    act(&stage, &second, "poweron").await;
    let instance = stage.drive(&request("L4-1-24G", "fr-par-2")).await.unwrap();
    assert!(instance.provider_id.ends_with(&first), "the oldest");
    let present = stage.present();
    assert_eq!((present.servers.len(), present.volumes.len()), (1, 1));
    assert_eq!(present.servers[0].state, ServerState::Running);
}

/// Two machines handle the same event, and requests of one of them are slow: at no request may that make a difference.
#[tokio::test(start_paused = true)]
async fn two_machines_at_once_come_to_the_same_one_server() {
    for nth in 1..=24 {
        let stage = Stage::plain();
        let on = Matching { to: Some("scaleway".to_owned()), nth: Some(nth), times: Some(2), ..Matching::default() };
        stage.world.faults.add(Fault { on, then: Mishap::Slow { milliseconds: 7_000 } });
        let wanted = with_class(request("L40S-1-48G", "fr-par-2"), &[("scratch", "true"), ("public-ip", "flexible")]);
        let (one, other) = tokio::join!(stage.drive(&wanted), stage.drive(&wanted));
        let told = |error| panic!("slow at request {nth}: {error}");
        let (one, other) = (one.unwrap_or_else(told), other.unwrap_or_else(told));
        assert_eq!(one.provider_id, other.provider_id, "slow at request {nth}");
        assert_eq!(stage.present().servers.len(), 1, "slow at request {nth}");
        stage.drive_gone(&wanted.key).await.unwrap();
        assert!(stage.present().is_empty(), "slow at request {nth}: {:?}", stage.present());
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_that_is_behind_costs_a_duplicate_at_most_for_a_moment() {
    for done in [true, false] {
        let stage = Stage::with(|options| options.list_lag = Duration::from_secs(20));
        let (to, method) = (Some("scaleway".to_owned()), Some("POST".to_owned()));
        stage
            .world
            .faults
            .add(Fault { on: Matching { to, method, ..Matching::default() }, then: Mishap::Reset { done } });
        let wanted = request("L4-1-24G", "fr-par-2");
        stage.drive(&wanted).await.unwrap();
        stage.seconds(30).await;
        stage.drive(&wanted).await.unwrap();
        assert_eq!(stage.present().servers.len(), 1, "{done}");
        stage.drive_gone(&wanted.key).await.unwrap();
        assert!(stage.present().is_empty(), "{done}: {:?}", stage.present());
    }
}

#[tokio::test(start_paused = true)]
async fn the_volume_of_a_volume_claim_is_neither_tagged_nor_deleted() {
    let stage = Stage::plain();
    let wanted = request("L4-1-24G", "fr-par-2");
    stage.drive(&wanted).await.unwrap();
    let body = json!({"name": "pvc-1", "from_empty": {"size": 20_000_000_000_u64}});
    let volume = stage.send("POST", "/block/v1/zones/fr-par-2/volumes", &body).await["id"].clone();
    let server = stage.present().servers[0].id.clone();
    stage.send("POST", &format!("{SERVERS}/{server}/attach-volume"), &json!({ "volume_id": volume })).await;
    stage.drive_gone(&wanted.key).await.unwrap();
    let present = stage.present();
    assert_eq!((present.servers.len(), present.volumes.len()), (0, 1), "{present:?}");
    assert_eq!(present.volumes[0].tags, Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn an_untagged_volume_is_still_known_by_the_progress() {
    let stage = Stage::plain();
    let wanted = request("L4-1-24G", "fr-par-2");
    let Ensured::InProgress { progress, .. } = stage.provider.ensure(&wanted, None).await.unwrap() else {
        panic!("it cannot run yet");
    };
    assert!(progress.0.len() < 1024, "small enough for an annotation");
    let volume = stage.present().volumes[0].id.clone();
    stage.send("PATCH", &format!("/block/v1/zones/fr-par-2/volumes/{volume}"), &json!({"tags": []})).await;
    stage.seconds(60).await;
    act(&stage, &stage.present().servers[0].id, "terminate").await;
    stage.seconds(60).await;
    assert_eq!(stage.present().volumes.len(), 1);
    stage.provider.ensure_gone(&wanted.key, Some(&progress)).await.unwrap();
    assert!(stage.present().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_locked_or_protected_server_is_reported_and_not_fought() {
    let stage = Stage::plain();
    let wanted = request("L4-1-24G", "fr-par-2");
    stage.drive(&wanted).await.unwrap();
    let server = stage.present().servers[0].id.clone();
    stage.send("PATCH", &format!("{SERVERS}/{server}"), &json!({"protected": true})).await;
    let error = stage.drive_gone(&wanted.key).await.unwrap_err();
    assert_eq!(error.reason(), "InvalidRequest", "{error}");
    assert!(error.to_string().contains("protected"), "{error}");
    stage.world.scaleway.lock(&server);
    assert_eq!(stage.drive_gone(&wanted.key).await.unwrap_err().reason(), "Unauthorized");
    assert_eq!(stage.drive(&wanted).await.unwrap_err().reason(), "Unauthorized");
    let observed = stage.provider.observe(&wanted.key).await.unwrap();
    assert_eq!(observed.map(|instance| instance.state), Some(InstanceState::Failed));
}

#[tokio::test(start_paused = true)]
async fn a_rate_limit_slows_the_life_down_and_does_not_break_it() {
    let stage = Stage::with(|options| options.rate_limit = Some((2, Duration::from_secs(1))));
    let wanted = with_class(request("L4-1-24G", "fr-par-2"), &[("public-ip", "none")]);
    // Two requests a second are less than one call makes, so what counts is that no call does harm.
    for _ in 0..20 {
        drop(stage.provider.ensure(&wanted, None).await);
        stage.seconds(2).await;
    }
    assert!(stage.present().servers.len() <= 1);
    assert_eq!(stage.provider.observe(&wanted.key).await.unwrap_err().reason(), "Throttled");
    stage.world.scaleway.adjust(|options| options.rate_limit = None);
    stage.drive(&wanted).await.unwrap();
    stage.drive_gone(&wanted.key).await.unwrap();
    assert!(stage.present().is_empty());
}
