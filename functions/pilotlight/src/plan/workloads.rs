//! The pods that controllers would make: NAME-0, NAME-1, … without a node, with labels and spec of the template, and the labels that
//! the controllers of Deployments, Jobs and StatefulSets add.

mod ordinals;

use k8s_openapi::{
    api::{
        apps::v1::{Deployment, ReplicaSet},
        batch::v1::{Job, JobSpec},
        core::v1::{
            PersistentVolumeClaim, PersistentVolumeClaimSpec, PersistentVolumeClaimVolumeSource, Pod, PodTemplateSpec,
            Volume,
        },
    },
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference},
};
use std::collections::BTreeSet;

use super::manifest::Manifest;

/// The label by which a Deployment tells the pods of its templates apart.
const TEMPLATE_HASH: &str = "pod-template-hash";

/// Who makes the pods.
struct Maker<'a> {
    metadata: &'a ObjectMeta,
    kind: &'static str,
    version: &'static str,
    template: &'a PodTemplateSpec,
}

/// Pods of a workload that are in the files already count towards its replicas. A workload that is being deleted makes none.
pub fn expand(manifest: &mut Manifest) {
    let stateful = ordinals::missing(manifest);
    deployments(manifest);
    replica_sets(manifest);
    replication_controllers(manifest);
    stateful_sets(manifest, stateful);
    jobs(manifest);
    ephemeral_claims(manifest);
}

fn deployments(manifest: &mut Manifest) {
    for deployment in manifest.deployments.clone() {
        let Some(spec) = deployment.spec.as_ref().filter(|_| stays(&deployment.metadata)) else { continue };
        let prefix = format!("{}-", deployment.metadata.name.as_deref().unwrap_or_default());
        let ours = |owner: &OwnerReference| {
            let hash = owner.name.strip_prefix(&prefix);
            owner.kind == "ReplicaSet" && hash.is_some_and(|hash| !hash.contains('-'))
        };
        let there = count(manifest, &deployment.metadata, Ending::Replaced, ours);
        let maker =
            Maker { metadata: &deployment.metadata, kind: "ReplicaSet", version: "apps/v1", template: &spec.template };
        let hash = template_hash(manifest, &deployment, ours);
        let first = manifest.pods.len();
        spawn(manifest, &maker, wanted(spec.replicas) - there);
        for at in first..manifest.pods.len() {
            label(manifest, at, |_, _| vec![(TEMPLATE_HASH, hash.clone())]);
        }
        // Its pods are those of a ReplicaSet that selects them as the Deployment does.
        manifest.replica_sets.push(ReplicaSet {
            metadata: ObjectMeta {
                name: deployment.metadata.name.clone(),
                namespace: deployment.metadata.namespace.clone(),
                owner_references: Some(vec![owner(&deployment.metadata, "Deployment", "apps/v1")]),
                ..ObjectMeta::default()
            },
            spec: Some(k8s_openapi::api::apps::v1::ReplicaSetSpec {
                selector: spec.selector.clone(),
                ..Default::default()
            }),
            status: None,
        });
    }
}

