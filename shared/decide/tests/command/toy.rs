//! A cluster of a few claims, nodes and pods that deeds are carried out on, with versions that tell who was late.

use decide::command::{Candidate, Deed, Next, Situation, Step, after_reboot, plan};
use jiff::{SignedDuration, Timestamp};
use model::{disruption::Reason, *};
use std::collections::{BTreeMap, BTreeSet};

use crate::common;
pub use crate::common::pod;

pub const BEGIN: i64 = 1_000_000;
/// More steps than any life has.
const MOST_STEPS: usize = 400;

#[derive(Clone)]
pub struct Toy {
    pub claims: BTreeMap<String, Claim>,
    pub records: BTreeMap<String, CommandRecord>,
    pub nodes: BTreeMap<String, Node>,
    pub pods: BTreeMap<String, Vec<Pod>>,
    pub replaced: Vec<bool>,
    /// What was made, each time.
    pub made: Vec<String>,
    pub deleted: BTreeSet<String>,
    pub evicted: Vec<String>,
    /// What the provider answers, and how often it was asked.
    pub reboot: Rebooted,
    pub reboots: u32,
    pub now: Timestamp,
    /// How long a replacement takes; `None`: it is given up instead.
    pub comes_after: Option<i64>,
    made_at: BTreeMap<String, Timestamp>,
    versions: u64,
}

pub fn name(text: &str) -> ObjectName {
    ObjectName::new(text).unwrap()
}

pub fn key(text: &str) -> InstanceKey {
    InstanceKey { claim: Uid::new(format!("uid-{text}")).unwrap(), name: name(text) }
}

impl Toy {
    /// Claims under these names, each with a node and one pod, and a command that takes them away.
    pub fn with(names: &[&str], replacements: &[&str]) -> Toy {
        let mut toy = Toy {
            claims: BTreeMap::new(),
            records: BTreeMap::new(),
            nodes: BTreeMap::new(),
            pods: BTreeMap::new(),
            replaced: vec![],
            made: vec![],
            deleted: BTreeSet::new(),
            evicted: vec![],
            reboot: Rebooted::Issued,
            reboots: 0,
            now: Timestamp::from_second(BEGIN).unwrap(),
            comes_after: Some(180),
            made_at: BTreeMap::new(),
            versions: 1,
        };
        for one in names {
            toy.claims.insert((*one).to_owned(), claim(one));
            toy.nodes.insert((*one).to_owned(), node(one));
            toy.pods.insert((*one).to_owned(), vec![pod(&format!("{one}-pod"))]);
        }
        let record = CommandRecord {
            id: "abc".into(),
            reason: Reason::Underutilized,
            work: CommandWork::Delete,
            order: CommandOrder::ReplaceFirst,
            candidates: names.iter().map(|one| key(one)).collect(),
            pods: names.iter().map(|one| pod(&format!("{one}-pod")).uid).collect(),
            replacements: replacements.iter().map(|one| name(one)).collect(),
            make: replacements.iter().map(|one| Manifest((*one).to_owned())).collect(),
            drain_within: None,
            phase: CommandPhase::Recorded,
            since: toy.now,
            begun_at: toy.now,
            why: "it is cheaper".into(),
        };
        toy.records.insert(names[0].to_owned(), record);
        toy
    }

    pub fn leader(&self) -> Option<&CommandRecord> {
        self.records.values().find(|record| !record.pods.is_empty() || record.candidates.len() == 1)
    }

    /// `None` if there is no command any more.
    pub fn seen(&self) -> Option<Situation> {
        let record = self.leader()?.clone();
        let candidates = record.candidates.iter().map(|key| {
            let name = key.name.as_str();
            Candidate {
                key: key.clone(),
                claim: self.claims.get(name).cloned(),
                record: self.records.get(name).cloned(),
                node: self.nodes.get(name).cloned(),
                pods: self.pods.get(name).cloned().unwrap_or_default(),
            }
        });
        let (candidates, replacements) = (
            candidates.collect(),
            record.replacements.iter().map(|name| self.claims.get(name.as_str()).cloned()).collect(),
        );
        Some(Situation { record, candidates, replacements, now: self.now })
    }

    /// Carries out at most so many deeds of a step. Whether all came out.
    pub fn act(&mut self, seen: &Situation, step: &Step, most: usize) -> bool {
        let mut written: BTreeMap<usize, ResourceVersion> = BTreeMap::new();
        for deed in step.deeds.iter().take(most) {
            if let Deed::Reboot { .. } = deed {
                self.reboots += 1;
                let answer = self.reboot.clone();
                let step = after_reboot(seen, &answer);
                return self.act(seen, &step, most);
            }
            if !self.one(seen, deed, &mut written) {
                return false;
            }
        }
        step.deeds.len() <= most
    }

