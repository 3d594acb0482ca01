//! What keeps a node, on the world: annotations, budgets, work that comes at the last moment, and a cluster that is as it should be.

#![allow(clippy::unwrap_used)]

use faults::{Kind, Theatre, WITH_TIMER, condition, deployment, gpu_pod, with_annotation};
use jiff::SignedDuration;
use serde_json::{Value, json};
use std::time::Duration;

const DO_NOT_DISRUPT: &str = "karpenter.sh/do-not-disrupt";

/// Reason and words of what keeps a claim's node.
fn blocked(theatre: &Theatre, claim: &str) -> Option<(String, String)> {
    let claim = theatre.claim(claim)?;
    let found = condition(&claim, "DisruptionBlocked")?;
    Some((found["reason"].as_str()?.to_owned(), found["message"].as_str()?.to_owned()))
}

/// A node that has to leave, because its pool would make another one today, and that this keeps.
async fn is_kept(theatre: &Theatre, claim: &str, code: &str, names: &[&str]) {
    theatre.change_template().await;
    theatre.until("it says what keeps it", |theatre| blocked(theatre, claim).is_some()).await;
    theatre.pass(Duration::from_secs(900)).await;
    assert!(!theatre.is_going(claim) && !theatre.is_closed(&theatre.node_of(claim)), "{code}: it stays, and is open");
    let (reason, words) = blocked(theatre, claim).unwrap();
    assert_eq!(reason, code, "{words}");
    let said = theatre.said_by("on-idle-timer", &theatre.node_of(claim));
    for name in names {
        assert!(words.contains(name), "{words}");
        let is_said = |(reason, text): &(String, String)| reason == "DisruptionBlocked" && text.contains(name);
        assert!(said.iter().any(is_said), "the Node says so too: {said:?}");
    }
    let quiet_from = theatre.world.clock.now();
    theatre.pass(Duration::from_secs(600)).await;
    theatre.world.check_quiet_since(quiet_from).unwrap();
}

