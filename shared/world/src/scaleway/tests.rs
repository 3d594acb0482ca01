//! The Scaleway double as a client meets it. This file holds the stage; the scenes are by subject.

mod errors;
mod leaks;
mod life;
mod listing;

use super::{Options, Scaleway, images::images_in};
use crate::{
    chance::Chance,
    clock::Clock,
    fleet::{Fleet, Machine},
};
use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode};
use serde_json::{Value, json};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

pub(super) const TOKEN: &str = "11111111-2222-4333-8444-555555555555";
pub(super) const JOIN: &str =
    "#!/bin/sh\nkubeadm join 10.0.0.1:6443 --token abc.def --node-name gpu-1 --node-labels=a=b\n";

#[derive(Default)]
pub(super) struct Recorder {
    pub joined: Mutex<Vec<Machine>>,
    pub left: Mutex<Vec<(String, bool)>>,
}

impl Fleet for Recorder {
    fn join(&self, machine: Machine) {
        self.joined.lock().unwrap().push(machine);
    }
    fn leave(&self, node: &str, deleted: bool) {
        self.left.lock().unwrap().push((node.to_owned(), deleted));
    }
}

pub(super) struct Stage {
    pub scaleway: Scaleway,
    pub fleet: Arc<Recorder>,
    pub clock: Clock,
}

pub(super) struct Reply {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub text: String,
    pub json: Value,
}

impl Stage {
    pub fn with(options: Options) -> Stage {
        let (fleet, clock) = (Arc::new(Recorder::default()), Clock::start(1.0));
        Stage { scaleway: Scaleway::new(clock, Chance::new(7), fleet.clone(), options), fleet, clock }
    }

    pub fn plain() -> Stage {
        Stage::with(Options::default())
    }

    pub async fn seconds(&self, seconds: u64) {
        self.clock.sleep(Duration::from_secs(seconds)).await;
    }

    pub async fn send(&self, method: &str, path: &str, token: &str, body: &str) -> Reply {
        let request = Request::builder().method(method).uri(path).header("X-Auth-Token", token);
        let answer = self.scaleway.respond(request.body(Bytes::from(body.to_owned())).unwrap()).await;
        let text = String::from_utf8(answer.body().to_vec()).unwrap();
        let json = serde_json::from_str(&text).unwrap_or_default();
        Reply { status: answer.status(), headers: answer.headers().clone(), text, json }
    }

    pub async fn get(&self, path: &str) -> Reply {
        self.send("GET", path, TOKEN, "").await
    }

    pub async fn instance(&self, method: &str, path: &str, body: Value) -> Reply {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        self.send(method, &format!("/instance/v1/zones/fr-par-2{path}"), TOKEN, &body).await
    }

    pub async fn block(&self, method: &str, path: &str, body: Value) -> Reply {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        self.send(method, &format!("/block/v1/zones/fr-par-2{path}"), TOKEN, &body).await
    }

    pub fn image(&self, label: &str, on_block_storage: bool) -> String {
        let images = images_in(&self.scaleway.inner.chance, "fr-par-2");
        let wanted = |image: &super::images::Image| image.label == label && image.on_block_storage == on_block_storage;
        images.into_iter().find(wanted).unwrap().id
    }

    pub fn body(&self, name: &str, commercial_type: &str) -> Value {
        json!({"name": name, "commercial_type": commercial_type, "project": "20b1b1b1-0000-4000-8000-000000000001",
               "image": self.image("ubuntu_jammy_gpu_os_12", true), "dynamic_ip_required": false,
               "tags": ["pilotlight-claim=1"]})
    }

    pub async fn create(&self, name: &str, commercial_type: &str) -> String {
        let reply = self.instance("POST", "/servers", self.body(name, commercial_type)).await;
        assert_eq!(reply.status, 201, "{}", reply.text);
        reply.json["server"]["id"].as_str().unwrap().to_owned()
    }

    pub async fn user_data(&self, id: &str, text: &str) {
        let path = format!("/instance/v1/zones/fr-par-2/servers/{id}/user_data/cloud-init");
        assert_eq!(self.send("PATCH", &path, TOKEN, text).await.status, 204);
    }

    pub async fn act(&self, id: &str, action: &str) -> Reply {
        self.instance("POST", &format!("/servers/{id}/action"), json!({"action": action})).await
    }

    pub async fn server(&self, id: &str) -> Value {
        self.instance("GET", &format!("/servers/{id}"), Value::Null).await.json["server"].clone()
    }

    /// Creates, sets user data, powers on, and waits until the guest is up.
    pub async fn running(&self, name: &str, commercial_type: &str) -> String {
        let id = self.create(name, commercial_type).await;
        self.user_data(&id, JOIN).await;
        assert_eq!(self.act(&id, "poweron").await.status, 202);
        self.seconds(200).await;
        id
    }
}
