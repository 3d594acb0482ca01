//! Measures what the design promises of the built binaries, prints a table and writes it as JSON. Run by `make bench`.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod answer;
mod consolidate;
mod event;
mod forwarder;
mod forwarder_events;
mod http;
mod latency;
mod loopback;
mod paused;
mod platform;
mod process;
mod providers;
mod report;
mod runtime_api;
mod size;
mod solver;
mod start;
mod statistics;
mod warm;
mod week;
mod world;

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, ValueEnum};

use crate::report::{Measurement, as_json, as_table, missed};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Measures the built functions: size, start to first answer, warm requests and memory.
#[derive(Debug, Parser)]
#[command(name = "bench")]
struct Arguments {
    /// Where `make build` left the binaries.
    #[arg(long, default_value = "target/bin")]
    bin_dir: PathBuf,
    /// Where the results go as JSON; logs of what was measured go beside it.
    #[arg(long, default_value = "target/bench/results.json")]
    out: PathBuf,
    /// How often each start is measured.
    #[arg(long, default_value_t = 40, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Fail if a goal does not hold.
    #[arg(long)]
    check: bool,
    /// Measure one part alone. The results have only its rows then.
    #[arg(long, value_enum)]
    only: Option<Part>,
    #[command(flatten)]
    data: solver::Data,
    /// What the process does that `solver.peak_mib` is measured in.
    #[arg(long, hide = true)]
    print_solver_peak: bool,
}

/// What can be measured by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// The built binaries: size, start, warm requests, memory.
    Functions,
    /// The simulated cluster.
    World,
    /// Catalogue, requests and bursts of the providers.
    Providers,
    /// The forwarder: memory idle and full, and events a second.
    Forwarder,
    /// From a pod that waits to the request at the cloud.
    Latency,
    /// Placing pods: speed, nodes, memory, packing.
    Solver,
    /// Deciding which nodes go.
    Consolidate,
    /// A simulated week: what is paid for and what is used, with three rules for taking nodes away.
    Week,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments) {
        Ok(missed) if arguments.check && missed > 0 => {
            eprintln!("bench: {missed} goal(s) do not hold");
            ExitCode::FAILURE
        }
        Ok(_) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("bench: {failure}");
            ExitCode::FAILURE
        }
    }
}

/// Answers how many goals were missed.
fn run(arguments: &Arguments) -> Result<usize> {
    if arguments.print_solver_peak {
        return solver::print_peak(&arguments.data).map(|()| 0);
    }
    let folder = arguments.out.parent().map(PathBuf::from).unwrap_or_default();
    fs::create_dir_all(&folder).map_err(|cause| format!("{}: {cause}", folder.display()))?;

    let measurements = measure(arguments, &folder)?;
    print!("{}", as_table(&measurements));
    let json = as_json(&measurements)?;
    fs::write(&arguments.out, json).map_err(|cause| format!("{}: {cause}", arguments.out.display()))?;
    println!("\nwritten to {}", arguments.out.display());
    Ok(missed(&measurements))
}

/// New measurements are one module with a `measure` and one line here.
fn measure(arguments: &Arguments, logs: &Path) -> Result<Vec<Measurement>> {
    let wanted = |part: Part| arguments.only.is_none_or(|only| only == part);
    let mut measurements = vec![];
    if wanted(Part::Functions) {
        measurements.extend(measure_functions(arguments, logs)?);
    }
    if wanted(Part::World) {
        measurements.extend(world::measure()?);
    }
    if wanted(Part::Providers) {
        measurements.extend(providers::measure()?);
    }
    if wanted(Part::Forwarder) {
        measurements.extend(forwarder::measure(&arguments.bin_dir, logs)?);
        measurements.push(forwarder_events::measure()?);
    }
    if wanted(Part::Latency) {
        measurements.extend(latency::measure(&arguments.bin_dir, logs)?);
    }
    if wanted(Part::Solver) {
        measurements.extend(solver::measure(&arguments.data)?);
    }
    if wanted(Part::Consolidate) {
        measurements.extend(consolidate::measure()?);
    }
    if wanted(Part::Week) {
        measurements.extend(week::measure()?);
    }
    Ok(measurements)
}

fn measure_functions(arguments: &Arguments, logs: &Path) -> Result<Vec<Measurement>> {
    let binaries = size::find(&arguments.bin_dir)?;
    let event = event::Event::rehearsal();
    let function = process::Program::new(&arguments.bin_dir, size::MEASURED_FUNCTION, logs);
    let linked = binaries.linked().then(|| process::Program::new(&arguments.bin_dir, size::LINKED, logs));

    let mut measurements = size::measure(&binaries);
    measurements.extend(start::measure(&function, linked.as_ref(), &event, arguments.runs)?);
    measurements.extend(warm::measure(&function, &event)?);
    Ok(measurements)
}
