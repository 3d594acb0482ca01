//! What on-pending-pod must know: whether the pod still waits, and everything that the scene of a decision is made from.

use cluster::{
    ClaimRead, ClusterError,
    scene::{LeftOut, SceneSource, read_scene},
};
use decide::provision::{Situation, nominated_on, on_its_way};
use host::parts::Parts;
use jiff::Timestamp;
use model::{Answer, Claim, PodPending, PodRef};

use crate::{
    NAME,
    pools::{self, Pools},
};

/// One moment of the cluster, and the pod that it is looked at for.
pub struct Seen {
    pub pod: PodRef,
    pub situation: Situation,
    left_out: Vec<LeftOut>,
    source: SceneSource,
    pools: Pools,
}

pub enum Read {
    Seen(Box<Seen>),
    Answered(Answer),
}

/// Whether the pod waits, and nothing is coming for it.
pub enum Waits {
    Yes { pod: PodRef, claims: Vec<ClaimRead> },
    Answered(Answer),
}

/// The first look, which is enough for most events: they come in swarms, and one decision is about all of them.
pub async fn waits(parts: &Parts, event: &PodPending) -> Waits {
    match look_at_pod(parts, event).await {
        Ok(waits) => waits,
        Err(error) => Waits::Answered(Answer::failed(error.to_string())),
    }
}

pub async fn read(parts: &Parts, event: &PodPending) -> Read {
    let look = async {
        Ok(match look_at_pod(parts, event).await? {
            Waits::Answered(answer) => Read::Answered(answer),
            Waits::Yes { pod, claims } => Read::Seen(Box::new(look_at_all(parts, pod, claims).await?)),
        })
    };
    look.await.unwrap_or_else(|error: ClusterError| Read::Answered(Answer::failed(error.to_string())))
}

async fn look_at_pod(parts: &Parts, event: &PodPending) -> Result<Waits, ClusterError> {
    let (object, subject) = (&event.pod.object, &event.subject);
    let nothing = |what: &str| Ok(Waits::Answered(Answer::nothing(format!("pod {subject} {what}"))));
    let Some(namespace) = &object.namespace else { return nothing("has no namespace, so it is none") };
    let pod = PodRef { namespace: namespace.clone(), name: object.name.clone(), uid: object.uid.clone() };
    let Some(found) = parts.cluster.pod(namespace, &object.name).await? else { return nothing("is gone") };
    if found.metadata.uid.as_deref() != Some(pod.uid.as_str()) {
        return nothing("is gone; another one has its name");
    }
    if let Some(node) = found.spec.and_then(|spec| spec.node_name).filter(|node| !node.is_empty()) {
        return nothing(&format!("is on node {node}"));
    }
    if found.metadata.deletion_timestamp.is_some() {
        return nothing("is being deleted");
    }
    let claims = match parts.cluster.claims().await {
        Err(error) if error.is_not_found() => {
            return nothing(
                "waits, and this cluster serves no NodeClaims: pilotlight crds | kubectl apply --server-side -f -",
            );
        }
        claims => claims?,
    };
    let known = known(&claims);
    if let Some(claim) = nominated_on(&pod.uid, &known, parts.now()) {
        let expected = claim.annotations.get(model::names::EXPECTED).map(String::as_str).unwrap_or_default();
        // Whoever made the claim may have died before it said so.
        let note = on_its_way(&pod, claim.key.name.as_str(), expected);
        act::tell_pods(&parts.cluster, NAME, &[note], parts.now()).await;
        let name = &claim.key.name;
        return nothing(&format!("has NodeClaim {name} on its way, {expected}"));
    }
    Ok(Waits::Yes { pod, claims })
}

async fn look_at_all(parts: &Parts, pod: PodRef, claims: Vec<ClaimRead>) -> Result<Seen, ClusterError> {
    let pools = pools::look(parts).await?;
    let mut source = parts.cluster.scene_source().await?;
    source.pools = pools.sources.clone();
    source.catalogues = pools.catalogues.clone();
    let situation = Situation { scene: Default::default(), pools: vec![], claims: vec![], now: parts.now() };
    let mut seen = Seen { pod, situation, left_out: vec![], source, pools };
    seen.set_claims(claims, parts.now());
    Ok(seen)
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

    /// Why the pod of the event is not ours to place.
    pub fn left_out(&self) -> Option<&str> {
        let is_it = |one: &&LeftOut| one.namespace == self.pod.namespace.as_str() && one.name == self.pod.name.as_str();
        self.left_out.iter().find(is_it).map(|one| one.why.as_str())
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

fn known(claims: &[ClaimRead]) -> Vec<Claim> {
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
