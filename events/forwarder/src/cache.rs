//! What the watches have shown so far. One row an object; a relist goes over the rows instead of making second ones.

use std::{
    collections::{HashMap, HashSet},
    hash::{BuildHasher as _, Hash, RandomState},
    sync::Arc,
};

use model::{Resources, names};

use crate::{
    keep::Row,
    rows::{Claim, Kind, Node, Pod, Pool, Shape, Workspace},
};

/// What a watch says.
#[derive(Debug, Clone)]
pub enum Change<R> {
    /// A list begins; until it is complete, what was known stays known.
    Relisting,
    Listed(R),
    /// The list is complete: what was not in it is gone.
    Synced,
    Changed(R),
    Removed(R),
}

/// A change of any kind of object.
#[derive(Debug, Clone)]
pub enum News {
    Pod(Change<Pod>),
    Node(Change<Node>),
    Claim(Change<Claim>),
    Pool(Change<Pool>),
    Workspace(Change<Workspace>),
    /// The API server does not have this kind, for now.
    NotServed(Kind),
    /// A watch broke: until it says something again, nobody knows what it missed.
    Broken(Kind),
}

/// One object, before and after. At least one of them is there.
#[derive(Debug, Clone)]
pub struct Difference<R> {
    pub before: Option<Arc<R>>,
    pub after: Option<Arc<R>>,
}

#[derive(Debug)]
pub struct Table<R> {
    rows: HashMap<Key, (Arc<R>, u32)>,
    /// Of the list that is under way, or the last one.
    generation: u32,
}

/// Sixteen bytes instead of the text of a UID.
type Key = u128;

#[derive(Debug, Default)]
pub struct Cache {
    pub pods: Table<Pod>,
    pub nodes: Table<Node>,
    pub claims: Table<Claim>,
    pub pools: Table<Pool>,
    pub workspaces: Table<Workspace>,
    /// Pods that wait for a node.
    waiting: HashMap<Key, Arc<Pod>>,
    node_names: HashMap<Box<str>, Key>,
    shapes: HashSet<Arc<Shape>>,
    amounts: HashSet<Arc<Resources>>,
    words: HashSet<Arc<str>>,
    keys: Keys,
}

/// Turns UIDs into keys. Kubernetes' are UUIDs; whatever else comes is hashed.
#[derive(Debug, Default)]
struct Keys(RandomState, RandomState);

impl<R> Default for Table<R> {
    fn default() -> Self {
        Table { rows: HashMap::new(), generation: 0 }
    }
}

impl<R: Row> Table<R> {
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Arc<R>> {
        self.rows.values().map(|(row, _)| row)
    }

    /// Keys are made by the cache as a whole.
    pub fn with_uid(&self, known: &Cache, uid: &str) -> Option<&Arc<R>> {
        self.rows.get(&known.keys.of(uid)).map(|(row, _)| row)
    }

    fn set(&mut self, key: Key, row: R) -> Difference<R> {
        let after = Arc::new(row);
        let before = self.rows.insert(key, (after.clone(), self.generation)).map(|(row, _)| row);
        Difference { before, after: Some(after) }
    }

    /// The last that was seen of it is what the removal shows, if it was ever known.
    fn remove(&mut self, key: Key, row: R) -> Difference<R> {
        self.rows.remove(&key);
        Difference { before: Some(Arc::new(row)), after: None }
    }

    fn apply(&mut self, keys: &Keys, change: Change<R>) -> Vec<Difference<R>> {
        match change {
            Change::Relisting => {
                self.generation = self.generation.wrapping_add(1);
                Vec::new()
            }
            Change::Listed(row) | Change::Changed(row) => vec![self.set(keys.of(&row.id().uid), row)],
            Change::Removed(row) => vec![self.remove(keys.of(&row.id().uid), row)],
            Change::Synced => {
                let generation = self.generation;
                let gone = self.rows.extract_if(|_, (_, seen)| *seen != generation);
                gone.map(|(_, (row, _))| Difference { before: Some(row), after: None }).collect()
            }
        }
    }
}

impl Cache {
    pub fn pod(&mut self, change: Change<Pod>) -> Vec<Difference<Pod>> {
        let change = match change {
            Change::Listed(pod) => Change::Listed(self.shared(pod)),
            Change::Changed(pod) => Change::Changed(self.shared(pod)),
            other @ (Change::Relisting | Change::Synced | Change::Removed(_)) => other,
        };
        let differences = self.pods.apply(&self.keys, change);
        for Difference { before, after } in &differences {
            match after.as_ref().filter(|pod| pod.waits()) {
                Some(pod) => _ = self.waiting.insert(self.keys.of(&pod.id.uid), pod.clone()),
                None => {
                    let gone = after.as_ref().or(before.as_ref());
                    gone.map(|pod| self.waiting.remove(&self.keys.of(&pod.id.uid)));
                }
            }
        }
        differences
    }

