//! A small catalogue, plans in few words, and one `check`: a plan that keeps a rule, and one that breaks it.

#![allow(dead_code, clippy::unwrap_used, clippy::panic)]

use checker::{Answer, Catalog, Cluster, Objects, Rule, check as judge};
use serde_json::{Value, json};

/// small 2 CPU, large 8 CPU, gpu 8 CPU and 4 GPUs; zones a and b. `gone` is not available, `arm` is of another architecture.
pub fn catalog() -> String {
    let offering = |zone: &str, kind: &str, price: f64, available: bool, product: Option<&str>| {
        let mut requirements = vec![
            json!({"key": "karpenter.sh/capacity-type", "operator": "In", "values": [kind]}),
            json!({"key": "topology.kubernetes.io/zone", "operator": "In", "values": [zone]}),
        ];
        if let Some(product) = product {
            requirements.push(json!({"key": "nvidia.com/gpu.product", "operator": "In", "values": [product]}));
        }
        json!({"Price": price, "Available": available, "Requirements": requirements})
    };
    let both = |price: f64| {
        vec![offering("zone-a", "on-demand", price, true, None), offering("zone-b", "on-demand", price, true, None)]
    };
    let mut small = both(0.1);
    small.push(offering("zone-a", "spot", 0.04, true, None));
    json!([
        {"name": "small", "architecture": "amd64", "resources": {"cpu": "2", "memory": "4Gi", "pods": "20"}, "offerings": small},
        {"name": "large", "architecture": "amd64", "resources": {"cpu": "8", "memory": "16Gi"}, "offerings": both(0.4)},
        {"name": "arm", "architecture": "arm64", "resources": {"cpu": "2", "memory": "4Gi"}, "offerings": both(0.08)},
        {"name": "gpu", "architecture": "amd64", "resources": {"cpu": "8", "memory": "32Gi", "nvidia.com/gpu": "4"},
         "offerings": [offering("zone-a", "on-demand", 2.0, true, Some("L4"))]},
        {"name": "gone", "architecture": "amd64", "resources": {"cpu": "2", "memory": "4Gi"},
         "offerings": [offering("zone-a", "on-demand", 0.01, false, None)]},
    ])
    .to_string()
}

/// A pool without demands.
pub const POOL: &str = "kind: NodePool\nmetadata: {name: default}\nspec: {template: {spec: {requirements: []}}}\n";

/// A pod that waits and wants one CPU; `more` goes into its spec, `labels` are `app` and its value.
pub fn pod(name: &str, app: &str, more: &str) -> String {
    let main = "containers: [{name: main, resources: {requests: {cpu: '1'}}}]";
    format!("---\nkind: Pod\nmetadata: {{name: {name}, labels: {{app: {app}}}}}\nspec: {{{main}, {more}}}\n")
}

/// A node in zone-a with 4 CPU; `more` goes into its spec.
pub fn node(name: &str, zone: &str, more: &str) -> String {
    let labels = format!("{{topology.kubernetes.io/zone: {zone}, kubernetes.io/arch: amd64}}");
    format!(
        "---\nkind: Node\nmetadata: {{name: {name}, labels: {labels}}}\nspec: {{{more}}}\nstatus: {{allocatable: {{cpu: '4', memory: 8Gi, pods: '10'}}}}\n"
    )
}

/// A plan: where pods go, and the claims that are made for them.
#[derive(Clone, Default)]
pub struct Plan {
    pods: Vec<Value>,
    claims: Vec<Value>,
}

impl Plan {
    pub fn on(mut self, pod: &str, place: &str) -> Self {
        let place = if place == "-" { Value::Null } else { json!(place) };
        self.pods.push(json!({"namespace": "default", "name": pod, "on": place}));
        self
    }

    /// A claim of `default` for pods of one CPU each, of one type, in these zones, on demand.
    pub fn claim(self, name: &str, kind: &str, zones: &[&str], pods: &[&str]) -> Self {
        let requirements = json!([
            {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": [kind]},
            {"key": "topology.kubernetes.io/zone", "operator": "In", "values": zones},
            {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]},
        ]);
        self.claim_with(name, kind, zones, pods, requirements, |_| {})
    }

    pub fn claim_with(
        mut self,
        name: &str,
        kind: &str,
        zones: &[&str],
        pods: &[&str],
        requirements: Value,
        change: impl Fn(&mut Value),
    ) -> Self {
        let price = match kind {
            "small" => 0.1,
            "large" => 0.4,
            "arm" => 0.08,
            "gpu" => 2.0,
            _ => 0.01,
        };
        let offerings: Vec<Value> = zones
            .iter()
            .map(|zone| json!({"instanceType": kind, "zone": zone, "capacityType": "on-demand", "price": price}))
            .collect();
        let full: Vec<String> = pods.iter().map(|pod| format!("default/{pod}")).collect();
        let mut claim = json!({
            "name": name, "nodePool": "default", "labels": {}, "taints": [], "requirements": requirements,
            "requests": {"cpu": pods.len().to_string()}, "offerings": offerings, "pods": full,
        });
        change(&mut claim);
        self.claims.push(claim);
        for pod in pods {
            self = self.on(pod, &format!("claim/{name}"));
        }
        self
    }

    fn answer(&self) -> Answer {
        serde_json::from_value(json!({"pods": self.pods, "claims": self.claims, "solveMs": 0.0})).unwrap()
    }
}

pub fn violations(cluster: &str, plan: &Plan) -> Vec<String> {
    let catalog = Catalog::parse(&catalog()).unwrap();
    let mut objects = Objects::default();
    objects.add_yaml("test", cluster).unwrap();
    let cluster = Cluster::new(objects, &catalog);
    judge(&cluster, &catalog, &plan.answer()).iter().map(ToString::to_string).collect()
}

/// Nothing is wrong with the first plan; the second breaks this rule.
pub fn check(rule: Rule, cluster: &str, keeps: &Plan, breaks: &Plan) {
    fine(cluster, keeps);
    broken(rule, cluster, breaks);
}

pub fn fine(cluster: &str, plan: &Plan) {
    let found = violations(cluster, plan);
    assert!(found.is_empty(), "a good plan is refused: {found:#?}");
}

pub fn broken(rule: Rule, cluster: &str, plan: &Plan) {
    let found = violations(cluster, plan);
    let named = format!("{rule:?}: ");
    assert!(found.iter().any(|one| one.starts_with(&named)), "{rule:?} is broken, and this is found: {found:#?}");
}
