//! Leaks, both ways: what each cloud holds against what the cluster knows, and what is left over of it.

mod close;
mod look;

use decide::leaks::{Leak, find, left_alone};
use futures_util::stream::{self, StreamExt as _};
use host::telemetry::count_leak;
use model::{ResourceVersion, Uid};
use std::{collections::BTreeSet, sync::Arc};

use crate::{findings::Findings, read::Tick};
use look::Looked;

/// In one tick: enough for what a night of failures leaves, few enough that a mistake is seen before it is done.
const MOST: usize = 24;
/// Side by side.
const AT_ONCE: usize = 4;

pub async fn run(tick: Arc<Tick>) -> Findings {
    let Looked { situation, stock_version, problems } = match look::look(&tick).await {
        Ok(looked) => looked,
        // Without a whole picture nothing is anybody's, and nothing is taken from anybody.
        Err(error) => return Findings::failure(error.to_string()),
    };
    let mut findings = Findings { failed: problems, left_alone: left_alone(&situation), ..Findings::default() };
    let leaks = find(&situation);
    if leaks.is_empty() {
        return findings;
    }
    // Others may have been at it since, so who has a claim is read once more when it is our turn.
    let known = match tick.is_our_turn().await {
        Ok(true) => match look::uids(&tick).await {
            Ok(known) => known,
            Err(error) => return findings.and(Findings::failure(error.to_string())),
        },
        Ok(false) => {
            findings.under_way.push(format!("another tick is closing {}", count(leaks.len())));
            return findings;
        }
        Err(error) => return findings.and(Findings::failure(error.to_string())),
    };
    if leaks.len() > MOST {
        findings.under_way.push(format!("{} are left for the next tick", count(leaks.len() - MOST)));
    }
    let one = |leak| closed(&tick, leak, &known, stock_version.as_ref());
    let closing: Vec<_> = leaks.iter().take(MOST).map(one).collect();
    let closed: Vec<Findings> = stream::iter(closing).buffer_unordered(AT_ONCE).collect().await;
    closed.into_iter().fold(findings, Findings::and)
}

async fn closed(tick: &Tick, leak: &Leak, known: &BTreeSet<Uid>, stock: Option<&ResourceVersion>) -> Findings {
    let closed = close::close(tick, leak, known, stock).await;
    report(leak, &closed);
    closed
}

fn count(leaks: usize) -> String {
    if leaks == 1 { "1 leak".to_owned() } else { format!("{leaks} leaks") }
}

/// For those who read logs and counts; Events are written where there is an object to write them on.
fn report(leak: &Leak, closed: &Findings) {
    let Findings { done, under_way, left_alone: _, failed, again: _ } = closed;
    for (result, all) in [("closed", done), ("under-way", under_way), ("failed", failed)] {
        for text in all {
            count_leak(leak.kind(), result);
            tracing::warn!(kind = leak.kind(), result, "{text}");
        }
    }
}
