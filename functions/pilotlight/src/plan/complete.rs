//! What the API server and the usual controllers would have added to the files. Whatever a file says itself stands.
//!
//! Requests from limits, priorities, default storage classes and the like are not added here: reading a scene does that.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::{
    api::core::v1::{Node, NodeCondition, PersistentVolumeClaim, Pod, PodCondition, PodSpec, Taint},
    api::node::v1::RuntimeClass,
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time},
};

use super::{budgets, link, manifest::Manifest, workloads};

/// How old an object is taken to be that does not say when it was made.
const AGE: SignedDuration = SignedDuration::from_hours(2);
const BIND_COMPLETED: &str = "pv.kubernetes.io/bind-completed";

/// With `by_label`, the label of a pool is enough for a node to be its: no claim has to be in the files.
pub fn complete(manifest: &mut Manifest, now: Timestamp, by_label: bool) {
    let made_at = now.checked_sub(AGE).unwrap_or(now);
    let mut stamps = Stamps { created: Timestamp::from_second(made_at.as_second()).unwrap_or(made_at), count: 0 };
    stamps.all(manifest.deployments.iter_mut().map(|one| &mut one.metadata));
    stamps.all(manifest.stateful_sets.iter_mut().map(|one| &mut one.metadata));
    stamps.all(manifest.replica_sets.iter_mut().map(|one| &mut one.metadata));
    stamps.all(manifest.jobs.iter_mut().map(|one| &mut one.metadata));
    workloads::expand(manifest);
    stamps.objects(manifest);
    manifest.volume_claims.iter_mut().for_each(bind);
    let classes = std::mem::take(&mut manifest.runtime_classes);
    let templates = manifest.daemon_sets.iter_mut().filter_map(|set| set.spec.as_mut()?.template.spec.as_mut());
    let specs = manifest.pods.iter_mut().filter_map(|pod| pod.spec.as_mut()).chain(templates);
    specs.for_each(|spec| run_by(spec, &classes));
    manifest.pods.iter_mut().for_each(schedule);
    for node in &mut manifest.nodes {
        settle(node);
    }
    for node in &manifest.nodes {
        let name = node.metadata.name.as_deref().unwrap_or_default();
        let allocatable = node.status.as_ref().and_then(|status| status.allocatable.as_ref());
        if !allocatable.is_some_and(|all| all.contains_key("pods")) {
            let place = manifest.place("Node", name);
            manifest.warnings.push(format!("{place} has no allocatable pods, so no pod fits on it"));
        }
    }
    budgets::judge(manifest);
    link::link(manifest, by_label);
}

/// Hands out uids that rise in the order of the files: of pods that are alike, the first comes first.
struct Stamps {
    created: Timestamp,
    count: u64,
}

impl Stamps {
    fn objects(&mut self, manifest: &mut Manifest) {
        self.all(manifest.namespaces.iter_mut().map(|one| &mut one.metadata));
        self.all(manifest.priority_classes.iter_mut().map(|one| &mut one.metadata));
        self.all(manifest.storage_classes.iter_mut().map(|one| &mut one.metadata));
        self.all(manifest.volumes.iter_mut().map(|one| &mut one.metadata));
        self.all(manifest.volume_claims.iter_mut().map(|one| &mut one.metadata));
        self.all(manifest.csi_nodes.iter_mut().map(|one| &mut one.metadata));
        self.all(manifest.pools.iter_mut().map(|one| &mut one.metadata));
        for claim in &mut manifest.claims {
            self.claim(claim);
        }
        self.all(manifest.nodes.iter_mut().map(|one| &mut one.metadata));
        self.all(manifest.daemon_sets.iter_mut().map(|one| &mut one.metadata));
        self.all(manifest.budgets.iter_mut().map(|one| &mut one.metadata));
        self.all(manifest.pods.iter_mut().map(|one| &mut one.metadata));
    }

    fn all<'a>(&mut self, every: impl Iterator<Item = &'a mut ObjectMeta>) {
        for metadata in every {
            if metadata.uid.as_deref().unwrap_or_default().is_empty() {
                metadata.uid = Some(self.uid());
            }
            metadata.creation_timestamp.get_or_insert(Time(self.created));
            metadata.resource_version.get_or_insert_with(|| "1".to_owned());
        }
    }

    fn claim(&mut self, claim: &mut serde_json::Value) {
        let Some(metadata) = claim.pointer_mut("/metadata").and_then(serde_json::Value::as_object_mut) else { return };
        if metadata.get("uid").is_none_or(|uid| uid.as_str().unwrap_or_default().is_empty()) {
            metadata.insert("uid".to_owned(), self.uid().into());
        }
        metadata.entry("creationTimestamp").or_insert_with(|| self.created.to_string().into());
        metadata.entry("resourceVersion").or_insert_with(|| "1".into());
    }

    fn uid(&mut self) -> String {
        self.count += 1;
        format!("00000000-0000-4000-8000-{:012x}", self.count)
    }
}

