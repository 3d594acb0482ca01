//! What a cluster runs beside its API server: scheduler, kubelets, node and workload controllers, garbage collection.
//!
//! One task owns them all. It wakes for a change in the store, a word from a cloud, or a timer, and then lets every
//! controller work in a fixed order until nothing more changes. So the same seed gives the same history, nothing polls,
//! and a quiet cluster costs only its heartbeats. Controllers write through [`Objects`] like any client.

mod context;
mod daemon_set;
mod deployment;
mod disruption;
mod events;
pub mod eviction;
mod fields;
mod garbage;
mod job;
mod kinds;
mod kubelet;
mod namespaces;
mod node_lifecycle;
mod options;
mod pod_collection;
mod pod_template;
mod protection;
mod quantity;
mod replica_set;
mod revisions;
mod scheduler;
mod stateful_set;
mod taint_eviction;
mod timers;
mod view;
mod volumes;

#[cfg(test)]
mod tests;

use std::time::Duration;
use tokio::{
    sync::{mpsc, watch},
    task::JoinHandle,
};

use crate::{
    api::objects::Objects,
    chance::Chance,
    clock::Clock,
    fleet::{Fleet, Machine},
};
use context::Context;
pub use eviction::Eviction;
pub use options::{Admission, ControllersOptions, Running};
use timers::Alarm;
use view::Noticed;

/// So many rounds in one instant are a quarrel, not work; then this much time passes.
const MOST_ROUNDS: u32 = 2000;
const BREATH: Duration = Duration::from_millis(100);

/// The running controllers. They stop when this is dropped.
#[derive(Debug)]
pub struct Controllers {
    task: JoinHandle<()>,
}

/// The cluster's side of [`Fleet`]: hands to the kubelets what the clouds tell.
#[derive(Debug, Clone)]
pub struct Machines {
    words: mpsc::UnboundedSender<Word>,
}

/// What a cloud tells the cluster.
#[derive(Debug)]
enum Word {
    Joined(Box<Machine>),
    Left { node: String, deleted: bool },
}

impl Controllers {
    /// Makes the namespaces every cluster has and starts the controllers. Must be called inside a runtime.
    pub fn start(
        objects: Objects,
        clock: Clock,
        chance: Chance,
        options: ControllersOptions,
    ) -> (Controllers, Machines) {
        let (words, heard) = mpsc::unbounded_channel();
        let revisions = objects.store.subscribe();
        let mut context = Context::new(objects, clock, chance, options);
        namespaces::create_the_first(&mut context);
        let task = tokio::spawn(Loop::new(context).run(revisions, heard));
        (Controllers { task }, Machines { words })
    }

    /// True when the controllers have ended, which they never should.
    pub fn have_ended(&self) -> bool {
        self.task.is_finished()
    }
}

impl Drop for Controllers {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Fleet for Machines {
    fn join(&self, machine: Machine) {
        // Nobody listens once the controllers are gone, and then there is no cluster to join.
        _ = self.words.send(Word::Joined(Box::new(machine)));
    }

    fn leave(&self, node: &str, deleted: bool) {
        _ = self.words.send(Word::Left { node: node.to_owned(), deleted });
    }
}

/// A part of the control plane. It collects what concerns it and works it off when asked.
trait Controller {
    /// Something changed. Only remember it here: other controllers have not seen it yet.
    fn notice(&mut self, context: &Context, noticed: &Noticed);
    /// A timer rang; most controllers have none.
    fn ring(&mut self, _context: &mut Context, _alarm: &Alarm) {}
    /// Does what there is to do.
    fn work(&mut self, context: &mut Context);
    /// True while a part of the work was put off to let others run.
    fn has_more(&self) -> bool {
        false
    }
}

struct Loop {
    context: Context,
    kubelet: kubelet::Kubelets,
    others: Vec<Box<dyn Controller + Send>>,
}

impl Loop {
    fn new(context: Context) -> Self {
        let others: Vec<Box<dyn Controller + Send>> = match context.options.running {
            Running::All => every_controller(),
            Running::Scheduler => vec![Box::new(scheduler::Scheduler::default())],
            Running::Nothing => Vec::new(),
        };
        let kubelet = kubelet::Kubelets::new(context.chance.stream("kubelet"));
        Loop { context, kubelet, others }
    }

