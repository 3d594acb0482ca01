//! Starting what is measured, and making sure that it ends: a child is killed by its own handle when it is dropped.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::Result;

/// A binary, and where what it says goes.
#[derive(Debug, Clone)]
pub struct Program {
    path: PathBuf,
    log: PathBuf,
}

impl Program {
    pub fn new(folder: &Path, name: &str, logs: &Path) -> Program {
        Program { path: folder.join(name), log: logs.join(format!("{name}.log")) }
    }

    /// Starts it with these variables and no others, so that the shell it runs in changes nothing.
    pub fn start(&self, variables: &[(&str, String)]) -> Result<Running> {
        let said = |cause| format!("{}: {cause}", self.log.display());
        let log = File::create(&self.log).map_err(said)?;
        let errors = log.try_clone().map_err(said)?;
        let mut command = Command::new(&self.path);
        command.env_clear().envs(variables.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null()).stdout(log).stderr(errors);
        let begin = Instant::now();
        let child = command.spawn().map_err(|cause| format!("{}: {cause}", self.path.display()))?;
        Ok(Running { begin, child })
    }

    /// A failure with the last things the program said, which mostly tell why.
    pub fn blame(&self, doing: &str, cause: &dyn std::fmt::Display) -> String {
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        let last = match lines.as_slice() {
            [] => "nothing".to_owned(),
            said => said[said.len().saturating_sub(5)..].join("\n  "),
        };
        format!("{} ({doing}): {cause}\nit said last, in {}:\n  {last}", self.path.display(), self.log.display())
    }
}

/// A started program. Dropping it ends it.
#[derive(Debug)]
pub struct Running {
    /// Taken just before the process was asked for.
    pub begin: Instant,
    child: Child,
}

impl Running {
    /// An error if it has ended, which it should not by itself.
    pub fn still_runs(&mut self) -> Result<()> {
        match self.child.try_wait()? {
            Some(status) => Err(format!("it ended by itself: {status}").into()),
            None => Ok(()),
        }
    }

    /// What it holds in memory now.
    pub fn resident_mebibytes(&self) -> Result<f64> {
        let path = format!("/proc/{}/status", self.child.id());
        let status = fs::read_to_string(&path).map_err(|cause| format!("{path}: {cause}"))?;
        resident_kibibytes(&status).map(|size| size / 1024.0).ok_or_else(|| format!("{path} has no VmRSS").into())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail only if it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The yardstick: how long this machine takes to start and end a process that does nothing.
pub fn time_of_nothing() -> Result<Duration> {
    let begin = Instant::now();
    let mut child = Command::new("/bin/true")
        .env_clear()
        .stdin(Stdio::null())
        .spawn()
        .map_err(|cause| format!("/bin/true: {cause}"))?;
    child.wait()?;
    Ok(begin.elapsed())
}

fn resident_kibibytes(status: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{Program, resident_kibibytes};

    #[test]
    fn memory_is_read_from_the_kernel_status() {
        assert_eq!(resident_kibibytes("VmSize:\t  9 kB\nVmRSS:\t    2048 kB\n"), Some(2048.0));
        assert_eq!(resident_kibibytes("VmSize:\t  9 kB\n"), None);
    }

    #[test]
    fn a_binary_that_is_not_there_is_named() {
        let folder = std::env::temp_dir();
        let failure = Program::new(&folder, "no-such-binary", &folder).start(&[]).unwrap_err().to_string();
        assert!(failure.contains("no-such-binary"), "{failure}");
    }
}
