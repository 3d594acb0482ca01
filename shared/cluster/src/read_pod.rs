//! A pod as it was read, in our words, and the volume claims it uses.

use jiff::SignedDuration;
use k8s_openapi::{
    api::core::v1::{Pod as KubePod, Toleration as KubeToleration, Volume},
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time},
};
use model::{Pod, PodKind, Toleration, names};

use crate::fields::{deleted_at, identity, namespace};

/// With this annotation the API server shows a pod that only its kubelet can remove.
const MIRROR: &str = "kubernetes.io/config.mirror";
const CRITICAL: [&str; 2] = ["system-cluster-critical", "system-node-critical"];
/// What Kubernetes takes where a pod says nothing.
const USUAL_GRACE: i64 = 30;

/// An error is a pod that no API server sends.
pub(crate) fn read_pod(pod: &KubePod) -> Result<Pod, String> {
    let identity = identity(&pod.metadata)?;
    let spec = pod.spec.as_ref();
    let status = pod.status.as_ref();
    let class = spec.and_then(|spec| spec.priority_class_name.as_deref());
    let phase = status.and_then(|status| status.phase.as_deref());
    let grace = spec.and_then(|spec| spec.termination_grace_period_seconds).unwrap_or(USUAL_GRACE);
    let tolerations = spec.and_then(|spec| spec.tolerations.as_ref()).into_iter().flatten();
    let annotations = pod.metadata.annotations.as_ref();
    Ok(Pod {
        namespace: namespace(&pod.metadata)?,
        name: identity.name,
        uid: identity.uid,
        kind: kind(&pod.metadata),
        critical: class.is_some_and(|class| CRITICAL.contains(&class)),
        terminal: matches!(phase, Some("Succeeded" | "Failed")),
        deleted_at: deleted_at(&pod.metadata),
        grace: SignedDuration::from_secs(grace),
        tolerations: tolerations.filter_map(toleration).collect(),
        do_not_disrupt: annotations.and_then(|all| all.get(names::DO_NOT_DISRUPT)).cloned(),
        started_at: status.and_then(|status| status.start_time.as_ref()).map(|Time(at)| *at),
    })
}

/// The names of the volume claims it uses, in its own namespace.
pub(crate) fn volume_claims(pod: &KubePod) -> Vec<String> {
    claimed_volumes(pod).map(|(_, claim)| claim).collect()
}

/// Each volume that has a claim, and the claim's name.
pub(crate) fn claimed_volumes(pod: &KubePod) -> impl Iterator<Item = (&Volume, String)> {
    let pod_name = pod.metadata.name.as_deref().unwrap_or_default();
    let volumes = pod.spec.as_ref().and_then(|spec| spec.volumes.as_ref()).into_iter().flatten();
    volumes.filter_map(move |volume| match (&volume.persistent_volume_claim, &volume.ephemeral) {
        (Some(claim), _) => Some((volume, claim.claim_name.clone())),
        // Made for the pod, under a name that Kubernetes fixes.
        (None, Some(_)) => Some((volume, format!("{pod_name}-{}", volume.name))),
        (None, None) => None,
    })
}

pub(crate) fn kind(metadata: &ObjectMeta) -> PodKind {
    if metadata.annotations.as_ref().is_some_and(|all| all.contains_key(MIRROR)) {
        return PodKind::Mirror;
    }
    PodKind::of_owners(metadata.owner_references.iter().flatten().map(|owner| owner.kind.as_str()))
}

