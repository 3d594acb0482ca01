//! One tick at a time acts, where two at once would do harm: a Lease, taken by the first duty that has something to do.
//!
//! A tick that finds all well takes none, so a world that stands still is only read.

use cluster::{ClusterError, OurTurn, TICKING, Turn};
use jiff::SignedDuration;
use provider::{Chance as _, SystemChance};
use tokio::sync::Mutex;

use crate::{NAME, read::Tick};

/// With less of a turn left than this, a new one is taken in its place before anything is done.
const LEAST_LEFT: SignedDuration = SignedDuration::from_secs(10);

#[derive(Default)]
pub struct TickTurn(Mutex<State>);

#[derive(Default)]
enum State {
    #[default]
    NotAsked,
    Ours(OurTurn),
    /// Another tick acts, or has taken over: this one does not any more.
    Others,
}

impl Tick {
    /// Whether this tick may act, for the next ten seconds at the least. Asked before each effect that must not be decided
    /// on twice; what the effect hangs on is read after the first `true`.
    pub async fn is_our_turn(&self) -> Result<bool, ClusterError> {
        let mut state = self.turn.0.lock().await;
        let cluster = &self.parts.cluster;
        *state = match core::mem::replace(&mut *state, State::Others) {
            State::NotAsked => {
                let holder = format!("{NAME}-{:016x}", SystemChance.number());
                match cluster.take_turn(TICKING, &holder, self.now()).await? {
                    Turn::Ours(turn) => State::Ours(turn),
                    Turn::Others { .. } => State::Others,
                }
            }
            State::Ours(turn) if turn.until.duration_since(self.now()) >= LEAST_LEFT => State::Ours(turn),
            State::Ours(turn) => cluster.keep_turn(turn, self.now()).await?.map_or(State::Others, State::Ours),
            State::Others => State::Others,
        };
        Ok(matches!(*state, State::Ours(_)))
    }

    /// Gives it back, if it was taken.
    pub(crate) async fn end_turn(&self) {
        let state = core::mem::replace(&mut *self.turn.0.lock().await, State::Others);
        if let State::Ours(turn) = state
            && let Err(error) = self.parts.cluster.end_turn(turn).await
        {
            // It ends by itself.
            tracing::warn!(%error, "the turn to act on a tick was not given back");
        }
    }
}
