//! The cluster of the week: nodes that come and go, pods that wait, run and end, and the scene that a decision sees of it.

use jiff::{SignedDuration, Timestamp};
use model::{
    CapacityType, InstanceKey, Namespace, ObjectName, PodKind, Resources, Uid,
    disruption::{ClaimHere, Inventory, NodeHere, PodHere},
    names,
    place::{ClaimPlanned, NodeStage, NodeThere, OfferingRef, PodThere, PodToPlace, Scene},
};
use std::collections::BTreeMap;

use super::{
    clouds::{Cloud, GPU, whole},
    load::Job,
};
use crate::Result;

pub struct Site<'a> {
    pub clouds: &'a [Cloud],
    pub now: u32,
    /// By number, in the order they were made.
    pub nodes: BTreeMap<u32, Node>,
    /// By number, in the order they arrived; those that ended are not here.
    pub pods: BTreeMap<u32, Pod>,
    made: u32,
    /// Something happened that may change a decision.
    pub changed: bool,
}

pub struct Node {
    pub cloud: usize,
    pub shape: OfferingRef,
    pub there: NodeThere,
    /// Millionths an hour.
    pub price: u64,
    pub gpus: u32,
    made_at: u32,
    pub up_at: u32,
    last_pod_event: Option<u32>,
    /// Tainted: a command has it.
    pub leaving: bool,
}

pub struct Pod {
    pub job: Job,
    pub wanted: PodToPlace,
    /// The node it runs on, and since when.
    pub on: Option<(u32, u32)>,
    /// The node that comes for it.
    pub planned: Option<u32>,
    /// Minutes of work still to do.
    pub left: u32,
    pub since: u32,
}

/// What a decision sees, and which node and pod stand at which position.
pub struct Seen {
    pub scene: Scene,
    pub nodes: Vec<u32>,
    pub waiting: Vec<u32>,
    pub bound: Vec<u32>,
}

impl<'a> Site<'a> {
    pub fn new(clouds: &'a [Cloud]) -> Self {
        Site { clouds, now: 0, nodes: BTreeMap::new(), pods: BTreeMap::new(), made: 0, changed: true }
    }

    pub fn time(&self) -> Timestamp {
        at(self.now)
    }

    pub fn arrive(&mut self, number: u32, job: &Job) -> Result<()> {
        let name = format!("pod-{number:05}");
        let mut wanted = PodToPlace::new(Namespace::new("default")?, ObjectName::new(&name)?, Uid::new(&name)?);
        wanted.created_at = Some(at(job.arrives));
        wanted.requests.insert("cpu".to_owned(), model::Quantity::from_thousandths(job.cpu_milli.into()));
        wanted.requests.insert("memory".to_owned(), whole(u64::from(job.memory_mib) << 20));
        if job.gpus > 0 {
            wanted.requests.insert(GPU.to_owned(), whole(job.gpus.into()));
        }
        let pod = Pod { job: job.clone(), wanted, on: None, planned: None, left: job.works, since: self.now };
        self.pods.insert(number, pod);
        self.changed = true;
        Ok(())
    }

