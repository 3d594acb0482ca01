//! Nodes and claims on their way, as one kind of thing: what pods can be put on that is there already.

use std::collections::{BTreeMap, HashMap};

use k8s_openapi::api::core::v1::{Node, Taint};
use k8s_openapi::api::storage::v1::CSINode;

use crate::catalog::Catalog;
use crate::labels::{HOSTNAME, INITIALIZED, Labels, NODE_POOL, REGISTERED, WELL_KNOWN, holds, normal};
use crate::objects::NodeClaim;
use crate::pods::name;
use crate::quantity::{self, Resources};

#[derive(Debug, Clone, Default)]
pub struct Machine {
    /// `node/NAME`, or `claim/NAME` where there is no node yet.
    pub place: String,
    pub node: Option<String>,
    pub claim: Option<String>,
    /// With the host name, and under present names.
    pub labels: Labels,
    /// Those that count: not the ones that go away when the node is up.
    pub taints: Vec<Taint>,
    pub capacity: Resources,
    pub allocatable: Resources,
    /// It is being deleted: its pods move, it takes none, and it uses up no limit.
    pub leaving: bool,
    /// How many volumes of a driver it can attach.
    pub volume_limits: BTreeMap<String, usize>,
}

impl Machine {
    pub fn pool(&self) -> Option<&str> {
        self.labels.get(NODE_POOL).map(String::as_str)
    }
}

/// Brings nodes and claims together, by provider id or by the claim's `status.nodeName`.
pub fn assemble(nodes: &[Node], claims: &[NodeClaim], csi: &[CSINode], catalog: &Catalog) -> Vec<Machine> {
    let by_name: HashMap<&str, &Node> = nodes.iter().map(|node| (name(&node.metadata), node)).collect();
    let by_provider: HashMap<&str, &Node> = nodes.iter().filter_map(|node| Some((provider_id(node)?, node))).collect();
    let mut owners: HashMap<&str, &NodeClaim> = HashMap::new();
    let mut machines = Vec::new();
    for claim in claims {
        let by_id = by_provider.get(claim.status.provider_id.as_str()).filter(|_| !claim.status.provider_id.is_empty());
        let node = by_id.copied().or_else(|| {
            let named = *by_name.get(claim.status.node_name.as_str())?;
            (claim.status.provider_id.is_empty() || provider_id(named).is_none()).then_some(named)
        });
        match node {
            Some(node) => {
                owners.insert(name(&node.metadata), claim);
            }
            None => machines.extend(in_flight(claim, catalog)),
        }
    }
    for node in nodes {
        let limits = csi.iter().find(|one| name(&one.metadata) == name(&node.metadata)).map(volume_limits);
        let mut machine = match owners.get(name(&node.metadata)) {
            Some(claim) => managed(node, claim),
            None => unmanaged(node),
        };
        machine.volume_limits = limits.unwrap_or_default();
        machines.push(machine);
    }
    machines
}

fn unmanaged(node: &Node) -> Machine {
    let called = name(&node.metadata);
    let status = node.status.as_ref();
    Machine {
        place: format!("node/{called}"),
        node: Some(called.to_owned()),
        claim: None,
        labels: with_hostname(node.metadata.labels.clone().unwrap_or_default(), called),
        taints: taints_of(node),
        capacity: quantity::resources(status.iter().flat_map(|status| status.capacity.iter().flatten())),
        allocatable: quantity::resources(status.iter().flat_map(|status| status.allocatable.iter().flatten())),
        leaving: node.metadata.deletion_timestamp.is_some(),
        volume_limits: BTreeMap::new(),
    }
}

fn managed(node: &Node, claim: &NodeClaim) -> Machine {
    let mut machine = unmanaged(node);
    let own = node.metadata.labels.clone().unwrap_or_default();
    let claimed = claim.metadata.labels.clone().unwrap_or_default();
    let stage = |condition: &str, label: &str| match own.get(label) {
        Some(value) => value == "true",
        None => claim.status.conditions.is_empty() || claim.condition(condition) == Some(true),
    };
    let (registered, initialized) = (stage("Registered", REGISTERED), stage("Initialized", INITIALIZED));
    let mut labels = if registered { own.clone() } else { claimed.clone() };
    if registered {
        for (key, value) in &claimed {
            labels.entry(key.clone()).or_insert_with(|| value.clone());
        }
        labels.insert(REGISTERED.to_owned(), "true".to_owned());
        if initialized {
            labels.insert(INITIALIZED.to_owned(), "true".to_owned());
        }
    } else {
        for (key, value) in own.iter().filter(|(key, _)| WELL_KNOWN.contains(&key.as_str())) {
            labels.entry(key.clone()).or_insert_with(|| value.clone());
        }
    }
    machine.labels = with_hostname(labels, if registered { name(&node.metadata) } else { claim.name() });
    machine.claim = Some(claim.name().to_owned());
    machine.leaving = is_leaving(claim);
    let taints = if registered { taints_of(node) } else { claim.spec.taints.clone() };
    let passing = |taint: &Taint| match initialized {
        true => is_ephemeral(taint) && taint.effect == "NoSchedule",
        false => is_ephemeral(taint) || claim.spec.startup_taints.iter().any(|one| same(one, taint)),
    };
    machine.taints = taints.into_iter().filter(|taint| !passing(taint)).collect();
    if !initialized {
        // A kubelet says 0 GPUs until its device plugin is up; the claim knows better.
        fill_zeros(&mut machine.capacity, &quantity::resources(&claim.status.capacity));
        fill_zeros(&mut machine.allocatable, &quantity::resources(&claim.status.allocatable));
    }
    machine
}

