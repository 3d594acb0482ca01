//! The pools, what each can buy, and what its claims are made from.

use cluster::{
    ClusterError,
    crd::{NodeClaimTemplate, NodeClaimTemplateSpec, NodeClassReference, NodePool, NodePoolSpec},
    scene::{ClassNow, PoolSource, Problem, catalogue, class_notes},
    template_hash,
};
use decide::{
    claim::{ClassSeen, Whose},
    money::{Allowance, PoolCap},
    provision::PoolFacts,
    requirement::Requirements,
};
use host::parts::{Parts, requirements_for};
use jiff::Timestamp;
use model::{
    CapacityType, Claim, ClaimStatus, ClassRef, InstanceKey, Launch, ObjectName, Offering, PoolRef, Price, Quantity,
    Requirement, ResourceVersion, StockMemory, Uid, names,
    place::{Catalogue, NodeStage, Scene},
};
use std::collections::{BTreeMap, BTreeSet};

const POWER: &str = "power";
/// The pool that nobody made: machines of the environment, where there is no NodePool at all.
const IMPLIED: &str = "power";
const IMPLIED_CLASS: (&str, &str, &str) = ("pilotlight.dev", "PowerNodeClass", "default");

/// More of it than any machine has: for machines of which only the GPUs are known.
const PLENTY: [(&str, i128); 4] = [("cpu", 10_000), ("memory", 1 << 50), ("ephemeral-storage", 1 << 60), ("pods", 110)];

#[derive(Default)]
pub struct Pools {
    pub sources: Vec<PoolSource>,
    pub catalogues: Vec<Catalogue>,
    /// What may be spent: the cluster's cap, and the ledger.
    allowance: Allowance,
    /// By the pool's name.
    pub facts: BTreeMap<String, PoolFacts>,
    /// What nodes made now would be, by kind and name of their class.
    pub classes: BTreeMap<(String, String), ClassNow>,
    pub problems: Vec<Problem>,
}

/// Reads all pools. One that cannot be served says why, and stops no other.
pub async fn look(parts: &Parts) -> Result<Pools, ClusterError> {
    let (mut found, problems) = parts.cluster.pools().await?;
    if found.is_empty() && problems.is_empty() {
        found.push(implied());
    }
    let stock = parts.cluster.stock().await?;
    let mut pools = Pools { problems, allowance: allowance(parts, &found).await?, ..Pools::default() };
    let mut offered: BTreeMap<&'static str, Result<Vec<Offering>, String>> = BTreeMap::new();
    for pool in found {
        let Some(claim) = as_claim(&pool) else { continue };
        let served = match parts.whose(&claim).await? {
            Whose::Others { reason } => Err(reason),
            Whose::Ours(ours) => {
                let (class, hash) = parts.classes.with_hash(&parts.cluster, &claim, ours).await?;
                pools.classes.extend(hash.map(|hash| {
                    let name = (claim.class.kind.clone(), claim.class.name.to_string());
                    (name, ClassNow { hash: Some(hash), ..ClassNow::default() })
                }));
                if !offered.contains_key(ours.provider) {
                    offered.insert(ours.provider, offerings(parts, ours.provider).await);
                }
                match (class, offered.get(ours.provider)) {
                    (ClassSeen::NotReady { why, .. }, _) => Err(why),
                    (_, Some(Err(why))) => Err(why.clone()),
                    (class, Some(Ok(all))) => Ok((ours.provider, of_pool(&claim, &class, ours.provider, all))),
                    (_, None) => Err(format!("nothing is known of what {} offers", ours.provider)),
                }
            }
        };
        let nobody_made_it = pool.metadata.uid.is_none();
        if nobody_made_it && served.as_ref().map_or(true, |(_, machines)| machines.is_empty()) {
            continue;
        }
        pools.add(pool, &claim, served, &stock, parts.now());
    }
    Ok(pools)
}

