//! What this Azure does, as sentences. The helpers here are the verbs.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod capacity;
mod compute;
mod concurrency;
mod identity;
mod machines;
mod pools;

use super::*;
use crate::fleet::Machine;
use http::{Method, StatusCode};
use serde_json::Value;
use std::time::Duration;

const POOLS: &str = "/subscriptions/22222222-2222-4222-8222-222222222222/resourceGroups/world/providers/Microsoft.ContainerService/managedClusters/world/agentPools";
const CLIENT: &str = "33333333-3333-4333-8333-333333333333";
const TENANT: &str = "11111111-1111-4111-8111-111111111111";
const VERSION: &str = "api-version=2025-05-01";
const A100: &str = "Standard_NC24ads_A100_v4";

/// What the fleet was told, in order.
#[derive(Debug, Clone, PartialEq)]
enum Told {
    Joined(Box<Machine>),
    Left(String, bool),
}

#[derive(Default)]
struct Listener(Mutex<Vec<Told>>);

impl Fleet for Listener {
    fn join(&self, machine: Machine) {
        self.0.lock().unwrap().push(Told::Joined(Box::new(machine)));
    }

    fn leave(&self, node: &str, deleted: bool) {
        self.0.lock().unwrap().push(Told::Left(node.to_owned(), deleted));
    }
}

/// An Azure, someone who listens to its machines, and a signed-in caller.
struct Azure {
    arm: Arm,
    clock: Clock,
    heard: Arc<Listener>,
    token: String,
}

struct Reply {
    status: StatusCode,
    headers: http::HeaderMap,
    body: Value,
}

impl Reply {
    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map(|value| value.to_str().unwrap()).unwrap_or_default()
    }

    /// The error code, in either dialect.
    fn code(&self) -> &str {
        self.body["error"]["code"].as_str().or(self.body["code"].as_str()).unwrap_or_default()
    }
}

async fn azure() -> Azure {
    azure_with(|_| {}).await
}

async fn azure_with(change: impl FnOnce(&mut ArmOptions)) -> Azure {
    let mut options = ArmOptions { system_pool: None, ..ArmOptions::default() };
    change(&mut options);
    let (clock, heard) = (Clock::start(1.0), Arc::new(Listener::default()));
    let arm = Arm::new(clock, Chance::new(7), heard.clone(), options);
    let mut azure = Azure { arm, clock, heard, token: String::new() };
    azure.sign_in().await;
    azure
}

async fn send(arm: &Arm, method: Method, path: &str, headers: &[(&str, &str)], body: &str) -> Reply {
    let mut request = Request::builder().method(method).uri(path).header("host", "azure.test");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = arm.respond(request.body(Bytes::from(body.to_owned())).unwrap()).await;
    let body = serde_json::from_slice(response.body()).unwrap_or(Value::Null);
    Reply { status: response.status(), headers: response.headers().clone(), body }
}

impl Azure {
    async fn sign_in(&mut self) {
        let form = format!(
            "client_id={CLIENT}&client_secret=world-secret&grant_type=client_credentials&scope=http%3A%2F%2Fazure.test%2F.default"
        );
        let reply = send(&self.arm, Method::POST, &format!("/{TENANT}/oauth2/v2.0/token"), &[], &form).await;
        self.token = reply.body["access_token"].as_str().unwrap().to_owned();
    }

    async fn call(&self, method: Method, path: &str, headers: &[(&str, &str)], body: &Value) -> Reply {
        let bearer = format!("Bearer {}", self.token);
        let mut all = vec![("authorization", bearer.as_str())];
        all.extend(headers);
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let path = path.strip_prefix("http://azure.test").unwrap_or(path);
        send(&self.arm, method, path, &all, &body).await
    }

    async fn get(&self, path: &str) -> Reply {
        self.call(Method::GET, path, &[], &Value::Null).await
    }

    async fn get_pool(&self, name: &str) -> Reply {
        self.get(&format!("{POOLS}/{name}?{VERSION}")).await
    }

    async fn put_pool(&self, name: &str, properties: Value) -> Reply {
        self.put_pool_if(name, properties, &[]).await
    }

    async fn put_pool_if(&self, name: &str, properties: Value, headers: &[(&str, &str)]) -> Reply {
        self.call(Method::PUT, &format!("{POOLS}/{name}?{VERSION}"), headers, &json!({"properties": properties})).await
    }

    async fn delete_pool(&self, name: &str) -> Reply {
        self.call(Method::DELETE, &format!("{POOLS}/{name}?{VERSION}"), &[], &Value::Null).await
    }

    /// Polls an accepted request's operation until it has ended, as its `Retry-After` says.
    async fn settle(&self, accepted: &Reply) -> Value {
        let address = accepted.header("azure-asyncoperation").to_owned();
        for _ in 0..200 {
            let reply = self.get(&address).await;
            if reply.body["status"] != "InProgress" {
                return reply.body;
            }
            self.clock.sleep(Duration::from_secs(reply.header("retry-after").parse().unwrap())).await;
        }
        panic!("the operation does not end");
    }

    /// A pool that is created, running and joined.
    async fn running_pool(&self, name: &str, properties: Value) {
        let accepted = self.put_pool(name, properties).await;
        assert_eq!(accepted.status, StatusCode::CREATED, "{}", accepted.body);
        assert_eq!(self.settle(&accepted).await["status"], "Succeeded");
    }

    fn heard(&self) -> Vec<Told> {
        self.heard.0.lock().unwrap().clone()
    }

    /// The machines that joined, latest report of each.
    fn joined(&self) -> Vec<Machine> {
        let machines = self.heard().into_iter().filter_map(|told| match told {
            Told::Joined(machine) => Some((machine.node.clone(), *machine)),
            Told::Left(..) => None,
        });
        machines.collect::<BTreeMap<_, _>>().into_values().collect()
    }

    fn left(&self) -> Vec<(String, bool)> {
        let left = |told| if let Told::Left(node, deleted) = told { Some((node, deleted)) } else { None };
        self.heard().into_iter().filter_map(left).collect()
    }
}

fn one_gpu() -> Value {
    json!({"vmSize": A100, "count": 1})
}
