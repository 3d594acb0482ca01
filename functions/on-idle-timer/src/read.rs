//! What every duty of a tick begins with: the claims that there are. What is acted on is read again before.

use cluster::ClaimRead;
use host::parts::Parts;
use jiff::Timestamp;
use model::{Answer, Claim, IdleTick};
use std::sync::Arc;

use crate::{clouds::CloudsOnce, turn::TickTurn};

/// One tick, for all duties.
pub struct Tick {
    pub parts: Arc<Parts>,
    pub event: IdleTick,
    /// All of them, as they were when the tick began.
    pub claims: Vec<ClaimRead>,
    pub(crate) clouds: CloudsOnce,
    pub(crate) turn: TickTurn,
}

pub enum Read {
    Seen(Box<Tick>),
    Answered(Answer),
}

pub async fn read(parts: Arc<Parts>, event: IdleTick) -> Read {
    let said = |what: &str| format!("the idle timer of cluster {} ticked; {what}", event.cluster);
    match parts.cluster.claims().await {
        Ok(claims) => Read::Seen(Box::new(Tick {
            parts,
            event,
            claims,
            clouds: CloudsOnce::default(),
            turn: TickTurn::default(),
        })),
        // Then nobody knows which claims there are, and what has none must not be guessed.
        Err(error) if error.is_not_found() => Read::Answered(Answer::nothing(said(
            "this cluster serves no NodeClaims, so there is nothing to look after",
        ))),
        Err(error) => Read::Answered(Answer::failed(said(&error.to_string()))),
    }
}

impl Tick {
    /// Those that can be read.
    pub fn known_claims(&self) -> impl Iterator<Item = &Claim> {
        self.claims.iter().filter_map(|read| match read {
            ClaimRead::Claim(read) => Some(&read.claim),
            ClaimRead::Malformed(_) => None,
        })
    }

    pub fn now(&self) -> Timestamp {
        self.parts.now()
    }
}
