//! How many nodes of a pool may go at a time: the tightest of the budgets that count now.

use jiff::Timestamp;
use model::disruption::{Budget, PoolHere, Reason};

use super::cron::Schedule;

/// What is left of every pool's budgets while nodes are chosen.
#[derive(Debug, Clone)]
pub struct Budgets {
    pools: Vec<PoolBudgets>,
}

#[derive(Debug, Clone, Default)]
struct PoolBudgets {
    /// By reason: how many may go, and the words of the budget that says so.
    allowed: Vec<Option<(usize, String)>>,
    /// Nodes that go or are not ready, and those that were chosen since.
    going: usize,
    /// Of those, the ones that are unhealthy themselves: they do not stand in their own way.
    unhealthy: usize,
}

/// What a pool has, as budgets count it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counts {
    /// Nodes that are up.
    pub nodes: usize,
    /// On their way out, chosen by an earlier command, or not ready.
    pub going: usize,
    /// Of those, not ready for a reason that repair is about to deal with.
    pub unhealthy: usize,
}

/// How a node that is to go was counted before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    No,
    NotReady,
    /// Not ready, for a reason that repair is about to deal with.
    Unhealthy,
}

impl Counted {
    /// What it adds to those that go for a reason.
    pub fn adds(self, reason: Reason) -> usize {
        match self {
            Counted::No => 1,
            Counted::NotReady => 0,
            Counted::Unhealthy => usize::from(reason == Reason::Unhealthy),
        }
    }
}

impl Budgets {
    pub fn new(pools: &[PoolHere], counts: &[Counts], now: Timestamp) -> Self {
        let of_pool = |(pool, counts): (&PoolHere, &Counts)| PoolBudgets {
            allowed: Reason::ALL.iter().map(|reason| tightest(pool, *reason, counts.nodes, now)).collect(),
            going: counts.going,
            unhealthy: counts.unhealthy,
        };
        Budgets { pools: pools.iter().zip(counts).map(of_pool).collect() }
    }

    /// Whether so many more nodes may go; if not, why not.
    pub fn allow(&self, pool: usize, reason: Reason, more: usize) -> Result<(), String> {
        let Some(of) = self.pools.get(pool) else { return Ok(()) };
        let at = Reason::ALL.iter().position(|one| *one == reason).unwrap_or(0);
        let Some(Some((allowed, words))) = of.allowed.get(at) else { return Ok(()) };
        let going = of.going - if reason == Reason::Unhealthy { of.unhealthy.min(of.going) } else { 0 };
        if going + more <= *allowed {
            return Ok(());
        }
        let taken = match going {
            0 => String::new(),
            1 => ", and one is going or not ready".to_owned(),
            _ => format!(", and {going} are going or not ready"),
        };
        Err(format!("{words}{taken}"))
    }

    /// One more goes.
    pub fn take(&mut self, pool: usize, counted: Counted) {
        let Some(of) = self.pools.get_mut(pool) else { return };
        match counted {
            Counted::No => of.going += 1,
            Counted::NotReady => {}
            Counted::Unhealthy => of.unhealthy = of.unhealthy.saturating_sub(1),
        }
    }
}

/// The least that an active budget for the reason allows. None where no budget counts.
fn tightest(pool: &PoolHere, reason: Reason, nodes: usize, now: Timestamp) -> Option<(usize, String)> {
    let all = pool.budgets.iter().enumerate();
    all.filter_map(|(at, budget)| one(pool, at, budget, reason, nodes, now)).min_by_key(|(allowed, _)| *allowed)
}

fn one(
    pool: &PoolHere,
    at: usize,
    budget: &Budget,
    reason: Reason,
    nodes: usize,
    now: Timestamp,
) -> Option<(usize, String)> {
    if !budget.reasons.is_empty() && !budget.reasons.iter().any(|own| own == reason.as_str()) {
        return None;
    }
    match is_on(pool, budget, now).and_then(|on| Ok((on, allowed(&budget.nodes, nodes)?))) {
        Ok((false, _)) => None,
        Ok((true, allowed)) => {
            let when = budget.schedule.as_ref().map(|schedule| format!(", on since {schedule}")).unwrap_or_default();
            let share = if budget.nodes.ends_with('%') { format!(" of {nodes}") } else { String::new() };
            let words =
                format!("budget {} of its pool ({}{share}{when}) lets {allowed} go at a time", at + 1, budget.nodes);
            Some((allowed, words))
        }
        // What cannot be understood lets nothing go: a mistake must not cost nodes.
        Err(why) => Some((0, format!("budget {} of its pool cannot be read, so it lets none go: {why}", at + 1))),
    }
}

fn is_on(pool: &PoolHere, budget: &Budget, now: Timestamp) -> Result<bool, String> {
    let (schedule, duration) = match (&budget.schedule, &budget.duration) {
        (None, None) => return Ok(true),
        (Some(schedule), Some(duration)) => (schedule, duration),
        _ => return Err("schedule and duration go together".to_owned()),
    };
    let schedule = Schedule::parse(schedule)?;
    let lasts = model::duration::parse(duration).filter(|lasts| lasts.is_positive());
    let lasts = lasts.ok_or_else(|| format!("{duration:?} is not a duration: hours and minutes, as in 8h30m"))?;
    let zone = pool.time_zone.as_ref().map_err(Clone::clone)?;
    Ok(schedule.is_on(now, lasts, zone))
}

/// A number, or a share of the pool, rounded up.
fn allowed(text: &str, nodes: usize) -> Result<usize, String> {
    let wrong = || format!("{text:?} is neither a number of nodes nor a share of them, as in 10%");
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.strip_suffix('%') {
        Some(share) if digits(share) => {
            let share: usize = share.parse().ok().filter(|share| *share <= 100).ok_or_else(wrong)?;
            Ok((nodes * share).div_ceil(100))
        }
        None if digits(text) => text.parse().map_err(|_| wrong()),
        _ => Err(wrong()),
    }
}
