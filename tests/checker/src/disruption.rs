//! Judges which nodes go: the answer of `pilotlight plan --consolidate`, or Karpenter's, against the same files.
//!
//! | file | rule |
//! |---|---|
//! | `candidates` | a node goes for a reason that is so, and nothing forbids it |
//! | `budgets` | no more at a time than the pool says |
//! | `after` | every pod has a place that keeps every rule, in the cluster as it is afterwards; each command holds alone |
//! | `health` | what is said to be sick is, for long enough |
//! | `money` | what comes costs less than what goes |
//! | `kept` | every other node stays, for a reason that is so |

mod after;
mod budgets;
mod candidates;
mod facts;
mod health;
mod kept;
mod money;
mod when;

use std::collections::BTreeSet;

use jiff::Timestamp;

use crate::answer::{Answer, DisruptionAnswer};
use crate::{Catalog, Cluster, Objects, Rule, Violation};
use facts::{NodeFacts, Situation};

/// Whose answer it is: some rules are ours alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ways {
    /// GPU work stays, savings have to be worth it, budgets hold for nodes that are too old, and every pod's new place is told.
    Ours,
    Karpenters,
}

/// Everything that is wrong with the commands of an answer, and with why other nodes stay.
pub fn check(objects: &Objects, catalog: &Catalog, answer: &Answer, now: Timestamp, ways: Ways) -> Vec<Violation> {
    let cluster = Cluster::new(objects.clone(), catalog);
    let situation = Situation { objects, cluster: &cluster, catalog, now };
    let nodes = situation.nodes();
    let mut found = Vec::new();
    named_once(&nodes, &answer.disruptions, &mut found);
    candidates::check(&situation, &nodes, answer, ways, &mut found);
    budgets::check(&nodes, &answer.disruptions, ways, &mut found);
    money::check(&situation, &nodes, &answer.disruptions, ways, &mut found);
    if ways == Ways::Ours {
        after::check(&situation, &nodes, answer, &mut found);
        kept::check(&situation, &nodes, answer, &mut found);
    }
    found
}

/// What the nodes of a cluster that pools made cost an hour, and how many they are.
pub fn bill(objects: &Objects, catalog: &Catalog, now: Timestamp) -> (usize, f64) {
    let cluster = Cluster::new(objects.clone(), catalog);
    let situation = Situation { objects, cluster: &cluster, catalog, now };
    let nodes = situation.nodes();
    let ours: Vec<&NodeFacts<'_>> = nodes.iter().filter(|node| node.pool.is_some() && !node.leaving).collect();
    (ours.len(), ours.iter().filter_map(|node| situation.paid(node)).map(|paid| paid.price).sum())
}

/// The names of the pods of a node that run somewhere else when it is gone.
pub fn pods_that_move(objects: &Objects, catalog: &Catalog, names: &[String]) -> Vec<String> {
    let cluster = Cluster::new(objects.clone(), catalog);
    let situation = Situation { objects, cluster: &cluster, catalog, now: Timestamp::UNIX_EPOCH };
    let nodes = situation.nodes();
    let gone = nodes.iter().filter(|node| names.iter().any(|name| name == node.name));
    gone.flat_map(|node| node.moving().map(|pod| pod.name.clone()).collect::<Vec<_>>()).collect()
}

/// Up, and of a pool: what budgets count.
fn is_up(node: &NodeFacts<'_>) -> bool {
    node.initialized && node.pool.is_some()
}

fn named_once(nodes: &[NodeFacts<'_>], commands: &[DisruptionAnswer], found: &mut Vec<Violation>) {
    let mut seen = BTreeSet::new();
    for name in commands.iter().flat_map(|command| &command.nodes) {
        if !nodes.iter().any(|node| node.name == name) {
            found.push(Violation::of(Rule::Candidate, format!("node {name} goes, and there is none")));
        }
        if !seen.insert(name) {
            found.push(Violation::of(Rule::Candidate, format!("node {name} goes twice")));
        }
    }
    for command in commands.iter().filter(|command| command.nodes.is_empty()) {
        found.push(Violation::of(Rule::Candidate, format!("a command for {} takes no node", command.reason)));
    }
}
