//! The queue by itself, as a table of what is offered, taken and answered.

use forwarder::{
    filter::Wake,
    queue::{After, Because, Limits, Queue, Verdict},
};
use jiff::Timestamp;
use std::time::Duration;
use tokio::time::Instant;

const LIMITS: Limits = Limits { lanes: 100, tries: 3 };

fn no_luck() -> u64 {
    0
}

fn tick(second: i64) -> Wake {
    Wake::Tick(Timestamp::from_second(second).unwrap())
}

fn taken(queue: &mut Queue, now: Instant) -> Option<i64> {
    match queue.take(now)?.wake {
        Wake::Tick(at) => Some(at.as_second()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_newest_of_a_lane_is_what_is_sent_and_one_is_under_way_at_a_time() {
    let (mut queue, now) = (Queue::new(LIMITS), Instant::now());
    queue.offer(tick(1), Because::ItChanged, now);
    queue.offer(tick(2), Because::ItChanged, now);
    assert_eq!(taken(&mut queue, now), Some(2));
    queue.offer(tick(3), Because::ItChanged, now);
    assert_eq!(taken(&mut queue, now), None, "the one before is under way");
    assert_eq!(queue.finish(tick(0).lane(), Verdict::Acknowledged, now, &no_luck), After::Waits(Duration::ZERO));
    assert_eq!(taken(&mut queue, now), Some(3));
    assert_eq!(queue.finish(tick(0).lane(), Verdict::Acknowledged, now, &no_luck), After::Settled);
    assert!(queue.is_empty() && queue.under_way() == 0 && queue.due().is_none());
}

#[test]
fn a_resync_does_not_hurry_what_waits_and_news_hurry_only_what_did_not_fail() {
    // (verdict, why it is offered again, when it is sent)
    let seconds = Duration::from_secs;
    let cases = [
        (Verdict::Later(seconds(60)), Because::Resync, seconds(60)),
        (Verdict::Later(seconds(60)), Because::ItChanged, seconds(5)),
        (Verdict::Failed(Some(seconds(60))), Because::Resync, seconds(60)),
        (Verdict::Failed(Some(seconds(60))), Because::ItChanged, seconds(60)),
    ];
    for (verdict, because, expected) in cases {
        let (mut queue, now) = (Queue::new(LIMITS), Instant::now());
        queue.offer(tick(1), Because::ItChanged, now);
        assert_eq!(taken(&mut queue, now), Some(1));
        queue.finish(tick(0).lane(), verdict, now, &no_luck);
        queue.offer(tick(2), because, now + seconds(5));
        assert_eq!(queue.due(), Some(now + expected), "{verdict:?} {because:?}");
        assert_eq!(taken(&mut queue, now + expected), Some(2), "the newest in any case");
    }
}

#[test]
fn failures_back_off_until_they_are_given_up() {
    let (mut queue, mut now) = (Queue::new(LIMITS), Instant::now());
    queue.offer(tick(1), Because::ItChanged, now);
    let mut waits = Vec::new();
    let given_up = loop {
        assert_eq!(taken(&mut queue, now), Some(1));
        match queue.finish(tick(0).lane(), Verdict::Failed(None), now, &no_luck) {
            After::Waits(wait) => {
                waits.push(wait.as_millis());
                now += wait;
            }
            other => break other,
        }
    };
    assert_eq!((waits, given_up), (vec![250, 500], After::GivenUp { failures: 3 }));
    assert!(queue.is_empty());
}

#[test]
fn a_success_between_failures_begins_the_count_again() {
    let (mut queue, now) = (Queue::new(LIMITS), Instant::now());
    let far = now + Duration::from_secs(3600);
    for _ in 0..4 {
        for verdict in [Verdict::Failed(None), Verdict::Failed(None), Verdict::Acknowledged] {
            queue.offer(tick(1), Because::ItChanged, now);
            assert_eq!(taken(&mut queue, far), Some(1));
            assert!(!matches!(queue.finish(tick(0).lane(), verdict, now, &no_luck), After::GivenUp { .. }));
        }
    }
}

#[test]
fn what_found_no_room_is_named_again_when_there_is_room() {
    let (mut queue, now) = (Queue::new(Limits { lanes: 1, tries: 1 }), Instant::now());
    assert!(queue.offer(tick(1), Because::ItChanged, now));
    let claim = crate::wakes::some_claim();
    assert!(!queue.offer(claim.clone(), Because::ItChanged, now));
    assert_eq!(queue.next_overflow(), None, "there is no room yet");
    assert_eq!(taken(&mut queue, now), Some(1));
    queue.finish(tick(0).lane(), Verdict::Acknowledged, now, &no_luck);
    assert_eq!(queue.next_overflow(), Some(claim.lane()));
    assert_eq!(queue.next_overflow(), None, "once");
}
