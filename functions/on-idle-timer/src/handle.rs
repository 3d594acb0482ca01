//! on-idle-timer: the timer ticked. A list of duties, each of which reads, decides, acts and reports for itself.

mod carry_on;
mod clouds;
mod commands;
mod disrupt;
mod duty;
mod findings;
mod leaks;
mod ledger;
mod pods_that_wait;
mod read;
mod turn;

use futures_util::future::join_all;
use host::{Function, PartsSource, parts::Parts};
use model::{Answer, IdleTick};
use std::sync::Arc;

use duty::Duty;
use findings::Findings;
use read::Read;

const NAME: &str = "on-idle-timer";

/// Everything that a tick does. A new duty is a new line.
const DUTIES: &[Duty] = &[
    Duty { name: "carrying on with claims", run: |tick| Box::pin(carry_on::run(tick)) },
    Duty { name: "placing pods that wait", run: |tick| Box::pin(pods_that_wait::run(tick)) },
    Duty { name: "taking nodes away", run: |tick| Box::pin(disrupt::run(tick)) },
    Duty { name: "closing leaks", run: |tick| Box::pin(leaks::run(tick)) },
    Duty { name: "counting what is spent", run: |tick| Box::pin(ledger::run(tick)) },
];

/// The function, as the host serves it.
pub fn function(parts: PartsSource) -> Function {
    Function::on_parts(NAME, parts, handle)
}

/// Does every duty, side by side: one that fails, panics or takes too long does not stop the others.
pub async fn handle(parts: Arc<Parts>, event: IdleTick) -> Answer {
    let cluster = event.cluster.clone();
    let tick = match read::read(parts, event).await {
        Read::Seen(tick) => Arc::new(*tick),
        Read::Answered(answer) => return answer,
    };
    let found = join_all(DUTIES.iter().map(|duty| duty.carry_out(tick.clone()))).await;
    tick.end_turn().await;
    found.into_iter().fold(Findings::default(), Findings::and).answer(&cluster)
}
