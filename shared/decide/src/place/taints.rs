//! Which taints keep a pod away.

use model::place::{NodeStage, NodeThere};
use model::{Effect, Taint, Toleration, names};

/// Taints that say "not yet": they go by themselves when a node comes up.
const PASSING: [&str; 3] = [
    "node.kubernetes.io/not-ready",
    "node.kubernetes.io/unreachable",
    "node.cloudprovider.kubernetes.io/uninitialized",
];

pub fn tolerated(taints: &[&Taint], tolerations: &[Toleration], ignores_preferred: bool) -> bool {
    first_untolerated(taints, tolerations, ignores_preferred).is_none()
}

pub fn first_untolerated<'t>(
    taints: &[&'t Taint],
    tolerations: &[Toleration],
    ignores_preferred: bool,
) -> Option<&'t Taint> {
    let matters = |taint: &&&Taint| !(ignores_preferred && taint.effect == Effect::PreferNoSchedule);
    let untolerated = |taint: &&&Taint| !tolerations.iter().any(|toleration| toleration.tolerates(taint));
    taints.iter().filter(matters).find(untolerated).copied()
}

/// The taints of a node that will still be there when a pod arrives.
pub fn lasting(node: &NodeThere) -> Vec<&Taint> {
    let starting = node.stage != NodeStage::Initialized;
    let passing = |taint: &Taint| {
        let known = PASSING.contains(&taint.key.as_str()) && (starting || taint.effect == Effect::NoSchedule);
        let startup = starting && node.startup_taints.iter().any(|startup| startup.is_same(taint));
        known || startup || (starting && taint.key == names::UNREGISTERED_TAINT)
    };
    node.taints.iter().filter(|taint| !passing(taint)).collect()
}
