//! From a wish to a machine: choose an offering, write it down, ask for it; on a lack of capacity the next one.

use core::time::Duration;
use jiff::{SignedDuration, Timestamp};
use model::{
    Action, ActionResult, Answer, Attempt, ClaimChange, ConditionKind, Ensured, Failure, FinalizerChange, Instance,
    LaunchRecord, Next, Offering, Plan, Progress, Reservation, Retry, Truth, names,
};

use super::{
    ClassSeen, Ending, OfferingsSeen, Situation, give_up, is_giving_up, later,
    request::{self, request},
    words,
};
use crate::ladder::{self, Wanted, ladder};

use ConditionKind::Launched;

/// How often to look where only a person can help.
const UNTIL_SOMEBODY_HELPS: Duration = Duration::from_secs(60);
/// A read back is cheap, and a claim waits for it.
const UNTIL_READ_BACK: Duration = Duration::from_secs(2);
/// Stock may come back sooner than it is remembered to be gone.
const LONGEST_WAIT: SignedDuration = SignedDuration::from_mins(10);
/// The longest time between two questions of a claim that waits for its turn.
const MOST_PATIENCE: SignedDuration = SignedDuration::from_secs(60);
/// The reason of a claim that would pass what its pool or its cluster may spend.
const OVER_CAP: &str = "PriceCapReached";
/// "For ever", as a deadline.
const FOR_EVER: SignedDuration = SignedDuration::from_hours(24 * 365 * 10);

enum Choice {
    Take(Box<Offering>),
    /// Something fits, and is not to be had before then.
    Wait {
        until: Timestamp,
        reason: &'static str,
        message: String,
    },
    /// Nothing fits, and the claim cannot be changed.
    Impossible {
        reason: &'static str,
        message: String,
    },
    /// What is needed for choosing is not there.
    NotReady {
        reason: &'static str,
        message: String,
        after: Duration,
    },
}

fn choice(seen: &Situation) -> Choice {
    let offerings = match (&seen.class, &seen.offerings) {
        (ClassSeen::NotReady { reason, why }, _) => {
            return Choice::NotReady { reason, message: why.clone(), after: UNTIL_SOMEBODY_HELPS };
        }
        (_, OfferingsSeen::Known(offerings)) => offerings,
        (_, OfferingsSeen::Failed(failure)) => {
            let after = wait_after(failure);
            return Choice::NotReady { reason: failure.reason, message: failure.message.clone(), after };
        }
        (_, OfferingsSeen::NotAsked) => {
            let message = "the catalogue was not read".to_owned();
            return Choice::NotReady { reason: "Unavailable", message, after: UNTIL_READ_BACK };
        }
    };
    let wanted = Wanted {
        claim: &seen.claim,
        requirements: &seen.requirements,
        compatible_with_gpu_provisioner: seen.ours.like_gpu_provisioner,
        preference: seen.policy.preference,
    };
    let ladder = ladder(&wanted, offerings, &seen.stock, tried(seen), seen.now);
    if let Some(best) = ladder.rungs.iter().find(|rung| seen.money.refuses(rung).is_none()) {
        return Choice::Take(Box::new(best.clone()));
    }
    // The first is the cheapest, or the one that is wanted most.
    if let Some((first, why)) = ladder.rungs.first().and_then(|first| Some((first, seen.money.refuses(first)?))) {
        let message = format!("{}: {why}", words::offering(first));
        return Choice::NotReady { reason: OVER_CAP, message, after: UNTIL_SOMEBODY_HELPS };
    }
    let (reason, message) = ladder.why();
    match ladder.waiting {
        Some((until, _)) => Choice::Wait { until, reason, message },
        None => Choice::Impossible { reason, message },
    }
}

fn tried(seen: &Situation) -> &[Attempt] {
    seen.claim.record().map_or(&[], |record| &record.tried)
}

pub fn choose(seen: &Situation) -> Vec<Action> {
    if is_overdue(seen) {
        return vec![Action::DeleteClaim];
    }
    let (Choice::Take(offering), ClassSeen::Known(class)) = (choice(seen), &seen.class) else { return Vec::new() };
    let before = seen.claim.record();
    let record = LaunchRecord {
        epoch: before.map_or(1, |record| record.epoch.saturating_add(1)),
        offering: *offering,
        begun_at: seen.now,
        accepted_at: None,
        deadline: after(seen.now, seen.policy.launch),
        progress: None,
        tried: before.map(|record| record.tried.clone()).unwrap_or_default(),
        told_joined: false,
    };
    let ask =
        Action::Ensure { request: Box::new(request(&seen.claim, &record, class)), progress: record.progress.clone() };
    let reserve = reservation(seen, &record.offering).map(Action::Reserve);
    let record = Some(Box::new(record));
    // Finalizer and intent before the first cloud call, in one write that only one of us wins. Money before intent, so that
    // whoever counts next counts this.
    let intent = Action::ChangeClaim(ClaimChange { record, finalizer: FinalizerChange::Add, ..ClaimChange::default() });
    reserve.into_iter().chain([intent, ask]).collect()
}

