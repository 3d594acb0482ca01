//! What on-pending-pod must know: whether the pod still waits, and everything that the scene of a decision is made from.

use cluster::{
    ClaimRead, ClusterError,
    scene::{LeftOut, SceneSource, read_scene},
};
use decide::provision::Situation;
use host::parts::Parts;
use jiff::{SignedDuration, Timestamp};
use model::{Answer, Claim, PodPending, PodRef, Snapshot, SnapshotCarried, Uid};
use std::collections::BTreeMap;

use crate::{
    answers::Coming,
    pools::{self, Pools},
};

/// What a snapshot may be old, or young where clocks differ. An event that waited longer is answered from the API server.
const YOUNG: SignedDuration = SignedDuration::from_secs(10);

/// One moment of the cluster.
pub struct Seen {
    pub situation: Situation,
    left_out: Vec<LeftOut>,
    source: SceneSource,
    pools: Pools,
}

/// Whether the pod still waits.
pub enum Waits {
    Yes(PodRef),
    Answered(Answer),
}

pub enum Claims {
    Seen(Vec<ClaimRead>),
    Answered(Answer),
}

/// The first look, which is enough for events that come late.
pub async fn waits(parts: &Parts, event: &PodPending) -> Waits {
    let (object, subject) = (&event.pod.object, &event.subject);
    let nothing = |what: &str| Waits::Answered(Answer::nothing(format!("pod {subject} {what}")));
    let Some(namespace) = &object.namespace else { return nothing("has no namespace, so it is none") };
    let found = match parts.cluster.pod(namespace, &object.name).await {
        Ok(Some(found)) => found,
        Ok(None) => return nothing("is gone"),
        Err(error) => return Waits::Answered(Answer::failed(error.to_string())),
    };
    if found.metadata.uid.as_deref() != Some(object.uid.as_str()) {
        return nothing("is gone; another one has its name");
    }
    if let Some(node) = found.spec.and_then(|spec| spec.node_name).filter(|node| !node.is_empty()) {
        return nothing(&format!("is on node {node}"));
    }
    if found.metadata.deletion_timestamp.is_some() {
        return nothing("is being deleted");
    }
    Waits::Yes(PodRef { namespace: namespace.clone(), name: object.name.clone(), uid: object.uid.clone() })
}

/// One event stands for all pods that wait: its own may have found a node since, and the others have not.
pub fn another_waits(parts: &Parts, event: &PodPending) -> Option<PodRef> {
    let SnapshotCarried::Carried(snapshot) = &event.snapshot else { return None };
    let mut others = snapshot.unbound.iter().filter(|one| one.waits && one.pod.uid != event.pod.object.uid);
    others.next().filter(|_| is_young(parts, snapshot)).map(|one| one.pod.clone())
}

pub async fn claims(parts: &Parts) -> Claims {
    match parts.cluster.claims().await {
        Ok(claims) => Claims::Seen(claims),
        Err(error) if error.is_not_found() => Claims::Answered(Answer::nothing(
            "pods wait, and this cluster serves no NodeClaims: pilotlight crds | kubectl apply --server-side -f -",
        )),
        Err(error) => Claims::Answered(Answer::failed(error.to_string())),
    }
}

/// Whether a claim is on its way for this pod and for all others that wait: one event stands for all of them.
pub async fn all_come(
    parts: &Parts,
    pod: &PodRef,
    coming: &BTreeMap<Uid, Coming>,
    snapshot: &SnapshotCarried,
) -> Result<bool, ClusterError> {
    if !coming.contains_key(&pod.uid) {
        return Ok(false);
    }
    match snapshot {
        SnapshotCarried::Carried(snapshot) if is_young(parts, snapshot) => {
            Ok(snapshot.unbound.iter().all(|one| !one.waits || coming.contains_key(&one.pod.uid)))
        }
        _ => Ok(parts.cluster.pods_that_wait().await?.iter().all(|uid| coming.contains_key(uid))),
    }
}

