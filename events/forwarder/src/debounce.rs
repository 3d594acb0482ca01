//! When to send pods that wait: the first at once, those that follow it together. A pure state machine on a clock that is passed in.
//!
//! ```text
//!  pods     x  xx x    x                          x
//!  sent     ^          ^ (the four, when none came for the window's length)   ^ at once again
//!           └ at once
//! ```
//!
//! The window adapts: twice the usual time between two pods, from 5 ms up to its limit. So pods that come slowly are not
//! held up for each other, and a burst goes as few deliveries. Since the function lists what waits, nothing has to be kept
//! of the pods themselves.

use core::time::Duration;
use std::collections::HashSet;
use tokio::time::Instant;

/// How pods are gathered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Batching {
    /// The first at once, followers within an adaptive window of at most this long.
    LeadingEdge { window: Duration },
    /// As Karpenter: all of them, until none came for `idle`, or `longest` has passed.
    Karpenter { idle: Duration, longest: Duration },
}

/// No window is shorter: pods of one burst come at least this near to each other.
const SHORTEST: Duration = Duration::from_millis(5);

#[derive(Debug)]
pub struct Debounce {
    batching: Batching,
    window: Option<Window>,
    /// The usual time between two pods, as far as they follow each other.
    gap: Duration,
    last: Option<Instant>,
}

#[derive(Debug)]
struct Window {
    opened: Instant,
    closes: Instant,
    /// Pods of this window: one that comes twice does not keep it open.
    pods: HashSet<Box<str>>,
}

impl Debounce {
    pub fn new(batching: Batching) -> Self {
        Debounce { batching, window: None, gap: SHORTEST, last: None }
    }

    /// A pod waits. Whether to send now; otherwise `due` says when.
    pub fn pod(&mut self, uid: &str, now: Instant) -> bool {
        self.learn(now);
        let idle = self.idle();
        match (&mut self.window, self.batching) {
            (Some(window), _) => {
                if window.pods.insert(uid.into()) {
                    let longest = match self.batching {
                        Batching::LeadingEdge { window } => window,
                        Batching::Karpenter { longest, .. } => longest,
                    };
                    window.closes = (now + idle).min(window.opened + longest);
                }
                false
            }
            (None, Batching::LeadingEdge { .. }) => {
                self.window = Some(Window { opened: now, closes: now + idle, pods: HashSet::new() });
                true
            }
            (None, Batching::Karpenter { .. }) => {
                self.window = Some(Window { opened: now, closes: now + idle, pods: HashSet::from([uid.into()]) });
                false
            }
        }
    }

    /// When to ask `take` again.
    pub fn due(&self) -> Option<Instant> {
        self.window.as_ref().map(|window| window.closes)
    }

    /// Whether a window has closed with pods in it. Under a stream of pods the next one opens at once.
    pub fn take(&mut self, now: Instant) -> bool {
        let Some(window) = self.window.take_if(|window| window.closes <= now) else { return false };
        let gathered = !window.pods.is_empty();
        if gathered && matches!(self.batching, Batching::LeadingEdge { .. }) {
            self.window = Some(Window { opened: now, closes: now + self.idle(), pods: HashSet::new() });
        }
        gathered
    }

    fn idle(&self) -> Duration {
        match self.batching {
            Batching::LeadingEdge { window } => (self.gap * 2).clamp(SHORTEST.min(window), window),
            Batching::Karpenter { idle, .. } => idle,
        }
    }

    /// A quarter of what is new: a few pods are enough to learn from, one is not.
    fn learn(&mut self, now: Instant) {
        let Batching::LeadingEdge { window } = self.batching else { return };
        if let Some(last) = self.last.replace(now) {
            let gap = now.saturating_duration_since(last);
            // Pods that come further apart than the longest window do not belong together.
            self.gap = if gap > window { SHORTEST } else { (self.gap * 3 + gap) / 4 };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    /// Pods by name at their times; when they were sent.
    fn check(batching: Batching, pods: &[(u64, &str)], sent: &[u64]) {
        let (mut debounce, start, mut found) = (Debounce::new(batching), Instant::now(), Vec::new());
        let mut at = |debounce: &mut Debounce, until: Option<Instant>| {
            while let Some(due) = debounce.due().filter(|due| until.is_none_or(|until| *due <= until)) {
                if debounce.take(due) {
                    found.push((due - start).as_millis() as u64);
                }
            }
        };
        let mut first = Vec::new();
        for (time, pod) in pods {
            let now = start + ms(*time);
            at(&mut debounce, Some(now));
            if debounce.pod(pod, now) {
                first.push(*time);
            }
        }
        at(&mut debounce, None);
        found.extend(first);
        found.sort_unstable();
        assert_eq!(found, sent, "{batching:?} {pods:?}");
    }

    const OURS: Batching = Batching::LeadingEdge { window: ms(100) };
    const KARPENTERS: Batching = Batching::Karpenter { idle: ms(1000), longest: ms(10_000) };

    #[test]
    fn the_first_pod_goes_at_once_and_those_behind_it_go_together() {
        check(OURS, &[(0, "a")], &[0]);
        check(OURS, &[(0, "a"), (1, "b"), (2, "c"), (3, "d")], &[0, 8]);
        check(OURS, &[(0, "a"), (500, "b"), (900, "c")], &[0, 500, 900]);
    }

    #[test]
    fn a_window_that_is_open_takes_no_longer_than_its_limit() {
        let burst: Vec<(u64, &str)> = (0..40).map(|n| (n * 8, if n % 2 == 0 { "a" } else { "b" })).collect();
        let names: Vec<String> = (0..40).map(|n| format!("p{n}")).collect();
        let stream: Vec<(u64, &str)> = burst.iter().zip(&names).map(|((at, _), name)| (*at, name.as_str())).collect();
        check(OURS, &stream, &[0, 100, 200, 300, 327]);
    }

    #[test]
    fn a_pod_that_comes_twice_does_not_keep_a_window_open() {
        check(KARPENTERS, &[(0, "a"), (900, "a"), (1800, "a")], &[1000, 2800]);
        check(KARPENTERS, &[(0, "a"), (900, "b"), (1800, "b")], &[1900]);
    }

    #[test]
    fn as_karpenter_nothing_goes_before_the_pods_have_stopped_coming_or_the_longest_time_is_over() {
        check(KARPENTERS, &[(0, "a")], &[1000]);
        let names: Vec<String> = (0..25).map(|n| format!("p{n}")).collect();
        let stream: Vec<(u64, &str)> =
            names.iter().enumerate().map(|(n, name)| (n as u64 * 500, name.as_str())).collect();
        check(KARPENTERS, &stream, &[10_000, 13_000]);
    }

    #[test]
    fn a_window_of_nothing_sends_every_pod_by_itself() {
        let none = Batching::LeadingEdge { window: Duration::ZERO };
        check(none, &[(0, "a"), (1, "b"), (2, "c")], &[0, 1, 2]);
    }
}
