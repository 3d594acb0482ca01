//! A toy cluster that carries plans out, lets time pass, and notices when a promise is broken.

use core::time::Duration;
use decide::termination::{InstanceSeen, Situation, conclude, needs_observation, plan};
use jiff::{SignedDuration, Timestamp};
use model::*;

use crate::fixture::*;

#[derive(Debug)]
pub struct Toy {
    pub situation: Situation,
    /// Pods that a budget lets go only from then on.
    pub budgets: Vec<(Uid, Timestamp)>,
    /// Pods that a kubelet does not end, whatever it is told.
    pub stubborn: Vec<Uid>,
    /// A pod that the scheduler is about to bind: so many seconds after the taint was written.
    pub on_its_way: Option<(i64, Pod)>,
    /// How often the provider says "in progress".
    pub removal_takes: u32,
    /// What goes wrong with the next actions, one each.
    pub trouble: Vec<Trouble>,
    pub machine_is_there: bool,
    /// Writes of claim, status and notes, and evictions; looking costs nothing.
    pub writes: usize,
    pub broken: Vec<String>,
    closed_at: Option<Timestamp>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    None,
    Lost,
    Unavailable,
}

impl Toy {
    pub fn new(situation: Situation) -> Toy {
        Toy {
            situation,
            budgets: vec![],
            stubborn: vec![],
            on_its_way: None,
            removal_takes: 2,
            trouble: vec![],
            machine_is_there: true,
            writes: 0,
            broken: vec![],
            closed_at: None,
        }
    }

    /// Lives until the claim is let go of, or so many seconds have passed; how many it took.
    pub fn live(&mut self, most: i64) -> Option<i64> {
        let mut at_once = 0;
        while self.situation.now < at(most) {
            match self.invoke() {
                Next::AtOnce => {
                    at_once += 1;
                    assert!(at_once < 50, "a hot loop: {:?}", steps(&self.situation));
                }
                Next::Answer(Answer::Done { .. }) => return Some(self.situation.now.as_second() - ASKED),
                Next::Answer(Answer::Later { after, .. }) => {
                    at_once = 0;
                    self.pass(after);
                }
                other => panic!("{other:?}"),
            }
        }
        None
    }

    /// One invocation: look, decide, act, write down.
    pub fn invoke(&mut self) -> Next {
        self.situation.instance = InstanceSeen::NotAsked;
        if needs_observation(&self.situation) {
            self.situation.instance = if self.machine_is_there { InstanceSeen::Present } else { InstanceSeen::Absent };
        }
        let seen = self.situation.clone();
        let plan = plan(&seen);
        let mut results = vec![];
        let mut stopped = false;
        for action in &plan.actions {
            let result = if stopped { ActionResult::NotTried } else { self.act(action) };
            let of_pod = matches!(action, Action::Evict(_) | Action::DeletePod { .. });
            stopped |= !of_pod && !matches!(result, ActionResult::Done | ActionResult::Gone(Gone::Confirmed));
            results.push(result);
        }
        let conclusion = conclude(&seen, &plan, &results);
        self.write_down(&seen, conclusion)
    }

    fn write_down(&mut self, seen: &Situation, conclusion: Conclusion) -> Next {
        self.writes += usize::from(!is_silent(seen, &conclusion));
        if let Some(record) = conclusion.claim.record {
            self.situation.claim.launch = Launch::Recorded(record);
        }
        self.situation.claim.status = conclusion.status;
        conclusion.next
    }

    fn act(&mut self, action: &Action) -> ActionResult {
        match self.trouble.pop().unwrap_or(Trouble::None) {
            Trouble::None => {}
            Trouble::Lost if !matches!(action, Action::EnsureGone { .. }) => return ActionResult::Lost,
            Trouble::Lost => return failed("Uncertain", Retry::ReadBack),
            Trouble::Unavailable => return failed("Unavailable", Retry::SameAfter(Duration::from_secs(1))),
        }
        match action {
            Action::ChangeClaim(change) => {
                for (key, value) in &change.annotations {
                    match value {
                        Some(value) => drop(self.situation.claim.annotations.insert(key.clone(), value.clone())),
                        None => drop(self.situation.claim.annotations.remove(key)),
                    }
                }
                if change.finalizer == FinalizerChange::Remove {
                    if self.machine_is_there {
                        self.broken.push("the claim was let go of while the machine was there".into());
                    }
                    self.situation.claim.finalizers.clear();
                }
                ActionResult::Done
            }
            Action::ChangeNode(change) => self.change_node(change),
            Action::DeleteNode { uid, .. } => {
                let now = self.situation.now;
                let Some(node) = self.situation.nodes.iter_mut().find(|node| node.uid == *uid) else {
                    return ActionResult::WasGone;
                };
                node.deleted_at = Some(now);
                if node.finalizers.is_empty() {
                    self.broken.push("a Node was deleted that nothing held".into());
                }
                ActionResult::Done
            }
            Action::Evict(pod) => self.evict(pod),
            Action::DeletePod { pod, grace } => self.delete(pod, *grace),
            Action::EnsureGone { .. } => self.ensure_gone(),
            Action::Reserve(_) | Action::DeleteClaim | Action::Ensure { .. } => {
                panic!("no part of a termination: {action:?}")
            }
        }
    }