    fn one(&mut self, seen: &Situation, deed: &Deed, written: &mut BTreeMap<usize, ResourceVersion>) -> bool {
        self.versions += 1;
        let version = ResourceVersion::new(self.versions.to_string()).unwrap();
        let known = |at: &usize| {
            written.get(at).cloned().or_else(|| Some(seen.candidates[*at].claim.as_ref()?.version.clone()))
        };
        match deed {
            Deed::Record { candidate, record, others } => {
                let name = seen.candidates[*candidate].key.name.to_string();
                let Some(claim) =
                    self.claims.get_mut(&name).filter(|claim| Some(&claim.version) == known(candidate).as_ref())
                else {
                    return false;
                };
                for (note, text) in others {
                    match text {
                        Some(text) => drop(claim.annotations.insert(note.clone(), text.clone())),
                        None => drop(claim.annotations.remove(note)),
                    }
                }
                claim.version = version.clone();
                written.insert(*candidate, version);
                match record {
                    Some(record) => drop(self.records.insert(name, (**record).clone())),
                    None => drop(self.records.remove(&name)),
                }
            }
            Deed::Status { candidate, status } => {
                let name = seen.candidates[*candidate].key.name.to_string();
                let Some(claim) =
                    self.claims.get_mut(&name).filter(|claim| Some(&claim.version) == known(candidate).as_ref())
                else {
                    return false;
                };
                claim.status = (**status).clone();
                claim.version = version.clone();
                written.insert(*candidate, version);
            }
            Deed::Node(change) => {
                let Some(node) = self.nodes.get_mut(change.name.as_str()).filter(|node| node.version == change.version)
                else {
                    return false;
                };
                node.taints = change.taints.clone().unwrap();
                node.version = version;
            }
            Deed::Evict(pod) | Deed::DeletePod { pod, .. } => {
                self.evicted.push(pod.name.to_string());
                self.pods.values_mut().for_each(|pods| pods.retain(|one| one.uid != pod.uid));
            }
            Deed::Make(claims) => {
                for (name, _) in claims {
                    self.made.push(name.to_string());
                    self.made_at.entry(name.to_string()).or_insert(self.now);
                    let new = Claim { status: ClaimStatus::default(), ..claim(name.as_str()) };
                    self.claims.entry(name.to_string()).or_insert(new);
                }
            }
            Deed::DeleteClaim(key) => {
                self.deleted.insert(key.name.to_string());
                if let Some(claim) = self.claims.get_mut(key.name.as_str()) {
                    claim.deleted_at = Some(self.now);
                    claim.version = version;
                }
            }
            Deed::Replaced { came, .. } => self.replaced.push(*came),
            Deed::Reboot { .. } => {}
        }
        true
    }

    /// Lets time pass, and replacements come up or go.
    pub fn pass(&mut self, seconds: i64) {
        self.now = self.now.checked_add(SignedDuration::from_secs(seconds)).unwrap();
        for (name, at) in self.made_at.clone() {
            let age = self.now.duration_since(at).as_secs();
            match self.comes_after {
                Some(after) if age >= after => {
                    if let Some(claim) = self.claims.get_mut(&name) {
                        set_initialized(claim, self.now);
                    }
                }
                None if age >= 60 => drop(self.claims.remove(&name)),
                _ => {}
            }
        }
    }

    /// One look and one step, cut short after so many deeds. Whether there is more to do.
    pub fn step(&mut self, most: usize) -> bool {
        let Some(seen) = self.seen() else { return false };
        let is_over = |claim: &Claim| claim.deleted_at.is_some() && seen.record.phase == CommandPhase::Deleting;
        if seen.candidates[0].claim.as_ref().is_none_or(is_over) {
            return false;
        }
        let step = plan(&seen);
        let all = self.act(&seen, &step, most);
        match step.next {
            _ if !all => self.pass(1),
            Next::AtOnce => {}
            Next::After { after, .. } => self.pass(i64::try_from(after.as_secs()).unwrap().max(1)),
            Next::Over { .. } => {}
        }
        true
    }

    /// Until there is nothing more to do.
    pub fn live(&mut self) {
        for _ in 0..MOST_STEPS {
            if !self.step(usize::MAX) {
                return;
            }
        }
        panic!("it does not end: {:?}", self.leader());
    }

    pub fn phase(&self) -> Option<&'static str> {
        self.leader().map(|record| record.phase.as_str())
    }

    pub fn is_closed(&self, node: &str) -> bool {
        self.nodes[node].taints.iter().any(|taint| taint.key == names::DISRUPTED_TAINT)
    }

    /// As if there had never been a command.
    pub fn assert_put_back(&self, names: &[&str]) {
        for name in names {
            assert!(!self.is_closed(name), "{name} is open again");
            let claim = &self.claims[*name];
            assert!(claim.condition(ConditionKind::DisruptionReason).is_none(), "{name} says nothing of a command");
            assert_eq!(claim.deleted_at, None, "{name} stays");
        }
        assert!(self.records.is_empty(), "no record is left: {:?}", self.records);
    }
}

pub fn set_initialized(claim: &mut Claim, now: Timestamp) {
    claim.status.conditions.retain(|one| one.kind != ConditionKind::Initialized);
    let kind = ConditionKind::Initialized;
    claim.status.conditions.push(Condition {
        kind,
        status: Truth::True,
        reason: kind.as_str().into(),
        message: String::new(),
        since: now,
    });
}

fn claim(text: &str) -> Claim {
    let mut claim = Claim {
        key: key(text),
        created_at: Timestamp::from_second(BEGIN - 1000).unwrap(),
        labels: [(names::NODE_POOL.to_owned(), "gpu".to_owned())].into(),
        finalizers: [names::FINALIZER.to_owned()].into(),
        ..common::claim(text)
    };
    set_initialized(&mut claim, Timestamp::from_second(BEGIN - 500).unwrap());
    claim
}

fn node(text: &str) -> Node {
    let created_at = Timestamp::from_second(BEGIN - 900).unwrap();
    Node { created_at, boot_id: Some("boot-1".into()), ..common::node(text) }
}
