//! Errors: each with its status, type and fields.

use super::*;
use crate::scaleway::options::{Key, Misfortune, MisfortuneKind, Quotas};

#[tokio::test(start_paused = true)]
async fn a_token_that_is_missing_unknown_expired_or_too_weak_is_refused_in_its_own_way() {
    let expired = Key { expired: true, ..Key::new("22222222-2222-4333-8444-555555555555") };
    let reader = Key {
        denied: vec![("compute_servers".to_owned(), "write".to_owned())],
        ..Key::new("33333333-2222-4333-8444-555555555555")
    };
    let stage = Stage::with(Options { keys: vec![Key::new(TOKEN), expired, reader], ..Options::default() });
    let path = "/instance/v1/zones/fr-par-2/servers";
    for (token, reason) in [
        ("", "invalid_argument"),
        ("not-a-uuid", "invalid_argument"),
        ("99999999-2222-4333-8444-555555555555", "not_found"),
        ("22222222-2222-4333-8444-555555555555", "expired"),
    ] {
        let reply = stage.send("GET", path, token, "").await;
        assert_eq!((reply.status.as_u16(), &reply.json["type"]), (401, &json!("denied_authentication")));
        assert_eq!((&reply.json["method"], &reply.json["reason"]), (&json!("api_key"), &json!(reason)));
    }
    let token = "33333333-2222-4333-8444-555555555555";
    assert_eq!(stage.send("GET", path, token, "").await.status, 200);
    let denied = stage.send("POST", path, token, "{}").await;
    assert_eq!((denied.status.as_u16(), &denied.json["type"]), (403, &json!("permissions_denied")));
    assert_eq!(denied.json["details"], json!([{"resource": "compute_servers", "action": "write"}]));
    assert!(denied.headers.contains_key("x-request-id"));
}

