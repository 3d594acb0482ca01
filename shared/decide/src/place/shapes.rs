//! Pods that are alike, once. A solve looks at shapes; pods are only counted.

use core::hash::{Hash, Hasher};

use model::Labels;
use model::place::{PodTerm, PodToPlace, Scene, Selector};

use super::amounts::{Columns, Part, Row, is_accelerator};
use super::hash::{Map, Set};

pub type ShapeId = usize;
/// Pods of one namespace with the same labels, as far as any selector can tell.
pub type Kin = usize;

#[derive(Debug)]
pub struct Shape<'a> {
    /// One of them stands for all.
    pub example: &'a PodToPlace,
    /// Positions in the scene, oldest first.
    pub pods: Vec<usize>,
    pub request: Row,
    pub part: Option<Part>,
    /// It asks for a GPU or the like.
    pub accelerated: bool,
    pub kin: Kin,
}

/// The label keys that selectors name. Labels under other keys tell no pods apart.
pub struct Selecting<'a> {
    keys: Set<&'a str>,
}

impl<'a> Selecting<'a> {
    pub fn new(scene: &'a Scene) -> Self {
        let mut selecting = Selecting { keys: Set::default() };
        for pod in &scene.pods {
            let terms = pod.affinity.iter().chain(&pod.anti_affinity);
            let preferred = pod.preferred_affinity.iter().chain(&pod.preferred_anti_affinity).map(|wish| &wish.term);
            terms.chain(preferred).for_each(|term| selecting.of_term(term));
            for spread in &pod.spread {
                selecting.of_selector(spread.selector.as_ref());
                selecting.keys.extend(spread.match_label_keys.iter().map(String::as_str));
            }
            if !scene.default_spread.is_empty() {
                selecting.of_selector(pod.default_selector.as_deref());
            }
        }
        scene.bound.iter().flat_map(|pod| &pod.anti_affinity).for_each(|term| selecting.of_term(term));
        selecting
    }

    fn of_term(&mut self, term: &'a PodTerm) {
        self.of_selector(term.selector.as_ref());
        self.keys.extend(term.match_label_keys.iter().chain(&term.mismatch_label_keys).map(String::as_str));
    }

    fn of_selector(&mut self, selector: Option<&'a Selector>) {
        let Some(selector) = selector else { return };
        self.keys.extend(selector.labels.keys().map(String::as_str));
        self.keys.extend(selector.expressions.iter().map(|expression| expression.key.as_str()));
    }

    /// The labels that some selector can tell.
    fn told<'l>(&self, labels: &'l Labels) -> impl Iterator<Item = (&'l str, &'l str)> {
        let named = labels.iter().filter(|(key, _)| self.keys.contains(key.as_str()));
        named.map(|(key, value)| (key.as_str(), value.as_str()))
    }
}

/// A namespace, and labels.
type Identity<'a> = (&'a str, Vec<(&'a str, &'a str)>);

/// The kins of all pods, pending and bound.
pub struct Kins<'a> {
    ids: Map<Identity<'a>, Kin>,
    all: Vec<Identity<'a>>,
    by_label: Map<(&'a str, &'a str), Vec<Kin>>,
}

impl<'a> Kins<'a> {
    pub fn new() -> Self {
        Kins { ids: Map::default(), all: vec![], by_label: Map::default() }
    }

    pub fn learn(&mut self, namespace: &'a str, labels: &'a Labels, selecting: &Selecting<'_>) -> Kin {
        let identity = (namespace, selecting.told(labels).collect::<Vec<_>>());
        if let Some(kin) = self.ids.get(&identity) {
            return *kin;
        }
        let kin = self.all.len();
        for label in &identity.1 {
            self.by_label.entry(*label).or_default().push(kin);
        }
        self.all.push(identity.clone());
        self.ids.insert(identity, kin);
        kin
    }

    pub fn len(&self) -> usize {
        self.all.len()
    }

    pub fn namespace(&self, kin: Kin) -> &'a str {
        self.all.get(kin).map_or("", |(namespace, _)| namespace)
    }

    pub fn label(&self, kin: Kin, key: &str) -> Option<&'a str> {
        let (_, labels) = self.all.get(kin)?;
        labels.iter().find(|(own, _)| *own == key).map(|(_, value)| *value)
    }

    /// Those that can have all of these labels: all of them if there are none.
    pub fn with_label(&self, label: Option<(&str, &str)>) -> Vec<Kin> {
        match label {
            None => (0..self.all.len()).collect(),
            Some(label) => self.by_label.get(&label).cloned().unwrap_or_default(),
        }
    }
}

/// Groups the pods that can be tried at all.
pub fn group<'a>(
    scene: &'a Scene,
    columns: &Columns<'a>,
    selecting: &Selecting<'a>,
    kins: &mut Kins<'a>,
) -> Vec<Shape<'a>> {
    let by_default = !scene.default_spread.is_empty();
    let mut ids: Map<Alike<'_, '_>, ShapeId> = Map::default();
    let mut shapes: Vec<Shape<'a>> = vec![];
    for (at, pod) in scene.pods.iter().enumerate().filter(|(_, pod)| pod.invalid.is_none()) {
        let id = *ids.entry(Alike { pod, selecting, by_default }).or_insert_with(|| {
            let (request, part) = columns.request(&pod.requests);
            let accelerated =
                pod.requests.iter().any(|(name, amount)| amount.thousandths() > 0 && is_accelerator(name));
            let kin = kins.learn(pod.namespace.as_str(), &pod.labels, selecting);
            shapes.push(Shape {
                example: pod,
                pods: vec![],
                request,
                part,
                accelerated: accelerated || part.is_some(),
                kin,
            });
            shapes.len() - 1
        });
        if let Some(shape) = shapes.get_mut(id) {
            shape.pods.push(at);
        }
    }
    for shape in &mut shapes {
        shape.pods.sort_by_key(|at| scene.pods.get(*at).map(|pod| (pod.created_at, pod.uid.as_str())));
    }
    shapes
}

/// A pod, equal to all that ask for the same.
struct Alike<'s, 'a> {
    pod: &'a PodToPlace,
    selecting: &'s Selecting<'a>,
    by_default: bool,
}

impl Hash for Alike<'_, '_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.selecting.told(&self.pod.labels).for_each(|label| label.hash(state));
        asks(self.pod).hash(state);
    }
}

impl PartialEq for Alike<'_, '_> {
    fn eq(&self, other: &Self) -> bool {
        asks(self.pod) == asks(other.pod)
            && self.selecting.told(&self.pod.labels).eq(self.selecting.told(&other.pod.labels))
            && (!self.by_default || self.pod.default_selector == other.pod.default_selector)
    }
}

impl Eq for Alike<'_, '_> {}

/// All that a pod asks for, but for its labels: those count only where a selector names them.
fn asks(pod: &PodToPlace) -> impl Hash + Eq + '_ {
    let PodToPlace {
        namespace,
        name: _,
        uid: _,
        created_at: _,
        priority,
        labels: _,
        requests,
        node_selector,
        node_affinity,
        preferred_node_affinity,
        affinity,
        preferred_affinity,
        anti_affinity,
        preferred_anti_affinity,
        spread,
        default_selector: _,
        tolerations,
        host_ports,
        volumes,
        planned: _,
        invalid: _,
    } = pod;
    let amounts = (namespace, priority, requests, host_ports, volumes);
    let nodes = (node_selector, node_affinity, preferred_node_affinity, tolerations);
    let others = (affinity, preferred_affinity, anti_affinity, preferred_anti_affinity, spread);
    (amounts, nodes, others)
}