/// One that we do not understand tolerates nothing: the pod is drained like any other.
pub(crate) fn toleration(given: &KubeToleration) -> Option<Toleration> {
    let value = match given.operator.as_deref().unwrap_or("Equal") {
        "Exists" => None,
        "Equal" | "" => Some(given.value.clone().unwrap_or_default()),
        _ => return None,
    };
    let effect = given.effect.as_deref().filter(|effect| !effect.is_empty()).map(str::parse).transpose().ok()?;
    Some(Toleration { key: given.key.clone().filter(|key| !key.is_empty()), value, effect })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use model::{Effect, Taint};
    use serde_json::{Value, json};

    fn pod(metadata: Value, spec: Value, phase: &str) -> KubePod {
        let mut all = json!({ "name": "p", "namespace": "team-a", "uid": "u", "resourceVersion": "1",
            "creationTimestamp": "2026-01-01T00:00:00Z" });
        all.as_object_mut().unwrap().extend(metadata.as_object().unwrap().clone());
        serde_json::from_value(json!({ "metadata": all, "spec": spec, "status": { "phase": phase } })).unwrap()
    }

    fn owned_by(kind: &str) -> Value {
        json!({ "ownerReferences": [{ "apiVersion": "v1", "kind": kind, "name": "o", "uid": "o", "controller": true }] })
    }

    #[test]
    fn the_owner_or_the_mirror_annotation_tells_what_a_pod_is() {
        let check = |metadata: Value, kind: PodKind| {
            assert_eq!(read_pod(&pod(metadata, json!({ "containers": [] }), "Running")).unwrap().kind, kind);
        };
        check(json!({}), PodKind::Ordinary);
        check(owned_by("ReplicaSet"), PodKind::Ordinary);
        check(owned_by("DaemonSet"), PodKind::Daemon);
        check(owned_by("Node"), PodKind::Mirror);
        let uncontrolled = |kind: &str| {
            json!({ "ownerReferences": [{ "apiVersion": "v1", "kind": "Other", "name": "o", "uid": "o", "controller": true },
                { "apiVersion": "v1", "kind": kind, "name": "o", "uid": "o" }] })
        };
        check(uncontrolled("DaemonSet"), PodKind::Daemon);
        check(uncontrolled("Node"), PodKind::Mirror);
        check(uncontrolled("ReplicaSet"), PodKind::Ordinary);
        check(json!({ "annotations": { "kubernetes.io/config.mirror": "x" } }), PodKind::Mirror);
    }

    #[test]
    fn a_pod_says_how_it_wants_to_go() {
        let spec = json!({ "containers": [], "priorityClassName": "system-node-critical", "terminationGracePeriodSeconds": 5 });
        let metadata = json!({ "annotations": { "karpenter.sh/do-not-disrupt": "true" }, "deletionTimestamp": "2026-01-01T00:00:09Z" });
        let read = read_pod(&pod(metadata, spec, "Failed")).unwrap();
        assert!(read.critical && read.terminal && read.deleted_at.is_some());
        assert_eq!((read.grace, read.do_not_disrupt.as_deref()), (SignedDuration::from_secs(5), Some("true")));
        let quiet = read_pod(&pod(json!({}), json!({ "containers": [] }), "Running")).unwrap();
        assert!(!quiet.critical && !quiet.terminal);
        assert_eq!(quiet.grace, SignedDuration::from_secs(30));
    }

    #[test]
    fn tolerations_tolerate_what_kubernetes_lets_them() {
        let taint = Taint { key: "karpenter.sh/disrupted".into(), value: String::new(), effect: Effect::NoSchedule };
        let check = |given: Value, expected: bool| {
            let spec = json!({ "containers": [], "tolerations": [given.clone()] });
            let read = read_pod(&pod(json!({}), spec, "Running")).unwrap();
            assert_eq!(read.tolerations.iter().any(|one| one.tolerates(&taint)), expected, "{given}");
        };
        check(json!({ "operator": "Exists" }), true);
        check(json!({ "key": "karpenter.sh/disrupted", "operator": "Exists", "effect": "NoSchedule" }), true);
        check(json!({ "key": "karpenter.sh/disrupted" }), true);
        check(json!({ "key": "karpenter.sh/disrupted", "value": "x" }), false);
        check(json!({ "key": "karpenter.sh/disrupted", "operator": "Exists", "effect": "NoExecute" }), false);
        check(json!({ "key": "karpenter.sh/disrupted", "operator": "Gt", "value": "1" }), false);
        check(json!({ "key": "karpenter.sh/disrupted", "operator": "Exists", "effect": "Someday" }), false);
    }

    #[test]
    fn the_volume_claims_of_a_pod_are_named_or_made_for_it() {
        let spec = json!({ "containers": [], "volumes": [{ "name": "a", "persistentVolumeClaim": { "claimName": "data" } },
            { "name": "b", "ephemeral": {} }, { "name": "c", "emptyDir": {} }] });
        assert_eq!(volume_claims(&pod(json!({}), spec, "Running")), ["data", "p-b"]);
    }
}
