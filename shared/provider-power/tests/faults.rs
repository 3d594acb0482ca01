//! Every fault the world knows, at every request of a machine's life: it still goes on once and off once.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::{KINDS, Kind, Stage};
use world::{
    faults::{Fault, Matching, Mishap},
    history::Place,
};

fn mishaps() -> Vec<Mishap> {
    let mut all = vec![
        Mishap::Slow { milliseconds: 2_000 },
        Mishap::Slow { milliseconds: 30_000 },
        Mishap::Stale { revisions: 3 },
        Mishap::DropWatch { milliseconds: 10 },
        Mishap::DelayWatch { milliseconds: 10 },
    ];
    for done in [false, true] {
        all.extend([Mishap::Crash { done }, Mishap::TimeOut { done }, Mishap::Reset { done }]);
        for status in [408, 409, 412, 423, 429, 500, 502, 503, 504] {
            let retry_after = (status == 429 || status == 503).then_some(7);
            all.push(Mishap::Answer { status, done, retry_after });
        }
    }
    all
}

async fn live(kind: Kind, fault: Option<Fault>) -> usize {
    let told = format!("{kind:?} {fault:?}");
    let mut stage = Stage::of(kind);
    if let Some(fault) = fault {
        stage.world.faults.add(fault);
    }
    stage.drive_on().await.unwrap_or_else(|error| panic!("{told}: {error}"));
    assert!(stage.record().on, "{told}");
    stage.seconds(30).await;
    assert!(stage.record().on, "{told}: confirmed on is on for good");
    stage.drive_off().await.unwrap_or_else(|error| panic!("{told}: {error}"));
    assert!(!stage.record().on, "{told}");
    stage.seconds(60).await;
    assert!(!stage.record().on, "{told}: confirmed off is off for good");
    assert_eq!(stage.record().boots, 1, "{told}: one transition, however often it was asked for");
    stage.world.history.exchanges().iter().filter(|exchange| exchange.to == Place::Power).count()
}

#[tokio::test(start_paused = true)]
async fn a_life_converges_under_every_fault_at_every_request() {
    let mut lives = 0;
    for kind in KINDS {
        let requests = live(kind, None).await;
        for nth in 1..=requests {
            for then in mishaps() {
                let on = Matching { to: Some("power".to_owned()), nth: Some(nth as u64), ..Matching::default() };
                live(kind, Some(Fault { on, then })).await;
                lives += 1;
            }
        }
    }
    println!("{lives} lives, each with one fault");
    assert!(lives > 500, "{lives}");
}
