//! What will become of a request for machines: refused, doomed, or machines with their times. Decided once, on PUT.

use super::{
    answer::Refusal,
    catalogue::Size,
    compute::family_limit,
    fault::{Effect, Shortage, Wanted, When},
    options::{ArmOptions, QuotaAnswer, Span},
    state::State,
};
use crate::chance::Chance;
use http::StatusCode;
use jiff::Timestamp;
use std::time::Duration;

/// A request for machines.
pub(super) struct Order<'a> {
    pub pool: &'a str,
    pub size: &'static Size,
    pub spot: bool,
    /// The zone of each machine wanted.
    pub zones: Vec<Option<String>>,
    pub now: Timestamp,
}

pub(super) enum Plan {
    Fails {
        after: Duration,
        error: Refusal,
    },
    /// `None` as the end: the operation is stuck.
    Runs {
        machines: Vec<PlannedMachine>,
        ends_after: Option<Duration>,
    },
}

pub(super) struct PlannedMachine {
    pub zone: Option<String>,
    pub boot: Duration,
    pub joins: bool,
    pub gpu_after: Option<Duration>,
}

impl Order<'_> {
    pub fn plan(&self, state: &mut State, chance: &Chance, shortest_end: Span) -> Result<Plan, Refusal> {
        let timings = state.options.timings.clone();
        let draw = |span: Span| chance.between(span.0, span.1);
        let fails = |error| Plan::Fails { after: draw(timings.failure), error };
        if let Some((answer, error)) = self.over_quota(state) {
            return if answer == QuotaAnswer::Operation { Ok(fails(error)) } else { Err(error) };
        }
        if let Some((when, error)) = self.shortage(state) {
            return if when == When::AtOnce { Err(error) } else { Ok(fails(error)) };
        }
        let mut machines: Vec<PlannedMachine> = Vec::new();
        for zone in &self.zones {
            let (boot, gpu_after) = (draw(timings.boot), Some(draw(timings.gpu)));
            machines.push(PlannedMachine { zone: zone.clone(), boot, joins: true, gpu_after });
        }
        let mut takes = None;
        for fault in &mut state.options.faults {
            for (machine, zone) in machines.iter_mut().zip(&self.zones) {
                if !fault.hits(&self.wanted(zone.as_deref())) {
                    continue;
                }
                match &fault.effect {
                    Effect::BootTakes(span) => machine.boot = *span,
                    Effect::NodeNeverJoins => machine.joins = false,
                    Effect::GpuAfter(span) => machine.gpu_after = Some(*span),
                    Effect::GpuNeverAppears => machine.gpu_after = None,
                    _ => continue,
                }
                fault.spend();
            }
            let first = self.zones.first().cloned().flatten();
            if fault.hits(&self.wanted(first.as_deref())) {
                match &fault.effect {
                    Effect::OperationTakes(span) => takes = Some(Some(*span)),
                    Effect::OperationStuck => takes = Some(None),
                    _ => continue,
                }
                fault.spend();
            }
        }
        let booted = machines.iter().map(|machine| machine.boot).max();
        let natural = booted.map_or_else(|| draw(shortest_end), |booted| booted + draw(timings.settle));
        Ok(Plan::Runs { machines, ends_after: takes.unwrap_or(Some(natural)) })
    }

    fn wanted<'a>(&'a self, zone: Option<&'a str>) -> Wanted<'a> {
        Wanted { pool: self.pool, size: self.size.name, zone, spot: self.spot, now: self.now }
    }

    /// The first fault that leaves fewer machines than are wanted, and what it says.
    fn shortage(&self, state: &mut State) -> Option<(When, Refusal)> {
        let location = state.options.location.clone();
        let hit = state.options.faults.iter().enumerate().find_map(|(at, fault)| {
            let hits = self.zones.iter().filter(|zone| fault.hits(&self.wanted(zone.as_deref()))).count() as u64;
            let found = match &fault.effect {
                _ if hits == 0 => return None,
                Effect::Refuse { why, when } => (*when, refusal(*why, *when, self.size, &location)),
                Effect::Stock { machines, why, when } => {
                    let alive = state.pools.values().flat_map(|pool| pool.alive().map(move |one| (pool, one)));
                    let taken = alive.filter(|(pool, one)| {
                        let zone = one.zone.as_deref();
                        let (size, spot) = (pool.size.name, pool.spot());
                        fault.on.matches(&Wanted { pool: &pool.name, size, zone, spot, now: self.now })
                    });
                    if taken.count() as u64 + hits <= *machines {
                        return None;
                    }
                    (*when, refusal(*why, *when, self.size, &location))
                }
                Effect::Answer { status, code, message } => {
                    let status = StatusCode::from_u16(*status).unwrap_or(StatusCode::BAD_REQUEST);
                    (When::AtOnce, Refusal::aks(status, code, message.clone()))
                }
                Effect::OperationFails { code, message } => {
                    (When::InOperation, Refusal::aks(StatusCode::BAD_REQUEST, code, message.clone()))
                }
                _ => return None,
            };
            Some((at, found))
        });
        let (at, found) = hit?;
        if let Some(fault) = state.options.faults.get_mut(at) {
            fault.spend();
        }
        Some(found)
    }

    fn over_quota(&self, state: &State) -> Option<(QuotaAnswer, Refusal)> {
        let options = &state.options;
        let wanted = self.size.vcpus * self.zones.len() as u64;
        let used = state.used_vcpus();
        let of_family = used.families.get(self.size.family).copied().unwrap_or(0);
        let checks: &[(&str, &str, u64, u64)] = if self.spot {
            &[("LowPriorityCores", "lowPriorityCores", used.low_priority, options.quota.low_priority)]
        } else {
            &[
                (self.size.family, self.size.family, of_family, family_limit(options, self.size.family)),
                ("Total Regional Cores", "cores", used.regional, options.quota.regional),
            ]
        };
        let (words, name, used, limit) =
            checks.iter().copied().find(|(.., used, limit)| wanted > 0 && used + wanted > *limit)?;
        Some((options.quota.answer, quota_refusal(options, [words, name], [used, limit, wanted])))
    }
}

