//! Commands that are right only together become one: each is carried out in its own time, or not at all.
//!
//! Pods that keep away from each other in a zone or the like may change places. Whoever moves first needs the other to have gone.
//! A pod that must be near another one comes where that one has come, and pods that are spread make room for each other.

use model::{
    Labels, Namespace, Operator, Requirement,
    disruption::KeptCode,
    names,
    place::{ClaimPlanned, PodTerm, PodToPlace, Scene, Selector},
};
use std::collections::BTreeMap;

use super::{
    Stay,
    between::{Known, Moves, Wrong},
    board::{Board, Choosing},
    groups::Group,
};
use crate::place::moving::Spotted;

/// A pod that moves, and its group.
struct Mover<'b> {
    group: usize,
    pod: &'b PodToPlace,
    from: &'b BTreeMap<String, String>,
    to: Spotted,
}

/// A command, and why it is not right alone if it is not.
type Judged = (Group, Result<(), Stay>);

/// A command, and what it does to the rules between pods.
type Together<'b> = (Group, Moves<'b>);

/// The same, judged.
type Done<'b> = (Together<'b>, Result<(), Stay>);

/// How many others are tried one by one before a command is joined with the first of them.
const MOST_TRIED: usize = 16;

/// Groups that are right alone; and why the others are not, which count on what an older command does.
pub fn joined(choosing: &mut Choosing<'_>, groups: Vec<Group>) -> Vec<Judged> {
    let board = choosing.board;
    // Nothing moves here: commands are only put together.
    let mut known = Known::default();
    let mut open: Vec<Option<Together<'_>>> = vec![];
    for group in apart(choosing, groups) {
        let movers: Vec<usize> = group.nodes.iter().flat_map(|at| board.pods_of(*at)).collect();
        let moves = choosing.between.moves(&mut choosing.moving, &movers, &mut known);
        open.push(Some((group, moves)));
    }
    let mut done: Vec<Done<'_>> = vec![];
    for at in 0..open.len() {
        let Some((mut group, mut moves)) = open[at].take() else { continue };
        let verdict = loop {
            let Some(wrong) = choosing.between.wrong_alone(&mut choosing.moving, &moves, &mut known) else {
                break Ok(());
            };
            let Some(other) = partner(choosing, (&open, &done), &moves, wrong, &mut known) else {
                break Err(too_soon(board, wrong));
            };
            let more = match other {
                Partner::Open(at) => open[at].take(),
                Partner::Done(at) => Some(done.remove(at).0),
            };
            if let Some((more, theirs)) = more {
                group.nodes.extend(more.nodes);
                group.claims.extend(more.claims);
                moves.add(&theirs);
            }
        };
        done.push(((group, moves), verdict));
    }
    done.into_iter().map(|((group, _), verdict)| (group, verdict)).collect()
}

/// What a command that counts on another one's moves says.
pub fn too_soon(board: &Board<'_>, wrong: Wrong) -> Stay {
    let pod = board.scene.pods.get(wrong.pod).map(|pod| format!("{}/{}", pod.namespace, pod.name)).unwrap_or_default();
    let words = format!("pod {pod} has a place only when pods of other nodes that go have moved: it is looked at then");
    Stay::new(KeptCode::NoOtherPlace, words)
}

enum Partner {
    Open(usize),
    Done(usize),
}

