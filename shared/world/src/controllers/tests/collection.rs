//! Owners, namespaces, and what goes with them.

use super::*;
use crate::api::objects::Propagation;

fn owned(world: &World, name: &str, owner: &Value, blocks: bool) {
    let reference = json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"], "blockOwnerDeletion": blocks });
    world.create(Kind::ConfigMap, json!({ "metadata": { "name": name, "ownerReferences": [reference] } }));
}

fn with(propagation: Propagation) -> Deletion {
    Deletion { propagation, ..Deletion::default() }
}

#[tokio::test(start_paused = true)]
async fn background_deletion_takes_what_is_owned() {
    let world = World::new();
    world.nodes([machine("one")]).await;
    world.create(Kind::Deployment, workload("web", 2, "100m"));
    world.wait(5).await;
    world.delete(Kind::Deployment, "web", &Deletion::default());
    world.wait(10).await;
    assert!(world.all(Kind::ReplicaSet).is_empty());
    assert!(world.all(Kind::Pod).is_empty());
}

#[tokio::test(start_paused = true)]
async fn foreground_deletion_waits_for_what_blocks() {
    let world = World::new();
    let owner = world.create(Kind::ConfigMap, json!({ "metadata": { "name": "owner" } }));
    owned(&world, "blocking", &owner, true);
    world.patch(Kind::ConfigMap, "blocking", |map| map["metadata"]["finalizers"] = json!(["example.com/hold"]));
    world.wait(1).await;
    world.delete(Kind::ConfigMap, "owner", &with(Propagation::Foreground));
    world.wait(1).await;
    assert!(world.get(Kind::ConfigMap, "owner")["metadata"]["deletionTimestamp"].is_string());
    assert!(world.get(Kind::ConfigMap, "blocking")["metadata"]["deletionTimestamp"].is_string());
    world.patch(Kind::ConfigMap, "blocking", |map| map["metadata"]["finalizers"] = json!(["foregroundDeletion"]));
    world.wait(1).await;
    assert!(world.find(Kind::ConfigMap, "owner").is_none());
    assert!(world.find(Kind::ConfigMap, "blocking").is_none());
}

#[tokio::test(start_paused = true)]
async fn orphans_stay() {
    let world = World::new();
    let owner = world.create(Kind::ConfigMap, json!({ "metadata": { "name": "owner" } }));
    owned(&world, "orphan", &owner, true);
    world.wait(1).await;
    world.delete(Kind::ConfigMap, "owner", &with(Propagation::Orphan));
    world.wait(1).await;
    assert!(world.find(Kind::ConfigMap, "owner").is_none());
    assert!(world.get(Kind::ConfigMap, "orphan")["metadata"]["ownerReferences"].is_null());
}

#[tokio::test(start_paused = true)]
async fn an_object_whose_owner_never_was_is_garbage() {
    let world = World::new();
    owned(&world, "lost", &json!({ "metadata": { "name": "nobody", "uid": "nothing" } }), false);
    world.wait(1).await;
    assert!(world.find(Kind::ConfigMap, "lost").is_none());
}

#[tokio::test(start_paused = true)]
async fn custom_resources_own_and_are_owned() {
    let world = World::new();
    world.create(Kind::CustomResourceDefinition, json!({ "metadata": { "name": "things.example.com" }, "spec": { "group": "example.com", "names": { "plural": "things" }, "scope": "Namespaced" } }));
    let resource = ("example.com".into(), "things".into());
    let mut thing = json!({ "metadata": { "name": "thing", "namespace": "default" } });
    world.objects.prepare(&mut thing);
    let thing = world.objects.create(&resource, thing, false).unwrap().value.clone();
    owned(&world, "part", &thing, false);
    world.wait(1).await;
    assert!(world.find(Kind::ConfigMap, "part").is_some());
    world.objects.delete(&resource, "default", "thing", &Deletion::default()).unwrap();
    world.wait(1).await;
    assert!(world.find(Kind::ConfigMap, "part").is_none());
}

#[tokio::test(start_paused = true)]
async fn a_cluster_begins_with_its_namespaces_and_they_are_furnished() {
    let world = World::new();
    world.wait(1).await;
    for name in ["default", "kube-system", "kube-public", "kube-node-lease"] {
        assert_eq!(world.get(Kind::Namespace, name)["status"]["phase"], "Active");
        assert!(world.objects.get(&Kind::ServiceAccount.resource(), name, "default").is_some());
        assert!(world.objects.get(&Kind::ConfigMap.resource(), name, "kube-root-ca.crt").is_some());
    }
}

#[tokio::test(start_paused = true)]
async fn a_namespace_that_goes_is_emptied_first() {
    let world = World::new();
    world.nodes([machine("one")]).await;
    world.create(Kind::Namespace, json!({ "metadata": { "name": "team" }, "spec": { "finalizers": ["kubernetes"] } }));
    let mut inside = pod("web", "1");
    inside["metadata"]["namespace"] = "team".into();
    world.create(Kind::Pod, inside);
    world.wait(5).await;
    world.delete(Kind::Namespace, "team", &Deletion::default());
    tokio::task::yield_now().await;
    assert_eq!(world.get(Kind::Namespace, "team")["status"]["phase"], "Terminating");
    assert!(world.objects.get(&Kind::Pod.resource(), "team", "web").is_some());
    world.wait(10).await;
    assert!(world.objects.get(&Kind::Pod.resource(), "team", "web").is_none());
    assert!(world.objects.get(&Kind::ConfigMap.resource(), "team", "kube-root-ca.crt").is_none());
    assert!(world.find(Kind::Namespace, "team").is_none());
}
