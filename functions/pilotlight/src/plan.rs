//! `pilotlight plan`: what would be done with a cluster that is given as YAML files. No cluster, no cloud, no network.

mod answer;
mod budgets;
mod bundled;
mod catalogue;
mod complete;
mod consolidate;
mod files;
mod implied;
mod link;
mod manifest;
mod show;
mod strict;
mod workloads;

use clap::ValueEnum;
use cluster::scene::{SceneRead, SceneSource, machine_quotas, read_scene, scheduler_config};
use jiff::Timestamp;
use model::place::{MinValues, Placing, Policy, Preferences};
use std::{
    env,
    io::{self, Write as _},
    path::PathBuf,
    process::ExitCode,
    time::{Duration, Instant},
};

use crate::Output;
use answer::Answer;
use catalogue::Market;
use manifest::Manifest;

pub const AFTER_HELP: &str = "Examples:
  pilotlight plan -f cluster.yaml                            what the providers' own catalogues offer
  pilotlight plan -f nodes/ -f pods.yaml --catalog types.json -o json
  kubectl get nodes,nodeclaims,nodepools,pods,ds -A -o yaml | pilotlight plan -f -
  kubectl get nodes,nodeclaims,nodepools,pods,ds,pdb -A -o yaml | pilotlight plan -f - --consolidate

Exit: 0; 2 if a pod has no option; 1 for an error in the input, which names file, document and field.
SCHEDULER_CONFIG, PREFERENCE_POLICY and MIN_VALUES_POLICY, if set, are read as Karpenter reads them. More: docs/plan.md";

#[derive(Debug, clap::Args)]
pub struct Plan {
    /// Kubernetes YAML or JSON: a file, a folder (all .yaml, .yml and .json below it), or - for standard input
    #[arg(short, long = "file", required = true, value_name = "FILE|DIR", num_args = 1..)]
    file: Vec<PathBuf>,
    /// What can be bought: our format, or the instance types of Karpenter's KWOK provider. Replaces all others
    #[arg(long, value_name = "FILE")]
    catalog: Option<PathBuf>,
    /// The time in the cluster, RFC 3339; the real one if not set
    #[arg(long, value_name = "TIME", value_parser = instant)]
    now: Option<Timestamp>,
    /// Say too which nodes would be taken away or replaced, and why each other one stays
    #[arg(long)]
    consolidate: bool,
    /// Whether preferences steer at all; PREFERENCE_POLICY or Respect if not set
    #[arg(long, value_enum)]
    preference_policy: Option<PreferencePolicy>,
    /// Whether the minValues of a pool may give way; MIN_VALUES_POLICY or Strict if not set
    #[arg(long, value_enum)]
    min_values_policy: Option<MinValuesPolicy>,
    /// The limit for one solve, as in 30s: what is not reached by then is left out
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = limit)]
    timeout: Duration,
    /// Solve this many times; solveMs is the median
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    repeat: u32,
    /// List no more than this many offerings of a claim, the cheapest; 0 is all
    #[arg(long, value_name = "N", default_value_t = 0)]
    max_offerings: usize,
    /// How to show the answer
    #[arg(short, long, value_enum, default_value = "table")]
    output: Output,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
