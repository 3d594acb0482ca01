//! The scheduler: finds a node for every pod that has none, or says why there is none.
//!
//! It filters as the default profile of the real one does and scores more simply. Preemption is left out: a pod that
//! would push others away waits, with the words the real one uses when it finds no victims.

mod choose;
mod claims;
mod cluster;
mod counts;
mod filter;
mod message;
mod node_terms;
mod outcome;
mod queue;
mod relations;
mod shape;

use serde_json::Value;
use std::{collections::BTreeMap, sync::Arc};

use super::{
    Controller,
    context::Context,
    events::{self, Saying},
    fields,
    kinds::Kind,
    timers::Alarm,
    view::{Noticed, View},
    volumes,
};
use crate::api::store::ObjectKey;
use choose::choose;
use claims::Claims;
use cluster::Cluster;
use filter::{Known, plugin};
pub(super) use node_terms::{NodeTerm, label_map, node_selector, tolerates, untolerated};
use outcome::{bind, set_unscheduled};
use queue::Queue;
use shape::Shape;

pub(super) const NAME: &str = "default-scheduler";
/// What is known of more shapes than this is thrown away and found out again.
const MOST_KNOWN: usize = 64;
const MOST_SHAPES: usize = 20_000;

#[derive(Default)]
pub(super) struct Scheduler {
    cluster: Cluster,
    queue: Queue,
    shapes: BTreeMap<String, Arc<Shape>>,
    shape_count: u64,
    known: BTreeMap<u64, Vec<Option<Known>>>,
    refused: BTreeMap<u64, Refused>,
    /// Counts everything that happened, and everything that made room.
    changes: u64,
    releases: u64,
    wake: u16,
    dirty: bool,
}

/// The last refusal of a shape, and up to which change it holds.
#[derive(Clone)]
struct Refused {
    at: u64,
    message: Arc<str>,
    plugins: u16,
}

impl Controller for Scheduler {
    fn notice(&mut self, context: &Context, noticed: &Noticed) {
        let change = &noticed.change;
        match noticed.kind {
            Some(Kind::Pod) => self.notice_pod(context, noticed),
            Some(Kind::Node) => self.notice_node(context, noticed),
            Some(Kind::PersistentVolumeClaim | Kind::PersistentVolume | Kind::StorageClass | Kind::CsiNode) => {
                self.happened(plugin::VOLUMES, true);
            }
            Some(Kind::Namespace) => {
                let labels = |value: &Value| value["metadata"]["labels"].clone();
                let before = change.before.as_ref().map(|before| labels(&before.value));
                let matters = self
                    .shapes
                    .values()
                    .any(|shape| !shape.near.is_empty() || !shape.apart.is_empty() || !shape.preferred_pods.is_empty());
                if matters && (change.deleted || before != Some(labels(&change.after.value))) {
                    self.begin_again(context);
                }
            }
            _ => {}
        }
    }

    fn ring(&mut self, context: &mut Context, alarm: &Alarm) {
        if *alarm == Alarm::Schedule {
            self.queue.timer = None;
            self.queue.tick(context.now());
            self.dirty = true;
        }
    }

    fn work(&mut self, context: &mut Context) {
        let wake = std::mem::take(&mut self.wake);
        if wake != 0 {
            self.queue.wake(wake, context.now());
            self.dirty = true;
        }
        for _ in 0..context.options.pods_a_round {
            let Some(key) = self.queue.pop() else { break };
            self.attempt(context, &key);
            self.dirty = true;
        }
        if std::mem::take(&mut self.dirty)
            && let Some(next) = self.queue.next()
            && self.queue.timer.is_none_or(|timer| timer > next)
        {
            context.timers.set(next, Alarm::Schedule);
            self.queue.timer = Some(next);
        }
    }

    fn has_more(&self) -> bool {
        self.queue.has_active()
    }
}

impl Scheduler {
    fn happened(&mut self, plugins: u16, release: bool) {
        self.changes += 1;
        self.releases += u64::from(release);
        self.wake |= plugins;
    }

    fn notice_node(&mut self, context: &Context, noticed: &Noticed) {
        let change = &noticed.change;
        let name = &change.key.1;
        if change.deleted {
            self.cluster.remove_node(name);
            // Fewer domains can make a spread possible; nothing else gets easier.
            self.happened(plugin::SPREAD | plugin::PODS, true);
            return;
        }
        let known = self.cluster.slot(name).is_some();
        if !self.cluster.set_node(name, &change.after.value) {
            return;
        }
        if !known {
            let pods: Vec<_> = context.view.pods_on(name).map(|(key, pod)| (key.clone(), pod.clone())).collect();
            for (key, pod) in pods.iter().filter(|(_, pod)| !fields::is_over(&pod.value)) {
                let shape = self.shape_of(&pod.value, &context.view);
                self.cluster.place(key, name, &shape, fields::is_going(&pod.value));
            }
        }
        self.happened(u16::MAX, true);
    }

    fn notice_pod(&mut self, context: &Context, noticed: &Noticed) {
        let change = &noticed.change;
        let (key, pod) = (&change.key, &change.after.value);
        if change.deleted || fields::is_over(pod) {
            self.queue.remove(key);
            if self.cluster.remove_pod(key) {
                self.happened(!plugin::NODE, true);
            }
            return;
        }
        if change.before.as_ref().is_some_and(|before| is_same_to_the_scheduler(&before.value, pod)) {
            return;
        }
        if let Some(node) = fields::node_of(pod) {
            self.queue.remove(key);
            let shape = self.shape_of(pod, &context.view);
            if self.cluster.place(key, node, &shape, fields::is_going(pod)) {
                self.happened(plugin::PODS | plugin::SPREAD, false);
            }
        } else if fields::is_going(pod) || pod["spec"]["schedulerName"].as_str().unwrap_or(NAME) != NAME {
            self.queue.remove(key);
        } else {
            let priority = pod["spec"]["priority"].as_i64().unwrap_or_else(|| priority_by_class(&context.view, pod));
            self.queue.push(key, priority, context.now());
        }
    }

