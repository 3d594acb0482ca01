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

/// What a run is played with. The server is shared by all scenarios; each has a world of its own.
pub struct Cast<'a> {
    pub files: &'a [ScenarioFile],
    pub known: &'a [Known],
    /// Where the files are that scenarios name.
    pub repository: &'a Path,
}

impl Cast<'_> {
    /// Plays the scenarios on an API server by itself: a scheduler would change pods between two steps.
    pub async fn play(&self, server: Arc<dyn Side>, outcome: &mut Outcome) -> io::Result<()> {
        let run = new_run();
        let mut playing = JoinSet::new();
        let turns = Arc::new(Semaphore::new(AT_ONCE));
        for file in self.files {
            for scenario in file.scenarios.clone() {
                let (server, turns, kind) = (server.clone(), turns.clone(), file.kind.clone());
                let (repository, run) = (self.repository.to_owned(), run.clone());
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
            outcome.add(&kind, played, self.known);
        }
        outcome.found.sort_by(|one, other| (&one.scenario, one.step).cmp(&(&other.scenario, other.step)));
        Ok(())
    }

    pub fn has_placements(&self) -> bool {
        self.files.iter().any(|file| !file.placements.is_empty())
    }

    /// Asks both schedulers. Nodes belong to the whole cluster, so one placement at a time, on an empty one.
    pub async fn place(&self, server: &dyn Side, outcome: &mut Outcome) -> io::Result<()> {
        let run = new_run();
        for file in self.files {
            for (number, placement) in file.placements.iter().enumerate() {
                let world = Simulated::start(Running::Scheduler);
                let played = place(&world, server, placement, &format!("{run}-{number}")).await;
                let played = played.map_err(|error| io::Error::other(format!("{}: {error}", placement.name)))?;
                outcome.add(&file.kind, played, self.known);
            }
        }
        Ok(())
    }
}

/// Names are the same on both sides, and new in every run: a server may be used more than once.
fn new_run() -> String {
    format!("{:x}", jiff::Timestamp::now().as_second() % 0xf_ffff)
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