/// A claim without a node is what its status says; without a status it is taken to become its cheapest offering.
fn in_flight(claim: &NodeClaim, catalog: &Catalog) -> Option<Machine> {
    let mut labels = claim.metadata.labels.clone().unwrap_or_default();
    let mut capacity = quantity::resources(&claim.status.capacity);
    if capacity.is_empty() {
        capacity = launch(claim, &mut labels, catalog)?;
    }
    let told = quantity::resources(&claim.status.allocatable);
    let passing = |taint: &Taint| is_ephemeral(taint) || claim.spec.startup_taints.iter().any(|one| same(one, taint));
    Some(Machine {
        place: format!("claim/{}", claim.name()),
        node: None,
        claim: Some(claim.name().to_owned()),
        labels: with_hostname(labels, claim.name()),
        taints: claim.spec.taints.iter().filter(|taint| !passing(taint)).cloned().collect(),
        allocatable: if told.is_empty() { capacity.clone() } else { told },
        capacity,
        leaving: is_leaving(claim),
        volume_limits: BTreeMap::new(),
    })
}

fn launch(claim: &NodeClaim, labels: &mut Labels, catalog: &Catalog) -> Option<Resources> {
    let requests = quantity::resources(&claim.spec.resources.requests);
    let allowed = |key: &str, value: &str| {
        let labelled = labels.get(key).is_none_or(|label| label == value);
        let mut all = claim.spec.requirements.iter().filter(|one| normal(&one.key) == key);
        labelled && all.all(|one| holds(&one.operator, &one.values, Some(value)))
    };
    let keys: Vec<&str> = catalog
        .extra_keys
        .iter()
        .map(String::as_str)
        .chain(WELL_KNOWN.iter().copied().filter(|key| catalog.decides(key)))
        .collect();
    let mut best: Option<(f64, Labels, &Resources)> = None;
    for one in &catalog.types {
        if requests.iter().any(|(name, amount)| one.capacity.get(name).copied().unwrap_or(0) < *amount) {
            continue;
        }
        for offering in one.offerings.iter().filter(|offering| offering.available) {
            let mut found = Labels::new();
            let suits = keys.iter().all(|key| {
                let values: Vec<&String> =
                    one.values(offering, key).iter().filter(|value| allowed(key, value)).collect();
                if let [only] = values.as_slice() {
                    found.insert((*key).to_owned(), (*only).clone());
                }
                let demanded = labels.contains_key(*key)
                    || claim.spec.requirements.iter().any(|one| normal(&one.key) == *key && one.operator == "In");
                !values.is_empty() || (one.values(offering, key).is_empty() && !demanded)
            });
            if suits && best.as_ref().is_none_or(|(price, ..)| offering.price < *price) {
                best = Some((offering.price, found, &one.capacity));
            }
        }
    }
    let (_, found, capacity) = best?;
    for (key, value) in found {
        labels.entry(key).or_insert(value);
    }
    Some(capacity.clone())
}

fn with_hostname(labels: Labels, fallback: &str) -> Labels {
    let mut labels: Labels = labels.into_iter().map(|(key, value)| (normal(&key).to_owned(), value)).collect();
    let host = labels.entry(HOSTNAME.to_owned()).or_default();
    if host.is_empty() {
        fallback.clone_into(host);
    }
    labels
}

fn fill_zeros(amounts: &mut Resources, from: &Resources) {
    for (name, amount) in from {
        let entry = amounts.entry(name.clone()).or_default();
        if *entry == 0 {
            *entry = *amount;
        }
    }
}

fn volume_limits(node: &CSINode) -> BTreeMap<String, usize> {
    let limit = |one: &k8s_openapi::api::storage::v1::CSINodeDriver| {
        let count = one.allocatable.as_ref()?.count?;
        Some((one.name.clone(), usize::try_from(count).ok()?))
    };
    node.spec.drivers.iter().filter_map(limit).collect()
}

fn is_leaving(claim: &NodeClaim) -> bool {
    claim.metadata.deletion_timestamp.is_some() || claim.condition("InstanceTerminating") == Some(true)
}

fn provider_id(node: &Node) -> Option<&str> {
    node.spec.as_ref()?.provider_id.as_deref().filter(|id| !id.is_empty())
}

fn taints_of(node: &Node) -> Vec<Taint> {
    node.spec.as_ref().and_then(|spec| spec.taints.clone()).unwrap_or_default()
}

fn same(one: &Taint, other: &Taint) -> bool {
    one.key == other.key && one.effect == other.effect
}

fn is_ephemeral(taint: &Taint) -> bool {
    let known = matches!(
        (taint.key.as_str(), taint.effect.as_str()),
        ("node.kubernetes.io/not-ready", "NoSchedule" | "NoExecute")
            | ("node.kubernetes.io/unreachable", "NoSchedule")
            | ("node.cloudprovider.kubernetes.io/uninitialized", "NoSchedule")
            | ("karpenter.sh/unregistered", "NoExecute")
    );
    known || taint.key.starts_with("readiness.k8s.io/")
}
