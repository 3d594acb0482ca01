//! Finding the Nodes of a claim, and changing and deleting Nodes.

use crate::stage::{NODES, Stage, object, stage};
use cluster::{Deleted, Kind, NodeSearch};
use model::{Effect, FinalizerChange, InstanceKey, Node, NodeChange, OwnerChange, Taint, Truth, Uid, names};
use serde_json::{Value, json};

fn search(claim: &str) -> NodeSearch {
    NodeSearch { claim: Uid::new(claim).unwrap(), names: Vec::new(), agent_pool: None, provider_id: None }
}

async fn found(stage: &Stage, search: &NodeSearch) -> Vec<String> {
    let mut names: Vec<String> =
        stage.cluster.nodes_of(search).await.unwrap().into_iter().map(|node| node.name.to_string()).collect();
    names.sort_unstable();
    names
}

async fn node(stage: &Stage, name: &str) -> Node {
    stage.cluster.node(&object(name)).await.unwrap().unwrap()
}

#[tokio::test(start_paused = true)]
async fn nodes_are_found_by_label_by_name_and_by_agent_pool_each_once() {
    let stage = stage().await;
    stage.has_node("labelled", &[(names::CLAIM_UID, "u-1")]).await;
    stage.has_node("pooled", &[("agentpool", "gpu1"), ("kubernetes.azure.com/agentpool", "gpu1")]).await;
    stage.has_node("half-pooled", &[("agentpool", "gpu1")]).await;
    stage.has_node("named", &[]).await;
    let mut all = search("u-1");
    assert_eq!(found(&stage, &all).await, ["labelled"]);
    all.names = vec!["named".into(), "labelled".into(), "nobody".into(), "Not A Name".into()];
    all.agent_pool = Some("gpu1".into());
    all.provider_id = Some("world://half-pooled".into());
    let asked = stage.asked_so_far();
    assert_eq!(found(&stage, &all).await, ["labelled", "named", "pooled"]);
    assert_eq!(stage.asked_so_far() - asked, 5, "two lists and three names");
}

