//! Lists: filters, pages, and the catalogue.

use super::*;

#[tokio::test(start_paused = true)]
async fn lists_come_in_pages_newest_first_with_total_and_links() {
    let stage = Stage::plain();
    for number in 0..5 {
        stage.create(&format!("gpu-{number}"), "L4-1-24G").await;
    }
    let first = stage.instance("GET", "/servers?per_page=2&tags=pilotlight-claim%3D1", Value::Null).await;
    assert_eq!(first.headers["x-total-count"], "5");
    let link = first.headers["link"].to_str().unwrap();
    assert!(link.contains("</servers?page=2&per_page=2&") && link.contains("rel=\"next\""), "{link}");
    assert!(link.contains("page=3&per_page=2&") && link.contains("rel=\"last\""), "{link}");
    assert_eq!(first.json["servers"][0]["name"], "gpu-4");
    let last = stage.instance("GET", "/servers?per_page=2&page=3", Value::Null).await;
    assert_eq!(
        (last.json["servers"].as_array().unwrap().len(), &last.json["servers"][0]["name"]),
        (1, &json!("gpu-0"))
    );
    assert!(!last.headers["link"].to_str().unwrap().contains("next"));
    let oldest = stage.instance("GET", "/servers?order=creation_date_asc", Value::Null).await;
    assert_eq!(oldest.json["servers"][0]["name"], "gpu-0");
}

