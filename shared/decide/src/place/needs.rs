//! What pods ask of a node's labels, each list of it once.

use model::Requirement;
use model::place::NodeTerm;

use super::allowed::Allowed;
use super::hash::Map;
use super::words::{HOST, Key, Words};

/// Position in [`Needs`]. The first asks for nothing.
pub type NeedId = usize;

/// Key by key, sorted.
pub type Need = Vec<(Key, Allowed)>;

#[derive(Debug, Default)]
pub struct Needs {
    ids: Map<Need, NeedId>,
    all: Vec<Need>,
}

impl Needs {
    pub fn new() -> Self {
        let mut needs = Needs::default();
        needs.id(vec![]);
        needs
    }

    pub fn get(&self, id: NeedId) -> &Need {
        // Ids come from `id` alone, and the first is always there.
        &self.all[id.min(self.all.len() - 1)]
    }

    pub fn id(&mut self, need: Need) -> NeedId {
        *self.ids.entry(need).or_insert_with_key(|need| {
            self.all.push(need.clone());
            self.all.len() - 1
        })
    }

    /// Both together; nothing if they contradict each other.
    pub fn both(&mut self, left: NeedId, right: NeedId) -> Option<NeedId> {
        if left == right || right == 0 {
            return Some(left);
        }
        if left == 0 {
            return Some(right);
        }
        let mut need = self.get(left).clone();
        for (key, allowed) in self.get(right) {
            add(&mut need, *key, allowed);
        }
        need.iter().all(|(_, allowed)| !allowed.is_empty()).then(|| self.id(need))
    }

    /// Whether labels, one allowed value a key, keep a need. `label` answers what a node has of a key.
    pub fn kept(&self, id: NeedId, mut label: impl FnMut(Key) -> Label) -> bool {
        self.get(id).iter().all(|(key, allowed)| match label(*key) {
            Label::Value(value) => allowed.has(value),
            Label::Unnamed => allowed.allows_others(),
            Label::Absent => allowed.allows_absent(),
        })
    }
}

/// What a node has of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Label {
    Value(usize),
    /// A value that no rule names.
    Unnamed,
    Absent,
}

pub fn add(need: &mut Need, key: Key, allowed: &Allowed) {
    match need.binary_search_by_key(&key, |(own, _)| *own) {
        Ok(at) => need[at].1.narrow(allowed),
        Err(at) => need.insert(at, (key, allowed.clone())),
    }
}

pub fn of_requirements<'a>(requirements: impl IntoIterator<Item = &'a Requirement>, words: &Words<'_>) -> Need {
    let mut need = vec![];
    for requirement in requirements {
        if let Some(key) = words.key(&requirement.key) {
            add(&mut need, key, &Allowed::by(requirement, key, words));
        }
    }
    need
}

pub fn of_labels<'l>(labels: impl IntoIterator<Item = (&'l String, &'l String)>, words: &Words<'_>) -> Need {
    let mut need = vec![];
    for (key, value) in labels {
        let Some(key) = words.key(key) else { continue };
        match words.value(key, value) {
            Some(value) => add(&mut need, key, &Allowed::one(value)),
            None => add(&mut need, key, &Allowed::unnamed()),
        }
    }
    need
}

/// A term of node affinity; an empty one is kept by nothing.
pub fn of_term(term: &NodeTerm, words: &Words<'_>) -> Option<Need> {
    if term.expressions.is_empty() && term.fields.is_empty() {
        return None;
    }
    Some(of_requirements(&term.expressions, words))
}

/// Without what it says about the hostname.
pub fn without_host(mut need: Need) -> Need {
    need.retain(|(key, _)| *key != HOST);
    need
}
