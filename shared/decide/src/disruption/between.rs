//! Rules between pods, after they were kept when each pod was placed: whether they still hold when others have moved on, and
//! when one command is carried out alone.
//!
//! Looked at are required affinity and anti-affinity, and spreads that must hold. On a host that pods come to nobody makes room for them, so
//! anti-affinity and spreads over hosts depend on nobody.

mod moves;
mod what;

use model::{Labels, Namespace, names};
use std::collections::{BTreeMap, HashMap};

use self::what::{What, rules_of};
use super::board::Board;
use crate::place::{
    Map,
    moving::{Moving, Spotted},
};
pub use moves::Moves;

/// Which of the places that a label tells apart.
type Domain = usize;

/// Namespace and labels of a kind of pods, and the kind.
type OfKind<'k> = (&'k Namespace, &'k Labels, usize);

/// The domain of a claim that may still come up in several: its own.
const OPEN: Domain = usize::MAX / 2;

pub struct Between<'b> {
    board: &'b Board<'b>,
    rules: Vec<Rule<'b>>,
    /// By pod of the board: the rules that it has to keep.
    keeps: Vec<Vec<usize>>,
    /// Pods that are alike in namespace and labels are of one kind. Of each: the rules that count it, its pods on the board, and
    /// the nodes of those that never move.
    kind_of: Vec<usize>,
    counted_by: Vec<Vec<usize>>,
    pods: Vec<Vec<usize>>,
    fixed: Vec<Vec<usize>>,
    keys: Vec<Key>,
}

struct Rule<'b> {
    key: usize,
    what: What<'b>,
    kinds: Vec<usize>,
    kept_by: Vec<usize>,
    /// How many it counts in each domain while nothing has moved.
    before: Counts,
}

/// A label that tells places apart.
struct Key {
    name: String,
    of_node: Vec<Option<Domain>>,
    values: HashMap<String, Domain>,
}

/// How many pods there are in each domain.
type Counts = Map<Domain, i64>;

/// What was found out and holds as long as nothing moves.
#[derive(Default)]
pub struct Known {
    /// By claim and key: where the claim is.
    domains: Map<(usize, usize), Domain>,
    /// By claim: its labels as it is planned.
    labels: Map<usize, BTreeMap<String, String>>,
    /// By rule: how many it counts now.
    now: Map<usize, Counts>,
}

/// A pod that is wrong where it comes to, and the rule that says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wrong {
    pub pod: usize,
    rule: usize,
}

impl<'b> Between<'b> {
    pub fn new(board: &'b Board<'b>) -> Self {
        let mut between = Between {
            board,
            rules: vec![],
            keeps: vec![vec![]; board.scene.pods.len()],
            kind_of: vec![],
            counted_by: vec![],
            pods: vec![],
            fixed: vec![],
            keys: vec![],
        };
        // Most clusters have no such rule, and need none of this.
        let with_rules: Vec<usize> =
            (0..board.scene.pods.len()).filter(|at| rules_of(&board.scene.pods[*at]).next().is_some()).collect();
        if !with_rules.is_empty() {
            let kinds = between.find_kinds();
            between.find_rules(&with_rules, &kinds);
            between.count();
        }
        between
    }

    /// A pod that has moved and has lost the pods that it must be near to, now that these have moved.
    pub fn left_alone(&mut self, moving: &mut Moving<'b>, moved: &[usize]) -> Option<usize> {
        let mut touched: Vec<usize> = vec![];
        for pod in moved.iter().filter(|_| !self.rules.is_empty()) {
            touched.extend(self.counted_by[self.kind_of[*pod]].iter().chain(&self.keeps[*pod]));
        }
        touched.sort_unstable();
        touched.dedup();
        let mut known = Known::default();
        for rule in touched {
            if !matches!(self.rules[rule].what, What::Near(_)) {
                continue;
            }
            let away = |pod: &usize| moving.spotted(*pod) != Spotted::Node(self.board.homes[*pod]);
            let dependent: Vec<usize> = self.rules[rule].kept_by.iter().copied().filter(away).collect();
            if dependent.is_empty() {
                continue;
            }
            let counts = self.counts_now(rule, moving, &mut known);
            for pod in dependent {
                let at = self.domain(rule, moving.spotted(pod), moving, &mut known);
                if at.is_some_and(|at| self.is_alone(rule, pod, at, &counts)) {
                    return Some(pod);
                }
            }
        }
        None
    }

