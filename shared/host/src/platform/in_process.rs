//! In process: a plain async call. No envelope, no signature; the event's text in, the answer out.

use model::Answer;
use tokio::time::Instant;

use crate::deliver::{Deliverer, REQUEST_TIME, Target};

/// Hands the text of an event (or a batch) to the function of that name.
pub async fn call(deliverer: &Deliverer, function: &str, text: &[u8]) -> Answer {
    let Some(function) = deliverer.by_name(function) else {
        return Answer::refused(format!("there is no function {function:?} here"));
    };
    let deadline = Instant::now() + REQUEST_TIME;
    deliverer.deliver_text(Target::One(function), text, deadline).await.summary()
}
