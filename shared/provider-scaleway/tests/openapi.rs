//! What is sent, as Prism reads it with an OpenAPI document: `make scaleway-peer` runs this, and README.md there explains it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use async_trait::async_trait;
use bytes::Bytes;
use common::{PROJECT, SECRET_KEY, Stage, request, with_class};
use http::{Request, Response};
use provider::{Change as _, Look as _};
use provider_scaleway::{Https, Scaleway, Settings, Transport, TransportError};
use serde_json::Value;
use std::{
    collections::BTreeSet,
    io::{BufRead as _, BufReader},
    net::TcpListener,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
};
use world::{
    scaleway::options::{Availability, ShortageManner, Stock, Window},
    serve::Listening,
};

const MINI: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/peers/scaleway/mini.yml");

/// A Prism of our own; it ends with this value.
struct Prism {
    child: Child,
    url: String,
}

impl Prism {
    fn start(document: &str, upstream: &str) -> Prism {
        let program = std::env::var("PRISM").expect("PRISM names Prism's program: run `make scaleway-peer`");
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
        let mut child = Command::new(program)
            .args(["proxy", document, upstream, "--host", "127.0.0.1", "--port", &port])
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let listens = lines.by_ref().map_while(Result::ok).any(|line| line.contains("Prism is listening"));
        assert!(listens, "Prism ended without listening: is {document} an OpenAPI document?");
        // It logs each request, and would wait for ever in front of a full pipe.
        std::thread::spawn(move || lines.for_each(drop));
        Prism { child, url: format!("http://127.0.0.1:{port}") }
    }
}

