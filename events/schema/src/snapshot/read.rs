//! From the wire to the model: every position is looked up, and one that leads nowhere is an error that names its place.

use model::{
    ClaimInFlight, DaemonSeen, DaemonShape, NodeSeen, PodRef, PodShape, PodsSeen, PoolSeen, Resources, Snapshot,
    UnboundSeen,
};

use super::{Claim, ClusterSnapshot, Daemon, NewestDaemon, Node, Pool, Shape, UnboundPod, pods::Nowhere};
use crate::object::{all, resources};

/// What positions lead to.
struct Tables {
    words: Vec<String>,
    resources: Vec<Resources>,
    shapes: usize,
}

impl TryFrom<ClusterSnapshot> for Snapshot {
    type Error = String;

    fn try_from(snapshot: ClusterSnapshot) -> Result<Self, String> {
        let ClusterSnapshot {
            version: _,
            taken_at,
            nodes,
            shapes,
            daemons,
            unbound,
            claims,
            pools,
            classes,
            words,
            resources: amounts,
        } = snapshot;
        let amounts = amounts.into_iter().map(resources).collect();
        let tables = Tables { words, resources: amounts, shapes: shapes.len() };
        Ok(Snapshot {
            taken_at: taken_at.value,
            nodes: each("nodes", nodes, |node| tables.node(node))?,
            shapes: each("shapes", shapes, |shape| tables.shape(shape))?,
            daemons: each("daemons", daemons, |daemon| tables.daemon(daemon))?,
            unbound: all(unbound),
            claims: all(claims),
            pools: all(pools),
            classes: all(classes),
        })
    }
}

impl Tables {
    fn node(&self, node: Node) -> Result<NodeSeen, String> {
        let Node { name, provider_id, labels, taints, capacity, allocatable, deleting, pods } = node;
        Ok(NodeSeen {
            name: name.value,
            provider_id,
            labels: self.labels(&labels)?,
            taints: all(taints),
            capacity: self.amounts("capacity", capacity)?,
            allocatable: self.amounts("allocatable", allocatable)?,
            deleting,
            pods: self.pods(&pods)?,
        })
    }

    fn shape(&self, shape: Shape) -> Result<PodShape, String> {
        let Shape { namespace, labels, requests, anti_affinity, host_ports, volume_claims, terminating, daemon } =
            shape;
        Ok(PodShape {
            namespace: namespace.value,
            labels: self.labels(&labels)?,
            requests: self.amounts("requests", requests)?,
            anti_affinity: all(anti_affinity),
            host_ports: all(host_ports),
            volume_claims,
            terminating,
            daemon: daemon.map(Into::into),
        })
    }

    fn daemon(&self, daemon: NewestDaemon) -> Result<DaemonSeen, String> {
        let NewestDaemon { shape, created_at, pod } = daemon;
        Ok(DaemonSeen { shape: self.position("shape", shape)?, created_at: created_at.value, pod: pod.value })
    }

    fn labels<L: FromIterator<(String, String)>>(&self, positions: &[u32]) -> Result<L, String> {
        let word = |position: u32| {
            let found = usize::try_from(position).ok().and_then(|at| self.words.get(at));
            found.cloned().ok_or_else(|| format!("labels: {}", Nowhere { list: "words", position }))
        };
        pairs("labels", positions)?.map(|(key, value)| Ok((word(key)?, word(value)?))).collect()
    }

    fn amounts(&self, field: &str, position: u32) -> Result<Resources, String> {
        let found = usize::try_from(position).ok().and_then(|at| self.resources.get(at));
        found.cloned().ok_or_else(|| format!("{field}: {}", Nowhere { list: "resources", position }))
    }

    fn pods(&self, positions: &[u32]) -> Result<Vec<PodsSeen>, String> {
        let seen = |(shape, count)| Ok(PodsSeen { shape: self.position("pods", shape)?, count });
        pairs("pods", positions)?.map(seen).collect()
    }

    fn position(&self, field: &str, position: u32) -> Result<usize, String> {
        let found = usize::try_from(position).ok().filter(|at| *at < self.shapes);
        found.ok_or_else(|| format!("{field}: {}", Nowhere { list: "shapes", position }))
    }
}

/// Converts a list; an error carries the index of its element.
fn each<G, T>(list: &str, given: Vec<G>, convert: impl Fn(G) -> Result<T, String>) -> Result<Vec<T>, String> {
    let convert = |(index, one)| convert(one).map_err(|problem| format!("{list}[{index}].{problem}"));
    given.into_iter().enumerate().map(convert).collect()
}

fn pairs<'a>(field: &str, positions: &'a [u32]) -> Result<impl Iterator<Item = (u32, u32)> + 'a, String> {
    let (pairs, rest) = positions.as_chunks::<2>();
    if rest.is_empty() {
        Ok(pairs.iter().map(|[first, second]| (*first, *second)))
    } else {
        Err(format!("{field}: {} numbers are no pairs", positions.len()))
    }
}

impl From<Daemon> for DaemonShape {
    fn from(daemon: Daemon) -> Self {
        let Daemon { set, node_selector, tolerations, host_network } = daemon;
        DaemonShape { set: set.value, node_selector, tolerations: all(tolerations), host_network }
    }
}

impl From<UnboundPod> for UnboundSeen {
    fn from(pod: UnboundPod) -> Self {
        let UnboundPod { namespace, name, uid, waits } = pod;
        UnboundSeen { pod: PodRef { namespace: namespace.value, name: name.value, uid: uid.value }, waits }
    }
}

impl From<Claim> for ClaimInFlight {
    fn from(claim: Claim) -> Self {
        let Claim { name, uid, pool, requests } = claim;
        ClaimInFlight {
            name: name.value,
            uid: uid.value,
            pool: pool.map(|word| word.value),
            requests: resources(requests),
        }
    }
}

impl From<Pool> for PoolSeen {
    fn from(pool: Pool) -> Self {
        let Pool { name, weight, limits, requirements, class } = pool;
        PoolSeen {
            name: name.value,
            weight,
            limits: resources(limits),
            requirements: all(requirements),
            class: class.into(),
        }
    }
}
