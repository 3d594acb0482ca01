//! The planners, as programs that are called.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;
use std::{fs, io};

use super::CompareError;
use crate::Answer;

/// The time in every world: random clusters are two hours old then.
const NOW: &str = "2026-03-01T02:00:00Z";

/// Above so many pods an answer with all offerings is too long to be read in reasonable time.
const OFFERINGS: &str = "100";

/// An answer, and what it took.
pub struct Run {
    pub answer: Answer,
    /// The solver alone, as the planner tells it.
    pub solve_ms: f64,
    /// CPU time: of the solver alone if the planner tells it, else of the whole process.
    pub cpu_ms: f64,
    /// The whole process by the clock.
    pub process_ms: f64,
}

pub trait Planner {
    fn plan(&self, world: &str, cluster: &Path, catalog: &Path) -> Result<Run, CompareError>;
}

/// The oracle. It is asked with each of these numbers of workers, and the fastest answer counts.
pub struct Karpenter {
    pub program: PathBuf,
    pub workers: Vec<usize>,
}

/// `pilotlight`, or whatever takes the same arguments.
pub struct Other {
    pub program: PathBuf,
}

impl Karpenter {
    pub fn write_benchmark(&self, pods: usize, directory: &Path) -> Result<(PathBuf, PathBuf), CompareError> {
        let mut command = Command::new(&self.program);
        command.args(["bench", "--pods", &pods.to_string(), "--write"]).arg(directory);
        let done = command.output().map_err(|source| CompareError::Start { program: self.program.clone(), source })?;
        if !done.status.success() {
            return Err(failed(&self.program, "its benchmark", &done.stderr));
        }
        Ok((directory.join("cluster.yaml"), directory.join("catalog.json")))
    }
}

impl Other {
    /// Whether the program is there and knows the command.
    pub fn can_plan(&self) -> bool {
        Command::new(&self.program).args(["plan", "--help"]).output().is_ok_and(|done| done.status.success())
    }
}

impl Planner for Karpenter {
    fn plan(&self, world: &str, cluster: &Path, catalog: &Path) -> Result<Run, CompareError> {
        let mut best: Option<Run> = None;
        for workers in &self.workers {
            let mut command = asked(&self.program, cluster, catalog);
            command.args(["--workers", &workers.to_string()]);
            if world.starts_with("benchmark") {
                command.args(["--max-offerings", OFFERINGS, "--timeout", "10m"]);
            }
            let run = run(&self.program, command, world)?;
            if best.as_ref().is_none_or(|best| run.solve_ms < best.solve_ms) {
                best = Some(run);
            }
        }
        best.ok_or_else(|| failed(&self.program, world, b"no number of workers is given"))
    }
}

impl Planner for Other {
    fn plan(&self, world: &str, cluster: &Path, catalog: &Path) -> Result<Run, CompareError> {
        run(&self.program, asked(&self.program, cluster, catalog), world)
    }
}

fn asked(program: &Path, cluster: &Path, catalog: &Path) -> Command {
    let mut command = Command::new(program);
    command.arg("plan").arg("-f").arg(cluster).arg("--catalog").arg(catalog).args(["-o", "json", "--now", NOW]);
    command
}

/// What is to be done with the nodes of a cluster at a time.
pub fn nodes_answer(
    program: &Path,
    world: &str,
    cluster: &Path,
    catalog: &Path,
    now: jiff::Timestamp,
) -> Result<Answer, CompareError> {
    let mut command = Command::new(program);
    command.arg("plan").arg("-f").arg(cluster).arg("--catalog").arg(catalog);
    command.args(["--consolidate", "-o", "json", "--now", &now.to_string()]);
    run(program, command, world).map(|run| run.answer)
}

fn run(program: &Path, mut command: Command, world: &str) -> Result<Run, CompareError> {
    let (begun, spent) = (Instant::now(), children_ms());
    let done = command.output().map_err(|source| CompareError::Start { program: program.to_owned(), source })?;
    let (process_ms, process_cpu) = (begun.elapsed().as_secs_f64() * 1000.0, children_ms() - spent);
    // 2 says that a pod found no place: an answer like any other.
    if !matches!(done.status.code(), Some(0 | 2)) {
        return Err(failed(program, world, &done.stderr));
    }
    let answer: Answer = serde_json::from_slice(&done.stdout)
        .map_err(|error| failed(program, world, format!("its answer is no JSON of a plan: {error}").as_bytes()))?;
    let cpu_ms = answer.cpu_ms.unwrap_or(process_cpu);
    Ok(Run { solve_ms: answer.solve_ms, cpu_ms, process_ms, answer })
}

fn failed(program: &Path, world: &str, words: &[u8]) -> CompareError {
    let words = String::from_utf8_lossy(words).chars().take(500).collect();
    CompareError::Failed { program: program.to_owned(), world: world.to_owned(), words }
}

/// CPU time of all children that have ended, as Linux counts it: in hundredths of a second. 0 elsewhere.
fn children_ms() -> f64 {
    let read = || -> io::Result<f64> {
        let text = fs::read_to_string("/proc/self/stat")?;
        // After the name in parentheses: state is field 3, cutime and cstime are 16 and 17.
        let after = text.rsplit(')').next().unwrap_or_default();
        let ticks = after.split_whitespace().skip(13).take(2).filter_map(|field| field.parse::<f64>().ok());
        Ok(ticks.sum::<f64>() * 10.0)
    };
    read().unwrap_or(0.0)
}
