//! The choice between the nodes that will do, or the tally of why none does.

use super::{claims::Claims, cluster::Cluster, filter::Known, message, relations::Relations, shape::Shape};
use crate::controllers::view::View;

/// The slot of the best node; otherwise the message and the plugins that refused.
pub(super) fn choose(
    cluster: &Cluster,
    view: &View,
    shape: &Shape,
    known: &[Option<Known>],
    claims: &Claims,
) -> Result<usize, (String, u16)> {
    let alone = shape.is_simple() && cluster.counts.carried().next().is_none();
    let relations = (!alone).then(|| Relations::new(cluster, shape, known));
    let mut best: Option<(i64, usize)> = None;
    for (slot, node) in cluster.alive() {
        let Some(Ok(score)) = known[slot].as_ref().map(|known| &known.verdict) else { continue };
        let related = relations.as_ref().map_or(Ok(0), |all| all.check(slot).map(|()| all.score(slot)));
        let Ok(related) = related else { continue };
        if !shape.claims.is_empty() && claims.check(node, view).is_err() {
            continue;
        }
        let score = score + related;
        let better =
            best.is_none_or(|(most, by)| score > most || (score == most && node.name < cluster.nodes[by].name));
        if better {
            best = Some((score, slot));
        }
    }
    if let Some((_, slot)) = best {
        return Ok(slot);
    }
    let mut tally = message::Tally::default();
    for (slot, node) in cluster.alive() {
        match known[slot].as_ref().map(|known| &known.verdict) {
            Some(Err(rejection)) => tally.add(rejection),
            _ => {
                let volumes = if shape.claims.is_empty() { Ok(()) } else { claims.check(node, view) };
                let rejected = volumes.and_then(|()| relations.as_ref().map_or(Ok(()), |all| all.check(slot)));
                if let Err(rejection) = rejected {
                    tally.add(&rejection);
                }
            }
        }
    }
    Err((tally.message(cluster.size(), shape.never_preempts), tally.plugins))
}
