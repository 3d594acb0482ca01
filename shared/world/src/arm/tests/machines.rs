//! Machines: when they join and leave, and what they say of themselves.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_machine_joins_after_its_boot_with_aks_names_labels_taints_and_gpus() {
    let azure = azure().await;
    let body = json!({"vmSize": A100, "count": 1, "osDiskSizeGB": 100, "maxPods": 50,
        "nodeLabels": {"karpenter.sh/nodepool": "kaito"}, "nodeTaints": ["sku=gpu:NoSchedule", "empty=:NoExecute"]});
    azure.put_pool("gpu", body).await;
    azure.clock.sleep(Duration::from_secs(89)).await;
    assert!(azure.heard().is_empty(), "it boots for at least ninety seconds");
    azure.clock.sleep(Duration::from_secs(260)).await;
    assert_eq!(azure.heard().len(), 1, "once");
    let machine = azure.joined().remove(0);

    let number = machine.node.strip_prefix("aks-gpu-").unwrap().strip_suffix("-vmss000000").unwrap();
    assert_eq!(number.len(), 8);
    let group = "/subscriptions/22222222-2222-4222-8222-222222222222/resourceGroups/mc_world_world_eastus";
    assert_eq!(
        machine.provider_id,
        format!(
            "azure://{group}/providers/Microsoft.Compute/virtualMachineScaleSets/aks-gpu-{number}-vmss/virtualMachines/0"
        )
    );
    for (key, value) in [
        ("agentpool", "gpu"),
        ("kubernetes.azure.com/agentpool", "gpu"),
        ("kubernetes.azure.com/cluster", "MC_world_world_eastus"),
        ("kubernetes.azure.com/accelerator", "nvidia"),
        ("kubernetes.azure.com/mode", "user"),
        ("node.kubernetes.io/instance-type", A100),
        ("topology.kubernetes.io/region", "eastus"),
        ("topology.kubernetes.io/zone", "0"),
        ("karpenter.sh/nodepool", "kaito"),
    ] {
        assert_eq!(machine.labels.get(key).map(String::as_str), Some(value), "{key}");
    }
    let taint = |key: &str, value: &str, effect: &str| (key.to_owned(), value.to_owned(), effect.to_owned());
    assert_eq!(machine.taints, [taint("sku", "gpu", "NoSchedule"), taint("empty", "", "NoExecute")]);
    assert_eq!(machine.accelerator, Some(("nvidia.com/gpu".to_owned(), 1)));
    assert!(machine.accelerator_after.is_some());
    assert_eq!((machine.capacity["cpu"].as_str(), machine.capacity["pods"].as_str()), ("24", "50"));
}

#[tokio::test(start_paused = true)]
async fn machines_of_a_zonal_pool_go_around_its_zones() {
    let azure = azure().await;
    azure.running_pool("gpu", json!({"vmSize": A100, "count": 3, "availabilityZones": ["1", "3"]})).await;
    let zones: Vec<String> =
        azure.joined().iter().map(|machine| machine.labels["topology.kubernetes.io/zone"].clone()).collect();
    assert_eq!(zones, ["eastus-1", "eastus-3", "eastus-1"]);
}

#[tokio::test(start_paused = true)]
async fn a_pool_of_no_machines_succeeds_and_nothing_joins() {
    let azure = azure().await;
    azure.running_pool("gpu", json!({"vmSize": A100, "count": 0})).await;
    assert!(azure.heard().is_empty());
}

#[tokio::test(start_paused = true)]
async fn deletion_takes_the_node_away_before_the_operation_ends() {
    let azure = azure().await;
    azure.running_pool("gpu", one_gpu()).await;
    let node = azure.joined()[0].node.clone();
    let deletion = azure.delete_pool("gpu").await;
    azure.clock.sleep(Duration::from_secs(19)).await;
    assert!(azure.left().is_empty(), "the machine still runs");
    azure.clock.sleep(Duration::from_secs(42)).await;
    assert_eq!(azure.left(), [(node, true)]);
    azure.settle(&deletion).await;
    let snapshot = azure.arm.snapshot();
    assert_eq!(snapshot.alive().count(), 0);
    let machine = &snapshot.pools[0].machines[0];
    assert!(machine.gone.unwrap() < snapshot.pools[0].deleted.unwrap());
}