impl Pools {
    fn add(
        &mut self,
        mut pool: NodePool,
        claim: &Claim,
        served: Result<(&'static str, Vec<Offering>), String>,
        stock: &StockMemory,
        now: Timestamp,
    ) {
        let (provider, offerings) =
            served.as_ref().map_or(("", Vec::new()), |(provider, all)| (*provider, all.clone()));
        if !provider.is_empty() {
            in_the_providers_words(&mut pool, provider, claim);
        }
        let name = pool.metadata.name.clone().unwrap_or_default();
        let owner = pool
            .metadata
            .uid
            .as_ref()
            .and_then(|uid| Some(PoolRef { name: claim.key.name.clone(), uid: Uid::new(uid).ok()? }));
        let mut annotations = pool.spec.template.metadata.annotations.clone();
        if owner.is_some() {
            annotations.extend(template_hash(&pool));
            let class = self.classes.get(&(claim.class.kind.clone(), claim.class.name.to_string()));
            let hash = class.and_then(|class| class.hash.as_ref());
            annotations.extend(hash.map(|hash| class_notes(&claim.class, hash)).unwrap_or_default());
        }
        let template = &pool.spec.template.spec;
        let facts = PoolFacts {
            owner,
            class: claim.class.clone(),
            provider,
            annotations,
            expire_after: template.expire_after.clone(),
            termination_grace_period: template.termination_grace_period.clone(),
            offerings: offerings.clone().into(),
            allowance: Allowance { pool: cap_of(&pool), ..self.allowance.clone() },
        };
        self.facts.insert(name, facts);
        let catalogue = served.map(|_| {
            self.catalogues.push(sorted_out(provider, &offerings, stock, now));
            self.catalogues.len() - 1
        });
        self.sources.push(PoolSource { pool, catalogue });
    }

    /// A claim for a machine of which little is known holds what the machine would.
    pub fn fill_machines(&self, scene: &mut Scene) {
        let racks: BTreeSet<&str> =
            self.facts.iter().filter(|(_, facts)| facts.provider == POWER).map(|(name, _)| name.as_str()).collect();
        for node in scene.nodes.iter_mut().filter(|node| node.stage == NodeStage::InFlight) {
            if node.pool.as_ref().is_some_and(|pool| racks.contains(pool.as_str())) {
                for (name, amount) in plenty() {
                    node.allocatable.entry(name).or_insert(amount);
                }
            }
        }
    }
}

/// The ledger is read only where somebody set a cap.
async fn allowance(parts: &Parts, pools: &[NodePool]) -> Result<Allowance, ClusterError> {
    let cluster = parts.max_price.clone();
    let is_capped = cluster.is_some() || pools.iter().any(|pool| cap_of(pool).is_some());
    let ledger = if is_capped { parts.cluster.spending().await? } else { None };
    let ledger = ledger.map(|(ledger, _)| ledger).unwrap_or_default().into();
    Ok(Allowance { cluster, pool: None, ledger })
}

fn cap_of(pool: &NodePool) -> Option<PoolCap> {
    PoolCap::read(pool.metadata.name.as_deref()?, pool.metadata.annotations.as_ref()?)
}

async fn offerings(parts: &Parts, provider: &str) -> Result<Vec<Offering>, String> {
    let provider = parts.providers.get(provider).map_err(|failure| failure.message)?;
    provider.offerings().await.map_err(|error| error.to_string())
}

/// What of a provider's offerings its class leaves. A pool that says nothing about capacity types never gets a spot machine.
fn of_pool(claim: &Claim, class: &ClassSeen, provider: &str, all: &[Offering]) -> Vec<Offering> {
    let bare = Claim { requirements: vec![], ..claim.clone() };
    let by_class = requirements_for(provider, &bare, class);
    let by_class = Requirements::new(&by_class);
    let says_how = claim.requirements.iter().any(|one| one.key == names::CAPACITY_TYPE);
    let left =
        |one: &&Offering| by_class.kept_by(&one.labels) && (says_how || one.id.capacity_type != CapacityType::Spot);
    all.iter().filter(left).cloned().collect()
}

/// Short names of types, and values of systems that we replace, as the offerings spell them.
fn in_the_providers_words(pool: &mut NodePool, provider: &str, claim: &Claim) {
    let nothing = ClassSeen::Known(BTreeMap::new());
    let translated: Vec<Requirement> = requirements_for(provider, claim, &nothing);
    let own = &mut pool.spec.template.spec.requirements;
    // One that cannot be read is not in the claim; the scene says what is wrong with it.
    if own.len() == translated.len() {
        for (own, translated) in own.iter_mut().zip(translated) {
            own.key = translated.key;
            own.values = translated.values;
        }
    }
}

fn sorted_out(provider: &str, offerings: &[Offering], stock: &StockMemory, now: Timestamp) -> Catalogue {
    if provider != POWER {
        return catalogue(offerings, stock, now);
    }
    // Of machines that cost the same, the smallest that suffices: a share of a cent for each GPU decides.
    let mut machines = offerings.to_vec();
    for machine in &mut machines {
        let gpus = machine.gpu.as_ref().map_or(0, |gpu| u64::from(gpu.count));
        let Some(Price { millionths_per_hour, .. }) = &mut machine.price else { continue };
        *millionths_per_hour = millionths_per_hour.saturating_add(gpus);
    }
    let mut catalogue = catalogue(&machines, stock, now);
    for machine in &mut catalogue.types {
        for (name, amount) in plenty() {
            machine.allocatable.entry(name).or_insert(amount);
        }
    }
    catalogue
}

fn plenty() -> impl Iterator<Item = (String, Quantity)> {
    PLENTY.into_iter().map(|(name, whole)| (name.to_owned(), Quantity::from_thousandths(whole * 1000)))
}

fn implied() -> NodePool {
    let (group, kind, name) = IMPLIED_CLASS;
    let class = NodeClassReference { group: group.to_owned(), kind: kind.to_owned(), name: name.to_owned() };
    let template = NodeClaimTemplate {
        spec: NodeClaimTemplateSpec { node_class_ref: class, ..NodeClaimTemplateSpec::default() },
        ..NodeClaimTemplate::default()
    };
    NodePool::new(IMPLIED, NodePoolSpec { template, ..NodePoolSpec::default() })
}

/// A claim as the pool would make it, to find out whose it is and what its class says. `None` for a pool that has no name.
fn as_claim(pool: &NodePool) -> Option<Claim> {
    let name = ObjectName::new(pool.metadata.name.clone()?).ok()?;
    let template = &pool.spec.template;
    let class = &template.spec.node_class_ref;
    let requirement = |one: &cluster::crd::RequirementWithMinimum| {
        let operator = one.operator.parse().ok()?;
        Some(Requirement { key: one.key.clone(), operator, values: one.values.clone() })
    };
    let mut labels = template.metadata.labels.clone();
    labels.insert(names::NODE_POOL.to_owned(), name.to_string());
    Some(Claim {
        key: InstanceKey { claim: Uid::new(pool.metadata.uid.as_deref().unwrap_or(IMPLIED)).ok()?, name },
        version: ResourceVersion::new("0").ok()?,
        created_at: Timestamp::UNIX_EPOCH,
        deleted_at: None,
        labels,
        annotations: BTreeMap::new(),
        finalizers: BTreeSet::new(),
        has_owner: true,
        class: ClassRef {
            group: class.group.clone(),
            kind: class.kind.clone(),
            name: ObjectName::new(&class.name).ok()?,
        },
        requirements: template.spec.requirements.iter().filter_map(requirement).collect(),
        requests: BTreeMap::new(),
        taints: vec![],
        startup_taints: vec![],
        termination_grace: None,
        launch: Launch::NotBegun,
        status: ClaimStatus::default(),
    })
}
