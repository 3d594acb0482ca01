//! Which taints keep a pod away.

use model::place::{NodeStage, NodeThere};
use model::{Effect, Taint, Toleration, names};

/// Taints that say "not yet": they go by themselves when a node comes up, and so does their `NoSchedule` whenever it comes back.
const PASSING: [&str; 3] =
    [NOT_READY, "node.kubernetes.io/unreachable", "node.cloudprovider.kubernetes.io/uninitialized"];
const NOT_READY: &str = "node.kubernetes.io/not-ready";
/// What waits for a node to be ready for its work puts taints of this kind on it.
const READINESS: &str = "readiness.k8s.io/";

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
        let (key, startup) = (taint.key.as_str(), &node.startup_taints);
        let at_start = key == NOT_READY
            || key == names::UNREGISTERED_TAINT
            || key.starts_with(READINESS)
            || startup.iter().any(|startup| startup.is_same(taint));
        (starting && at_start) || (PASSING.contains(&key) && taint.effect == Effect::NoSchedule)
    };
    node.taints.iter().filter(|taint| !passing(taint)).collect()
}
