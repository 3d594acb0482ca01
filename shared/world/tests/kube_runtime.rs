//! kube-rs on the world, unmodified: watcher, reflector, Controller and finalizer, through a 410 and dropped watches.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use futures_util::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client, ResourceExt as _,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
    runtime::{
        Controller, WatchStreamExt as _,
        controller::Action,
        finalizer::{Event, finalizer},
        reflector, watcher,
    },
};
use serde_json::json;
use std::{collections::BTreeSet, sync::Arc, time::Duration};
use world::{World, WorldOptions, faults::Fault};

fn config_map(name: &str) -> ConfigMap {
    serde_json::from_value(json!({ "metadata": { "name": name }, "data": { "n": "0" } })).unwrap()
}

fn fault(text: &str) -> Fault {
    serde_json::from_str(text).unwrap()
}

async fn names(api: &Api<ConfigMap>) -> BTreeSet<String> {
    api.list(&ListParams::default()).await.unwrap().into_iter().map(|object| object.name_any()).collect()
}

/// Waits in the world's time until something holds.
async fn eventually(world: &World, what: &str, mut holds: impl AsyncFnMut() -> bool) {
    for _ in 0..600 {
        if holds().await {
            return;
        }
        world.clock.sleep(Duration::from_secs(1)).await;
    }
    panic!("{what}: not after ten minutes of the world's time");
}

async fn a_reflector_keeps_up(config: watcher::Config) {
    let world = World::start(WorldOptions::default());
    let api: Api<ConfigMap> = Api::default_namespaced(world.client("reflector"));
    let editor: Api<ConfigMap> = Api::default_namespaced(world.client("editor"));
    // Every third watch is cut after five seconds.
    for nth in [1, 3, 5, 7] {
        let text = format!(
            r#"{{"user":"reflector","query":"watch=true","nth":{nth},"fault":"dropWatch","milliseconds":5000}}"#
        );
        world.faults.add(fault(&text));
    }
    let (reader, writer) = reflector::store::<ConfigMap>();
    let stream = watcher(api.clone(), config).default_backoff().reflect(writer).applied_objects();
    let running = tokio::spawn(stream.for_each(|_| async {}));
    for round in 0..40 {
        let name = format!("c{}", round % 15);
        if round % 5 == 4 {
            drop(editor.delete(&name, &DeleteParams::default()).await);
        } else if editor.create(&PostParams::default(), &config_map(&name)).await.is_err() {
            let change = json!({ "data": { "n": round.to_string() } });
            editor.patch(&name, &PatchParams::default(), &Patch::Merge(change)).await.unwrap();
        }
        if round % 10 == 7 {
            // Whoever is cut off now comes back to a 410.
            world.objects.store.compact();
        }
        world.clock.sleep(Duration::from_secs(2)).await;
    }
    eventually(&world, "the reflector shows what is there", async || {
        let seen: BTreeSet<String> = reader.state().iter().map(|object| object.name_any()).collect();
        let version = |object: &ConfigMap| object.resource_version();
        let listed = editor.list(&ListParams::default()).await.unwrap();
        let fresh = listed.iter().all(|object| {
            reader.state().iter().any(|one| one.name_any() == object.name_any() && version(one) == version(object))
        });
        seen == names(&editor).await && fresh
    })
    .await;
    running.abort();
}

#[tokio::test(start_paused = true)]
async fn a_reflector_over_list_and_watch_misses_nothing() {
    a_reflector_keeps_up(watcher::Config::default()).await;
}