impl Drop for Prism {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// What Prism said about requests and answers, each once.
#[derive(Default)]
struct Findings {
    requests: usize,
    described: BTreeSet<String>,
    not_described: BTreeSet<String>,
    wrong: BTreeSet<String>,
    strange_answers: BTreeSet<String>,
}

impl Findings {
    fn add(&mut self, sent: &str, answer: &Response<Bytes>) {
        let header = answer.headers().get("sl-violations").map(|value| value.as_bytes());
        let violations: Vec<Value> = header.map(|json| serde_json::from_slice(json).unwrap()).unwrap_or_default();
        let of = |place: &str, severity: &str| {
            let fits = |one: &&Value| one["location"][0] == place && one["severity"] == severity;
            violations.iter().filter(fits).map(|one| format!("{sent}: {}", one["message"])).collect::<Vec<_>>()
        };
        self.requests += 1;
        match of("request", "Warning").is_empty() {
            true => self.described.insert(sent.to_owned()),
            false => self.not_described.insert(sent.to_owned()),
        };
        self.wrong.extend(of("request", "Error"));
        self.strange_answers.extend(of("response", "Error"));
        // What Prism answers by itself (a key that is missing) never reached the world.
        if answer.headers().get("content-type").is_some_and(|kind| kind == "application/problem+json") {
            self.wrong.insert(format!("{sent}: {}", String::from_utf8_lossy(answer.body())));
        }
    }
}

/// The real client, with an ear for what Prism says.
struct Listener {
    inner: Https,
    findings: Mutex<Findings>,
}

#[async_trait]
impl Transport for Listener {
    async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, TransportError> {
        let sent = format!("{} {}", request.method(), in_general(request.uri().path()));
        let answer = self.inner.send(request).await?;
        self.findings.lock().unwrap().add(&sent, &answer);
        Ok(answer)
    }
}

/// A path without the zone and the IDs: as a document writes it.
fn in_general(path: &str) -> String {
    let parts = path.split('/').map(|part| match part {
        id if provider_scaleway::names::is_uuid(id) => "{id}",
        zone if provider_scaleway::names::is_zone(zone) => "{zone}",
        other => other,
    });
    parts.collect::<Vec<_>>().join("/")
}

struct Scene {
    stage: Stage,
    listener: Arc<Listener>,
    prism: Prism,
}

/// A world at a hundred times its speed, with Prism in front of its Scaleway.
async fn scene(document: &str) -> Scene {
    let mut stage = Stage::at_speed(100.0, |options| {
        let (commercial_type, zone) = ("L4-1-24G".to_owned(), "fr-par-1".to_owned());
        let (availability, manner) = (Availability::Shortage, ShortageManner::RefusesPoweron);
        options.stock.push(Stock { commercial_type, zone, window: Window::ALWAYS, availability, manner });
    });
    let listening = Listening::bind(0).await.unwrap();
    let upstream = format!("http://{}", listening.address().unwrap());
    tokio::spawn(listening.serve(stage.world.scaleway(), None));
    let prism = Prism::start(document, &upstream);
    let listener = Arc::new(Listener { inner: Https::new(false), findings: Mutex::default() });
    let known =
        [("SCW_SECRET_KEY", SECRET_KEY), ("SCW_DEFAULT_PROJECT_ID", PROJECT), ("SCW_API_URL", prism.url.as_str())];
    let find = |name: &str| known.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
    let clock = stage.world.clock;
    stage.provider =
        Scaleway::with(Settings::from_lookup(find).unwrap(), listener.clone(), Arc::new(move || clock.now()));
    Scene { stage, listener, prism }
}

/// Every kind of request that the provider can send.
async fn live(stage: &Stage) {
    stage.provider.offerings().await.unwrap();
    let network = "6f1c0d3e-5555-4222-8333-944444444444";
    let class = [("scratch", "true"), ("public-ip", "flexible"), ("private-network", network)];
    let wanted = with_class(request("L40S-1-48G", "fr-par-2"), &class);
    stage.drive(&wanted).await.unwrap();
    assert!(stage.provider.observe(&wanted.key).await.unwrap().is_some());
    assert_eq!(stage.provider.owned().await.unwrap().len(), 1);
    stage.provider.forget_join_secret(&wanted.key).await.unwrap();
    stage.drive_gone(&wanted.key).await.unwrap();
    // No stock: a server that is stopped is deleted, not terminated.
    let wanted = request("L4-1-24G", "fr-par-1");
    assert_eq!(stage.drive(&wanted).await.unwrap_err().reason(), "InsufficientCapacity");
    // A claim that goes away before its server was ever started leaves a local disk to delete.
    let wanted = with_class(request("L40S-1-48G", "fr-par-2"), &class);
    let on = world::faults::Matching { path: Some("/private_nics".to_owned()), ..Default::default() };
    let then = world::faults::Mishap::Answer { status: 503, done: false, retry_after: None };
    stage.world.faults.add(world::faults::Fault { on, then });
    stage.provider.ensure(&wanted, None).await.unwrap_err();
    stage.drive_gone(&wanted.key).await.unwrap();
    assert!(stage.present().is_empty());
}

async fn check(document: &str) -> Scene {
    let scene = scene(document).await;
    live(&scene.stage).await;
    {
        let findings = scene.listener.findings.lock().unwrap();
        println!("{document}: {} requests, {} kinds described", findings.requests, findings.described.len());
        findings.not_described.iter().for_each(|line| println!("  not described: {line}"));
        findings.strange_answers.iter().for_each(|line| println!("  an answer of the double: {line}"));
        assert_eq!(findings.wrong, BTreeSet::new(), "requests that violate {document}");
        for needed in ["POST /instance/v1/zones/{zone}/servers", "POST /instance/v1/zones/{zone}/servers/{id}/action"] {
            assert!(
                findings.described.contains(needed),
                "{document} does not describe {needed}: it is no Instance API"
            );
        }
    }
    scene
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Prism: make scaleway-peer"]
async fn no_request_violates_the_public_document() {
    check(&std::env::var("SCALEWAY_OPENAPI").expect("SCALEWAY_OPENAPI names a file")).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Prism: make scaleway-peer"]
async fn a_wrong_request_is_found_out() {
    let scene = check(MINI).await;
    let unknown = scene.listener.findings.lock().unwrap().not_described.clone();
    assert!(!unknown.iter().any(|line| line.contains("/instance/")), "the short document lacks: {unknown:?}");
    let server = "/instance/v1/zones/fr-par-2/servers/6f1c0d3e-1111-4222-8333-944444444444";
    let json = "application/json";
    for (method, path, kind, body, said) in [
        ("POST", "/instance/v1/zones/fr-par-2/servers", json, r#"{"name": "a"}"#, "commercial_type"),
        ("POST", "/instance/v1/zones/fr-par-2/ips", json, r#"{"type": "ipv4"}"#, "type"),
        ("POST", &format!("{server}/action"), json, r#"{"action": "fly"}"#, "action"),
        ("PATCH", &format!("{server}/user_data/cloud-init"), json, "{}", "text/plain"),
        ("GET", "/instance/v1/zones/moon-1/servers", "", "", "zone"),
        ("GET", "/instance/v1/zones/fr-par-2/servers?per_page=500", "", "", "per_page"),
    ] {
        scene.listener.findings.lock().unwrap().wrong.clear();
        let mut request = Request::builder().method(method).uri(format!("{}{path}", scene.prism.url));
        request = request.header("x-auth-token", SECRET_KEY);
        if !kind.is_empty() {
            request = request.header("content-type", kind);
        }
        scene.listener.send(request.body(Bytes::from(body)).unwrap()).await.unwrap();
        let wrong = &scene.listener.findings.lock().unwrap().wrong;
        assert!(wrong.iter().any(|line| line.contains(said)), "{method} {path}: {wrong:?}");
    }
}
