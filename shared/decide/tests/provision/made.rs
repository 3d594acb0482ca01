//! What claims that are made for pods ask for, and the money that is counted for those that were made before.

use super::fixture::*;
use decide::money::Allowance;
use decide::provision::{Situation, Told};
use model::{Cap, ClassRef, Entry, Ledger, Quantity, names};

const GIB: i128 = 1 << 30;

fn of_class(group: &str, kind: &str) -> Situation {
    let mut situation = situation("aks", vec![offering("aks", "Standard_NC24ads_A100_v4", 1, 367)], vec![pod("p", 1)]);
    situation.pools[0].class = ClassRef { group: group.into(), kind: kind.into(), name: name("default") };
    situation
}

fn disk(situation: &Situation) -> Option<i128> {
    let done = decide(situation);
    done.claims[0].requests.get("storage").map(|amount| amount.thousandths() / 1000 / GIB)
}

#[test]
fn a_claim_that_is_made_as_gpu_provisioner_would_says_how_large_its_disk_is() {
    assert_eq!(disk(&of_class("kaito.sh", "KaitoNodeClass")), Some(128));
    let mut labelled = of_class("karpenter.azure.com", "AKSNodeClass");
    labelled.scene.pools[0].labels.insert(names::KAITO_WORKSPACE.into(), "w".into());
    assert_eq!(disk(&labelled), Some(128), "its class is not read either");
    assert_eq!(disk(&of_class("karpenter.azure.com", "AKSNodeClass")), None, "the class says it");
}

#[test]
fn what_pods_say_about_their_disk_stands() {
    let mut asks = of_class("kaito.sh", "KaitoNodeClass");
    let amount = Quantity::from_thousandths(200 * GIB * 1000);
    asks.scene.pods[0].requests.insert("ephemeral-storage".into(), amount);
    for kind in &mut asks.scene.catalogues[0].types {
        kind.allocatable.insert("ephemeral-storage".into(), Quantity::from_thousandths(500 * GIB * 1000));
    }
    let done = decide(&asks);
    assert_eq!(done.claims[0].requests.get("ephemeral-storage"), Some(&amount));
    assert_eq!(done.claims[0].requests.get("storage"), None);
}

/// A claim of yesterday's decision costs 1 EUR an hour, and one more of the same is asked for.
fn under_a_cap(cap: &str, ledger: Ledger) -> Told {
    let mut seen = situation("scaleway", vec![offering("scaleway", "L4-1-24G", 1, 100)], vec![pod("p", 1)]);
    let mut made = claim("made", &seen.pools[0].class.clone());
    made.annotations.insert(names::EXPECTED_PRICE.into(), "1 EUR".into());
    seen.claims.push(made);
    seen.pools[0].allowance = Allowance { cluster: Cap::read(cap).ok(), pool: None, ledger: ledger.into() };
    told(&decide(&seen), &pod("p", 1)).clone()
}

#[test]
fn a_claim_that_has_its_money_and_has_not_written_its_choice_is_counted_once() {
    let price = offering("scaleway", "L4-1-24G", 1, 100).price.unwrap();
    let allowed = Ledger([(uid("made"), Entry::new(&price, Some("gpu".into()), now()))].into());
    assert!(matches!(under_a_cap("2", allowed.clone()), Told::Coming { .. }));
    assert!(matches!(under_a_cap("2", Ledger::default()), Told::Coming { .. }));
    for ledger in [allowed, Ledger::default()] {
        let Told::NoNode(why) = under_a_cap("1.5", ledger) else { panic!("there is no money for it") };
        assert!(why.reason.contains("it spends 1/h"), "{}", why.reason);
    }
}
