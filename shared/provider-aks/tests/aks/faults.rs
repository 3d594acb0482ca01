//! Every fault the world knows, at every request of a life: it converges to one pool, then to none.

use crate::{azure::quick, common::*};
use jiff::SignedDuration;
use world::faults::{Fault, Matching, Mishap};

fn mishaps() -> Vec<Mishap> {
    let mut all = Vec::new();
    for done in [false, true] {
        all.extend([Mishap::Crash { done }, Mishap::TimeOut { done }, Mishap::Reset { done }]);
        for status in [408, 409, 412, 429, 500, 502, 503, 504] {
            let retry_after = (status == 429).then_some(7);
            all.push(Mishap::Answer { status, done, retry_after });
        }
    }
    all.extend([Mishap::Slow { milliseconds: 90_000 }, Mishap::Stale { revisions: 3 }]);
    all.extend([Mishap::DropWatch { milliseconds: 1 }, Mishap::DelayWatch { milliseconds: 1 }]);
    all
}

/// One life under one fault. Says how many requests it took.
async fn life(fault: Option<Fault>, forgetful: bool) -> usize {
    let rig = rig_with(quick);
    let what = format!("{fault:?}, forgetful: {forgetful}");
    if let Some(fault) = fault {
        rig.world.faults.add(fault);
    }
    let request = request("gpu1");
    rig.make(&request, forgetful).await.unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(rig.pools().len(), 1, "{what}");
    rig.world.check(SignedDuration::from_hours(24)).unwrap_or_else(|broken| panic!("{what}: {broken}"));
    rig.unmake(&request.key, forgetful).await.unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(rig.pools(), vec![], "{what}");
    rig.world.check(SignedDuration::ZERO).unwrap_or_else(|broken| panic!("{what}: {broken}"));
    // One pool in all: nothing was made twice, not even one after the other.
    let ever = rig.world.instances().len();
    assert_eq!(ever, 1, "{what}");
    rig.requests().len()
}

#[tokio::test(start_paused = true)]
async fn any_fault_at_any_request_ends_with_one_pool_and_then_none() {
    let requests = life(None, false).await;
    assert!((8..40).contains(&requests), "{requests}");
    println!("{} faults at each of {requests} requests", mishaps().len());
    for then in mishaps() {
        for nth in 1..=requests as u64 {
            let on = Matching { to: Some("aks".into()), nth: Some(nth), ..Matching::default() };
            let fault = Fault { on, then: then.clone() };
            life(Some(fault.clone()), false).await;
            if matches!(then, Mishap::Crash { .. }) {
                life(Some(fault), true).await;
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_failed_attempt_is_cleared_under_any_fault() {
    use world::arm::{Effect, Fault as Failure, Shortage, When};
    let mut requests = 12;
    for then in [None].into_iter().chain(mishaps().into_iter().map(Some)) {
        for nth in 1..=requests {
            let rig = rig_with(quick);
            let effect = Effect::Refuse { why: Shortage::SkuNotAvailable, when: When::InOperation };
            rig.world.arm.add_fault(Failure::new(effect));
            if let Some(then) = then.clone() {
                let on = Matching { to: Some("aks".into()), nth: Some(nth), ..Matching::default() };
                rig.world.faults.add(Fault { on, then });
            }
            let error = rig.make(&request("gpu1"), true).await.unwrap_err();
            assert_eq!(error.reason(), "InsufficientCapacity", "{then:?} at {nth}: {error}");
            assert_eq!(rig.pools(), vec![], "{then:?} at {nth}");
            rig.world.check(SignedDuration::ZERO).unwrap_or_else(|broken| panic!("{then:?} at {nth}: {broken}"));
            if then.is_none() {
                requests = rig.requests().len() as u64;
                break;
            }
        }
    }
}
