//! The answer, in the words and the JSON that scripts rely on.

use cluster::scene::{SceneRead, SceneSource};
use k8s_openapi::api::core::v1::Pod;
use model::{
    Quantity, Resources, Taint,
    place::{ClaimPlanned, OfferingRef, Placing, PoolRequirement, Where},
};
use serde_json::{Map, Value, json};
use std::{collections::BTreeMap, time::Duration};

use super::catalogue::Market;

pub struct Answer {
    pub pods: Vec<PodAnswer>,
    pub claims: Vec<ClaimAnswer>,
    pub solve: Duration,
    pub out_of_time: bool,
    pub warnings: Vec<String>,
}

pub struct PodAnswer {
    pub namespace: String,
    pub name: String,
    /// `node/NAME` or `claim/NAME`.
    pub on: Option<String>,
    /// Why not, and for programs: only without a place.
    pub reason: String,
    pub code: String,
}

pub struct ClaimAnswer {
    pub name: String,
    pub pool: String,
    pub requests: Resources,
    /// Cheapest first.
    pub offerings: Vec<OfferingAnswer>,
    /// `namespace/name`.
    pub pods: Vec<String>,
    labels: BTreeMap<String, String>,
    taints: Vec<Taint>,
    startup_taints: Vec<Taint>,
    requirements: Vec<PoolRequirement>,
}

pub struct OfferingAnswer {
    pub instance_type: String,
    /// Absent for a regional one.
    pub zone: Option<String>,
    pub capacity_type: &'static str,
    /// An hour.
    pub price: Option<f64>,
}

/// It waits for somebody else, so that it has no place is nobody's failure.
const NOT_PROVISIONABLE: &str = "NotProvisionable";
const MALFORMED: &str = "Malformed";

impl Answer {
    pub fn new(
        source: &SceneSource,
        read: &SceneRead,
        placing: &Placing,
        market: &Market,
        solve: Duration,
        mut warnings: Vec<String>,
    ) -> Self {
        let claims = placing.claims.iter().map(|claim| describe(claim, read, market)).collect();
        warnings.extend(read.problems.iter().map(|one| format!("{} {}: {}", one.kind, one.name, one.why)));
        if placing.out_of_time {
            warnings.push("time ran out before every pod was looked at: give it more with --timeout".to_owned());
        }
        Answer { pods: pods(source, read, placing), claims, solve, out_of_time: placing.out_of_time, warnings }
    }

    pub fn some_pod_has_no_option(&self) -> bool {
        self.pods.iter().any(|pod| pod.on.is_none() && pod.code != NOT_PROVISIONABLE)
    }

    /// An hour of all new claims, each at its cheapest.
    pub fn price_per_hour(&self) -> f64 {
        self.claims.iter().filter_map(|claim| claim.offerings.first()?.price).sum()
    }

    pub fn to_json(&self) -> String {
        let answer = json!({
            "pods": self.pods.iter().map(PodAnswer::to_json).collect::<Value>(),
            "claims": self.claims.iter().map(ClaimAnswer::to_json).collect::<Value>(),
            "pricePerHour": self.price_per_hour(),
            "solveMs": self.solve.as_secs_f64() * 1e3,
            "outOfTime": self.out_of_time,
            "warnings": self.warnings,
        });
        format!("{answer:#}\n")
    }
}

impl PodAnswer {
    fn to_json(&self) -> Value {
        let mut pod = json!({ "namespace": self.namespace, "name": self.name, "on": self.on });
        if self.on.is_none() {
            pod["reason"] = self.reason.as_str().into();
            pod["code"] = self.code.as_str().into();
        }
        pod
    }
}

impl ClaimAnswer {
    fn to_json(&self) -> Value {
        let offering = |one: &OfferingAnswer| {
            let zone = one.zone.as_deref().unwrap_or_default();
            json!({ "instanceType": one.instance_type, "zone": zone, "capacityType": one.capacity_type, "price": one.price })
        };
        let mut claim = json!({
            "name": self.name,
            "nodePool": self.pool,
            "labels": self.labels,
            "taints": self.taints.iter().map(taint).collect::<Value>(),
            "requirements": self.requirements.iter().map(requirement).collect::<Value>(),
            "requests": self.requests.iter().map(|(name, of)| (name.clone(), Value::String(amount(name, *of)))).collect::<Map<_, _>>(),
            "offerings": self.offerings.iter().map(offering).collect::<Value>(),
            "pods": self.pods,
        });
        if !self.startup_taints.is_empty() {
            claim["startupTaints"] = self.startup_taints.iter().map(taint).collect();
        }
        claim
    }
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
        let answer = PodAnswer {
            namespace: one.namespace.clone(),
            name: one.name.clone(),
            on: None,
            reason: one.why.clone(),
            code: one.code.to_owned(),
        };
        found.insert((&one.namespace, &one.name), answer);
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

fn describe(claim: &ClaimPlanned, read: &SceneRead, market: &Market) -> ClaimAnswer {
    let scene = &read.scene;
    let pool = scene.pools.get(claim.pool);
    let catalogue = pool.map(|pool| pool.catalogue).unwrap_or_default();
    let offering = |of: &OfferingRef| {
        let found = scene.catalogues.get(catalogue)?.types.get(of.instance_type as usize)?;
        let offered = found.offerings.get(of.offering as usize)?;
        Some(OfferingAnswer {
            instance_type: found.name.clone(),
            zone: offered.zone.clone(),
            capacity_type: offered.capacity_type.as_str(),
            price: market.price(catalogue, *of),
        })
    };
    let mut offerings: Vec<OfferingAnswer> = claim.offerings.iter().filter_map(offering).collect();
    // The solve counts millionths; where a file is finer, its last digits decide.
    offerings.sort_by(|a, b| a.price.unwrap_or(f64::INFINITY).total_cmp(&b.price.unwrap_or(f64::INFINITY)));
    let pod = |at: &usize| scene.pods.get(*at).map(|pod| format!("{}/{}", pod.namespace, pod.name));
    ClaimAnswer {
        name: claim.name.clone(),
        pool: pool.map(|pool| pool.name.as_str().to_owned()).unwrap_or_default(),
        requests: claim.requests.clone(),
        offerings,
        pods: claim.pods.iter().filter_map(pod).collect(),
        labels: claim.labels.clone(),
        taints: pool.map(|pool| pool.taints.clone()).unwrap_or_default(),
        startup_taints: pool.map(|pool| pool.startup_taints.clone()).unwrap_or_default(),
        requirements: claim.all_requirements(scene),
    }
}

fn taint(one: &Taint) -> Value {
    let mut taint = json!({ "key": one.key, "effect": one.effect.as_str() });
    if !one.value.is_empty() {
        taint["value"] = one.value.as_str().into();
    }
    taint
}

fn requirement(one: &PoolRequirement) -> Value {
    let mut requirement = json!({ "key": one.requirement.key, "operator": one.requirement.operator.as_str() });
    if !one.requirement.values.is_empty() {
        requirement["values"] = json!(one.requirement.values);
    }
    if let Some(least) = one.min_values {
        requirement["minValues"] = least.into();
    }
    requirement
}

/// Bytes by powers of two, everything else as a plain number.
pub fn amount(name: &str, of: Quantity) -> String {
    let bytes = name.contains("memory") || name.contains("storage") || name.starts_with("hugepages-");
    match of.thousandths() {
        _ if bytes => of.to_string(),
        thousandths if thousandths % 1000 == 0 => (thousandths / 1000).to_string(),
        thousandths => format!("{thousandths}m"),
    }
}
