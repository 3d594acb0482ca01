//! The command line: build the programs, hold a control plane for a person, or hold one for tests.

use clap::{Parser, Subcommand};
use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    signal::unix::{SignalKind, signal},
};

use crate::{
    components::Component,
    measure,
    orders::{Order, Reply},
    programs::Programs,
    scale::{self, Load},
    supervisor::Supervisor,
    versions::{KARPENTER_VERSION, KUBERNETES},
};

/// Says that there can be no control plane here, apart from every other failure.
const NOT_POSSIBLE: u8 = 3;

/// A real Kubernetes control plane (etcd, kube-apiserver, kube-controller-manager, kube-scheduler, KWOK) on loopback.
///
/// Programs are looked for in the folder that KUBEBUILDER_ASSETS names, then among what was built before, and are built
/// from the Go module proxy with the machine's Go otherwise.
#[derive(Debug, Parser)]
#[command(name = "control-plane", version)]
struct Arguments {
    #[command(subcommand)]
    command: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Find or build the programs, and say where they are; exit code 3 if that is not possible here
    Build,
    /// Start one and keep it until Ctrl-C
    Start {
        /// Also write the administrator's kubeconfig here
        #[arg(long, value_name = "FILE")]
        kubeconfig: Option<PathBuf>,
    },
    /// Fill one with nodes and pods, let further pods wait for us and for Karpenter, and measure both
    Scale {
        /// Nodes that are there, all full
        #[arg(long, default_value_t = 1000)]
        nodes: usize,
        /// Pods that run on them
        #[arg(long, default_value_t = 10_000)]
        bound: usize,
        /// Pods that wait all at once
        #[arg(long, default_value_t = 200)]
        pods: usize,
        /// Pods that wait one after the other, before that
        #[arg(long, default_value_t = 20)]
        single: usize,
        /// The folder of our programs; without one, that of this program
        #[arg(long, value_name = "FOLDER")]
        programs: Option<PathBuf>,
        /// JSON instead of a table
        #[arg(long)]
        json: bool,
    },
    /// Start one for a test: orders come in on standard input, and its end is the end of everything
    Supervise {
        /// Components to leave out, separated by commas
        #[arg(long, value_delimiter = ',')]
        without: Vec<String>,
    },
}

pub fn run() -> ExitCode {
    let arguments = Arguments::parse();
    // Two providers are linked nowhere, so the first is the only one; it fails only if it was chosen before.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let programs = match Programs::find_or_build() {
        Ok(programs) => programs,
        Err(why) => {
            eprintln!("control-plane: there can be no control plane here: {why}");
            return ExitCode::from(NOT_POSSIBLE);
        }
    };
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(why) => {
            eprintln!("control-plane: cannot start: {why}");
            return ExitCode::FAILURE;
        }
    };
    let ended = runtime.block_on(async {
        match arguments.command {
            Task::Build => {
                programs.iter().for_each(|(name, path)| println!("{name:24} {}", path.display()));
                Ok(())
            }
            Task::Start { kubeconfig } => for_a_person(programs, kubeconfig).await,
            Task::Scale { nodes, bound, pods, single, programs, json } => {
                beside_a_peer(Load { nodes, bound, single, burst: pods }, programs, json).await
            }
            Task::Supervise { without } => for_a_test(programs, &without).await,
        }
    });
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("control-plane: {why}");
            ExitCode::FAILURE
        }
    }
}

