//! What deletion leaves behind, and how to get rid of it.

use super::*;

async fn root_volume(stage: &Stage, id: &str) -> String {
    stage.server(id).await["volumes"]["0"]["id"].as_str().unwrap().to_owned()
}

#[tokio::test(start_paused = true)]
async fn terminate_takes_server_and_scratch_but_leaves_block_volume_and_flexible_address() {
    let stage = Stage::plain();
    let ip = stage.instance("POST", "/ips", json!({"type": "routed_ipv4", "tags": ["t"]})).await.json["ip"].clone();
    let mut body = stage.body("gpu-1", "L40S-1-48G");
    body["public_ips"] = json!([ip["id"]]);
    body["volumes"] = json!({"0": {"boot": false}, "1": {"volume_type": "scratch", "size": 1_600_000_000_000_u64}});
    let reply = stage.instance("POST", "/servers", body).await;
    assert_eq!(reply.status, 201, "{}", reply.text);
    let id = reply.json["server"]["id"].as_str().unwrap().to_owned();
    stage.user_data(&id, JOIN).await;
    stage.act(&id, "poweron").await;
    stage.seconds(200).await;
    let volume = root_volume(&stage, &id).await;
    assert_eq!(stage.act(&id, "terminate").await.status, 202);
    let server = stage.server(&id).await;
    assert_eq!((&server["state"], &server["state_detail"]), (&json!("stopping"), &json!("terminating")));
    assert_eq!((&server["allowed_actions"], &server["volumes"]["1"]["state"]), (&json!([]), &json!("deleting")));
    stage.seconds(21).await;
    let gone = stage.instance("GET", &format!("/servers/{id}"), Value::Null).await;
    assert_eq!((gone.status.as_u16(), &gone.json["resource"]), (404, &json!("instance_server")));
    let block = stage.block("GET", &format!("/volumes/{volume}"), Value::Null).await.json;
    assert_eq!((&block["status"], &block["references"]), (&json!("available"), &json!([])));
    assert!(block["last_detached_at"].is_string());
    let present = stage.scaleway.snapshot().present();
    assert_eq!((present.servers.len(), present.volumes.len(), present.ips.len()), (0, 1, 1), "what leaks");
    assert_eq!(*stage.fleet.left.lock().unwrap(), [("gpu-1".to_owned(), false), ("gpu-1".to_owned(), true)]);
    assert_eq!(stage.block("DELETE", &format!("/volumes/{volume}"), Value::Null).await.status, 204);
    let path = format!("/ips/{}", ip["id"].as_str().unwrap());
    assert_eq!(stage.instance("DELETE", &path, Value::Null).await.status, 204);
    assert!(stage.scaleway.snapshot().is_empty());
    assert!(stage.scaleway.snapshot().servers[0].deleted.is_some());
}

#[tokio::test(start_paused = true)]
async fn a_block_volume_in_use_is_not_deleted() {
    let stage = Stage::plain();
    let id = stage.create("gpu-1", "L4-1-24G").await;
    let volume = root_volume(&stage, &id).await;
    let reply = stage.block("DELETE", &format!("/volumes/{volume}"), Value::Null).await;
    assert_eq!((reply.status.as_u16(), &reply.json["precondition"]), (412, &json!("resource_still_in_use")));
}

