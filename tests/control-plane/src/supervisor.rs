//! Starts the components in order, waits until each is ready, does what it is told on standard input, and leaves nothing
//! behind: when its input ends, because whoever started it has ended in whatever way, so does everything else.

use serde::{Deserialize, Serialize};
use spec::free_address;
use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};
use tempfile::TempDir;
use tokio::{
    process::{Child, Command},
    time::{Instant, sleep, timeout},
};

use crate::{
    components::{Addresses, Component, Layout},
    process::dying_with_us,
    programs::Programs,
    secrets::{self, Secrets},
};

/// Longer than a component takes on a machine that is busy with something else.
const READY_WITHIN: Duration = Duration::from_secs(120);

/// Who used what, for the proof of rights: one line a request, without bodies. Probes and the components' own traffic stay out.
const AUDIT_POLICY: &str = "apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - level: None
    users: [kwok, 'system:kube-scheduler', 'system:kube-controller-manager', 'system:apiserver']
  - level: None
    userGroups: ['system:serviceaccounts:kube-system']
  - level: None
    nonResourceURLs: ['/readyz*', '/livez*', '/healthz*']
  - level: Metadata
";

#[derive(Debug, thiserror::Error)]
pub enum Failed {
    #[error("{0}")]
    Secrets(#[from] secrets::Failed),
    #[error("cannot prepare the folder of the control plane: {0}")]
    Folder(#[from] io::Error),
    #[error("cannot start {name}: {why}")]
    Start { name: &'static str, why: io::Error },
    #[error("{name} did not become ready ({last}); it said last, in {}:\n{said}", log.display())]
    NotReady { name: &'static str, last: String, log: PathBuf, said: String },
    #[error("a client for readiness probes cannot be made: {0}")]
    Client(#[from] reqwest::Error),
}

/// What whoever started it has to know.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Facts {
    pub folder: PathBuf,
    /// Of an administrator.
    pub kubeconfig: PathBuf,
    pub server: String,
    pub audit_log: PathBuf,
    pub kubectl: PathBuf,
}

/// A control plane that runs. Dropping it ends it and removes its folder, unless that is to be kept.
pub struct Supervisor {
    layout: Layout,
    programs: Programs,
    running: BTreeMap<Component, Child>,
    probe: reqwest::Client,
    folder: Option<TempDir>,
}

impl Supervisor {
    /// `without` names what is not wanted: a test of the API server alone needs no scheduler.
    pub async fn start(programs: Programs, without: &[Component]) -> Result<Self, Failed> {
        let folder = tempfile::Builder::new().prefix("pilotlight-control-plane-").tempdir()?;
        let secrets = Secrets::make(folder.path())?;
        let addresses = Addresses {
            etcd: free_address()?,
            etcd_peer: free_address()?,
            api_server: free_address()?,
            controller_manager: free_address()?,
            scheduler: free_address()?,
            kwok: free_address()?,
        };
        let layout = Layout { folder: folder.path().to_owned(), addresses, secrets };
        layout.secrets.write_kubeconfigs(&layout.server())?;
        fs::write(layout.audit_policy(), AUDIT_POLICY)?;
        fs::write(layout.kwok_stages(), include_str!("kwok-stages.yaml"))?;
        let authority = reqwest::Certificate::from_pem(layout.secrets.authority_pem().as_bytes())?;
        let probe = reqwest::Client::builder().tls_certs_only([authority]).no_proxy().build()?;
        let mut supervisor = Supervisor { layout, programs, running: BTreeMap::new(), probe, folder: Some(folder) };
        let wanted: Vec<Component> = Component::ALL.into_iter().filter(|one| !without.contains(one)).collect();
        // The first two one after the other; the others all need only the API server.
        for component in wanted.iter().filter(|one| **one <= Component::ApiServer) {
            supervisor.spawn(*component)?;
            supervisor.until_ready(*component).await?;
        }
        for component in wanted.iter().filter(|one| **one > Component::ApiServer) {
            supervisor.spawn(*component)?;
        }
        for component in wanted.iter().filter(|one| **one > Component::ApiServer) {
            supervisor.until_ready(*component).await?;
        }
        Ok(supervisor)
    }

    pub fn facts(&self) -> Facts {
        Facts {
            folder: self.layout.folder.clone(),
            kubeconfig: self.layout.secrets.kubeconfig(secrets::ADMIN),
            server: self.layout.server(),
            audit_log: self.layout.audit_log(),
            kubectl: self.programs.path("kubectl"),
        }
    }

    /// Without a chance to say goodbye, as by a power cut.
    pub async fn kill(&mut self, component: Component) {
        if let Some(mut child) = self.running.remove(&component) {
            // It fails only if the process has ended already.
            let _ = child.kill().await;
        }
    }

    pub async fn restart(&mut self, component: Component) -> Result<(), Failed> {
        self.kill(component).await;
        self.spawn(component)?;
        self.until_ready(component).await
    }

    /// Its folder with all logs stays where it is.
    pub fn keep_folder(&mut self) {
        if let Some(folder) = self.folder.take() {
            let _ = folder.keep();
        }
    }

    /// Ends everything, those that depend on others first.
    pub async fn stop(mut self) {
        for component in Component::ALL.into_iter().rev() {
            self.kill(component).await;
        }
    }

    fn spawn(&mut self, component: Component) -> Result<(), Failed> {
        let name = component.name();
        let failed = |why| Failed::Start { name, why };
        let log = fs::OpenOptions::new().create(true).append(true).open(self.log(component)).map_err(failed)?;
        let errors = log.try_clone().map_err(failed)?;
        let mut command = Command::from(dying_with_us(&self.programs.path(name)));
        command.args(component.arguments(&self.layout)).current_dir(&self.layout.folder);
        command.stdin(Stdio::null()).stdout(log).stderr(errors).kill_on_drop(true);
        self.running.insert(component, command.spawn().map_err(failed)?);
        Ok(())
    }

    async fn until_ready(&mut self, component: Component) -> Result<(), Failed> {
        let url = component.readiness(&self.layout.addresses);
        let token = fs::read_to_string(self.layout.folder.join(format!("{}.token", secrets::ADMIN)))?;
        let end = Instant::now() + READY_WITHIN;
        let mut last = "never asked".to_owned();
        while Instant::now() < end {
            let answer = timeout(Duration::from_secs(5), self.probe.get(&url).bearer_auth(token.trim()).send()).await;
            last = match answer {
                Ok(Ok(answer)) if answer.status().is_success() => return Ok(()),
                Ok(Ok(answer)) => answer.status().to_string(),
                Ok(Err(error)) => error.to_string(),
                Err(_) => "no answer".to_owned(),
            };
            let ended = self.running.get_mut(&component).and_then(|child| child.try_wait().ok().flatten());
            if let Some(status) = ended {
                last = format!("it ended with {status}");
                break;
            }
            // Nothing tells when a foreign process is ready but asking it.
            sleep(Duration::from_millis(50)).await;
        }
        let log = self.log(component);
        let said = last_lines(&log);
        self.keep_folder();
        Err(Failed::NotReady { name: component.name(), last, log, said })
    }

    fn log(&self, component: Component) -> PathBuf {
        self.layout.folder.join(format!("{}.log", component.name()))
    }
}

fn last_lines(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(15)..].join("\n")
}