    async fn run(mut self, mut revisions: watch::Receiver<u64>, mut words: mpsc::UnboundedReceiver<Word>) {
        self.kubelet.start(&mut self.context);
        let (mut moment, mut rounds) = (self.context.now(), 0_u32);
        loop {
            // Controllers that undo each other's work would hold time still for ever; in a real cluster it goes on.
            rounds = if self.context.now() == moment { rounds + 1 } else { 0 };
            moment = self.context.now();
            if rounds > MOST_ROUNDS {
                self.context.clock.sleep(BREATH).await;
            }
            revisions.borrow_and_update();
            while let Ok(word) = words.try_recv() {
                self.hear(word);
            }
            while let Some(alarm) = self.context.timers.due(self.context.clock.now()) {
                self.ring(&alarm);
            }
            let busy = self.round();
            if busy {
                // Others may want to see or say something between two rounds.
                tokio::task::yield_now().await;
                continue;
            }
            let next = self.context.timers.next();
            let clock = self.context.clock;
            tokio::select! {
                biased;
                word = words.recv() => match word {
                    Some(word) => self.hear(word),
                    // No cloud will ever speak again; the cluster goes on.
                    None => wait_without_words(&mut revisions, clock, next).await,
                },
                _ = revisions.changed() => {}
                () = timers::wait_until(clock, next) => {}
            }
        }
    }

    /// Machines come to a cluster that has kubelets.
    fn hear(&mut self, word: Word) {
        if self.context.options.running == Running::All {
            self.kubelet.hear(&mut self.context, word);
        }
    }

    fn ring(&mut self, alarm: &Alarm) {
        self.kubelet.ring(&mut self.context, alarm);
        for controller in &mut self.others {
            controller.ring(&mut self.context, alarm);
        }
    }

    /// Lets every controller see what changed and work once. True while there is more to do.
    fn round(&mut self) -> bool {
        for noticed in self.context.pull() {
            self.kubelet.notice(&self.context, &noticed);
            for controller in &mut self.others {
                controller.notice(&self.context, &noticed);
            }
        }
        let before = self.context.objects.store.revision();
        self.kubelet.work(&mut self.context);
        for controller in &mut self.others {
            controller.work(&mut self.context);
        }
        self.context.objects.store.revision() != before || self.others.iter().any(|controller| controller.has_more())
    }
}

/// In the order in which they work.
fn every_controller() -> Vec<Box<dyn Controller + Send>> {
    vec![
        Box::new(namespaces::Namespaces::default()),
        Box::new(node_lifecycle::NodeLifecycle::default()),
        Box::new(taint_eviction::TaintEviction::default()),
        Box::new(pod_collection::PodCollection::default()),
        Box::new(deployment::Deployments::default()),
        Box::new(stateful_set::StatefulSets::default()),
        Box::new(daemon_set::DaemonSets::default()),
        Box::new(job::Jobs::default()),
        Box::new(replica_set::ReplicaSets::default()),
        Box::new(volumes::Volumes::default()),
        Box::new(protection::Protection::default()),
        Box::new(disruption::Disruption::default()),
        Box::new(garbage::Garbage::default()),
        Box::new(scheduler::Scheduler::default()),
    ]
}

async fn wait_without_words(revisions: &mut watch::Receiver<u64>, clock: Clock, next: Option<jiff::Timestamp>) {
    tokio::select! {
        biased;
        _ = revisions.changed() => {}
        () = timers::wait_until(clock, next) => {}
    }
}
