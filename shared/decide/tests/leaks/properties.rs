//! Random clusters with other people's things, young machines, lists that failed and claims of every kind: nothing is found that
//! anybody has, and closing what is found is once.

use crate::fixture::*;
use decide::leaks::{Leak, Situation, YOUNG, find};
use model::*;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const UIDS: [&str; 6] = ["a", "b", "c", "d", "e", "f"];
const PROVIDERS: [&str; 3] = ["aks", "scaleway", "power"];

fn some_uids() -> impl Strategy<Value = BTreeSet<Uid>> {
    proptest::sample::subsequence(UIDS.to_vec(), 0..=UIDS.len()).prop_map(|all| all.into_iter().map(uid).collect())
}

fn owned() -> impl Strategy<Value = Owned> {
    (proptest::sample::select(UIDS.to_vec()), any::<bool>(), proptest::option::of(0_i64..120)).prop_map(
        |(claim, is_machine, age)| {
            let mut owned = if is_machine { machine(claim) } else { volume(claim) };
            if let Some(instance) = &mut owned.instance {
                instance.created_at = age.map(|age| at(-age));
            }
            owned
        },
    )
}

fn some_node() -> impl Strategy<Value = Node> {
    let claim = proptest::option::of(proptest::sample::select(UIDS.to_vec()));
    let ready = proptest::sample::select(vec![Truth::True, Truth::False, Truth::Unknown]);
    (proptest::sample::select(vec!["a", "x", "y"]), claim, ready)
        .prop_map(|(called, claim, ready)| node(called, claim, ready))
}

fn some_claim() -> impl Strategy<Value = Claim> {
    let provider = proptest::sample::select(PROVIDERS.to_vec());
    (proptest::sample::select(UIDS.to_vec()), provider, any::<bool>(), any::<bool>(), any::<bool>()).prop_map(
        |(claim, provider, going, recorded, held)| {
            let mut claim = launched(claim, provider);
            claim.deleted_at = going.then(|| at(-9));
            if !recorded {
                claim.launch = Launch::NotBegun;
            }
            if !held {
                claim.finalizers.clear();
            }
            claim
        },
    )
}

/// Which clouds could be listed, and what they hold.
fn clouds() -> impl Strategy<Value = BTreeMap<&'static str, Vec<Owned>>> {
    let list = || proptest::option::of(proptest::collection::vec(owned(), 0..4));
    (list(), list(), list()).prop_map(|lists| {
        let lists = [lists.0, lists.1, lists.2];
        PROVIDERS.into_iter().zip(lists).filter_map(|(provider, list)| Some((provider, list?))).collect()
    })
}

fn situation() -> impl Strategy<Value = Situation> {
    let claims = proptest::collection::vec(some_claim(), 0..4);
    let nodes = proptest::collection::vec(some_node(), 0..4);
    (some_uids(), some_uids(), claims, clouds(), nodes).prop_map(|(before, mut after, claims, clouds, nodes)| {
        // A UID is given once.
        let claims: BTreeMap<Uid, Claim> = claims.into_iter().map(|claim| (claim.key.claim.clone(), claim)).collect();
        let claims: Vec<Claim> = claims.into_values().collect();
        after.extend(claims.iter().map(|claim| claim.key.claim.clone()));
        Situation { known_before: before, known_after: after, claims, clouds, nodes, ..clean() }
    })
}

proptest! {
    #[test]
    fn nothing_is_taken_from_a_claim_that_anybody_saw(seen in situation()) {
        for leak in find(&seen) {
            if let Leak::Orphan(orphan) = leak {
                let claim = &orphan.key.claim;
                prop_assert!(!seen.known_before.contains(claim) && !seen.known_after.contains(claim));
            }
        }
    }

    #[test]
    fn nothing_is_concluded_from_a_cloud_that_was_not_listed_whole(seen in situation()) {
        for leak in find(&seen) {
            match leak {
                Leak::Orphan(orphan) => prop_assert!(seen.clouds.contains_key(orphan.provider)),
                Leak::ClaimWithoutMachine { provider, .. } => prop_assert!(seen.clouds.contains_key(provider.as_str())),
                _ => {}
            }
        }
    }

    #[test]
    fn nothing_is_touched_that_does_not_carry_the_key_itself(seen in situation()) {
        for leak in find(&seen) {
            let Leak::Orphan(orphan) = leak else { continue };
            prop_assert!(orphan.owned.iter().all(|owned| owned.key.claim == orphan.key.claim));
            for node in &orphan.nodes {
                let said = node.labels.get(names::CLAIM_UID);
                prop_assert!(said.is_none_or(|said| said == orphan.key.claim.as_str()), "it says that it is {said:?}'s");
                prop_assert!(said.is_some() || orphan.has_instance(), "only a machine knows a node that says nothing");
            }
        }
    }

    #[test]
    fn young_machines_are_left_alone(seen in situation()) {
        for leak in find(&seen) {
            let Leak::Orphan(orphan) = leak else { continue };
            let made = orphan.owned.iter().filter_map(|owned| owned.instance.as_ref()?.created_at);
            prop_assert!(made.into_iter().all(|made| seen.now.duration_since(made) >= YOUNG));
        }
    }

    #[test]
    fn only_claims_that_we_launched_and_whose_node_is_not_ready_are_given_up(seen in situation()) {
        for leak in find(&seen) {
            let Leak::ClaimWithoutMachine { key, .. } = leak else { continue };
            let claim = seen.claims.iter().find(|claim| claim.key == key).unwrap();
            prop_assert!(claim.record().is_some() && claim.deleted_at.is_none());
            let ready = |node: &Node| node.ready == Truth::True && node.labels.get(names::CLAIM_UID).is_some_and(|own| own == key.claim.as_str());
            prop_assert!(!seen.nodes.iter().any(ready));
        }
    }

    #[test]
    fn once_it_is_closed_it_is_not_found_again(seen in situation()) {
        let mut after = seen.clone();
        for leak in find(&seen) {
            match leak {
                Leak::Orphan(orphan) => {
                    let list = after.clouds.get_mut(orphan.provider).unwrap();
                    list.retain(|owned| owned.key.claim != orphan.key.claim);
                    after.nodes.retain(|node| !orphan.nodes.contains(node));
                }
                Leak::ClaimWithoutMachine { key, .. } => after.claims.retain(|claim| claim.key != key),
                Leak::FinalizerMissing { key, .. } => {
                    for claim in after.claims.iter_mut().filter(|claim| claim.key == key) {
                        claim.finalizers.insert(names::FINALIZER.to_owned());
                    }
                }
                other => panic!("no part of these worlds: {other:?}"),
            }
        }
        // A young machine hides its node from the search; nothing else is left.
        let left: Vec<_> = find(&after);
        prop_assert!(left.is_empty(), "{left:?}");
    }
}