    /// Asks for a machine; `None` if the plan names none.
    pub fn make(&mut self, planned: &ClaimPlanned) -> Option<u32> {
        let cloud = self.clouds.get(planned.pool)?;
        let taken = |at: &OfferingRef| cloud.is_rack() && self.has_machine(planned.pool, *at);
        let shape = *planned.offerings.iter().find(|at| !taken(at))?;
        let (kind, offered) = cloud.offered(shape)?;
        let number = self.made;
        let name = ObjectName::new(format!("node-{number:05}")).ok()?;
        let mut labels = planned.labels.clone();
        labels.insert(names::INSTANCE_TYPE.to_owned(), kind.name.clone());
        labels.insert(names::CAPACITY_TYPE.to_owned(), CapacityType::OnDemand.as_str().to_owned());
        labels.insert(names::NODE_POOL.to_owned(), cloud.pool.name.to_string());
        labels.insert(names::HOSTNAME.to_owned(), name.to_string());
        labels.extend(offered.zone.iter().map(|zone| (names::ZONE.to_owned(), zone.clone())));
        let there = NodeThere {
            name,
            stage: NodeStage::InFlight,
            labels,
            taints: vec![],
            startup_taints: vec![],
            allocatable: kind.allocatable.clone(),
            promised: kind.capacity.clone(),
            pool: Some(cloud.pool.name.clone()),
            deleting: false,
            volume_limits: BTreeMap::new(),
        };
        let node = Node {
            cloud: planned.pool,
            shape,
            there,
            price: offered.price.unwrap_or_default(),
            gpus: kind.capacity.get(GPU).map_or(0, |gpus| (gpus.thousandths() / 1000) as u32),
            made_at: self.now,
            up_at: self.now + cloud.boots,
            last_pod_event: None,
            leaving: false,
        };
        self.made += 1;
        self.nodes.insert(number, node);
        self.changed = true;
        Some(number)
    }

    pub fn bind(&mut self, pod: u32, on: u32) {
        let now = self.now;
        if let (Some(pod), Some(node)) = (self.pods.get_mut(&pod), self.nodes.get_mut(&on)) {
            pod.on = Some((on, now));
            pod.planned = None;
            node.last_pod_event = Some(now);
            self.changed = true;
        }
    }

    /// The pod waits again. Answers how many minutes of work are lost.
    pub fn evict(&mut self, number: u32) -> u32 {
        let now = self.now;
        let Some(pod) = self.pods.get_mut(&number) else { return 0 };
        let Some((node, since)) = pod.on.take() else { return 0 };
        pod.since = now;
        let done = now - since;
        let lost = if pod.job.kind.loses_work() { done } else { 0 };
        pod.left = pod.left.saturating_sub(done - lost).max(1);
        if let Some(node) = self.nodes.get_mut(&node) {
            node.last_pod_event = Some(now);
        }
        self.changed = true;
        lost
    }

    /// Pods whose work is done, and machines that have come up.
    pub fn pass_a_minute(&mut self) {
        self.now += 1;
        let now = self.now;
        let ended: Vec<u32> = self.pods.iter().filter(|(_, pod)| pod.ends_by(now)).map(|(number, _)| *number).collect();
        for number in ended {
            let on = self.pods.remove(&number).and_then(|pod| pod.on);
            if let Some(node) = on.and_then(|(node, _)| self.nodes.get_mut(&node)) {
                node.last_pod_event = Some(now);
            }
            self.changed = true;
        }
        for node in self.nodes.values_mut().filter(|node| node.there.stage == NodeStage::InFlight && node.up_at <= now)
        {
            node.there.stage = NodeStage::Initialized;
            self.changed = true;
        }
    }

    pub fn pods_on(&self, node: u32) -> impl Iterator<Item = (u32, &Pod)> {
        let here = move |(_, pod): &(&u32, &Pod)| pod.on.is_some_and(|(on, _)| on == node);
        self.pods.iter().filter(here).map(|(number, pod)| (*number, pod))
    }

    fn has_machine(&self, cloud: usize, shape: OfferingRef) -> bool {
        self.nodes.values().any(|node| node.cloud == cloud && node.shape == shape)
    }

