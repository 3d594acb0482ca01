//! The answer, in the words and the JSON that scripts rely on.

use cluster::scene::{SceneRead, SceneSource};
use decide::requirement::left_open;
use k8s_openapi::api::core::v1::Pod;
use model::{
    Quantity, Requirement, Taint,
    place::{ClaimPlanned, OfferingRef, Placing, PoolRequirement, Where},
};
use serde::Serialize;
use serde_json::ser::{PrettyFormatter, Serializer};
use std::{
    collections::{BTreeMap, HashMap},
    io,
    rc::Rc,
    time::Duration,
};

use super::{catalogue::Market, consolidate::Consolidation};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Answer {
    pub pods: Vec<PodAnswer>,
    pub claims: Vec<ClaimAnswer>,
    /// Of all new claims, each at its cheapest.
    pub price_per_hour: f64,
    pub solve_ms: f64,
    pub out_of_time: bool,
    #[serde(flatten)]
    pub consolidation: Option<Consolidation>,
    pub warnings: Vec<String>,
}

#[derive(Serialize)]
pub struct PodAnswer {
    pub namespace: String,
    pub name: String,
    /// `node/NAME` or `claim/NAME`.
    pub on: Option<String>,
    /// Why not, and for programs: only without a place.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub code: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClaimAnswer {
    pub name: String,
    #[serde(rename = "nodePool")]
    pub pool: String,
    labels: BTreeMap<String, String>,
    taints: Vec<TaintAnswer>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    startup_taints: Vec<TaintAnswer>,
    requirements: Vec<RequirementAnswer>,
    pub requests: BTreeMap<String, String>,
    /// Cheapest first. Claims with the same list share it: a thousand claims may each list hundreds of types.
    #[serde(serialize_with = "all")]
    pub offerings: Rc<Vec<OfferingAnswer>>,
    /// `namespace/name`.
    pub pods: Vec<String>,
}

#[derive(Serialize)]
struct TaintAnswer {
    key: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    value: String,
    effect: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RequirementAnswer {
    key: String,
    operator: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    values: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_values: Option<u32>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OfferingAnswer {
    pub instance_type: String,
    /// Empty for a regional one.
    pub zone: String,
    pub capacity_type: &'static str,
    /// An hour.
    pub price: Option<f64>,
}

/// It waits for somebody else, so that it has no place is nobody's failure.
pub const NOT_PROVISIONABLE: &str = "NotProvisionable";
const MALFORMED: &str = "Malformed";

impl Answer {
    /// At most `most` offerings of a claim are listed.
    pub fn new(
        source: &SceneSource,
        read: &SceneRead,
        placing: &Placing,
        market: &Market,
        most: usize,
        solve: Duration,
    ) -> Self {
        let mut lists = Lists::new(read, market, most);
        let scene = &read.scene;
        let pod = |at: usize| scene.pods.get(at).map(|pod| format!("{}/{}", pod.namespace, pod.name));
        let claims: Vec<ClaimAnswer> = placing.claims.iter().map(|claim| describe(claim, &mut lists, &pod)).collect();
        let mut warnings: Vec<String> =
            read.problems.iter().map(|one| format!("{} {}: {}", one.kind, one.name, one.why)).collect();
        if placing.out_of_time {
            warnings.push("time ran out before every pod was looked at: give it more with --timeout".to_owned());
        }
        Answer {
            pods: pods(source, read, placing),
            // Nothing at all adds up to -0.
            price_per_hour: claims.iter().filter_map(|claim| claim.offerings.first()?.price).sum::<f64>() + 0.0,
            claims,
            solve_ms: solve.as_secs_f64() * 1e3,
            out_of_time: placing.out_of_time,
            consolidation: None,
            warnings,
        }
    }

    pub fn some_pod_has_no_option(&self) -> bool {
        self.pods.iter().any(|pod| pod.on.is_none() && pod.code != NOT_PROVISIONABLE)
    }

    /// Piece by piece: an answer may be larger than all that led to it.
    pub fn write_json(&self, to: &mut impl io::Write) -> io::Result<()> {
        let mut serializer = Serializer::with_formatter(&mut *to, PrettyFormatter::with_indent(b" "));
        self.serialize(&mut serializer)?;
        writeln!(to)
    }
}

fn all<S: serde::Serializer>(list: &Rc<Vec<OfferingAnswer>>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(list.iter())
}

/// Every pod that waits or is about to lose its node, in the order of the files.
fn pods(source: &SceneSource, read: &SceneRead, placing: &Placing) -> Vec<PodAnswer> {
    let placed = read.scene.pods.iter().zip(&placing.pods);
    let mut found: BTreeMap<(&str, &str), PodAnswer> = placed
        .map(|(pod, place)| {
            let (namespace, name) = (pod.namespace.as_str(), pod.name.as_str());
            let (reason, code) = match place {
                Where::Nowhere(why) => (why.reason.clone(), why.code.as_str().to_owned()),
                Where::Node(_) | Where::Claim(_) => (String::new(), String::new()),
            };
            let on = place.name(&read.scene, placing);
            ((namespace, name), PodAnswer { namespace: namespace.into(), name: name.into(), on, reason, code })
        })
        .collect();
    for one in &read.left_out {
        let (namespace, name) = (one.pod.namespace.as_str(), one.pod.name.as_str());
        let answer = PodAnswer {
            namespace: namespace.into(),
            name: name.into(),
            on: None,
            reason: one.why.clone(),
            code: one.code.to_owned(),
        };
        found.insert((namespace, name), answer);
    }
    let waits =
        |pod: &&Pod| pod.spec.as_ref().is_some_and(|spec| spec.node_name.as_deref().unwrap_or_default().is_empty());
    let in_order = source.pods.iter().filter_map(|pod| {
        let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
        let name = pod.metadata.name.as_deref().unwrap_or_default();
        found.remove(&(namespace, name)).or_else(|| {
            let full = format!("{namespace}/{name}");
            let problem = read.problems.iter().find(|one| one.kind == "Pod" && one.name == full)?;
            waits(&pod).then(|| PodAnswer {
                namespace: namespace.to_owned(),
                name: name.to_owned(),
                on: None,
                reason: problem.why.clone(),
                code: MALFORMED.to_owned(),
            })
        })
    });
    in_order.collect()
}

/// Lists of offerings, each described once.
pub struct Lists<'a> {
    read: &'a SceneRead,
    market: &'a Market,
    most: usize,
    known: HashMap<(usize, *const OfferingRef), Rc<Vec<OfferingAnswer>>>,
}

impl<'a> Lists<'a> {
    pub fn new(read: &'a SceneRead, market: &'a Market, most: usize) -> Self {
        Lists { read, market, most, known: HashMap::new() }
    }

