//! The shape of the repository, held by tests. Each module is one rule: what is allowed as data, a pure check that lists every
//! offence, and unit tests that show it failing. `repository` reads the real thing; `tests/repository.rs` brings them together.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

use std::fmt;

pub mod function_shape;
pub mod length;
pub mod links;
pub mod machine_paths;
pub mod markdown;
pub mod openings;
pub mod orphans;
pub mod packages;
pub mod purity;
pub mod repository;
pub mod samples;
pub mod top_level;
pub mod workspace;

/// What is wrong and what to do about it, in one line.
pub type Offence = String;

/// Why a rule does not hold. A test that returns it prints it as it is, line by line.
#[derive(PartialEq, Eq)]
pub struct Failure(String);

impl fmt::Debug for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl From<String> for Failure {
    fn from(text: String) -> Failure {
        Failure(text)
    }
}

/// All offences of one rule as one readable failure.
pub fn verdict(rule: &str, offences: Vec<Offence>) -> Result<(), Failure> {
    if offences.is_empty() {
        return Ok(());
    }
    let list: String = offences.iter().map(|offence| format!("\n  - {offence}")).collect();
    Err(Failure(format!("{rule}: {} offence(s){list}\n", offences.len())))
}

#[cfg(test)]
mod tests {
    use super::verdict;

    #[test]
    fn every_offence_is_listed_in_one_failure() {
        let failure = verdict("short files", vec!["a.rs is long".into(), "b.rs is long".into()]).unwrap_err();
        assert_eq!(format!("{failure:?}"), "short files: 2 offence(s)\n  - a.rs is long\n  - b.rs is long\n");
    }

    #[test]
    fn no_offence_is_no_failure() {
        assert_eq!(verdict("short files", vec![]), Ok(()));
    }
}