/// A group without whose moves this one is wrong: one that mends it, or else the first that has to do with it.
fn partner<'b>(
    choosing: &mut Choosing<'b>,
    (open, done): (&[Option<Together<'b>>], &[Done<'b>]),
    own: &Moves<'b>,
    wrong: Wrong,
    known: &mut Known,
) -> Option<Partner> {
    let of_open = open.iter().enumerate().filter_map(|(at, group)| Some((Partner::Open(at), &group.as_ref()?.1)));
    let of_done = done.iter().enumerate().map(|(at, ((_, moves), _))| (Partner::Done(at), moves));
    let found = of_open.chain(of_done).filter(|(_, theirs)| theirs.matter_to(wrong));
    let mut found: Vec<(Partner, &Moves<'b>)> = found.take(MOST_TRIED).collect();
    let mends = |(_, theirs): &(Partner, &Moves<'b>)| {
        let mut both = own.clone();
        both.add(theirs);
        choosing.between.wrong_alone(&mut choosing.moving, &both, known) != Some(wrong)
    };
    let best = found.iter().position(mends).unwrap_or(0);
    (!found.is_empty()).then(|| found.swap_remove(best).0)
}

/// Pods that keep away from each other and change places go by one command.
fn apart(choosing: &mut Choosing<'_>, mut groups: Vec<Group>) -> Vec<Group> {
    let board = choosing.board;
    let scene = &board.scene;
    let mut movers: Vec<Mover<'_>> = vec![];
    for (group, of) in groups.iter().enumerate() {
        for pod in of.nodes.iter().flat_map(|at| board.pods_of(*at)) {
            let from = board.homes.get(pod).and_then(|home| scene.nodes.get(*home)).map(|node| &node.labels);
            if let (Some(of_pod), Some(from)) = (scene.pods.get(pod), from) {
                movers.push(Mover { group, pod: of_pod, from, to: choosing.moving.spotted(pod) });
            }
        }
    }
    let mut planned: BTreeMap<usize, ClaimPlanned> = BTreeMap::new();
    let mut head: Vec<usize> = (0..groups.len()).collect();
    for one in &movers {
        for term in one.pod.anti_affinity.iter().filter(|term| term.topology_key != names::HOSTNAME) {
            for other in movers.iter().filter(|other| other.group != one.group) {
                if !selects(term, one.pod, other.pod, scene) {
                    continue;
                }
                let key = term.topology_key.as_str();
                let mut comes_to = |to: Spotted, left: &BTreeMap<String, String>| {
                    let Some(value) = left.get(key) else { return false };
                    match to {
                        Spotted::Node(node) => {
                            scene.nodes.get(node).and_then(|node| node.labels.get(key)) == Some(value)
                        }
                        Spotted::Claim(claim) => {
                            if !planned.contains_key(&claim) {
                                planned.extend(choosing.moving.planned(claim).map(|made| (claim, made)));
                            }
                            planned.get(&claim).is_some_and(|made| may_be(made, key, value))
                        }
                        Spotted::Nowhere => false,
                    }
                };
                if comes_to(one.to, other.from) || comes_to(other.to, one.from) {
                    let (first, second) = (head[one.group], head[other.group]);
                    let (first, second) = (first.min(second), first.max(second));
                    head.iter_mut().filter(|group| **group == second).for_each(|group| *group = first);
                }
            }
        }
    }
    for at in (0..groups.len()).rev().filter(|at| head[*at] != *at) {
        let own = groups.remove(at);
        if let Some(into) = groups.get_mut(head[at]) {
            into.nodes.extend(own.nodes);
            into.claims.extend(own.claims);
        }
    }
    groups
}

/// Whether a node of the claim may have this value.
fn may_be(claim: &ClaimPlanned, key: &str, value: &str) -> bool {
    let mut own = claim.requirements.iter().map(|one| &one.requirement).filter(|one| one.key == key);
    own.all(|one| keeps(one, Some(value)))
}

/// Whether a term of a pod is about another one.
fn selects(term: &PodTerm, of: &PodToPlace, other: &PodToPlace, scene: &Scene) -> bool {
    let here = in_namespace(term, &of.namespace, &other.namespace, scene);
    here && term.selector.as_ref().is_some_and(|selector| selected(selector, &other.labels))
}

/// Whether a term of a pod in the one namespace is about pods in the other.
pub fn in_namespace(term: &PodTerm, own: &Namespace, other: &Namespace, scene: &Scene) -> bool {
    if term.namespaces.is_empty() && term.namespace_selector.is_none() {
        return own == other;
    }
    let labels = scene.namespaces.get(other.as_str());
    let label = |key: &str| match labels.and_then(|labels| labels.get(key)) {
        Some(value) => Some(value.as_str()),
        None => (key == "kubernetes.io/metadata.name").then_some(other.as_str()),
    };
    let meant = |selector: &Selector| {
        selector.labels.iter().all(|(key, value)| label(key) == Some(value))
            && selector.expressions.iter().all(|one| keeps(one, label(&one.key)))
    };
    term.namespaces.contains(other) || term.namespace_selector.as_ref().is_some_and(meant)
}

pub fn selected(selector: &Selector, labels: &Labels) -> bool {
    selector.labels.iter().all(|(key, value)| labels.get(key) == Some(value))
        && selector.expressions.iter().all(|one| keeps(one, labels.get(&one.key).map(String::as_str)))
}

fn keeps(one: &Requirement, value: Option<&str>) -> bool {
    let listed = value.is_some_and(|value| one.values.iter().any(|listed| listed == value));
    match one.operator {
        Operator::In => listed,
        Operator::NotIn => !listed,
        Operator::Exists => value.is_some(),
        Operator::DoesNotExist => value.is_none(),
        Operator::Gt | Operator::Lt | Operator::Gte | Operator::Lte => true,
    }
}
