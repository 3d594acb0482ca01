//! Pods that come together go together, and placing them is one delivery at a time.

use forwarder::{debounce::Batching, sink::Told};
use model::Answer;
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use crate::scene::{Scene, done, gpu_pod};

/// How many deliveries a hundred pods at once become, and when the last of them was sent.
async fn burst(batching: Option<Batching>, takes: Duration) -> usize {
    let scene = Scene::open().await;
    let under_way = Arc::new(AtomicUsize::new(0));
    scene.post.take(takes);
    let counting = under_way.clone();
    scene.post.answer(move |function, _| {
        if function == "on-pending-pod" {
            counting.fetch_add(1, Ordering::Relaxed);
        }
        done()
    });
    let _running = scene.forward("one", |settings| {
        settings.pending_repeat = Duration::from_secs(3600);
        settings.batching = batching.unwrap_or(settings.batching);
    });
    scene.pass(Duration::from_secs(5)).await;
    for number in 0..100 {
        scene.create("Pod", gpu_pod(&format!("train-{number}"))).await;
    }
    scene.pass(Duration::from_secs(30)).await;
    under_way.load(Ordering::Relaxed)
}

#[tokio::test(start_paused = true)]
async fn a_hundred_pods_at_once_are_few_deliveries() {
    let deliveries = burst(None, Duration::from_millis(20)).await;
    assert!((1..=6).contains(&deliveries), "{deliveries}");
}

#[tokio::test(start_paused = true)]
async fn with_karpenters_settings_they_are_one() {
    let batching = Batching::Karpenter { idle: Duration::from_secs(1), longest: Duration::from_secs(10) };
    assert_eq!(burst(Some(batching), Duration::from_millis(20)).await, 1);
}

#[tokio::test(start_paused = true)]
async fn placing_is_one_at_a_time_however_long_it_takes() {
    let scene = Scene::open().await;
    scene.post.take(Duration::from_secs(3));
    let _running = scene.forward("one", |_| {});
    scene.pass(Duration::from_secs(5)).await;
    for number in 0..20 {
        scene.create("Pod", gpu_pod(&format!("train-{number}"))).await;
        scene.pass(Duration::from_millis(500)).await;
    }
    scene.pass(Duration::from_secs(10)).await;
    let times: Vec<_> = scene.post.to("on-pending-pod").iter().map(|delivery| delivery.at).collect();
    assert!(times.len() >= 3, "{times:?}");
    assert!(times.windows(2).all(|pair| pair[1].duration_since(pair[0]).as_secs() >= 3), "{times:?}");
}

#[tokio::test(start_paused = true)]
async fn pods_that_still_wait_are_told_again_until_they_have_a_place() {
    let scene = Scene::open().await;
    let _running = scene.forward("one", |_| {});
    scene.create("Pod", gpu_pod("train")).await;
    scene.pass(Duration::from_secs(60)).await;
    let count = scene.post.to("on-pending-pod").len();
    assert!((6..=8).contains(&count), "{count} in a minute, one each ten seconds");
    scene.delete("Pod", "train").await;
    scene.pass(Duration::from_secs(1)).await;
    scene.post.forget();
    scene.pass(Duration::from_secs(60)).await;
    assert!(scene.post.to("on-pending-pod").is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_place_that_comes_later_is_asked_for_when_the_answer_says() {
    let scene = Scene::open().await;
    scene
        .post
        .answer(|_, _| Told::Answered(Answer::Later { reason: "soon".to_owned(), after: Duration::from_secs(90) }));
    let _running = scene.forward("one", |_| {});
    scene.create("Pod", gpu_pod("train")).await;
    scene.pass(Duration::from_secs(80)).await;
    assert_eq!(scene.post.to("on-pending-pod").len(), 1, "the function knows better than the repeat");
    scene.create("Pod", gpu_pod("another")).await;
    scene.pass(Duration::from_secs(2)).await;
    assert_eq!(scene.post.to("on-pending-pod").len(), 2);
}
