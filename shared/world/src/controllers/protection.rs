//! Storage in use is not taken away: claims wait for the pods that use them, volumes for their claims.

use serde_json::Value;
use std::collections::BTreeSet;

use super::{Controller, context::Context, fields, kinds::Kind, view::Noticed};
use crate::api::store::ObjectKey;

const CLAIM: &str = "kubernetes.io/pvc-protection";
const VOLUME: &str = "kubernetes.io/pv-protection";

#[derive(Debug, Default)]
pub(super) struct Protection {
    claims: BTreeSet<ObjectKey>,
    volumes: BTreeSet<ObjectKey>,
}

impl Controller for Protection {
    fn notice(&mut self, _context: &Context, noticed: &Noticed) {
        let change = &noticed.change;
        let after = &change.after.value;
        match noticed.kind {
            Some(Kind::PersistentVolumeClaim) if fields::is_going(after) => _ = self.claims.insert(change.key.clone()),
            Some(Kind::PersistentVolume) if fields::is_going(after) => _ = self.volumes.insert(change.key.clone()),
            Some(Kind::Pod) if change.deleted || fields::is_over(after) => {
                self.claims.extend(fields::claims(after).into_iter().map(|claim| (change.key.0.clone(), claim)));
            }
            _ => {}
        }
    }

    fn work(&mut self, context: &mut Context) {
        for at in std::mem::take(&mut self.claims) {
            let uses = |pod: &Value| !fields::is_over(pod) && fields::claims(pod).contains(&at.1);
            let in_use = context.view.in_namespace(Kind::Pod, &at.0).any(|(_, pod)| uses(&pod.value));
            if !in_use {
                release(context, Kind::PersistentVolumeClaim, &at, CLAIM);
            }
        }
        for at in std::mem::take(&mut self.volumes) {
            let volume = context.fresh(Kind::PersistentVolume, &at);
            if volume.is_some_and(|volume| volume.value["status"]["phase"] != "Bound") {
                release(context, Kind::PersistentVolume, &at, VOLUME);
            }
        }
    }
}

/// Lets an object go that is to go.
fn release(context: &Context, kind: Kind, at: &ObjectKey, finalizer: &str) {
    let Some(stored) = context.fresh(kind, at).filter(|stored| fields::is_going(&stored.value)) else { return };
    let has = fields::list(&stored.value["metadata"]["finalizers"]).iter().any(|one| one == finalizer);
    if has {
        context.update(kind, at, |value| fields::remove_finalizer(value, finalizer));
    }
}