/// Everything that the scene of a decision is made from.
pub async fn read(parts: &Parts, claims: Vec<ClaimRead>, snapshot: SnapshotCarried) -> Result<Seen, ClusterError> {
    // Pools after pods: a pool that was there before its pod is not missed.
    let mut source = look(parts, &claims, snapshot).await?;
    let pools = pools::look(parts).await?;
    source.pools = pools.sources.clone();
    source.catalogues = pools.catalogues.clone();
    if !parts.default_spread.is_empty() {
        source.default_spread = parts.default_spread.clone();
        parts.cluster.selecting(&mut source).await?;
    }
    let situation = Situation { scene: Default::default(), pools: vec![], claims: vec![], now: parts.now() };
    let mut seen = Seen { situation, left_out: vec![], source, pools };
    seen.set_claims(claims, parts.now());
    Ok(seen)
}

/// Nodes and the pods on them from a snapshot that is young, else from the API server.
async fn look(parts: &Parts, claims: &[ClaimRead], snapshot: SnapshotCarried) -> Result<SceneSource, ClusterError> {
    if let SnapshotCarried::Carried(snapshot) = snapshot
        && is_young(parts, &snapshot)
        && let Some(source) = parts.cluster.scene_source_beside(snapshot, claims).await?
    {
        return Ok(source);
    }
    parts.cluster.scene_source().await
}

fn is_young(parts: &Parts, snapshot: &Snapshot) -> bool {
    parts.now().duration_since(snapshot.taken_at).abs() <= YOUNG
}

impl Seen {
    /// Looks at these claims instead of those that were read before. Whether that changes anything.
    pub fn use_claims(&mut self, claims: Vec<ClaimRead>, now: Timestamp) -> bool {
        let changed = versions(&claims) != versions(&self.source.claims);
        if changed {
            self.set_claims(claims, now);
        }
        changed
    }

    /// Whether somebody who might have a machine has not answered yet.
    pub fn is_waited_for(&self) -> bool {
        self.pools.is_waited_for
    }

    /// Pods that are not ours to place, and why.
    pub fn left_out(&self) -> impl Iterator<Item = (&PodRef, &str)> {
        self.left_out.iter().map(|one| (&one.pod, one.why.as_str()))
    }

    fn set_claims(&mut self, claims: Vec<ClaimRead>, now: Timestamp) {
        let all = known(&claims);
        self.source.claims = claims;
        self.source.claims.iter_mut().for_each(known_by_its_node);
        self.source.now = now;
        let read = read_scene(&self.source);
        for problem in read.problems.iter().chain(&self.pools.problems) {
            tracing::warn!(kind = problem.kind, name = problem.name, "{}", problem.why);
        }
        let mut scene = read.scene;
        self.pools.fill_machines(&mut scene);
        self.pools.leave_machines_that_are_up(&mut scene);
        let pools = scene.pools.iter().filter_map(|pool| self.pools.facts.get(pool.name.as_str()).cloned()).collect();
        self.situation = Situation { scene, pools, claims: all, now };
        self.left_out = read.left_out;
    }
}

/// What a kubelet calls its machine is not always what its provider calls it; the name of the Node is beyond doubt.
pub fn known_by_its_node(claim: &mut ClaimRead) {
    if let ClaimRead::Claim(read) = claim
        && read.claim.status.node.is_some()
    {
        read.claim.status.provider_id = None;
    }
}

pub fn known(claims: &[ClaimRead]) -> Vec<Claim> {
    let claim = |read: &ClaimRead| match read {
        ClaimRead::Claim(read) => Some(read.claim.clone()),
        ClaimRead::Malformed(_) => None,
    };
    claims.iter().filter_map(claim).collect()
}

fn versions(claims: &[ClaimRead]) -> Vec<(&str, Option<&str>)> {
    fn version(read: &ClaimRead) -> (&str, Option<&str>) {
        match read {
            ClaimRead::Claim(read) => (read.claim.key.claim.as_str(), Some(read.claim.version.as_str())),
            ClaimRead::Malformed(malformed) => (malformed.key.claim.as_str(), None),
        }
    }
    let mut versions: Vec<(&str, Option<&str>)> = claims.iter().map(version).collect();
    versions.sort_unstable();
    versions
}