#[tokio::test(start_paused = true)]
async fn all_nodes_are_searched_by_provider_id_only_where_nothing_else_finds_one() {
    let stage = stage().await;
    stage.has_node("n1", &[]).await;
    stage.has_node("n2", &[]).await;
    let by_id = |id: &str| NodeSearch { provider_id: Some(id.to_owned()), ..search("u-1") };
    assert_eq!(found(&stage, &by_id("world://n2")).await, ["n2"]);
    assert!(found(&stage, &by_id("world://n")).await.is_empty(), "only the exact one");
    assert!(found(&stage, &search("u-1")).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_node_is_read_as_it_is() {
    let stage = stage().await;
    stage.has_node("n", &[("zone", "1")]).await;
    stage.passes(30).await;
    let node = node(&stage, "n").await;
    assert_eq!(
        (node.ready, node.provider_id.as_deref(), node.labels["zone"].as_str()),
        (Truth::True, Some("world://n"), "1")
    );
    assert_eq!(node.allocatable["cpu"], "8".parse().unwrap());
    assert_eq!(stage.cluster.node(&object("nobody")).await.unwrap(), None);
}

fn owner(claim: &InstanceKey) -> Value {
    json!({ "apiVersion": "karpenter.sh/v1", "kind": "NodeClaim", "name": claim.name.as_str(), "uid": claim.claim.as_str() })
}

fn taint(key: &str) -> Taint {
    Taint { key: key.into(), value: String::new(), effect: Effect::NoSchedule }
}

#[tokio::test(start_paused = true)]
async fn a_change_of_a_node_is_one_write_and_leaves_alone_what_others_wrote() {
    let stage = stage().await;
    // Owners that are not there would have the Node collected as garbage.
    let (ours, theirs) = (stage.has_claim("ours").await, stage.has_claim("theirs").await);
    let theirs = owner(&theirs);
    stage.post(NODES, json!({ "metadata": { "name": "n", "finalizers": ["x.dev/theirs"], "labels": { "theirs": "1", "old": "1" },
            "ownerReferences": [theirs] },
        "spec": { "providerID": "world://n", "taints": [
            { "key": "stays", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z" }, { "key": "goes", "effect": "NoSchedule" }] } })).await;
    let read = node(&stage, "n").await;
    let stays = read.taints.iter().find(|taint| taint.key == "stays").unwrap().clone();
    let change = NodeChange {
        labels: [("ours".to_owned(), Some("1".to_owned())), ("old".to_owned(), None)].into(),
        annotations: [("ours".to_owned(), Some("1".to_owned()))].into(),
        taints: Some(vec![taint(names::DISRUPTED_TAINT), stays]),
        finalizer: FinalizerChange::Add,
        owner: OwnerChange::Add(ours.clone()),
        ..NodeChange::new(read.name, read.version)
    };
    let asked = stage.asked_so_far();
    let version = stage.cluster.change_node(&change).await.unwrap();
    assert_eq!(stage.asked_since(asked), ["GET nodes/n 200", "PATCH nodes/n 200"]);

    // As our write left it: the cluster's own controllers write to a Node too.
    let after = stage.asked().pop().unwrap().answer;
    let metadata = &after["metadata"];
    assert_eq!(metadata["resourceVersion"], version.as_str());
    assert_eq!(metadata["finalizers"], json!([names::FINALIZER, "x.dev/theirs"]));
    assert_eq!(
        (&metadata["labels"]["theirs"], &metadata["labels"]["ours"], &metadata["labels"]["old"]),
        (&json!("1"), &json!("1"), &Value::Null)
    );
    let mut owned = owner(&ours);
    owned["blockOwnerDeletion"] = true.into();
    assert_eq!(metadata["ownerReferences"], json!([theirs, owned]));
    let taints = after["spec"]["taints"].as_array().unwrap();
    let keys: Vec<&str> = taints.iter().filter_map(|taint| taint["key"].as_str()).collect();
    assert_eq!(keys, [names::DISRUPTED_TAINT, "stays"]);
    assert_eq!(taints[1]["timeAdded"], "2026-01-01T00:00:00Z");
    assert_eq!(after["spec"]["providerID"], "world://n");
}

#[tokio::test(start_paused = true)]
async fn finalizer_and_owner_go_as_they_came() {
    let stage = stage().await;
    let claim = stage.has_claim("a").await;
    stage.post(NODES, json!({ "metadata": { "name": "n", "finalizers": [names::FINALIZER, "x.dev/theirs"], "ownerReferences": [owner(&claim)] } })).await;
    let read = node(&stage, "n").await;
    assert_eq!(read.owners.iter().collect::<Vec<_>>(), [&claim.claim]);
    let change = NodeChange {
        finalizer: FinalizerChange::Remove,
        owner: OwnerChange::Remove(claim.claim),
        ..NodeChange::new(read.name, read.version)
    };
    stage.cluster.change_node(&change).await.unwrap();
    let after = node(&stage, "n").await;
    assert_eq!((after.finalizers.len(), after.owners.len()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn labels_alone_need_no_second_look_and_nothing_needs_no_write() {
    let stage = stage().await;
    stage.has_node("n", &[]).await;
    let read = node(&stage, "n").await;
    let asked = stage.asked_so_far();
    let nothing = NodeChange::new(read.name.clone(), read.version.clone());
    assert_eq!(stage.cluster.change_node(&nothing).await, Ok(read.version.clone()));
    assert_eq!(stage.asked_so_far(), asked);
    let same = NodeChange { taints: Some(read.taints.clone()), finalizer: FinalizerChange::Remove, ..nothing.clone() };
    assert_eq!(stage.cluster.change_node(&same).await, Ok(read.version));
    assert_eq!(stage.asked_since(asked), ["GET nodes/n 200"]);
    let label = NodeChange { labels: [("ours".to_owned(), Some("1".to_owned()))].into(), ..nothing };
    stage.cluster.change_node(&label).await.unwrap();
    assert_eq!(stage.asked_since(asked + 1), ["PATCH nodes/n 200"]);
}

#[tokio::test(start_paused = true)]
async fn a_node_that_somebody_else_changed_is_not_written() {
    let stage = stage().await;
    stage.has_node("n", &[]).await;
    let read = node(&stage, "n").await;
    stage.patch(&format!("{NODES}/n"), json!({ "metadata": { "labels": { "quicker": "1" } } })).await;
    let change = NodeChange::new(read.name, read.version);
    let taints = NodeChange { taints: Some(vec![taint("a")]), ..change.clone() };
    let labels = NodeChange { labels: [("ours".to_owned(), Some("1".to_owned()))].into(), ..change };
    let before = stage.get(&format!("{NODES}/n")).await;
    for change in [taints, labels] {
        let error = stage.cluster.change_node(&change).await.unwrap_err();
        assert!(error.is_conflict(), "{error}");
    }
    assert_eq!(stage.get(&format!("{NODES}/n")).await, before);
}

#[tokio::test(start_paused = true)]
async fn a_node_is_deleted_by_its_uid() {
    let stage = stage().await;
    stage.post(NODES, json!({ "metadata": { "name": "n" } })).await;
    let read = node(&stage, "n").await;
    let other = Uid::new("another-one").unwrap();
    assert_eq!(stage.cluster.delete_node(&read.name, &other).await, Ok(Deleted::WasGone));
    assert!(stage.find(&format!("{NODES}/n")).await.is_some());
    assert_eq!(stage.cluster.delete_node(&read.name, &read.uid).await, Ok(Deleted::Done));
    assert_eq!(stage.cluster.delete_node(&read.name, &read.uid).await, Ok(Deleted::WasGone));
    let change = NodeChange { finalizer: FinalizerChange::Add, ..NodeChange::new(read.name, read.version) };
    assert_eq!(stage.cluster.change_node(&change).await.unwrap_err().kind, Kind::NotFound);
}
