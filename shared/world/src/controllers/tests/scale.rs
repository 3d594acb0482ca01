//! Size, quiet, and sameness.

use super::*;

fn history(world: &World) -> String {
    let kinds = [Kind::Node, Kind::Pod, Kind::Event, Kind::Deployment, Kind::ReplicaSet, Kind::Job];
    kinds.iter().map(|kind| Value::from(world.all(*kind)).to_string()).collect()
}

async fn a_busy_minute(seed: u64) -> String {
    let world = World::with(ControllersOptions::default(), seed);
    world.nodes(["one", "two", "three"].map(machine)).await;
    world.create(Kind::Deployment, workload("web", 7, "300m"));
    world.create(Kind::DaemonSet, workload("agent", 0, "100m"));
    world.wait(10).await;
    world.machines.leave("two", true);
    world.wait(60).await;
    history(&world)
}

#[test]
fn the_same_seed_gives_the_same_history() {
    let run = |seed: u64| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(a_busy_minute(seed))
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[tokio::test(start_paused = true)]
async fn a_settled_cluster_changes_nothing_but_heartbeats() {
    let world = World::new();
    world.nodes(["one", "two"].map(machine)).await;
    world.create(Kind::Deployment, workload("web", 4, "100m"));
    world.create(Kind::PodDisruptionBudget, json!({ "metadata": { "name": "guard" }, "spec": { "maxUnavailable": 1, "selector": { "matchLabels": { "app": "web" } } } }));
    world.wait(30).await;
    let before = world.objects.store.revision();
    world.wait(100).await;
    assert_eq!(world.objects.store.revision() - before, 20);
}

#[tokio::test(start_paused = true)]
async fn a_quiet_hour_of_fifty_nodes_costs_little() {
    let world = World::new();
    world.nodes((0..50).map(|number| machine(&format!("node-{number:02}")))).await;
    world.create(Kind::Deployment, workload("web", 200, "500m"));
    world.wait(60).await;
    let begun = std::time::Instant::now();
    world.wait(3600).await;
    let cost = begun.elapsed();
    println!("a quiet hour of 50 nodes: {cost:?}");
    assert!(cost < Duration::from_secs(if cfg!(debug_assertions) { 10 } else { 1 }), "{cost:?}");
}

#[tokio::test(start_paused = true)]
async fn a_compacted_log_hides_nothing() {
    let world = World::new();
    world.nodes([machine("one")]).await;
    for number in 0..5 {
        world.create(Kind::Pod, pod(&format!("pod-{number}"), "100m"));
        world.objects.store.compact();
        world.wait(3).await;
    }
    world.delete(Kind::Pod, "pod-0", &Deletion { grace: Some(0), ..Deletion::default() });
    world.objects.store.compact();
    world.create(Kind::Pod, pod("large", "3500m"));
    world.wait(5).await;
    assert!(world.all(Kind::Pod).iter().all(|pod| pod["status"]["phase"] == "Running"));
}

/// Run with `--release -- --ignored --nocapture` for the figures.
#[tokio::test(start_paused = true)]
#[ignore = "takes its time without optimisation"]
async fn ten_thousand_waiting_pods_bear_a_growing_cluster() {
    let world = World::new();
    for number in 0..10_000 {
        let mut one = pod(&format!("pod-{number:05}"), "300m");
        one["metadata"]["labels"] = json!({ "app": "app" });
        world.create(Kind::Pod, one);
    }
    world.wait(30).await;
    let begun = std::time::Instant::now();
    for number in 0..1000 {
        world.machines.join(machine(&format!("node-{number:03}")));
        world.objects.clock.sleep(Duration::from_millis(100)).await;
    }
    world.wait(60).await;
    println!("10,000 waiting pods, 1,000 nodes over 100 s: {:?}", begun.elapsed());
    assert!(world.all(Kind::Pod).iter().all(|pod| pod["status"]["phase"] == "Running"));
}

/// Run with `--release -- --ignored --nocapture` for the figures.
#[tokio::test(start_paused = true)]
#[ignore = "takes its time without optimisation"]
async fn ten_thousand_pods_find_their_place_on_a_thousand_nodes() {
    for (label, spread) in [("plain", false), ("spread over zones", true)] {
        let world = World::new();
        let begun = std::time::Instant::now();
        world
            .nodes((0..1000).map(|number| in_zone(&format!("node-{number:03}"), &format!("zone-{}", number % 3))))
            .await;
        println!("{label}: 1,000 nodes joined and ready: {:?}", begun.elapsed());
        let begun = std::time::Instant::now();
        for number in 0..10_000 {
            let mut one = pod(&format!("pod-{number:05}"), "300m");
            one["metadata"]["labels"] = json!({ "app": format!("app-{}", number % 20) });
            if spread {
                one["spec"]["topologySpreadConstraints"] = json!([{
                    "maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "DoNotSchedule",
                    "labelSelector": { "matchLabels": { "app": format!("app-{}", number % 20) } },
                }]);
            }
            world.create(Kind::Pod, one);
        }
        println!("{label}: 10,000 pods created: {:?}", begun.elapsed());
        let begun = std::time::Instant::now();
        let unbound =
            || world.objects.list(&Kind::Pod.resource()).iter().any(|pod| pod.value["spec"]["nodeName"].is_null());
        while unbound() {
            tokio::task::yield_now().await;
        }
        println!("{label}: all bound: {:?}", begun.elapsed());
        let begun = std::time::Instant::now();
        world.wait(10).await;
        println!("{label}: all running: {:?}", begun.elapsed());
        assert!(world.all(Kind::Pod).iter().all(|pod| pod["status"]["phase"] == "Running"));
    }
}
