//! Where pods can go: nodes that are there, then claims as they are opened. Places that are alike for every rule about labels and
//! taints stand in one bucket, so those rules are asked once for all of them.

use model::place::{HostPort, NodeStage, Protocol, VolumeHandle};
use std::rc::Rc;

use super::amounts::Row;
use super::counters::PlaceId;
use super::ground::Ground;
use super::hash::Map;
use super::mask::Mask;
use super::needs::Label;
use super::states::StateId;

pub type BucketId = usize;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Stands for all nodes of the bucket: one of them, by position.
    Node(usize),
    Claim(StateId),
}

#[derive(Debug, Clone)]
pub struct Bucket {
    pub kind: Kind,
    /// With a GPU or the like: the last choice of a pod that asks for none.
    pub accelerated: bool,
    /// Not up yet: the second choice.
    pub starting: bool,
    /// A claim of it has pods that rules hold where they are, so it is not packed anew.
    pub held: bool,
    /// In order of arrival. A claim that has moved on is still listed where it was.
    pub places: Vec<PlaceId>,
}

/// A node to be made.
#[derive(Debug, Clone)]
pub struct Claim {
    pub state: StateId,
    /// The types it can still become.
    pub types: Mask,
    /// The types it may grow into without costing more than another claim would.
    pub grow: Rc<Mask>,
    /// What its pods take.
    pub request: Row,
    pub pods: Vec<usize>,
    pub accelerated: bool,
    /// What it takes of limits, and for which type.
    pub charge: Option<Row>,
    pub charged_for: Option<usize>,
    pub relaxed: bool,
}

/// What few places have: ports and volumes in use, devices in part.
#[derive(Debug, Clone, Default)]
pub struct Extra<'a> {
    pub ports: Vec<&'a HostPort>,
    pub volumes: Vec<&'a VolumeHandle>,
    pub partials: Vec<(usize, i64)>,
}

#[derive(Clone)]
pub struct Places<'a> {
    pub nodes: usize,
    pub claims: Vec<Claim>,
    pub extras: Vec<Extra<'a>>,
    pub bucket_of: Vec<BucketId>,
    pub buckets: Vec<Bucket>,
    /// Row by row: what is free, or at most free for a claim that can still become one of several types.
    rooms: Vec<i64>,
    columns: usize,
    claim_buckets: Map<(StateId, bool), BucketId>,
}

impl<'a> Places<'a> {
    /// The nodes of the scene, those that are up first, then by name.
    pub fn new(ground: &Ground<'a>) -> Self {
        let scene = ground.scene;
        let columns = ground.columns.len();
        let mut places = Places {
            nodes: scene.nodes.len(),
            claims: vec![],
            extras: vec![],
            bucket_of: vec![usize::MAX; scene.nodes.len()],
            buckets: vec![],
            rooms: vec![],
            columns,
            claim_buckets: Map::default(),
        };
        for info in &ground.nodes {
            places.rooms.extend_from_slice(&info.room);
            places.extras.push(Extra { partials: info.partials.clone(), ..Extra::default() });
        }
        for pod in &scene.bound {
            if let Some(extra) = places.extras.get_mut(pod.node) {
                extra.ports.extend(&pod.host_ports);
                extra.volumes.extend(&pod.volumes);
            }
        }
        let mut order: Vec<usize> = (0..scene.nodes.len()).filter(|at| !scene.nodes[*at].deleting).collect();
        order.sort_by_key(|at| (scene.nodes[*at].stage, scene.nodes[*at].name.as_str()));
        let mut alike: Map<(&[Label], String, NodeStage, bool), BucketId> = Map::default();
        for at in order {
            let (info, stage) = (&ground.nodes[at], scene.nodes[at].stage);
            let taints =
                info.taints.iter().map(|taint| format!("{}={}:{}", taint.key, taint.value, taint.effect.as_str()));
            let identity = (info.labels.as_slice(), taints.collect::<Vec<_>>().join(","), stage, info.accelerated);
            let bucket = *alike.entry(identity).or_insert_with(|| {
                let (accelerated, starting) = (info.accelerated, stage != NodeStage::Initialized);
                let kind = Kind::Node(at);
                places.buckets.push(Bucket { kind, accelerated, starting, held: false, places: vec![] });
                places.buckets.len() - 1
            });
            places.bucket_of[at] = bucket;
            places.buckets[bucket].places.push(at);
        }
        places
    }

    pub fn room(&self, place: PlaceId) -> &[i64] {
        &self.rooms[place * self.columns..][..self.columns]
    }

    pub fn room_mut(&mut self, place: PlaceId) -> &mut [i64] {
        &mut self.rooms[place * self.columns..][..self.columns]
    }

    pub fn claim(&self, place: PlaceId) -> Option<&Claim> {
        place.checked_sub(self.nodes).and_then(|at| self.claims.get(at))
    }

    /// Adds a claim; it stands in no bucket until `settle` puts it into one.
    pub fn open(&mut self, claim: Claim) -> PlaceId {
        self.claims.push(claim);
        self.extras.push(Extra::default());
        self.bucket_of.push(usize::MAX);
        self.rooms.resize(self.rooms.len() + self.columns, 0);
        self.extras.len() - 1
    }

    /// A pod has come that is not moved any more.
    pub fn hold(&mut self, place: PlaceId) {
        if let Some(bucket) = self.buckets.get_mut(self.bucket_of[place]) {
            bucket.held = true;
        }
    }

    /// Takes a claim out of its bucket: nothing is placed on it any more.
    pub fn close(&mut self, place: PlaceId) {
        self.bucket_of[place] = usize::MAX;
    }

    /// Forgets all claims but the first so many.
    pub fn truncate_claims(&mut self, claims: usize) {
        let places = self.nodes + claims;
        self.claims.truncate(claims);
        self.extras.truncate(places);
        self.bucket_of.truncate(places);
        self.rooms.truncate(places * self.columns);
        for bucket in self.buckets.iter_mut().filter(|bucket| matches!(bucket.kind, Kind::Claim(_))) {
            bucket.places.retain(|place| *place < places);
        }
    }

    /// Drops all that only placing needs.
    pub fn forget_rooms(&mut self) {
        (self.buckets, self.extras, self.rooms) = (vec![], vec![], vec![]);
    }

    /// Puts a claim into the bucket of its state.
    pub fn settle(&mut self, place: PlaceId) {
        let Some(claim) = self.claim(place) else { return };
        let (state, accelerated) = (claim.state, claim.accelerated);
        let bucket = *self.claim_buckets.entry((state, accelerated)).or_insert_with(|| {
            let kind = Kind::Claim(state);
            self.buckets.push(Bucket { kind, accelerated, starting: false, held: false, places: vec![] });
            self.buckets.len() - 1
        });
        if self.bucket_of[place] != bucket {
            self.bucket_of[place] = bucket;
            self.buckets[bucket].places.push(place);
        }
    }
}

/// Whether two ports cannot be on one host.
pub fn collide(left: &HostPort, right: &HostPort) -> bool {
    let every = |ip: &str| matches!(ip, "" | "0.0.0.0" | "::");
    let same = |left: Protocol, right: Protocol| left == right;
    left.port == right.port
        && same(left.protocol, right.protocol)
        && (left.ip == right.ip || every(&left.ip) || every(&right.ip))
}
