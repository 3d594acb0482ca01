//! The whole life of a server: made in order, joined, looked at, its secret forgotten, gone without a trace.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::{CLAIM, SECRET_KEY, Stage, key, kubeadm, provider_in, request, with_class};
use jiff::SignedDuration;
use k8s_openapi::api::core::v1::Node;
use kube::Api;
use model::{InstanceState, Stock};
use provider::{Change as _, Look as _, Provider as _};
use serde_json::Value;
use world::scaleway::options::{Availability, ShortageManner, Stock as WorldStock, Window};

#[tokio::test(start_paused = true)]
async fn a_server_is_made_in_order_becomes_a_node_and_goes_without_a_trace() {
    let stage = Stage::plain();
    let request = request("L4-1-24G", "fr-par-2");
    let instance = stage.drive(&request).await.unwrap();
    let id = instance.provider_id.strip_prefix("scaleway://instance/fr-par-2/").unwrap().to_owned();
    assert_eq!((instance.state, instance.node.as_deref()), (InstanceState::Running, Some("train-0")));
    assert_eq!((instance.instance_type.as_str(), instance.zone.as_deref()), ("L4-1-24G", Some("fr-par-2")));
    let root = stage.present().volumes[0].id.clone();
    let path = format!("/instance/v1/zones/fr-par-2/servers/{id}");
    let expected = [
        "POST /instance/v1/zones/fr-par-2/servers".to_owned(),
        format!("PATCH {path}/user_data/cloud-init"),
        format!("PATCH /block/v1/zones/fr-par-2/volumes/{root}"),
        format!("POST {path}/action"),
    ];
    assert_eq!(stage.mutations(), expected);
    assert!(stage.present().volumes[0].tags.contains(&format!("pilotlight-claim-uid={CLAIM}")));

    stage.seconds(200).await;
    let nodes: Api<Node> = Api::all(stage.world.client("test"));
    let node = nodes.get("train-0").await.unwrap();
    let spec = node.spec.unwrap();
    assert_eq!(spec.provider_id.as_deref(), Some(instance.provider_id.as_str()));
    let labels = node.metadata.labels.unwrap();
    for (key, value) in [
        ("node.kubernetes.io/instance-type", "L4-1-24G"),
        ("topology.kubernetes.io/zone", "fr-par-2"),
        ("topology.kubernetes.io/region", "fr-par"),
        ("karpenter.sh/capacity-type", "on-demand"),
        ("karpenter.sh/nodepool", "gpu"),
    ] {
        assert_eq!(labels.get(key).map(String::as_str), Some(value), "{key}");
    }
    let taints: Vec<String> = spec.taints.unwrap_or_default().into_iter().map(|taint| taint.key).collect();
    assert!(taints.contains(&"pilotlight.dev/starting".to_owned()) && taints.contains(&"sku".to_owned()), "{taints:?}");

    let again = stage.drive(&request).await.unwrap();
    assert_eq!(again, instance, "twice is once");
    assert_eq!(stage.provider.observe(&request.key).await.unwrap(), Some(instance.clone()));
    let owned = stage.provider.owned().await.unwrap();
    assert_eq!((owned.len(), &owned[0].key, &owned[0].instance), (1, &request.key, &Some(instance)));
    assert_eq!(stage.mutations().len(), 4, "looking changes nothing");

    stage.drive_gone(&request.key).await.unwrap();
    assert!(stage.present().is_empty(), "{:?}", stage.present());
    let deleted = stage.world.scaleway.snapshot().servers[0].deleted.unwrap();
    let removal: Vec<_> = stage.world.history.exchanges().into_iter().filter(|one| one.method == "DELETE").collect();
    assert!(!removal.is_empty() && removal.iter().all(|one| one.at >= deleted), "disks go when the server is gone");
    assert_eq!(stage.provider.observe(&request.key).await.unwrap(), None);
    assert!(stage.provider.owned().await.unwrap().is_empty());
    stage.world.check(SignedDuration::ZERO).unwrap();
    stage.assert_no_secret_was_said();
    let before = stage.mutations().len();
    stage.drive_gone(&request.key).await.unwrap();
    assert_eq!(stage.mutations().len(), before, "nothing there: confirmed without a change");
}

