//! Claims, volumes, and where they let a pod go.

use super::*;

fn class(world: &World, mode: &str) {
    world.create(
        Kind::StorageClass,
        json!({ "metadata": { "name": "fast" }, "provisioner": "csi.example.com", "volumeBindingMode": mode }),
    );
}

fn claim(world: &World, name: &str) {
    let spec = json!({ "accessModes": ["ReadWriteOnce"], "storageClassName": "fast", "resources": { "requests": { "storage": "1Gi" } } });
    world.create(Kind::PersistentVolumeClaim, json!({ "metadata": { "name": name }, "spec": spec }));
}

fn using(name: &str, claim: &str) -> Value {
    let mut one = pod(name, "100m");
    one["spec"]["volumes"] = json!([{ "name": "data", "persistentVolumeClaim": { "claimName": claim } }]);
    one
}

#[tokio::test(start_paused = true)]
async fn a_waiting_claim_is_served_where_its_pod_goes_and_holds_it_there() {
    let world = World::new();
    world.nodes([in_zone("a1", "a"), in_zone("b1", "b")]).await;
    class(&world, "WaitForFirstConsumer");
    claim(&world, "data");
    world.wait(1).await;
    assert_eq!(world.get(Kind::PersistentVolumeClaim, "data")["status"]["phase"], "Pending");
    let mut first = using("first", "data");
    first["spec"]["nodeSelector"] = json!({ "topology.kubernetes.io/zone": "b" });
    world.create(Kind::Pod, first);
    world.wait(3).await;
    assert_eq!(world.get(Kind::PersistentVolumeClaim, "data")["status"]["phase"], "Bound");
    let volume = world.all(Kind::PersistentVolume)[0].clone();
    assert_eq!(
        volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"][0]["matchExpressions"][0]["values"],
        json!(["b"])
    );
    world.create(Kind::Pod, using("second", "data"));
    let mut third = using("third", "data");
    third["spec"]["nodeSelector"] = json!({ "topology.kubernetes.io/zone": "a" });
    world.create(Kind::Pod, third);
    world.wait(3).await;
    assert_eq!(world.node_of("second").as_deref(), Some("b1"));
    let message = world.condition(Kind::Pod, "third", "PodScheduled")["message"].clone();
    assert!(message.as_str().unwrap().contains("1 node(s) didn't match PersistentVolume's node affinity"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn a_missing_claim_stops_a_pod_everywhere() {
    let world = World::new();
    world.nodes([machine("one")]).await;
    world.create(Kind::Pod, using("web", "nothing"));
    world.wait(1).await;
    let message = world.condition(Kind::Pod, "web", "PodScheduled")["message"].clone();
    assert_eq!(message, "0/1 nodes are available: persistentvolumeclaim \"nothing\" not found. not found");
    class(&world, "Immediate");
    claim(&world, "nothing");
    world.wait(15).await;
    assert_eq!(world.node_of("web").as_deref(), Some("one"));
}

#[tokio::test(start_paused = true)]
async fn a_node_takes_only_so_many_volumes() {
    let world = World::new();
    world.nodes([machine("one")]).await;
    class(&world, "WaitForFirstConsumer");
    let drivers = json!([{ "name": "csi.example.com", "nodeID": "one", "allocatable": { "count": 1 } }]);
    world.create(Kind::CsiNode, json!({ "metadata": { "name": "one" }, "spec": { "drivers": drivers } }));
    for name in ["first", "second"] {
        claim(&world, name);
        world.create(Kind::Pod, using(name, name));
        world.wait(2).await;
    }
    let message = world.condition(Kind::Pod, "second", "PodScheduled")["message"].clone();
    assert!(message.as_str().unwrap().contains("1 node(s) exceed max volume count"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn a_claim_in_use_waits_for_its_pod_and_its_volume_for_it() {
    let world = World::new();
    world.nodes([machine("one")]).await;
    class(&world, "Immediate");
    claim(&world, "data");
    world.patch(Kind::PersistentVolumeClaim, "data", |claim| {
        claim["metadata"]["finalizers"] = json!(["kubernetes.io/pvc-protection"])
    });
    world.create(Kind::Pod, using("web", "data"));
    world.wait(5).await;
    world.delete(Kind::PersistentVolumeClaim, "data", &Deletion::default());
    world.wait(5).await;
    assert!(world.find(Kind::PersistentVolumeClaim, "data").is_some());
    world.delete(Kind::Pod, "web", &Deletion::default());
    world.wait(5).await;
    assert!(world.find(Kind::PersistentVolumeClaim, "data").is_none());
    assert!(world.all(Kind::PersistentVolume).is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_pods_own_claim_comes_and_goes_with_it() {
    let world = World::new();
    world.nodes([machine("one")]).await;
    class(&world, "WaitForFirstConsumer");
    let spec = json!({ "accessModes": ["ReadWriteOnce"], "storageClassName": "fast", "resources": { "requests": { "storage": "1Gi" } } });
    let mut one = pod("web", "100m");
    one["spec"]["volumes"] = json!([{ "name": "scratch", "ephemeral": { "volumeClaimTemplate": { "spec": spec } } }]);
    world.create(Kind::Pod, one);
    world.wait(15).await;
    assert_eq!(world.get(Kind::PersistentVolumeClaim, "web-scratch")["status"]["phase"], "Bound");
    world.delete(Kind::Pod, "web", &Deletion::default());
    world.wait(5).await;
    assert!(world.find(Kind::PersistentVolumeClaim, "web-scratch").is_none());
}

#[tokio::test(start_paused = true)]
async fn a_volume_goes_with_its_claim() {
    let world = World::new();
    class(&world, "Immediate");
    claim(&world, "data");
    world.wait(1).await;
    assert_eq!(world.all(Kind::PersistentVolume).len(), 1);
    world.delete(Kind::PersistentVolumeClaim, "data", &Deletion::default());
    world.wait(1).await;
    assert!(world.all(Kind::PersistentVolume).is_empty());
}
