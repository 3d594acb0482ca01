//! The picture of the cluster that travels with an event, drawn from what the watches have shown.
//!
//! Written piece by piece into text: as soon as it is larger than a snapshot may be, there is none, and the function looks for
//! itself. So drawing one never takes more memory than the largest that is sent. What occurs often is written once, at the end.

mod table;

use jiff::Timestamp;
use model::{InvalidId, Namespace, ObjectName, Resources, Uid};
use schema::{
    object::NodeTaint,
    snapshot::{Claim, Daemon, MAX_BYTES, NewestDaemon, Node, Pool, Shape, UnboundPod, VERSION},
};
use serde::Serialize;
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use crate::{
    cache::Cache,
    event::{class_ref, requirement, resource_map, toleration},
    filter::Wake,
    rows, wire,
};
use table::Table;

/// What the rest of an event takes at most.
const REST: usize = 16 * 1024;

/// Whether a decision about it needs the whole cluster. The others look at one object and what belongs to it.
pub fn is_wanted(wake: &Wake) -> bool {
    match wake {
        Wake::Place(_) | Wake::Tick(_) => true,
        Wake::Claim { .. } | Wake::Node { .. } | Wake::Workspace { .. } => false,
    }
}

/// How large a picture may be in an event of at most so many bytes.
pub fn room(event: usize) -> usize {
    MAX_BYTES.min(event.saturating_sub(REST))
}

/// `None` where it would be larger than `most` bytes.
pub fn draw(known: &Cache, now: Timestamp, most: usize) -> Option<String> {
    let pods = Pods::sort(known);
    let mut drawing = Drawing::default();
    let head = format!("{{\"version\":{VERSION},\"takenAt\":\"{now}\"");
    let mut text = Text { json: head.into_bytes(), most };
    text.list("nodes", known.nodes.iter().map(|row| drawing.node(row, pods.on.get(&*row.id.name))))?;
    text.list("shapes", pods.shapes.iter().map(|shape| drawing.shape(shape)))?;
    text.list("daemons", pods.daemons.values().map(newest))?;
    text.list("unbound", pods.unbound.iter().map(|pod| unbound(pod)))?;
    text.list("claims", known.claims.iter().filter(|row| is_in_flight(row)).map(|row| claim(row)))?;
    text.list("pools", known.pools.iter().filter(|row| !row.deleting).map(|row| pool(row)))?;
    let classes: BTreeSet<&wire::ClassRef> = known.pools.iter().map(|pool| &pool.class).collect();
    text.list("classes", classes.into_iter().map(class_ref))?;
    text.list("words", drawing.words.iter().map(Ok))?;
    text.list("resources", drawing.resources.iter().map(|amounts| Ok(resource_map(amounts))))?;
    text.json.push(b'}');
    String::from_utf8(text.json).ok()
}

/// JSON under construction.
struct Text {
    json: Vec<u8>,
    most: usize,
}

impl Text {
    /// One object that cannot be written spoils the picture: whoever reads it must not take nodes for freer than they are.
    fn list<T: Serialize>(&mut self, name: &str, items: impl Iterator<Item = Result<T, InvalidId>>) -> Option<()> {
        self.json.extend_from_slice(format!(",\"{name}\":[").as_bytes());
        let mut first = true;
        for item in items {
            if !first {
                self.json.push(b',');
            }
            first = false;
            serde_json::to_writer(&mut self.json, &item.ok()?).ok()?;
            if self.json.len() >= self.most {
                return None;
            }
        }
        self.json.push(b']');
        Some(())
    }
}

/// Pods by where they are and what they are like.
#[derive(Default)]
struct Pods<'a> {
    shapes: Vec<Alike<'a>>,
    /// By node: how many of which shape.
    on: HashMap<&'a str, BTreeMap<u32, u32>>,
    /// The newest by namespace and DaemonSet.
    daemons: BTreeMap<(&'a str, &'a str), Newest<'a>>,
    unbound: Vec<&'a rows::Pod>,
}

/// Pods of one namespace and template.
struct Alike<'a> {
    namespace: &'a str,
    shape: &'a rows::Shape,
    terminating: bool,
}

struct Newest<'a> {
    created_at: Timestamp,
    pod: &'a str,
    shape: u32,
}