    fn describe(&mut self, catalogue: usize, list: &[OfferingRef]) -> Rc<Vec<OfferingAnswer>> {
        // The lists live in the placing, so while this one is there no other has its address.
        let key = (catalogue, list.as_ptr());
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let offering = |of: &OfferingRef| {
            let found = self.read.scene.catalogues.get(catalogue)?.types.get(of.instance_type as usize)?;
            let offered = found.offerings.get(of.offering as usize)?;
            Some(OfferingAnswer {
                instance_type: found.name.clone(),
                zone: offered.zone.clone().unwrap_or_default(),
                capacity_type: offered.capacity_type.as_str(),
                price: self.market.price(catalogue, *of),
            })
        };
        let mut offerings: Vec<OfferingAnswer> = list.iter().filter_map(offering).collect();
        // The solve counts millionths; where a file is finer, its last digits decide.
        offerings.sort_by(|a, b| a.price.unwrap_or(f64::INFINITY).total_cmp(&b.price.unwrap_or(f64::INFINITY)));
        offerings.truncate(self.most);
        let described = Rc::new(offerings);
        self.known.insert(key, described.clone());
        described
    }
}

/// `pod` names the pod at a position that the claim has.
pub fn describe(claim: &ClaimPlanned, lists: &mut Lists<'_>, pod: &dyn Fn(usize) -> Option<String>) -> ClaimAnswer {
    let scene = &lists.read.scene;
    let pool = scene.pools.get(claim.pool);
    let mut labels = claim.labels.clone();
    let catalogue = pool.and_then(|pool| scene.catalogues.get(pool.catalogue));
    let is_of_machines = |key: &str| {
        let types = catalogue.map(|all| all.types.as_slice()).unwrap_or_default();
        types.iter().any(|of| of.requirements.iter().any(|one| one.key == key))
    };
    let asked: Vec<Requirement> = claim.requirements.iter().map(|one| one.requirement.clone()).collect();
    for (key, value) in left_open(&asked).into_iter().filter(|(key, _)| !is_of_machines(key)) {
        labels.entry(key).or_insert(value);
    }
    ClaimAnswer {
        name: claim.name.clone(),
        pool: pool.map(|pool| pool.name.as_str().to_owned()).unwrap_or_default(),
        labels,
        taints: pool.map(|pool| taints(&pool.taints)).unwrap_or_default(),
        startup_taints: pool.map(|pool| taints(&pool.startup_taints)).unwrap_or_default(),
        requirements: claim.all_requirements(scene).into_iter().map(requirement).collect(),
        requests: claim.requests.iter().map(|(name, of)| (name.clone(), amount(name, *of))).collect(),
        pods: claim.pods.iter().filter_map(|at| pod(*at)).collect(),
        offerings: lists.describe(pool.map(|pool| pool.catalogue).unwrap_or_default(), &claim.offerings),
    }
}

fn taints(all: &[Taint]) -> Vec<TaintAnswer> {
    let taint =
        |one: &Taint| TaintAnswer { key: one.key.clone(), value: one.value.clone(), effect: one.effect.as_str() };
    all.iter().map(taint).collect()
}

fn requirement(one: PoolRequirement) -> RequirementAnswer {
    let PoolRequirement { requirement, min_values } = one;
    let operator = requirement.operator.as_str();
    RequirementAnswer { key: requirement.key, operator, values: requirement.values, min_values }
}

/// Bytes by powers of two, everything else as a plain number.
fn amount(name: &str, of: Quantity) -> String {
    let bytes = name.contains("memory") || name.contains("storage") || name.starts_with("hugepages-");
    match of.thousandths() {
        _ if bytes => of.to_string(),
        thousandths if thousandths % 1000 == 0 => (thousandths / 1000).to_string(),
        thousandths => format!("{thousandths}m"),
    }
}