async fn then_goes(theatre: &Theatre, claim: &str) {
    theatre.until("it is replaced", |theatre| theatre.is_gone(claim)).await;
    theatre.until("its work runs again", |theatre| theatre.runs_any("work-")).await;
    theatre.world.check(SignedDuration::ZERO).unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_disruption_budget_keeps_a_node_names_itself_and_its_pod_and_lets_go_when_it_allows() {
    let (theatre, claim, node) = Theatre::with_work(Kind::Scaleway).await;
    theatre.create_budget("always-one", json!({"minAvailable": 1})).await;
    theatre.pass(Duration::from_secs(30)).await;
    let work = theatre.pods_on(&[node])[0]["metadata"]["name"].as_str().unwrap().to_owned();
    let names = ["default/always-one", &format!("default/{work}")];
    is_kept(&theatre, &claim, "PodDisruptionBudget", &names).await;
    let budgets = theatre.objects("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets", Some("default"));
    let looser = kube::api::Patch::Merge(json!({"spec": {"minAvailable": null, "maxUnavailable": 1}}));
    budgets.patch("always-one", &Default::default(), &looser).await.unwrap();
    then_goes(&theatre, &claim).await;
}

#[tokio::test(start_paused = true)]
async fn two_disruption_budgets_for_one_pod_keep_its_node_for_kubernetes_evicts_no_such_pod() {
    let (theatre, claim, _) = Theatre::with_work(Kind::Scaleway).await;
    for name in ["one", "two"] {
        theatre.create_budget(name, json!({"maxUnavailable": 1})).await;
    }
    theatre.pass(Duration::from_secs(30)).await;
    is_kept(&theatre, &claim, "SeveralPodDisruptionBudgets", &["one, two"]).await;
}

#[tokio::test(start_paused = true)]
async fn a_node_that_must_not_be_disrupted_stays_until_the_annotation_goes() {
    let (theatre, claim, node) = Theatre::with_work(Kind::Scaleway).await;
    theatre.annotate_node(&node, DO_NOT_DISRUPT, "true").await;
    is_kept(&theatre, &claim, "NodeDoNotDisrupt", &[DO_NOT_DISRUPT]).await;
    theatre.annotate_node(&node, DO_NOT_DISRUPT, "false").await;
    then_goes(&theatre, &claim).await;
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_must_not_be_disrupted_keeps_its_node() {
    let theatre = Theatre::ticking().await;
    theatre.create_pool(Kind::Scaleway.pool_that_shrinks("30s", "100%")).await;
    theatre.create_pod(with_annotation(gpu_pod("train", 1), DO_NOT_DISRUPT, "true")).await;
    theatre.until_all_run(&["train"]).await;
    let claim = theatre.claim_names()[0].clone();
    is_kept(&theatre, &claim, "PodDoNotDisrupt", &["default/train"]).await;
    assert!(theatre.runs("train"));
    theatre.delete_pod("train").await;
    theatre.until("it goes", |theatre| theatre.is_gone(&claim)).await;
}

/// A pod or a node that is protected for forty minutes from its start: before they are over nothing happens, after them it goes.
async fn is_protected_for_forty_minutes(of_pod: bool) {
    let theatre = Theatre::ticking().await;
    theatre.create_pool(Kind::Scaleway.pool_that_shrinks("30s", "100%")).await;
    let mut work = deployment(1);
    if of_pod {
        work["spec"]["template"] = with_annotation(work["spec"]["template"].take(), DO_NOT_DISRUPT, "40m");
    }
    theatre.create_deployment(work).await;
    let claim = theatre.first_claim_at_work().await;
    if !of_pod {
        theatre.annotate_node(&theatre.node_of(&claim), DO_NOT_DISRUPT, "40m").await;
    }
    theatre.change_template().await;
    theatre.pass(Duration::from_secs(1800)).await;
    assert!(!theatre.is_going(&claim) && theatre.runs_any("work-"), "of pod: {of_pod}");
    assert!(blocked(&theatre, &claim).is_some(), "of pod: {of_pod}");
    then_goes(&theatre, &claim).await;
}

#[tokio::test(start_paused = true)]
async fn a_time_on_a_pod_or_a_node_protects_it_for_so_long() {
    is_protected_for_forty_minutes(true).await;
    is_protected_for_forty_minutes(false).await;
}

#[tokio::test(start_paused = true)]
async fn a_budget_of_zero_holds_a_drifted_node() {
    let theatre = Theatre::ticking().await;
    theatre.create_pool(Kind::Scaleway.pool_that_shrinks("30s", "0")).await;
    theatre.create_deployment(deployment(1)).await;
    let claim = theatre.first_claim_at_work().await;
    theatre.change_template().await;
    theatre.pass(Duration::from_secs(1800)).await;
    assert!(!theatre.is_going(&claim) && theatre.runs_any("work-"));
    let open = json!({"spec": {"disruption": {"budgets": [{"nodes": "1"}]}}});
    theatre.change_pool("gpu", open).await;
    then_goes(&theatre, &claim).await;
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_binds_between_the_decision_and_the_deletion_survives_and_so_does_its_node() {
    let theatre = Theatre::ticking().await;
    let mut pool = Kind::Scaleway.pool_that_shrinks("30s", "100%");
    // Otherwise the next decision may move it, by eviction, to a node that costs nothing.
    pool["spec"]["disruption"]["consolidationPolicy"] = "WhenEmpty".into();
    theatre.create_pool(pool).await;
    theatre.create_pod(gpu_pod("first", 1)).await;
    theatre.until_all_run(&["first"]).await;
    let claim = theatre.claim_names()[0].clone();
    theatre.delete_pod("first").await;
    theatre.until("it was decided on", |theatre| theatre.phase(&claim).as_deref() == Some("Tainted")).await;
    theatre.bind_pod("late", &theatre.node_of(&claim)).await;
    theatre.until("the command is put back", |theatre| theatre.phase(&claim).is_none()).await;
    theatre.until("the pod runs", |theatre| theatre.runs("late")).await;
    theatre.pass(Duration::from_secs(900)).await;
    assert!(theatre.runs("late") && !theatre.is_going(&claim) && !theatre.is_closed(&theatre.node_of(&claim)));
    theatre.world.check(SignedDuration::ZERO).unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_node_whose_replacement_would_pass_a_cap_on_money_stays_and_says_so() {
    let theatre = Theatre::ticking().await;
    let mut pool = Kind::Scaleway.pool_that_shrinks("30s", "100%");
    // One L4 fits under it, two do not.
    pool = with_annotation(pool, "pilotlight.dev/max-price-per-hour", "1 EUR");
    theatre.create_pool(pool).await;
    theatre.create_deployment(deployment(1)).await;
    let claim = theatre.first_claim_at_work().await;
    is_kept(&theatre, &claim, "NoOtherPlace", &["no replacement can be made"]).await;
    assert!(theatre.runs_any("work-") && theatre.claim_names() == [claim.clone()]);
    theatre
        .change_pool("gpu", json!({"metadata": {"annotations": {"pilotlight.dev/max-price-per-hour": "2 EUR"}}}))
        .await;
    then_goes(&theatre, &claim).await;
}

#[tokio::test(start_paused = true)]
async fn nodes_that_another_karpenter_looks_after_are_left_alone_idle_drifted_or_sick() {
    let theatre = Theatre::ticking().await;
    let class = json!({"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"});
    let mut pool = Kind::Scaleway.pool_that_shrinks("0s", "100%");
    pool["spec"]["template"]["spec"]["nodeClassRef"] = class.clone();
    theatre.create_pool(pool).await;
    let labels = json!({"karpenter.sh/nodepool": "gpu", "karpenter.sh/registered": "true", "karpenter.sh/initialized": "true",
        "node.kubernetes.io/instance-type": "g5.xlarge", "karpenter.sh/capacity-type": "spot"});
    theatre.make_node("theirs", labels.clone(), json!(["karpenter.sh/termination"])).await;
    theatre
        .create(json!({"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim",
            "metadata": {"name": "theirs", "labels": labels, "finalizers": ["karpenter.sh/termination"],
                "annotations": {"karpenter.sh/nodepool-hash": "1", "karpenter.sh/nodepool-hash-version": "pilotlight-v1"}},
            "spec": {"requirements": [], "nodeClassRef": class}}))
        .await;
    let since = theatre.world.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let is = |kind: &str| json!({"type": kind, "status": "True", "reason": kind, "message": "", "lastTransitionTime": since});
    let conditions = ["Launched", "Registered", "Initialized", "Ready"].map(is);
    let status = json!({"status": {"nodeName": "theirs", "providerID": "scaleway://instance/fr-par-2/theirs",
        "conditions": conditions}});
    let patch = kube::api::Patch::Merge(&status);
    theatre.claims().patch_status("theirs", &Default::default(), &patch).await.unwrap();
    theatre.pass(Duration::from_secs(60)).await;
    let quiet_from = theatre.world.clock.now();
    theatre.pass(Duration::from_secs(3600)).await;
    theatre.world.check_quiet_since(quiet_from).unwrap();
    assert!(!theatre.is_going("theirs") && !theatre.is_closed("theirs"));
}

/// Pools of three providers, on demand and spot, with GPU work and other work on them.
async fn a_mixed_cluster() -> Theatre {
    let mut theatre = Theatre::open().await;
    let mut messenger = theatre.messenger_for(&WITH_TIMER);
    // A day of ticks, in a tenth of their number.
    messenger.tick = Duration::from_secs(300);
    theatre.play(messenger);
    for (kind, name, capacity) in [
        (Kind::Scaleway, "cloud", "on-demand"),
        (Kind::Aks, "azure", "on-demand"),
        (Kind::Aks, "spot", "spot"),
        (Kind::Power, "rack", "on-demand"),
    ] {
        let mut pool = kind.pool_that_shrinks("30s", "100%");
        pool["metadata"]["name"] = name.into();
        if kind != Kind::Power {
            pool["spec"]["template"]["spec"]["requirements"] =
                json!([{"key": "karpenter.sh/capacity-type", "operator": "In", "values": [capacity]}]);
        }
        theatre.create_pool(pool).await;
        theatre.create_pod(on(gpu_pod(&format!("{name}-gpu"), 1), name)).await;
        let mut small = on(gpu_pod(&format!("{name}-cpu"), 1), name);
        small["spec"]["containers"][0]["resources"] = json!({"requests": {"cpu": "500m"}});
        theatre.create_pod(small).await;
    }
    theatre
}

fn on(mut pod: Value, pool: &str) -> Value {
    pod["spec"]["nodeSelector"] = json!({"karpenter.sh/nodepool": pool});
    // Spot machines of AKS are closed to whoever does not say so.
    pod["spec"]["tolerations"] = json!([{"operator": "Exists"}]);
    pod
}

#[tokio::test(start_paused = true)]
#[ignore = "takes minutes: make lives"]
async fn a_stable_cluster_of_several_pools_is_left_alone_for_a_day() {
    let theatre = a_mixed_cluster().await;
    let all = ["cloud", "azure", "spot", "rack"].map(|pool| [format!("{pool}-gpu"), format!("{pool}-cpu")]);
    let all: Vec<&str> = all.iter().flatten().map(String::as_str).collect();
    theatre.until_all_run(&all).await;
    // What was bought in a hurry for the first of them may still be bettered.
    theatre.pass(Duration::from_secs(3600)).await;
    let (before, quiet_from) = (theatre.claim_names(), theatre.world.clock.now());
    theatre.pass(Duration::from_secs(24 * 3600)).await;
    assert_eq!(theatre.claim_names(), before);
    assert!(all.iter().all(|pod| theatre.runs(pod)), "no pod was moved");
    theatre.world.check_quiet_since(quiet_from).unwrap();
    theatre.world.check(SignedDuration::ZERO).unwrap();
}