impl<'a> Pods<'a> {
    fn sort(known: &'a Cache) -> Self {
        let (mut pods, mut places) = (Pods::default(), HashMap::new());
        for pod in known.pods.iter().filter(|pod| !pod.over) {
            let Some(node) = pod.node.as_deref() else {
                if !pod.deleting {
                    pods.unbound.push(pod);
                }
                continue;
            };
            let namespace = pod.id.namespace.as_deref().unwrap_or_default();
            // Equal shapes are one in the cache.
            let key = (namespace, Arc::as_ptr(&pod.shape), pod.deleting);
            let shape = *places.entry(key).or_insert_with(|| {
                pods.shapes.push(Alike { namespace, shape: &pod.shape, terminating: pod.deleting });
                u32::try_from(pods.shapes.len() - 1).unwrap_or(u32::MAX)
            });
            *pods.on.entry(node).or_default().entry(shape).or_default() += 1;
            if let (Some(set), Some(created_at)) = (pod.shape.daemon.as_deref(), pod.created_at) {
                let this = Newest { created_at, pod: &pod.id.name, shape };
                let newest = pods.daemons.entry((namespace, set)).or_insert(Newest { ..this });
                if (newest.created_at, newest.pod) < (this.created_at, this.pod) {
                    *newest = this;
                }
            }
        }
        pods
    }
}

/// What is written once and pointed to.
#[derive(Default)]
struct Drawing<'a> {
    words: Table<'a, str>,
    resources: Table<'a, Resources>,
}

impl<'a> Drawing<'a> {
    fn node(&mut self, node: &'a rows::Node, pods: Option<&BTreeMap<u32, u32>>) -> Result<Node, InvalidId> {
        Ok(Node {
            name: ObjectName::new(&*node.id.name)?.into(),
            provider_id: node.provider_id.clone(),
            labels: self.labels(&node.labels),
            taints: node.taints.iter().filter_map(taint).collect(),
            capacity: self.resources.position(&node.capacity),
            allocatable: self.resources.position(&node.allocatable),
            deleting: node.deleting,
            pods: pods.into_iter().flatten().flat_map(|(shape, count)| [*shape, *count]).collect(),
        })
    }

    fn shape(&mut self, alike: &Alike<'a>) -> Result<Shape, InvalidId> {
        let rows::Shape { labels, requests, node_selector, tolerations, anti_affinity, host_ports, .. } = alike.shape;
        let rows::Shape { volume_claims, host_network, .. } = alike.shape;
        let daemon = |set: &str| -> Result<Daemon, InvalidId> {
            Ok(Daemon {
                set: ObjectName::new(set)?.into(),
                node_selector: node_selector.clone(),
                tolerations: tolerations.iter().filter_map(toleration).collect(),
                host_network: *host_network,
            })
        };
        Ok(Shape {
            namespace: Namespace::new(alike.namespace)?.into(),
            labels: self.labels(labels),
            requests: self.resources.position(requests),
            anti_affinity: anti_affinity.iter().map(Into::into).collect(),
            host_ports: host_ports.iter().map(Into::into).collect(),
            volume_claims: volume_claims.clone(),
            terminating: alike.terminating,
            daemon: alike.shape.daemon.as_deref().map(daemon).transpose()?,
        })
    }

    fn labels(&mut self, labels: &'a wire::Texts) -> Vec<u32> {
        labels.iter().flat_map(|(key, value)| [self.words.position(key), self.words.position(value)]).collect()
    }
}

fn taint(given: &wire::Taint) -> Option<NodeTaint> {
    let effect: model::Effect = given.effect.parse().ok()?;
    Some(NodeTaint { key: given.key.clone(), value: given.value.clone(), effect: effect.into() })
}

fn newest(newest: &Newest<'_>) -> Result<NewestDaemon, InvalidId> {
    Ok(NewestDaemon {
        shape: newest.shape,
        created_at: newest.created_at.into(),
        pod: ObjectName::new(newest.pod)?.into(),
    })
}

fn unbound(pod: &rows::Pod) -> Result<UnboundPod, InvalidId> {
    Ok(UnboundPod {
        namespace: Namespace::new(pod.id.namespace.as_deref().unwrap_or_default())?.into(),
        name: ObjectName::new(&*pod.id.name)?.into(),
        uid: Uid::new(&*pod.id.uid)?.into(),
        waits: pod.waits(),
    })
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
