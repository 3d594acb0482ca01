//! Which fault of the world stands for which mishap of the suite. Each weather is a few of them, so that all have their turn.

use provider::contract::Mishap as Wanted;
use world::faults::Mishap;

#[derive(Clone, Copy)]
pub struct Weather {
    pub name: &'static str,
    /// What the suite is to try.
    pub tries: &'static [Wanted],
    /// What that is here.
    pub becomes: fn(Wanted) -> Mishap,
}

const GATEWAY: &[Wanted] = &[Wanted::BadGateway { done: false }, Wanted::BadGateway { done: true }];

impl Weather {
    pub const PLAIN: Weather = Weather { name: "plain", tries: &Wanted::COMMON, becomes: plain };

    /// The caller dies with its connection. Who goes on is another machine, or the same one started again.
    pub const CRASHES: Weather = Weather {
        name: "crashes",
        tries: &Wanted::COMMON,
        becomes: |wanted| match wanted {
            Wanted::Reset { done } => Mishap::Crash { done },
            Wanted::BadGateway { done } => answer(504, done),
            other => plain(other),
        },
    };

    pub const OTHERS: [Weather; 7] = [
        Weather { name: "500", tries: GATEWAY, becomes: |wanted| answer(500, wanted.is_done()) },
        Weather { name: "503", tries: GATEWAY, becomes: |wanted| answer(503, wanted.is_done()) },
        Weather { name: "408", tries: GATEWAY, becomes: |wanted| answer(408, wanted.is_done()) },
        // Whoever is on the way tried twice and passes on what the second try met.
        Weather { name: "409", tries: GATEWAY, becomes: |wanted| answer(409, wanted.is_done()) },
        Weather { name: "412", tries: GATEWAY, becomes: |wanted| answer(412, wanted.is_done()) },
        // An answer that comes in time, and one that comes when nobody waits any more.
        Weather {
            name: "slow",
            tries: &[Wanted::TimeOut { done: false }, Wanted::BadGateway { done: false }],
            becomes: |wanted| match wanted {
                Wanted::TimeOut { .. } => Mishap::Slow { milliseconds: 90_000 },
                _ => Mishap::Slow { milliseconds: 5_000 },
            },
        },
        // What only Kubernetes has: none of it may do anything here.
        Weather {
            name: "stale reads and broken watches",
            tries: &[
                Wanted::Reset { done: false },
                Wanted::TimeOut { done: false },
                Wanted::BadGateway { done: false },
            ],
            becomes: |wanted| match wanted {
                Wanted::Reset { .. } => Mishap::Stale { revisions: 3 },
                Wanted::TimeOut { .. } => Mishap::DropWatch { milliseconds: 1 },
                _ => Mishap::DelayWatch { milliseconds: 1 },
            },
        },
    ];
}

fn plain(wanted: Wanted) -> Mishap {
    match wanted {
        Wanted::Reset { done } => Mishap::Reset { done },
        Wanted::TimeOut { done } => Mishap::TimeOut { done },
        Wanted::BadGateway { done } => answer(502, done),
        Wanted::Throttled { retry_after } => {
            Mishap::Answer { status: 429, done: false, retry_after: Some(retry_after.as_secs()) }
        }
    }
}

fn answer(status: u16, done: bool) -> Mishap {
    Mishap::Answer { status, done, retry_after: None }
}
