//! Turns what changes in the world into lines about claims.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use std::collections::BTreeMap;
use world::{World, api::store::Change, check::Instance, history::Exchange, power::MachineRecord};

use super::{
    life::{Life, Machine, News},
    pods::Pods,
};

/// One thing that happened to one claim, or to a pod.
#[derive(Debug, PartialEq, Eq)]
pub struct Line {
    /// Since the beginning, in the world's time.
    pub at: SignedDuration,
    pub claim: String,
    pub provider: &'static str,
    pub phase: String,
    pub what: String,
}

/// How it went for a claim.
#[derive(Debug, PartialEq, Eq)]
pub struct ClaimEnding {
    pub claim: String,
    pub provider: &'static str,
    pub machine: Option<String>,
    pub seconds_to_ready: Option<i64>,
    pub seconds_to_gone: Option<i64>,
    /// To its cloud. Claims of one cloud share them: a list is for all.
    pub cloud_requests: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Claim,
    Node,
    Pod,
    Event,
}

const KINDS: [(Kind, &str, &str); 4] = [
    (Kind::Claim, "karpenter.sh", "nodeclaims"),
    (Kind::Node, "", "nodes"),
    (Kind::Pod, "", "pods"),
    (Kind::Event, "", "events"),
];

pub struct Watch {
    world: World,
    began: Timestamp,
    /// Up to where each log was read, in the order of `KINDS`.
    read: [u64; KINDS.len()],
    lives: BTreeMap<String, Life>,
    pods: Pods,
}

impl Watch {
    /// Watches from now on.
    pub fn new(world: &World) -> Self {
        let revision = world.objects.store.revision();
        let (world, began, read) = (world.clone(), world.clock.now(), [revision; KINDS.len()]);
        Watch { world, began, read, lives: BTreeMap::new(), pods: Pods::default() }
    }

    pub fn was_ready(&self, claim: &str) -> bool {
        self.lives.get(claim).is_some_and(|life| life.seconds_to_ready().is_some())
    }

    pub fn runs(&self, pod: &str) -> bool {
        self.pods.runs(pod)
    }

    /// Every claim that was ever there.
    pub fn claims(&self) -> Vec<String> {
        self.lives.keys().cloned().collect()
    }

    pub fn is_gone(&self, claim: &str) -> bool {
        self.lives.get(claim).is_some_and(Life::is_gone)
    }

    /// What happened since the last look, in order.
    pub fn look(&mut self) -> Vec<Line> {
        let now = self.world.clock.now();
        // A machine is gone before its claim is, so it is looked at first.
        for (name, machine) in self.machines() {
            if let Some(life) = self.lives.get_mut(&name) {
                life.machine_is(machine);
            }
        }
        let mut lines = self.news(now);
        for (kind, change) in self.changes() {
            self.take(kind, &change, now);
            lines.extend(self.news(now));
        }
        lines
    }

    pub fn endings(&self) -> Vec<ClaimEnding> {
        let requests = |provider: &str| {
            let to_it = |exchange: &Exchange| (exchange.to.as_str() == provider).then_some(());
            self.world.history.select(to_it).len()
        };
        let ending = |(name, life): (&String, &Life)| ClaimEnding {
            claim: name.clone(),
            provider: life.provider,
            machine: life.machine().map(str::to_owned),
            seconds_to_ready: life.seconds_to_ready(),
            seconds_to_gone: life.seconds_to_gone(),
            cloud_requests: requests(life.provider),
        };
        self.lives.iter().map(ending).collect()
    }

    /// Machines that cost money or power now.
    pub fn machines_running(&self) -> Vec<String> {
        let made = self.world.instances().into_iter().filter(|one| one.claim.is_some() && one.until.is_none());
        let made = made.map(|instance| format!("{} {}", instance.cloud, instance.name));
        let on = self.world.power.snapshot().into_iter().filter(|machine| machine.on).map(|machine| machine.name);
        made.chain(on).collect()
    }

