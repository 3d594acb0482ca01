//! What a comparison comes to: a table, and what has to be explained or mended.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::{Judged, Outcome};
use crate::Rule;
use crate::exact::Optimum;

/// Costs closer than this are the same.
const SAME: f64 = 1e-6;

/// Rules that Karpenter breaks by design; README.md says how. It breaking another one would be news.
const KNOWN: &[Rule] = &[
    Rule::NodeAffinity,
    Rule::PodAffinity,
    Rule::PodAntiAffinity,
    Rule::Spread,
    Rule::UndefinedLabel,
    Rule::NodeLimit,
    Rule::LeftOut,
];

/// Sums over worlds, and lists.
#[derive(Default)]
pub struct Report {
    worlds: usize,
    pods: usize,
    karpenter: Sums,
    other: Option<Sums>,
    /// Worlds where both place the same pods: their costs can be compared.
    comparable: (usize, f64, f64),
    missed: Vec<String>,
    /// Pods that Karpenter places only by breaking a rule in their world.
    excused: usize,
    dearer: Vec<String>,
    broken: Vec<String>,
    news: Vec<String>,
    /// Worlds with a known optimum in which all pods are placed: how many, and cost against optimum.
    best: BTreeMap<&'static str, (usize, f64, f64)>,
}

#[derive(Default)]
struct Sums {
    placed: usize,
    left_out: usize,
    nodes: usize,
    cost: f64,
    solve_ms: f64,
    cpu_ms: f64,
    process_ms: f64,
    broken: BTreeMap<Rule, usize>,
    sound_worlds: usize,
}

impl Report {
    pub fn add(&mut self, outcome: &Outcome) {
        let Outcome { world, pods, karpenter, other, optimum } = outcome;
        self.worlds += 1;
        self.pods += pods;
        self.karpenter.add(karpenter);
        let news = karpenter.violations.iter().filter(|one| !KNOWN.contains(&one.rule));
        self.news.extend(news.map(|one| format!("{world}: {one}")));
        self.against_optimum(world, "karpenter", karpenter, *optimum);
        let Some(judged) = other else { return };
        self.other.get_or_insert_default().add(judged);
        self.against_optimum(world, "other", judged, *optimum);
        self.broken.extend(judged.violations.iter().map(|one| format!("{world}: {one}")));
        let (theirs, ours) = (names_out(karpenter), names_out(judged));
        let by_the_rules = karpenter.violations.iter().all(|one| one.rule == Rule::LeftOut);
        let missed: Vec<&String> = ours.difference(&theirs).collect();
        match (missed.first(), by_the_rules) {
            (Some(first), true) => {
                let of = |name: &str| judged.run.answer.pods.iter().find(|pod| pod.full_name() == name);
                let reason = of(first).map(|pod| pod.reason.as_str()).unwrap_or_default();
                self.missed.push(format!(
                    "{world}: places {}, Karpenter {}; not {missed:?}: {reason}",
                    judged.placed(),
                    karpenter.placed()
                ));
            }
            (Some(_), false) => self.excused += missed.len(),
            (None, _) => {}
        }
        if ours == theirs && by_the_rules {
            let (one, two) = (karpenter.run.answer.cost(), judged.run.answer.cost());
            self.comparable = (self.comparable.0 + 1, self.comparable.1 + one, self.comparable.2 + two);
            if two > one * (1.0 + SAME) + SAME {
                let nodes = (karpenter.run.answer.claims.len(), judged.run.answer.claims.len());
                self.dearer
                    .push(format!("{world}: {two:.4} for {} nodes, Karpenter {one:.4} for {}", nodes.1, nodes.0));
            }
        }
    }

    /// Whether there is anything to mend.
    pub fn is_fine(&self) -> bool {
        self.broken.is_empty() && self.news.is_empty() && self.missed.is_empty()
    }