#[tokio::test(start_paused = true)]
async fn a_create_body_names_every_wrong_argument_and_makes_nothing() {
    let stage = Stage::plain();
    let image = json!(stage.image("ubuntu_jammy_gpu_os_12", true));
    let local = json!(stage.image("ubuntu_jammy", false));
    let cases = [
        (
            json!({}),
            vec![("commercial_type", "required"), ("image", "required"), ("name", "required"), ("project", "required")],
        ),
        (
            json!({"cloud_init": "x", "name": "a", "commercial_type": "L4-1-24G", "image": image, "project": "p"}),
            vec![("cloud_init", "unknown")],
        ),
        (
            json!({"name": "a", "commercial_type": "L4-1-24G", "image": "ubuntu_jammy", "project": "p"}),
            vec![("image", "format")],
        ),
        (
            json!({"name": "a", "commercial_type": "GPU-3070-S", "image": image, "project": "p"}),
            vec![("commercial_type", "constraint")],
        ),
        (
            json!({"name": "a", "commercial_type": "L4-1-24G", "image": local, "project": "p"}),
            vec![("volumes", "constraint")],
        ),
        (
            json!({"name": "a", "commercial_type": "L4-1-24G", "image": image, "project": "p", "volumes": {"1": {"volume_type": "scratch", "size": 512}}}),
            vec![("volumes", "constraint")],
        ),
        (
            json!({"name": "a", "commercial_type": "L4-1-24G", "image": image, "project": "p", "volumes": {"0": {"volume_type": "b_ssd", "size": 20_000_000_000_u64}}}),
            vec![("volumes.0.volume_type", "constraint")],
        ),
        (
            json!({"name": "a", "commercial_type": "L4-1-24G", "image": image, "project": "p", "volumes": {"0": {"size": 20_000_000_001_u64}}}),
            vec![("volumes.0.size", "constraint")],
        ),
    ];
    for (body, expected) in cases {
        let reply = stage.instance("POST", "/servers", body.clone()).await;
        assert_eq!((reply.status.as_u16(), &reply.json["type"]), (400, &json!("invalid_arguments")), "{body}");
        let details = reply.json["details"].as_array().unwrap();
        let found: Vec<(&str, &str)> = details
            .iter()
            .map(|one| (one["argument_name"].as_str().unwrap(), one["reason"].as_str().unwrap()))
            .collect();
        assert_eq!(found, expected, "{body}");
    }
    let mut body = stage.body("a", "L4-1-24G");
    body["image"] = json!("00000000-2222-4333-8444-555555555555");
    let reply = stage.instance("POST", "/servers", body).await;
    assert_eq!((reply.status.as_u16(), &reply.json["resource"]), (404, &json!("instance_image")));
    let broken = stage.send("POST", "/instance/v1/zones/fr-par-2/servers", TOKEN, "{").await;
    assert_eq!(broken.status, 400);
    assert!(stage.scaleway.snapshot().is_empty());
    assert!(stage.scaleway.snapshot().servers.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_first_time_user_hits_the_quota_at_the_second_node() {
    let stage = Stage::with(Options { quotas: Quotas::of_a_first_time_user(), ..Options::default() });
    stage.create("gpu-1", "L4-1-24G").await;
    let reply = stage.instance("POST", "/servers", stage.body("gpu-2", "L4-1-24G")).await;
    assert_eq!((reply.status.as_u16(), &reply.json["type"]), (403, &json!("quotas_exceeded")));
    let detail = &reply.json["details"][0];
    assert_eq!((&detail["quota"], &detail["current"]), (&json!(1), &json!(1)));
    let reply = stage.instance("POST", "/servers", stage.body("gpu-3", "H100-SXM-2-80G")).await;
    assert_eq!(reply.json["details"][0]["quota"], 0);
}

#[tokio::test(start_paused = true)]
async fn actions_out_of_turn_are_refused_by_state() {
    let stage = Stage::plain();
    let id = stage.create("gpu-1", "L4-1-24G").await;
    let wrong = stage.act(&id, "reboot").await;
    assert_eq!((wrong.status.as_u16(), &wrong.json["type"]), (400, &json!("invalid_request_error")));
    assert_eq!(stage.act(&id, "explode").await.json["type"], "invalid_arguments");
    stage.act(&id, "poweron").await;
    let early = stage.act(&id, "terminate").await;
    assert_eq!((early.status.as_u16(), &early.json["type"]), (409, &json!("transient_state")));
    assert_eq!((&early.json["resource_id"], &early.json["current_state"]), (&json!(id), &json!("starting")));
    stage.seconds(200).await;
    assert_eq!(stage.act(&id, "poweron").await.status, 400);
    assert_eq!(stage.act(&id, "poweroff").await.status, 202);
    assert_eq!(stage.act(&id, "poweroff").await.json["type"], "transient_state");
}

#[tokio::test(start_paused = true)]
async fn a_server_stuck_in_starting_is_stopped_in_place_and_then_terminated() {
    let misfortunes = vec![Misfortune::always(MisfortuneKind::StuckStarting)];
    let stage = Stage::with(Options { misfortunes, ..Options::default() });
    let id = stage.running("gpu-1", "L4-1-24G").await;
    assert_eq!(stage.server(&id).await["allowed_actions"], json!(["stop_in_place", "backup"]));
    assert_eq!(stage.act(&id, "terminate").await.status, 409);
    assert_eq!(stage.act(&id, "stop_in_place").await.status, 202);
    assert_eq!(stage.act(&id, "stop_in_place").await.status, 202, "asking again is accepted");
    stage.seconds(60).await;
    assert_eq!(stage.act(&id, "terminate").await.status, 202);
    stage.seconds(30).await;
    assert!(stage.scaleway.snapshot().present().servers.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_protected_server_and_a_locked_server_cannot_be_stopped() {
    let stage = Stage::plain();
    let id = stage.running("gpu-1", "L4-1-24G").await;
    stage.instance("PATCH", &format!("/servers/{id}"), json!({"protected": true})).await;
    assert_eq!(stage.act(&id, "terminate").await.status, 412);
    stage.instance("PATCH", &format!("/servers/{id}"), json!({"protected": false})).await;
    stage.scaleway.lock(&id);
    let locked = stage.act(&id, "terminate").await;
    assert_eq!((locked.status.as_u16(), &locked.json["type"]), (423, &json!("locked")));
}

#[tokio::test(start_paused = true)]
async fn above_the_rate_the_gateway_answers_429_without_body_or_retry_after() {
    let stage = Stage::with(Options { rate_limit: Some((3, Duration::from_secs(1))), ..Options::default() });
    for _ in 0..3 {
        assert_eq!(stage.instance("GET", "/servers", Value::Null).await.status, 200);
    }
    let reply = stage.instance("GET", "/servers", Value::Null).await;
    assert_eq!((reply.status.as_u16(), reply.text.as_str()), (429, ""));
    assert_eq!(reply.headers["x-envoy-ratelimited"], "true");
    assert!(!reply.headers.contains_key("retry-after") && !reply.headers.contains_key("content-type"));
    stage.seconds(1).await;
    assert_eq!(stage.instance("GET", "/servers", Value::Null).await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn a_server_is_found_only_in_its_zone_and_unknown_paths_and_zones_are_404() {
    let stage = Stage::plain();
    let id = stage.create("gpu-1", "L4-1-24G").await;
    let elsewhere = stage.get(&format!("/instance/v1/zones/fr-par-1/servers/{id}")).await;
    assert_eq!((elsewhere.status.as_u16(), &elsewhere.json["type"]), (404, &json!("not_found")));
    assert_eq!(stage.get("/instance/v1/zones/xx-yyy-1/servers").await.json["type"], "unknown_resource");
    assert_eq!(stage.get("/instance/v1/zones/fr-par-1/nothing").await.status, 404);
    assert_eq!(stage.instance("PUT", "/servers", json!({})).await.status, 405);
}
