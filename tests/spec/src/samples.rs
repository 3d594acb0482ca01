//! Samples: the files of `events/samples`, and the check that each gets the answer a test names for it.

use host::{Function, in_process};
use model::Answer;
use std::{collections::BTreeMap, fs, path::PathBuf};

use crate::deliverer;

/// One file `<function>.<case>.json`.
#[derive(Debug, Clone)]
pub struct Sample {
    pub function: String,
    pub case: String,
    pub text: Vec<u8>,
}

impl Sample {
    pub fn is_bad(&self) -> bool {
        self.case.starts_with("bad-")
    }
}

/// The answer a sample must get, word by word.
#[derive(Debug, Clone, Copy)]
pub enum Expect {
    Nothing(&'static str),
    Refused(&'static str),
}

impl Expect {
    fn answer(self) -> Answer {
        match self {
            Expect::Nothing(reason) => Answer::nothing(reason),
            Expect::Refused(reason) => Answer::refused(reason),
        }
    }
}

/// All samples, in the order of their names.
pub fn samples() -> Vec<Sample> {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../events/samples"));
    let mut samples: Vec<Sample> = fs::read_dir(&folder)
        .expect("events/samples is there")
        .map(|entry| entry.expect("a sample can be listed").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .map(|path| {
            let name = path.file_stem().expect("a sample has a name").to_string_lossy().into_owned();
            let (function, case) = name.split_once('.').expect("a sample is <function>.<case>.json");
            let text = fs::read(&path).expect("a sample can be read");
            Sample { function: function.to_owned(), case: case.to_owned(), text }
        })
        .collect();
    samples.sort_by(|a, b| (&a.function, &a.case).cmp(&(&b.function, &b.case)));
    samples
}

/// The text of one sample.
pub fn sample(function: &str, case: &str) -> Vec<u8> {
    let wanted = samples().into_iter().find(|sample| sample.function == function && sample.case == case);
    wanted.unwrap_or_else(|| panic!("there is no sample {function}.{case}")).text
}

/// Sends every sample of a function to it. A sample without an expectation is an error, and the other way round.
/// The function is made where it runs: one that works on a cluster needs a runtime for that.
pub fn check_samples(make: impl FnOnce() -> Function, cases: &[(&str, Expect)]) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime starts");
    runtime.block_on(async { check(make(), cases).await });
}

async fn check(function: Function, cases: &[(&str, Expect)]) {
    let name = function.name();
    let deliverer = deliverer(vec![function], &[]);
    let mut expected: BTreeMap<&str, Answer> = cases.iter().map(|(case, expect)| (*case, expect.answer())).collect();
    let mut differences = String::new();
    for sample in samples().into_iter().filter(|sample| sample.function == name) {
        let got = in_process::call(&deliverer, name, &sample.text).await;
        match expected.remove(sample.case.as_str()) {
            Some(wanted) if wanted == got => {}
            wanted => {
                differences += &format!(
                    "\n{}\n  expected {}\n  got      {}",
                    sample.case,
                    show(wanted.as_ref()),
                    show(Some(&got))
                );
            }
        }
    }
    for case in expected.keys() {
        differences += &format!("\n{case}\n  expected by the test, but there is no such sample");
    }
    assert!(differences.is_empty(), "samples of {name}:{differences}");
}

fn show(answer: Option<&Answer>) -> String {
    answer.map_or("an expectation in this test".to_owned(), |answer| {
        format!("{}: {}", answer.outcome().as_str(), answer.reason())
    })
}
