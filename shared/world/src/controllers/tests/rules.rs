//! The finer rules of placement, one by one.

use super::*;

const ZONE: &str = "topology.kubernetes.io/zone";

fn spreading(name: &str, extra: Value) -> Value {
    let mut one = pod(name, "100m");
    one["metadata"]["labels"] = json!({ "app": "web", "version": name.split('-').next() });
    let mut constraint = json!({ "maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": { "matchLabels": { "app": "web" } } });
    constraint.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    one["spec"]["topologySpreadConstraints"] = json!([constraint]);
    one
}

fn message(world: &World, pod: &str) -> String {
    world.condition(Kind::Pod, pod, "PodScheduled")["message"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test(start_paused = true)]
async fn too_few_domains_count_as_an_empty_one() {
    let world = World::new();
    world.nodes([in_zone("a1", "a"), in_zone("b1", "b")]).await;
    for name in ["v-1", "v-2", "v-3"] {
        world.create(Kind::Pod, spreading(name, json!({ "minDomains": 3 })));
        world.wait(1).await;
    }
    assert!(world.node_of("v-1").is_some() && world.node_of("v-2").is_some());
    assert!(message(&world, "v-3").contains("2 node(s) didn't match pod topology spread constraints"));
    world.nodes([in_zone("c1", "c")]).await;
    assert_eq!(world.node_of("v-3").as_deref(), Some("c1"));
}

#[tokio::test(start_paused = true)]
async fn a_soft_spread_prefers_and_does_not_insist() {
    let world = World::new();
    world.nodes([in_zone("a1", "a"), in_zone("b1", "b")]).await;
    for name in ["v-1", "v-2"] {
        world.create(Kind::Pod, spreading(name, json!({ "whenUnsatisfiable": "ScheduleAnyway" })));
        world.wait(1).await;
    }
    assert_ne!(world.node_of("v-1"), world.node_of("v-2"));
    world.patch(Kind::Node, "b1", |node| node["spec"]["unschedulable"] = true.into());
    for name in ["v-3", "v-4", "v-5"] {
        world.create(Kind::Pod, spreading(name, json!({ "whenUnsatisfiable": "ScheduleAnyway" })));
        world.wait(1).await;
        assert_eq!(world.node_of(name).as_deref(), Some("a1"));
    }
}

#[tokio::test(start_paused = true)]
async fn tainted_nodes_count_unless_the_policy_says_otherwise() {
    let world = World::new();
    let mut closed = in_zone("b1", "b");
    closed.taints.push(("k".to_owned(), "v".to_owned(), "NoSchedule".to_owned()));
    world.nodes([in_zone("a1", "a"), closed]).await;
    for name in ["v-1", "v-2"] {
        world.create(Kind::Pod, spreading(name, json!({})));
        world.create(
            Kind::Pod,
            spreading(&name.replace('v', "w"), json!({ "nodeTaintsPolicy": "Honor", "matchLabelKeys": ["version"] })),
        );
        world.wait(1).await;
    }
    assert_eq!(world.node_of("v-2"), None);
    assert_eq!(world.node_of("w-2").as_deref(), Some("a1"));
}

#[tokio::test(start_paused = true)]
async fn a_node_without_the_label_is_no_place_to_spread_to() {
    let world = World::new();
    let mut bare = machine("bare");
    bare.labels.clear();
    world.nodes([bare]).await;
    world.create(Kind::Pod, spreading("v-1", json!({})));
    world.wait(1).await;
    assert_eq!(
        message(&world, "v-1"),
        "0/1 nodes are available: 1 node(s) didn't match pod topology spread constraints (missing required label). no new claims to deallocate, preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
    );
}

#[tokio::test(start_paused = true)]
async fn affinity_looks_into_the_namespaces_it_names() {
    let world = World::new();
    world.nodes([machine("one"), machine("two")]).await;
    world.create(Kind::Namespace, json!({ "metadata": { "name": "team", "labels": { "kind": "team" } } }));
    let mut cache = pod("cache", "100m");
    cache["metadata"]["namespace"] = "team".into();
    cache["spec"]["nodeSelector"] = json!({ "kubernetes.io/hostname": "two" });
    world.create(Kind::Pod, cache);
    world.wait(2).await;
    let near = |name: &str, namespaces: Value| {
        let mut one = pod(name, "100m");
        let mut term =
            json!({ "topologyKey": "kubernetes.io/hostname", "labelSelector": { "matchLabels": { "app": "cache" } } });
        term.as_object_mut().unwrap().extend(namespaces.as_object().unwrap().clone());
        one["spec"]["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] = json!([term]);
        world.create(Kind::Pod, one);
    };
    near("own", json!({}));
    near("named", json!({ "namespaces": ["team"] }));
    near("selected", json!({ "namespaceSelector": { "matchLabels": { "kind": "team" } } }));
    near("everywhere", json!({ "namespaceSelector": {} }));
    world.wait(2).await;
    assert_eq!(
        message(&world, "own"),
        "0/2 nodes are available: 2 node(s) didn't match pod affinity rules. no new claims to deallocate, preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
    );
    for name in ["named", "selected", "everywhere"] {
        assert_eq!(world.node_of(name).as_deref(), Some("two"), "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_first_pod_that_wants_its_own_kind_may_start() {
    let world = World::new();
    world.nodes([machine("one"), machine("two")]).await;
    for name in ["first", "second", "third"] {
        let mut one = pod(name, "100m");
        one["metadata"]["labels"] = json!({ "app": "herd" });
        let term =
            json!({ "topologyKey": "kubernetes.io/hostname", "labelSelector": { "matchLabels": { "app": "herd" } } });
        one["spec"]["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] = json!([term]);
        world.create(Kind::Pod, one);
    }
    world.wait(2).await;
    assert!(world.node_of("first").is_some());
    assert_eq!(world.node_of("first"), world.node_of("second"));
    assert_eq!(world.node_of("first"), world.node_of("third"));
}

#[tokio::test(start_paused = true)]
async fn preferences_decide_between_nodes_that_will_do() {
    let world = World::new();
    let mut avoided = in_zone("avoided", "b");
    avoided.taints.push(("k".to_owned(), "v".to_owned(), "PreferNoSchedule".to_owned()));
    world.nodes([in_zone("a1", "a"), in_zone("b1", "b"), avoided]).await;
    let mut one = pod("web", "100m");
    let preference = json!({ "matchExpressions": [{ "key": ZONE, "operator": "In", "values": ["b"] }] });
    one["spec"]["affinity"]["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"] =
        json!([{ "weight": 10, "preference": preference }]);
    world.create(Kind::Pod, one);
    world.wait(2).await;
    assert_eq!(world.node_of("web").as_deref(), Some("b1"));
}

#[tokio::test(start_paused = true)]
async fn a_daemon_that_does_not_fit_says_which_nodes_were_never_asked() {
    let world = World::new();
    world.nodes([machine("one"), machine("two"), machine("three")]).await;
    let mut hog = pod("hog", "4");
    hog["spec"]["nodeSelector"] = json!({ "kubernetes.io/hostname": "two" });
    world.create(Kind::Pod, hog);
    world.wait(2).await;
    world.create(Kind::DaemonSet, workload("agent", 0, "1"));
    world.wait(2).await;
    let waiting = world.all(Kind::Pod).into_iter().find(|pod| pod["spec"]["nodeName"].is_null()).unwrap();
    assert_eq!(
        message(&world, waiting["metadata"]["name"].as_str().unwrap()),
        "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) didn't satisfy plugin(s) [NodeAffinity]. no new claims to deallocate, preemption: 0/3 nodes are available: 1 No preemption victims found for incoming pod, 2 Preemption is not helpful for scheduling."
    );
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_never_preempts_says_so_and_pods_are_counted() {
    let world = World::new();
    let mut tiny = machine("tiny");
    tiny.capacity.insert("pods".to_owned(), "1".to_owned());
    world.nodes([tiny]).await;
    world.create(Kind::Pod, pod("first", "100m"));
    let mut second = pod("second", "100m");
    second["spec"]["preemptionPolicy"] = "Never".into();
    world.create(Kind::Pod, second);
    world.wait(2).await;
    assert_eq!(
        message(&world, "second"),
        "0/1 nodes are available: 1 Too many pods. no new claims to deallocate, preemption: not eligible due to preemptionPolicy=Never."
    );
}

#[tokio::test(start_paused = true)]
async fn other_schedulers_pods_are_left_alone() {
    let world = World::new();
    world.nodes([machine("one")]).await;
    let mut foreign = pod("foreign", "1");
    foreign["spec"]["schedulerName"] = "mine".into();
    world.create(Kind::Pod, foreign);
    world.wait(30).await;
    assert_eq!(world.node_of("foreign"), None);
    assert_eq!(world.condition(Kind::Pod, "foreign", "PodScheduled"), Value::Null);
}