    /// What anybody sees who looks now.
    pub fn look(&self) -> Seen {
        let numbers: Vec<u32> = self.nodes.keys().copied().collect();
        let position: BTreeMap<u32, usize> = numbers.iter().enumerate().map(|(at, number)| (*number, at)).collect();
        let mut scene = Scene::default();
        for (at, cloud) in self.clouds.iter().enumerate() {
            let mut catalogue = cloud.catalogue.clone();
            if cloud.is_rack() {
                for node in self.nodes.values().filter(|node| node.cloud == at) {
                    let machine = catalogue.types.get_mut(node.shape.instance_type as usize);
                    machine.into_iter().flat_map(|it| &mut it.offerings).for_each(|offered| offered.available = false);
                }
            }
            let mut pool = cloud.pool.clone();
            let used = self.nodes.values().filter(|node| node.cloud == at && !node.leaving).count();
            pool.used = Resources::from([("nodes".to_owned(), whole(used as u64))]);
            pool.catalogue = at;
            scene.catalogues.push(catalogue);
            scene.pools.push(pool);
        }
        let there = |node: &Node| NodeThere { deleting: node.leaving, ..node.there.clone() };
        scene.nodes = self.nodes.values().map(there).collect();
        let mut seen = Seen { scene, nodes: numbers, waiting: vec![], bound: vec![] };
        for (number, pod) in &self.pods {
            match pod.on.and_then(|(node, _)| position.get(&node)) {
                Some(node) => {
                    seen.bound.push(*number);
                    seen.scene.bound.push(bound(pod, *node));
                }
                None => {
                    let planned = pod.planned.and_then(|node| position.get(&node)).copied();
                    seen.waiting.push(*number);
                    seen.scene.pods.push(PodToPlace { planned, ..pod.wanted.clone() });
                }
            }
        }
        seen
    }

    /// The same with what taking nodes away looks at.
    pub fn take_stock(&self, seen: &Seen) -> Result<Inventory> {
        let mut inventory =
            Inventory { pools: self.clouds.iter().map(|cloud| cloud.here.clone()).collect(), ..Inventory::default() };
        for (position, number) in seen.nodes.iter().enumerate() {
            if let Some(node) = self.nodes.get(number).filter(|node| node.there.stage == NodeStage::Initialized) {
                inventory.nodes.push(self.node_here(*number, node, position)?);
            }
        }
        for number in &seen.bound {
            let Some(pod) = self.pods.get(number) else { continue };
            inventory.pods.push(PodHere {
                uid: Some(pod.wanted.uid.clone()),
                kind: PodKind::Ordinary,
                moves: Some(pod.wanted.clone()),
                ignored: false,
                do_not_disrupt: None,
                started_at: pod.on.map(|(_, since)| at(since)),
                budgets: vec![],
                unready: false,
                stays: false,
                cost: 0,
                priority: 0,
            });
        }
        Ok(inventory)
    }

    fn node_here(&self, number: u32, node: &Node, position: usize) -> Result<NodeHere> {
        let coming = self.pods.values().any(|pod| pod.planned == Some(number));
        let claim = ClaimHere {
            key: InstanceKey { claim: Uid::new(node.there.name.as_str())?, name: node.there.name.clone() },
            created_at: at(node.made_at),
            initialized_at: Some(at(node.up_at)),
            last_pod_event: node.last_pod_event.map(at),
            expire_after: None,
            termination_grace: None,
            drifted: None,
            pool_hash: None,
            class_hash: None,
            image: None,
        };
        Ok(NodeHere {
            node: position,
            created_at: at(node.made_at),
            claim: Some(claim),
            ready: true,
            cordoned: false,
            do_not_disrupt: false,
            do_not_repair: false,
            control_plane: false,
            runs_us: false,
            disrupted: node.leaving,
            nominated: coming.then(|| "a pod that waits".to_owned()),
            unhealthy: None,
            kubelet_version: None,
            last_came: None,
            changed_at: None,
        })
    }
}

impl Pod {
    fn ends_by(&self, now: u32) -> bool {
        self.on.is_some_and(|(_, since)| now - since >= self.left)
    }
}

fn bound(pod: &Pod, node: usize) -> PodThere {
    PodThere {
        namespace: pod.wanted.namespace.clone(),
        name: pod.wanted.name.clone(),
        node,
        labels: model::Labels::new(),
        requests: pod.wanted.requests.clone(),
        anti_affinity: vec![],
        host_ports: vec![],
        volumes: vec![],
        terminating: false,
        daemon: None,
    }
}

fn at(minute: u32) -> Timestamp {
    Timestamp::UNIX_EPOCH + SignedDuration::from_mins(minute.into())
}
