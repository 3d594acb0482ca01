//! `pilotlight demo`: claims become nodes, pods that wait get theirs, and all go again, on a simulated cluster with three clouds,
//! told line by line.

mod keep;
mod life;
mod pods;
mod script;
mod show;
mod watch;

use clap::ValueEnum;
use jiff::SignedDuration;
use stage::Messenger;
use std::{error::Error, fmt, path::PathBuf, process::ExitCode, str::FromStr};
use world::{World, WorldOptions};

use script::Script;
use show::Screen;
use watch::Watch;

type Failure = Box<dyn Error>;

pub const AFTER_HELP: &str = "Examples:
  pilotlight demo                        the claims and pods that come with it
  pilotlight demo --speed max            the same, without waiting
  pilotlight demo --claims my-claim.yaml how a claim of yours would live
  pilotlight demo --keep                 a cluster to play with: kubectl get nodeclaims -w

The phases are those of a NodeClaim's conditions (Launched, Registered, Ready, Drained), with what happens to its Node,
its pods and its machine between them. Exit 0: every claim was Ready and is gone, and every invariant held.";

#[derive(Debug, clap::Args)]
pub struct Demo {
    /// Seconds of the world in a second of ours, or `max`: its clock jumps from event to event
    #[arg(long, default_value = "20", value_name = "N")]
    speed: Speed,
    /// YAML files with NodePools, NodeClaims and Pods, instead of those that come with it
    #[arg(long, value_name = "FILE", num_args = 1..)]
    claims: Vec<PathBuf>,
    /// Serve the cluster on loopback, leave the claims alone once they are Ready, and go on until Ctrl-C
    #[arg(long)]
    keep: bool,
    /// How to tell it
    #[arg(short, long, value_enum, default_value = "text")]
    output: Form,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    /// A line for each phase, as it is reached
    Text,
    /// One object, at the end
    Json,
}

/// How fast the world's time passes.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Speed {
    Times(f64),
    /// Nobody waits: whenever all are idle the clock jumps to what comes next.
    Max,
}

impl FromStr for Speed {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "max" {
            return Ok(Speed::Max);
        }
        let usable = |number: &f64| (0.1..=1000.0).contains(number);
        text.parse().ok().filter(usable).map(Speed::Times).ok_or("a speed is a number from 0.1 to 1000, or max")
    }
}

impl fmt::Display for Speed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Speed::Times(number) => write!(f, "{number} times as fast as ours"),
            Speed::Max => write!(f, "as fast as it can"),
        }
    }
}

pub fn run(arguments: &Demo) -> ExitCode {
    let paused = arguments.speed == Speed::Max;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(paused).build();
    match runtime.map_err(Failure::from).and_then(|runtime| runtime.block_on(play(arguments))) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("pilotlight demo: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Whether all went as it should.
async fn play(arguments: &Demo) -> Result<bool, Failure> {
    if arguments.keep && arguments.speed == Speed::Max {
        return Err("with --keep the clock has to run: give --speed a number".into());
    }
    let scene = script::read(&arguments.claims)?;
    let mut options = WorldOptions::default();
    if let Speed::Times(speed) = arguments.speed {
        options.speed = speed;
    }
    options.scaleway.join_secrets = Some(vec![stage::JOIN_TOKEN.to_owned()]);
    let world = World::start(options);
    script::install_definitions(&world).await?;
    let mut screen = Screen::new(arguments.output, scene.widest());
    screen.say(&format!("A cluster and three clouds in memory; their time runs {}.", arguments.speed));
    // Held until the end: the file goes when it is dropped.
    let _kubeconfig = if arguments.keep { Some(keep::serve(&world, &mut screen).await?) } else { None };
    let messenger = Messenger::new(&world, &[on_pending_pod::function, on_nodeclaim::function, on_delete::function]);
    let mut script = Script::new(&world, Watch::new(&world), screen);
    let functions = tokio::spawn(script.listening(messenger).run());
    tokio::select! {
        played = script.play(&scene, arguments.keep) => played?,
        _ = functions => return Err("the functions did not start".into()),
        stopped = tokio::signal::ctrl_c(), if arguments.keep => stopped?,
    }
    Ok(script.end(arguments.keep))
}

/// `4m16s`.
fn span(span: SignedDuration) -> String {
    let seconds = span.as_secs().max(0);
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds}s"),
        (0, minutes, seconds) => format!("{minutes}m{seconds:02}s"),
        (hours, minutes, seconds) => format!("{hours}h{minutes:02}m{seconds:02}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_speed_is_a_number_or_max() {
        assert_eq!(
            ["20", "0.5", "max"].map(str::parse),
            [Ok(Speed::Times(20.0)), Ok(Speed::Times(0.5)), Ok(Speed::Max)]
        );
        for wrong in ["", "0", "-1", "nan", "inf", "1001", "fast"] {
            assert!(wrong.parse::<Speed>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_span_is_told_in_the_units_it_has() {
        assert_eq!([9, 256, 3661].map(|seconds| span(SignedDuration::from_secs(seconds))), ["9s", "4m16s", "1h01m01s"]);
    }
}