    /// What terms mean has changed: every pod is read anew.
    fn begin_again(&mut self, context: &Context) {
        self.cluster.forget_shapes();
        self.shapes.clear();
        self.known.clear();
        self.refused.clear();
        let bound: Vec<_> = context.view.all(Kind::Pod).map(|(key, pod)| (key.clone(), pod.clone())).collect();
        for (key, pod) in bound.iter().filter(|(_, pod)| !fields::is_over(&pod.value)) {
            if let Some(node) = fields::node_of(&pod.value) {
                let shape = self.shape_of(&pod.value, &context.view);
                self.cluster.place(key, node, &shape, fields::is_going(&pod.value));
            }
        }
        self.happened(u16::MAX, true);
    }

    fn shape_of(&mut self, pod: &Value, view: &View) -> Arc<Shape> {
        let text = Shape::text(pod);
        if let Some(shape) = self.shapes.get(&text) {
            return shape.clone();
        }
        if self.shapes.len() > MOST_SHAPES {
            self.shapes.retain(|_, shape| Arc::strong_count(shape) > 1);
        }
        self.shape_count += 1;
        let shape = Arc::new(Shape::parse(self.shape_count, pod, view));
        self.shapes.insert(text, shape.clone());
        shape
    }

    fn attempt(&mut self, context: &mut Context, key: &ObjectKey) {
        let Some(stored) = context.fresh(Kind::Pod, key) else { return };
        let pod = &stored.value;
        if fields::node_of(pod).is_some() || fields::is_going(pod) {
            self.queue.remove(key);
            return;
        }
        if !fields::list(&pod["spec"]["schedulingGates"]).is_empty() {
            self.queue.remove(key);
            let message = "Scheduling is blocked due to non-empty scheduling gates";
            set_unscheduled(context, key, pod, "SchedulingGated", message);
            return;
        }
        let shape = self.shape_of(pod, &context.view);
        match self.find(&context.view, &shape) {
            Ok(slot) => {
                let node = self.cluster.nodes[slot].name.clone();
                self.queue.remove(key);
                volumes::bind_for(context, &shape.namespace, &shape.claims, &node);
                if bind(context, key, &node) {
                    self.cluster.place(key, &node, &shape, false);
                    self.happened(plugin::PODS | plugin::SPREAD, false);
                }
            }
            Err(refused) => {
                self.queue.refused(key, refused.plugins, context.now());
                set_unscheduled(context, key, pod, "Unschedulable", &refused.message);
                let saying =
                    Saying { component: NAME, warning: true, reason: "FailedScheduling", message: &refused.message };
                events::say(context, Kind::Pod, pod, &saying);
            }
        }
    }

    /// The best node for a shape.
    fn find(&mut self, view: &View, shape: &Arc<Shape>) -> Result<usize, Refused> {
        // Pods that are placed make no room for a shape that only looks at room.
        let at = if shape.is_simple() { self.releases } else { self.changes };
        if let Some(last) = self.refused.get(&shape.number).filter(|last| last.at == at) {
            return Err(last.clone());
        }
        let found = self.find_anew(view, shape);
        found.map_err(|(message, plugins)| {
            let refused = Refused { at, message: message.into(), plugins };
            if self.refused.len() > MOST_SHAPES {
                self.refused.clear();
            }
            self.refused.insert(shape.number, refused.clone());
            refused
        })
    }

    fn find_anew(&mut self, view: &View, shape: &Arc<Shape>) -> Result<usize, (String, u16)> {
        let size = self.cluster.size();
        if size == 0 {
            return Err(("no nodes available to schedule pods".to_owned(), u16::MAX));
        }
        let claims = Claims::new(shape, view);
        let claims = claims.map_err(|reason| (message::for_every_node(size, &reason), plugin::VOLUMES))?;
        self.cluster.prepare(shape);
        self.cluster.prepare_carried();
        if self.known.len() > MOST_KNOWN {
            self.known.clear();
        }
        let known = self.known.entry(shape.number).or_default();
        known.resize(self.cluster.nodes.len(), None);
        for (slot, node) in self.cluster.alive() {
            if let Some(next) = filter::look(known[slot].as_ref(), shape, node) {
                known[slot] = Some(next);
            }
        }
        choose(&self.cluster, view, shape, known, &claims)
    }
}

/// For pods that no admission gave a number.
fn priority_by_class(view: &View, pod: &Value) -> i64 {
    let class = pod["spec"]["priorityClassName"].as_str().unwrap_or_default();
    let class = view.get(Kind::PriorityClass, &(String::new(), class.to_owned()));
    class.and_then(|class| class.value["value"].as_i64()).unwrap_or(0)
}

/// Pods change all the time; the scheduler cares for little of it.
fn is_same_to_the_scheduler(before: &Value, after: &Value) -> bool {
    before["spec"] == after["spec"]
        && before["metadata"]["labels"] == after["metadata"]["labels"]
        && fields::is_going(before) == fields::is_going(after)
        && fields::is_over(before) == fields::is_over(after)
}
