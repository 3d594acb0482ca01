//! The most memory that one solve takes, its scene included: measured in a process of its own, which does nothing else.

use std::env;
use std::process::Command;

use super::{Data, lines, mix, read};
use crate::Result;

const PODS: usize = 20_000;

/// In MiB, by a process that this one starts.
pub fn measure(data: &Data) -> Result<f64> {
    let mut child = Command::new(env::current_exe()?);
    child.arg("--print-solver-peak");
    if let Some(folder) = &data.karpenter_bench {
        child.arg("--karpenter-bench").arg(folder);
    }
    let output = child.output()?;
    let text = String::from_utf8(output.stdout)?;
    text.trim().parse().map_err(|_| format!("the process that measures memory printed {text:?}").into())
}

/// What that process does.
pub fn print(data: &Data) -> Result<()> {
    let scene = {
        let lines = lines(data, PODS, None)?;
        mix::scene(&lines)?
    };
    let placing = decide::place::place(&scene, &mut || true);
    let status = read("/proc/self/status".as_ref())?;
    let peak =
        status.lines().find_map(|line| line.strip_prefix("VmHWM:")).and_then(|size| size.trim().strip_suffix(" kB"));
    let kibibytes: f64 = peak.ok_or("/proc/self/status has no VmHWM")?.trim().parse()?;
    drop(placing);
    println!("{}", kibibytes / 1024.0);
    Ok(())
}
