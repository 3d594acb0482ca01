//! Everything at one place: a real control plane with our custom resources, the world's clouds beside it, and functions as
//! processes of their own, each under its own account.

use jiff::Timestamp;
use kube::Client;
use serde_json::Value;
use spec::free_address;
use std::{
    collections::BTreeMap,
    net::SocketAddr,
    path::Path,
    process::Stdio,
    sync::{Arc, Mutex, PoisonError},
};
use tokio::{io::AsyncWriteExt as _, process::Command, task::AbortHandle};
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
    process::{Program, until_it_listens},
    sender::Sender,
};

/// The clouds' minutes are our seconds, or nearly so.
pub const SPEED: f64 = 30.0;

/// The functions that run here.
pub const FUNCTIONS: [&str; 2] = ["on-nodeclaim", "on-delete"];

/// Machines that are switched by webhooks.
const RACK: usize = 8;

pub struct Site {
    pub control_plane: ControlPlane,
    pub client: Client,
    pub world: World,
    pub sender: Sender,
    /// Where machines that no cloud made join.
    pub fleet: Arc<JoinsHere>,
    /// The variables by which functions find the clouds.
    pub clouds: BTreeMap<String, String>,
    functions: Mutex<BTreeMap<&'static str, Program>>,
    addresses: BTreeMap<&'static str, SocketAddr>,
    sending: AbortHandle,
}

impl Site {
    /// `supervisor` is the program `control-plane`; functions are looked for beside it.
    pub async fn open(supervisor: &Path) -> Result<Self, String> {
        let control_plane = ControlPlane::start(supervisor, &[]).await?;
        let client = control_plane.client().await?;
        let folder = control_plane.facts.folder.clone();
        prepare(&control_plane).await?;
        let clock = Clock::start_at(Timestamp::now(), SPEED);
        let fleet = Arc::new(JoinsHere::new(client.clone(), clock));
        let env_file = folder.join("clouds.env");
        let world = beside(&control_plane, fleet.clone(), &env_file).await?;
        let text = std::fs::read_to_string(&env_file).map_err(|why| why.to_string())?;
        let clouds: BTreeMap<String, String> = text.lines().filter_map(pair).collect();
        let (mut functions, mut addresses) = (BTreeMap::new(), BTreeMap::new());
        for name in FUNCTIONS {
            let address = free_address().map_err(|why| why.to_string())?;
            let kubeconfig = account::kubeconfig_of(&control_plane, &client, name).await?;
            // Machines come from node classes here; two descriptions of one machine would be two machines.
            let mut variables = clouds.clone();
            variables.retain(|name, _| !name.starts_with("GPU_NODE_"));
            variables.extend([
                ("PORT".to_owned(), address.port().to_string()),
                ("PILOTLIGHT_BIND".to_owned(), "127.0.0.1".to_owned()),
                ("PILOTLIGHT_ALLOW_UNSIGNED".to_owned(), "true".to_owned()),
                ("KUBECONFIG".to_owned(), kubeconfig.display().to_string()),
            ]);
            let program = Program::new(&supervisor.with_file_name(name), &folder, variables);
            functions.insert(name, program);
            addresses.insert(name, address);
        }
        let sender = Sender::new(addresses.clone(), SPEED);
        let sending = sender.start(client.clone());
        let functions = Mutex::new(functions);
        let site = Site { control_plane, client, world, sender, fleet, clouds, functions, addresses, sending };
        for name in FUNCTIONS {
            site.start_function(name).await?;
        }
        Ok(site)
    }

    /// Ends it as `kill -9` does.
    pub fn kill_function(&self, name: &str) {
        if let Some(program) = self.functions.lock().unwrap_or_else(PoisonError::into_inner).get_mut(name) {
            program.kill();
        }
    }

    pub async fn start_function(&self, name: &str) -> Result<(), String> {
        if let Some(program) = self.functions.lock().unwrap_or_else(PoisonError::into_inner).get_mut(name) {
            program.start()?;
        }
        match self.addresses.get(name) {
            Some(address) => until_it_listens(*address).await,
            None => Err(format!("{name} is no function of this site")),
        }
    }

    /// `kubectl apply --server-side`, as the administrator.
    pub async fn apply(&self, yaml: &str) -> Result<(), String> {
        apply(&self.control_plane, yaml).await
    }

    pub async fn apply_json(&self, object: &Value) -> Result<(), String> {
        self.apply(&object.to_string()).await
    }

    /// What functions said last, for a failure that has to be understood.
    pub fn answers(&self) -> String {
        let answers = self.sender.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.iter().map(|(claim, answer)| format!("  {claim}: {answer}\n")).collect()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.sending.abort();
    }
}

/// Custom resources, our namespace, and an account for each function.
async fn prepare(control_plane: &ControlPlane) -> Result<(), String> {
    let crds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../infra/crds");
    apply(control_plane, &format!("apiVersion: v1\nkind: Namespace\nmetadata: {{name: {}}}\n", account::NAMESPACE))
        .await?;
    kubectl(control_plane, &["apply", "--server-side", "-f", &crds.display().to_string()], "").await?;
    kubectl(control_plane, &["wait", "--for=condition=Established", "crd", "--all", "--timeout=60s"], "").await?;
    for name in FUNCTIONS {
        apply(control_plane, &account::manifest(name)?).await?;
    }
    Ok(())
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

async fn beside(control_plane: &ControlPlane, fleet: Arc<JoinsHere>, env_file: &Path) -> Result<World, String> {
    let said = |why: &dyn std::fmt::Display| format!("the clouds do not start: {why}");
    let certificates = Arc::new(Certificates::new().map_err(|why| said(&why))?);
    let address = control_plane.facts.server.trim_start_matches("https://");
    let address: SocketAddr = address.parse().map_err(|why| said(&why))?;
    let clouds = Clouds::bind(address).await.map_err(|why| said(&why))?;
    let mut options = WorldOptions { beginning: Timestamp::now(), speed: SPEED, ..WorldOptions::default() };
    options.power.machines =
        (1..=RACK).map(|number| MachineOptions::new(&format!("rack-{number}"), BackEnd::Webhook, 1)).collect();
    let options = clouds.told_to(options);
    let lines = clouds.environment(&options, env_file);
    let world = World::beside(options, fleet);
    clouds.serve(&world, &certificates);
    clouds::write(env_file, &lines, &certificates)?;
    Ok(world)
}

fn pair(line: &str) -> Option<(String, String)> {
    line.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()))
}
