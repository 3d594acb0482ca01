//! The pools, what each can buy, and what its claims are made from.

use cluster::{
    ClusterError,
    crd::NodePool,
    scene::{
        ClassNow, PoolSource, Problem, catalogue, class_notes, fill_with_plenty, implied_pool, is_up, rack_catalogue,
    },
    template_hash,
};
use core::time::Duration;
use decide::{
    claim::{ClassSeen, Whose},
    money::{Allowance, PoolCap},
    provision::PoolFacts,
    requirement::Requirements,
};
use futures_util::future::join_all;
use host::parts::{Parts, requirements_for};
use jiff::Timestamp;
use model::{
    CapacityType, Claim, ClaimStatus, ClassRef, InstanceKey, Launch, ObjectName, Offering, PoolRef, Requirement,
    ResourceVersion, StockMemory, Uid, names,
    place::{Catalogue, NodeStage, NodeThere, Scene},
};
use std::collections::{BTreeMap, BTreeSet};
use tokio::time::timeout;

/// What a decision waits for a provider to say what it offers. All pods wait for it, also those of other providers.
const LONGEST_LOOK: Duration = Duration::from_secs(2);

const POWER: &str = "power";
/// In the place of the UID of a pool that nobody made.
const IMPLIED: &str = "power";

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
    /// A provider has not answered in time, and may yet.
    pub is_waited_for: bool,
}

/// The provider of a pool and what its class says, or why the pool makes no nodes.
type Served = Result<(&'static str, ClassSeen), String>;

/// Reads all pools. One that cannot be served says why, and stops no other.
pub async fn look(parts: &Parts) -> Result<Pools, ClusterError> {
    let (mut found, problems) = parts.cluster.pools().await?;
    if found.is_empty() && problems.is_empty() {
        found.push(implied_pool());
    }
    let stock = parts.cluster.stock().await?;
    let mut pools = Pools { problems, allowance: allowance(parts, &found).await?, ..Pools::default() };
    let mut served_by: Vec<(NodePool, Claim, Served)> = Vec::new();
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
                match class {
                    ClassSeen::NotReady { why, .. } => Err(why),
                    class => Ok((ours.provider, class)),
                }
            }
        };
        served_by.push((pool, claim, served));
    }
    let providers = served_by.iter().filter_map(|(_, _, served)| served.as_ref().ok().map(|(provider, _)| *provider));
    let offered = all_offerings(parts, providers.collect()).await;
    pools.is_waited_for = offered.values().any(|offered| matches!(offered, Err(Unheard::Late(_))));
    for (pool, claim, served) in served_by {
        let served = served.and_then(|(provider, class)| match offered.get(provider) {
            Some(Ok(all)) => Ok((provider, of_pool(&claim, &class, provider, all))),
            Some(Err(Unheard::Late(why) | Unheard::Failed(why))) => Err(why.clone()),
            None => Err(format!("nothing is known of what {provider} offers")),
        });
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
        let spot_taints = host::parts::spot_taints(provider);
        self.sources.push(PoolSource { pool, catalogue, spot_taints });
    }

    /// A machine whose Node is there and answers can be woken for nobody, whoever switched it on. Of one that we closed its claim says
    /// more: where that is gone, the machine is off, and only its Node does not show it yet.
    pub fn leave_machines_that_are_up(&self, scene: &mut Scene) {
        let closed = |node: &NodeThere| node.taints.iter().any(|taint| taint.key == names::DISRUPTED_TAINT);
        for pool in &scene.pools {
            let Some((_, facts)) = self.racks().find(|(name, _)| *name == pool.name.as_str()) else { continue };
            let nodes = || scene.nodes.iter().filter(|node| !closed(node));
            let machines = facts.offerings.iter().filter(|machine| is_up(machine, nodes()));
            let up: BTreeSet<&str> = machines.map(|machine| machine.id.instance_type.as_str()).collect();
            let types = scene.catalogues.get_mut(pool.catalogue).map(|catalogue| catalogue.types.iter_mut());
            for machine in types.into_iter().flatten().filter(|machine| up.contains(machine.name.as_str())) {
                machine.offerings.iter_mut().for_each(|offered| offered.available = false);
            }
        }
    }

    fn racks(&self) -> impl Iterator<Item = (&str, &PoolFacts)> {
        let all = self.facts.iter().map(|(name, facts)| (name.as_str(), facts));
        all.filter(|(_, facts)| facts.provider == POWER)
    }

    /// A claim for a machine of which little is known holds what the machine would.
    pub fn fill_machines(&self, scene: &mut Scene) {
        let racks: BTreeSet<&str> = self.racks().map(|(name, _)| name).collect();
        for node in scene.nodes.iter_mut().filter(|node| node.stage == NodeStage::InFlight) {
            if node.pool.as_ref().is_some_and(|pool| racks.contains(pool.as_str())) {
                fill_with_plenty(&mut node.allocatable);
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

/// Why nothing is known of what a provider offers.
enum Unheard {
    /// It has not answered in time, and may yet.
    Late(String),
    Failed(String),
}

/// All of them are asked at once: one that hangs keeps no pod from the machines of the others.
async fn all_offerings(
    parts: &Parts,
    providers: BTreeSet<&'static str>,
) -> BTreeMap<&'static str, Result<Vec<Offering>, Unheard>> {
    let ask = async |provider: &'static str| (provider, offerings(parts, provider).await);
    join_all(providers.into_iter().map(ask)).await.into_iter().collect()
}

async fn offerings(parts: &Parts, name: &str) -> Result<Vec<Offering>, Unheard> {
    let provider = parts.providers.get(name).map_err(|failure| Unheard::Failed(failure.message))?;
    match timeout(LONGEST_LOOK, provider.offerings()).await {
        Ok(answer) => answer.map_err(|error| Unheard::Failed(error.to_string())),
        // What it says later is remembered for a moment, and the next decision has it.
        Err(_) => Err(Unheard::Late(format!("{name} does not answer"))),
    }
}

/// What of a provider's offerings its class leaves. A pool that says nothing about capacity types never gets a spot machine.
fn of_pool(claim: &Claim, class: &ClassSeen, provider: &str, all: &[Offering]) -> Vec<Offering> {
    let bare = Claim { requirements: vec![], ..claim.clone() };
    let by_class = requirements_for(provider, &bare, class);
    let kept = Requirements::new(&by_class);
    let says_how = claim.requirements.iter().any(|one| one.key == names::CAPACITY_TYPE);
    let left = |one: &&Offering| kept.kept_by(&one.labels) && (says_how || one.id.capacity_type != CapacityType::Spot);
    let mut left: Vec<Offering> = all.iter().filter(left).cloned().collect();
    // A class that is not there leaves every machine: what says whose a machine is, is not held against the pool's own label then.
    let label = claim.class.label();
    if provider == POWER && by_class.iter().all(|one| one.key != label) {
        left.iter_mut().for_each(|one| _ = one.labels.remove(&label));
    }
    left
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
    if provider == POWER { rack_catalogue(offerings, stock, now) } else { catalogue(offerings, stock, now) }
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
        requests: model::Resources::new(),
        taints: vec![],
        startup_taints: vec![],
        termination_grace: None,
        launch: Launch::NotBegun,
        status: ClaimStatus::default(),
    })
}
