//! Labels, annotations, taints and finalizers that the world around us reads: Karpenter's, KAITO's and our own.

/// On claims and nodes: nothing goes before the machine is gone.
pub const FINALIZER: &str = "karpenter.sh/termination";

pub const NODE_POOL: &str = "karpenter.sh/nodepool";
pub const CAPACITY_TYPE: &str = "karpenter.sh/capacity-type";
pub const REGISTERED: &str = "karpenter.sh/registered";
pub const INITIALIZED: &str = "karpenter.sh/initialized";
pub const DO_NOT_SYNC_TAINTS: &str = "karpenter.sh/do-not-sync-taints";
pub const DO_NOT_DISRUPT: &str = "karpenter.sh/do-not-disrupt";
/// What the template of its pool was when the claim was made; another value now is drift.
pub const POOL_HASH: &str = "karpenter.sh/nodepool-hash";
pub const POOL_HASH_VERSION: &str = "karpenter.sh/nodepool-hash-version";
/// `true` on a claim for which a pool's `minValues` gave way.
pub const MIN_VALUES_RELAXED: &str = "karpenter.sh/nodeclaim-min-values-relaxed";
/// RFC 3339: when a drain stops asking.
pub const TERMINATION_TIMESTAMP: &str = "karpenter.sh/nodeclaim-termination-timestamp";
/// On a Node or a claim, `true`: nothing is repaired.
pub const DO_NOT_REPAIR: &str = "karpenter.sh/do-not-repair";
/// On a claim whose machine is started anew: the boot ID of before. Another one on the Node proves it.
pub const REBOOT_PRE_BOOT_ID: &str = "karpenter.sh/reboot-pre-boot-id";
/// On the same: how long its drain may take.
pub const REBOOT_GRACE: &str = "karpenter.sh/reboot-termination-grace-period";
/// The taint a kubelet starts with, until the claim's labels and taints are on the Node.
pub const UNREGISTERED_TAINT: &str = "karpenter.sh/unregistered";
/// The taint of a node that is being emptied.
pub const DISRUPTED_TAINT: &str = "karpenter.sh/disrupted";
/// The label that takes a node out of load balancers; its value here is `karpenter`.
pub const EXCLUDE_FROM_BALANCERS: &str = "node.kubernetes.io/exclude-from-external-load-balancers";
/// The taint that lets volumes and pods of a machine go that was switched off under them.
pub const OUT_OF_SERVICE_TAINT: &str = "node.kubernetes.io/out-of-service";

pub const INSTANCE_TYPE: &str = "node.kubernetes.io/instance-type";
pub const INSTANCE_TYPE_BETA: &str = "beta.kubernetes.io/instance-type";
pub const ZONE: &str = "topology.kubernetes.io/zone";
pub const REGION: &str = "topology.kubernetes.io/region";
/// The zone in the words of Azure's disk driver. Empty there, it is the zone `0`: none at all.
pub const AZURE_DISK_ZONE: &str = "topology.disk.csi.azure.com/zone";
pub const ARCH: &str = "kubernetes.io/arch";
pub const OS: &str = "kubernetes.io/os";
pub const HOSTNAME: &str = "kubernetes.io/hostname";

pub const KAITO_WORKSPACE: &str = "kaito.sh/workspace";
pub const KAITO_RAGENGINE: &str = "kaito.sh/ragengine";
/// Labels of KAITO's Karpenter mode begin with this; those claims are another controller's.
pub const KAITO_KARPENTER_PREFIX: &str = "karpenter.kaito.sh/";

/// The launch record, on the claim.
pub const LAUNCH: &str = "pilotlight.dev/launch";
/// On a claim: the UIDs of the pods that it was made for. Until they are bound its room is theirs.
pub const PODS: &str = "pilotlight.dev/pods";
/// On a claim: what is expected to come, when about, and for how much, in words.
pub const EXPECTED: &str = "pilotlight.dev/expected";
/// On a claim that was made under a cap: what it is expected to cost an hour, as in `0.75 EUR`.
pub const EXPECTED_PRICE: &str = "pilotlight.dev/expected-price";
/// Whose machine it is, in every cloud and on its Node.
pub const CLAIM_UID: &str = "pilotlight.dev/claim-uid";
/// On the Node of a machine that we switched off: since when, RFC 3339.
pub const OFF_SINCE: &str = "pilotlight.dev/off-since";
/// On a claim that a command takes away or starts anew: the whole command.
pub const DISRUPTION: &str = "pilotlight.dev/disruption";
/// On a claim that a command made: the command.
pub const REPLACES: &str = "pilotlight.dev/replaces";
/// On a claim: when its machine was last started anew by us, RFC 3339.
pub const REBOOTED_AT: &str = "pilotlight.dev/rebooted-at";
/// On a pool whose replacements did not come: how often in a row, and until when it is left alone.
pub const BACK_OFF: &str = "pilotlight.dev/replacement-back-off";
/// On a Node whose claim is gone: since when it is being emptied, RFC 3339.
pub const ORPHAN_SINCE: &str = "pilotlight.dev/orphan-since";
/// On a pool or a claim: how long each phase may take, as in `20m`.
pub const LAUNCH_TIMEOUT: &str = "pilotlight.dev/launch-timeout";
pub const REGISTRATION_TIMEOUT: &str = "pilotlight.dev/registration-timeout";
pub const INITIALIZATION_TIMEOUT: &str = "pilotlight.dev/initialization-timeout";
/// On a NodePool: what its machines together may cost an hour, as in `12.50` or `12.50 EUR`.
pub const MAX_PRICE_PER_HOUR: &str = "pilotlight.dev/max-price-per-hour";
/// On a pool or a claim: the order of the ladder, `price` (default) or `listed`.
pub const PREFER: &str = "pilotlight.dev/prefer";
/// On a pod: what evicting it costs, for the order in which nodes go.
pub const DISRUPTION_COST: &str = "karpenter.sh/disruption-cost";
pub const POD_DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";
/// On a pod, `true`: nobody waits for it before a node counts as idle.
pub const IGNORED_WHEN_IDLE: &str = "pilotlight.dev/ignored-when-idle";
/// On a pool: the time zone of its budgets' schedules, as in `Europe/Paris`.
pub const TIME_ZONE: &str = "pilotlight.dev/time-zone";
/// On a pool, `true`: pods that use GPUs may be moved to save money.
pub const CONSOLIDATE_GPU: &str = "pilotlight.dev/consolidate-gpu";
/// On a pool, `true`: a spot machine may be replaced by a cheaper spot machine.
pub const SPOT_TO_SPOT: &str = "pilotlight.dev/spot-to-spot";
/// On a pool: what a replacement has to save at least, as in `5%`.
pub const MINIMUM_SAVING: &str = "pilotlight.dev/minimum-saving";
/// On a pool of machines of one's own: how long one is idle before it goes off, stays on at least, and rests between changes.
pub const IDLE_WINDOW: &str = "pilotlight.dev/idle-window";
pub const MINIMUM_ON_TIME: &str = "pilotlight.dev/minimum-on-time";
pub const COOL_DOWN: &str = "pilotlight.dev/cool-down";

/// Conditions of a Node: its machine is about to be taken away by its cloud, in the words that clouds have for it.
pub const NOTICES: [&str; 3] = ["PreemptionScheduled", "PreemptScheduled", "TerminateScheduled"];
