//! The picture of the cluster that travels with an event, drawn from what the watches have shown.
//!
//! Written piece by piece into text: as soon as it is larger than a snapshot may be, there is none, and the function looks for
//! itself. So drawing one never takes more memory than the largest that is sent.

use jiff::Timestamp;
use model::{InvalidId, Namespace, ObjectName, Quantity, Resources, Uid};
use schema::{
    object::NodeTaint,
    snapshot::{Claim, MAX_BYTES, Node, Pod, Pool, VERSION},
};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::{
    cache::Cache,
    event::{class_ref, requirement, resource_map},
    filter::Wake,
    rows, wire,
};

/// Whether a decision about it needs the whole cluster. The others look at one object and what belongs to it.
pub fn is_wanted(wake: &Wake) -> bool {
    match wake {
        Wake::Place(_) | Wake::Tick(_) => true,
        Wake::Claim { .. } | Wake::Node { .. } | Wake::Workspace { .. } => false,
    }
}

/// `None` where it would be too large.
pub fn draw(known: &Cache, now: Timestamp) -> Option<String> {
    let used = used(known);
    let mut text = Text(format!("{{\"version\":{VERSION},\"takenAt\":\"{now}\"").into_bytes());
    text.list("nodes", known.nodes.iter().map(|row| node(row, used.get(&*row.id.name))))?;
    text.list("pods", known.pods.iter().filter(|pod| !pod.over).filter_map(|row| pod(row)))?;
    text.list("claims", known.claims.iter().filter(|row| is_in_flight(row)).map(|row| claim(row)))?;
    text.list("pools", known.pools.iter().filter(|row| !row.deleting).map(|row| pool(row)))?;
    let classes: BTreeSet<&wire::ClassRef> = known.pools.iter().map(|pool| &pool.class).collect();
    text.list("classes", classes.into_iter().map(class_ref))?;
    text.0.push(b'}');
    String::from_utf8(text.0).ok()
}

/// JSON under construction.
struct Text(Vec<u8>);

impl Text {
    /// One object that cannot be written is left out; the picture is a hint.
    fn list<T: Serialize>(&mut self, name: &str, items: impl Iterator<Item = Result<T, InvalidId>>) -> Option<()> {
        self.0.extend_from_slice(format!(",\"{name}\":[").as_bytes());
        let mut first = true;
        for item in items.filter_map(Result::ok) {
            if !first {
                self.0.push(b',');
            }
            first = false;
            serde_json::to_writer(&mut self.0, &item).ok()?;
            if self.0.len() > MAX_BYTES {
                return None;
            }
        }
        self.0.push(b']');
        Some(())
    }
}

/// What pods hold of each node, in thousandths.
fn used(known: &Cache) -> HashMap<&str, BTreeMap<&str, i128>> {
    let mut used: HashMap<&str, BTreeMap<&str, i128>> = HashMap::with_capacity(known.nodes.len());
    for pod in known.pods.iter().filter(|pod| !pod.over) {
        let Some(node) = pod.node.as_deref() else { continue };
        let held = used.entry(node).or_default();
        for (name, amount) in &pod.shape.requests {
            *held.entry(name).or_default() += amount.thousandths();
        }
        *held.entry("pods").or_default() += 1000;
    }
    used
}

fn node(node: &rows::Node, used: Option<&BTreeMap<&str, i128>>) -> Result<Node, InvalidId> {
    let free = |(name, amount): (&String, &Quantity)| {
        let held = used.and_then(|used| used.get(name.as_str())).copied().unwrap_or_default();
        (name.clone(), Quantity::from_thousandths((amount.thousandths() - held).max(0)))
    };
    let free: Resources = node.allocatable.iter().map(free).collect();
    Ok(Node {
        name: ObjectName::new(&*node.id.name)?.into(),
        provider_id: node.provider_id.clone(),
        labels: node.labels.clone(),
        taints: node.taints.iter().filter_map(taint).collect(),
        free: resource_map(&free),
    })
}

fn taint(given: &wire::Taint) -> Option<NodeTaint> {
    let effect: model::Effect = given.effect.parse().ok()?;
    Some(NodeTaint { key: given.key.clone(), value: given.value.clone(), effect: effect.into() })
}

/// Bound pods only, with the labels that spreading and affinity count by.
fn pod(pod: &rows::Pod) -> Option<Result<Pod, InvalidId>> {
    let node = pod.node.as_deref()?;
    let write = || {
        Ok(Pod {
            namespace: Namespace::new(pod.id.namespace.as_deref().unwrap_or_default())?.into(),
            name: ObjectName::new(&*pod.id.name)?.into(),
            node: ObjectName::new(node)?.into(),
            labels: pod.shape.labels.clone(),
        })
    };
    Some(write())
}

fn is_in_flight(claim: &rows::Claim) -> bool {
    !claim.deleting && !claim.is("Registered")
}

fn claim(claim: &rows::Claim) -> Result<Claim, InvalidId> {
    Ok(Claim {
        name: ObjectName::new(&*claim.id.name)?.into(),
        uid: Uid::new(&*claim.id.uid)?.into(),
        pool: claim.pool.clone().map(ObjectName::new).transpose()?.map(Into::into),
        requests: resource_map(&claim.requests),
    })
}

fn pool(pool: &rows::Pool) -> Result<Pool, InvalidId> {
    Ok(Pool {
        name: ObjectName::new(&*pool.id.name)?.into(),
        weight: pool.weight,
        limits: resource_map(&pool.limits),
        requirements: pool.requirements.iter().filter_map(requirement).collect(),
        class: class_ref(&pool.class)?,
    })
}
