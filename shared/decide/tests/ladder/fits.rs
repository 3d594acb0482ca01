//! What fits a claim.

use crate::market::{A100, A100_X2, H100_X8, aks, azure, claim, kaito, now, rack, scaleway};
use decide::ladder::Miss;
use model::{CapacityType, Offering, Scope};

const A100_REGIONAL: &str = "aks/Standard_NC24ads_A100_v4/regional/on-demand";

#[test]
fn a_claim_of_kaito_gets_the_size_it_names_regional_and_on_demand_as_it_always_did() {
    kaito(A100).gets(&azure(), &[A100_REGIONAL]);
    kaito(H100_X8).gets(&azure(), &["aks/Standard_ND96isr_H100_v5/regional/on-demand"]);
}

#[test]
fn a_claim_of_kaito_that_names_a_zone_gets_it() {
    kaito(A100).with_zone("westeurope-2").gets(&azure(), &["aks/Standard_NC24ads_A100_v4/westeurope-2/on-demand"]);
}

#[test]
fn a_claim_of_karpenter_gets_every_type_zone_and_capacity_type_it_allows_the_cheapest_first() {
    let ask = claim(&[
        "karpenter.sh/nodepool In gpu",
        "karpenter.sh/capacity-type In spot on-demand",
        "topology.kubernetes.io/zone In westeurope-1",
        "node.kubernetes.io/instance-type In Standard_NC48ads_A100_v4 Standard_NC24ads_A100_v4",
    ]);
    let expected = [
        "aks/Standard_NC24ads_A100_v4/westeurope-1/spot",
        "aks/Standard_NC48ads_A100_v4/westeurope-1/spot",
        "aks/Standard_NC24ads_A100_v4/westeurope-1/on-demand",
        "aks/Standard_NC48ads_A100_v4/westeurope-1/on-demand",
    ];
    ask.gets(&azure(), &expected);
}

#[test]
fn a_claim_for_scaleway_gets_its_type_in_every_zone_that_sells_it() {
    let expected = ["scaleway/L40S-1-48G/fr-par-2/on-demand", "scaleway/L40S-1-48G/pl-waw-2/on-demand"];
    claim(&["beta.kubernetes.io/instance-type In L40S-1-48G", "karpenter.sh/capacity-type In on-demand"])
        .requesting(&[("nvidia.com/gpu", "1")])
        .gets(&scaleway(), &expected);
}

#[test]
fn a_machine_of_ones_own_is_taken_by_its_name() {
    claim(&["kubernetes.io/hostname In node-b"]).gets(&rack(), &["power/node-b/regional/on-demand"]);
    claim(&["kubernetes.io/hostname In node-b"]).gets(&scaleway(), &[]);
}

#[test]
fn nobody_gets_a_spot_machine_who_did_not_ask() {
    let kinds = |requirements: &[&str]| -> Vec<CapacityType> {
        let mut offerings = azure();
        offerings.push(aks(A100, Some("westeurope-1"), CapacityType::Reserved, 1, 0));
        let mut kinds: Vec<_> =
            claim(requirements).of(&offerings).rungs.iter().map(|rung| rung.id.capacity_type).collect();
        kinds.sort();
        kinds.dedup();
        kinds
    };
    assert_eq!(kinds(&[]), [CapacityType::OnDemand, CapacityType::Reserved]);
    assert_eq!(kinds(&["karpenter.sh/capacity-type In spot"]), [CapacityType::Spot]);
    assert_eq!(kinds(&["karpenter.sh/capacity-type Exists"]).len(), 3);
}

#[test]
fn a_label_no_machine_knows_is_given_to_the_node() {
    for given in
        ["team In vision", "team Exists", "team NotIn audio", "team DoesNotExist", "karpenter.sh/nodepool In gpu"]
    {
        assert_eq!(claim(&[given]).of(&scaleway()).rungs.len(), scaleway().len(), "{given}");
    }
}

#[test]
fn a_label_that_some_machine_has_is_the_machines_own() {
    claim(&["rack In r2"]).gets(&rack(), &["power/node-b/regional/on-demand"]);
    claim(&["rack DoesNotExist"]).gets(&rack(), &["power/node-a/regional/on-demand"]);
}

#[test]
fn a_well_known_label_that_a_machine_lacks_is_missing_and_not_given() {
    for known in ["topology.kubernetes.io/zone In a", "karpenter.azure.com/sku-gpu-name In A100"] {
        claim(&[known]).gets(&rack(), &[]);
    }
    assert_eq!(claim(&["karpenter.azure.com/sku-gpu-name NotIn A100"]).of(&rack()).rungs.len(), 2);
}

#[test]
fn a_claim_that_names_its_own_class_fits_whatever_the_class_offers() {
    let own = "karpenter.azure.com/aksnodeclass";
    for kept in ["In default", "In other default", "Exists", "NotIn other"] {
        let ask = claim(&[&format!("{own} {kept}")]).of_class("karpenter.azure.com", "AKSNodeClass");
        assert_eq!(ask.of(&azure()).rungs.len(), claim(&[]).of(&azure()).rungs.len(), "{kept}");
    }
    for broken in ["In other", "DoesNotExist", "NotIn default"] {
        let ask = claim(&[&format!("{own} {broken}")]).of_class("karpenter.azure.com", "AKSNodeClass");
        assert_eq!(ask.of(&azure()).why().0, decide::ladder::INVALID_REQUEST, "{broken}");
    }
    claim(&[&format!("{own} In default")]).of_class("kaito.sh", "KaitoNodeClass").gets(&azure(), &[]);
}

