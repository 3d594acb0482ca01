//! Every fault at every effect: one life for each, and what must be true at its end.

use jiff::SignedDuration;
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Mutex,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::Duration,
};
use world::{
    faults::{Fault, Matching, Mishap},
    history::Exchange,
};

use crate::{Kind, Theatre, gpu_pod};

/// What can happen to a request that changes something.
pub fn mishaps() -> Vec<(&'static str, Mishap)> {
    let answer = |status, done, retry_after| Mishap::Answer { status, done, retry_after };
    vec![
        ("crash before", Mishap::Crash { done: false }),
        ("crash after", Mishap::Crash { done: true }),
        ("time-out, not done", Mishap::TimeOut { done: false }),
        ("time-out, done", Mishap::TimeOut { done: true }),
        ("reset, done", Mishap::Reset { done: true }),
        ("409", answer(409, false, None)),
        ("412", answer(412, false, None)),
        ("429", answer(429, false, Some(3))),
        ("500", answer(500, false, None)),
        ("500, done", answer(500, true, None)),
        ("503", answer(503, false, None)),
    ]
}

/// What is lived: a claim that somebody made, or a pod for which one is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Play {
    Claim,
    Pod,
}

/// One request of a life, by what it is and the how many-th of its like it is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Effect {
    pub to: String,
    pub user: String,
    pub method: String,
    pub path: String,
    pub nth: u64,
}

/// The requests of our functions that change something, in a life without faults. Of a pod's, those until its claim is there:
/// what follows is the life of a claim.
pub fn effects(kind: Kind, play: Play) -> Vec<Effect> {
    let mut exchanges = live(kind, play, None);
    if play == Play::Pod {
        let is_follow_up = |one: &Exchange| one.method == "PATCH" && one.path.contains("/nodeclaims/");
        exchanges.truncate(exchanges.iter().position(is_follow_up).unwrap_or(exchanges.len()));
    }
    let ours = |one: &&Exchange| one.method != "GET" && one.user != "admin" && one.user != "person";
    numbered(&exchanges.iter().filter(ours).collect::<Vec<_>>())
}

/// Each of these requests, by the how many-th of its like it is: a fault is met by whatever path holds its own.
pub fn numbered(exchanges: &[&Exchange]) -> Vec<Effect> {
    let effect = |(index, one): (usize, &&Exchange)| {
        let like_it = |other: &&&Exchange| {
            other.to == one.to && other.user == one.user && other.method == one.method && other.path.contains(&one.path)
        };
        let nth = exchanges.iter().take(index + 1).filter(like_it).count();
        let (to, user) = (one.to.as_str().to_owned(), one.user.clone());
        Effect { to, user, method: one.method.clone(), path: one.path.clone(), nth: nth as u64 }
    };
    exchanges.iter().enumerate().map(effect).collect()
}

impl Effect {
    pub fn with(&self, then: Mishap) -> Fault {
        let on = Matching {
            to: Some(self.to.clone()),
            user: Some(self.user.clone()),
            method: Some(self.method.clone()),
            path: Some(self.path.clone()),
            nth: Some(self.nth),
            ..Matching::default()
        };
        Fault { on, then }
    }
}

/// A claim from its making to its end. Panics if it does not come to life, does not go, or leaves something.
pub fn live(kind: Kind, play: Play, fault: Option<Fault>) -> Vec<Exchange> {
    on_its_clock(async {
        let mut theatre = Theatre::open().await;
        let is_faulty = fault.is_some();
        if let Some(fault) = fault {
            theatre.world.faults.add(fault);
        }
        theatre.play(theatre.messenger());
        let claim = match play {
            Play::Claim => {
                theatre.create(kind.claim("gpu1")).await;
                "gpu1".to_owned()
            }
            Play::Pod => comes_for_a_pod(&theatre, kind).await,
        };
        theatre.until("the claim is ready", |theatre| theatre.is_ready(&claim)).await;
        theatre.delete(&claim).await;
        theatre.until("the claim is gone", |theatre| theatre.is_gone(&claim)).await;
        theatre.pass(Duration::from_secs(120)).await;
        theatre.world.check(SignedDuration::ZERO).expect("the invariants hold");
        assert!(theatre.world.power.snapshot().iter().all(|machine| !machine.on), "every machine is off");
        assert!(theatre.world.instances().iter().all(|instance| instance.until.is_some()), "nothing is left");
        let exchanges = theatre.world.history.exchanges();
        assert_eq!(is_faulty, exchanges.iter().any(|exchange| exchange.fault.is_some()), "the fault was met");
        exchanges
    })
}

/// A pod waits, runs, and has had one claim made for it and one Event. Gives back the claim's name.
async fn comes_for_a_pod(theatre: &Theatre, kind: Kind) -> String {
    theatre.create_pool(kind.pool("gpu")).await;
    theatre.create_pod(gpu_pod("train", 1)).await;
    theatre.until("the pod runs", |theatre| theatre.runs("train")).await;
    theatre.pass(Duration::from_secs(120)).await;
    let claims = theatre.all_claims();
    assert_eq!(claims.len(), 1, "one node is made for one pod");
    let said = theatre.said_of("train");
    assert!(said.iter().filter(|(reason, _)| reason == "Nominated").count() == 1, "it is told so once: {said:?}");
    claims[0]["metadata"]["name"].as_str().unwrap_or_default().to_owned()
}

/// Every fault at every effect of a life, and the lives that did not come out.
pub fn sweep(kind: Kind, play: Play) -> (usize, Vec<String>) {
    sweep_over(&effects(kind, play), |fault| drop(live(kind, play, Some(fault))))
}

/// Lives every plan, on two threads, and answers those that did not come out.
pub fn sweep_over(effects: &[Effect], live: impl Fn(Fault) + Sync) -> (usize, Vec<String>) {
    let plans: Vec<(String, Fault)> = effects
        .iter()
        .flat_map(|effect| {
            let named = |(name, mishap): (&str, Mishap)| (format!("{name} at {effect:?}"), effect.with(mishap));
            mishaps().into_iter().map(named).collect::<Vec<_>>()
        })
        .collect();
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some((name, fault)) = plans.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let lived = catch_unwind(AssertUnwindSafe(|| live(fault.clone())));
                    if let Err(panic) = lived {
                        let why = panic.downcast_ref::<String>().cloned().unwrap_or_default();
                        failed.lock().expect("nobody panics with it").push(format!("{name}: {why}"));
                    }
                }
            });
        }
    });
    (plans.len(), failed.into_inner().expect("nobody panics with it"))
}

/// Lives something on the world's clock, to its end.
pub fn on_its_clock<T>(life: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    runtime.expect("a runtime starts").block_on(life)
}
