//! Which pods go where, and which nodes are made for them.
//!
//! Pods that are alike are one [shape](shapes); labels and amounts are numbers; places that are alike for every rule about labels
//! and taints stand in one bucket; what a claim may still become is a state that is made once. So placing a pod is a few look-ups:
//!
//! | module | is for |
//! |---|---|
//! | `words`, `allowed`, `needs`, `amounts`, `mask`, `hash` | labels and amounts as numbers |
//! | `shapes`, `selecting`, `learn` | pods that are alike, and who selects them |
//! | `shelf`, `fit`, `states`, `sources`, `limits` | what can be bought, and what a claim may still become |
//! | `counters`, `rules`, `attempts` | rules between pods; wishes, and giving them up |
//! | `ground`, `places`, `order`, `find`, `attach`, `open`, `fill`, `planned`, `solver`, `saved`, `again` | the solve, and what is tried when pods are left out |
//! | `improve`, `fold` | packing anew where only amounts bind; claims that others can take over for less |
//! | `moving` | the same ground again and again, with nodes taken away |
//! | `explain`, `answer` | what is said about it |

mod again;
mod allowed;
mod amounts;
mod answer;
mod attach;
mod attempts;
mod counters;
mod explain;
mod fill;
mod find;
mod fit;
mod fold;
mod ground;
mod growth;
mod hash;
mod improve;
mod learn;
mod limits;
mod mask;
pub(crate) mod moving;
mod needs;
mod open;
mod order;
mod places;
mod planned;
mod reserved;
mod rules;
mod saved;
mod selecting;
mod shapes;
mod shelf;
mod solver;
mod sources;
mod states;
mod taints;
mod words;

pub(crate) use amounts::is_accelerator;
pub(crate) use hash::Map;
use model::place::{Placing, Scene};

/// Places every pod of the scene that can be placed, and says of each other one why not.
///
/// `still_time` is asked now and then; once it answers no, the best answer so far is returned. The same scene gives the same
/// answer, as long as time suffices.
pub fn place(scene: &Scene, still_time: &mut dyn FnMut() -> bool) -> Placing {
    answer::answer(again::solve(scene, still_time))
}