    fn find_kinds(&mut self) -> HashMap<(&'b Namespace, &'b Labels), usize> {
        let scene = &self.board.scene;
        let mut kinds = HashMap::new();
        for (at, pod) in scene.pods.iter().enumerate() {
            let next = kinds.len();
            let kind = *kinds.entry((&pod.namespace, &pod.labels)).or_insert(next);
            self.pods.resize(self.pods.len().max(kind + 1), vec![]);
            self.pods[kind].push(at);
            self.kind_of.push(kind);
        }
        self.fixed.resize(kinds.len(), vec![]);
        for pod in scene.bound.iter().filter(|pod| !pod.terminating) {
            let next = kinds.len();
            let kind = *kinds.entry((&pod.namespace, &pod.labels)).or_insert(next);
            self.fixed.resize(self.fixed.len().max(kind + 1), vec![]);
            self.fixed[kind].push(pod.node);
        }
        self.pods.resize(kinds.len(), vec![]);
        self.counted_by.resize(kinds.len(), vec![]);
        kinds
    }

    fn find_rules(&mut self, with_rules: &[usize], kinds: &HashMap<(&'b Namespace, &'b Labels), usize>) {
        let board = self.board;
        let mut by_label: HashMap<(&str, &str), Vec<OfKind<'_>>> = HashMap::new();
        for ((namespace, labels), kind) in kinds {
            for (key, value) in labels.iter() {
                by_label.entry((key, value)).or_default().push((namespace, labels, *kind));
            }
        }
        let all: Vec<OfKind<'_>> =
            kinds.iter().map(|((namespace, labels), kind)| (*namespace, *labels, *kind)).collect();
        let mut known: HashMap<(&Namespace, Option<usize>, What<'b>), usize> = HashMap::new();
        for pod in with_rules {
            let of = &board.scene.pods[*pod];
            for what in rules_of(of) {
                let by_own_labels = Some(self.kind_of[*pod]).filter(|_| what.looks_at_own_labels());
                let next = self.rules.len();
                let rule = *known.entry((&of.namespace, by_own_labels, what)).or_insert(next);
                if rule == next {
                    let first = what.selector().and_then(|selector| selector.labels.iter().next());
                    let likely = match first {
                        Some((key, value)) => {
                            by_label.get(&(key.as_str(), value.as_str())).map(Vec::as_slice).unwrap_or_default()
                        }
                        None => &all,
                    };
                    let counted =
                        likely.iter().filter(|(namespace, labels, _)| what.counts(of, namespace, labels, board));
                    let mut counted: Vec<usize> = counted.map(|(_, _, kind)| *kind).collect();
                    counted.sort_unstable();
                    counted.iter().for_each(|kind| self.counted_by[*kind].push(rule));
                    let key = self.key(what.key());
                    self.rules.push(Rule { key, what, kinds: counted, kept_by: vec![], before: Counts::default() });
                }
                self.rules[rule].kept_by.push(*pod);
                self.keeps[*pod].push(rule);
            }
        }
    }

    fn key(&mut self, name: &str) -> usize {
        if let Some(at) = self.keys.iter().position(|key| key.name == name) {
            return at;
        }
        let mut values: HashMap<String, Domain> = HashMap::new();
        let mut domain = |value: &String| {
            let next = values.len();
            *values.entry(value.clone()).or_insert(next)
        };
        let scene = &self.board.scene;
        let of_node = scene.nodes.iter().enumerate().map(|(at, node)| match name {
            names::HOSTNAME => Some(at),
            _ => node.labels.get(name).map(&mut domain),
        });
        let of_node = of_node.collect();
        if name == names::ZONE {
            let offered = scene.catalogues.iter().flat_map(|all| &all.types).flat_map(|of| &of.offerings);
            for zone in offered.filter_map(|one| one.zone.as_ref()) {
                domain(zone);
            }
        }
        self.keys.push(Key { name: name.to_owned(), of_node, values });
        self.keys.len() - 1
    }

    fn count(&mut self) {
        for at in 0..self.rules.len() {
            let mut before = Counts::default();
            let rule = &self.rules[at];
            let own = rule.kinds.iter().flat_map(|kind| &self.pods[*kind]).map(|pod| self.board.homes[*pod]);
            let fixed = rule.kinds.iter().flat_map(|kind| &self.fixed[*kind]).copied();
            for node in own.chain(fixed) {
                let at = self.keys[rule.key].of_node.get(node).copied().flatten();
                at.into_iter().for_each(|at| *before.entry(at).or_insert(0) += 1);
            }
            self.rules[at].before = before;
        }
    }

    fn now<'k>(&mut self, rule: usize, moving: &mut Moving<'b>, known: &'k mut Known) -> &'k Counts {
        if !known.now.contains_key(&rule) {
            let counts = self.counts_now(rule, moving, known);
            known.now.insert(rule, counts);
        }
        &known.now[&rule]
    }

    fn counts_now(&mut self, rule: usize, moving: &mut Moving<'b>, known: &mut Known) -> Counts {
        let mut counts = self.rules[rule].before.clone();
        let kinds = &self.rules[rule].kinds;
        let away = |pod: &usize| moving.spotted(*pod) != Spotted::Node(self.board.homes[*pod]);
        let moved: Vec<usize> = kinds.iter().flat_map(|kind| &self.pods[*kind]).copied().filter(away).collect();
        for pod in moved {
            let from = self.domain(rule, Spotted::Node(self.board.homes[pod]), moving, known);
            let to = self.domain(rule, moving.spotted(pod), moving, known);
            from.into_iter().for_each(|at| *counts.entry(at).or_insert(0) -= 1);
            to.into_iter().for_each(|at| *counts.entry(at).or_insert(0) += 1);
        }
        counts
    }

    /// Whether no other pod that the rule asks for is there. Where there is none anywhere, the first one may be anywhere.
    fn is_alone(&self, rule: usize, pod: usize, at: Domain, counts: &Counts) -> bool {
        let first = self.counts_itself(rule, pod) && counts.values().sum::<i64>() == 1;
        self.others(rule, pod, at, counts) <= 0 && !first && at < OPEN
    }

    /// How many other pods that the rule counts are there.
    fn others(&self, rule: usize, pod: usize, at: Domain, counts: &Counts) -> i64 {
        counts.get(&at).copied().unwrap_or(0) - i64::from(self.counts_itself(rule, pod))
    }

    fn counts_itself(&self, rule: usize, pod: usize) -> bool {
        self.counted_by[self.kind_of[pod]].contains(&rule)
    }

    fn skew(&self, rule: usize, pod: usize, at: Domain, counts: &Counts) -> i64 {
        let key = &self.keys[self.rules[rule].key];
        let count = |at: &Domain| counts.get(at).copied().unwrap_or(0);
        let only = self.board.scene.pods[pod].node_selector.get(&key.name);
        let eligible = key.values.iter().filter(|(value, _)| only.is_none_or(|only| only == *value));
        count(&at) - eligible.map(|(_, at)| count(at)).min().unwrap_or(0)
    }

    fn domain(&mut self, rule: usize, at: Spotted, moving: &mut Moving<'b>, known: &mut Known) -> Option<Domain> {
        let number = self.rules[rule].key;
        let key = &mut self.keys[number];
        match at {
            Spotted::Nowhere => None,
            Spotted::Node(node) => key.of_node.get(node).copied().flatten(),
            Spotted::Claim(claim) if key.name == names::HOSTNAME => Some(key.of_node.len() + claim),
            Spotted::Claim(claim) => Some(*known.domains.entry((claim, number)).or_insert_with(|| {
                let planned = || moving.planned(claim).map(|made| made.labels).unwrap_or_default();
                let labels = known.labels.entry(claim).or_insert_with(planned);
                let Some(value) = labels.get(&key.name) else { return OPEN + claim };
                let next = key.values.len();
                *key.values.entry(value.clone()).or_insert(next)
            })),
        }
    }
}
