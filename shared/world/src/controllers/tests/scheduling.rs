//! What the scheduler places where, and what it says when it cannot.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_pod_gets_a_node_and_runs() {
    let world = World::new();
    world.nodes([machine("one")]).await;
    world.create(Kind::Pod, pod("web", "1"));
    world.wait(5).await;
    let pod = world.get(Kind::Pod, "web");
    assert_eq!(pod["spec"]["nodeName"], "one");
    assert_eq!(pod["status"]["phase"], "Running");
    assert_eq!(world.condition(Kind::Pod, "web", "PodScheduled")["status"], "True");
    assert_eq!(world.condition(Kind::Pod, "web", "Ready")["status"], "True");
    assert!(pod["status"]["podIP"].is_string() && pod["status"]["startTime"].is_string());
    assert_eq!(world.events("Scheduled")[0]["message"], "Successfully assigned default/web to one");
}

#[tokio::test(start_paused = true)]
async fn without_nodes_it_says_so() {
    let world = World::new();
    world.create(Kind::Pod, pod("web", "1"));
    world.wait(1).await;
    let condition = world.condition(Kind::Pod, "web", "PodScheduled");
    assert_eq!((&condition["status"], &condition["reason"]), (&json!("False"), &json!("Unschedulable")));
    assert_eq!(condition["message"], "no nodes available to schedule pods");
}

#[tokio::test(start_paused = true)]
async fn every_node_is_accounted_for_in_the_words_of_the_real_one() {
    let world = World::new();
    let mut tainted = machine("tainted");
    tainted.taints.push(("k".to_owned(), "v".to_owned(), "NoSchedule".to_owned()));
    world.nodes([machine("one"), machine("two"), tainted]).await;
    let mut wants_gpu = pod("train", "1");
    wants_gpu["spec"]["containers"][0]["resources"]["limits"] = json!({ "nvidia.com/gpu": 1 });
    world.create(Kind::Pod, wants_gpu);
    world.create(Kind::Pod, pod("big", "3"));
    world.create(Kind::Pod, pod("also-big", "3"));
    world.create(Kind::Pod, pod("third", "3"));
    world.wait(2).await;
    let message = |pod: &str| world.condition(Kind::Pod, pod, "PodScheduled")["message"].clone();
    assert_eq!(
        message("train"),
        "0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 Insufficient nvidia.com/gpu. no new claims to deallocate, preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling."
    );
    assert_eq!(
        message("third"),
        "0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 Insufficient cpu. no new claims to deallocate, preemption: 0/3 nodes are available: 1 Preemption is not helpful for scheduling, 2 No preemption victims found for incoming pod."
    );
    let events = world.events("FailedScheduling");
    assert!(
        events.iter().any(|event| event["involvedObject"]["name"] == "train" && event["message"] == message("train"))
    );
}

#[tokio::test(start_paused = true)]
async fn a_waiting_pod_is_tried_again_when_room_appears_and_its_event_is_counted() {
    let world = World::new();
    world.nodes([machine("one")]).await;
    world.create(Kind::Pod, pod("first", "3"));
    world.create(Kind::Pod, pod("second", "3"));
    world.wait(30).await;
    assert_eq!(world.node_of("second"), None);
    world
        .nodes([{
            let mut small = machine("small");
            small.capacity.insert("cpu".to_owned(), "1".to_owned());
            small
        }])
        .await;
    assert_eq!(world.node_of("second"), None);
    let events: Vec<Value> = world
        .events("FailedScheduling")
        .into_iter()
        .filter(|event| event["involvedObject"]["name"] == "second")
        .collect();
    assert_eq!(events.len(), 1);
    assert!(events[0]["series"]["count"].as_i64().unwrap() >= 2);
    world.delete(Kind::Pod, "first", &Deletion::default());
    world.wait(40).await;
    assert_eq!(world.node_of("second").as_deref(), Some("one"));
}

#[tokio::test(start_paused = true)]
async fn selectors_affinity_and_tolerations_decide() {
    let world = World::new();
    let mut gpu = in_zone("gpu", "b");
    gpu.taints.push(("nvidia.com/gpu".to_owned(), "present".to_owned(), "NoSchedule".to_owned()));
    world.nodes([machine("plain"), gpu]).await;
    let mut selecting = pod("selecting", "1");
    selecting["spec"]["nodeSelector"] = json!({ "topology.kubernetes.io/zone": "b" });
    world.create(Kind::Pod, selecting.clone());
    selecting["metadata"]["name"] = "tolerating".into();
    selecting["spec"]["tolerations"] = json!([{ "key": "nvidia.com/gpu", "operator": "Exists" }]);
    world.create(Kind::Pod, selecting);
    let mut either = pod("either", "1");
    either["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"] = json!([
        { "matchExpressions": [{ "key": "topology.kubernetes.io/zone", "operator": "In", "values": ["nowhere"] }] },
        { "matchFields": [{ "key": "metadata.name", "operator": "In", "values": ["plain"] }] },
    ]);
    world.create(Kind::Pod, either);
    world.wait(5).await;
    assert_eq!(world.node_of("selecting"), None);
    let message = world.condition(Kind::Pod, "selecting", "PodScheduled")["message"].clone();
    assert!(
        message
            .as_str()
            .unwrap()
            .contains("1 node(s) didn't match Pod's node affinity/selector, 1 node(s) had untolerated taint(s)."),
        "{message}"
    );
    assert_eq!(world.node_of("tolerating").as_deref(), Some("gpu"));
    assert_eq!(world.node_of("either").as_deref(), Some("plain"));
}

