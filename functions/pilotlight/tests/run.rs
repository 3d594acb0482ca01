//! `pilotlight run` as people start it: a cluster on loopback, a rack of machines, and a pod that waits.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api,
    api::{ApiResource, DynamicObject, GroupVersionKind, PostParams},
};
use serde_json::json;
use std::{
    process::{Child, Command, Stdio},
    sync::Arc,
    time::Duration,
};
use world::{
    World, WorldOptions, kubeconfig,
    power::{BackEnd, MachineOptions},
    serve::{Certificates, Listening},
};

const LONGEST: Duration = Duration::from_secs(120);

/// Killed when dropped.
struct Started(Child);

impl Drop for Started {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

async fn world() -> World {
    let mut options = WorldOptions { speed: 20.0, ..WorldOptions::default() };
    options.power.machines = vec![MachineOptions::new("rack-1", BackEnd::Webhook, 2)];
    let world = World::start(options);
    let definitions: Api<CustomResourceDefinition> = Api::all(world.client("admin"));
    for definition in cluster::crd::all() {
        definitions.create(&PostParams::default(), &definition).await.unwrap();
    }
    world
}

#[tokio::test]
async fn a_pod_that_waits_gets_a_machine_and_sigterm_ends_it_with_0() {
    let world = world().await;
    let certificates = Arc::new(Certificates::new().unwrap());
    let (kubernetes, rack) = (Listening::bind(0).await.unwrap(), Listening::bind(0).await.unwrap());
    let server = format!("https://{}", kubernetes.address().unwrap());
    let webhook = format!("http://{}/webhook/rack-1", rack.address().unwrap());
    // The whole document in the variable, as platforms without files hand it over.
    let kubeconfig = kubeconfig::write(&server, &certificates.authority, "pilotlight");
    tokio::spawn(kubernetes.serve(world.kubernetes(), Some(certificates)));
    tokio::spawn(rack.serve(world.power(), None));
    let mut command = Command::new(env!("CARGO_BIN_EXE_pilotlight"));
    command.arg("run").env_clear().stdout(Stdio::null());
    command.env("KUBECONFIG", kubeconfig).env("GPU_NODE_1_NAME", "rack-1").env("GPU_NODE_1_GPU_COUNT", "2");
    command.env("GPU_NODE_1_SCALE_UP_ENDPOINT", format!("{webhook}/up"));
    command.env("GPU_NODE_1_SCALE_DOWN_ENDPOINT", format!("{webhook}/down"));
    let mut started = Started(command.spawn().unwrap());

    let pod = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "train", "namespace": "default" },
        "spec": { "containers": [{ "name": "c", "image": "i", "resources": { "limits": { "nvidia.com/gpu": "1" } } }] } });
    let pods = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "Pod"));
    let pods: Api<DynamicObject> = Api::namespaced_with(world.client("person"), "default", &pods);
    pods.create(&PostParams::default(), &serde_json::from_value(pod).unwrap()).await.unwrap();

    let mut news = world.objects.store.subscribe();
    let runs = || {
        let found = world.objects.get(&("".into(), "pods".into()), "default", "train");
        found.is_some_and(|stored| stored.value["status"]["phase"] == "Running")
    };
    let running = async {
        while !runs() {
            news.changed().await.unwrap();
        }
    };
    tokio::time::timeout(LONGEST, running).await.expect("the pod runs");
    assert_eq!(world.objects.list(&("karpenter.sh".into(), "nodeclaims".into())).len(), 1);

    assert!(Command::new("kill").args(["-TERM", &started.0.id().to_string()]).status().unwrap().success());
    let ended = tokio::task::spawn_blocking(move || started.0.wait()).await.unwrap().unwrap();
    assert_eq!(ended.code(), Some(0));
}
