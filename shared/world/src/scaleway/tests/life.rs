//! A server's life: created stopped, started, booted, joined, stopped, gone.

use super::*;
use crate::scaleway::options::{Availability, Misfortune, MisfortuneKind, ShortageManner, Stock, Window};

#[tokio::test(start_paused = true)]
async fn a_created_server_is_stopped_and_its_root_volume_carries_none_of_its_tags() {
    let stage = Stage::plain();
    let reply = stage.instance("POST", "/servers", stage.body("gpu-1", "L4-1-24G")).await;
    assert_eq!(reply.status, 201);
    let server = &reply.json["server"];
    let id = server["id"].as_str().unwrap();
    assert!(reply.headers["location"].to_str().unwrap().ends_with(&format!("/servers/{id}")));
    assert_eq!(server["state"], "stopped");
    assert_eq!(server["allowed_actions"], json!(["poweron", "backup"]));
    assert_eq!((&server["public_ips"], &server["location"]), (&json!([]), &Value::Null));
    let volume = server["volumes"]["0"]["id"].as_str().unwrap();
    let block = stage.block("GET", &format!("/volumes/{volume}"), Value::Null).await.json;
    assert_eq!(block["name"], "Ubuntu Jammy GPU OS 12_sbs_volume_0");
    assert_eq!((&block["tags"], &block["status"]), (&json!([]), &json!("in_use")));
    assert_eq!(block["references"][0]["product_resource_id"], id);
    let missing = stage.instance("GET", &format!("/volumes/{volume}"), Value::Null).await;
    assert_eq!((missing.status.as_u16(), &missing.json["resource"]), (404, &json!("instance_volume")));
}

#[tokio::test(start_paused = true)]
async fn poweron_goes_through_allocating_and_provisioning_to_running_and_the_node_joins_later() {
    let stage = Stage::plain();
    let id = stage.create("gpu-1", "L4-2-24G").await;
    stage.user_data(&id, JOIN).await;
    let reply = stage.act(&id, "poweron").await;
    assert_eq!((reply.status.as_u16(), &reply.json["task"]["description"]), (202, &json!("fake task")));
    assert!(!reply.headers.contains_key("location"));
    let mut seen: Vec<String> = Vec::new();
    while seen.last().is_none_or(|last| last != "running/booted") {
        let server = stage.server(&id).await;
        let state = format!("{}/{}", server["state"].as_str().unwrap(), server["state_detail"].as_str().unwrap());
        if seen.last() != Some(&state) {
            seen.push(state);
        }
        if seen.last().is_some_and(|last| last == "running/booting kernel") {
            assert!(stage.fleet.joined.lock().unwrap().is_empty(), "running does not mean that the guest is up");
        }
        stage.seconds(1).await;
    }
    let expected =
        ["starting/allocating node", "starting/provisioning node", "running/booting kernel", "running/booted"];
    assert_eq!(seen, expected);
    let joined = stage.fleet.joined.lock().unwrap();
    assert_eq!(joined.len(), 1);
    let machine = &joined[0];
    assert_eq!(machine.node, "gpu-1");
    assert_eq!(machine.provider_id, format!("scaleway://instance/fr-par-2/{id}"));
    assert_eq!(machine.labels["node.kubernetes.io/instance-type"], "L4-2-24G");
    assert_eq!(
        (machine.labels["topology.kubernetes.io/zone"].as_str(), machine.labels["a"].as_str()),
        ("fr-par-2", "b")
    );
    assert_eq!(machine.labels["k8s.scaleway.com/pilotlight-claim"], "1");
    assert_eq!(machine.accelerator, Some(("nvidia.com/gpu".to_owned(), 2)));
    assert!(machine.accelerator_after.is_some());
    assert_eq!(machine.capacity["cpu"], "16");
}

#[tokio::test(start_paused = true)]
async fn a_server_whose_user_data_came_after_poweron_runs_but_never_joins() {
    let stage = Stage::plain();
    let id = stage.create("gpu-1", "L4-1-24G").await;
    stage.act(&id, "poweron").await;
    stage.user_data(&id, JOIN).await;
    stage.seconds(3600).await;
    assert_eq!(stage.server(&id).await["state"], "running");
    stage.act(&id, "reboot").await;
    stage.seconds(3600).await;
    assert!(stage.fleet.joined.lock().unwrap().is_empty(), "cloud-init runs at the first boot only");
}

#[tokio::test(start_paused = true)]
async fn user_data_is_listed_read_and_deleted_as_raw_text() {
    let stage = Stage::plain();
    let id = stage.create("gpu-1", "L4-1-24G").await;
    stage.user_data(&id, JOIN).await;
    let path = format!("/servers/{id}/user_data");
    assert_eq!(stage.instance("GET", &path, Value::Null).await.json, json!({"user_data": ["cloud-init"]}));
    assert_eq!(stage.instance("GET", &format!("{path}/cloud-init"), Value::Null).await.text, JOIN);
    assert_eq!(stage.instance("DELETE", &format!("{path}/cloud-init"), Value::Null).await.status, 204);
    assert_eq!(stage.instance("GET", &format!("{path}/cloud-init"), Value::Null).await.status, 404);
}