    pub fn node(&mut self, change: Change<Node>) -> Vec<Difference<Node>> {
        let change = match change {
            Change::Listed(node) => Change::Listed(self.alike(node)),
            Change::Changed(node) => Change::Changed(self.alike(node)),
            other @ (Change::Relisting | Change::Synced | Change::Removed(_)) => other,
        };
        let differences = self.nodes.apply(&self.keys, change);
        for Difference { before, after } in &differences {
            match (before, after) {
                (_, Some(node)) => _ = self.node_names.insert(node.id.name.clone(), self.keys.of(&node.id.uid)),
                (Some(node), None) => {
                    // A new node may have taken the name already.
                    if self.node_names.get(&node.id.name) == Some(&self.keys.of(&node.id.uid)) {
                        self.node_names.remove(&node.id.name);
                    }
                }
                (None, None) => {}
            }
        }
        differences
    }

    pub fn claim(&mut self, change: Change<Claim>) -> Vec<Difference<Claim>> {
        self.claims.apply(&self.keys, change)
    }

    pub fn pool(&mut self, change: Change<Pool>) -> Vec<Difference<Pool>> {
        self.pools.apply(&self.keys, change)
    }

    pub fn workspace(&mut self, change: Change<Workspace>) -> Vec<Difference<Workspace>> {
        self.workspaces.apply(&self.keys, change)
    }

    pub fn node_named(&self, name: &str) -> Option<&Arc<Node>> {
        let key = self.node_names.get(name)?;
        self.nodes.rows.get(key).map(|(node, _)| node)
    }

    /// The claim of a node: the one it names, else the one that says it has become this node.
    pub fn claim_of(&self, node: &Node) -> Option<&Arc<Claim>> {
        let named = node.claim.as_deref().or_else(|| node.labels.get(names::CLAIM_UID).map(String::as_str));
        if let Some(uid) = named {
            return self.claims.rows.get(&self.keys.of(uid)).map(|(claim, _)| claim);
        }
        let same = |claim: &&Arc<Claim>| {
            claim.node.as_deref() == Some(&node.id.name)
                || (claim.provider_id.is_some() && claim.provider_id == node.provider_id)
        };
        self.claims.iter().find(same)
    }

    pub fn workspace_named(&self, namespace: &str, name: &str) -> Option<&Arc<Workspace>> {
        let same =
            |space: &&Arc<Workspace>| space.id.namespace.as_deref() == Some(namespace) && &*space.id.name == name;
        self.workspaces.iter().find(same)
    }

    /// Any pod that waits.
    pub fn one_waiting(&self) -> Option<&Arc<Pod>> {
        self.waiting.values().next()
    }

    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Forgets shapes and names that no pod has any more, and gives back room that a burst took.
    pub fn tidy(&mut self) {
        self.shapes.retain(|shape| Arc::strong_count(shape) > 1);
        self.amounts.retain(|amounts| Arc::strong_count(amounts) > 1);
        self.words.retain(|word| Arc::strong_count(word) > 1);
        self.shapes.shrink_to_fit();
        self.words.shrink_to_fit();
        self.waiting.shrink_to_fit();
        self.pods.rows.shrink_to_fit();
    }

    /// Equal parts of pods are kept once.
    fn shared(&mut self, mut pod: Pod) -> Pod {
        pod.node = pod.node.map(|node| self.word(node));
        pod.id.namespace = pod.id.namespace.map(|namespace| self.word(namespace));
        pod.shape = kept_once(&mut self.shapes, pod.shape);
        pod
    }

    /// So are equal machines.
    fn alike(&mut self, mut node: Node) -> Node {
        node.capacity = kept_once(&mut self.amounts, node.capacity);
        node.allocatable = kept_once(&mut self.amounts, node.allocatable);
        node
    }

    fn word(&mut self, word: Arc<str>) -> Arc<str> {
        kept_once(&mut self.words, word)
    }
}

/// The one that is kept already, if it is equal.
fn kept_once<T: ?Sized + Eq + Hash>(kept: &mut HashSet<Arc<T>>, new: Arc<T>) -> Arc<T> {
    if let Some(known) = kept.get(&new) {
        return known.clone();
    }
    kept.insert(new.clone());
    new
}

impl Keys {
    fn of(&self, uid: &str) -> Key {
        uuid(uid).unwrap_or_else(|| {
            let halves = [self.0.hash_one(uid), self.1.hash_one(uid)];
            u128::from(halves[0]) << 64 | u128::from(halves[1])
        })
    }
}

/// `None` for what is not thirty-two hexadecimal digits in five groups.
fn uuid(text: &str) -> Option<u128> {
    if text.len() != 36 {
        return None;
    }
    let mut number = 0;
    for (place, byte) in text.bytes().enumerate() {
        if matches!(place, 8 | 13 | 18 | 23) {
            if byte != b'-' {
                return None;
            }
            continue;
        }
        number = number << 4 | u128::from(char::from(byte).to_digit(16)?);
    }
    Some(number)
}