    /// The machine of each claim that is there, as far as there is one.
    fn machines(&self) -> Vec<(String, Machine)> {
        let (instances, rack) = (self.world.instances(), self.world.power.snapshot());
        let of_life = |life: &Life| match life.provider {
            "power" => rack.iter().find(|machine| life.machine() == Some(&machine.name)).map(in_rack),
            _ => {
                let uid = life.claim["metadata"]["uid"].as_str();
                // The latest: earlier ones are attempts that were given up.
                instances.iter().rev().find(|one| one.claim.as_deref() == uid).map(in_cloud)
            }
        };
        let there = self.lives.iter().filter(|(_, life)| !life.is_gone());
        there.filter_map(|(name, life)| Some((name.clone(), of_life(life)?))).collect()
    }

    /// What changed since the last time, in the order in which it did.
    fn changes(&mut self) -> Vec<(Kind, Change)> {
        let store = &self.world.objects.store;
        let mut changes: Vec<(Kind, Change)> = Vec::new();
        for ((kind, group, plural), read) in KINDS.iter().zip(&mut self.read) {
            // A log that was cut is read from here on: a line may be missing, the end is still seen.
            let (new, seen) = store
                .read_log(&((*group).into(), (*plural).into()), *read)
                .unwrap_or_else(|_| (Vec::new(), store.revision()));
            *read = seen;
            changes.extend(new.into_iter().map(|change| (*kind, change)));
        }
        changes.sort_by_key(|(_, change)| change.revision);
        changes
    }

    fn take(&mut self, kind: Kind, change: &Change, now: Timestamp) {
        let object = &change.after.value;
        match kind {
            Kind::Claim => self.claim_changed(object, change.deleted, now),
            Kind::Node if !change.deleted => {
                for life in self.lives.values_mut().filter(|life| life.is_of(object)) {
                    life.node_changed(object);
                }
            }
            Kind::Pod if !change.deleted => {
                self.pods.pod_changed(object);
                self.lives.values_mut().for_each(|life| life.pod_changed(object));
            }
            Kind::Event => self.pods.event(object),
            Kind::Node | Kind::Pod => {}
        }
    }

    fn claim_changed(&mut self, claim: &Value, deleted: bool, now: Timestamp) {
        let name = claim["metadata"]["name"].as_str().unwrap_or_default();
        let is_another = |life: &Life| life.claim["metadata"]["uid"] != claim["metadata"]["uid"];
        if self.lives.get(name).is_none_or(is_another) {
            self.lives.insert(name.to_owned(), Life::begin(claim, now));
        }
        if let Some(life) = self.lives.get_mut(name) {
            life.claim_changed(claim, deleted, now);
        }
    }

    fn news(&mut self, now: Timestamp) -> Vec<Line> {
        let at = now.duration_since(self.began);
        let mut lines = Vec::new();
        for (name, life) in &mut self.lives {
            let provider = life.provider;
            let line = |News { phase, what }| Line { at, claim: name.clone(), provider, phase, what };
            lines.extend(life.news().into_iter().map(line));
        }
        for (pod, news) in self.pods.news() {
            let line = |News { phase, what }| Line { at, claim: pod.clone(), provider: "pod", phase, what };
            lines.extend(news.into_iter().map(line));
        }
        lines
    }
}

fn in_rack(machine: &MachineRecord) -> Machine {
    let what = format!("machine {} is off; it used {:.0} Wh", machine.name, machine.watt_hours);
    Machine { runs: machine.on || machine.settling, stopped: News { phase: "Off".to_owned(), what } }
}

fn in_cloud(instance: &Instance) -> Machine {
    let kind = if instance.cloud == "aks" { "agent pool" } else { "server" };
    let what = format!("{kind} {} does not exist any more", instance.name);
    Machine { runs: instance.until.is_none(), stopped: News { phase: "Removed".to_owned(), what } }
}