#[tokio::test(start_paused = true)]
async fn a_reflector_over_streaming_lists_misses_nothing() {
    a_reflector_keeps_up(watcher::Config::default().streaming_lists()).await;
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_lags_behind_is_told_410_in_the_stream() {
    let world = World::start(WorldOptions::default());
    let api: Api<ConfigMap> = Api::default_namespaced(world.client("watcher"));
    let first = api.create(&PostParams::default(), &config_map("a")).await.unwrap();
    api.create(&PostParams::default(), &config_map("b")).await.unwrap();
    world.objects.store.compact();
    let stream = api.watch(&Default::default(), &first.resource_version().unwrap()).await.unwrap();
    let events: Vec<_> = stream.try_collect().await.unwrap();
    let [kube::api::WatchEvent::Error(status)] = events.as_slice() else { panic!("one error, not {events:?}") };
    assert_eq!((status.code, status.reason.as_str()), (410, "Expired"));
}

#[derive(Debug, thiserror::Error)]
#[error("reconcile: {0}")]
struct Failed(String);

async fn reconcile(object: Arc<ConfigMap>, client: Arc<Client>) -> Result<Action, Failed> {
    let api: Api<ConfigMap> = Api::default_namespaced((*client).clone());
    let failed = |error: kube::Error| Failed(error.to_string());
    finalizer(&api, "example.dev/clean", object, async |event| match event {
        Event::Apply(object) => {
            let done = json!({ "metadata": { "annotations": { "done": "yes" } } });
            api.patch(&object.name_any(), &PatchParams::default(), &Patch::Merge(done)).await.map_err(failed)?;
            Ok(Action::await_change())
        }
        Event::Cleanup(object) => {
            let left =
                ConfigMap { data: Some([("from".to_owned(), object.name_any())].into()), ..config_map("cleaned") };
            api.create(&PostParams::default(), &left).await.map_err(failed)?;
            Ok(Action::await_change())
        }
    })
    .await
    .map_err(|error: kube::runtime::finalizer::Error<Failed>| Failed(error.to_string()))
}

#[tokio::test(start_paused = true)]
async fn a_controller_with_a_finalizer_sees_an_object_through() {
    let world = World::start(WorldOptions::default());
    let client = world.client("controller");
    let api: Api<ConfigMap> = Api::default_namespaced(client.clone());
    world.faults.add(fault(r#"{"user":"controller","query":"watch=true","fault":"dropWatch","milliseconds":3000}"#));
    let controller = Controller::new(api.clone(), watcher::Config::default().fields("metadata.name=subject")).run(
        reconcile,
        |_, _, _| Action::requeue(Duration::from_secs(1)),
        Arc::new(client.clone()),
    );
    let running = tokio::spawn(controller.for_each(|_| async {}));
    api.create(&PostParams::default(), &config_map("subject")).await.unwrap();
    eventually(&world, "the object is reconciled", async || {
        let object = api.get("subject").await.unwrap();
        object.annotations().get("done").is_some() && object.finalizers() == ["example.dev/clean"]
    })
    .await;
    api.delete("subject", &DeleteParams::default()).await.unwrap();
    eventually(&world, "the object is cleaned up and gone", async || {
        api.get_opt("subject").await.unwrap().is_none() && api.get_opt("cleaned").await.unwrap().is_some()
    })
    .await;
    running.abort();
}

#[tokio::test(start_paused = true)]
async fn a_request_that_times_out_may_still_have_been_done() {
    let world = World::start(WorldOptions::default());
    let api: Api<ConfigMap> = Api::default_namespaced(world.client("caller"));
    world.faults.add(fault(r#"{"user":"caller","method":"POST","fault":"reset","done":true}"#));
    assert!(api.create(&PostParams::default(), &config_map("a")).await.is_err());
    assert!(api.get_opt("a").await.unwrap().is_some(), "done, though the caller was told nothing");
    world.faults.add(fault(r#"{"user":"caller","method":"POST","fault":"reset","done":false}"#));
    assert!(api.create(&PostParams::default(), &config_map("b")).await.is_err());
    assert!(api.get_opt("b").await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_stale_read_shows_the_past() {
    let world = World::start(WorldOptions::default());
    let api: Api<ConfigMap> = Api::default_namespaced(world.client("reader"));
    let before = names(&api).await;
    api.create(&PostParams::default(), &config_map("a")).await.unwrap();
    world.faults.add(fault(r#"{"user":"reader","method":"GET","fault":"stale","revisions":1}"#));
    assert_eq!(names(&api).await, before);
    assert!(names(&api).await.contains("a"));
}