fn reservation(seen: &Situation, offering: &Offering) -> Option<Reservation> {
    let money = &seen.money;
    let price = offering.price.as_ref().filter(|_| money.is_counted())?;
    let after = money.with(&seen.claim, price, seen.now);
    Some(Reservation { before: money.ledger.clone(), version: money.version.clone(), after })
}

pub fn resume(seen: &Situation, record: &LaunchRecord) -> Vec<Action> {
    if is_overdue(seen) {
        return vec![Action::DeleteClaim];
    }
    let ClassSeen::Known(class) = &seen.class else { return Vec::new() };
    let request = Box::new(request(&seen.claim, record, class));
    let ask = Action::Ensure { request, progress: record.progress.clone() };
    if seen.claim.finalizers.contains(names::FINALIZER) {
        return vec![ask];
    }
    // Somebody took it off. Without it the claim could go and leave its machine behind.
    vec![Action::ChangeClaim(ClaimChange { finalizer: FinalizerChange::Add, ..ClaimChange::default() }), ask]
}

/// Accepted, and the machine has not come: too late. Not accepted: only for a claim whose owner makes another, and not
/// while the cloud itself asks us to wait.
fn is_overdue(seen: &Situation) -> bool {
    let record = seen.claim.record().filter(|record| !record.is_spent());
    if let Some(record) = record.filter(|record| record.accepted_at.is_some()) {
        return seen.now > record.deadline;
    }
    let Some(launched) = seen.claim.condition(Launched).filter(|_| seen.claim.has_owner) else { return false };
    let asked_to_wait = ["Throttled", "Busy", "Unavailable", OVER_CAP].contains(&launched.reason.as_str());
    // An order may fail late; then the next offering has its own time.
    let begin = tried(seen).last().map_or(launched.since, |last| last.at.max(launched.since));
    !asked_to_wait && seen.now > after(begin, seen.policy.launch)
}

fn after(begin: Timestamp, patience: Option<SignedDuration>) -> Timestamp {
    begin.saturating_add(patience.unwrap_or(FOR_EVER)).unwrap_or(Timestamp::MAX)
}

pub fn stuck(ending: &mut Ending, why: &str) -> Next {
    let message =
        format!("the annotation {} cannot be read ({why}); remove the claim and make it again", names::LAUNCH);
    ending.warn(Launched, Truth::Unknown, "LaunchRecordUnreadable", &message);
    Next::Answer(Answer::nothing(format!("{}: {message}", ending.subject())))
}

pub fn conclude(ending: &mut Ending, plan: &Plan, results: &[ActionResult]) -> Next {
    if is_giving_up(plan) {
        return overdue(ending);
    }
    let asked = plan.actions.iter().zip(results).find_map(|(action, result)| match action {
        Action::Ensure { .. } => Some(result),
        _ => None,
    });
    let Some(record) = record_in_force(ending.seen, plan) else { return nothing_asked(ending) };
    match asked {
        None => nothing_asked(ending),
        Some(ActionResult::Ensured(Ensured::InProgress { progress, look_again_seconds })) => {
            in_progress(ending, record, progress.clone(), *look_again_seconds)
        }
        Some(ActionResult::Ensured(Ensured::Running(instance))) => running(ending, record, instance),
        Some(ActionResult::Failed(failure)) => failed(ending, record, failure),
        Some(_) => later("the cloud was not asked yet", Duration::from_secs(1)),
    }
}

/// The record as it stands now: the one just written, or the one that was read.
fn record_in_force(seen: &Situation, plan: &Plan) -> Option<LaunchRecord> {
    let written = plan.actions.iter().find_map(|action| match action {
        Action::ChangeClaim(change) => change.record.as_deref(),
        _ => None,
    });
    written.or_else(|| seen.claim.record()).cloned()
}

fn overdue(ending: &mut Ending) -> Next {
    let seen = ending.seen;
    let accepted = seen.claim.record().is_some_and(|record| !record.is_spent() && record.accepted_at.is_some());
    if accepted {
        let patience = seen.policy.registration.unwrap_or_default();
        let message = format!("the machine was ordered and did not join within {}", words::time(patience));
        return give_up(ending, "RegistrationTimeout", message);
    }
    let patience = seen.policy.launch.unwrap_or_default();
    let last = seen.claim.condition(Launched).map(|found| found.message.clone()).unwrap_or_default();
    give_up(ending, "LaunchTimeout", format!("no machine could be ordered within {}: {last}", words::time(patience)))
}

/// No offering was taken, or the class of one that was is not there.
fn nothing_asked(ending: &mut Ending) -> Next {
    let seen = ending.seen;
    let story = |message: String| match tried(seen) {
        [] => message,
        tried => format!("{message} ({})", words::chain(tried)),
    };
    match choice(seen) {
        Choice::Take(_) => later("the next offering was not asked for yet", Duration::from_secs(1)),
        Choice::Impossible { reason, message } => {
            let message = story(message);
            ending.warn(Launched, Truth::False, reason, &message);
            Next::Answer(Answer::nothing(format!("{}: {message}", ending.subject())))
        }
        Choice::Wait { until, reason, message } => {
            let message = story(message);
            let words = words_of_refusal(seen, reason).unwrap_or(&message);
            ending.warn(Launched, Truth::Unknown, reason, words);
            let wait = until.duration_since(seen.now).clamp(SignedDuration::from_secs(1), LONGEST_WAIT);
            later(&message, wait.unsigned_abs())
        }
        Choice::NotReady { reason, message, after } => {
            ending.warn(Launched, Truth::Unknown, reason, &message);
            later(&message, after)
        }
    }
}