/// What tells the pods of a Deployment's template from those of older ones: as its ReplicaSet with the same template has it, or as
/// its pods have that are there; nobody else has it where neither is known.
fn template_hash(manifest: &Manifest, of: &Deployment, ours: impl Fn(&OwnerReference) -> bool) -> String {
    let hash = |metadata: &ObjectMeta| metadata.labels.as_ref().and_then(|all| all.get(TEMPLATE_HASH)).cloned();
    let same_place = |metadata: &ObjectMeta| metadata.namespace == of.metadata.namespace;
    let is_its = |set: &&ReplicaSet| {
        same_place(&set.metadata)
            && controller(&set.metadata)
                .is_some_and(|owner| owner.kind == "Deployment" && Some(&owner.name) == of.metadata.name.as_ref())
    };
    let plain = |template: &PodTemplateSpec| {
        let mut template = template.clone();
        template
            .metadata
            .iter_mut()
            .flat_map(|metadata| &mut metadata.labels)
            .for_each(|all| _ = all.remove(TEMPLATE_HASH));
        template
    };
    let wanted = of.spec.as_ref().map(|spec| plain(&spec.template));
    let its: Vec<&ReplicaSet> = manifest.replica_sets.iter().filter(is_its).collect();
    let template = |set: &ReplicaSet| set.spec.as_ref().and_then(|spec| spec.template.clone());
    let current = its.iter().find(|set| template(set).map(|template| plain(&template)) == wanted);
    let of_pods = || {
        let mut pods = manifest.pods.iter().filter(|pod| same_place(&pod.metadata) && stays(&pod.metadata));
        pods.find_map(|pod| controller(&pod.metadata).filter(|owner| ours(owner)).and_then(|_| hash(&pod.metadata)))
    };
    let known = match current {
        Some(set) => hash(&set.metadata).or_else(|| template(set).and_then(|one| hash(&one.metadata?))),
        None if its.is_empty() => of_pods(),
        None => None,
    };
    known.unwrap_or_else(|| "planned".to_owned())
}

fn replica_sets(manifest: &mut Manifest) {
    let deployed: BTreeSet<(Option<String>, Option<String>)> =
        manifest.deployments.iter().map(|one| (one.metadata.namespace.clone(), one.metadata.name.clone())).collect();
    for set in manifest.replica_sets.clone() {
        let of_deployment = controller(&set.metadata).is_some_and(|owner| {
            owner.kind == "Deployment" && deployed.contains(&(set.metadata.namespace.clone(), Some(owner.name.clone())))
        });
        // The Deployment speaks for it.
        if of_deployment {
            continue;
        }
        let Some(spec) = set.spec.as_ref().filter(|_| stays(&set.metadata)) else { continue };
        let template = spec.template.clone().unwrap_or_default();
        let maker = Maker { metadata: &set.metadata, kind: "ReplicaSet", version: "apps/v1", template: &template };
        let there = count(manifest, &set.metadata, Ending::Replaced, owned_by("ReplicaSet", &set.metadata));
        spawn(manifest, &maker, wanted(spec.replicas) - there);
    }
}

fn replication_controllers(manifest: &mut Manifest) {
    for controller in manifest.replication_controllers.clone() {
        let Some(spec) = controller.spec.as_ref().filter(|_| stays(&controller.metadata)) else { continue };
        let (metadata, kind) = (&controller.metadata, "ReplicationController");
        let template = spec.template.clone().unwrap_or_default();
        let there = count(manifest, metadata, Ending::Replaced, owned_by(kind, metadata));
        spawn(manifest, &Maker { metadata, kind, version: "v1", template: &template }, wanted(spec.replicas) - there);
    }
}

fn stateful_sets(manifest: &mut Manifest, names: Vec<Vec<String>>) {
    for (set, names) in manifest.stateful_sets.clone().iter().zip(names) {
        let Some(spec) = &set.spec else { continue };
        let maker =
            Maker { metadata: &set.metadata, kind: "StatefulSet", version: "apps/v1", template: &spec.template };
        for name in names {
            let at = manifest.pods.len();
            make(manifest, &maker, name);
            label(manifest, at, |name, number| {
                vec![("statefulset.kubernetes.io/pod-name", name), ("apps.kubernetes.io/pod-index", number)]
            });
            for template in spec.volume_claim_templates.iter().flatten() {
                mount(manifest, at, template);
            }
        }
    }
}