    fn against_optimum(&mut self, world: &str, who: &'static str, judged: &Judged, optimum: Option<Optimum>) {
        let equal = |optimum: &Optimum| judged.violations.is_empty() && judged.placed() == optimum.pods;
        let Some(Optimum { cost: optimum, .. }) = optimum.filter(equal) else { return };
        let cost = judged.run.answer.cost();
        if cost < optimum * (1.0 - SAME) - SAME {
            let message = format!(
                "{world}: {who} pays {cost:.4}, less than the least, {optimum:.4}: the checker or the optimum is wrong"
            );
            self.news.push(message);
        }
        let entry = self.best.entry(who).or_default();
        *entry = (entry.0 + 1, entry.1 + cost, entry.2 + optimum);
    }

    /// The whole report, at most `most` lines of each list.
    pub fn text(&self, title: &str, most: usize) -> String {
        let mut text = format!("{title}: {} worlds, {} pods that wait\n\n", self.worlds, self.pods);
        let _ = writeln!(text, "  {:<34}{:>14}{:>14}", "", "karpenter", "other");
        let mut row = |name: &str, of: &dyn Fn(&Sums) -> String| {
            let second = self.other.as_ref().map(of).unwrap_or_else(|| "-".to_owned());
            let _ = writeln!(text, "  {name:<34}{:>14}{second:>14}", of(&self.karpenter));
        };
        row("pods placed", &|sums| sums.placed.to_string());
        row("pods left out", &|sums| sums.left_out.to_string());
        row("new nodes", &|sums| sums.nodes.to_string());
        row("cost an hour", &|sums| format!("{:.3}", sums.cost));
        row("solve, ms", &|sums| format!("{:.1}", sums.solve_ms));
        row("CPU, ms", &|sums| format!("{:.1}", sums.cpu_ms));
        row("whole process, ms", &|sums| format!("{:.0}", sums.process_ms));
        row("worlds without a broken rule", &|sums| sums.sound_worlds.to_string());
        let rules: BTreeSet<Rule> = [Some(&self.karpenter), self.other.as_ref()]
            .into_iter()
            .flatten()
            .flat_map(|sums| sums.broken.keys().copied())
            .collect();
        for rule in rules {
            row(&format!("  {rule:?}"), &|sums| sums.broken.get(&rule).copied().unwrap_or(0).to_string());
        }
        let (same, one, two) = self.comparable;
        if self.other.is_some() {
            let _ = writeln!(
                text,
                "\n  {same} worlds with the same pods placed and all rules kept: {one:.3} against {two:.3} an hour"
            );
        }
        for (who, (worlds, cost, optimum)) in &self.best {
            let over = if *optimum > 0.0 { (cost / optimum - 1.0) * 100.0 } else { 0.0 };
            let _ = writeln!(text, "  {who}: {over:.2} % over the optimum in {worlds} worlds where that is known");
        }
        list(&mut text, "broken by the other planner", &self.broken, most);
        list(&mut text, "not known of Karpenter, or impossible", &self.news, most);
        list(&mut text, "worlds in which Karpenter places pods that the other leaves out", &self.missed, most);
        if self.excused > 0 {
            let _ = writeln!(
                text,
                "\n  placed by Karpenter where it breaks a rule, left out by the other: {}",
                self.excused
            );
        }
        list(&mut text, "dearer than Karpenter", &self.dearer, most);
        text
    }
}

impl Sums {
    fn add(&mut self, judged: &Judged) {
        let answer = &judged.run.answer;
        self.left_out += answer.left_out().len();
        self.placed += judged.placed();
        self.nodes += answer.claims.len();
        self.cost += answer.cost();
        self.solve_ms += judged.run.solve_ms;
        self.cpu_ms += judged.run.cpu_ms;
        self.process_ms += judged.run.process_ms;
        self.sound_worlds += usize::from(judged.violations.is_empty());
        for (rule, count) in judged.broken() {
            *self.broken.entry(rule).or_default() += count;
        }
    }
}

fn names_out(judged: &Judged) -> BTreeSet<String> {
    judged.run.answer.left_out().into_iter().collect()
}

