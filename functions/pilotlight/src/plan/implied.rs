//! Machines of one's own where the files have no NodePool: as on-pending-pod has it, as if there were a pool called `power`.

use cluster::scene::{LeftOut, SceneRead, implied_pool};
use decide::provision::{NO_POOL, asks_for_gpus};
use model::PodRef;

use super::{answer::NOT_PROVISIONABLE, manifest::Manifest};

/// Whether it was needed.
pub fn add(manifest: &mut Manifest) -> bool {
    let needed = manifest.pools.is_empty() && !manifest.power_classes.is_empty();
    if needed {
        manifest.pools.push(implied_pool());
    }
    needed
}

/// Such machines are for pods that ask for GPUs; the others wait for somebody else.
pub fn leave_out_others(read: &mut SceneRead) {
    let (ours, others): (Vec<_>, Vec<_>) = core::mem::take(&mut read.scene.pods).into_iter().partition(asks_for_gpus);
    read.scene.pods = ours;
    read.left_out.extend(others.into_iter().map(|pod| LeftOut {
        pod: PodRef { namespace: pod.namespace, name: pod.name, uid: pod.uid },
        code: NOT_PROVISIONABLE,
        why: NO_POOL.to_owned(),
    }));
}
