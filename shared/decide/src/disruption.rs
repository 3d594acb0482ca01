//! Which nodes go, what comes in their place, and why the others stay.
//!
//! | module | is for |
//! |---|---|
//! | `candidate`, `held`, `drift`, `price`, `cost` | what is known of a node, and what forbids to touch it |
//! | `budgets`, `cron` | how many may go at a time |
//! | `board` | all pods where they stand, for trying what happens without a node |
//! | `between` | rules between pods that others' moves may break |
//! | `leaving` | nodes that are unhealthy, too old or not what they should be: replaced, whatever it costs |
//! | `fixed` | those of pools with a fixed number of nodes: replaced one for one |
//! | `empty` | nodes that nobody uses |
//! | `consolidate`, `sets`, `bounds` | nodes whose pods are as well off for less money |
//! | `judging` | whether taking nodes away pays |
//! | `replacing` | what a replacement may be |
//! | `groups`, `independent`, `commands` | what was chosen, as commands that leave nothing to choose and need no other |

mod between;
mod board;
mod bounds;
mod budgets;
mod candidate;
mod commands;
mod consolidate;
mod cost;
mod cron;
mod drift;
mod empty;
mod fixed;
mod groups;
mod held;
mod independent;
mod judging;
mod leaving;
mod price;
mod replacing;
mod sets;

use jiff::Timestamp;
use model::disruption::{Decision, Inventory, Kept, KeptCode};

use crate::provision;
use board::{Board, Choosing};
pub use drift::drifts;

/// Everything that a decision looks at.
#[derive(Debug, Clone)]
pub struct Situation {
    /// The scene with the pods that wait, what claims of its pools have, all claims, and the time.
    pub provision: provision::Situation,
    pub inventory: Inventory,
}

/// Why a node stays, and until when, where that can be told.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stay {
    code: KeptCode,
    words: String,
    until: Option<Timestamp>,
}

/// Decides about all nodes together. Carried out, the same question has nothing more to answer.
///
/// `still_time` is asked now and then; once it answers no, what was decided so far is returned.
pub fn decide(situation: &Situation, still_time: &mut dyn FnMut() -> bool) -> Decision {
    let board = Board::new(situation, still_time);
    let mut choosing = Choosing::new(&board);
    leaving::repair(&mut choosing, still_time);
    empty::take(&mut choosing, still_time);
    leaving::replace(&mut choosing, still_time);
    consolidate::run(&mut choosing, still_time);
    choosing.decision()
}

impl Stay {
    fn new(code: KeptCode, words: impl Into<String>) -> Self {
        Stay { code, words: words.into(), until: None }
    }

    fn kept(&self, node: model::ObjectName) -> Kept {
        Kept { node, code: self.code, reason: self.words.clone() }
    }
}
