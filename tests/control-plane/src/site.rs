//! Everything at one place: a real control plane with our custom resources, the world's clouds beside it, and our programs as
//! processes under their own accounts.

use jiff::Timestamp;
use kube::Client;
use serde_json::{Value, json};
use std::{collections::BTreeMap, net::SocketAddr, path::Path, process::Stdio, sync::Arc};
use tokio::{io::AsyncWriteExt as _, process::Command};
use world::{
    World, WorldOptions,
    clock::Clock,
    clouds::{self, Clouds},
    power::{BackEnd, MachineOptions},
    serve::Certificates,
};

use crate::{
    ControlPlane, account,
    fleet::JoinsHere,
    troupe::{Cast, Troupe},
};

/// The clouds' minutes are our seconds, or nearly so.
pub const SPEED: f64 = 30.0;

/// Machines that are switched by webhooks: so many with one GPU, and after those so many with two and with five, in turn.
pub const RACK: usize = 12;
const LARGER: [u64; 8] = [2, 5, 2, 5, 2, 5, 2, 5];

/// How often on-idle-timer is called: people do not wait half a minute here.
const TICK: (&str, &str) = ("PILOTLIGHT_TICK", "2s");

pub struct Site {
    pub control_plane: ControlPlane,
    pub client: Client,
    pub world: World,
    /// Where machines that no cloud made join.
    pub fleet: Arc<JoinsHere>,
    /// The variables by which functions find the clouds.
    pub clouds: BTreeMap<String, String>,
    pub troupe: Troupe,
}

impl Site {
    /// `supervisor` is the program `control-plane`; our programs are looked for beside it.
    pub async fn open(supervisor: &Path, cast: Cast) -> Result<Self, String> {
        let control_plane = ControlPlane::start(supervisor, &[]).await?;
        let client = control_plane.client().await?;
        prepare(&control_plane).await?;
        let (world, fleet, clouds) = beside(&control_plane, &client, |_| {}).await?;
        let programs = supervisor.parent().unwrap_or(Path::new("."));
        let mut told = clouds.clone();
        told.insert(TICK.0.to_owned(), TICK.1.to_owned());
        let troupe = Troupe::engage(cast, programs, &control_plane, &client, &told).await?;
        Ok(Site { control_plane, client, world, fleet, clouds, troupe })
    }
}

/// Custom resources, our namespace, and every account that has a manifest.
pub async fn prepare(control_plane: &ControlPlane) -> Result<(), String> {
    let crds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../infra/crds");
    apply(control_plane, &format!("apiVersion: v1\nkind: Namespace\nmetadata: {{name: {}}}\n", account::NAMESPACE))
        .await?;
    for folder in [crds, account::rbac_folder()] {
        kubectl(control_plane, &["apply", "--server-side", "-f", &folder.display().to_string()], "").await?;
    }
    apply(control_plane, &workspaces().to_string()).await?;
    kubectl(control_plane, &["wait", "--for=condition=Established", "crd", "--all", "--timeout=60s"], "")
        .await
        .map(drop)
}

/// KAITO's Workspaces, as far as watching them goes: who installs KAITO has them.
fn workspaces() -> Value {
    let anything = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "workspaces.kaito.sh" },
        "spec": {
            "group": "kaito.sh", "scope": "Namespaced",
            "names": { "kind": "Workspace", "listKind": "WorkspaceList", "plural": "workspaces", "singular": "workspace" },
            "versions": [{ "name": "v1beta1", "served": true, "storage": true, "schema": { "openAPIV3Schema": anything } }],
        },
    })
}

async fn apply(control_plane: &ControlPlane, yaml: &str) -> Result<(), String> {
    kubectl(control_plane, &["apply", "--server-side", "-f", "-"], yaml).await.map(drop)
}

/// The real one, of the same version as the server. Gives back what it printed.
pub async fn kubectl(control_plane: &ControlPlane, arguments: &[&str], input: &str) -> Result<String, String> {
    let facts = &control_plane.facts;
    let mut command = Command::new(&facts.kubectl);
    command.arg("--kubeconfig").arg(&facts.kubeconfig).args(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|why| format!("cannot start kubectl: {why}"))?;
    if let Some(mut pipe) = child.stdin.take() {
        pipe.write_all(input.as_bytes()).await.map_err(|why| why.to_string())?;
    }
    let output = child.wait_with_output().await.map_err(|why| why.to_string())?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() {
        Ok(text(&output.stdout))
    } else {
        Err(format!("kubectl {}: {}", arguments.join(" "), text(&output.stderr)))
    }
}

/// The world's clouds, whose machines join here, and the variables by which they are found.
pub async fn beside(
    control_plane: &ControlPlane,
    client: &Client,
    change: impl FnOnce(&mut WorldOptions),
) -> Result<(World, Arc<JoinsHere>, BTreeMap<String, String>), String> {
    let said = |why: &dyn std::fmt::Display| format!("the clouds do not start: {why}");
    let certificates = Arc::new(Certificates::new().map_err(|why| said(&why))?);
    let address = control_plane.facts.server.trim_start_matches("https://");
    let address: SocketAddr = address.parse().map_err(|why| said(&why))?;
    let clouds = Clouds::bind(address).await.map_err(|why| said(&why))?;
    let mut options = WorldOptions { beginning: Timestamp::now(), speed: SPEED, ..WorldOptions::default() };
    let gpus = core::iter::repeat_n(1, RACK).chain(LARGER);
    let machine = |(at, gpus): (usize, u64)| MachineOptions::new(&format!("rack-{}", at + 1), BackEnd::Webhook, gpus);
    options.power.machines = gpus.enumerate().map(machine).collect();
    change(&mut options);
    let fleet = Arc::new(JoinsHere::new(client.clone(), Clock::start_at(Timestamp::now(), options.speed)));
    let options = clouds.told_to(options);
    let env_file = control_plane.facts.folder.join("clouds.env");
    let lines = clouds.environment(&options, &env_file);
    let world = World::beside(options, fleet.clone());
    clouds.serve(&world, &certificates);
    clouds::write(&env_file, &lines, &certificates)?;
    let pair = |line: &str| line.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
    Ok((world, fleet, lines.lines().filter_map(pair).collect()))
}
