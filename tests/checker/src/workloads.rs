//! Workloads to pods, as their controllers would make them: NAME-0, NAME-1, …, unbound. Pods that the files hold already count.

use std::collections::HashSet;

use k8s_openapi::api::core::v1::PersistentVolumeClaimVolumeSource;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, PersistentVolumeClaimSpec, Pod, PodTemplateSpec, Volume};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

use crate::load::Objects;
use crate::pods::{is_terminal, name, namespace};

/// A Deployment's controller tells the pods of its templates apart by it.
const TEMPLATE_HASH: &str = "pod-template-hash";

/// Makes the missing pods, and the volume claims of stateful pods and of ephemeral volumes.
pub fn expand(objects: &mut Objects) {
    let mut maker = Maker {
        pod_names: objects.pods.iter().map(|pod| key(&pod.metadata)).collect(),
        claim_names: objects.volume_claims.iter().map(|claim| key(&claim.metadata)).collect(),
        pods: Vec::new(),
        claims: Vec::new(),
    };
    let stateful = stateful_names(objects, &mut maker);
    for set in objects.deployments.iter().filter(|set| stays(&set.metadata)) {
        let Some(spec) = &set.spec else { continue };
        let prefix = format!("{}-", name(&set.metadata));
        let ours = |owner: &OwnerReference| {
            let hash = owner.name.strip_prefix(&prefix);
            owner.kind == "ReplicaSet" && hash.is_some_and(|hash| !hash.contains('-'))
        };
        let wanted = i64::from(spec.replicas.unwrap_or(1)) - count(&objects.pods, &set.metadata, ours);
        let first = maker.pods.len();
        maker.spawn(&set.metadata, ("apps/v1", "ReplicaSet"), &spec.template, wanted, &[]);
        let hash = template_hash(objects, &set.metadata, &spec.template, ours);
        for pod in &mut maker.pods[first..] {
            pod.metadata.labels.get_or_insert_default().insert(TEMPLATE_HASH.to_owned(), hash.clone());
        }
    }
    for set in objects.replica_sets.iter().filter(|set| stays(&set.metadata)) {
        let Some(spec) = &set.spec else { continue };
        let spoken_for = controller(&set.metadata).is_some_and(|owner| {
            let same = |one: &ObjectMeta| namespace(one) == namespace(&set.metadata) && name(one) == owner.name;
            owner.kind == "Deployment" && objects.deployments.iter().any(|one| same(&one.metadata))
        });
        if let (false, Some(template)) = (spoken_for, &spec.template) {
            let ours = owned_by("ReplicaSet", &set.metadata);
            let wanted = i64::from(spec.replicas.unwrap_or(1)) - count(&objects.pods, &set.metadata, ours);
            maker.spawn(&set.metadata, ("apps/v1", "ReplicaSet"), template, wanted, &[]);
        }
    }
    for (set, numbers) in objects.stateful_sets.iter().zip(stateful) {
        let Some(spec) = &set.spec else { continue };
        let volumes = spec.volume_claim_templates.as_deref().unwrap_or_default();
        for number in numbers {
            maker.make(&set.metadata, ("apps/v1", "StatefulSet"), &spec.template, number, volumes);
        }
    }
    for set in objects.replication_controllers.iter().filter(|set| stays(&set.metadata)) {
        let Some(spec) = &set.spec else { continue };
        if let Some(template) = &spec.template {
            let ours = owned_by("ReplicationController", &set.metadata);
            let wanted = i64::from(spec.replicas.unwrap_or(1)) - count(&objects.pods, &set.metadata, ours);
            maker.spawn(&set.metadata, ("v1", "ReplicationController"), template, wanted, &[]);
        }
    }
    for job in objects.jobs.iter().filter(|job| stays(&job.metadata)) {
        let Some(spec) = &job.spec else { continue };
        let succeeded = job.status.as_ref().and_then(|status| status.succeeded).unwrap_or(0);
        let mut wanted = i64::from(spec.parallelism.unwrap_or(1));
        match (spec.completions, spec.parallelism) {
            (Some(completions), _) => wanted = wanted.min(i64::from(completions - succeeded)),
            (None, None) => wanted = i64::from(1 - succeeded),
            (None, Some(_)) if succeeded > 0 => wanted = 0,
            (None, Some(_)) => {}
        }
        let ended = ["Complete", "Failed", "SuccessCriteriaMet", "FailureTarget"];
        let conditions = job.status.iter().flat_map(|status| status.conditions.iter().flatten());
        let mut last = conditions.filter(|one| one.status == "True" && ended.contains(&one.type_.as_str()));
        if spec.suspend == Some(true) || last.next().is_some() {
            wanted = 0;
        }
        let ours = owned_by("Job", &job.metadata);
        wanted -= count(&objects.pods, &job.metadata, &ours);
        // Such a Job waits for the end of its pods before it makes others.
        if spec.pod_replacement_policy.as_deref() == Some("Failed") || spec.pod_failure_policy.is_some() {
            let ending = objects.pods.iter().filter(|pod| !stays(&pod.metadata) && !is_terminal(pod));
            let own = ending.filter(|pod| namespace(&pod.metadata) == namespace(&job.metadata));
            wanted -=
                i64::try_from(own.filter(|pod| controller(&pod.metadata).is_some_and(&ours)).count()).unwrap_or(0);
        }
        maker.spawn(&job.metadata, ("batch/v1", "Job"), &spec.template, wanted, &[]);
    }
    let Maker { pods, claims, mut claim_names, .. } = maker;
    objects.pods.extend(pods);
    objects.volume_claims.extend(claims);
    make_ephemeral_claims(objects, &mut claim_names);
}

