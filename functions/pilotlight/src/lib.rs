//! The command line: what can be said, and who does it.

mod demo;
mod plan;
mod replay;
mod run;
mod table;

use clap::{CommandFactory as _, Parser, Subcommand, ValueEnum};
use host::{Function, PartsSource};
use std::{
    io::{self, Write as _},
    path::PathBuf,
    process::ExitCode,
};

/// GPU nodes for any Kubernetes cluster, on demand, from small stateless functions.
#[derive(Debug, Parser)]
#[command(name = "pilotlight", version, after_help = AFTER_HELP)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

const AFTER_HELP: &str = "Examples:
  pilotlight demo                                      pods get nodes, claims become nodes, all go again; nothing is needed
  pilotlight plan -f cluster.yaml                      what nodes would come for these pods, and at what price
  pilotlight replay events/samples                     send every sample event, see the answers
  pilotlight run                                       all of it, for the cluster of KUBECONFIG
  PILOTLIGHT_ALLOW_UNSIGNED=true pilotlight serve      serve all functions on port 8080
  pilotlight crds | kubectl apply --server-side -f -   install the custom resources
  pilotlight completion bash > /etc/bash_completion.d/pilotlight";

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve all five functions in one process
    ///
    /// On HTTP each is at /<function>. Under the Azure Functions host the host's function names are used, and on AWS
    /// Lambda the event's type decides. Settings come from the environment.
    #[command(after_help = host::settings_help())]
    Serve,
    /// The forwarder and all functions in one process, for the cluster of KUBECONFIG
    ///
    /// Watches the cluster, tells the functions what happens in it, and does what they answer: pods that find no node get
    /// one, NodeClaims become machines, deleted ones go. Goes on until SIGTERM or Ctrl-C.
    #[command(after_help = run::AFTER_HELP)]
    Run,
    /// Watch pods get their nodes, and NodeClaims become nodes and go again, on a simulated cluster with three clouds
    ///
    /// Everything runs in this process: no account, no cluster, no network, and nothing is left behind. Pods wait for GPUs
    /// and get nodes; three claims are made by hand (AKS as KAITO asks for it, Scaleway, a machine in a rack); the functions
    /// bring all of them to life, pods run, and they are deleted again. Each phase is a line: time of the world, claim or
    /// pod, provider, phase, and what happened.
    #[command(after_help = demo::AFTER_HELP)]
    Demo(demo::Demo),
    /// Say which nodes would be made for the pods in YAML files, offline
    ///
    /// The files are ordinary Kubernetes objects: pods and workloads, nodes, NodePools, NodeClaims, DaemonSets, volumes,
    /// namespaces. Where each pod goes is said, at what price, or why it goes nowhere. Nothing is asked and nothing is made.
    #[command(after_help = plan::AFTER_HELP)]
    Plan(plan::Plan),
    /// Send stored events to the functions and show their answers
    ///
    /// Starts the functions on loopback in this process and sends them each file as it is: over HTTP, or by a plain
    /// call. A file is named <function>.<case>.json, as in events/samples.
    Replay(Replay),
    /// Print every custom resource definition as YAML
    ///
    /// Those we define (ScalewayNodeClass, PowerNodeClass) and those we serve (NodeClaim, NodePool, AKSNodeClass,
    /// KaitoNodeClass). Leave out what Karpenter or Azure has installed already.
    #[command(after_help = "Example:\n  pilotlight crds | kubectl apply --server-side -f -")]
    Crds,
    /// Print a shell completion script
    Completion { shell: clap_complete::Shell },
}

#[derive(Debug, clap::Args)]
struct Replay {
    /// Files, or folders with files, named <function>.<case>.json
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// How to send them
    #[arg(long, value_enum, default_value = "http")]
    via: Via,
    /// How to show the answers
    #[arg(short, long, value_enum, default_value = "table")]
    output: Output,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Via {
    /// CloudEvents over HTTP on loopback
    Http,
    /// A plain call in this process
    Call,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Output {
    Table,
    Json,
}

/// All functions of this product. A new one is a new line.
pub fn functions(parts: PartsSource) -> Vec<Function> {
    vec![
        on_pending_pod::function(parts.clone()),
        on_nodeclaim::function(parts.clone()),
        on_workspace::function(),
        on_idle_timer::function(parts.clone()),
        on_delete::function(parts),
    ]
}

/// The whole of `main`.
pub fn run() -> ExitCode {
    let line = match CommandLine::try_parse() {
        Ok(line) => line,
        // Not 2, as usual: by that a plan says that a pod has no place.
        Err(error) => {
            _ = error.print();
            return if error.use_stderr() { ExitCode::FAILURE } else { ExitCode::SUCCESS };
        }
    };
    match line.command {
        Command::Serve => host::serve_from_env(functions),
        Command::Run => run::run(),
        Command::Demo(arguments) => demo::run(&arguments),
        Command::Plan(arguments) => plan::run(&arguments),
        Command::Replay(arguments) => replay::run(&arguments),
        Command::Crds => print_definitions(),
        Command::Completion { shell } => {
            clap_complete::generate(shell, &mut CommandLine::command(), "pilotlight", &mut io::stdout());
            ExitCode::SUCCESS
        }
    }
}

/// A reader that closes early, as `head` does, is no failure worth a panic.
fn print_definitions() -> ExitCode {
    let written = cluster::crd::yaml().map_err(io::Error::other);
    match written.and_then(|text| io::stdout().write_all(text.as_bytes())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("pilotlight crds: {error}");
            ExitCode::FAILURE
        }
    }
}