pub fn list(text: &mut String, title: &str, lines: &[String], most: usize) {
    if lines.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n  {title}: {}", lines.len());
    for line in lines.iter().take(most) {
        let _ = writeln!(text, "    {}", line.chars().take(300).collect::<String>());
    }
    if lines.len() > most {
        let _ = writeln!(text, "    … and {} more", lines.len() - most);
    }
}

#[cfg(test)]
mod tests {
    use super::Report;
    use crate::answer::{Answer, ClaimAnswer, OfferingAnswer, PodAnswer};
    use crate::compare::{Judged, Outcome, Run};
    use crate::exact::Optimum;
    use crate::{Rule, Violation};

    /// One pod on a claim at this price, or nowhere.
    fn judged(price: Option<f64>, broken: &[Rule]) -> Judged {
        let offering = |price| OfferingAnswer { price, ..OfferingAnswer::default() };
        let claim = |price| ClaimAnswer { offerings: vec![offering(price)], ..ClaimAnswer::default() };
        let pod = PodAnswer { name: "a".to_owned(), on: price.map(|_| "claim/c".to_owned()), ..PodAnswer::default() };
        let answer = Answer { pods: vec![pod], claims: price.map(claim).into_iter().collect(), ..Answer::default() };
        let violations = broken.iter().map(|rule| Violation::of(*rule, "so")).collect();
        Judged { run: Run { answer, solve_ms: 1.0, cpu_ms: 1.0, process_ms: 1.0 }, violations }
    }

    fn check(karpenter: Judged, other: Option<Judged>, least: Option<f64>, fine: bool, says: &[&str]) {
        let mut report = Report::default();
        let optimum = least.map(|cost| Optimum { cost, pods: 1 });
        report.add(&Outcome { world: "w".to_owned(), pods: 1, karpenter, other, optimum });
        let text = report.text("Worlds", 5);
        assert_eq!(report.is_fine(), fine, "{text}");
        for part in says {
            assert!(text.contains(part), "{part:?} is not in {text}");
        }
    }

    #[test]
    fn equal_answers_and_no_other_planner_are_fine() {
        check(judged(Some(1.0), &[]), None, None, true, &["1 worlds"]);
        check(
            judged(Some(1.0), &[]),
            Some(judged(Some(1.0), &[])),
            Some(0.5),
            true,
            &["other: 100.00 % over the optimum"],
        );
    }

    #[test]
    fn a_rule_that_the_other_breaks_and_a_pod_that_it_misses_are_not() {
        check(
            judged(Some(1.0), &[]),
            Some(judged(Some(1.0), &[Rule::Taints])),
            None,
            false,
            &["broken by the other planner: 1"],
        );
        check(
            judged(Some(1.0), &[]),
            Some(judged(None, &[])),
            None,
            false,
            &["the other leaves out: 1", "places 0, Karpenter 1"],
        );
    }

    #[test]
    fn a_pod_that_karpenter_places_by_breaking_a_rule_may_be_left_out() {
        check(judged(Some(1.0), &[Rule::NodeLimit]), Some(judged(None, &[])), None, true, &["where it breaks a rule"]);
    }

    #[test]
    fn more_cost_is_told_and_less_than_the_least_is_impossible() {
        check(
            judged(Some(1.0), &[]),
            Some(judged(Some(1.5), &[])),
            None,
            true,
            &["dearer than Karpenter: 1", "1.5000"],
        );
        check(judged(Some(1.0), &[]), Some(judged(Some(0.4), &[])), Some(0.5), false, &["less than the least"]);
        // Who leaves the pod out pays less, and that proves nothing.
        check(judged(None, &[]), None, Some(0.5), true, &[]);
    }

    #[test]
    fn karpenter_breaking_a_rule_that_it_is_not_known_to_break_is_news() {
        check(judged(Some(1.0), &[Rule::Capacity]), None, None, false, &["not known of Karpenter"]);
    }
}
