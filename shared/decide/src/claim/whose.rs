//! Whose claim it is: ours, by its node class or by the rule of a system we replace, or another controller's.

use model::{Claim, ClassRef, Operator, names};
use std::collections::BTreeMap;

/// The capacity type by which scw-karpenter knows its claims.
const SCALEWAY_GPU: &str = "scaleway-gpu";

/// Claims that are left alone unless somebody says otherwise.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AlsoManage {
    /// Those of pools that a running Karpenter looks after.
    pub karpenter: bool,
    /// Those of KAITO's Karpenter mode.
    pub kaito_karpenter: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Whose {
    Ours(Ours),
    Others { reason: String },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ours {
    /// The provider that its class names.
    pub provider: &'static str,
    /// Made for gpu-provisioner: its machine is to be the one gpu-provisioner would have made.
    pub like_gpu_provisioner: bool,
}

/// Whether a Karpenter runs in the cluster makes a difference for this claim, and has to be looked up.
pub fn depends_on_karpenter(claim: &Claim, also: AlsoManage) -> bool {
    !also.karpenter && of_karpenter_pool(claim)
}

pub fn whose(claim: &Claim, also: AlsoManage, karpenter_runs: bool) -> Whose {
    let others = |reason: String| Whose::Others { reason };
    let kaito_karpenter = claim.labels.keys().find(|key| key.starts_with(names::KAITO_KARPENTER_PREFIX));
    if let Some(label) = kaito_karpenter.filter(|_| !also.kaito_karpenter) {
        return others(format!("its label {label} says that KAITO's Karpenter mode looks after it"));
    }
    if is_for_gpu_provisioner(claim) {
        return Whose::Ours(Ours { provider: "aks", like_gpu_provisioner: true });
    }
    if of_karpenter_pool(claim) && karpenter_runs && !also.karpenter {
        return others("a Karpenter is running in this cluster and looks after the pools of AKSNodeClass".to_owned());
    }
    let by_capacity_type = || asks_for_scaleway(claim).then_some("scaleway");
    match provider_of_class(&claim.class).or_else(by_capacity_type) {
        Some(provider) => Whose::Ours(Ours { provider, like_gpu_provisioner: false }),
        None => others(format!("{}.{} is not a node class of ours", claim.class.kind, claim.class.group)),
    }
}

/// gpu-provisioner's own rule: the class, or one of two labels, whatever their value.
fn is_for_gpu_provisioner(claim: &Claim) -> bool {
    made_for_gpu_provisioner(&claim.class, &claim.labels)
}

/// The same, of a claim that is yet to be made.
pub(crate) fn made_for_gpu_provisioner(class: &ClassRef, labels: &BTreeMap<String, String>) -> bool {
    (class.group == "kaito.sh" && class.kind == "KaitoNodeClass")
        || [names::KAITO_WORKSPACE, names::KAITO_RAGENGINE].iter().any(|label| labels.contains_key(*label))
}

fn of_karpenter_pool(claim: &Claim) -> bool {
    claim.class.kind == "AKSNodeClass"
        && claim.class.group == "karpenter.azure.com"
        && claim.labels.contains_key(names::NODE_POOL)
        && !is_for_gpu_provisioner(claim)
}

/// scw-karpenter's own rule.
fn asks_for_scaleway(claim: &Claim) -> bool {
    claim.requirements.iter().any(|requirement| {
        requirement.key == names::CAPACITY_TYPE
            && requirement.operator == Operator::In
            && requirement.values.iter().any(|value| value == SCALEWAY_GPU)
    })
}

/// The provider that a class alone names.
pub fn provider_of_class(class: &ClassRef) -> Option<&'static str> {
    match (class.group.as_str(), class.kind.as_str()) {
        ("karpenter.azure.com", "AKSNodeClass") | ("kaito.sh", "KaitoNodeClass") => Some("aks"),
        ("pilotlight.dev", "ScalewayNodeClass") => Some("scaleway"),
        ("pilotlight.dev", "PowerNodeClass") => Some("power"),
        _ => None,
    }
}
