//! Which binaries there are, and how large they are.

use std::fs;
use std::path::Path;

use crate::Result;
use crate::report::Measurement;

/// What `make build` makes of this workspace's functions.
const EXPECTED: &[&str] =
    &["on-pending-pod", "on-nodeclaim", "on-workspace", "on-idle-timer", "on-delete", "pilotlight"];

/// All functions are served by the same host, so one of them stands for all where time is measured.
pub const MEASURED_FUNCTION: &str = "on-nodeclaim";

/// That function again, with every client of the finished product linked into it. Measured when it is there.
pub const LINKED: &str = "linked";

const MOST_MIB: f64 = 10.0;

/// Names and sizes in bytes.
#[derive(Debug)]
pub struct Binaries(Vec<(&'static str, u64)>);

impl Binaries {
    pub fn linked(&self) -> bool {
        self.0.iter().any(|(name, _)| *name == LINKED)
    }
}

pub fn find(folder: &Path) -> Result<Binaries> {
    let size = |name: &&'static str| Some((*name, fs::metadata(folder.join(name)).ok()?.len()));
    let missing: Vec<&str> = EXPECTED.iter().filter(|name| size(name).is_none()).copied().collect();
    if !missing.is_empty() {
        return Err(format!("{} has no {}: run `make build` first", folder.display(), missing.join(", ")).into());
    }
    Ok(Binaries(EXPECTED.iter().chain(&[LINKED]).filter_map(size).collect()))
}

pub fn measure(binaries: &Binaries) -> Vec<Measurement> {
    let row = |(name, bytes): &(&str, u64)| {
        Measurement::at_most(format!("function.binary_mib.{name}"), mebibytes(*bytes), "MiB", MOST_MIB)
    };
    binaries.0.iter().map(row).collect()
}

/// Sizes are far below 2^52, where a float still counts every byte.
fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / (1024.0 * 1024.0)
}

#[cfg(test)]
mod tests {
    use super::{Binaries, find, measure};

    #[test]
    fn missing_binaries_are_named_together() {
        let failure = find(std::path::Path::new("no-such-folder")).unwrap_err().to_string();
        assert!(failure.contains("no on-pending-pod, on-nodeclaim,") && failure.contains("make build"), "{failure}");
    }

    #[test]
    fn ten_mebibytes_are_enough_and_one_byte_more_is_not() {
        let most = 10 * 1024 * 1024;
        let rows = measure(&Binaries(vec![("on-delete", most), ("linked", most + 1)]));
        assert_eq!(rows.iter().map(|row| row.holds).collect::<Vec<_>>(), [Some(true), Some(false)]);
    }
}
