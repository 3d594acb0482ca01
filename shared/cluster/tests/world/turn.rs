//! Whose turn it is: one at a time, for a short time, and never for ever.

use crate::stage::{Stage, stage};
use cluster::{OurTurn, PROVISIONING, TICKING, Turn, Turns};
use jiff::SignedDuration;

async fn take_of(turns: Turns, stage: &Stage, holder: &str, after: i64) -> Turn {
    let now = stage.world.clock.now() + SignedDuration::from_secs(after);
    stage.cluster.take_turn(turns, holder, now).await.unwrap()
}

async fn take(stage: &Stage, holder: &str, after: i64) -> Turn {
    take_of(PROVISIONING, stage, holder, after).await
}

fn ours(turn: Turn) -> OurTurn {
    match turn {
        Turn::Ours(turn) => turn,
        Turn::Others { until } => panic!("somebody has it until {until}"),
    }
}

#[tokio::test(start_paused = true)]
async fn one_has_it_until_it_is_given_back() {
    let stage = stage().await;
    let first = ours(take(&stage, "a", 0).await);
    assert!(matches!(take(&stage, "b", 0).await, Turn::Others { .. }));
    stage.cluster.end_turn(first.clone()).await.unwrap();
    let second = ours(take(&stage, "b", 0).await);
    // What was given back cannot be used, nor given back, again.
    stage.cluster.end_turn(first.clone()).await.unwrap();
    assert_eq!(stage.cluster.keep_turn(first, stage.world.clock.now()).await, Ok(None));
    assert!(stage.cluster.keep_turn(second, stage.world.clock.now()).await.unwrap().is_some());
}

#[tokio::test(start_paused = true)]
async fn who_dies_with_it_holds_others_up_for_a_short_time_only() {
    let stage = stage().await;
    let dead = ours(take(&stage, "a", 0).await);
    assert!(matches!(take(&stage, "b", PROVISIONING.length.as_secs() + 4).await, Turn::Others { .. }));
    ours(take(&stage, "b", PROVISIONING.length.as_secs() + 6).await);
    assert_eq!(stage.cluster.keep_turn(dead, stage.world.clock.now()).await, Ok(None));
}

#[tokio::test(start_paused = true)]
async fn turns_at_different_things_do_not_wait_for_each_other() {
    let stage = stage().await;
    ours(take_of(PROVISIONING, &stage, "a", 0).await);
    ours(take_of(TICKING, &stage, "a", 0).await);
    assert!(matches!(take_of(TICKING, &stage, "b", 0).await, Turn::Others { .. }));
}