/// What the cloud said when it refused. Where a person has to change something, that says what, and no other words do.
fn words_of_refusal<'a>(seen: &'a Situation, reason: &str) -> Option<&'a str> {
    let told = seen.claim.condition(Launched).filter(|told| told.reason == reason)?;
    [ladder::INVALID_REQUEST, ladder::CONFLICT].contains(&reason).then_some(told.message.as_str())
}

fn in_progress(ending: &mut Ending, record: LaunchRecord, progress: Progress, look_again_seconds: u32) -> Next {
    let seen = ending.seen;
    let what = format!("{} is making {}", record.offering.id.provider, words::offering(&record.offering));
    if record.accepted_at.is_none() {
        ending.note(false, "Launching", what.clone());
    }
    let accepted_at = record.accepted_at.unwrap_or(seen.now);
    let deadline = after(accepted_at, seen.policy.registration);
    let new = LaunchRecord { accepted_at: Some(accepted_at), deadline, progress: Some(progress), ..record.clone() };
    ending.set(Launched, Truth::Unknown, "Launching", &with_story(&what, &record));
    if new != record {
        ending.conclusion.claim.record = Some(Box::new(new));
    }
    later(&what, Duration::from_secs(u64::from(look_again_seconds.max(1))))
}

fn with_story(what: &str, record: &LaunchRecord) -> String {
    if record.tried.is_empty() { what.to_owned() } else { format!("{what} ({})", words::chain(&record.tried)) }
}

fn running(ending: &mut Ending, record: LaunchRecord, instance: &Instance) -> Next {
    let seen = ending.seen;
    let status = &mut ending.conclusion.status;
    // A cloud that knows only its own name for it leaves this to the Node.
    status.provider_id = instance.node_provider_id().map(str::to_owned);
    status.image = instance.image.clone();
    // What the offering promises, until the node itself says it.
    status.capacity = record.offering.capacity.clone();
    status.allocatable = record.offering.capacity.clone();
    let what = format!("{} made {}", record.offering.id.provider, words::offering(&record.offering));
    ending.note(false, "Launched", format!("{what}; its node has to join now"));
    ending.set(Launched, Truth::True, "Launched", &with_story(&what, &record));
    ending.conclusion.claim.labels = request::labels(&seen.claim, &record, &seen.requirements);
    if record.accepted_at.is_none() {
        let deadline = after(seen.now, seen.policy.registration);
        let new = LaunchRecord { accepted_at: Some(seen.now), deadline, ..record };
        ending.conclusion.claim.record = Some(Box::new(new));
    }
    Next::AtOnce
}

fn failed(ending: &mut Ending, record: LaunchRecord, failure: &Failure) -> Next {
    let now = ending.seen.now;
    // What can never work with this offering may work with another; a missing right does not.
    let next_offering = match failure.retry {
        Retry::NextOffering => true,
        Retry::Never => failure.reason != "Unauthorized",
        Retry::SameAfter(_) | Retry::ReadBack => false,
    };
    if !next_offering {
        ending.warn(Launched, Truth::Unknown, failure.reason, &failure.message);
        let wait = wait_after(failure);
        let in_a_queue = failure.reason == "Busy";
        return later(&failure.message, if in_a_queue { wait.max(patience(now, record.begun_at)) } else { wait });
    }
    ending.note(true, failure.reason, format!("{}: {}", words::offering(&record.offering), failure.message));
    ending.set(Launched, Truth::Unknown, failure.reason, &failure.message);
    ending.conclusion.unavailable = ladder::memory_of(failure, &record.offering, now);
    let attempt = Attempt { offering: record.offering.id.clone(), reason: failure.reason.to_owned(), at: now };
    // Each offering once: a claim may wait for stock for weeks, and an annotation has its limits.
    let mut tried = record.tried.clone();
    tried.retain(|before| before.offering != attempt.offering);
    tried.push(attempt);
    ending.conclusion.claim.record = Some(Box::new(LaunchRecord { tried, progress: None, ..record }));
    Next::AtOnce
}

/// Whoever has waited long can wait a little longer: a hundred claims that wait for one cluster would else ask it all the
/// time.
fn patience(now: Timestamp, begun_at: Timestamp) -> Duration {
    let waited = now.duration_since(begun_at) / 8;
    waited.clamp(SignedDuration::ZERO, MOST_PATIENCE).unsigned_abs()
}

pub fn wait_after(failure: &Failure) -> Duration {
    match failure.retry {
        Retry::SameAfter(rest) => rest.max(Duration::from_secs(1)),
        Retry::ReadBack => UNTIL_READ_BACK,
        Retry::NextOffering | Retry::Never => UNTIL_SOMEBODY_HELPS,
    }
}