#[tokio::test(start_paused = true)]
async fn poweroff_takes_most_of_a_minute_leaves_the_node_object_and_rejoins_after_the_next_poweron() {
    let stage = Stage::plain();
    let id = stage.running("gpu-1", "L4-1-24G").await;
    stage.act(&id, "poweroff").await;
    assert_eq!(*stage.fleet.left.lock().unwrap(), [("gpu-1".to_owned(), false)]);
    stage.seconds(40).await;
    assert_eq!(stage.server(&id).await["state"], "stopping");
    stage.seconds(12).await;
    assert_eq!(stage.server(&id).await["state"], "stopped");
    stage.act(&id, "poweron").await;
    stage.seconds(200).await;
    let joined = stage.fleet.joined.lock().unwrap();
    assert_eq!(joined.len(), 2);
    assert_ne!(joined[0].boot_id, joined[1].boot_id);
}

#[tokio::test(start_paused = true)]
async fn stopping_in_place_is_billed_and_poweroff_is_not() {
    let stage = Stage::plain();
    let id = stage.running("gpu-1", "L4-1-24G").await;
    stage.act(&id, "stop_in_place").await;
    stage.seconds(60).await;
    assert_eq!(stage.server(&id).await["state"], "stopped in place");
    assert!(stage.scaleway.snapshot().servers[0].billed);
    stage.act(&id, "poweroff").await;
    stage.seconds(60).await;
    let record = stage.scaleway.snapshot().servers[0].clone();
    assert!(!record.billed);
    stage.seconds(600).await;
    assert_eq!(stage.scaleway.snapshot().servers[0].billed_for, record.billed_for);
}

#[tokio::test(start_paused = true)]
async fn a_dynamic_address_comes_with_running_and_vanishes_after_poweroff() {
    let stage = Stage::plain();
    let mut body = stage.body("gpu-1", "L4-1-24G");
    body["dynamic_ip_required"] = json!(true);
    let reply = stage.instance("POST", "/servers", body).await;
    let id = reply.json["server"]["id"].as_str().unwrap().to_owned();
    stage.act(&id, "poweron").await;
    stage.seconds(60).await;
    assert_eq!(stage.server(&id).await["public_ips"][0]["dynamic"], true);
    stage.act(&id, "poweroff").await;
    stage.seconds(60).await;
    assert_eq!(stage.server(&id).await["public_ips"], json!([]));
}

#[tokio::test(start_paused = true)]
async fn misfortunes_at_boot_strike_as_often_as_told() {
    let misfortune = |kind| Misfortune { times: Some(1), ..Misfortune::always(kind) };
    for (kind, joins, gpu) in [
        (MisfortuneKind::NeverJoins, false, false),
        (MisfortuneKind::AcceleratorNeverAppears, true, false),
        (MisfortuneKind::SlowBoot(Duration::from_secs(900)), false, true),
        (MisfortuneKind::StuckStarting, false, true),
    ] {
        let stage = Stage::with(Options { misfortunes: vec![misfortune(kind)], ..Options::default() });
        let id = stage.running("gpu-1", "L4-1-24G").await;
        {
            let joined = stage.fleet.joined.lock().unwrap();
            assert_eq!(!joined.is_empty(), joins, "{kind:?}");
            assert!(joined.iter().all(|machine| machine.accelerator_after.is_some() == gpu), "{kind:?}");
        }
        if kind == MisfortuneKind::StuckStarting {
            assert_eq!(stage.server(&id).await["state_detail"], "allocating node");
        } else if kind == MisfortuneKind::SlowBoot(Duration::from_secs(900)) {
            stage.seconds(900).await;
            assert_eq!(stage.fleet.joined.lock().unwrap().len(), 1);
        }
        let second = stage.running("gpu-2", "L4-1-24G").await;
        assert_eq!(stage.server(&second).await["state_detail"], "booted", "{kind:?} struck twice");
    }
}

#[tokio::test(start_paused = true)]
async fn a_shortage_shows_in_each_of_its_manners_and_only_in_its_window() {
    let stock = |manner| Stock {
        commercial_type: "L4-1-24G".to_owned(),
        zone: "fr-par-2".to_owned(),
        window: Window::between_seconds(0, 1000),
        availability: Availability::Shortage,
        manner,
    };
    for (manner, create, poweron, state) in [
        (ShortageManner::RefusesCreate, 503, 0, ""),
        (ShortageManner::RefusesPoweron, 201, 503, "stopped"),
        (ShortageManner::FallsBackToStopped, 201, 202, "stopped"),
        (ShortageManner::StaysAllocating, 201, 202, "starting"),
    ] {
        let stage = Stage::with(Options { stock: vec![stock(manner)], ..Options::default() });
        let reply = stage.instance("POST", "/servers", stage.body("gpu-1", "L4-1-24G")).await;
        assert_eq!(reply.status.as_u16(), create, "{manner:?}");
        if create == 503 {
            assert_eq!((&reply.json["type"], &reply.json["resource"]), (&json!("out_of_stock"), &json!("L4-1-24G")));
            continue;
        }
        let id = reply.json["server"]["id"].as_str().unwrap().to_owned();
        assert_eq!(stage.act(&id, "poweron").await.status.as_u16(), poweron, "{manner:?}");
        stage.seconds(400).await;
        assert_eq!(stage.server(&id).await["state"], state, "{manner:?}");
        if state == "stopped" {
            stage.seconds(1000).await;
            assert_eq!(stage.act(&id, "poweron").await.status, 202, "stock is back");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_same_seed_gives_the_same_history() {
    async fn history() -> (String, Vec<Machine>) {
        let stage = Stage::plain();
        let id = stage.running("gpu-1", "L4-1-24G").await;
        stage.act(&id, "terminate").await;
        stage.seconds(60).await;
        let snapshot = format!("{:?}", stage.scaleway.snapshot());
        let joined = stage.fleet.joined.lock().unwrap().clone();
        (snapshot, joined)
    }
    assert_eq!(history().await, history().await);
}