#[test]
fn a_machine_that_another_class_lists_is_none_for_the_claim() {
    let label = "pilotlight.dev/powernodeclass";
    let mut machines = rack();
    for (machine, class) in machines.iter_mut().zip(["default", "other"]) {
        machine.labels.insert(label.to_owned(), class.to_owned());
    }
    let ask = claim(&[&format!("{label} In default")]).of_class("pilotlight.dev", "PowerNodeClass");
    assert_eq!(ask.of(&machines).rungs.len(), 1);
}

#[test]
fn a_machine_has_to_hold_what_is_requested() {
    let fitting =
        |name: &str, amount: &str| -> usize { claim(&[]).requesting(&[(name, amount)]).of(&scaleway()).rungs.len() };
    assert_eq!(fitting("nvidia.com/gpu", "4"), 3);
    assert_eq!(fitting("nvidia.com/gpu", "8"), 1);
    assert_eq!(fitting("cpu", "25"), 3);
    assert_eq!(fitting("memory", "204Gi"), 3);
    assert_eq!(fitting("pods", "111"), 0);
    assert_eq!(fitting("amd.com/gpu", "1"), 0);
    assert_eq!(fitting("nvidia.com/mig-1g.10gb", "1"), 0);
    assert_eq!(
        fitting("nvidia.com/gpu.shared", "10"),
        scaleway().len(),
        "how a GPU is shared is the cluster's setting"
    );
    assert_eq!(fitting("amd.com/gpu.shared", "1"), 0);
}

#[test]
fn no_machine_is_passed_over_for_disks_zeros_or_what_a_plugin_brings_later() {
    for (name, amount) in
        [("storage", "9000Gi"), ("ephemeral-storage", "9000Gi"), ("amd.com/gpu", "0"), ("rdma/hca", "1")]
    {
        assert_eq!(claim(&[]).requesting(&[(name, amount)]).of(&scaleway()).rungs.len(), scaleway().len(), "{name}");
    }
}

#[test]
fn what_is_remembered_as_unavailable_is_left_out_until_its_time() {
    let of_type = |name: &str| Scope::InstanceType { provider: "scaleway".into(), instance_type: name.into() };
    let ask = || claim(&["topology.kubernetes.io/zone In fr-par-1"]);
    let both = ["scaleway/L4-1-24G/fr-par-1/on-demand", "scaleway/L4-4-24G/fr-par-1/on-demand"];
    ask().gets(&scaleway(), &both);
    ask().remembering(of_type("L4-1-24G"), "12:01", "InsufficientCapacity").gets(&scaleway(), &both[1..]);
    ask().remembering(of_type("L4-1-24G"), "12:00", "InsufficientCapacity").gets(&scaleway(), &both);
    let quota = Scope::Family { provider: "aks".into(), family: "A100".into() };
    let left = claim(&[]).remembering(quota, "12:05", "QuotaExceeded").of(&azure());
    assert!(left.rungs.iter().all(|rung| rung.id.instance_type == H100_X8), "{:?}", left.rungs);
}

#[test]
fn what_this_claim_tried_is_left_out_for_ten_minutes_and_then_climbed_again() {
    let zones = scaleway().into_iter().filter(|one| one.id.instance_type == "L4-1-24G").collect::<Vec<Offering>>();
    let ask = || claim(&[]);
    let both = ["scaleway/L4-1-24G/fr-par-1/on-demand", "scaleway/L4-1-24G/fr-par-2/on-demand"];
    ask().having_tried(&zones[0], "11:51", "RegistrationTimeout").gets(&zones, &both[1..]);
    ask().having_tried(&zones[0], "11:50", "RegistrationTimeout").gets(&zones, &both);
}

#[test]
fn everything_that_speaks_against_an_offering_is_listed() {
    let ask = claim(&[&format!("node.kubernetes.io/instance-type In {A100}")]).requesting(&[("nvidia.com/gpu", "4")]);
    let misfits = ask.of(&azure()).misfits;
    let of = |text: &str| misfits.iter().find(|one| one.offering.to_string() == text).map(|one| one.misses.clone());
    let instance_type = || Miss::Label("node.kubernetes.io/instance-type".into());
    let gpus = || Miss::Resource("nvidia.com/gpu".into());
    assert_eq!(of(A100_REGIONAL), Some(vec![gpus()]));
    let spot = format!("aks/{A100_X2}/westeurope-1/spot");
    assert_eq!(of(&spot), Some(vec![Miss::CapacityTypeNotAskedFor, instance_type(), gpus()]));
}

#[test]
fn while_something_is_unavailable_the_ladder_says_when_it_may_be_tried_again() {
    let zones = scaleway().into_iter().filter(|one| one.id.instance_type == "L4-1-24G").collect::<Vec<Offering>>();
    let first = Scope::Offering(zones[0].id.clone());
    let ask = claim(&[]).remembering(first, "12:31", "InsufficientCapacity").having_tried(
        &zones[1],
        "11:55",
        "QuotaExceeded",
    );
    let (until, why) = ask.of(&zones).waiting.unwrap();
    assert_eq!(until, crate::market::at("12:05"), "the earliest of them");
    assert!(until > now() && why.contains("12:05"), "{why}");
    assert_eq!(ask.of(&scaleway()).waiting, None, "others can be had");
}
