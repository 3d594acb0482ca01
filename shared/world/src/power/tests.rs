//! The power back ends as a client meets them. This file holds the stage; the scenes are by back end.

mod plain;
mod redfish;

use super::{BackEnd, MachineOptions, Options, Power};
use crate::{
    chance::Chance,
    clock::Clock,
    fleet::{Fleet, Machine},
};
use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode};
use serde_json::Value;
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

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
    pub power: Power,
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
        Stage { power: Power::new(clock, Chance::new(7), fleet.clone(), options), fleet, clock }
    }

    /// One machine `rack-1` with four GPUs.
    pub fn one(back_end: BackEnd) -> Stage {
        Stage::with(Options { machines: vec![MachineOptions::new("rack-1", back_end, 4)], ..Options::default() })
    }

    pub async fn seconds(&self, seconds: u64) {
        self.clock.sleep(Duration::from_secs(seconds)).await;
    }

    pub async fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Reply {
        let request = Request::builder().method(method).uri(path);
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let answer = self.power.respond(request.body(Bytes::from(body.to_owned())).unwrap()).await;
        let text = String::from_utf8(answer.body().to_vec()).unwrap();
        let json = serde_json::from_str(&text).unwrap_or_default();
        Reply { status: answer.status(), headers: answer.headers().clone(), text, json }
    }

    pub fn joined(&self) -> usize {
        self.fleet.joined.lock().unwrap().len()
    }
}