async fn for_a_person(programs: Programs, kubeconfig: Option<PathBuf>) -> Result<(), String> {
    eprintln!("Starting Kubernetes {KUBERNETES}: etcd, API server, controller manager, scheduler, and KWOK ...");
    let supervisor = Supervisor::start(programs, &[]).await.map_err(|why| why.to_string())?;
    let facts = supervisor.facts();
    let shown = match kubeconfig {
        Some(path) => {
            let copied = std::fs::copy(&facts.kubeconfig, &path);
            copied.map_err(|why| format!("cannot write {}: {why}", path.display()))?;
            path
        }
        None => facts.kubeconfig,
    };
    println!("Ready: {}\n", facts.server);
    println!("  export KUBECONFIG={}", shown.display());
    println!("  alias kubectl={}\n", facts.kubectl.display());
    println!("Nodes annotated kwok.x-k8s.io/node=fake are kept alive. Logs: {}/*.log", facts.folder.display());
    println!("Ctrl-C stops it and removes everything.");
    until_interrupted().await?;
    println!("\nStopping ...");
    supervisor.stop().await;
    Ok(())
}

async fn beside_a_peer(load: Load, programs: Option<PathBuf>, json: bool) -> Result<(), String> {
    let supervisor = std::env::current_exe().map_err(|why| format!("cannot find this program: {why}"))?;
    let own = supervisor.parent().map(Path::to_owned).unwrap_or_default();
    eprintln!("Kubernetes {KUBERNETES}, Karpenter {KARPENTER_VERSION}, {load:?} ...");
    let measured = scale::measure(&supervisor, &programs.unwrap_or(own), load).await?;
    if json {
        println!("{}", serde_json::to_string(&measured).map_err(|why| why.to_string())?);
    } else {
        println!("{}", measure::table(&measured));
    }
    let missing = measured.iter().find(|one| one.running < one.pods);
    missing.map_or(Ok(()), |one| Err(format!("{}: only {} of {} pods ran", one.system, one.running, one.pods)))
}

async fn for_a_test(programs: Programs, without: &[String]) -> Result<(), String> {
    let known = |name: &String| Component::named(name).ok_or_else(|| format!("{name} is no component"));
    let without = without.iter().map(known).collect::<Result<Vec<_>, _>>()?;
    let mut supervisor = match Supervisor::start(programs, &without).await {
        Ok(supervisor) => supervisor,
        Err(why) => {
            say(&Reply::Failed(why.to_string()));
            return Err(why.to_string());
        }
    };
    say(&Reply::Ready(supervisor.facts()));
    let mut orders = BufReader::new(tokio::io::stdin()).lines();
    let mut interrupted = std::pin::pin!(until_interrupted());
    loop {
        let line = tokio::select! {
            // Ctrl-C reaches the test too; it ends by itself, and then so do we.
            _ = &mut interrupted => break,
            line = orders.next_line() => line,
        };
        let Ok(Some(line)) = line else { break };
        say(&obey(&mut supervisor, &line).await);
    }
    supervisor.stop().await;
    Ok(())
}

async fn obey(supervisor: &mut Supervisor, line: &str) -> Reply {
    let order: Order = match serde_json::from_str(line) {
        Ok(order) => order,
        Err(why) => return Reply::Failed(format!("{line:?} is no order: {why}")),
    };
    let component = |name: &str| Component::named(name).ok_or_else(|| Reply::Failed(format!("{name} is no component")));
    match order {
        Order::KeepFolder => {
            supervisor.keep_folder();
            Reply::Done
        }
        Order::Kill(name) => match component(&name) {
            Ok(component) => {
                supervisor.kill(component).await;
                Reply::Done
            }
            Err(reply) => reply,
        },
        Order::Restart(name) => match component(&name) {
            Ok(component) => match supervisor.restart(component).await {
                Ok(()) => Reply::Done,
                Err(why) => Reply::Failed(why.to_string()),
            },
            Err(reply) => reply,
        },
    }
}

fn say(reply: &Reply) {
    // A reply always serializes: its maps have text for keys.
    println!("{}", serde_json::to_string(reply).unwrap_or_default());
}

async fn until_interrupted() -> Result<(), String> {
    let listen = |kind| signal(kind).map_err(|why| format!("cannot listen for signals: {why}"));
    let (mut interrupt, mut terminate) = (listen(SignalKind::interrupt())?, listen(SignalKind::terminate())?);
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    Ok(())
}
