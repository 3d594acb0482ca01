//! All decorators around a provider, in the one right order.

use std::sync::Arc;

use crate::{Chance, Limits, Metering, Provider, SystemChance, TimeOuts, Tracing, Wrapped, limited::Limiter};

/// How a provider is dressed. The default suits any cloud; a provider that knows better says so.
#[derive(Clone)]
pub struct Settings {
    pub time_outs: TimeOuts,
    pub limits: Limits,
    pub chance: Arc<dyn Chance>,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { time_outs: TimeOuts::default(), limits: Limits::default(), chance: Arc::new(SystemChance) }
    }
}

/// A provider with time-outs, metrics, limits and traces. From the inside out:
///
/// 1. *Time-out* next to the cloud: only the call itself is timed. Were it outside the limits, waiting for a turn would
///    become `Uncertain` for a change that was never sent.
/// 2. *Metrics* count what was really asked of the cloud, time-outs included, and not our own waiting.
/// 3. *Limits* see every result, time-outs included, because a cloud that is silent is one that the breaker is for.
/// 4. *Tracing* outermost: a call that the limits turned away has its span too.
///
/// The limits are kept in this value, so a process dresses each provider once and shares it.
pub fn dressed(provider: impl Provider + 'static, settings: Settings) -> Arc<dyn Provider> {
    let Settings { time_outs, limits, chance } = settings;
    let timed = Wrapped::new(provider, time_outs);
    let metered = Wrapped::new(timed, Metering::describe());
    let limited = Wrapped::new(metered, Limiter::new(limits, chance));
    Arc::new(Wrapped::new(limited, Tracing))
}
