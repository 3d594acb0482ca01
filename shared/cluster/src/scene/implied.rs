//! The pool that nobody made: machines of one's own, where there is no NodePool at all.

use crate::crd::{NodeClaimTemplate, NodeClaimTemplateSpec, NodeClassReference, NodePool, NodePoolSpec};

const NAME: &str = "power";
/// No class of this name has to be there: then the pool has the machines of all of them.
const CLASS: (&str, &str, &str) = ("pilotlight.dev", "PowerNodeClass", "default");

/// Nobody made it, so it has no UID.
pub fn implied_pool() -> NodePool {
    let (group, kind, name) = CLASS;
    let class = NodeClassReference { group: group.to_owned(), kind: kind.to_owned(), name: name.to_owned() };
    let template = NodeClaimTemplate {
        spec: NodeClaimTemplateSpec { node_class_ref: class, ..NodeClaimTemplateSpec::default() },
        ..NodeClaimTemplate::default()
    };
    NodePool::new(NAME, NodePoolSpec { template, ..NodePoolSpec::default() })
}
