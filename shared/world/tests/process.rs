//! The world as a process: what it writes, what it serves, and how it ends.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::Value;
use std::{
    collections::BTreeMap,
    fs,
    io::Read as _,
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

const BINARY: &str = env!("CARGO_BIN_EXE_world");

struct Started {
    child: Child,
    folder: tempfile::TempDir,
}

impl Drop for Started {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Started {
    /// Starts a world and waits for its kubeconfig, which it writes last.
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let mut command = Command::new(BINARY);
        command.arg("--kubeconfig").arg(path("kubeconfig")).arg("--env-file").arg(path("world.env"));
        command.arg("--record").arg(path("record.jsonl")).args(["--seed", "7", "--speed", "50"]);
        let child = command.stdout(Stdio::piped()).spawn().unwrap();
        let started = Started { child, folder };
        let patience = Instant::now() + Duration::from_secs(20);
        while fs::read_to_string(started.path("kubeconfig")).map_or(true, |text| text.is_empty()) {
            assert!(Instant::now() < patience, "the world wrote no kubeconfig");
            std::thread::sleep(Duration::from_millis(20));
        }
        started
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    fn environment(&self) -> BTreeMap<String, String> {
        let text = fs::read_to_string(self.path("world.env")).unwrap();
        text.lines()
            .map(|line| line.split_once('=').unwrap())
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect()
    }

    fn ends_with(mut self, signal: &str) -> String {
        let status = Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap();
        assert!(status.success());
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
        let mut said = String::new();
        self.child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
        said
    }
}

fn curl(authority: &Path, arguments: &[&str]) -> String {
    let output = Command::new("curl").arg("-sS").arg("--cacert").arg(authority).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn any_client_reaches_cluster_and_clouds_with_what_it_writes() {
    let started = Started::new();
    let environment = started.environment();
    let authority = Path::new(&environment["SSL_CERT_FILE"]).to_owned();

    let kubeconfig = fs::read_to_string(started.path("kubeconfig")).unwrap();
    let server = kubeconfig.split("server: \"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let token = "authorization: Bearer world:admin";
    let namespaces = curl(&authority, &["-H", token, &format!("{server}/api/v1/namespaces")]);
    assert!(namespaces.contains("kube-system"), "{namespaces}");

    let assertion = fs::read_to_string(&environment["AZURE_FEDERATED_TOKEN_FILE"]).unwrap();
    let form = format!(
        "grant_type=client_credentials&client_id={}&scope={}/.default&client_assertion_type=urn:ietf:params:oauth:client-assertion-type:jwt-bearer&client_assertion={assertion}",
        environment["AZURE_CLIENT_ID"], environment["AZURE_RESOURCE_MANAGER_ENDPOINT"]
    );
    let token_url =
        format!("{}{}/oauth2/v2.0/token", environment["AZURE_AUTHORITY_HOST"], environment["AZURE_TENANT_ID"]);
    let token: Value = serde_json::from_str(&curl(&authority, &["-d", &form, &token_url])).unwrap();
    let bearer =
        format!("authorization: Bearer {}", token["access_token"].as_str().unwrap_or_else(|| panic!("{token}")));
    let pools = format!(
        "{}/subscriptions/{}/resourceGroups/{}/providers/Microsoft.ContainerService/managedClusters/{}/agentPools?api-version=2025-05-01",
        environment["AZURE_RESOURCE_MANAGER_ENDPOINT"],
        environment["ARM_SUBSCRIPTION_ID"],
        environment["ARM_RESOURCE_GROUP"],
        environment["AZURE_CLUSTER_NAME"]
    );
    assert!(curl(&authority, &["-H", &bearer, &pools]).contains("nodepool1"));

    let key = format!("x-auth-token: {}", environment["SCW_SECRET_KEY"]);
    let servers =
        format!("{}/instance/v1/zones/{}/servers", environment["SCW_API_URL"], environment["SCW_DEFAULT_ZONE"]);
    assert!(curl(&authority, &["-H", &key, &servers]).contains("\"servers\""));
    assert_eq!(environment["GPU_NODE_1_GPU_COUNT"], "1");
    curl(
        &authority,
        &["-d", "{}", "-H", "content-type: application/json", &environment["GPU_NODE_1_SCALE_UP_ENDPOINT"]],
    );

    let record = fs::read_to_string(started.path("record.jsonl")).unwrap();
    let lines: Vec<Value> = record.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let places: Vec<&str> = lines.iter().map(|line| line["to"].as_str().unwrap()).collect();
    assert_eq!(places, ["kubernetes", "aks", "aks", "scaleway", "power"]);
    for field in ["at", "to", "user", "method", "path", "query", "status", "request", "answer"] {
        assert!(lines.iter().all(|line| line.get(field).is_some()), "{field}");
    }
    assert_eq!((&lines[0]["user"], &lines[0]["verb"]), (&"admin".into(), &"list".into()));
    let said = started.ends_with("-TERM");
    assert!(said.contains("world: 5 requests, hash "), "{said}");
}

#[test]
fn wrong_arguments_are_said_in_words() {
    for arguments in [&["--speed", "0"][..], &["--speed", "fast"], &[]] {
        let output = Command::new(BINARY).args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
    let nowhere = ["--kubeconfig", "/nowhere/k", "--env-file", "/nowhere/e"];
    let output = Command::new(BINARY).args(nowhere).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stderr).unwrap().starts_with("world: cannot write /nowhere/"));
}
