//! Budgets, and the question an eviction asks.

use super::*;
use crate::controllers::{Eviction, eviction};

async fn three_pods(budget: Value) -> World {
    let world = World::new();
    world.nodes([machine("one")]).await;
    world.create(Kind::Deployment, workload("web", 3, "100m"));
    let mut spec = json!({ "selector": { "matchLabels": { "app": "web" } } });
    spec.as_object_mut().unwrap().extend(budget.as_object().unwrap().clone());
    world.create(Kind::PodDisruptionBudget, json!({ "metadata": { "name": "guard" }, "spec": spec }));
    world.wait(10).await;
    world
}

#[tokio::test(start_paused = true)]
async fn a_budget_counts_what_may_go() {
    let world = three_pods(json!({ "maxUnavailable": "34%" })).await;
    let status = world.get(Kind::PodDisruptionBudget, "guard")["status"].clone();
    assert_eq!(status["expectedPods"], 3);
    assert_eq!(
        (&status["currentHealthy"], &status["desiredHealthy"], &status["disruptionsAllowed"]),
        (&json!(3), &json!(1), &json!(2))
    );
    assert_eq!(status["observedGeneration"], 1);
    assert_eq!(world.condition(Kind::PodDisruptionBudget, "guard", "DisruptionAllowed")["reason"], "SufficientPods");
}

#[tokio::test(start_paused = true)]
async fn an_eviction_is_charged_once_and_refused_when_nothing_is_left() {
    let world = three_pods(json!({ "minAvailable": 2 })).await;
    let pods = world.all(Kind::Pod);
    assert_eq!(eviction::ask(&world.objects, &pods[0], true, |_, new| new), Ok(Eviction::Charged));
    assert_eq!(eviction::ask(&world.objects, &pods[0], false, |_, new| new), Ok(Eviction::Charged));
    let refused = eviction::ask(&world.objects, &pods[1], false, |_, new| new).unwrap_err();
    assert_eq!((refused.code.as_u16(), refused.reason), (429, "TooManyRequests"));
    assert_eq!(refused.message, "Cannot evict pod as it would violate the pod's disruption budget.");
    assert_eq!(refused.details["causes"][0]["reason"], "DisruptionBudget");
    // Allowed, but never deleted: after two minutes the budget has it back.
    world.wait(1).await;
    assert_eq!(world.get(Kind::PodDisruptionBudget, "guard")["status"]["currentHealthy"], 2);
    let refused = eviction::ask(&world.objects, &pods[1], false, |_, new| new).unwrap_err();
    assert_eq!(
        refused.details["causes"][0]["message"],
        "The disruption budget guard needs 2 healthy pods and has 2 currently"
    );
    world.wait(125).await;
    assert_eq!(world.get(Kind::PodDisruptionBudget, "guard")["status"]["disruptionsAllowed"], 1);
}

#[tokio::test(start_paused = true)]
async fn two_budgets_are_one_too_many() {
    let world = three_pods(json!({ "minAvailable": 0 })).await;
    world.create(
        Kind::PodDisruptionBudget,
        json!({ "metadata": { "name": "second" }, "spec": { "minAvailable": 0, "selector": {} } }),
    );
    world.wait(1).await;
    let refused = eviction::ask(&world.objects, &world.all(Kind::Pod)[0], false, |_, new| new).unwrap_err();
    assert_eq!(refused.code.as_u16(), 500);
}

#[tokio::test(start_paused = true)]
async fn finished_pods_always_go_and_unready_ones_as_the_policy_says() {
    let world = three_pods(json!({ "minAvailable": 4 })).await;
    let mut one = world.all(Kind::Pod)[0].clone();
    assert!(eviction::ask(&world.objects, &one, false, |_, new| new).is_err());
    one["status"]["conditions"] = json!([{ "type": "Ready", "status": "False" }]);
    assert!(eviction::ask(&world.objects, &one, false, |_, new| new).is_err());
    world.patch(Kind::PodDisruptionBudget, "guard", |budget| {
        budget["spec"]["unhealthyPodEvictionPolicy"] = "AlwaysAllow".into()
    });
    assert_eq!(eviction::ask(&world.objects, &one, false, |_, new| new), Ok(Eviction::Free));
    one["status"]["phase"] = "Succeeded".into();
    assert_eq!(eviction::ask(&world.objects, &one, false, |_, new| new), Ok(Eviction::Free));
}

#[tokio::test(start_paused = true)]
async fn a_budget_that_was_not_looked_at_yet_refuses() {
    let world = three_pods(json!({ "minAvailable": 1 })).await;
    world.patch(Kind::PodDisruptionBudget, "guard", |budget| budget["spec"]["minAvailable"] = 2.into());
    let refused = eviction::ask(&world.objects, &world.all(Kind::Pod)[0], false, |_, new| new).unwrap_err();
    assert_eq!(refused.details["retryAfterSeconds"], 10);
    assert_eq!(
        refused.details["causes"][0]["message"],
        "The disruption budget guard is still being processed by the server."
    );
}