#[tokio::test(start_paused = true)]
async fn a_cordoned_node_takes_no_pods() {
    let world = World::new();
    world.nodes([machine("one")]).await;
    world.patch(Kind::Node, "one", |node| node["spec"]["unschedulable"] = true.into());
    world.wait(1).await;
    assert!(
        world.get(Kind::Node, "one")["spec"]["taints"]
            .as_array()
            .unwrap()
            .iter()
            .any(|taint| taint["key"] == "node.kubernetes.io/unschedulable")
    );
    world.create(Kind::Pod, pod("web", "1"));
    world.wait(1).await;
    let message = world.condition(Kind::Pod, "web", "PodScheduled")["message"].clone();
    assert_eq!(
        message,
        "0/1 nodes are available: 1 node(s) were unschedulable. no new claims to deallocate, preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
    );
    world.patch(Kind::Node, "one", |node| _ = node["spec"].as_object_mut().unwrap().remove("unschedulable"));
    world.wait(15).await;
    assert_eq!(world.node_of("web").as_deref(), Some("one"));
}

#[tokio::test(start_paused = true)]
async fn spread_keeps_zones_level() {
    let world = World::new();
    world.nodes([in_zone("a1", "a"), in_zone("a2", "a"), in_zone("b1", "b")]).await;
    for number in 0..6 {
        let mut one = pod(&format!("web-{number}"), "500m");
        one["metadata"]["labels"] = json!({ "app": "web" });
        one["spec"]["topologySpreadConstraints"] = json!([{
            "maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": { "matchLabels": { "app": "web" } },
        }]);
        world.create(Kind::Pod, one);
    }
    world.wait(5).await;
    let on_b = (0..6).filter(|number| world.node_of(&format!("web-{number}")).as_deref() == Some("b1")).count();
    assert_eq!(on_b, 3);
    world.patch(Kind::Node, "b1", |node| node["spec"]["unschedulable"] = true.into());
    for number in 6..8 {
        let mut one = world.get(Kind::Pod, "web-0");
        one["metadata"] = json!({ "name": format!("web-{number}"), "labels": { "app": "web" } });
        one["spec"].as_object_mut().unwrap().remove("nodeName");
        one["status"] = json!({});
        world.create(Kind::Pod, one);
    }
    world.wait(5).await;
    // The first still fits (skew 1); the second would make it 2, and zone b is closed.
    assert!(world.node_of("web-6").is_some());
    let message = world.condition(Kind::Pod, "web-7", "PodScheduled")["message"].clone();
    assert!(message.as_str().unwrap().contains("2 node(s) didn't match pod topology spread constraints"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn pods_keep_apart_in_both_directions_and_together() {
    let world = World::new();
    world.nodes([machine("one"), machine("two")]).await;
    let term = |app: &str| json!([{ "topologyKey": "kubernetes.io/hostname", "labelSelector": { "matchLabels": { "app": app } } }]);
    let mut loner = pod("loner", "1");
    loner["spec"]["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] = term("crowd");
    world.create(Kind::Pod, loner);
    world.wait(2).await;
    for number in 0..2 {
        let mut crowd = pod(&format!("crowd-{number}"), "100m");
        crowd["metadata"]["labels"] = json!({ "app": "crowd" });
        world.create(Kind::Pod, crowd);
    }
    let mut friend = pod("friend", "100m");
    friend["spec"]["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] = term("loner");
    world.create(Kind::Pod, friend);
    world.wait(3).await;
    let home = world.node_of("loner");
    assert_ne!(world.node_of("crowd-0"), home);
    assert_ne!(world.node_of("crowd-1"), home);
    assert_eq!(world.node_of("friend"), home);
    let mut second = pod("second-loner", "1");
    second["spec"]["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] = term("crowd");
    second["spec"]["nodeSelector"] = json!({ "kubernetes.io/hostname": world.node_of("crowd-0") });
    world.create(Kind::Pod, second);
    world.wait(1).await;
    let message = world.condition(Kind::Pod, "second-loner", "PodScheduled")["message"].clone();
    assert!(message.as_str().unwrap().contains("1 node(s) didn't match pod anti-affinity rules"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn a_host_port_is_given_once_a_node() {
    let world = World::new();
    world.nodes([machine("one")]).await;
    for name in ["first", "second"] {
        let mut one = pod(name, "1");
        one["spec"]["containers"][0]["ports"] = json!([{ "containerPort": 80, "hostPort": 80 }]);
        world.create(Kind::Pod, one);
    }
    world.wait(3).await;
    let message = world.condition(Kind::Pod, "second", "PodScheduled")["message"].clone();
    assert!(
        message.as_str().unwrap().contains("1 node(s) didn't have free ports for the requested pod ports"),
        "{message}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_gated_pod_waits_for_its_gates() {
    let world = World::new();
    world.nodes([machine("one")]).await;
    let mut gated = pod("gated", "1");
    gated["spec"]["schedulingGates"] = json!([{ "name": "example.com/hold" }]);
    world.create(Kind::Pod, gated);
    world.wait(5).await;
    assert_eq!(world.condition(Kind::Pod, "gated", "PodScheduled")["reason"], "SchedulingGated");
    assert!(world.events("FailedScheduling").is_empty());
    world.patch(Kind::Pod, "gated", |pod| _ = pod["spec"].as_object_mut().unwrap().remove("schedulingGates"));
    world.wait(1).await;
    assert_eq!(world.node_of("gated").as_deref(), Some("one"));
}

#[tokio::test(start_paused = true)]
async fn the_more_important_pod_goes_first() {
    let world = World::new();
    for (name, priority) in [("low", 0), ("high", 1000)] {
        let mut one = pod(name, "3");
        one["spec"]["priority"] = priority.into();
        world.create(Kind::Pod, one);
    }
    world.wait(1).await;
    world.nodes([machine("one")]).await;
    assert_eq!(world.node_of("high").as_deref(), Some("one"));
    assert_eq!(world.node_of("low"), None);
}
