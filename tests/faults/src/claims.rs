//! Claims, one kind for each provider.

use serde_json::{Value, json};

/// Whose machine a claim asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Aks,
    Scaleway,
    Power,
}

pub const KINDS: [Kind; 3] = [Kind::Aks, Kind::Scaleway, Kind::Power];

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Kind::Aks => "aks",
            Kind::Scaleway => "scaleway",
            Kind::Power => "power",
        }
    }

    /// The claim as its users write it.
    pub fn claim(self, name: &str) -> Value {
        let (class, requirements, requests) = match self {
            // As KAITO makes it for gpu-provisioner.
            Kind::Aks => (
                json!({"group": "kaito.sh", "kind": "KaitoNodeClass", "name": "default"}),
                json!([
                    {"key": "karpenter.sh/nodepool", "operator": "In", "values": ["kaito"]},
                    {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["Standard_NC24ads_A100_v4"]},
                ]),
                json!({"storage": "120Gi"}),
            ),
            Kind::Scaleway => (
                json!({"group": "pilotlight.dev", "kind": "ScalewayNodeClass", "name": "default"}),
                json!([{"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["L4-1-24G"]}]),
                json!({"nvidia.com/gpu": "1"}),
            ),
            Kind::Power => (
                json!({"group": "pilotlight.dev", "kind": "PowerNodeClass", "name": "default"}),
                json!([{"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}]),
                json!({"nvidia.com/gpu": "1"}),
            ),
        };
        let labels = match self {
            Kind::Aks => json!({"karpenter.sh/nodepool": "kaito", "kaito.sh/workspace": "phi-4"}),
            Kind::Scaleway | Kind::Power => json!({}),
        };
        json!({
            "apiVersion": "karpenter.sh/v1",
            "kind": "NodeClaim",
            "metadata": {"name": name, "labels": labels},
            "spec": {
                "nodeClassRef": class,
                "requirements": requirements,
                "resources": {"requests": requests},
                "taints": [{"key": "sku", "value": "gpu", "effect": "NoSchedule"}],
            },
        })
    }
}
