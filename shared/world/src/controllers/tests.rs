//! The controllers as a cluster: what a user sees happen, in virtual time.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod collection;
mod disruption;
mod nodes;
mod rules;
mod scale;
mod scheduling;
mod volumes;
mod workloads;

use serde_json::{Value, json};
use std::{collections::BTreeMap, time::Duration};

use super::{Controllers, ControllersOptions, Machines, kinds::Kind};
use crate::{
    api::{
        objects::{Deletion, Objects},
        store::Store,
    },
    chance::Chance,
    clock::Clock,
    fleet::{Fleet, Machine},
};

/// A cluster with verbs.
struct World {
    objects: Objects,
    machines: Machines,
    controllers: Controllers,
}

impl World {
    fn new() -> Self {
        World::with(ControllersOptions::default(), 7)
    }

    fn with(options: ControllersOptions, seed: u64) -> Self {
        let (clock, chance) = (Clock::start(1.0), Chance::new(seed));
        let objects = Objects::new(Store::new(100_000), clock, chance.stream("objects"));
        let (controllers, machines) = Controllers::start(objects.clone(), clock, chance.stream("controllers"), options);
        World { objects, machines, controllers }
    }

    async fn wait(&self, seconds: u64) {
        self.objects.clock.sleep(Duration::from_secs(seconds)).await;
        assert!(!self.controllers.have_ended());
    }

    /// Joins machines and waits until they are ready.
    async fn nodes(&self, machines: impl IntoIterator<Item = Machine>) {
        for machine in machines {
            self.machines.join(machine);
        }
        self.wait(20).await;
    }

    fn create(&self, kind: Kind, mut value: Value) -> Value {
        value["apiVersion"] = kind.api_version().into();
        value["kind"] = kind.name().into();
        if kind.has_generation() {
            value["metadata"]["generation"] = 1.into();
        }
        if kind.namespaced() && value["metadata"]["namespace"].is_null() {
            value["metadata"]["namespace"] = "default".into();
        }
        self.objects.prepare(&mut value);
        self.objects.create(&kind.resource(), value, false).unwrap().value.clone()
    }

    fn find(&self, kind: Kind, name: &str) -> Option<Value> {
        let namespace = if kind.namespaced() { "default" } else { "" };
        self.objects.get(&kind.resource(), namespace, name).map(|stored| stored.value.clone())
    }

    fn get(&self, kind: Kind, name: &str) -> Value {
        self.find(kind, name).unwrap_or_else(|| panic!("no {} {name}", kind.name()))
    }

    fn all(&self, kind: Kind) -> Vec<Value> {
        self.objects.list(&kind.resource()).iter().map(|stored| stored.value.clone()).collect()
    }

    fn patch(&self, kind: Kind, name: &str, change: impl FnOnce(&mut Value)) {
        let namespace = if kind.namespaced() { "default" } else { "" };
        let result = self.objects.update(&kind.resource(), namespace, name, false, |value| {
            change(value);
            Ok(())
        });
        result.unwrap();
    }

    fn delete(&self, kind: Kind, name: &str, deletion: &Deletion) {
        let namespace = if kind.namespaced() { "default" } else { "" };
        self.objects.delete(&kind.resource(), namespace, name, deletion).unwrap();
    }

    fn node_of(&self, pod: &str) -> Option<String> {
        self.get(Kind::Pod, pod)["spec"]["nodeName"].as_str().map(str::to_owned)
    }

    fn condition(&self, kind: Kind, name: &str, condition: &str) -> Value {
        super::fields::condition(&self.get(kind, name), condition).cloned().unwrap_or_default()
    }

    fn events(&self, reason: &str) -> Vec<Value> {
        self.all(Kind::Event).into_iter().filter(|event| event["reason"] == reason).collect()
    }
}

/// Four processors, 16 GiB, zone `a`.
fn machine(name: &str) -> Machine {
    let map = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    };
    Machine {
        node: name.to_owned(),
        provider_id: format!("world://{name}"),
        labels: map(&[("topology.kubernetes.io/zone", "a")]),
        annotations: BTreeMap::new(),
        taints: Vec::new(),
        capacity: map(&[("cpu", "4"), ("memory", "16Gi"), ("pods", "110")]),
        accelerator: None,
        accelerator_after: None,
        boot_id: "first".to_owned(),
    }
}

fn in_zone(name: &str, zone: &str) -> Machine {
    let mut machine = machine(name);
    machine.labels.insert("topology.kubernetes.io/zone".to_owned(), zone.to_owned());
    machine
}

fn pod_spec(cpu: &str) -> Value {
    json!({ "containers": [{ "name": "main", "image": "pause", "resources": { "requests": { "cpu": cpu } } }] })
}

fn pod(name: &str, cpu: &str) -> Value {
    json!({ "metadata": { "name": name, "labels": { "app": name } }, "spec": pod_spec(cpu), "status": { "phase": "Pending" } })
}

/// A workload of pods labelled `app=<name>`.
fn workload(name: &str, replicas: i64, cpu: &str) -> Value {
    json!({
        "metadata": { "name": name },
        "spec": {
            "replicas": replicas,
            "selector": { "matchLabels": { "app": name } },
            "template": { "metadata": { "labels": { "app": name } }, "spec": pod_spec(cpu) },
        },
    })
}
