//! The solver: the workload of Karpenter's scheduling benchmark, pods with preferences, and the GPU pods of the openb trace.

mod check;
mod draw;
mod mix;
mod openb;
mod peak;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use model::place::{Placing, Scene};
use sha2::{Digest as _, Sha256};

use crate::Result;
use crate::report::Measurement;
use crate::statistics::milliseconds;

pub use mix::scene as mixed;
pub use peak::print as print_peak;

/// How many pods, and the beginning of the checksum of the benchmark's own lines.
const SIZES: [(usize, &str); 7] = [
    (50, "7f2c38ada6b2767b"),
    (500, "2aef4df15d3082c5"),
    (1000, "4ee354ed46a1890a"),
    (2000, "80a06b1e4a9d3df1"),
    (5000, "87b0650b12d2037b"),
    (10_000, "5066260b4abb9832"),
    (20_000, "1d070fcc76018f2d"),
];

/// Runs of each solve; the fastest counts, because others share the machine. What is short is run more often: of many runs one is
/// undisturbed.
const RUNS: usize = 5;
const MOST_RUNS: usize = 200;
const LONG_ENOUGH: Duration = Duration::from_millis(500);

/// The lists of the openb trace, the beginning of their checksums, and how many nodes are 1 % over the optimum.
const TRACES: [(&str, &str, f64); 2] =
    [("default", "1ee7ed79c27a3b08", 793.0), ("multigpu50", "206f2f5959db30ec", 1394.0)];

/// Files that are not ours to hold: each part that needs one is left out without it.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct Data {
    /// A folder with `diverse_<N>.csv`, the pods of Karpenter's benchmark. Without it, pods of the same kinds are drawn.
    #[arg(long)]
    karpenter_bench: Option<PathBuf>,
    /// A folder with the pod lists of the openb trace. Without it, nothing is packed.
    #[arg(long)]
    openb: Option<PathBuf>,
}

pub fn measure(data: &Data) -> Result<Vec<Measurement>> {
    if data.karpenter_bench.is_none() {
        println!("solver: no --karpenter-bench, so pods of the same kinds are drawn from our own stream");
    }
    let mut measurements = vec![];
    for (count, checksum) in SIZES {
        measurements.extend(measure_mix(data, count, checksum)?);
    }
    measurements.push(Measurement::at_most("solver.peak_mib.20000", peak::measure(data)?, "MiB", 64.0));
    measurements.extend(measure_preferences()?);
    if let Some(folder) = &data.openb {
        for (name, checksum, goal) in TRACES {
            measurements.extend(measure_packing(folder, name, checksum, goal)?);
        }
    } else {
        println!("solver: no --openb, so nothing is packed");
    }
    Ok(measurements)
}

fn measure_mix(data: &Data, count: usize, checksum: &str) -> Result<Vec<Measurement>> {
    let lines = lines(data, count, Some(checksum))?;
    let scene = mix::scene(&lines)?;
    let (placing, time) = solve(&scene);
    check::mix(&scene, &placing)?;
    let name = |what: &str| format!("solver.{what}.{count}");
    let (took, rate) = (milliseconds(time), count as f64 / time.as_secs_f64());
    let nodes = Measurement::at_most(name("nodes"), placing.claims.len() as f64, "nodes", (count / 5) as f64);
    Ok(match count {
        50 => vec![Measurement::at_most(name("ms"), took, "ms", 1.0), nodes],
        5000 | 20_000 => vec![Measurement::at_least(name("pods_per_second"), rate, "pods/s", 100_000.0), nodes],
        _ => vec![Measurement::new(name("pods_per_second"), rate, "pods/s"), nodes],
    })
}

fn measure_preferences() -> Result<Vec<Measurement>> {
    let scene = mix::preferences(4000)?;
    let (placing, time) = solve(&scene);
    check::capacity(&scene, &placing)?;
    Ok(vec![
        Measurement::at_most("solver.preferences.nodes", placing.claims.len() as f64, "nodes", 21.0),
        Measurement::at_most("solver.preferences.ms", milliseconds(time), "ms", 50.0),
    ])
}

fn measure_packing(folder: &Path, name: &str, checksum: &str, goal: f64) -> Result<Vec<Measurement>> {
    let scene = openb::scene(&read_known(&folder.join(format!("openb_pod_list_{name}.csv")), Some(checksum))?)?;
    let (placing, time) = solve(&scene);
    check::shares(&scene, &placing)?;
    Ok(vec![
        Measurement::at_most(format!("packing.nodes.openb_{name}"), placing.claims.len() as f64, "nodes", goal),
        Measurement::at_most(format!("packing.ms.openb_{name}"), milliseconds(time), "ms", 1000.0),
    ])
}

/// The answer, and the time of the fastest run. Reading and building the scene is not in it, nor is anything after.
fn solve(scene: &Scene) -> (Placing, Duration) {
    let run = || {
        let started = Instant::now();
        let placing = decide::place::place(scene, &mut || true);
        (placing, started.elapsed())
    };
    let started = Instant::now();
    let mut best = run();
    let mut runs = 1;
    while runs < RUNS || (runs < MOST_RUNS && started.elapsed() < LONG_ENOUGH) {
        runs += 1;
        let next = run();
        if next.1 < best.1 {
            best = next;
        }
    }
    best
}

/// The pods of the mix, one a line.
fn lines(data: &Data, count: usize, checksum: Option<&str>) -> Result<String> {
    let Some(folder) = &data.karpenter_bench else { return Ok(draw::lines(count)) };
    read_known(&folder.join(format!("diverse_{count}.csv")), checksum)
}

/// A file that others made, held to what it is known by.
fn read_known(path: &Path, checksum: Option<&str>) -> Result<String> {
    let text = read(path)?;
    let digest = Sha256::digest(text.as_bytes());
    let found: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    match checksum.filter(|checksum| *checksum != found) {
        None => Ok(text),
        Some(checksum) => {
            let words = format!("its checksum begins with {found}, not {checksum}: these are other pods");
            Err(format!("{}: {words}", path.display()).into())
        }
    }
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).map_err(|cause| format!("{}: {cause}", path.display()).into())
}
