//! What becomes of a delivery by its answer: called again, tried again, given up, and never two at once.

use forwarder::sink::Told;
use model::Answer;
use serde_json::json;
use std::time::Duration;

use crate::scene::{Running, Scene, claim, done};

async fn scene_with_a_claim() -> (Scene, Running) {
    let scene = Scene::open().await;
    let running = scene.forward("one", |settings| settings.resync = Duration::from_secs(24 * 3600));
    scene.pass(Duration::from_secs(5)).await;
    scene.create("NodeClaim", claim("gpu-1")).await;
    (scene, running)
}

fn told(scene: &Scene) -> usize {
    scene.post.to("on-nodeclaim").len()
}

#[tokio::test(start_paused = true)]
async fn later_is_called_again_when_the_answer_says_and_a_change_is_sooner() {
    let scene = Scene::open().await;
    let later =
        || Told::Answered(Answer::Later { reason: "it is being made".to_owned(), after: Duration::from_secs(60) });
    scene.post.answer(move |_, _| later());
    let _running = scene.forward("one", |_| {});
    scene.create("NodeClaim", claim("gpu-1")).await;
    scene.until("it is told", |scene| told(scene) == 1).await;
    scene.pass(Duration::from_secs(55)).await;
    assert_eq!(told(&scene), 1);
    scene.pass(Duration::from_secs(10)).await;
    assert_eq!(told(&scene), 2);
    scene.merge("NodeClaim", "gpu-1", json!({ "metadata": { "labels": { "a": "b" } } })).await;
    scene.pass(Duration::from_secs(1)).await;
    assert_eq!(told(&scene), 3);
}

#[tokio::test(start_paused = true)]
async fn failed_is_tried_again_after_the_time_it_asks_for() {
    let (scene, _running) = {
        let scene = Scene::open().await;
        let mut failures = 3;
        scene.post.answer(move |function, _| {
            failures -= i32::from(function == "on-nodeclaim");
            let failed = Answer::Failed { reason: "no".to_owned(), after: Duration::from_secs(20) };
            if function == "on-nodeclaim" && failures >= 0 { Told::Answered(failed) } else { done() }
        });
        let running = scene.forward("one", |settings| settings.resync = Duration::from_secs(24 * 3600));
        (scene, running)
    };
    scene.create("NodeClaim", claim("gpu-1")).await;
    scene.until("it is told four times", |scene| told(scene) == 4).await;
    let times: Vec<_> = scene.post.to("on-nodeclaim").iter().map(|delivery| delivery.at).collect();
    for pair in times.windows(2) {
        let waited = pair[1].duration_since(pair[0]).as_secs_f64();
        assert!((20.0..22.1).contains(&waited), "{waited}");
    }
    scene.pass(Duration::from_secs(600)).await;
    assert_eq!(told(&scene), 4);
}

#[tokio::test(start_paused = true)]
async fn refused_is_given_up_at_once_and_a_change_brings_it_again() {
    let (scene, _running) = scene_with_a_claim().await;
    scene.post.answer(|_, _| Told::Answered(Answer::refused("never")));
    scene.merge("NodeClaim", "gpu-1", json!({ "metadata": { "labels": { "a": "b" } } })).await;
    scene.pass(Duration::from_secs(600)).await;
    let count = told(&scene);
    scene.merge("NodeClaim", "gpu-1", json!({ "metadata": { "labels": { "a": "c" } } })).await;
    scene.pass(Duration::from_secs(600)).await;
    assert_eq!(told(&scene), count + 1);
}

#[tokio::test(start_paused = true)]
async fn what_nobody_hears_is_given_up_after_its_tries_and_a_resync_brings_it_again() {
    let scene = Scene::open().await;
    scene.post.answer(|_, _| Told::Unheard { why: "down".to_owned(), retry_after: None });
    let _running = scene.forward("one", |settings| {
        settings.limits.tries = 4;
        settings.resync = Duration::from_secs(600);
    });
    scene.create("NodeClaim", claim("gpu-1")).await;
    scene.pass(Duration::from_secs(120)).await;
    assert_eq!(told(&scene), 4);
    scene.post.answer(|_, _| done());
    scene.until("the resync brings it", |scene| told(scene) == 5).await;
}

#[tokio::test(start_paused = true)]
async fn what_is_taken_without_an_answer_is_asked_about_while_it_is_under_way() {
    let scene = Scene::open().await;
    scene.post.answer(|_, _| Told::Accepted);
    let _running = scene.forward("one", |settings| settings.resync = Duration::from_secs(24 * 3600));
    scene.create("NodeClaim", claim("gpu-1")).await;
    scene.pass(Duration::from_secs(100)).await;
    assert_eq!(told(&scene), 4, "at once, and each 30 s");
    let ready = json!({ "status": { "conditions": [{ "type": "Ready", "status": "True", "reason": "Ready", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z" }] } });
    scene.merge_status("NodeClaim", "gpu-1", ready).await;
    scene.pass(Duration::from_secs(60)).await;
    let count = told(&scene);
    scene.pass(Duration::from_secs(600)).await;
    assert_eq!(told(&scene), count);
}

#[tokio::test(start_paused = true)]
async fn everything_is_told_again_at_each_resync() {
    let (scene, _running) = {
        let scene = Scene::open().await;
        let running = scene.forward("one", |settings| settings.resync = Duration::from_secs(100));
        (scene, running)
    };
    for number in 0..3 {
        scene.create("NodeClaim", claim(&format!("gpu-{number}"))).await;
    }
    scene.pass(Duration::from_secs(1000)).await;
    assert!((30..=33).contains(&told(&scene)), "{}", told(&scene));
}

#[tokio::test(start_paused = true)]
async fn a_queue_without_room_loses_nothing() {
    let scene = Scene::open().await;
    scene.post.take(Duration::from_secs(1));
    let _running = scene.forward("one", |settings| {
        settings.limits.lanes = 4;
        settings.parallel = 2;
        settings.resync = Duration::from_secs(24 * 3600);
    });
    scene.pass(Duration::from_secs(5)).await;
    for number in 0..20 {
        scene.create("NodeClaim", claim(&format!("gpu-{number}"))).await;
    }
    let all = |scene: &Scene| {
        let told = scene.post.to("on-nodeclaim");
        (0..20).all(|number| told.iter().any(|delivery| delivery.subject() == format!("gpu-{number}")))
    };
    scene.until("each claim is told", all).await;
}
