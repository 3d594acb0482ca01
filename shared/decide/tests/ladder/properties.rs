//! What holds for every claim and every market, however odd.

use crate::market::{Ask, azure, claim, rack, scaleway};
use model::{Offering, Scope};
use proptest::prelude::*;

const REQUIREMENTS: [&str; 18] = [
    "node.kubernetes.io/instance-type In Standard_NC24ads_A100_v4 L4-1-24G node-a",
    "node.kubernetes.io/instance-type In L40S-1-48G Standard_NC96ads_A100_v4",
    "node.kubernetes.io/instance-type NotIn L4-1-24G",
    "node.kubernetes.io/instance-type In Standard_XYZ",
    "topology.kubernetes.io/zone In fr-par-1 westeurope-1",
    "topology.kubernetes.io/zone In fr-par-2 westeurope-2",
    "topology.kubernetes.io/zone DoesNotExist",
    "topology.kubernetes.io/region In westeurope",
    "karpenter.sh/capacity-type In spot",
    "karpenter.sh/capacity-type In spot on-demand",
    "karpenter.azure.com/sku-gpu-name In A100",
    "karpenter.azure.com/sku-gpu-name NotIn A100",
    "kubernetes.io/hostname In node-b",
    "kubernetes.io/arch In arm64",
    "rack Exists",
    "team In vision",
    "team DoesNotExist",
    "slots Gt many",
];

fn market() -> Vec<Offering> {
    [azure(), scaleway(), rack()].concat()
}

fn asks() -> impl Strategy<Value = Ask> {
    let requirements = proptest::sample::subsequence(REQUIREMENTS.to_vec(), 0..5);
    let gpus = proptest::sample::select(vec!["0", "1", "4", "8", "9"]);
    let out = proptest::sample::select(vec!["aks", "scaleway", "power", "none"]);
    (requirements, gpus, out, any::<bool>()).prop_map(|(requirements, gpus, out, listed)| {
        let ask = claim(&requirements).requesting(&[("nvidia.com/gpu", gpus)]).remembering(
            Scope::Provider { provider: out.into() },
            "12:30",
            "InsufficientCapacity",
        );
        if listed { ask.preferring_listed() } else { ask }
    })
}

proptest! {
    #[test]
    fn every_offering_is_a_rung_or_a_misfit_that_says_why(ask in asks()) {
        let ladder = ask.of(&market());
        if ladder.why().0 != "InvalidRequest" {
            prop_assert_eq!(ladder.rungs.len() + ladder.misfits.len(), market().len());
        }
        prop_assert!(ladder.misfits.iter().all(|misfit| !misfit.misses.is_empty()));
        prop_assert!(ladder.waiting.is_none() || ladder.rungs.is_empty());
    }

    #[test]
    fn there_is_always_a_reason_in_words_of_bearable_length(ask in asks()) {
        let (reason, message) = ask.of(&market()).why();
        prop_assert!(!reason.is_empty() && (10..=300).contains(&message.chars().count()), "{}", message);
    }

    #[test]
    fn the_order_in_which_offerings_are_listed_does_not_matter(ask in asks(), offerings in Just(market()).prop_shuffle()) {
        prop_assert_eq!(ask.of(&offerings).rungs, ask.of(&market()).rungs);
    }

    #[test]
    fn a_rung_stays_a_rung_when_the_others_are_gone(ask in asks()) {
        for rung in ask.of(&market()).rungs {
            prop_assert_eq!(ask.of(core::slice::from_ref(&rung)).rungs, vec![rung]);
        }
    }
}
