//! A control plane for tests: one for all tests of a process, gone when the process is.

use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use std::{
    path::{Path, PathBuf},
    process::Stdio,
};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
    sync::Mutex,
};

use crate::{
    components::Component,
    orders::{Order, Reply},
    supervisor::Facts,
};

/// The other end of the supervisor's pipes. When this process ends, in whatever way, the pipes close and it cleans up.
pub struct ControlPlane {
    pub facts: Facts,
    pipes: Mutex<Pipes>,
    _supervisor: Child,
}

struct Pipes {
    orders: ChildStdin,
    replies: Lines<BufReader<ChildStdout>>,
}

impl ControlPlane {
    /// `supervisor` is the program `control-plane`; a test knows it as `env!("CARGO_BIN_EXE_control-plane")`.
    pub async fn start(supervisor: &Path, without: &[Component]) -> Result<Self, String> {
        let mut command = Command::new(supervisor);
        command.arg("supervise").stdin(Stdio::piped()).stdout(Stdio::piped());
        if !without.is_empty() {
            let names: Vec<&str> = without.iter().map(|component| component.name()).collect();
            command.arg(format!("--without={}", names.join(",")));
        }
        let mut child = command.spawn().map_err(|why| format!("cannot start {}: {why}", supervisor.display()))?;
        let (Some(orders), Some(replies)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("the supervisor has no pipes".to_owned());
        };
        let mut pipes = Pipes { orders, replies: BufReader::new(replies).lines() };
        match pipes.reply().await? {
            Reply::Ready(facts) => Ok(ControlPlane { facts, pipes: Mutex::new(pipes), _supervisor: child }),
            Reply::Done | Reply::Failed(_) => Err("the supervisor is out of step".to_owned()),
        }
    }

    /// Of an administrator.
    pub async fn client(&self) -> Result<Client, String> {
        client_of(&self.facts.kubeconfig).await
    }

    pub async fn kill(&self, component: Component) -> Result<(), String> {
        self.order(&Order::Kill(component.name().to_owned())).await
    }

    pub async fn restart(&self, component: Component) -> Result<(), String> {
        self.order(&Order::Restart(component.name().to_owned())).await
    }

    /// Its logs stay, and where they are is told.
    pub async fn keep_folder(&self) -> Result<PathBuf, String> {
        self.order(&Order::KeepFolder).await?;
        Ok(self.facts.folder.clone())
    }

    async fn order(&self, order: &Order) -> Result<(), String> {
        let mut pipes = self.pipes.lock().await;
        let line = serde_json::to_string(order).map_err(|why| why.to_string())?;
        let sent = pipes.orders.write_all(format!("{line}\n").as_bytes()).await;
        sent.map_err(|why| format!("the supervisor takes no orders: {why}"))?;
        pipes.reply().await.map(|_| ())
    }
}

impl Pipes {
    async fn reply(&mut self) -> Result<Reply, String> {
        let line = self.replies.next_line().await.map_err(|why| why.to_string())?;
        let line = line.ok_or("the control plane did not start; what is wrong stands above")?;
        match serde_json::from_str(&line) {
            Ok(Reply::Failed(why)) => Err(why),
            Ok(reply) => Ok(reply),
            Err(why) => Err(format!("the supervisor said {line:?}: {why}")),
        }
    }
}

pub async fn client_of(kubeconfig: &Path) -> Result<Client, String> {
    let read = Kubeconfig::read_from(kubeconfig).map_err(|why| format!("{}: {why}", kubeconfig.display()))?;
    let config = Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await;
    let config = config.map_err(|why| format!("{}: {why}", kubeconfig.display()))?;
    Client::try_from(config).map_err(|why| why.to_string())
}
