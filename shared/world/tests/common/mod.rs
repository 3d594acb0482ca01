//! What the tests of the world share: a machine to join, and a world that kubectl can be pointed at.

#![allow(dead_code, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use bytes::Bytes;
use http::Request;
use http_body_util::BodyExt as _;
use serde_json::Value;
use std::{collections::BTreeMap, path::PathBuf, process::Stdio, sync::Arc, time::Duration};
use tempfile::TempDir;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;
use world::{
    World, WorldOptions,
    fleet::Machine,
    kubeconfig,
    serve::{Certificates, Listening},
};

pub fn machine(node: &str) -> Machine {
    let capacity = [("cpu", "8"), ("memory", "32Gi"), ("ephemeral-storage", "100Gi"), ("pods", "110")];
    Machine {
        node: node.to_owned(),
        provider_id: format!("world://{node}"),
        labels: BTreeMap::from([("kubernetes.io/hostname".to_owned(), node.to_owned())]),
        annotations: BTreeMap::new(),
        taints: Vec::new(),
        capacity: capacity.iter().map(|(name, amount)| ((*name).to_owned(), (*amount).to_owned())).collect(),
        accelerator: None,
        accelerator_after: None,
        boot_id: format!("boot-{node}"),
    }
}

/// Sends one request and gives back status and body.
pub async fn ask(world: &World, method: &str, path: &str, content_type: &str, body: Value) -> (u16, Value) {
    let bytes = if body.is_null() { Bytes::new() } else { Bytes::from(body.to_string()) };
    raw(world, method, path, content_type, bytes).await
}

pub async fn raw(world: &World, method: &str, path: &str, content_type: &str, body: Bytes) -> (u16, Value) {
    let request = Request::builder().method(method).uri(path).header("content-type", content_type);
    let request = request.header("user-agent", "tester/1").body(body).unwrap();
    let response = world.kubernetes().call(request).await.unwrap();
    let status = response.status().as_u16();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    let text = || Value::from(String::from_utf8_lossy(&bytes).into_owned());
    (status, serde_json::from_slice(&bytes).unwrap_or_else(|_| text()))
}

/// Older clients ask for documents that the world does not write.
const OLDEST_MINOR: u32 = 29;

/// A world on loopback, twenty times as fast as ours, and the way to it for kubectl.
pub struct Tour {
    pub world: World,
    folder: TempDir,
    kubeconfig: PathBuf,
}

impl Tour {
    /// `None`, with a printed reason, where there is no kubectl that is new enough.
    pub async fn start() -> Option<Self> {
        let asked = Command::new("kubectl").args(["version", "--client", "--output", "json"]).output().await;
        let version: Value = asked.ok().and_then(|said| serde_json::from_slice(&said.stdout).ok()).unwrap_or_default();
        let minor = version["clientVersion"]["minor"]
            .as_str()
            .and_then(|minor| minor.trim_end_matches('+').parse::<u32>().ok());
        println!("kubectl: {}", version["clientVersion"]["gitVersion"]);
        if minor.is_none_or(|minor| minor < OLDEST_MINOR) {
            println!(
                "SKIPPED: the tour needs kubectl 1.{OLDEST_MINOR} or newer (Debian's 1.20 reads OpenAPI only as protobuf)"
            );
            return None;
        }
        let world = World::start(WorldOptions { speed: 20.0, ..WorldOptions::default() });
        let certificates = Arc::new(Certificates::new().unwrap());
        let listening = Listening::bind(0).await.unwrap();
        let address = listening.address().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let kubeconfig = folder.path().join("kubeconfig");
        std::fs::write(&kubeconfig, kubeconfig::write(&format!("https://{address}"), &certificates.authority, "admin"))
            .unwrap();
        tokio::spawn(listening.serve(world.kubernetes(), Some(certificates)));
        Some(Tour { world, folder, kubeconfig })
    }

    async fn run(&self, line: &str, input: &str) -> (bool, String) {
        let mut command = Command::new("kubectl");
        command.args(line.split(' ')).arg("--kubeconfig").arg(&self.kubeconfig);
        command.arg("--cache-dir").arg(self.folder.path().join("cache"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(input.as_bytes()).await.unwrap();
        drop(stdin);
        let output = tokio::time::timeout(Duration::from_secs(60), child.wait_with_output()).await;
        let output = output.unwrap_or_else(|_| panic!("kubectl {line} did not end")).unwrap();
        let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        (output.status.success(), said)
    }

    /// It works, and these words are in what it says.
    pub async fn says(&self, line: &str, words: &[&str]) -> String {
        self.feeds(line, "", words).await
    }

    pub async fn feeds(&self, line: &str, input: &str, words: &[&str]) -> String {
        let (worked, said) = self.run(line, input).await;
        // `-w` ends by its time-out, which kubectl calls a failure.
        assert!(worked || line.contains("--request-timeout"), "kubectl {line}\n{said}");
        for word in words {
            assert!(said.contains(word), "kubectl {line}\n{word:?} is not in\n{said}");
        }
        said
    }

    pub async fn fails(&self, line: &str, input: &str, words: &[&str]) {
        let (worked, said) = self.run(line, input).await;
        assert!(!worked, "kubectl {line} should fail\n{said}");
        for word in words {
            assert!(said.contains(word), "kubectl {line}\n{word:?} is not in\n{said}");
        }
    }
}
