//! One decision answers every event that was there before it began: they come in swarms, and a decision is about all pods.
//!
//! ```text
//!  events     a  b c d          e
//!  decisions  [--- a ---][--- b c d ---][- e -]
//! ```
//!
//! What is kept is the last decision, and only for events that came before it: whoever comes later is not answered from memory.

use core::sync::atomic::{AtomicU64, Ordering};
use model::{Answer, PodRef, Uid};
use std::collections::BTreeMap;
use tokio::sync::Mutex;

use crate::answers::{Coming, Reply, words_for};

/// The decisions of this process, one after the other.
#[derive(Default)]
pub struct Decisions {
    /// Counts arrivals and beginnings, so that their order can be told.
    steps: AtomicU64,
    last: Mutex<Last>,
}

/// When an event arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Arrival(u64);

#[derive(Default)]
struct Last {
    began: u64,
    decided: Decided,
}

/// What a decision says to whom.
pub enum Decided {
    /// The same to everybody: nothing was decided.
    All(Answer),
    /// To every pod that waits. One that is not here does not.
    Each(BTreeMap<Uid, Reply>),
    /// To pods that a claim is on its way for. The others were not looked at.
    Coming(BTreeMap<Uid, Coming>),
}

impl Default for Decided {
    fn default() -> Self {
        Decided::Coming(BTreeMap::new())
    }
}

impl Decisions {
    pub fn arrival(&self) -> Arrival {
        Arrival(self.step())
    }

    /// From the last decision, if that began after the event arrived and says something to this pod; else from a new one.
    pub async fn reply(&self, arrival: Arrival, pod: &PodRef, decide: impl AsyncFnOnce() -> Decided) -> Reply {
        let mut last = self.last.lock().await;
        if last.began > arrival.0
            && let Some(reply) = last.decided.reply(pod)
        {
            return reply;
        }
        let began = self.step();
        let decided = decide().await;
        let reply = decided.reply(pod);
        *last = Last { began, decided };
        reply.unwrap_or_else(|| does_not_wait(pod))
    }

    fn step(&self) -> u64 {
        self.steps.fetch_add(1, Ordering::SeqCst) + 1
    }
}

impl Decided {
    fn reply(&self, pod: &PodRef) -> Option<Reply> {
        match self {
            Decided::All(answer) => Some(Reply { answer: answer.clone(), note: None }),
            Decided::Each(replies) => Some(replies.get(&pod.uid).cloned().unwrap_or_else(|| does_not_wait(pod))),
            Decided::Coming(coming) => coming.get(&pod.uid).map(|coming| coming.reply(pod)),
        }
    }
}

fn does_not_wait(pod: &PodRef) -> Reply {
    Reply { answer: Answer::nothing(format!("{}: it does not wait for a node", words_for(pod))), note: None }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use model::{Namespace, ObjectName};
    use std::{cell::Cell, future::pending, time::Duration};

    fn pod(name: &str) -> PodRef {
        let namespace = Namespace::new("default").unwrap();
        PodRef { namespace, name: ObjectName::new(name).unwrap(), uid: Uid::new(name).unwrap() }
    }

    fn replies(pods: &[&str]) -> BTreeMap<Uid, Reply> {
        let reply = |name: &&str| (pod(name).uid, Reply { answer: Answer::nothing(*name), note: None });
        pods.iter().map(reply).collect()
    }

    fn coming(pods: &[&str]) -> BTreeMap<Uid, Coming> {
        let one = |name: &&str| (pod(name).uid, Coming { claim: "c".to_owned(), expected: String::new() });
        pods.iter().map(one).collect()
    }

    /// So many events at once, each of a pod of its own, and what every decision says: how many decisions were made.
    async fn decided(events: usize, says: impl Fn() -> Decided) -> usize {
        let (decisions, count) = (Decisions::default(), Cell::new(0));
        let one = async |number: usize| {
            let arrival = decisions.arrival();
            let decide = async || {
                count.set(count.get() + 1);
                tokio::time::sleep(Duration::from_secs(1)).await;
                says()
            };
            decisions.reply(arrival, &pod(&format!("p{number}")), decide).await
        };
        futures_util::future::join_all((0..events).map(one)).await;
        count.get()
    }

    #[tokio::test(start_paused = true)]
    async fn five_hundred_events_at_once_are_two_decisions() {
        let names: Vec<String> = (0..500).map(|number| format!("p{number}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        assert_eq!(
            decided(500, || Decided::Each(replies(&names))).await,
            2,
            "the first, and one for all who came meanwhile"
        );
        assert_eq!(decided(500, || Decided::All(Answer::failed("no"))).await, 2);
        assert_eq!(decided(500, || Decided::Coming(coming(&names))).await, 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_decision_that_says_nothing_of_a_pod_does_not_answer_for_it() {
        assert_eq!(decided(5, || Decided::Coming(coming(&["p0", "p3"]))).await, 4, "p3 is answered with one before it");
        assert_eq!(decided(5, || Decided::Each(replies(&["p0"]))).await, 2, "the others do not wait");
    }

    #[tokio::test(start_paused = true)]
    async fn an_event_is_not_answered_by_a_decision_that_began_before_it_came() {
        let (decisions, count) = (Decisions::default(), Cell::new(0));
        for _ in 0..3 {
            let arrival = decisions.arrival();
            let decide = async || {
                count.set(count.get() + 1);
                Decided::Each(replies(&["p"]))
            };
            decisions.reply(arrival, &pod("p"), decide).await;
        }
        assert_eq!(count.get(), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn a_decision_that_is_given_up_stops_nobody() {
        let (decisions, one) = (Decisions::default(), pod("p"));
        let hangs = decisions.reply(decisions.arrival(), &one, async || pending::<Decided>().await);
        assert!(tokio::time::timeout(Duration::from_secs(60), hangs).await.is_err());
        let reply = decisions.reply(decisions.arrival(), &one, async || Decided::Each(replies(&["p"]))).await;
        assert_eq!(reply.answer, Answer::nothing("p"));
    }
}
