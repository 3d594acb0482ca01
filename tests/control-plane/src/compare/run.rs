//! A whole run: every scenario of some files on a world and on a server, several at a time.

use std::{io, path::Path, sync::Arc};
use tokio::{sync::Semaphore, task::JoinSet};
use world::controllers::Running;

use super::{
    known::Known,
    play::{Found, Played, Stage, play},
    scenario::ScenarioFile,
    scheduling::place,
    side::Side,
    simulated::Simulated,
    table::Table,
};

/// Watches wait; more scenarios at once use that time.
const AT_ONCE: usize = 6;

/// What a run came to.
#[derive(Debug, Default)]
pub struct Outcome {
    pub table: Table,
    pub found: Vec<Found>,
}

impl Outcome {
    /// What is in no list.
    pub fn unknown<'a>(&'a self, known: &'a [Known]) -> impl Iterator<Item = &'a Found> {
        self.found.iter().filter(|found| !known.iter().any(|known| known.covers(found)))
    }

    /// What is in the list and did not happen.
    pub fn stale<'a>(&'a self, known: &'a [Known]) -> impl Iterator<Item = &'a Known> {
        known.iter().filter(|known| !self.found.iter().any(|found| known.covers(found)))
    }

    fn add(&mut self, kind: &str, played: Played, known: &[Known]) {
        self.table.add(kind, &played, known);
        self.found.extend(played.found);
    }
}

/// Plays everything. The server is shared by all scenarios; each has a world of its own.
pub async fn run(
    files: &[ScenarioFile],
    server: Arc<dyn Side>,
    known: &[Known],
    repository: &Path,
) -> io::Result<Outcome> {
    // Names are the same on both sides, and new in every run: a server may be used more than once.
    let run = &format!("{:x}", jiff::Timestamp::now().as_second() % 0xf_ffff);
    let mut outcome = Outcome::default();
    let mut playing = JoinSet::new();
    let turns = Arc::new(Semaphore::new(AT_ONCE));
    for file in files {
        for scenario in file.scenarios.clone() {
            let (server, turns, kind) = (server.clone(), turns.clone(), file.kind.clone());
            let (repository, run) = (repository.to_owned(), run.to_owned());
            playing.spawn(async move {
                let _turn = turns.acquire().await.map_err(io::Error::other)?;
                let world = Simulated::start(Running::Nothing);
                let stage = Stage { repository: &repository, run: &run };
                let played = play(&world, server.as_ref(), &scenario, stage).await;
                let played = played.map_err(|error| io::Error::other(format!("{}: {error}", scenario.name)))?;
                io::Result::Ok((kind, played))
            });
        }
    }
    while let Some(played) = playing.join_next().await {
        let (kind, played) = played.map_err(io::Error::other)??;
        outcome.add(&kind, played, known);
    }
    // Nodes belong to the whole cluster, so one placement at a time.
    for file in files {
        for (number, placement) in file.placements.iter().enumerate() {
            let world = Simulated::start(Running::Scheduler);
            let played = place(&world, server.as_ref(), placement, &format!("{run}-{number}")).await;
            let played = played.map_err(|error| io::Error::other(format!("{}: {error}", placement.name)))?;
            outcome.add(&file.kind, played, known);
        }
    }
    outcome.found.sort_by(|one, other| (&one.scenario, one.step).cmp(&(&other.scenario, other.step)));
    Ok(outcome)
}

/// A difference as a person reads it.
pub fn shown(found: &Found) -> String {
    let value = |value: &Option<serde_json::Value>| value.as_ref().map_or("(absent)".to_owned(), ToString::to_string);
    let Found { scenario, step, request, difference } = found;
    format!(
        "{scenario} #{step} {request}\n    {}\n      world:  {}\n      server: {}",
        difference.path,
        value(&difference.world),
        value(&difference.server)
    )
}
