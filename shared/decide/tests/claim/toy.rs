//! A toy cluster and cloud that carry plans out, fail at every step, and notice when a promise is broken.

use core::time::Duration;
use decide::claim::{OfferingsSeen, Situation, conclude, needs_offerings, plan};
use jiff::Timestamp;
use model::*;

use crate::fixture::*;

#[derive(Debug)]
pub struct Toy {
    pub situation: Situation,
    pub catalogue: OfferingsSeen,
    /// What goes wrong with the next actions and writes, one each, the last first.
    pub faults: Vec<Fault>,
    /// Offerings that the cloud never has.
    pub sold_out: Vec<String>,
    /// How often the cloud says "in progress".
    pub making_takes: u32,
    /// So many seconds after the machine runs; never, if it never joins.
    pub joins_after: Option<i64>,
    /// So many seconds after it joined.
    pub usable_after: Option<i64>,
    pub machine: Option<Machine>,
    pub deleted: bool,
    pub broken: Vec<String>,
    /// The epoch that the cloud refused, so that nothing of it is left.
    refused: Option<u32>,
    startup_done: bool,
    /// Looks in a row that changed nothing.
    silent: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    pub offering: Offering,
    pub looks: u32,
    pub runs_since: Option<Timestamp>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    None,
    /// Somebody else wrote first.
    Lost,
    /// Nothing was done.
    Failed(&'static str, Retry),
    /// It was done, and nobody heard of it.
    Uncertain,
    /// It was done, and whoever did it died.
    Crash,
}

impl Toy {
    pub fn new(situation: Situation) -> Toy {
        let catalogue = asked().offerings;
        let is_launched = situation.claim.is(ConditionKind::Launched);
        let machine = situation.claim.record().map(|record| Machine {
            offering: record.offering.clone(),
            looks: 2,
            runs_since: is_launched.then_some(situation.now),
        });
        Toy {
            situation,
            catalogue,
            faults: vec![],
            sold_out: vec![],
            making_takes: 2,
            joins_after: Some(60),
            usable_after: Some(60),
            machine,
            deleted: false,
            broken: vec![],
            refused: None,
            startup_done: false,
            silent: 0,
        }
    }

    /// Lives until nobody asks to be called again, or so many seconds have passed.
    pub fn live(&mut self, most: i64) {
        let mut at_once = 0;
        while self.situation.now < at(most) && !self.deleted {
            match self.invoke() {
                Next::AtOnce => {
                    at_once += 1;
                    assert!(at_once < 60, "a hot loop: {:?}", steps(&self.situation));
                }
                Next::Answer(Answer::Later { after, .. }) => {
                    at_once = 0;
                    // Called late is fine, and whole days pass quickly.
                    self.pass(after * self.silent.max(1));
                }
                Next::Answer(_) => return,
            }
        }
    }

    /// One invocation: look, decide, act, write down.
    fn invoke(&mut self) -> Next {
        let chooses = needs_offerings(&self.situation.claim);
        self.situation.offerings = if chooses { self.catalogue.clone() } else { OfferingsSeen::NotAsked };
        let seen = self.situation.clone();
        let plan = plan(&seen);
        let mut results = vec![];
        for action in &plan.actions {
            let (result, crashed) = self.act(action);
            if crashed {
                return later("nobody answers", 1);
            }
            let goes_on = matches!(result, ActionResult::Done | ActionResult::Ensured(_));
            results.push(result);
            if !goes_on {
                break;
            }
        }
        results.resize(plan.actions.len(), ActionResult::NotTried);
        let conclusion = conclude(&seen, &plan, &results);
        self.silent = if is_silent(&seen, &conclusion) { self.silent + 1 } else { 0 };
        self.write_down(conclusion)
    }

    fn write_down(&mut self, conclusion: Conclusion) -> Next {
        let fault = self.fault();
        if fault == Fault::Lost && !conclusion.claim.is_empty() {
            return later("somebody else is working on it", 1);
        }
        change_claim(&mut self.situation.claim, &conclusion.claim);
        if fault == Fault::Crash {
            return later("nobody answers", 1);
        }
        self.situation.claim.status = conclusion.status;
        self.situation.stock.lines.extend(conclusion.unavailable);
        conclusion.next
    }

    fn fault(&mut self) -> Fault {
        self.faults.pop().unwrap_or(Fault::None)
    }

