//! The rules between pods that are looked at, whichever field of a pod they stand in.

use model::{
    Labels, Namespace, names,
    place::{PodTerm, PodToPlace, Spread, WhenUnsatisfiable},
};

use super::super::{
    board::Board,
    independent::{in_namespace, selected},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum What<'b> {
    Near(&'b PodTerm),
    Apart(&'b PodTerm),
    Spread(&'b Spread),
}

impl<'b> What<'b> {
    pub fn key(&self) -> &'b str {
        match self {
            What::Near(term) | What::Apart(term) => &term.topology_key,
            What::Spread(spread) => &spread.topology_key,
        }
    }

    pub fn selector(&self) -> Option<&'b model::place::Selector> {
        match self {
            What::Near(term) | What::Apart(term) => term.selector.as_ref(),
            What::Spread(spread) => spread.selector.as_ref(),
        }
    }

    pub fn looks_at_own_labels(&self) -> bool {
        match self {
            What::Near(term) | What::Apart(term) => {
                !term.match_label_keys.is_empty() || !term.mismatch_label_keys.is_empty()
            }
            What::Spread(spread) => !spread.match_label_keys.is_empty(),
        }
    }

    pub fn counts(&self, of: &PodToPlace, namespace: &Namespace, labels: &Labels, board: &Board<'_>) -> bool {
        let shared = |keys: &[String], alike: bool| {
            let of_key = |key: &String| of.labels.get(key).is_none_or(|own| (labels.get(key) == Some(own)) == alike);
            keys.iter().all(of_key)
        };
        let here = match self {
            What::Near(term) | What::Apart(term) => {
                let alike = shared(&term.match_label_keys, true) && shared(&term.mismatch_label_keys, false);
                alike && in_namespace(term, &of.namespace, namespace, &board.scene)
            }
            What::Spread(spread) => *namespace == of.namespace && shared(&spread.match_label_keys, true),
        };
        here && self.selector().is_some_and(|selector| selected(selector, labels))
    }
}

pub fn rules_of(pod: &PodToPlace) -> impl Iterator<Item = What<'_>> {
    let hard = |one: &&Spread| {
        one.when_unsatisfiable == WhenUnsatisfiable::DoNotSchedule && one.topology_key != names::HOSTNAME
    };
    let apart = pod.anti_affinity.iter().filter(|term| term.topology_key != names::HOSTNAME);
    let near = pod.affinity.iter().map(What::Near);
    near.chain(apart.map(What::Apart)).chain(pod.spread.iter().filter(hard).map(What::Spread))
}
