//! A week, minute by minute, under one rule: pods arrive, nodes come, pods run and end, and the rule takes nodes away.

use model::place::{ClaimPlanned, NodeStage, Where};

use super::{
    clouds::Cloud,
    karpenter, load,
    load::Job,
    ours,
    site::{Seen, Site},
};
use crate::Result;

/// Who takes nodes away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    Never,
    Karpenter,
    Ours,
}

/// Nodes that go, and what comes before they do.
#[derive(Debug, Clone, Default)]
pub struct Command {
    pub nodes: Vec<u32>,
    pub replacements: Vec<ClaimPlanned>,
}

/// What a week came to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tally {
    /// Minutes of single GPUs: of machines that were there, and of pods that ran.
    pub paid: u64,
    pub used: u64,
    /// Millionths of a dollar.
    pub cost: u64,
    pub evictions: u32,
    pub gpu_evictions: u32,
    /// Minutes of single GPUs whose work was done for nothing.
    pub lost: u64,
    /// Pods whose machine went while they were on it.
    pub killed: u32,
    /// Pods that ran to their end.
    pub finished: u32,
    pub most_nodes: usize,
    /// Minutes that pods waited until they ran, each time.
    pub waits: Vec<u32>,
}

/// A command on its way.
struct Open {
    command: Command,
    made: Vec<u32>,
    stage: Stage,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Nothing new gets onto the nodes.
    Tainted,
    Replacing,
    /// Their pods have been asked to go.
    Drained,
}

pub fn play(rule: Rule, clouds: &[Cloud], jobs: &[Job]) -> Result<Tally> {
    let mut play = Play { rule, site: Site::new(clouds), open: vec![], look_again: None, tally: Tally::default() };
    let mut arriving = jobs.iter().zip(0..).peekable();
    for minute in 0..load::WEEK {
        while let Some((job, number)) = arriving.next_if(|(job, _)| job.arrives <= minute) {
            play.site.arrive(number, job)?;
        }
        play.minute()?;
    }
    Ok(play.tally)
}

struct Play<'a> {
    rule: Rule,
    site: Site<'a>,
    open: Vec<Open>,
    /// The minute at which a rule may decide otherwise though nothing happened.
    look_again: Option<u32>,
    tally: Tally,
}

impl Play<'_> {
    fn minute(&mut self) -> Result<()> {
        self.carry_on();
        let changed = std::mem::take(&mut self.site.changed);
        if changed {
            self.place();
        }
        if changed || self.look_again.is_some_and(|minute| minute <= self.site.now) {
            self.take_away()?;
        }
        self.count();
        let before = self.site.pods.len();
        self.site.pass_a_minute();
        self.tally.finished += (before - self.site.pods.len()) as u32;
        Ok(())
    }

    /// Pods that wait are bound where there is room now; for the others machines come.
    fn place(&mut self) {
        let seen = self.site.look();
        if seen.waiting.is_empty() {
            return;
        }
        let placing = decide::place::place(&seen.scene, &mut || true);
        let made: Vec<Option<u32>> = placing.claims.iter().map(|planned| self.site.make(planned)).collect();
        for (pod, place) in seen.waiting.iter().zip(&placing.pods) {
            match place {
                Where::Node(at) => self.give(&seen, *pod, *at),
                Where::Claim(at) => self.plan(*pod, made.get(*at).copied().flatten()),
                Where::Nowhere(_) => self.plan(*pod, None),
            }
        }
    }

    fn give(&mut self, seen: &Seen, pod: u32, at: usize) {
        let Some(node) = seen.nodes.get(at).copied() else { return };
        if seen.scene.nodes.get(at).is_some_and(|node| node.stage == NodeStage::Initialized) {
            let waited = self.site.pods.get(&pod).map(|pod| self.site.now - pod.since);
            self.tally.waits.extend(waited);
            self.site.bind(pod, node);
        } else {
            self.plan(pod, Some(node));
        }
    }

    fn plan(&mut self, pod: u32, node: Option<u32>) {
        if let Some(pod) = self.site.pods.get_mut(&pod) {
            pod.planned = node;
        }
    }

    fn take_away(&mut self) -> Result<()> {
        let (commands, look_again) = match self.rule {
            Rule::Never => (vec![], None),
            Rule::Karpenter => (karpenter::decide(&self.site), None),
            Rule::Ours => ours::decide(&self.site)?,
        };
        self.look_again = look_again;
        for command in commands {
            for number in &command.nodes {
                if let Some(node) = self.site.nodes.get_mut(number) {
                    node.leaving = true;
                }
            }
            self.open.push(Open { command, made: vec![], stage: Stage::Tainted });
        }
        Ok(())
    }

    /// Each command a step further: tainted, replaced, drained, gone.
    fn carry_on(&mut self) {
        for mut open in std::mem::take(&mut self.open) {
            if open.stage == Stage::Tainted {
                open.made = open.command.replacements.iter().filter_map(|planned| self.site.make(planned)).collect();
                open.stage = Stage::Replacing;
            }
            let is_up = |number: &u32| self.site.nodes.get(number).is_none_or(|node| node.up_at <= self.site.now);
            match open.stage {
                Stage::Drained => {
                    self.remove(&open.command.nodes);
                    continue;
                }
                Stage::Replacing if open.made.iter().all(is_up) => {
                    self.drain(&open.command.nodes);
                    open.stage = Stage::Drained;
                }
                Stage::Replacing | Stage::Tainted => {}
            }
            self.open.push(open);
        }
    }

    fn drain(&mut self, nodes: &[u32]) {
        let pods: Vec<u32> = nodes.iter().flat_map(|node| self.site.pods_on(*node).map(|(pod, _)| pod)).collect();
        for pod in pods {
            let gpus = self.site.pods.get(&pod).map_or(0, |pod| pod.job.gpus);
            self.tally.evictions += 1;
            self.tally.gpu_evictions += u32::from(gpus > 0);
            self.tally.lost += u64::from(self.site.evict(pod)) * u64::from(gpus);
        }
    }

    fn remove(&mut self, nodes: &[u32]) {
        for number in nodes {
            self.tally.killed += self.site.pods_on(*number).count() as u32;
            self.site.nodes.remove(number);
        }
        self.site.changed = true;
    }

    fn count(&mut self) {
        let running = self.site.pods.values().filter(|pod| pod.on.is_some());
        self.tally.used += running.map(|pod| u64::from(pod.job.gpus)).sum::<u64>();
        self.tally.paid += self.site.nodes.values().map(|node| u64::from(node.gpus)).sum::<u64>();
        self.tally.cost += self.site.nodes.values().map(|node| node.price).sum::<u64>() / 60;
        self.tally.most_nodes = self.tally.most_nodes.max(self.site.nodes.len());
    }
}
