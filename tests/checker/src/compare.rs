//! Two planners on the same worlds: both answers are judged, and what differs is listed.

mod planner;
mod report;
mod running;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

pub use planner::{Karpenter, Other, Planner, Run};
pub use report::Report;
pub use running::{NodesReport, Played};

use crate::exact::{Optimum, optimum};
use crate::random::World;
use crate::{Catalog, Cluster, LoadError, Rule, Violation, check};

/// One world with everybody's answer.
pub struct Outcome {
    pub world: String,
    /// Of the pods that wait.
    pub pods: usize,
    pub karpenter: Judged,
    pub other: Option<Judged>,
    /// The least it can cost, where that is known.
    pub optimum: Option<Optimum>,
}

/// An answer, and what is wrong with it.
pub struct Judged {
    pub run: Run,
    pub violations: Vec<Violation>,
}

impl Judged {
    /// How many pods it places.
    pub fn placed(&self) -> usize {
        self.run.answer.pods.iter().filter(|pod| pod.on.is_some()).count()
    }

    /// How often each rule is broken.
    pub fn broken(&self) -> BTreeMap<Rule, usize> {
        let mut counts = BTreeMap::new();
        for violation in &self.violations {
            *counts.entry(violation.rule).or_default() += 1;
        }
        counts
    }
}

/// Why a comparison cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    #[error("cannot write the world {0}: {1}")]
    Write(String, #[source] io::Error),
    #[error("{0}")]
    Load(#[from] LoadError),
    #[error("{program} cannot be run: {source}")]
    Start { program: PathBuf, source: io::Error },
    #[error("{0} cannot be played: {1}")]
    Settle(String, #[source] crate::settle::SettleError),
    #[error("{program} failed on {world}: {words}")]
    Failed { program: PathBuf, world: String, words: String },
}

pub struct Comparison {
    pub karpenter: Karpenter,
    pub other: Option<Other>,
    /// Where the worlds are written.
    pub directory: PathBuf,
}

impl Comparison {
    /// A random world. Of a plain one the optimum is computed too.
    pub fn random(&self, world: &World, plain: bool) -> Result<Outcome, CompareError> {
        let name = format!("{}-{}", if plain { "plain" } else { "random" }, world.seed);
        let directory = self.directory.join(&name);
        let files = world.write(&directory).map_err(|error| CompareError::Write(name.clone(), error))?;
        self.play(name, &files, plain)
    }

    /// The mix of Karpenter's own benchmark.
    pub fn benchmark(&self, pods: usize) -> Result<Outcome, CompareError> {
        let name = format!("benchmark-{pods}");
        let files = self.karpenter.write_benchmark(pods, &self.directory.join(&name))?;
        self.play(name, &files, false)
    }

    fn play(
        &self,
        world: String,
        (cluster, catalog): &(PathBuf, PathBuf),
        plain: bool,
    ) -> Result<Outcome, CompareError> {
        let read = |path: &Path| fs::read_to_string(path).map_err(|error| LoadError::File(path.to_owned(), error));
        let types = Catalog::parse(&read(catalog)?)?;
        let known = Cluster::read(std::slice::from_ref(cluster), &types)?;
        let judge = |run: Run| Judged { violations: check(&known, &types, &run.answer), run };
        let karpenter = judge(self.karpenter.plan(&world, cluster, catalog)?);
        let other = match &self.other {
            Some(other) => Some(judge(other.plan(&world, cluster, catalog)?)),
            None => None,
        };
        let pods = known.pods.iter().filter(|pod| pod.role == crate::cluster::Role::Waiting).count();
        let optimum = if plain { optimum(&known, &types) } else { None };
        Ok(Outcome { world, pods, karpenter, other, optimum })
    }
}