/// A claim that names its volume is bound to it.
fn bind(claim: &mut PersistentVolumeClaim) {
    let named = claim.spec.as_ref().and_then(|spec| spec.volume_name.as_deref()).is_some_and(|name| !name.is_empty());
    let phase = claim.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or_default();
    if named && (phase.is_empty() || phase == "Bound") {
        let annotations = claim.metadata.annotations.get_or_insert_default();
        annotations.entry(BIND_COMPLETED.to_owned()).or_insert_with(|| "yes".to_owned());
        claim.status.get_or_insert_default().phase = Some("Bound".to_owned());
    }
}

/// What a RuntimeClass takes for itself and where it can be found: admission writes it into every pod that names the class.
fn run_by(spec: &mut PodSpec, classes: &[RuntimeClass]) {
    let named = |class: &&RuntimeClass| class.metadata.name.is_some() && class.metadata.name == spec.runtime_class_name;
    let Some(class) = classes.iter().find(named) else { return };
    if spec.overhead.is_none() {
        spec.overhead = class.overhead.as_ref().and_then(|overhead| overhead.pod_fixed.clone());
    }
    let Some(scheduling) = &class.scheduling else { return };
    for (key, value) in scheduling.node_selector.iter().flatten() {
        spec.node_selector.get_or_insert_default().entry(key.clone()).or_insert_with(|| value.clone());
    }
    for toleration in scheduling.tolerations.iter().flatten() {
        let own = spec.tolerations.get_or_insert_default();
        if !own.contains(toleration) {
            own.push(toleration.clone());
        }
    }
}

/// A pod with a node runs there; any other one is one that the scheduler gave up on.
fn schedule(pod: &mut Pod) {
    let spec = pod.spec.get_or_insert_default();
    let placed = spec.node_name.as_deref().is_some_and(|name| !name.is_empty());
    let gated = spec.scheduling_gates.as_deref().is_some_and(|gates| !gates.is_empty());
    let status = pod.status.get_or_insert_default();
    let phase = if placed { "Running" } else { "Pending" };
    let phase = status.phase.get_or_insert_with(|| phase.to_owned()).clone();
    let conditions = status.conditions.get_or_insert_default();
    let mut add = |kind: &str, holds: bool, reason: Option<&str>| {
        if !conditions.iter().any(|one| one.type_ == kind) {
            conditions.push(PodCondition {
                type_: kind.to_owned(),
                status: if holds { "True" } else { "False" }.to_owned(),
                reason: reason.map(str::to_owned),
                ..PodCondition::default()
            });
        }
    };
    if placed {
        add("PodScheduled", true, None);
        if phase == "Running" {
            add("Ready", true, None);
        }
        let created = pod.metadata.creation_timestamp.clone();
        status.start_time = status.start_time.take().or(created);
    } else {
        add("PodScheduled", false, Some(if gated { "SchedulingGated" } else { "Unschedulable" }));
    }
}

/// A node is what it can allocate, ready unless it says otherwise, and shows its state by taints.
fn settle(node: &mut Node) {
    let status = node.status.get_or_insert_default();
    let (capacity, allocatable) = (status.capacity.clone(), status.allocatable.clone());
    status.capacity = capacity.clone().or_else(|| allocatable.clone());
    status.allocatable = allocatable.or(capacity);
    let conditions = status.conditions.get_or_insert_default();
    if !conditions.iter().any(|one| one.type_ == "Ready") {
        let (type_, status) = ("Ready".to_owned(), "True".to_owned());
        conditions.push(NodeCondition { type_, status, ..NodeCondition::default() });
    }
    let ready: Vec<String> =
        conditions.iter().filter(|one| one.type_ == "Ready").map(|one| one.status.clone()).collect();
    let spec = node.spec.get_or_insert_default();
    let cordoned = spec.unschedulable == Some(true);
    let taints = spec.taints.get_or_insert_default();
    let mut add = |key: &str, effects: &[&str]| {
        for effect in effects {
            if !taints.iter().any(|taint| taint.key == key && taint.effect == *effect) {
                taints.push(Taint { key: key.to_owned(), effect: (*effect).to_owned(), ..Taint::default() });
            }
        }
    };
    if cordoned {
        add("node.kubernetes.io/unschedulable", &["NoSchedule"]);
    }
    for state in ready {
        match state.as_str() {
            "False" => add("node.kubernetes.io/not-ready", &["NoSchedule", "NoExecute"]),
            "Unknown" => add("node.kubernetes.io/unreachable", &["NoSchedule", "NoExecute"]),
            _ => {}
        }
    }
}
