//! The answer of a planner, as `pilotlight plan -o json` prints it. Fields that others add are passed over.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Taint;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use serde::{Deserialize, Serialize};

use crate::objects::Requirement;

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Answer {
    pub pods: Vec<PodAnswer>,
    pub claims: Vec<ClaimAnswer>,
    pub solve_ms: f64,
    /// CPU time of all threads; only the oracle tells it.
    pub cpu_ms: Option<f64>,
    /// With `--consolidate`: the commands, and why each other node stays.
    pub disruptions: Vec<DisruptionAnswer>,
    pub kept: Vec<KeptAnswer>,
    pub disrupt_ms: Option<f64>,
}

/// One command: nodes that go together, and what comes in their place.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct DisruptionAnswer {
    pub nodes: Vec<String>,
    pub action: String,
    pub reason: String,
    pub replacements: Vec<ClaimAnswer>,
    pub saves_per_hour: f64,
    pub terminate_first: bool,
    /// Where each pod goes. Karpenter does not tell.
    pub moves: Option<Vec<MoveAnswer>>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct MoveAnswer {
    /// `namespace/name`.
    pub pod: String,
    pub from: String,
    /// `node/NAME`, `claim/NAME`, or later.
    pub to: Option<String>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct KeptAnswer {
    pub node: String,
    pub reason: String,
    pub code: String,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PodAnswer {
    pub namespace: String,
    pub name: String,
    /// `node/NAME`, `claim/NAME`, or nowhere.
    pub on: Option<String>,
    pub reason: String,
    pub code: String,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ClaimAnswer {
    pub name: String,
    pub node_pool: String,
    pub labels: BTreeMap<String, String>,
    pub taints: Vec<Taint>,
    pub requirements: Vec<Requirement>,
    pub requests: BTreeMap<String, Quantity>,
    pub offerings: Vec<OfferingAnswer>,
    pub pods: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct OfferingAnswer {
    pub instance_type: String,
    pub zone: String,
    pub capacity_type: String,
    pub price: f64,
}

impl Answer {
    /// What the new claims cost an hour, each at its cheapest offering.
    pub fn cost(&self) -> f64 {
        // Nothing at all adds up to -0.
        self.claims.iter().filter_map(ClaimAnswer::price).sum::<f64>() + 0.0
    }

    /// Names of the pods that go nowhere.
    pub fn left_out(&self) -> Vec<String> {
        self.pods.iter().filter(|pod| pod.on.is_none()).map(PodAnswer::full_name).collect()
    }
}

impl PodAnswer {
    pub fn full_name(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }
}

impl ClaimAnswer {
    pub fn price(&self) -> Option<f64> {
        self.offerings.iter().map(|offering| offering.price).min_by(f64::total_cmp)
    }
}
