//! Taking nodes away: what a decision must know of nodes, pods and pools (`Inventory`), and what it answers (`Decision`).
//!
//! Like a scene, an inventory is resolved: whoever reads the cluster (or YAML files) has found each pod's budgets and each node's
//! claim. Positions are those of the scene that it goes with.

mod answer;
mod kept;
mod node;
mod pod;
mod pool;

pub use answer::{Decision, Disruption, Leaving, Move, Order, Reason, Replacement, To};
pub use kept::{Kept, KeptCode};
pub use node::{ClaimHere, Drift, NodeHere, Remedy, Unhealthy};
pub use pod::{PodBudget, PodHere};
pub use pool::{After, Budget, FixedSize, Hash, Paused, Policy, PoolHere, RackTimes};

/// Everything that taking nodes away looks at beyond the scene.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Inventory {
    /// One for each Node of the scene, in any order. Claims without a Node are not here: nothing is taken away that is not up.
    pub nodes: Vec<NodeHere>,
    /// One for each of `Scene::bound`, in its order.
    pub pods: Vec<PodHere>,
    /// The PodDisruptionBudgets; pods point into this list.
    pub pod_budgets: Vec<PodBudget>,
    /// One for each of `Scene::pools`, in its order.
    pub pools: Vec<PoolHere>,
}
