//! One duty of a tick, bounded in time, and failing by itself.

use core::{panic::AssertUnwindSafe, time::Duration};
use futures_util::{FutureExt as _, future::BoxFuture};
use std::sync::Arc;
use tokio::time::timeout;

use crate::{findings::Findings, read::Tick};

/// Below the minute that platforms give a function, with time left to say what came of it.
const LONGEST: Duration = Duration::from_secs(38);

pub struct Duty {
    /// As in `looking for leaks`.
    pub name: &'static str,
    pub run: fn(Arc<Tick>) -> BoxFuture<'static, Findings>,
}

impl Duty {
    /// Whatever the duty does, there is something to report.
    pub async fn carry_out(&self, tick: Arc<Tick>) -> Findings {
        let work = AssertUnwindSafe((self.run)(tick)).catch_unwind();
        let problem = match timeout(LONGEST, work).await {
            Ok(Ok(findings)) => return findings,
            Ok(Err(_)) => "it panicked, which is a bug".to_owned(),
            Err(_) => format!("it was not done within {LONGEST:?}; the next tick goes on"),
        };
        Findings::failure(format!("{}: {problem}", self.name))
    }
}