    /// What came of it, and whether whoever did it is still there.
    fn act(&mut self, action: &Action) -> (ActionResult, bool) {
        let in_cloud = matches!(action, Action::Ensure { .. });
        match self.fault() {
            Fault::Lost if !in_cloud => (ActionResult::Lost, false),
            Fault::Lost => (failed("Uncertain", Retry::ReadBack), false),
            Fault::Failed(reason, retry) if in_cloud => (self.refuse(reason, retry), false),
            Fault::Failed(..) => (failed("Unavailable", Retry::SameAfter(Duration::from_secs(1))), false),
            Fault::Uncertain => {
                // A refusal is an answer: it cannot get lost and be taken for an order that was made.
                let result = self.carry_out(action);
                let refused = matches!(result, ActionResult::Failed(_));
                (if refused { result } else { failed("Uncertain", Retry::ReadBack) }, false)
            }
            Fault::Crash => (self.carry_out(action), true),
            Fault::None => (self.carry_out(action), false),
        }
    }

    fn carry_out(&mut self, action: &Action) -> ActionResult {
        match action {
            Action::ChangeClaim(change) => {
                let before = self.situation.claim.record().map(|record| record.epoch);
                if let Some(new) = &change.record {
                    if before != self.refused || self.machine.is_some() {
                        self.broken.push(format!("a new record while {before:?} may have left something"));
                    }
                    if new.epoch != before.unwrap_or(0) + 1 {
                        self.broken.push(format!("epoch {} after {before:?}", new.epoch));
                    }
                }
                change_claim(&mut self.situation.claim, change);
            }
            Action::DeleteClaim => self.deleted = true,
            Action::ChangeNode(change) => {
                let nodes = self.situation.nodes.iter_mut().filter(|node| node.name == change.name);
                nodes.for_each(|node| change_node(node, change));
            }
            Action::Ensure { request, progress } => return self.ensure(request, progress.as_ref()),
            other => panic!("no part of a launch: {other:?}"),
        }
        ActionResult::Done
    }

    fn ensure(&mut self, request: &InstanceRequest, progress: Option<&Progress>) -> ActionResult {
        let claim = &self.situation.claim;
        let recorded = claim.record().is_some_and(|record| {
            (&record.offering, record.epoch, record.progress.as_ref()) == (&request.offering, request.epoch, progress)
        });
        if !recorded || !claim.finalizers.contains(names::FINALIZER) || self.deleted {
            self.broken.push("a machine was asked for without finalizer and record".into());
        }
        if self.sold_out.contains(&request.offering.id.to_string()) && !self.runs() {
            return self.refuse("InsufficientCapacity", Retry::NextOffering);
        }
        let (takes, now) = (self.making_takes, self.situation.now);
        let new = || Machine { offering: request.offering.clone(), looks: takes, runs_since: None };
        let machine = self.machine.get_or_insert_with(new);
        if machine.offering.id != request.offering.id {
            self.broken.push(format!("{} was asked for beside {}", request.offering.id, machine.offering.id));
        }
        if machine.looks > 0 && machine.runs_since.is_none() {
            machine.looks -= 1;
            return in_progress(&format!("{} to go", machine.looks));
        }
        machine.runs_since.get_or_insert(now);
        running()
    }

    /// What is refused for good leaves nothing behind; a machine that runs is not refused any more.
    fn refuse(&mut self, reason: &'static str, retry: Retry) -> ActionResult {
        let record = self.situation.claim.record();
        let is_final = matches!(retry, Retry::NextOffering | Retry::Never) && reason != "Unauthorized";
        if is_final && !self.runs() {
            self.refused = record.map(|record| record.epoch);
            self.machine = None;
        } else if is_final {
            return failed("Unavailable", Retry::SameAfter(Duration::from_secs(1)));
        }
        let scope = record.filter(|_| retry == Retry::NextOffering);
        let scope = scope.map(|record| Scope::Offering(record.offering.id.clone()));
        ActionResult::Failed(Failure { scope, ..failure(reason, retry) })
    }

    fn runs(&self) -> bool {
        self.machine.as_ref().is_some_and(|machine| machine.runs_since.is_some())
    }

    fn pass(&mut self, time: Duration) {
        self.situation.now = self.situation.now.checked_add(time).unwrap();
        let now = self.situation.now;
        let since =
            |begin: Timestamp, wait: Option<i64>| wait.is_some_and(|wait| now.duration_since(begin).as_secs() >= wait);
        let Some(machine) = &self.machine else { return };
        if self.situation.nodes.is_empty() && machine.runs_since.is_some_and(|begin| since(begin, self.joins_after)) {
            self.situation.nodes.push(Node { created_at: now, ..node(NODE) });
        }
        let usable_after = self.usable_after;
        for node in self.situation.nodes.iter_mut().filter(|node| since(node.created_at, usable_after)) {
            node.ready = Truth::True;
            node.allocatable = machine.offering.capacity.clone();
            // Whoever waits for the startup taint removes it once.
            let startup_done = self.startup_done;
            self.startup_done |= node.taints.iter().any(|taint| taint.key == "cni");
            let is_over = |key: &str| key == "node.kubernetes.io/not-ready" || key == "cni" && !startup_done;
            node.taints.retain(|taint| !is_over(&taint.key));
        }
    }
}