fn jobs(manifest: &mut Manifest) {
    for job in manifest.jobs.clone() {
        let Some(spec) = job.spec.as_ref().filter(|_| stays(&job.metadata) && !is_over(&job)) else { continue };
        let maker = Maker { metadata: &job.metadata, kind: "Job", version: "batch/v1", template: &spec.template };
        let waits = spec.pod_replacement_policy.as_deref() == Some("Failed") || spec.pod_failure_policy.is_some();
        let ending = if waits { Ending::Counts } else { Ending::Replaced };
        let there = count(manifest, &job.metadata, ending, owned_by("Job", &job.metadata));
        let first = manifest.pods.len();
        spawn(manifest, &maker, at_once(&job, spec) - there);
        let (name, indexed) = (job.metadata.name.clone().unwrap_or_default(), spec.completion_mode.as_deref());
        for at in first..manifest.pods.len() {
            label(manifest, at, |_, number| {
                let mut labels = vec![("job-name", name.clone()), ("batch.kubernetes.io/job-name", name.clone())];
                if indexed == Some("Indexed") {
                    labels.push(("batch.kubernetes.io/job-completion-index", number));
                }
                labels
            });
        }
    }
}

/// How many pods of a Job are to run now. One that names no completions is done when one of its pods is, and makes no more.
fn at_once(job: &Job, spec: &JobSpec) -> i64 {
    let done = i64::from(job.status.as_ref().and_then(|status| status.succeeded).unwrap_or(0));
    // Where neither number is given, the API server makes both 1.
    let completions = match (spec.completions, spec.parallelism) {
        (None, None) => Some(1),
        (completions, _) => completions.map(i64::from),
    };
    match completions {
        _ if spec.suspend == Some(true) => 0,
        Some(completions) => wanted(spec.parallelism).min(completions - done),
        None if done > 0 => 0,
        None => wanted(spec.parallelism),
    }
}

/// Succeeded or given up, or about to be: its controller makes no pods any more.
fn is_over(job: &Job) -> bool {
    let conditions = job.status.as_ref().and_then(|status| status.conditions.as_deref()).unwrap_or_default();
    let last = ["Complete", "Failed", "SuccessCriteriaMet", "FailureTarget"];
    conditions.iter().any(|one| one.status == "True" && last.contains(&one.type_.as_str()))
}

/// Whether it is not being deleted.
fn stays(metadata: &ObjectMeta) -> bool {
    metadata.deletion_timestamp.is_none()
}

fn wanted(number: Option<i32>) -> i64 {
    i64::from(number.unwrap_or(1))
}

fn controller(metadata: &ObjectMeta) -> Option<&OwnerReference> {
    metadata.owner_references.iter().flatten().find(|owner| owner.controller == Some(true))
}

fn owned_by<'a>(kind: &'a str, metadata: &'a ObjectMeta) -> impl Fn(&OwnerReference) -> bool + 'a {
    move |owner| owner.kind == kind && Some(&owner.name) == metadata.name.as_ref()
}

/// What a controller thinks of pods that are being deleted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// It makes others at once.
    Replaced,
    /// It waits for their end.
    Counts,
}

/// Pods of the files that wait or run and whose controller is ours.
fn count(manifest: &Manifest, of: &ObjectMeta, ending: Ending, ours: impl Fn(&OwnerReference) -> bool) -> i64 {
    let counted = manifest.pods.iter().filter(|pod| {
        let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
        pod.metadata.namespace == of.namespace
            && controller(&pod.metadata).is_some_and(&ours)
            && (ending == Ending::Counts || stays(&pod.metadata))
            && !matches!(phase, Some("Succeeded" | "Failed"))
    });
    i64::try_from(counted.count()).unwrap_or(i64::MAX)
}

fn spawn(manifest: &mut Manifest, maker: &Maker<'_>, count: i64) {
    let name = maker.metadata.name.as_deref().unwrap_or_default();
    let namespace = maker.metadata.namespace.as_deref().unwrap_or_default();
    let (mut made, mut number) = (0, 0_u64);
    while made < count {
        let pod_name = format!("{name}-{number}");
        number += 1;
        if manifest.note("Pod", &format!("{namespace}/{pod_name}"), &format!("pods of {name}")).is_some() {
            continue;
        }
        made += 1;
        make(manifest, maker, pod_name);
    }
}