#[tokio::test(start_paused = true)]
async fn mig_profiles_become_slices_or_more_gpus() {
    let cases = [
        (A100, "MIG1g", MigStrategy::Mixed, "nvidia.com/mig-1g.10gb", 7),
        ("Standard_ND96asr_v4", "MIG3g", MigStrategy::Mixed, "nvidia.com/mig-3g.20gb", 16),
        ("Standard_NC40ads_H100_v5", "MIG2g", MigStrategy::Mixed, "nvidia.com/mig-2g.24gb", 3),
        (A100, "MIG1g", MigStrategy::Single, "nvidia.com/gpu", 7),
    ];
    for (size, profile, strategy, resource, count) in cases {
        let azure = azure_with(|options| options.mig_strategy = strategy).await;
        azure.running_pool("gpu", json!({"vmSize": size, "gpuInstanceProfile": profile})).await;
        assert_eq!(azure.joined()[0].accelerator, Some((resource.to_owned(), count)));
    }
}

#[tokio::test(start_paused = true)]
async fn amd_sizes_have_amd_gpus_and_plain_sizes_have_none() {
    let azure = azure_with(|options| options.limits.operations = 2).await;
    azure.running_pool("amd", json!({"vmSize": "Standard_NG32ads_V620_v1"})).await;
    azure.running_pool("plain", json!({"vmSize": "Standard_D4s_v5"})).await;
    let machines = azure.joined();
    assert_eq!(machines[0].accelerator, Some(("amd.com/gpu".to_owned(), 1)));
    assert_eq!(machines[1].accelerator, None);
}

#[tokio::test(start_paused = true)]
async fn without_a_driver_gpus_never_become_allocatable() {
    let azure = azure().await;
    azure.running_pool("gpu", json!({"vmSize": A100, "gpuProfile": {"driver": "None"}})).await;
    assert_eq!(azure.joined()[0].accelerator_after, None);
}

#[tokio::test(start_paused = true)]
async fn spot_pools_carry_label_and_taint_and_are_evicted_by_deletion() {
    let azure = azure().await;
    azure.running_pool("gpu", json!({"vmSize": A100, "scaleSetPriority": "Spot"})).await;
    let machine = azure.joined().remove(0);
    let key = "kubernetes.azure.com/scalesetpriority";
    assert_eq!(machine.labels[key], "spot");
    assert_eq!(machine.taints, [(key.to_owned(), "spot".to_owned(), "NoSchedule".to_owned())]);
    let pool = azure.get_pool("gpu").await.body;
    assert_eq!(pool["properties"]["nodeTaints"], json!([format!("{key}=spot:NoSchedule")]));

    assert!(azure.arm.evict(&machine.node));
    assert!(!azure.arm.evict(&machine.node), "only once");
    assert_eq!(azure.left(), [(machine.node, true)]);
    assert_eq!(azure.get_pool("gpu").await.body["properties"]["count"], 0, "the pool stays, empty");
}

#[tokio::test(start_paused = true)]
async fn a_deallocated_spot_machine_may_come_back_so_its_node_is_not_deleted() {
    let azure = azure().await;
    let body = json!({"vmSize": A100, "scaleSetPriority": "Spot", "scaleSetEvictionPolicy": "Deallocate"});
    azure.running_pool("gpu", body).await;
    let node = azure.joined()[0].node.clone();
    assert!(azure.arm.evict(&node));
    assert_eq!(azure.left(), [(node, false)]);
}

#[tokio::test(start_paused = true)]
async fn regular_machines_are_not_evicted_and_spot_ones_are_by_themselves_if_told() {
    let life = (Duration::from_secs(600), Duration::from_secs(600));
    let azure = azure_with(|options| options.timings.spot_life = Some(life)).await;
    azure.running_pool("regular", one_gpu()).await;
    azure.running_pool("spot", json!({"vmSize": A100, "scaleSetPriority": "Spot"})).await;
    azure.clock.sleep(Duration::from_secs(3600)).await;
    assert_eq!(azure.left().len(), 1);
    assert!(azure.left()[0].0.starts_with("aks-spot-"));
    assert!(!azure.arm.evict(&azure.arm.snapshot().pool("regular").unwrap().machines[0].node));
}

#[tokio::test(start_paused = true)]
async fn the_same_seed_gives_the_same_history() {
    let mut histories = Vec::new();
    for _ in 0..2 {
        let azure = azure().await;
        azure.running_pool("a", one_gpu()).await;
        azure.running_pool("b", json!({"vmSize": A100, "count": 2})).await;
        azure.settle(&azure.delete_pool("a").await).await;
        histories.push((azure.heard(), azure.arm.snapshot()));
    }
    assert_eq!(histories[0], histories[1]);
}
