//! The names that pods of StatefulSets have: fixed by number, so nobody else gets them and each is there once.

use std::collections::{BTreeMap, BTreeSet};

use super::{super::manifest::Manifest, controller, stays, wanted};

/// Of each set, the names of the pods that its controller has still to make. They are taken from now on.
///
/// A pod that is over goes, for another of its name. One that is being deleted holds its name to the end.
pub fn missing(manifest: &mut Manifest) -> Vec<Vec<String>> {
    let over = over(manifest);
    let mut made_anew = BTreeSet::new();
    let mut all = Vec::new();
    for set in manifest.stateful_sets.clone() {
        let mut names = Vec::new();
        let own = set.metadata.name.as_deref().unwrap_or_default();
        let namespace = set.metadata.namespace.as_deref().unwrap_or_default();
        for number in set.spec.as_ref().filter(|_| stays(&set.metadata)).into_iter().flat_map(|spec| {
            let start = spec.ordinals.as_ref().and_then(|ordinals| ordinals.start).map_or(0, i64::from);
            start..start + wanted(spec.replicas)
        }) {
            let name = format!("{own}-{number}");
            let full = format!("{namespace}/{name}");
            let is_free = manifest.note("Pod", &full, &format!("pods of {own}")).is_none();
            let is_over = over.get(&full).is_some_and(|owner| owner == own);
            if is_free || is_over {
                names.push(name);
            }
            if is_over {
                made_anew.insert(full);
            }
        }
        all.push(names);
    }
    manifest.pods.retain(|pod| !made_anew.contains(&full_name(&pod.metadata)));
    all
}

/// Pods of StatefulSets that have ended, with the name of their set.
fn over(manifest: &Manifest) -> BTreeMap<String, String> {
    let ended = manifest.pods.iter().filter(|pod| {
        let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
        matches!(phase, Some("Succeeded" | "Failed"))
    });
    let owned = ended.filter_map(|pod| {
        let owner = controller(&pod.metadata).filter(|owner| owner.kind == "StatefulSet")?;
        Some((full_name(&pod.metadata), owner.name.clone()))
    });
    owned.collect()
}

fn full_name(metadata: &k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta) -> String {
    let of = |text: &Option<String>| text.clone().unwrap_or_default();
    format!("{}/{}", of(&metadata.namespace), of(&metadata.name))
}