#[tokio::test(start_paused = true)]
async fn every_recipe_joins_with_and_without_a_driver_in_the_image() {
    let kosmos = [
        ("join", "kosmos"),
        ("join.pool-id", CLAIM),
        ("join.pool-region", "fr-par"),
        ("join.secret-key", common::TOKEN),
    ];
    let k3s = [("join", "k3s"), ("join.endpoint", "https://10.0.0.1:6443"), ("join.token", common::TOKEN)];
    for recipe in [&[][..], &k3s[..], &kosmos[..]] {
        for image in ["ubuntu_jammy_gpu_os_12", "ubuntu_noble"] {
            let stage = Stage::plain();
            let mut request = request("L40S-1-48G", "fr-par-2");
            request.class = if recipe.is_empty() { kubeadm() } else { common::words(recipe) };
            let request = with_class(request, &[("image", image), ("scratch", "true")]);
            stage.drive(&request).await.unwrap();
            stage.seconds(300).await;
            let nodes: Api<Node> = Api::all(stage.world.client("test"));
            let node = nodes.get("train-0").await.unwrap_or_else(|error| panic!("{recipe:?} {image}: {error}"));
            let allocatable = node.status.unwrap().allocatable.unwrap();
            assert_eq!(allocatable["nvidia.com/gpu"].0, "1", "{recipe:?} {image}");
            let spec = node.spec.unwrap();
            assert!(spec.provider_id.unwrap().starts_with("scaleway://instance/fr-par-2/"));
            assert!(spec.taints.unwrap().iter().any(|taint| taint.key == "pilotlight.dev/starting"), "{recipe:?}");
            stage.drive_gone(&request.key).await.unwrap();
            assert!(stage.present().is_empty(), "{recipe:?} {image}: {:?}", stage.present());
            stage.assert_no_secret_was_said();
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_join_secret_leaves_the_user_data_when_it_is_asked_for() {
    for on_demand in [true, false] {
        let stage = Stage::plain();
        let request = request("L4-1-24G", "fr-par-2");
        stage.drive(&request).await.unwrap();
        assert_eq!(stage.present().servers[0].user_data, ["cloud-init"]);
        for _ in 0..2 {
            if on_demand {
                stage.provider.forget_join_secret(&request.key).await.unwrap();
            } else {
                stage.drive(&with_class(request.clone(), &[("joined", "true")])).await.unwrap();
            }
        }
        assert!(stage.present().servers[0].user_data.is_empty());
        let removals = stage.mutations().iter().filter(|line| line.starts_with("DELETE")).count();
        assert_eq!(removals, 1, "twice is once");
    }
}

#[tokio::test(start_paused = true)]
async fn the_catalogue_is_what_the_cloud_says_now_on_all_its_pages() {
    let stage = Stage::with(|options| {
        options.stock.push(WorldStock {
            commercial_type: "L4-1-24G".to_owned(),
            zone: "fr-par-1".to_owned(),
            window: Window::ALWAYS,
            availability: Availability::Shortage,
            manner: ShortageManner::RefusesPoweron,
        });
    });
    let offerings = stage.provider.offerings().await.unwrap();
    assert_eq!((offerings.len(), stage.provider.name()), (32, "scaleway"));
    for list in ["products/servers", "products/servers/availability"] {
        let path = format!("/instance/v1/zones/fr-par-1/{list}");
        let asked = stage.world.history.select(|one| (one.path == path).then(|| one.query.clone()));
        assert_eq!(asked, ["page=1", "page=2", "page=3"], "{list}: GPU types begin behind the first page");
    }
    let stock = |name: &str| offerings.iter().find(|one| one.id.to_string() == name).map(|one| one.stock);
    assert_eq!(stock("scaleway/L4-1-24G/fr-par-1/on-demand"), Some(Stock::Shortage));
    assert_eq!(stock("scaleway/L4-1-24G/fr-par-2/on-demand"), Some(Stock::Available));
    assert_eq!(stock("scaleway/L40S-1-48G/fr-par-2/on-demand"), Some(Stock::Scarce));
    let zones = provider_scaleway::catalogue::GPU_ZONES.map(str::to_owned);
    for bundled in provider_scaleway::catalogue::bundled_offerings(&zones) {
        let live = offerings.iter().find(|one| one.id == bundled.id).unwrap();
        assert_eq!((&live.gpu, &live.capacity, &live.labels), (&bundled.gpu, &bundled.capacity, &bundled.labels));
        let price = |one: &model::Offering| one.price.as_ref().unwrap().millionths_per_hour;
        assert_eq!(price(live), price(&bundled), "{}", bundled.id);
    }
}

#[tokio::test(start_paused = true)]
async fn a_cloud_that_cannot_be_asked_still_has_a_catalogue_and_a_wrong_key_has_none() {
    let stage = Stage::with(|options| options.rate_limit = Some((0, std::time::Duration::from_secs(1))));
    let offerings = stage.provider.offerings().await.unwrap();
    assert_eq!(offerings.len(), 32);
    assert!(offerings.iter().all(|one| one.stock == Stock::Unknown));
    let stage = Stage::plain();
    let stranger = provider_in(&stage.world, "99999999-2222-4333-8444-555555555555", "east");
    assert_eq!(stranger.offerings().await.unwrap_err().reason(), "Unauthorized");
}

#[tokio::test(start_paused = true)]
async fn two_clusters_in_one_project_do_not_see_each_other() {
    let stage = Stage::plain();
    let request = request("L4-1-24G", "fr-par-2");
    stage.drive(&request).await.unwrap();
    let west = provider_in(&stage.world, SECRET_KEY, "west");
    assert!(west.owned().await.unwrap().is_empty());
    let before = stage.mutations().len();
    assert_eq!(west.ensure(&request, None).await.unwrap_err().reason(), "Conflict");
    assert_eq!(west.ensure_gone(&request.key, None).await.unwrap_err().reason(), "Conflict");
    assert_eq!(stage.mutations().len(), before, "what is somebody else's is not touched");
    assert!(west.observe(&key("another")).await.unwrap().is_none());
    // A neighbour whose name is ours and whose tag only begins like ours is nobody's business.
    let path = "/instance/v1/zones/fr-par-2/servers";
    let mut body = create_body(&stage);
    body["tags"] = serde_json::json!([format!("pilotlight-claim-uid={CLAIM}-2")]);
    stage.send("POST", path, &body).await;
    stage.drive_gone(&request.key).await.unwrap();
    assert_eq!(stage.present().servers.len(), 1);
}

/// The body of the first create of this world.
fn create_body(stage: &Stage) -> Value {
    let exchanges = stage.world.history.exchanges();
    let create = exchanges.iter().find(|one| one.method == "POST" && one.path.ends_with("/servers"));
    create.unwrap().request.clone()
}
