//! Which pods hold a node, which of them are asked to go now, and which are told to.

use jiff::{SignedDuration, Timestamp};
use model::{Pod, PodKind};

use super::{STUCK_AFTER, deadline::Deadline, later};
use model::duration;

/// In one step; more would only queue up in the executor and outlive the invocation.
const MOST_AT_ONCE: usize = 100;

/// For so long pods that come to a node which is being emptied, because they tolerate that, are sent away again.
const ASKED_AGAIN_FOR: SignedDuration = SignedDuration::from_mins(5);

const SHORTEST_GRACE: SignedDuration = SignedDuration::from_secs(1);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Drain<'a> {
    /// The machine does not go while these are there.
    pub holding: Vec<&'a Pod>,
    /// Of those, who must not be asked.
    pub protected: Vec<&'a Pod>,
    pub delete: Vec<(&'a Pod, SignedDuration)>,
    pub evict: Vec<&'a Pod>,
    /// There are more than one step takes.
    pub more: bool,
    /// When the deadline reaches the next pod.
    pub next_forced: Option<Timestamp>,
}

impl<'a> Drain<'a> {
    /// `began` is when the node was to be emptied.
    pub(super) fn of(pods: &'a [Pod], deadline: &Deadline, began: Timestamp, now: Timestamp) -> Drain<'a> {
        let holding: Vec<&Pod> = pods.iter().filter(|pod| holds(pod, began, now)).collect();
        let forced = |pod: &Pod| forced_grace(pod, deadline, now);
        let mut delete: Vec<(&Pod, SignedDuration)> =
            holding.iter().filter_map(|pod| Some((*pod, forced(pod)?))).collect();

        let left_alone = |pod: &&&Pod| pod.deleted_at.is_none() && forced(pod).is_none();
        let (protected, open): (Vec<&Pod>, Vec<&Pod>) =
            holding.iter().filter(left_alone).partition(|pod| is_protected(pod, now));
        // The tier is taken over all that hold, so that what is still terminating, or must not be asked, holds it too.
        let current = holding.iter().map(|pod| tier(pod)).min();
        let mut evict: Vec<&Pod> = open.into_iter().filter(|pod| Some(tier(pod)) == current).collect();

        let more = delete.len() + evict.len() > MOST_AT_ONCE;
        delete.truncate(MOST_AT_ONCE);
        evict.truncate(MOST_AT_ONCE - delete.len());
        let next_forced = holding.iter().filter_map(|pod| forced_from(pod, deadline)).filter(|at| *at > now).min();
        Drain { holding, protected, delete, evict, more, next_forced }
    }
}

/// Ordinary work goes first, what the cluster lives by last; at each level daemons outlive those they serve.
fn tier(pod: &Pod) -> (bool, bool) {
    (pod.critical, pod.kind == PodKind::Daemon)
}

fn holds(pod: &Pod, began: Timestamp, now: Timestamp) -> bool {
    let stuck = pod.deleted_at.is_some_and(|gone_by| now > later(gone_by, STUCK_AFTER));
    // It tolerates that its node goes, and came to it all the same: evicted once more, it would only come again.
    let came_back = pod.tolerates_disruption() && pod.started_at.is_none_or(|started| started > began);
    let for_ever = came_back && now > later(began, ASKED_AGAIN_FOR);
    !pod.is_left_by_drains() && !stuck && !for_ever
}

/// `true`, or a duration that counts from the start of the pod; one that has not started has all of it before it.
fn is_protected(pod: &Pod, now: Timestamp) -> bool {
    match pod.do_not_disrupt.as_deref() {
        None => false,
        Some("true") => true,
        Some(text) => duration::parse(text)
            .filter(SignedDuration::is_positive)
            .is_some_and(|length| pod.started_at.is_none_or(|started| now < later(started, length))),
    }
}

/// From when on a pod has to be told, to have its own grace before the deadline.
fn forced_from(pod: &Pod, deadline: &Deadline) -> Option<Timestamp> {
    let at = deadline.at.filter(|_| pod.deleted_at.is_none())?;
    Some(later(at, -pod.grace.max(SignedDuration::ZERO)))
}

/// The grace to delete it with, if it is to be deleted now.
fn forced_grace(pod: &Pod, deadline: &Deadline, now: Timestamp) -> Option<SignedDuration> {
    let at = deadline.at?;
    // Kubernetes counts grace in whole seconds; rounded up it would end after the deadline.
    let remaining = SignedDuration::from_secs(at.duration_since(now).as_secs()).max(SHORTEST_GRACE);
    match pod.deleted_at {
        None => forced_from(pod, deadline).filter(|from| now >= *from).map(|_| {
            let own = SignedDuration::from_secs(pod.grace.as_secs());
            own.max(SHORTEST_GRACE).min(remaining)
        }),
        // On its way, but later than allowed; unless even the shortest grace would not make it earlier.
        Some(gone_by) => (gone_by > at && gone_by > later(now, SHORTEST_GRACE)).then_some(remaining),
    }
}
