//! What strategic merge patch does with a field, looked up in the shapes of the core kinds.
use super::schema_of::{Schema, ShapeId, Strategy};

/// How one field is patched.
#[derive(Debug, Clone)]
pub struct PatchMeta<'a> {
    pub strategy: Strategy,
    /// Tells the elements of a merged list apart; a merged list without one is a set of scalars.
    pub merge_key: Option<&'a str>,
    /// The shape of what is patched below the field: of the object, or of an element of the list.
    pub below: ShapeId,
}

/// How a field that holds an object is patched.
pub fn of_object<'a>(schema: &'a Schema, shape: ShapeId, name: &str) -> Result<PatchMeta<'a>, String> {
    let map = schema.shape(shape).map.as_ref();
    let Some(map) = map.filter(|map| !map.fields.is_empty()) else {
        let instead = if map.is_some() { "map" } else { "interface" };
        return Err(format!("merging an object in json but data type is not struct, instead is: {instead}"));
    };
    let Some(field) = map.fields.get(name) else {
        return Err(format!("unable to find api field in struct {} for the json field {name:?}", map.name));
    };
    Ok(PatchMeta { strategy: field.strategy, merge_key: field.merge_key.as_deref(), below: field.shape })
}

/// How a field that holds a list is patched.
pub fn of_list<'a>(schema: &'a Schema, shape: ShapeId, name: &str) -> Result<PatchMeta<'a>, String> {
    let meta = of_object(schema, shape, name)?;
    match &schema.shape(meta.below).list {
        Some(list) => Ok(PatchMeta { below: list.element, ..meta }),
        None => Err("expected slice or array type, but got: struct".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::{Schema, Strategy, of_list, of_object};

    /// Kind, path to a list, and the merge key; an empty key for a set, none for a list that is replaced.
    fn check(cases: &[(&str, &str, &str, Option<&str>)]) {
        for (api_version, kind, path, expected) in cases {
            let schema = Schema::of_core(api_version, kind).unwrap();
            let mut shape = schema.root();
            let mut names: Vec<&str> = path.split('.').collect();
            let last = names.pop().unwrap();
            for name in names {
                shape = match name.strip_suffix("[]") {
                    Some(list) => of_list(&schema, shape, list).unwrap().below,
                    None => of_object(&schema, shape, name).unwrap().below,
                };
            }
            let meta = of_list(&schema, shape, last).unwrap();
            let found = (meta.strategy == Strategy::Merge).then(|| meta.merge_key.unwrap_or_default());
            assert_eq!(found, *expected, "{kind} {path}");
        }
    }

    #[test]
    fn lists_are_merged_by_the_keys_of_the_api() {
        check(&[
            ("v1", "Pod", "spec.containers", Some("name")),
            ("v1", "Pod", "spec.initContainers", Some("name")),
            ("v1", "Pod", "spec.containers[].env", Some("name")),
            ("v1", "Pod", "spec.containers[].envFrom", None),
            ("v1", "Pod", "spec.containers[].args", None),
            ("v1", "Pod", "spec.containers[].ports", Some("containerPort")),
            ("v1", "Pod", "spec.containers[].volumeMounts", Some("mountPath")),
            ("v1", "Pod", "spec.containers[].volumeDevices", Some("devicePath")),
            ("v1", "Pod", "spec.volumes", Some("name")),
            ("v1", "Pod", "spec.tolerations", None),
            ("v1", "Pod", "spec.imagePullSecrets", Some("name")),
            ("v1", "Pod", "spec.hostAliases", Some("ip")),
            ("v1", "Pod", "spec.topologySpreadConstraints", Some("topologyKey")),
            ("v1", "Pod", "spec.schedulingGates", Some("name")),
            ("v1", "Pod", "spec.readinessGates", None),
            ("v1", "Pod", "status.conditions", Some("type")),
            ("v1", "Pod", "status.podIPs", Some("ip")),
            ("v1", "Pod", "status.containerStatuses", None),
            ("v1", "Pod", "metadata.ownerReferences", Some("uid")),
            ("v1", "Pod", "metadata.finalizers", Some("")),
            ("v1", "Node", "spec.taints", None),
            ("v1", "Node", "spec.podCIDRs", Some("")),
            ("v1", "Node", "status.conditions", Some("type")),
            ("v1", "Node", "status.addresses", Some("type")),
            ("v1", "Namespace", "spec.finalizers", None),
            ("v1", "Namespace", "status.conditions", Some("type")),
            ("v1", "Service", "spec.ports", Some("port")),
            ("v1", "Service", "status.conditions", Some("type")),
            ("v1", "PersistentVolumeClaim", "status.conditions", Some("type")),
            ("v1", "PersistentVolume", "spec.accessModes", None),
            ("v1", "ServiceAccount", "secrets", Some("name")),
            ("apps/v1", "Deployment", "spec.template.spec.containers", Some("name")),
            ("apps/v1", "Deployment", "status.conditions", Some("type")),
            ("apps/v1", "StatefulSet", "spec.volumeClaimTemplates", None),
            ("apps/v1", "DaemonSet", "status.conditions", Some("type")),
            ("apps/v1", "ReplicaSet", "status.conditions", Some("type")),
            ("batch/v1", "Job", "status.conditions", Some("type")),
            ("policy/v1", "PodDisruptionBudget", "status.conditions", Some("type")),
            ("storage.k8s.io/v1", "CSINode", "spec.drivers", Some("name")),
            ("storage.k8s.io/v1", "StorageClass", "allowedTopologies", None),
        ]);
    }
}
