//! Claims that have lost something: their machine, or the finalizer that holds them until it is gone.

use jiff::SignedDuration;
use model::{Claim, ConditionKind, Node, Truth, Uid, names};
use std::collections::BTreeSet;

use super::{Leak, Situation};

const RACK: &str = "power";

/// A machine that was confirmed a moment ago may not be in every list yet.
const SETTLED: SignedDuration = SignedDuration::from_secs(60);

/// Launched, and its provider's list, complete, has nothing of it. A claim whose Node is ready has a machine, whatever a list
/// says. What has no launch record was not launched by us.
pub(super) fn without_machine(seen: &Situation) -> Vec<Leak> {
    // A volume is no machine. Of a rack the hold alone counts: its machine may not answer now.
    let listed = seen.clouds.iter().flat_map(|(provider, all)| all.iter().map(move |owned| (*provider, owned)));
    let machines = listed.filter(|(provider, owned)| owned.instance.is_some() || *provider == RACK);
    let owned: BTreeSet<&Uid> = machines.map(|(_, owned)| &owned.key.claim).collect();
    let lost = |claim: &&Claim| {
        let launched = claim.condition(ConditionKind::Launched).filter(|found| found.status == Truth::True);
        let settled = launched.is_some_and(|launched| seen.now.duration_since(launched.since) >= SETTLED);
        settled
            && claim.deleted_at.is_none()
            && seen.known_before.contains(&claim.key.claim)
            && !owned.contains(&claim.key.claim)
            && !nodes_of(seen, claim).any(|node| node.ready == Truth::True)
    };
    let leak = |claim: &Claim| {
        let provider = &claim.record()?.offering.id.provider;
        let node = nodes_of(seen, claim).next().map(|node| node.name.to_string());
        let key = claim.key.clone();
        seen.clouds.contains_key(provider.as_str()).then(|| Leak::ClaimWithoutMachine {
            key,
            provider: provider.clone(),
            node,
        })
    };
    seen.claims.iter().filter(lost).filter_map(leak).collect()
}

/// It has a machine, or may have one: were it deleted now, it would be gone at once and leave that behind.
pub(super) fn without_finalizer(seen: &Situation) -> Vec<Leak> {
    let bare = |claim: &&Claim| {
        let launched = claim.record().is_some_and(|record| !record.is_spent());
        launched && claim.deleted_at.is_none() && !claim.finalizers.contains(names::FINALIZER)
    };
    let leak = |claim: &Claim| Leak::FinalizerMissing {
        key: claim.key.clone(),
        version: claim.version.clone(),
        finalizers: claim.finalizers.clone(),
    };
    seen.claims.iter().filter(bare).map(leak).collect()
}

fn nodes_of<'a>(seen: &'a Situation, claim: &'a Claim) -> impl Iterator<Item = &'a Node> {
    seen.nodes.iter().filter(|node| match node.labels.get(names::CLAIM_UID) {
        Some(uid) => uid == claim.key.claim.as_str(),
        None => claim.status.node.as_deref() == Some(node.name.as_str()),
    })
}