/// By set: the numbers of the pods that are missing. A pod that is over makes way for another of its name.
fn stateful_names(objects: &mut Objects, maker: &mut Maker) -> Vec<Vec<i64>> {
    let mut all = Vec::new();
    for set in &objects.stateful_sets {
        let mut missing = Vec::new();
        let ours = owned_by("StatefulSet", &set.metadata);
        for spec in set.spec.iter().filter(|_| stays(&set.metadata)) {
            let start = spec.ordinals.as_ref().and_then(|ordinals| ordinals.start).unwrap_or(0);
            for number in i64::from(start)..i64::from(start) + i64::from(spec.replicas.unwrap_or(1)) {
                let full = format!("{}/{}-{number}", namespace(&set.metadata), name(&set.metadata));
                let before = objects.pods.len();
                let is_over = |pod: &Pod| {
                    key(&pod.metadata) == full && is_terminal(pod) && controller(&pod.metadata).is_some_and(&ours)
                };
                objects.pods.retain(|pod| !is_over(pod));
                if maker.pod_names.insert(full.clone()) || objects.pods.len() < before {
                    missing.push(number);
                }
            }
        }
        all.push(missing);
    }
    all
}

/// Not being deleted: a workload that is makes no pods, and a pod that is counts for none.
fn stays(meta: &ObjectMeta) -> bool {
    meta.deletion_timestamp.is_none()
}

/// Of the ReplicaSet that has this template, or else of pods that are there; where there is neither, one that nobody has.
fn template_hash(
    objects: &Objects,
    deployment: &ObjectMeta,
    wanted: &PodTemplateSpec,
    ours: impl Fn(&OwnerReference) -> bool,
) -> String {
    let of = |metadata: &ObjectMeta| metadata.labels.as_ref().and_then(|labels| labels.get(TEMPLATE_HASH).cloned());
    let its = objects.replica_sets.iter().filter(|set| {
        namespace(&set.metadata) == namespace(deployment)
            && controller(&set.metadata).is_some_and(|owner| owner.name == name(deployment))
    });
    let mut has_sets = false;
    for set in its {
        has_sets = true;
        let Some(template) = set.spec.as_ref().and_then(|spec| spec.template.as_ref()) else { continue };
        if template.spec == wanted.spec {
            return of(&set.metadata).or_else(|| of(template.metadata.as_ref()?)).unwrap_or_default();
        }
    }
    let mut there =
        objects.pods.iter().filter(|pod| namespace(&pod.metadata) == namespace(deployment) && stays(&pod.metadata));
    let known =
        there.find_map(|pod| controller(&pod.metadata).filter(|owner| ours(owner)).and_then(|_| of(&pod.metadata)));
    known.filter(|_| !has_sets).unwrap_or_else(|| "nobody-else-has-it".to_owned())
}

struct Maker {
    pod_names: HashSet<String>,
    claim_names: HashSet<String>,
    pods: Vec<Pod>,
    claims: Vec<PersistentVolumeClaim>,
}

impl Maker {
    fn spawn(
        &mut self,
        owner: &ObjectMeta,
        (api_version, kind): (&str, &str),
        template: &PodTemplateSpec,
        wanted: i64,
        volumes: &[PersistentVolumeClaim],
    ) {
        let (mut made, mut number) = (0, 0);
        while made < wanted {
            if self.pod_names.insert(format!("{}/{}-{number}", namespace(owner), name(owner))) {
                self.make(owner, (api_version, kind), template, number, volumes);
                made += 1;
            }
            number += 1;
        }
    }

