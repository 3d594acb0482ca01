//! All decorators around a provider, in the one right order.

use core::time::Duration;
use std::sync::Arc;

use crate::{
    Chance, Limits, Metering, Provider, Rate, Remembered, SystemChance, TimeOuts, Tracing, Wrapped, limited::Limiter,
};

/// How a provider is dressed. The default suits any cloud; a provider that knows better says so.
#[derive(Clone)]
pub struct Settings {
    pub time_outs: TimeOuts,
    pub limits: Limits,
    pub chance: Arc<dyn Chance>,
    /// How long what is sold is taken for what was sold.
    pub offerings_fresh_for: Duration,
}

const OFFERINGS_FRESH_FOR: Duration = Duration::from_secs(5);

impl Default for Settings {
    fn default() -> Self {
        Settings {
            time_outs: TimeOuts::default(),
            limits: Limits::default(),
            chance: Arc::new(SystemChance),
            offerings_fresh_for: OFFERINGS_FRESH_FOR,
        }
    }
}

impl Settings {
    /// For what is found out from our own cluster: it is cheap to ask, and an old answer would be wrong.
    pub fn own_cluster() -> Self {
        let mut limits = Limits::default();
        limits.rate.offerings = Rate { every: Duration::from_millis(20), burst: 100 };
        Settings { limits, offerings_fresh_for: Duration::ZERO, ..Settings::default() }
    }
}

/// A provider with time-outs, metrics, limits, a memory of what is sold, and traces. From the inside out:
///
/// 1. *Time-out* next to the cloud: only the call itself is timed. Were it outside the limits, waiting for a turn would
///    become `Uncertain` for a change that was never sent.
/// 2. *Metrics* count what was really asked of the cloud, time-outs included, and not our own waiting.
/// 3. *Limits* see every result, time-outs included, because a cloud that is silent is one that the breaker is for.
/// 4. *What is sold* is remembered outside the limits: whoever asks for the same a moment later takes nobody's turn.
/// 5. *Tracing* outermost: a call that the limits turned away has its span too.
///
/// The limits are kept in this value, so a process dresses each provider once and shares it.
pub fn dressed(provider: impl Provider + 'static, settings: Settings) -> Arc<dyn Provider> {
    let Settings { time_outs, limits, chance, offerings_fresh_for } = settings;
    let timed = Wrapped::new(provider, time_outs);
    let metered = Wrapped::new(timed, Metering::describe());
    let limited = Wrapped::new(metered, Limiter::new(limits, chance));
    let remembered = Remembered::new(limited, offerings_fresh_for);
    Arc::new(Wrapped::new(remembered, Tracing))
}
