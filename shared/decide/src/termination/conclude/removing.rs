//! What came of removing the machine. Only `Confirmed` lets go of the claim.

use core::time::Duration;
use model::{
    Action, ActionResult, Answer, ClaimChange, ClaimStatus, Conclusion, ConditionKind, Failure, Gone, Next, Note,
    Progress, Retry, Truth,
};

use super::super::{
    Situation, nodes,
    stage::{Left, Removing},
    words,
};
use super::{A_MOMENT, Told, UNTIL_A_PERSON_HELPED, after, concluded, later, unchanged};
use crate::conditions;

const ELAPSED: &str = "TerminationGracePeriodElapsed";

pub(super) fn conclude(situation: &Situation, removing: &Removing<'_>, told: &Told<'_>) -> Conclusion {
    let name = &situation.claim.key.name;
    let mut status = situation.claim.status.clone();
    if let Some(left) = &removing.left {
        drained(&mut status, left, situation);
    }
    let result = told.steps.iter().find(|(action, _)| matches!(action, Action::EnsureGone { .. }));
    match result.map(|(_, result)| *result) {
        Some(ActionResult::Gone(Gone::Confirmed)) => confirmed(situation, status, told),
        Some(ActionResult::Gone(Gone::InProgress { progress, look_again_seconds })) => {
            conditions::set_true(&mut status, ConditionKind::InstanceTerminating, situation.now);
            let wait = Duration::from_secs(u64::from(*look_again_seconds)).max(A_MOMENT);
            let next = later(format!("instance of {name} is being removed"), wait);
            let claim = with_progress(situation, progress);
            Conclusion { claim, ..concluded(status, vec![], next) }
        }
        Some(ActionResult::Failed(failure)) => failed(situation, status, failure),
        Some(ActionResult::NotNow { why }) => {
            let next =
                later(format!("removing the instance of {name} is not allowed now: {why}"), UNTIL_A_PERSON_HELPED);
            concluded(status, vec![], next)
        }
        // None of these says anything about the machine, so nothing follows from them.
        Some(
            ActionResult::Done
            | ActionResult::WasGone
            | ActionResult::Lost
            | ActionResult::Ensured(_)
            | ActionResult::NotTried,
        ) => concluded(status, vec![], later(format!("instance of {name} is not confirmed gone"), A_MOMENT)),
        None => nobody_to_ask(situation, status),
    }
}

fn drained(status: &mut ClaimStatus, left: &Left<'_>, situation: &Situation) {
    let pods = words::pods_of(left);
    let volumes: Vec<String> = left.volumes.iter().map(ToString::to_string).collect();
    for (kind, names, what) in
        [(ConditionKind::Drained, pods, "pod"), (ConditionKind::VolumesDetached, volumes, "volume")]
    {
        if names.is_empty() {
            conditions::set_true(status, kind, situation.now);
        } else {
            let text = words::deadline_passed_with(&names, what);
            conditions::set(status, kind, Truth::False, ELAPSED, text, situation.now);
        }
    }
}

/// The claim goes with its finalizer, so its status is not written any more.
fn confirmed(situation: &Situation, mut status: ClaimStatus, told: &Told<'_>) -> Conclusion {
    let name = &situation.claim.key.name;
    if let Some(next) = told.stop(situation) {
        conditions::set_true(&mut status, ConditionKind::InstanceTerminating, situation.now);
        return concluded(status, vec![], next);
    }
    let stays = situation.provider.as_ref().is_some_and(|kept| kept.node_stays) && !situation.nodes.is_empty();
    let reason = if stays {
        format!("machine of {name} is off; its Node stays, claim released")
    } else {
        format!("instance of {name} is gone; claim released")
    };
    let notes = unclean(situation, told).into_iter().collect();
    Conclusion { notes, ..unchanged(situation, Next::Answer(Answer::Done { reason })) }
}

fn unclean(situation: &Situation, told: &Told<'_>) -> Option<Note> {
    let tainted = told.steps.iter().any(|(action, _)| match action {
        Action::ChangeNode(change) => change.taints.as_ref().is_some_and(|all| all.contains(&nodes::out_of_service())),
        _ => false,
    });
    let names: Vec<String> = situation.pods.iter().filter(|pod| nodes::was_cut_off(pod)).map(words::pod_name).collect();
    tainted.then(|| Note {
        warning: true,
        reason: "OutOfService",
        text: format!(
            "{} went off with {} still bound ({}): tainted {}, so that pods and volumes are let go",
            words::nodes(&situation.nodes),
            words::counted(names.len(), "pod"),
            words::some_of(&names),
            model::names::OUT_OF_SERVICE_TAINT
        ),
    })
}

fn failed(situation: &Situation, mut status: ClaimStatus, failure: &Failure) -> Conclusion {
    let mut notes = vec![];
    match failure.retry {
        // It passes by itself, or is not known yet: the next call finds out. What was true stays true.
        Retry::SameAfter(_) | Retry::ReadBack => {}
        Retry::Never | Retry::NextOffering => {
            notes.extend(hopeless(situation, &mut status, failure.reason, &failure.message));
        }
    }
    let name = &situation.claim.key.name;
    concluded(status, notes, later(format!("removing the instance of {name}: {}", failure.message), after(failure)))
}

fn nobody_to_ask(situation: &Situation, mut status: ClaimStatus) -> Conclusion {
    let name = &situation.claim.key.name;
    let text = format!(
        "claim {name} may have a machine and no provider is set up for it: configure the provider of its node class, or \
         delete the machine and take the finalizer {} off the claim",
        model::names::FINALIZER
    );
    let notes = hopeless(situation, &mut status, "ProviderUnknown", &text).into_iter().collect();
    concluded(status, notes, later(text, UNTIL_A_PERSON_HELPED))
}

/// A person has to do something. It is noted once, and stands in the condition from then on.
fn hopeless(situation: &Situation, status: &mut ClaimStatus, reason: &'static str, text: &str) -> Option<Note> {
    conditions::set(status, ConditionKind::InstanceTerminating, Truth::Unknown, reason, text, situation.now);
    let now = status.conditions.iter().find(|condition| condition.kind == ConditionKind::InstanceTerminating);
    let is_new = now != situation.claim.condition(ConditionKind::InstanceTerminating);
    is_new.then(|| Note { warning: true, reason: "FailedTermination", text: text.to_owned() })
}

/// Kept in the record, so that another machine goes on from there. Without one the provider finds out by the key.
fn with_progress(situation: &Situation, progress: &Progress) -> ClaimChange {
    let record = situation.claim.record().filter(|record| record.progress.as_ref() != Some(progress));
    let record = record.map(|record| {
        let mut record = record.clone();
        record.progress = Some(progress.clone());
        Box::new(record)
    });
    ClaimChange { record, ..ClaimChange::default() }
}
