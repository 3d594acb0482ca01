//! What a duty found and did, and how all of it becomes one answer.

use core::time::Duration;
use model::{Answer, ClusterId};

/// So many things of a kind are said; the rest is counted.
const MOST_SAID: usize = 12;

/// In plain words. Empty means that all is well.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Findings {
    /// What was found and done about it.
    pub done: Vec<String>,
    /// What has begun and is not over.
    pub under_way: Vec<String>,
    /// What nobody may touch, and a person should look at.
    pub left_alone: Vec<String>,
    /// What did not work.
    pub failed: Vec<String>,
    /// Call again sooner than the next tick.
    pub again: Option<Duration>,
}

impl Findings {
    pub fn failure(why: impl Into<String>) -> Self {
        Findings { failed: vec![why.into()], ..Findings::default() }
    }

    /// Both together.
    pub fn and(mut self, other: Findings) -> Self {
        let Findings { done, under_way, left_alone, failed, again } = other;
        self.done.extend(done);
        self.under_way.extend(under_way);
        self.left_alone.extend(left_alone);
        self.failed.extend(failed);
        self.again = self.again.into_iter().chain(again).min();
        self
    }

    pub fn call_again(&mut self, after: Duration) {
        self.again = self.again.into_iter().chain([after]).min();
    }

    pub fn answer(self, cluster: &ClusterId) -> Answer {
        let Findings { done, under_way, left_alone, failed, again } = self;
        let said: Vec<String> =
            [("", &done), ("under way: ", &under_way), ("left alone: ", &left_alone), ("failed: ", &failed)]
                .into_iter()
                .filter(|(_, all)| !all.is_empty())
                .map(|(kind, all)| format!("{kind}{}", list(all)))
                .collect();
        let said = if said.is_empty() { "all is well".to_owned() } else { said.join("; ") };
        let reason = format!("the idle timer of cluster {cluster} ticked: {said}");
        match again {
            _ if !failed.is_empty() => Answer::failed(reason),
            Some(after) => Answer::Later { reason, after },
            None if done.is_empty() => Answer::nothing(reason),
            None => Answer::Done { reason },
        }
    }
}

fn list(all: &[String]) -> String {
    let shown: Vec<&str> = all.iter().take(MOST_SAID).map(String::as_str).collect();
    match all.len().saturating_sub(MOST_SAID) {
        0 => shown.join("; "),
        more => format!("{}; and {more} more", shown.join("; ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(findings: Findings, expected: &Answer) {
        assert_eq!(findings.answer(&ClusterId::default()), *expected);
    }

    fn words(said: &[&str]) -> Vec<String> {
        said.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn one_answer_says_what_was_found_and_what_was_done() {
        let said = |text: &str| format!("the idle timer of cluster default ticked: {text}");
        check(Findings::default(), &Answer::nothing(said("all is well")));
        let did = Findings { done: words(&["a is closed"]), ..Findings::default() };
        check(did.clone(), &Answer::Done { reason: said("a is closed") });
        let busy = Findings { under_way: words(&["b goes"]), again: Some(Duration::from_secs(5)), ..did };
        let reason = said("a is closed; under way: b goes");
        check(busy.clone(), &Answer::Later { reason, after: Duration::from_secs(5) });
        check(busy.and(Findings::failure("c")), &Answer::failed(said("a is closed; under way: b goes; failed: c")));
        let waits = Findings { under_way: words(&["b goes"]), ..Findings::default() };
        check(waits, &Answer::nothing(said("under way: b goes")));
    }

    #[test]
    fn whoever_wants_to_be_called_soonest_is_heard_and_long_lists_are_counted() {
        let soon = |seconds| Findings { again: Some(Duration::from_secs(seconds)), ..Findings::default() };
        assert_eq!(soon(9).and(soon(3)).and(Findings::default()).again, Some(Duration::from_secs(3)));
        let many = Findings { done: (0..20).map(|number| number.to_string()).collect(), ..Findings::default() };
        assert!(many.answer(&ClusterId::default()).reason().ends_with("; 11; and 8 more"));
    }
}