enum PreferencePolicy {
    #[default]
    #[value(name = "Respect")]
    Respect,
    #[value(name = "Ignore")]
    Ignore,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
enum MinValuesPolicy {
    #[default]
    #[value(name = "Strict")]
    Strict,
    #[value(name = "BestEffort")]
    BestEffort,
}

/// A pod has no option.
const NO_OPTION: u8 = 2;

pub fn run(arguments: &Plan) -> ExitCode {
    let answer = match plan(arguments) {
        Ok(answer) => answer,
        Err(why) => {
            eprintln!("pilotlight plan: {why}");
            return ExitCode::FAILURE;
        }
    };
    for warning in &answer.warnings {
        eprintln!("pilotlight plan: {warning}");
    }
    let mut out = io::BufWriter::new(io::stdout().lock());
    // A closed pipe (`| head`) is no failure of ours.
    drop(match arguments.output {
        Output::Table => out.write_all(show::table(&answer).as_bytes()),
        Output::Json => answer.write_json(&mut out),
    });
    drop(out.flush());
    if answer.some_pod_has_no_option() { ExitCode::from(NO_OPTION) } else { ExitCode::SUCCESS }
}

fn plan(arguments: &Plan) -> Result<Answer, String> {
    let mut manifest = Manifest::default();
    files::read_all(&arguments.file, &mut manifest)?;
    let now = arguments.now.unwrap_or_else(Timestamp::now);
    complete::complete(&mut manifest, now, arguments.consolidate);
    let (market, nobody_made_a_pool) = match &arguments.catalog {
        Some(file) => (Market::from_file(file)?, false),
        None => {
            let added = implied::add(&mut manifest);
            (bundled::market(&mut manifest)?, added)
        }
    };
    let config = env::var("SCHEDULER_CONFIG").unwrap_or_default();
    let default_spread = scheduler_config(&config).map_err(|why| format!("SCHEDULER_CONFIG: {why}"))?;
    let policy = policy(arguments)?;
    let classes = std::mem::take(&mut manifest.classes);
    let (source, warnings) = manifest.into_source(&market);
    let source = SceneSource { default_spread, policy, now, ..source };
    let mut read = read_scene(&source);
    read.scene.quotas = machine_quotas(&market.machines, &read.scene.nodes);
    if nobody_made_a_pool {
        implied::leave_out_others(&mut read);
    }
    let (placing, solve) = solve(&read, arguments);
    let most = if arguments.max_offerings == 0 { usize::MAX } else { arguments.max_offerings };
    let mut answer = Answer::new(&source, &read, &placing, &market, most, solve);
    if arguments.consolidate {
        consolidate::add(&mut answer, &source, &classes, read, &market, most, arguments.timeout);
    }
    answer.warnings.splice(0..0, warnings);
    Ok(answer)
}

fn policy(arguments: &Plan) -> Result<Policy, String> {
    Ok(Policy {
        preferences: match setting(arguments.preference_policy, "PREFERENCE_POLICY")? {
            PreferencePolicy::Respect => Preferences::Respect,
            PreferencePolicy::Ignore => Preferences::Ignore,
        },
        min_values: match setting(arguments.min_values_policy, "MIN_VALUES_POLICY")? {
            MinValuesPolicy::Strict => MinValues::Strict,
            MinValuesPolicy::BestEffort => MinValues::BestEffort,
        },
        ..Policy::default()
    })
}

/// What the command line says, else the variable, else what is usual.
fn setting<T: ValueEnum + Default>(given: Option<T>, variable: &str) -> Result<T, String> {
    match (given, env::var(variable).unwrap_or_default().as_str()) {
        (Some(given), _) => Ok(given),
        (None, "") => Ok(T::default()),
        (None, text) => T::from_str(text, true).map_err(|_| {
            let known = T::value_variants().iter().filter_map(ValueEnum::to_possible_value);
            let known: Vec<String> = known.map(|one| one.get_name().to_owned()).collect();
            format!("{variable} is {text:?}: write {}", known.join(" or "))
        }),
    }
}

/// The first answer, and the median time: of the solve alone.
fn solve(read: &SceneRead, arguments: &Plan) -> (Placing, Duration) {
    let mut times = Vec::new();
    let mut first = None;
    for _ in 0..arguments.repeat.max(1) {
        let begun = Instant::now();
        let placing = decide::place::place(&read.scene, &mut || begun.elapsed() < arguments.timeout);
        times.push(begun.elapsed());
        first.get_or_insert(placing);
    }
    times.sort_unstable();
    (first.unwrap_or_default(), times.get(times.len() / 2).copied().unwrap_or_default())
}

fn instant(text: &str) -> Result<Timestamp, String> {
    text.parse().map_err(|_| format!("{text:?} is not a time: write it as in 2026-03-01T00:00:00Z"))
}

fn limit(text: &str) -> Result<Duration, String> {
    let read = model::duration::parse(text).and_then(|read| Duration::try_from(read).ok());
    read.filter(|read| !read.is_zero()).ok_or_else(|| format!("{text:?} is not a time: write it as in 30s or 2m"))
}