#[tokio::test(start_paused = true)]
async fn filters_hold_together_and_a_name_matches_as_a_part() {
    let stage = Stage::plain();
    stage.create("gpu-1", "L4-1-24G").await;
    let other = stage.create("gpu-10", "L4-2-24G").await;
    stage.instance("PATCH", &format!("/servers/{other}"), json!({"tags": ["a", "b"]})).await;
    let count = async |query: &str| {
        let reply = stage.instance("GET", &format!("/servers?{query}"), Value::Null).await;
        reply.json["servers"].as_array().unwrap().len()
    };
    assert_eq!(count("name=gpu-1").await, 2, "the caller has to compare names itself");
    assert_eq!(count("tags=a,b").await, 1);
    assert_eq!(count("tags=a,c").await, 0);
    assert_eq!(count("commercial_type=L4-2-24G&name=gpu").await, 1);
    assert_eq!(count("state=stopped").await, 2);
    assert_eq!(count("state=running").await, 0);
    assert_eq!(count(&format!("servers={other}")).await, 1);
    assert_eq!(count("project=20b1b1b1-0000-4000-8000-00000000000f").await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_server_shows_up_late_in_lists_if_the_world_says_so() {
    let stage = Stage::with(Options { list_lag: Duration::from_secs(2), ..Options::default() });
    let id = stage.create("gpu-1", "L4-1-24G").await;
    assert_eq!(stage.server(&id).await["name"], "gpu-1");
    assert_eq!(stage.instance("GET", "/servers", Value::Null).await.headers["x-total-count"], "0");
    stage.seconds(2).await;
    assert_eq!(stage.instance("GET", "/servers", Value::Null).await.headers["x-total-count"], "1");
}

#[tokio::test(start_paused = true)]
async fn products_have_three_pages_and_gpu_types_are_not_on_the_first() {
    let stage = Stage::plain();
    let page =
        async |number: u32| stage.get(&format!("/instance/v1/zones/fr-par-1/products/servers?page={number}")).await;
    let first = page(1).await;
    assert_eq!(first.headers["x-total-count"], "135");
    let mut sizes = Vec::new();
    let mut gpus = Vec::new();
    for number in 1..=3 {
        let reply = page(number).await;
        let servers = reply.json["servers"].as_object().unwrap().clone();
        sizes.push(servers.len());
        gpus.extend(servers.into_iter().filter(|(_, one)| one["gpu"] != 0).map(|(name, _)| (number, name)));
    }
    assert_eq!(sizes, [50, 50, 35]);
    assert_eq!(gpus.len(), 5);
    assert!(gpus.iter().all(|(number, _)| *number > 1));
    let l4 = page(2).await.json["servers"]["L4-1-24G"].clone();
    assert_eq!(
        l4["gpu_info"],
        json!({"gpu_manufacturer": "NVIDIA", "gpu_name": "L4", "gpu_memory": 25_769_803_776_u64})
    );
    assert_eq!((&l4["ncpus"], &l4["hourly_price"]), (&json!(8), &json!(0.7875)));
}

#[tokio::test(start_paused = true)]
async fn availability_is_the_recorded_one_until_slots_run_out() {
    let slots = [(("L4-1-24G".to_owned(), "fr-par-2".to_owned()), 1)].into();
    let stage = Stage::with(Options { slots, ..Options::default() });
    let state = async |name: &str| {
        let path = "/instance/v1/zones/fr-par-2/products/servers/availability?per_page=100";
        let mut all = stage.get(path).await.json["servers"].as_object().unwrap().clone();
        all.extend(stage.get(&format!("{path}&page=2")).await.json["servers"].as_object().unwrap().clone());
        all[name]["availability"].as_str().unwrap().to_owned()
    };
    assert_eq!(state("L40S-1-48G").await, "scarce");
    assert_eq!(state("H100-1-80G").await, "shortage");
    assert_eq!(state("L4-1-24G").await, "available");
    stage.running("gpu-1", "L4-1-24G").await;
    assert_eq!(state("L4-1-24G").await, "shortage");
    let second = stage.create("gpu-2", "L4-1-24G").await;
    assert_eq!(stage.act(&second, "poweron").await.json["type"], "out_of_stock");
}

#[tokio::test(start_paused = true)]
async fn labels_are_resolved_by_the_marketplace_without_a_token() {
    let stage = Stage::plain();
    let path = "/marketplace/v2/local-images?zone=fr-par-2&type=instance_sbs&order_by=type_asc&image_label=";
    let reply = stage.send("GET", &format!("{path}ubuntu_jammy_gpu_os_12"), "", "").await;
    assert_eq!((reply.status.as_u16(), &reply.json["total_count"]), (200, &json!(1)));
    let image = &reply.json["local_images"][0];
    assert_eq!(image["id"], stage.image("ubuntu_jammy_gpu_os_12", true));
    assert!(image["compatible_commercial_types"].as_array().unwrap().contains(&json!("H100-SXM-8-80G")));
    let unknown = stage.send("GET", &format!("{path}windows_95"), "", "").await;
    assert_eq!((unknown.status.as_u16(), &unknown.json["resource"]), (404, &json!("MarketplaceImage")));
}

#[tokio::test(start_paused = true)]
async fn prices_are_per_minute_in_units_and_nanos() {
    let stage = Stage::plain();
    let path =
        "/product-catalog/v2alpha1/public-catalog/products?product_types=instance&zone=fr-par-2&api_ids=L4-1-24G";
    let product = stage.get(path).await.json["products"][0].clone();
    let price = &product["price"]["retail_price"];
    assert_eq!(
        (&price["units"], &price["nanos"], &price["currency_code"]),
        (&json!(0), &json!(13_125_000), &json!("EUR"))
    );
}

#[tokio::test(start_paused = true)]
async fn a_private_nic_has_its_address_in_ipam_a_second_later() {
    let stage = Stage::plain();
    let id = stage.create("gpu-1", "L4-1-24G").await;
    let nic = stage.instance("POST", &format!("/servers/{id}/private_nics"), json!({"private_network_id": "p"})).await;
    assert_eq!(nic.status, 201);
    let path = format!("/ipam/v1/regions/fr-par/ips?resource_id={}", nic.json["private_nic"]["id"].as_str().unwrap());
    assert_eq!(stage.get(&path).await.json["total_count"], 0);
    stage.seconds(1).await;
    assert_eq!(stage.get(&path).await.json["total_count"], 1);
    let dashboard = stage.instance("GET", "/dashboard", Value::Null).await.json;
    assert_eq!(
        (&dashboard["dashboard"]["servers_count"], &dashboard["dashboard"]["private_nics_count"]),
        (&json!(1), &json!(1))
    );
}
