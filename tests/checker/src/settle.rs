//! Asks who decides about nodes, carries the answer out, and asks again, until nothing more is done. Each answer is judged.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

use jiff::Timestamp;

use crate::carry_out::State;
use crate::disruption::{self, Ways};
use crate::random::World;
use crate::{Answer, Catalog, Cluster, LoadError, check};

/// The time in every world when it begins.
pub const BEGIN: &str = "2026-03-01T02:00:00Z";

/// What became of a world.
#[derive(Debug, Clone, Default)]
pub struct Settled {
    pub before: Bill,
    pub after: Bill,
    /// Rounds in which nodes went.
    pub rounds: usize,
    /// Whether it came to rest.
    pub rests: bool,
    pub evicted: usize,
    /// Pods that have no node in the end.
    pub homeless: usize,
    pub disrupt_ms: f64,
    /// What is wrong, each with its round.
    pub violations: Vec<(usize, crate::Violation)>,
    /// Nodes that came and went again, though nothing had kept the earlier decisions from being final.
    pub in_vain: Vec<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Bill {
    pub nodes: usize,
    pub price: f64,
}

/// Why a world cannot be played.
#[derive(Debug, thiserror::Error)]
pub enum SettleError {
    #[error("{0}")]
    Load(#[from] LoadError),
    #[error("cannot write into {0}: {1}")]
    Write(PathBuf, #[source] io::Error),
    #[error("{0}")]
    Asked(String),
}

/// A planner: files, the time, and what it answers.
pub type Ask<'a> = dyn Fn(&Path, &Path, Timestamp) -> Result<Answer, String> + 'a;

/// Plays a world to its end, in a directory for its files. `most` rounds are enough for anybody.
pub fn settle(
    state: &mut State,
    catalog_json: &str,
    directory: &Path,
    ways: Ways,
    most: usize,
    ask: &Ask<'_>,
) -> Result<Settled, SettleError> {
    let catalog = Catalog::parse(catalog_json)?;
    let write = |name: &str, text: &str| {
        let path = directory.join(name);
        fs::write(&path, text).map_err(|error| SettleError::Write(path.clone(), error)).map(|()| path)
    };
    fs::create_dir_all(directory).map_err(|error| SettleError::Write(directory.to_owned(), error))?;
    let types = write("catalog.json", catalog_json)?;
    let mut settled = Settled::default();
    let mut come: BTreeSet<String> = BTreeSet::new();
    let mut hindered = false;
    settled.before = bill(state, &catalog)?;
    for round in 0..most {
        let cluster = write(&format!("cluster-{round}.yaml"), &state.yaml())?;
        let answer = ask(&cluster, &types, state.now).map_err(SettleError::Asked)?;
        settled.disrupt_ms += answer.disrupt_ms.unwrap_or(0.0);
        let objects = state.objects()?;
        let known = Cluster::new(objects.clone(), &catalog);
        settled.violations.extend(check(&known, &catalog, &answer).into_iter().map(|one| (round, one)));
        let places = answer.pods.iter().any(|pod| pod.on.is_some());
        // Karpenter's pods move by ordinary placing: first they come to rest.
        let waits = places && ways == Ways::Karpenters;
        let acts = !answer.disruptions.is_empty() && !waits;
        if acts {
            let judged = disruption::check(&objects, &catalog, &answer, state.now, ways);
            settled.violations.extend(judged.into_iter().map(|one| (round, one)));
        }
        if !acts && !places {
            settled.rests = true;
            break;
        }
        if places {
            state.place(&catalog, &answer);
        }
        if acts {
            settled.rounds += 1;
            for command in answer.disruptions.iter().filter(|_| !hindered) {
                let again = command.nodes.iter().filter(|name| come.contains(*name));
                settled.in_vain.extend(again.map(|name| format!("{name} for {} in round {round}", command.reason)));
            }
            hindered |= places || is_hindered(&answer);
            let gone: Vec<String> = answer.disruptions.iter().flat_map(|command| command.nodes.clone()).collect();
            let moving = disruption::pods_that_move(&objects, &catalog, &gone).into_iter().collect();
            let done = state.disrupt(&catalog, &answer.disruptions, &moving);
            settled.evicted += done.evicted;
            come.extend(done.come);
        }
        state.pass_time();
    }
    settled.after = bill(state, &catalog)?;
    settled.homeless = state.waiting();
    Ok(settled)
}

/// Whether a decision could not have what it wanted, or left out what time will bring: then the next one may do better, and a node that
/// came is not made in vain.
fn is_hindered(answer: &Answer) -> bool {
    let passing =
        ["Budget", "WithinConsolidateAfter", "Nominated", "NotInitialized", "Deleting", "Disrupting", "OutOfTime"];
    let leaving =
        answer.disruptions.iter().any(|command| matches!(command.reason.as_str(), "Expired" | "Drifted" | "Unhealthy"));
    leaving || answer.kept.iter().any(|kept| passing.contains(&kept.code.as_str()))
}

/// A running world as a state, at its beginning.
pub fn begin(world: &World) -> Result<State, LoadError> {
    State::read(&world.cluster, BEGIN.parse().unwrap_or(Timestamp::UNIX_EPOCH))
}

fn bill(state: &State, catalog: &Catalog) -> Result<Bill, LoadError> {
    let (nodes, price) = disruption::bill(&state.objects()?, catalog, state.now);
    Ok(Bill { nodes, price })
}