    fn change_node(&mut self, change: &NodeChange) -> ActionResult {
        let now = self.situation.now;
        let Some(node) = self.situation.nodes.iter_mut().find(|node| node.name == change.name) else {
            return ActionResult::WasGone;
        };
        self.writes += 1;
        if let Some(taints) = &change.taints {
            node.taints = taints.clone();
            self.closed_at.get_or_insert(now);
        }
        for (label, value) in &change.labels {
            match value {
                Some(value) => node.labels.insert(label.clone(), value.clone()),
                None => node.labels.remove(label),
            };
        }
        match change.finalizer {
            FinalizerChange::Keep => {}
            FinalizerChange::Add => _ = node.finalizers.insert(names::FINALIZER.into()),
            FinalizerChange::Remove => node.finalizers.clear(),
        }
        self.situation.nodes.retain(|node| node.deleted_at.is_none() || !node.finalizers.is_empty());
        ActionResult::Done
    }

    fn evict(&mut self, wanted: &PodRef) -> ActionResult {
        let now = self.situation.now;
        if !self.situation.nodes.iter().all(|node| node.taints.contains(&disrupted())) {
            self.broken.push(format!("{} was evicted before the taint", wanted.name));
        }
        let tier = |pod: &Pod| (pod.critical, pod.kind == PodKind::Daemon);
        let lowest = self.situation.pods.iter().filter(|pod| self.holds(pod)).map(tier).min();
        let Some(pod) = self.situation.pods.iter().find(|pod| pod.uid == wanted.uid) else {
            return ActionResult::WasGone;
        };
        if Some(tier(pod)) != lowest {
            self.broken.push(format!("{} was evicted before its turn", wanted.name));
        }
        if self.budgets.iter().any(|(uid, from)| *uid == wanted.uid && now < *from) {
            return not_now();
        }
        let grace = pod.grace;
        self.delete(wanted, grace)
    }

    fn delete(&mut self, wanted: &PodRef, grace: SignedDuration) -> ActionResult {
        let gone_by = self.situation.now.checked_add(grace).unwrap();
        let Some(pod) = self.situation.pods.iter_mut().find(|pod| pod.uid == wanted.uid) else {
            return ActionResult::WasGone;
        };
        self.writes += 1;
        pod.deleted_at = Some(pod.deleted_at.map_or(gone_by, |before| before.min(gone_by)));
        ActionResult::Done
    }

    fn ensure_gone(&mut self) -> ActionResult {
        let deadline = self.situation.claim.annotations.get(names::TERMINATION_TIMESTAMP);
        let passed = deadline.is_some_and(|at| at.parse::<Timestamp>().unwrap() <= self.situation.now);
        let first = !self.situation.claim.is(ConditionKind::InstanceTerminating);
        if let Some(pod) = self.situation.pods.iter().find(|pod| self.holds(pod))
            && first
            && !passed
        {
            self.broken.push(format!("the machine went under {}", pod.name));
        }
        if self.removal_takes > 0 {
            self.removal_takes -= 1;
            let progress = Progress(format!("{} to go", self.removal_takes));
            return ActionResult::Gone(Gone::InProgress { progress, look_again_seconds: 5 });
        }
        self.machine_is_there = false;
        ActionResult::Gone(Gone::Confirmed)
    }

    /// Written apart from the rules on purpose: what the machine must not go under.
    fn holds(&self, pod: &Pod) -> bool {
        let waited = pod.deleted_at.map_or(0, |gone_by| self.situation.now.duration_since(gone_by).as_secs());
        let comes_back = pod.kind == PodKind::Daemon && !pod.tolerations.is_empty();
        pod.kind != PodKind::Mirror && !pod.terminal && !comes_back && waited < 60
    }

    pub fn pass(&mut self, time: Duration) {
        self.situation.now = self.situation.now.checked_add(time).unwrap();
        let now = self.situation.now;
        let stubborn = &self.stubborn;
        self.situation
            .pods
            .retain(|pod| stubborn.contains(&pod.uid) || pod.deleted_at.is_none_or(|gone_by| gone_by > now));
        if let Some((after, _)) = &self.on_its_way
            && self.closed_at.is_some_and(|closed| now.duration_since(closed) >= seconds(*after))
        {
            self.situation.pods.extend(self.on_its_way.take().map(|(_, pod)| pod));
        }
        if self.situation.pods.iter().all(|pod| pod.kind != PodKind::Ordinary) {
            self.situation.attachments.clear();
        }
    }
}
