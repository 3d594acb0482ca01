//! Machines that join, fall silent, come back, and go.

use super::*;

fn taints(world: &World, node: &str) -> Vec<(String, String)> {
    let node = world.get(Kind::Node, node);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    super::super::fields::list(&node["spec"]["taints"])
        .iter()
        .map(|taint| (text(&taint["key"]), text(&taint["effect"])))
        .collect()
}

fn tolerating(name: &str, seconds: i64) -> Value {
    let mut one = pod(name, "1");
    let keys = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];
    one["spec"]["tolerations"] = keys
        .map(|key| json!({ "key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds }))
        .to_vec()
        .into();
    one
}

#[tokio::test(start_paused = true)]
async fn a_machine_registers_not_ready_and_becomes_ready() {
    let world = World::new();
    world.machines.join(machine("one"));
    world.wait(1).await;
    let node = world.get(Kind::Node, "one");
    assert_eq!(node["spec"]["providerID"], "world://one");
    assert_eq!(node["metadata"]["labels"]["kubernetes.io/hostname"], "one");
    assert_eq!(node["status"]["nodeInfo"]["bootID"], "first");
    assert_eq!(world.condition(Kind::Node, "one", "Ready")["status"], "False");
    assert!(taints(&world, "one").contains(&("node.kubernetes.io/not-ready".to_owned(), "NoSchedule".to_owned())));
    world.wait(19).await;
    assert_eq!(world.condition(Kind::Node, "one", "Ready")["reason"], "KubeletReady");
    assert!(taints(&world, "one").is_empty());
    let lease = world.objects.get(&Kind::Lease.resource(), "kube-node-lease", "one").unwrap();
    assert_eq!(lease.value["spec"]["holderIdentity"], "one");
}

#[tokio::test(start_paused = true)]
async fn accelerators_appear_late_or_never() {
    let world = World::new();
    let mut gpu = machine("gpu");
    gpu.accelerator = Some(("nvidia.com/gpu".to_owned(), 2));
    gpu.accelerator_after = Some(Duration::from_secs(90));
    let mut broken = gpu.clone();
    broken.node = "broken".to_owned();
    broken.accelerator_after = None;
    world.nodes([gpu, broken]).await;
    let mut wants = pod("train", "1");
    wants["spec"]["containers"][0]["resources"]["limits"] = json!({ "nvidia.com/gpu": 2 });
    world.create(Kind::Pod, wants);
    world.wait(60).await;
    assert!(world.get(Kind::Node, "gpu")["status"]["allocatable"]["nvidia.com/gpu"].is_null());
    assert_eq!(world.node_of("train"), None);
    world.wait(30).await;
    assert_eq!(world.get(Kind::Node, "gpu")["status"]["allocatable"]["nvidia.com/gpu"], "2");
    assert_eq!(world.node_of("train").as_deref(), Some("gpu"));
    assert!(world.get(Kind::Node, "broken")["status"]["allocatable"]["nvidia.com/gpu"].is_null());
}

#[tokio::test(start_paused = true)]
async fn a_silent_node_becomes_unknown_and_its_pods_leave_when_their_patience_ends() {
    let world = World::new();
    world.nodes([machine("one")]).await;
    world.create(Kind::Pod, tolerating("patient", 100));
    world.wait(5).await;
    world.machines.leave("one", false);
    world.wait(39 - 10).await;
    assert_eq!(world.condition(Kind::Node, "one", "Ready")["status"], "True");
    world.wait(12).await;
    let ready = world.condition(Kind::Node, "one", "Ready");
    assert_eq!((&ready["status"], &ready["reason"]), (&json!("Unknown"), &json!("NodeStatusUnknown")));
    let both =
        ["NoSchedule", "NoExecute"].map(|effect| ("node.kubernetes.io/unreachable".to_owned(), effect.to_owned()));
    assert_eq!(taints(&world, "one"), both);
    assert_eq!(world.condition(Kind::Pod, "patient", "Ready")["status"], "False");
    world.wait(90).await;
    assert!(world.get(Kind::Pod, "patient")["metadata"]["deletionTimestamp"].is_null());
    world.wait(15).await;
    // Marked, but nobody is there to stop it.
    assert!(world.get(Kind::Pod, "patient")["metadata"]["deletionTimestamp"].is_string());
    assert_eq!(world.condition(Kind::Pod, "patient", "DisruptionTarget")["reason"], "DeletionByTaintManager");
    world.wait(600).await;
    assert!(world.find(Kind::Pod, "patient").is_some());
    world.machines.join(machine("one"));
    world.wait(30).await;
    assert!(world.find(Kind::Pod, "patient").is_none());
    assert!(taints(&world, "one").is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_short_absence_is_forgiven() {
    let world = World::new();
    world.nodes([machine("one")]).await;
    world.create(Kind::Pod, tolerating("patient", 300));
    world.wait(5).await;
    world.machines.leave("one", false);
    world.wait(100).await;
    world.machines.join(machine("one"));
    world.wait(20).await;
    assert_eq!(world.condition(Kind::Node, "one", "Ready")["status"], "True");
    assert_eq!(world.condition(Kind::Pod, "patient", "Ready")["status"], "True");
    world.wait(400).await;
    assert!(world.get(Kind::Pod, "patient")["metadata"]["deletionTimestamp"].is_null());
    assert_eq!(world.events("TaintManagerEviction").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_reboot_restarts_containers() {
    let world = World::new();
    world.nodes([machine("one")]).await;
    world.create(Kind::Pod, tolerating("web", 300));
    world.wait(5).await;
    world.machines.leave("one", false);
    let mut again = machine("one");
    again.boot_id = "second".to_owned();
    world.nodes([again]).await;
    let pod = world.get(Kind::Pod, "web");
    assert_eq!(pod["status"]["containerStatuses"][0]["restartCount"], 1);
    assert_eq!(world.get(Kind::Node, "one")["status"]["nodeInfo"]["bootID"], "second");
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_is_gone_takes_its_node_and_then_its_pods() {
    let world = World::new();
    world.nodes([machine("one")]).await;
    world.create(Kind::Pod, tolerating("web", 3000));
    world.wait(5).await;
    world.machines.leave("one", true);
    while world.find(Kind::Node, "one").is_some() {
        world.wait(1).await;
    }
    world.create(Kind::Pod, {
        let mut late = tolerating("late", 3000);
        late["spec"]["nodeName"] = "one".into();
        late
    });
    world.wait(35).await;
    assert!(world.objects.get(&Kind::Lease.resource(), "kube-node-lease", "one").is_none());
    assert!(world.find(Kind::Pod, "web").is_some());
    world.wait(60).await;
    assert!(world.find(Kind::Pod, "web").is_none());
}

#[tokio::test(start_paused = true)]
async fn pods_finish_fail_and_restart_as_they_are_told() {
    let world = World::new();
    world.nodes([machine("one")]).await;
    let told = |name: &str, policy: &str, code: &str| {
        let mut one = pod(name, "100m");
        one["spec"]["restartPolicy"] = policy.into();
        one["metadata"]["annotations"] = json!({ "world.pilotlight.dev/run-seconds": "30", "world.pilotlight.dev/exit-code": code, "world.pilotlight.dev/pull-seconds": "5" });
        world.create(Kind::Pod, one);
    };
    told("done", "Never", "0");
    told("broken", "Never", "3");
    told("stubborn", "OnFailure", "1");
    world.wait(4).await;
    assert_eq!(
        world.get(Kind::Pod, "done")["status"]["containerStatuses"][0]["state"]["waiting"]["reason"],
        "ContainerCreating"
    );
    world.wait(2).await;
    assert_eq!(world.get(Kind::Pod, "done")["status"]["phase"], "Running");
    world.wait(30).await;
    assert_eq!(world.get(Kind::Pod, "done")["status"]["phase"], "Succeeded");
    let broken = world.get(Kind::Pod, "broken");
    assert_eq!(broken["status"]["phase"], "Failed");
    assert_eq!(broken["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"], 3);
    let stubborn = world.get(Kind::Pod, "stubborn");
    assert_eq!(stubborn["status"]["containerStatuses"][0]["state"]["waiting"]["reason"], "CrashLoopBackOff");
    world.wait(15).await;
    assert_eq!(world.get(Kind::Pod, "stubborn")["status"]["containerStatuses"][0]["restartCount"], 1);
    assert_eq!(world.condition(Kind::Pod, "stubborn", "Ready")["status"], "True");
}

#[tokio::test(start_paused = true)]
async fn stopping_takes_time_but_never_more_than_the_grace_period() {
    let world = World::new();
    world.nodes([machine("one")]).await;
    for (name, needs) in [("slow", "20"), ("stuck", "1000")] {
        let mut one = pod(name, "100m");
        one["metadata"]["annotations"] = json!({ "world.pilotlight.dev/stop-seconds": needs });
        world.create(Kind::Pod, one);
    }
    world.wait(5).await;
    for name in ["slow", "stuck"] {
        world.delete(Kind::Pod, name, &Deletion::default());
    }
    world.wait(18).await;
    assert!(world.get(Kind::Pod, "slow")["metadata"]["deletionTimestamp"].is_string());
    world.wait(4).await;
    assert!(world.find(Kind::Pod, "slow").is_none());
    assert!(world.find(Kind::Pod, "stuck").is_some());
    world.wait(10).await;
    assert!(world.find(Kind::Pod, "stuck").is_none());
}

#[tokio::test(start_paused = true)]
async fn a_pod_bound_where_the_resource_is_missing_is_refused() {
    let world = World::new();
    world.nodes([machine("one")]).await;
    let mut forced = pod("forced", "1");
    forced["spec"]["nodeName"] = "one".into();
    forced["spec"]["containers"][0]["resources"]["limits"] = json!({ "nvidia.com/gpu": 1 });
    world.create(Kind::Pod, forced);
    world.wait(5).await;
    let status = world.get(Kind::Pod, "forced")["status"].clone();
    assert_eq!((&status["phase"], &status["reason"]), (&json!("Failed"), &json!("OutOfnvidia.com/gpu")));
}

#[tokio::test(start_paused = true)]
async fn a_living_kubelet_puts_right_what_others_wrote() {
    let world = World::new();
    world.nodes([machine("one")]).await;
    world.patch(Kind::Node, "one", |node| {
        let conditions = node["status"]["conditions"].as_array_mut().unwrap();
        conditions.iter_mut().filter(|one| one["type"] == "Ready").for_each(|one| one["status"] = "False".into());
    });
    world.objects.delete(&Kind::Lease.resource(), "kube-node-lease", "one", &Deletion::default()).unwrap();
    world.wait(1).await;
    assert!(!taints(&world, "one").is_empty());
    world.wait(11).await;
    assert_eq!(world.condition(Kind::Node, "one", "Ready")["status"], "True");
    assert!(taints(&world, "one").is_empty());
    assert!(world.objects.get(&Kind::Lease.resource(), "kube-node-lease", "one").is_some());
}

#[tokio::test(start_paused = true)]
async fn a_node_made_by_hand_is_never_heard_of() {
    let world = World::new();
    world.create(Kind::Node, json!({ "metadata": { "name": "ghost" } }));
    world.wait(45).await;
    let ready = world.condition(Kind::Node, "ghost", "Ready");
    assert_eq!((&ready["status"], &ready["reason"]), (&json!("Unknown"), &json!("NodeStatusNeverUpdated")));
}

#[tokio::test(start_paused = true)]
async fn out_of_service_frees_pods_that_nobody_can_stop() {
    let world = World::new();
    world.nodes([machine("one")]).await;
    world.create(Kind::Pod, tolerating("web", 10));
    world.wait(5).await;
    world.machines.leave("one", false);
    world.wait(120).await;
    assert!(world.get(Kind::Pod, "web")["metadata"]["deletionTimestamp"].is_string());
    world.patch(Kind::Node, "one", |node| {
        let taint =
            json!({ "key": "node.kubernetes.io/out-of-service", "value": "nodeshutdown", "effect": "NoExecute" });
        node["spec"]["taints"].as_array_mut().unwrap().push(taint);
    });
    world.wait(1).await;
    assert!(world.find(Kind::Pod, "web").is_none());
}

#[tokio::test(start_paused = true)]
async fn refused_pods_that_are_replaced_do_not_stop_time() {
    let world = World::new();
    world.nodes([machine("one")]).await;
    let mut stuck = workload("stuck", 1, "100");
    stuck["spec"]["template"]["spec"]["nodeName"] = "one".into();
    world.create(Kind::ReplicaSet, stuck);
    world.wait(60).await;
    assert!(world.all(Kind::Pod).len() > 5);
}
