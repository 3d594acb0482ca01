//! What the volumes of a pod ask of a node: where bound ones are, where waiting ones may be made, how many fit.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{
    cluster::Node,
    filter::{Rejection, plugin},
    node_terms::{NodeTerm, node_selector},
    shape::Shape,
};
use crate::{
    api::{objects::key, store::ObjectKey},
    controllers::{fields, kinds::Kind, view::View, volumes},
};

/// What is known about the claims of a pod before any node is looked at.
#[derive(Default)]
pub(super) struct Claims {
    bound: Vec<Vec<NodeTerm>>,
    waiting: Vec<Waiting>,
    /// Driver of each claim, where it has one.
    drivers: Vec<(ObjectKey, String)>,
}

/// Label keys and the values that will do, all at once.
type Topology = Vec<(String, BTreeSet<String>)>;

struct Waiting {
    /// Volumes that exist and would do; each with its terms, if it has any.
    candidates: Vec<Option<Vec<NodeTerm>>>,
    /// Where the class makes new ones; `None` if it makes none.
    made: Option<Vec<Topology>>,
}

impl Claims {
    /// Refuses with the reason that stands for every node.
    pub(super) fn new(shape: &Shape, view: &View) -> Result<Self, String> {
        let mut claims = Claims::default();
        let mut unbound = false;
        for name in &shape.claims {
            let at = key(&shape.namespace, name);
            let Some(claim) = view.get(Kind::PersistentVolumeClaim, &at) else {
                return Err(format!("persistentvolumeclaim {name:?} not found"));
            };
            if fields::is_going(&claim.value) {
                return Err(format!("persistentvolumeclaim {name:?} is being deleted"));
            }
            let class = volumes::class_of(view, &claim.value);
            let volume = claim.value["spec"]["volumeName"].as_str().map(|volume| key("", volume));
            let volume = volume.and_then(|volume| view.get(Kind::PersistentVolume, &volume));
            let provisioner = class.as_ref().and_then(|class| class.value["provisioner"].as_str());
            let driver = volume.and_then(|volume| volume.value["spec"]["csi"]["driver"].as_str()).or(provisioner);
            claims.drivers.extend(driver.map(|driver| (at, driver.to_owned())));
            if let Some(volume) = volume {
                claims.bound.extend(node_selector(&volume.value["spec"]["nodeAffinity"]["required"]));
            } else if class.as_ref().is_some_and(|class| class.value["volumeBindingMode"] == "WaitForFirstConsumer") {
                let candidates = volumes::candidates(view, &claim.value).into_iter();
                let candidates =
                    candidates.map(|volume| node_selector(&volume.value["spec"]["nodeAffinity"]["required"])).collect();
                let made = provisioner.filter(|by| *by != volumes::NO_PROVISIONER);
                let made = made.and(class.as_ref()).map(|class| topologies(&class.value));
                claims.waiting.push(Waiting { candidates, made });
            } else {
                unbound = true;
            }
        }
        if unbound { Err("pod has unbound immediate PersistentVolumeClaims".to_owned()) } else { Ok(claims) }
    }

    pub(super) fn check(&self, node: &Node, view: &View) -> Result<(), Rejection> {
        if self.exceeds_limit(node, view) {
            return Err(Rejection::new(plugin::VOLUMES, "node(s) exceed max volume count", false));
        }
        let reaches = |terms: &Vec<NodeTerm>| terms.iter().any(|term| term.matches(&node.name, &node.labels));
        let mut reasons = Vec::new();
        if !self.bound.iter().all(reaches) {
            reasons.push("node(s) didn't match PersistentVolume's node affinity".to_owned());
        }
        let served = |waiting: &Waiting| {
            waiting.candidates.iter().any(|terms| terms.as_ref().is_none_or(reaches))
                || waiting.made.as_ref().is_some_and(|made| made_for(made, node))
        };
        if !self.waiting.iter().all(served) {
            reasons.push("node(s) didn't find available persistent volumes to bind".to_owned());
        }
        if reasons.is_empty() { Ok(()) } else { Err(Rejection { plugin: plugin::VOLUMES, reasons, for_good: true }) }
    }

    fn exceeds_limit(&self, node: &Node, view: &View) -> bool {
        let Some(csi) = view.get(Kind::CsiNode, &key("", &node.name)).filter(|_| !self.drivers.is_empty()) else {
            return false;
        };
        let mut wanted: BTreeMap<&str, i64> = BTreeMap::new();
        for (claim, driver) in &self.drivers {
            *wanted.entry(driver).or_insert(0) += i64::from(!node.claims.contains_key(claim));
        }
        fields::list(&csi.value["spec"]["drivers"]).iter().any(|driver| {
            let name = driver["name"].as_str().unwrap_or_default();
            let (Some(limit), Some(more)) = (driver["allocatable"]["count"].as_i64(), wanted.get(name)) else {
                return false;
            };
            let used = node.claims.keys().filter(|claim| driver_of(view, claim).as_deref() == Some(name)).count();
            *more > 0 && i64::try_from(used).unwrap_or(i64::MAX) + more > limit
        })
    }
}

fn driver_of(view: &View, at: &ObjectKey) -> Option<String> {
    let claim = view.get(Kind::PersistentVolumeClaim, at)?;
    let volume = claim.value["spec"]["volumeName"]
        .as_str()
        .and_then(|volume| view.get(Kind::PersistentVolume, &key("", volume)));
    let by_volume = volume.and_then(|volume| volume.value["spec"]["csi"]["driver"].as_str().map(str::to_owned));
    by_volume.or_else(|| volumes::class_of(view, &claim.value)?.value["provisioner"].as_str().map(str::to_owned))
}

fn topologies(class: &Value) -> Vec<Topology> {
    let expression = |one: &Value| {
        let values = fields::list(&one["values"]).iter().filter_map(Value::as_str).map(str::to_owned).collect();
        (one["key"].as_str().unwrap_or_default().to_owned(), values)
    };
    let terms = fields::list(&class["allowedTopologies"]).iter();
    terms.map(|term| fields::list(&term["matchLabelExpressions"]).iter().map(expression).collect()).collect()
}

fn made_for(terms: &[Topology], node: &Node) -> bool {
    let holds =
        |(key, values): &(String, BTreeSet<String>)| node.labels.get(key).is_some_and(|value| values.contains(value));
    terms.is_empty() || terms.iter().any(|term| term.iter().all(holds))
}