    fn make(
        &mut self,
        owner: &ObjectMeta,
        (api_version, kind): (&str, &str),
        template: &PodTemplateSpec,
        number: i64,
        volumes: &[PersistentVolumeClaim],
    ) {
        let mut pod = Pod { metadata: template.metadata.clone().unwrap_or_default(), ..Pod::default() };
        pod.spec = template.spec.clone();
        pod.metadata.namespace = Some(namespace(owner).to_owned());
        pod.metadata.name = Some(format!("{}-{number}", name(owner)));
        label(&mut pod, kind, name(owner), number);
        pod.metadata.owner_references = Some(vec![OwnerReference {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            name: name(owner).to_owned(),
            controller: Some(true),
            ..OwnerReference::default()
        }]);
        for template in volumes {
            self.mount(&mut pod, template);
        }
        self.pods.push(pod);
    }

    fn mount(&mut self, pod: &mut Pod, template: &PersistentVolumeClaim) {
        let volume_name = name(&template.metadata).to_owned();
        let claim_name = format!("{volume_name}-{}", name(&pod.metadata));
        let spec = template.spec.clone().unwrap_or_default();
        let claim = claim(namespace(&pod.metadata), &claim_name, template.metadata.clone(), spec);
        if self.claim_names.insert(key(&claim.metadata)) {
            self.claims.push(claim);
        }
        let source = PersistentVolumeClaimVolumeSource { claim_name, read_only: None };
        let volume = Volume { name: volume_name.clone(), persistent_volume_claim: Some(source), ..Volume::default() };
        let volumes = pod.spec.get_or_insert_default().volumes.get_or_insert_default();
        volumes.retain(|one| one.name != volume_name);
        volumes.push(volume);
    }
}

/// The labels by which a controller tells its pods.
fn label(pod: &mut Pod, kind: &str, owner: &str, number: i64) {
    let own = name(&pod.metadata).to_owned();
    let more = match kind {
        "Job" => vec![("job-name", owner.to_owned()), ("batch.kubernetes.io/job-name", owner.to_owned())],
        "StatefulSet" => {
            vec![("statefulset.kubernetes.io/pod-name", own), ("apps.kubernetes.io/pod-index", number.to_string())]
        }
        _ => return,
    };
    let labels = pod.metadata.labels.get_or_insert_default();
    labels.extend(more.into_iter().map(|(key, value)| (key.to_owned(), value)));
}

fn make_ephemeral_claims(objects: &mut Objects, taken: &mut HashSet<String>) {
    for pod in &objects.pods {
        for volume in pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten()) {
            let template = volume.ephemeral.as_ref().and_then(|source| source.volume_claim_template.as_ref());
            let Some(template) = template else { continue };
            let claim_name = format!("{}-{}", name(&pod.metadata), volume.name);
            let meta = template.metadata.clone().unwrap_or_default();
            let claim = claim(namespace(&pod.metadata), &claim_name, meta, template.spec.clone());
            if taken.insert(key(&claim.metadata)) {
                objects.volume_claims.push(claim);
            }
        }
    }
}

fn claim(space: &str, called: &str, meta: ObjectMeta, spec: PersistentVolumeClaimSpec) -> PersistentVolumeClaim {
    let metadata = ObjectMeta { namespace: Some(space.to_owned()), name: Some(called.to_owned()), ..meta };
    PersistentVolumeClaim { metadata, spec: Some(spec), status: None }
}

fn key(meta: &ObjectMeta) -> String {
    format!("{}/{}", namespace(meta), name(meta))
}

fn controller(meta: &ObjectMeta) -> Option<&OwnerReference> {
    meta.owner_references.iter().flatten().find(|owner| owner.controller == Some(true))
}

fn owned_by<'a>(kind: &'a str, owner: &'a ObjectMeta) -> impl Fn(&OwnerReference) -> bool + 'a {
    move |one| one.kind == kind && one.name == name(owner)
}

fn count(pods: &[Pod], owner: &ObjectMeta, ours: impl Fn(&OwnerReference) -> bool) -> i64 {
    let belongs = |pod: &&Pod| {
        let owned = controller(&pod.metadata).is_some_and(&ours);
        namespace(&pod.metadata) == namespace(owner) && owned && !is_terminal(pod) && stays(&pod.metadata)
    };
    i64::try_from(pods.iter().filter(belongs).count()).unwrap_or(i64::MAX)
}