fn make(manifest: &mut Manifest, maker: &Maker<'_>, name: String) {
    let mut metadata = maker.template.metadata.clone().unwrap_or_default();
    metadata.name = Some(name);
    metadata.namespace = maker.metadata.namespace.clone();
    metadata.owner_references = Some(vec![owner(maker.metadata, maker.kind, maker.version)]);
    manifest.pods.push(Pod { metadata, spec: maker.template.spec.clone(), status: None });
}

/// Gives a pod the labels that its controller makes of its name and its number.
fn label(manifest: &mut Manifest, at: usize, of: impl Fn(String, String) -> Vec<(&'static str, String)>) {
    let Some(pod) = manifest.pods.get_mut(at) else { return };
    let name = pod.metadata.name.clone().unwrap_or_default();
    let number = name.rsplit_once('-').map(|(_, number)| number.to_owned()).unwrap_or_default();
    let labels = pod.metadata.labels.get_or_insert_default();
    labels.extend(of(name, number).into_iter().map(|(key, value)| (key.to_owned(), value)));
}

fn owner(metadata: &ObjectMeta, kind: &str, version: &str) -> OwnerReference {
    OwnerReference {
        api_version: version.to_owned(),
        kind: kind.to_owned(),
        name: metadata.name.clone().unwrap_or_default(),
        uid: metadata.uid.clone().unwrap_or_default(),
        controller: Some(true),
        block_owner_deletion: None,
    }
}

/// Gives a stateful pod its own volume claim, and makes the claim if the files do not have it.
fn mount(manifest: &mut Manifest, at: usize, template: &PersistentVolumeClaim) {
    let Some(pod) = manifest.pods.get_mut(at) else { return };
    let volume_name = template.metadata.name.clone().unwrap_or_default();
    let claim_name = format!("{volume_name}-{}", pod.metadata.name.as_deref().unwrap_or_default());
    let namespace = pod.metadata.namespace.clone().unwrap_or_default();
    let volumes = pod.spec.get_or_insert_default().volumes.get_or_insert_default();
    volumes.retain(|volume| volume.name != volume_name);
    volumes.push(Volume {
        name: volume_name,
        persistent_volume_claim: Some(PersistentVolumeClaimVolumeSource {
            claim_name: claim_name.clone(),
            read_only: None,
        }),
        ..Volume::default()
    });
    make_claim(manifest, &namespace, claim_name, template.metadata.clone(), template.spec.clone());
}

/// Generic ephemeral volumes have claims that their controller makes.
fn ephemeral_claims(manifest: &mut Manifest) {
    let mut made = Vec::new();
    for pod in &manifest.pods {
        let volumes = pod.spec.as_ref().and_then(|spec| spec.volumes.as_deref()).unwrap_or_default();
        for volume in volumes {
            let template = volume.ephemeral.as_ref().and_then(|source| source.volume_claim_template.as_ref());
            let Some(template) = template else { continue };
            let name = format!("{}-{}", pod.metadata.name.as_deref().unwrap_or_default(), volume.name);
            let namespace = pod.metadata.namespace.clone().unwrap_or_default();
            made.push((namespace, name, template.metadata.clone().unwrap_or_default(), template.spec.clone()));
        }
    }
    for (namespace, name, metadata, spec) in made {
        make_claim(manifest, &namespace, name, metadata, Some(spec));
    }
}

fn make_claim(
    manifest: &mut Manifest,
    namespace: &str,
    name: String,
    metadata: ObjectMeta,
    spec: Option<PersistentVolumeClaimSpec>,
) {
    let full = format!("{namespace}/{name}");
    if manifest.note("PersistentVolumeClaim", &full, &format!("volume claims of {name}")).is_none() {
        let metadata = ObjectMeta { name: Some(name), namespace: Some(namespace.to_owned()), ..metadata };
        manifest.volume_claims.push(PersistentVolumeClaim { metadata, spec, status: None });
    }
}
