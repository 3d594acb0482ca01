//! ControllerRevisions: which template a DaemonSet or StatefulSet had when.

use serde_json::{Value, json};

use super::{context::Context, fields, kinds::Kind};
use crate::api::objects::key;

/// The hash of the present template, with a ControllerRevision that holds it.
pub(super) fn current(context: &mut Context, kind: Kind, owner: &Value) -> String {
    let template = &owner["spec"]["template"];
    let hash = fields::hash(template);
    let name = format!("{}-{hash}", fields::name(owner));
    if context.fresh(Kind::ControllerRevision, &key(fields::namespace(owner), &name)).is_some() {
        return hash;
    }
    let others = context.view.controlled(Kind::ControllerRevision, fields::uid(owner));
    let last = others.iter().filter_map(|(_, one)| one.value["revision"].as_i64()).max().unwrap_or(0);
    let mut labels = template["metadata"]["labels"].clone();
    labels["controller-revision-hash"] = hash.clone().into();
    let mut data = json!({ "spec": { "template": template } });
    data["spec"]["template"]["$patch"] = "replace".into();
    let revision = json!({
        "metadata": {
            "name": name,
            "namespace": fields::namespace(owner),
            "labels": labels,
            "ownerReferences": [fields::controller_reference(kind, owner)],
        },
        "data": data,
        "revision": last + 1,
    });
    context.create(Kind::ControllerRevision, revision);
    hash
}