#[tokio::test(start_paused = true)]
async fn delete_needs_a_stopped_server_and_leaves_even_its_local_volume() {
    let stage = Stage::plain();
    let mut body = stage.body("cpu-1", "GP1-XS");
    body["image"] = json!(stage.image("ubuntu_jammy", false));
    let reply = stage.instance("POST", "/servers", body).await;
    assert_eq!(reply.status, 201, "{}", reply.text);
    let id = reply.json["server"]["id"].as_str().unwrap().to_owned();
    stage.act(&id, "poweron").await;
    stage.seconds(60).await;
    let refused = stage.instance("DELETE", &format!("/servers/{id}"), Value::Null).await;
    assert_eq!((refused.status.as_u16(), &refused.json["type"]), (400, &json!("precondition_failed")));
    stage.act(&id, "poweroff").await;
    stage.seconds(60).await;
    let cannot = stage.act(&id, "terminate").await;
    assert_eq!(cannot.status, 400, "a stopped server cannot be terminated, only deleted");
    assert_eq!(stage.instance("DELETE", &format!("/servers/{id}"), Value::Null).await.status, 204);
    let volumes = stage.instance("GET", "/volumes", Value::Null).await.json;
    assert_eq!(
        (&volumes["volumes"][0]["server"], &volumes["volumes"][0]["volume_type"]),
        (&Value::Null, &json!("l_ssd"))
    );
}

#[tokio::test(start_paused = true)]
async fn a_tagged_root_volume_is_found_by_its_tag_and_by_its_server() {
    let stage = Stage::plain();
    let id = stage.create("gpu-1", "L4-1-24G").await;
    stage.create("gpu-2", "L4-1-24G").await;
    let volume = root_volume(&stage, &id).await;
    let by_server = stage.block("GET", &format!("/volumes?product_resource_id={id}"), Value::Null).await.json;
    assert_eq!((&by_server["total_count"], &by_server["volumes"][0]["id"]), (&json!(1), &json!(volume)));
    stage.block("PATCH", &format!("/volumes/{volume}"), json!({"tags": ["pilotlight-claim=1"]})).await;
    let by_tag = stage.block("GET", "/volumes?tags=pilotlight-claim%3D1", Value::Null).await.json;
    assert_eq!((&by_tag["total_count"], &by_tag["volumes"][0]["id"]), (&json!(1), &json!(volume)));
}

#[tokio::test(start_paused = true)]
async fn detaching_from_a_booting_guest_takes_long() {
    let stage = Stage::plain();
    let id = stage.create("gpu-1", "L4-1-24G").await;
    let made =
        stage.block("POST", "/volumes", json!({"name": "data", "from_empty": {"size": 1_000_000_000}})).await.json;
    let volume = json!({"volume_id": made["id"]});
    assert_eq!(stage.instance("POST", &format!("/servers/{id}/attach-volume"), volume.clone()).await.status, 200);
    stage.act(&id, "poweron").await;
    stage.seconds(30).await;
    stage.instance("POST", &format!("/servers/{id}/detach-volume"), volume).await;
    let path = format!("/volumes/{}", made["id"].as_str().unwrap());
    stage.seconds(40).await;
    assert_eq!(stage.block("GET", &path, Value::Null).await.json["references"][0]["status"], "detaching");
    stage.seconds(25).await;
    assert_eq!(stage.block("GET", &path, Value::Null).await.json["status"], "available");
}

#[tokio::test(start_paused = true)]
async fn an_address_is_attached_moved_and_listed_by_tag() {
    let stage = Stage::plain();
    let id = stage.create("gpu-1", "L4-1-24G").await;
    let reply = stage.instance("POST", "/ips", json!({"tags": ["mine"]})).await;
    assert_eq!((reply.status.as_u16(), &reply.json["ip"]["state"]), (201, &json!("detached")));
    let path = format!("/ips/{}", reply.json["ip"]["id"].as_str().unwrap());
    let attached = stage.instance("PATCH", &path, json!({"server": id})).await.json;
    assert_eq!((&attached["ip"]["state"], &attached["ip"]["server"]["id"]), (&json!("attached"), &json!(id)));
    assert_eq!(stage.server(&id).await["public_ips"][0]["address"], reply.json["ip"]["address"]);
    assert_eq!(stage.instance("GET", "/ips?tags=mine", Value::Null).await.headers["x-total-count"], "1");
    let detached = stage.instance("PATCH", &path, json!({"server": null})).await.json;
    assert_eq!(detached["ip"]["state"], "detached");
}