/// What will become of a DELETE.
pub(super) enum Deletion {
    Normal,
    Takes(Duration),
    Stuck,
    Fails(Refusal),
}

pub(super) fn deletion(state: &mut State, name: &str, now: Timestamp) -> Deletion {
    let State { options, pools, .. } = state;
    let Some(pool) = pools.get(name) else { return Deletion::Normal };
    let zone = pool.properties.zone_of(0);
    let wanted = Wanted { pool: name, size: pool.size.name, zone: zone.as_deref(), spot: pool.spot(), now };
    for fault in options.faults.iter_mut().filter(|fault| fault.hits(&wanted)) {
        let found = match &fault.effect {
            Effect::DeletionTakes(span) => Deletion::Takes(*span),
            Effect::DeletionStuck => Deletion::Stuck,
            Effect::DeletionFails { code, message } => Deletion::Fails(Refusal::bad(code, message.clone())),
            _ => continue,
        };
        fault.spend();
        return found;
    }
    Deletion::Normal
}

fn quota_refusal(options: &ArmOptions, [words, name]: [&str; 2], [used, limit, wanted]: [u64; 3]) -> Refusal {
    let location = &options.location;
    let left = limit.saturating_sub(used);
    let long = format!(
        "Operation could not be completed as it results in exceeding approved {words}{} quota. Additional details - Deployment Model: Resource Manager, Location: {location}, Current Limit: {limit}, Current Usage: {used}, Additional Required: {wanted}, (Minimum) New Limit Required: {}.",
        if words.ends_with("Cores") { "" } else { " Cores" },
        used + wanted
    );
    match options.quota.answer {
        QuotaAnswer::Preflight if name == "cores" => Refusal::bad(
            "ErrCode_InsufficientVCPUQuota",
            format!(
                "Insufficient regional vcpu quota left for location {location}. left regional vcpu quota {left}, requested quota {wanted}."
            ),
        ),
        QuotaAnswer::Preflight => Refusal::bad(
            "ErrCode_InsufficientVCPUQuota",
            format!(
                "Insufficient vcpu quota requested {wanted}, remaining {left} for family {name} for region {location}."
            ),
        ),
        QuotaAnswer::Conflict => Refusal::arm(StatusCode::CONFLICT, "OperationNotAllowed", long),
        QuotaAnswer::Operation => Refusal::bad("QuotaExceeded", long),
    }
}

fn refusal(why: Shortage, when: When, size: &Size, location: &str) -> Refusal {
    let message = why.message(size.name, location);
    // Compute answers a sold-out size with 409 and an unknown one with 400; AKS hands both on as they are.
    let status = if why == Shortage::SkuNotAvailable { StatusCode::CONFLICT } else { StatusCode::BAD_REQUEST };
    if when == When::InOperationNested {
        let outer = format!("Failed to reconcile agent pool: Code=\"{}\" Message=\"{message}\"", why.code());
        let mut nested = Refusal::aks(status, "ReconcileVMSSAgentPoolFailed", outer);
        nested.details = vec![(why.code().to_owned(), message)];
        return nested;
    }
    Refusal::aks(status, why.code(), message)
}
