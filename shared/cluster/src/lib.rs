//! Kubernetes: the custom resources we define or serve, and what is read and changed of everything else.
//!
//! One struct, [`Cluster`], speaks in the words of `model`. Reading is consistent, never from a cache. A write is made
//! against what was read (a resourceVersion or a UID), leaves alone what it does not name, and says apart "somebody else
//! was first", "refused" and "no answer came". Nothing here waits or tries again.
//!
//! # Rights
//!
//! What each method asks of the API server; [`rights::ALL`] is the same as data, and tests hold both against what is sent.
//!
//! | method | verb | group | resource | where |
//! |---|---|---|---|---|
//! | `claim` | get | karpenter.sh | nodeclaims | cluster |
//! | `make_claim`, `make_as_written` | create | karpenter.sh | nodeclaims | cluster |
//! | `claims` | list | karpenter.sh | nodeclaims | cluster |
//! | `node`, `nodes_of`, `change_node` | get | | nodes | cluster |
//! | `nodes`, `nodes_of`, `scene_source`, `whole_source` | list | | nodes | cluster |
//! | `pod`, `scene_source_beside` | get | | pods | cluster |
//! | `pods_on`, `pods_waiting`, `volumes_attached`, `scene_source`, `whole_source`, `scene_source_beside`, `pods_that_wait` | list | | pods | cluster |
//! | `scene_source`, `whole_source`, `scene_source_beside` | list | apps | daemonsets | cluster |
//! | `scene_source`, `whole_source` | list | | namespaces | cluster |
//! | `scene_source`, `whole_source` | list | | persistentvolumeclaims | cluster |
//! | `scene_source`, `whole_source` | list | | persistentvolumes | cluster |
//! | `scene_source`, `whole_source` | list | storage.k8s.io | storageclasses | cluster |
//! | `scene_source`, `whole_source` | list | storage.k8s.io | csinodes | cluster |
//! | `scene_source`, `whole_source` | list | policy | poddisruptionbudgets | cluster |
//! | `selecting` | list | | services | cluster |
//! | `selecting` | list | | replicationcontrollers | cluster |
//! | `selecting` | list | apps | replicasets | cluster |
//! | `selecting` | list | apps | statefulsets | cluster |
//! | `volumes_attached` | list | storage.k8s.io | volumeattachments | cluster |
//! | `volumes_attached` | get | | persistentvolumeclaims | cluster |
//! | `pool_annotations` | get | karpenter.sh | nodepools | cluster |
//! | `pools` | list | karpenter.sh | nodepools | cluster |
//! | `note_on_pool` | patch | karpenter.sh | nodepools | cluster |
//! | `class_object` | get | (of the class) | (its plural) | cluster |
//! | `class_objects` | list | (of the class) | (its plural) | cluster |
//! | `identity` | get | | namespaces | kube-system |
//! | `karpenter_leads` | get | coordination.k8s.io | leases | kube-system |
//! | `take_machine`, `note_machine`, `release_machine`, `machine_off_since`, `take_turn` | get | coordination.k8s.io | leases | own namespace |
//! | `machines_held`, `leases_of_ours` | list | coordination.k8s.io | leases | own namespace |
//! | `take_machine`, `take_turn` | create | coordination.k8s.io | leases | own namespace |
//! | `take_machine`, `note_machine`, `release_machine`, `take_turn`, `keep_turn`, `end_turn`, `free_lease` | patch | coordination.k8s.io | leases | own namespace |
//! | `delete_lease` | delete | coordination.k8s.io | leases | own namespace |
//! | `secret` | get | | secrets | own namespace |
//! | `stock`, `stock_lines`, `remember`, `spending` | get | | configmaps | own namespace |
//! | `remember`, `write_spending` | create | | configmaps | own namespace |
//! | `remember`, `forget`, `write_spending` | patch | | configmaps | own namespace |
//! | `change_claim` | patch | karpenter.sh | nodeclaims | cluster |
//! | `write_status` | patch | karpenter.sh | nodeclaims/status | cluster |
//! | `delete_claim` | delete | karpenter.sh | nodeclaims | cluster |
//! | `change_node` | patch | | nodes | cluster |
//! | `delete_node` | delete | | nodes | cluster |
//! | `evict` | create | | pods/eviction | cluster |
//! | `delete_pod` | delete | | pods | cluster |
//! | `note`, `note_node` | create | events.k8s.io | events | default |
//! | `note_pod` | get | events.k8s.io | events | cluster |
//! | `note_pod` | create | events.k8s.io | events | cluster |
//!
//! A NodeClaim owns its Node with `blockOwnerDeletion`, so where the admission plugin OwnerReferencesPermissionEnforcement
//! runs, `change_node` needs `update` on `nodeclaims/finalizers` (karpenter.sh) too; and `make_claim`, whose claims a NodePool owns,
//! `update` on `nodepools/finalizers`.

mod ask;
mod change;
mod change_node;
mod change_pool;
mod change_status;
mod command_record;
mod connect;
mod connect_config;
mod connect_entra;
pub mod crd;
mod error;
mod events;
mod fields;
mod identity;
mod launch_record;
mod leases;
mod left_over;
mod look;
mod look_beside;
mod look_more;
mod look_scene;
mod look_tick;
mod node_search;
mod pods;
mod provision_claims;
mod read_claim;
mod read_node;
mod read_pod;
mod refuse;
pub mod rights;
pub mod scene;
mod spending;
mod stock;
mod turns;
mod volumes;

pub use change::Deleted;
pub use command_record::{command_of, command_text, manifest};
pub use connect::{ConnectError, Way, connect};
pub use connect_entra::EntraTokens;
pub use error::{ClusterError, Kind};
pub use leases::MachineHeld;
pub use look::ClassServed;
pub use look_more::NodePower;
pub use look_scene::template_hash;
pub use look_tick::PodWaiting;
pub use node_search::NodeSearch;
pub use pods::Evicted;
pub use provision_claims::Made;
pub use read_claim::{ClaimAsRead, ClaimRead, Malformed, read_claim};
pub use turns::{OurTurn, PROVISIONING, TICKING, Turn, Turns};

/// The cluster, as far as the functions read and change it. Cheap to clone: all clones share their connections.
#[derive(Clone)]
pub struct Cluster {
    client: kube::Client,
    /// Where our own ConfigMap and Secrets are.
    namespace: String,
}

/// Who we are in `managedFields` and in the server's logs.
const FIELD_MANAGER: &str = "pilotlight";

impl Cluster {
    pub fn new(client: kube::Client, namespace: String) -> Self {
        Cluster { client, namespace }
    }

    pub fn client(&self) -> &kube::Client {
        &self.client
    }
}
