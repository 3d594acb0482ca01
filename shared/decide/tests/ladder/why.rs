//! What a person reads when nothing fits, sentence by sentence.

use crate::market::{A100, aks, azure, claim, kaito, rack, scaleway};
use model::{CapacityType, Offering, Scope};

const NO: &str = "NoOfferingFits";

#[test]
fn a_mistyped_instance_type_is_answered_with_the_one_that_was_meant() {
    let text = "no instance type named Standard_NC24ads_A100_v3; did you mean Standard_NC24ads_A100_v4?";
    kaito("Standard_NC24ads_A100_v3").is_told(&azure(), NO, text);
    let text = "no instance type named L4-1-24, l40s-1-48g; did you mean L4-1-24G or L40S-1-48G?";
    claim(&["node.kubernetes.io/instance-type In l40s-1-48g L4-1-24"]).is_told(&scaleway(), NO, text);
}

#[test]
fn an_instance_type_that_is_like_none_is_answered_with_what_there_is() {
    let text = "no instance type named p4d.24xlarge is offered; types are Standard_NC24ads_A100_v4, \
                Standard_NC48ads_A100_v4, Standard_NC96ads_A100_v4, Standard_ND96isr_H100_v5";
    kaito("p4d.24xlarge").is_told(&azure(), NO, text);
    let text =
        "no instance type keeps node.kubernetes.io/instance-type NotIn [node-a, node-b]; offered are node-a, node-b";
    claim(&["node.kubernetes.io/instance-type NotIn node-a node-b"]).is_told(&rack(), NO, text);
}

#[test]
fn too_many_gpus_are_answered_with_the_largest_that_fits_otherwise() {
    let text = "needs 8 nvidia.com/gpu, the largest that fits otherwise has 4 (Standard_NC96ads_A100_v4)";
    claim(&["karpenter.azure.com/sku-gpu-name In A100"]).requesting(&[("nvidia.com/gpu", "8")]).is_told(
        &azure(),
        NO,
        text,
    );
    let text = "needs 16 nvidia.com/gpu, the largest that fits otherwise has 8 (H100-SXM-8-80G)";
    claim(&[]).requesting(&[("nvidia.com/gpu", "16")]).is_told(&scaleway(), NO, text);
}

#[test]
fn a_resource_nobody_has_is_answered_so() {
    let text = "needs 1 amd.com/gpu, and nothing that fits otherwise has any";
    claim(&[]).requesting(&[("amd.com/gpu", "1")]).is_told(&scaleway(), NO, text);
}

#[test]
fn memory_is_told_in_gibibytes() {
    let text = "needs 220Gi memory, the largest that fits otherwise has 203.5Gi (Standard_NC24ads_A100_v4)";
    kaito(A100).requesting(&[("memory", "220Gi")]).is_told(&azure(), NO, text);
}

#[test]
fn a_zone_that_is_not_offered_is_answered_with_those_that_are() {
    let text = "zone westeurope-9 is not offered; zones are westeurope-1, westeurope-2";
    claim(&["topology.kubernetes.io/zone In westeurope-9"]).is_told(&azure(), NO, text);
    let text = "zone fr-par-1 is not offered for L40S-1-48G; zones are fr-par-2, pl-waw-2";
    claim(&["topology.kubernetes.io/zone In fr-par-1", "node.kubernetes.io/instance-type In L40S-1-48G"]).is_told(
        &scaleway(),
        NO,
        text,
    );
    let text = "zone fr-par-1 is not offered for H100-SXM-8-80G; zones are fr-par-2";
    claim(&["topology.kubernetes.io/zone In fr-par-1"]).requesting(&[("nvidia.com/gpu", "8")]).is_told(
        &scaleway(),
        NO,
        text,
    );
    let text = "zone a or b is not offered; what fits otherwise is not in any zone";
    claim(&["topology.kubernetes.io/zone In b a"]).is_told(&rack(), NO, text);
}

#[test]
fn other_labels_are_answered_with_what_is_offered() {
    let text = "region us-east is not offered; regions are westeurope";
    claim(&["topology.kubernetes.io/region In us-east"]).is_told(&azure(), NO, text);
    let text = "architecture arm64 is not offered; architectures are amd64";
    claim(&["kubernetes.io/arch In arm64"]).is_told(&azure(), NO, text);
    let text = "operating system windows is not offered; operating systems are linux";
    claim(&["kubernetes.io/os In windows"]).is_told(&azure(), NO, text);
    let text = "machine node-z is not offered; machines are node-a, node-b";
    claim(&["kubernetes.io/hostname In node-z"]).is_told(&rack(), NO, text);
    let text = "karpenter.azure.com/sku-gpu-name B200 is not offered; values are A100, H100";
    claim(&["karpenter.azure.com/sku-gpu-name In B200"]).is_told(&azure(), NO, text);
    let text = "nothing on offer keeps kubernetes.io/arch NotIn [amd64]; architectures are amd64";
    claim(&["kubernetes.io/arch NotIn amd64"]).is_told(&azure(), NO, text);
    let text = "karpenter.azure.com/sku-gpu-name A100 is not offered; no machine here has the label karpenter.azure.com/sku-gpu-name";
    claim(&["karpenter.azure.com/sku-gpu-name In A100"]).is_told(&rack(), NO, text);
}

#[test]
fn spot_that_is_not_sold_and_spot_that_was_not_asked_for_are_told_apart() {
    let text = "capacity type spot is not offered for Standard_ND96isr_H100_v5; capacity types are on-demand";
    claim(&["karpenter.sh/capacity-type In spot", "node.kubernetes.io/instance-type In Standard_ND96isr_H100_v5"])
        .is_told(&azure(), NO, text);
    let text = "only spot machines fit, and the claim does not ask for one; \
                to take one, require karpenter.sh/capacity-type In [spot, on-demand]";
    claim(&[]).is_told(&[aks(A100, None, CapacityType::Spot, 1, 1)], NO, text);
    let text = text.replace("spot", "reserved");
    kaito(A100).is_told(&[aks(A100, None, CapacityType::Reserved, 1, 1)], NO, &text);
}

#[test]
fn a_claim_of_kaito_is_told_when_its_size_is_offered_in_zones_only() {
    let zones = ["westeurope-2", "westeurope-1"].map(|zone| aks(A100, Some(zone), CapacityType::OnDemand, 1, 1));
    let text = "what fits is offered in zones only, and the claim names none; \
                require topology.kubernetes.io/zone In [westeurope-1, westeurope-2]";
    kaito(A100).is_told(&zones, NO, text);
}

#[test]
fn when_no_single_thing_is_to_blame_the_nearest_is_named_with_all_it_misses() {
    let text = "no offering has all of it at once; the nearest is scaleway/L40S-1-48G/fr-par-2/on-demand, \
                which misses topology.kubernetes.io/zone In [fr-par-1] and 8 nvidia.com/gpu";
    claim(&["topology.kubernetes.io/zone In fr-par-1", "node.kubernetes.io/instance-type In L40S-1-48G"])
        .requesting(&[("nvidia.com/gpu", "8")])
        .is_told(&scaleway(), NO, text);
}

#[test]
fn a_type_that_cannot_do_the_rest_is_answered_with_those_that_can() {
    let text = "instance type L4-1-24G does not have the rest of what is asked for; H100-SXM-8-80G would";
    claim(&["node.kubernetes.io/instance-type In L4-1-24G"])
        .requesting(&[("nvidia.com/gpu", "8"), ("cpu", "100")])
        .is_told(&scaleway(), NO, text);
}

#[test]
fn nothing_on_offer_is_said_so() {
    let text = "there is nothing to choose from: the provider of this node class offers no machine; \
                check its settings, its region and its rights";
    claim(&[]).is_told(&[], NO, text);
}

fn l4() -> Vec<Offering> {
    scaleway()
        .into_iter()
        .filter(|one| one.id.instance_type.starts_with("L4-1") || one.id.instance_type == "L4-4-24G")
        .take(3)
        .collect()
}

#[test]
fn what_fits_and_is_out_of_stock_is_said_with_the_time() {
    let all = Scope::Provider { provider: "scaleway".into() };
    let text = "all 3 that fit are out of stock until 12:31 UTC: scaleway/L4-1-24G/fr-par-1/on-demand (InsufficientCapacity), \
                scaleway/L4-1-24G/fr-par-2/on-demand (InsufficientCapacity), scaleway/L4-4-24G/fr-par-1/on-demand (InsufficientCapacity)";
    claim(&[]).remembering(all, "12:31", "InsufficientCapacity").is_told(&l4(), "InsufficientCapacity", text);
    let type_of = Scope::InstanceType { provider: "aks".into(), instance_type: A100.into() };
    let text = "the only one that fits is over quota until 12:09 UTC: \
                aks/Standard_NC24ads_A100_v4/regional/on-demand (QuotaExceeded)";
    kaito(A100).remembering(type_of, "12:09", "QuotaExceeded").is_told(&azure(), "QuotaExceeded", text);
}

#[test]
fn stock_and_quota_and_machines_that_did_not_come_up_are_told_apart() {
    let two = &l4()[..2];
    let [first, second] = [0, 1].map(|at| Scope::Offering(two[at].id.clone()));
    let ask = || claim(&[]).remembering(first.clone(), "12:31", "InsufficientCapacity");
    let text = "both that fit are out of stock or quota until 12:20 UTC: \
                scaleway/L4-1-24G/fr-par-2/on-demand (QuotaExceeded), scaleway/L4-1-24G/fr-par-1/on-demand (InsufficientCapacity)";
    ask().remembering(second, "12:20", "QuotaExceeded").is_told(two, "InsufficientCapacity", text);
    let text = "both that fit were refused or did not come up, the next try is at 12:08 UTC: \
                scaleway/L4-1-24G/fr-par-2/on-demand (RegistrationTimeout), scaleway/L4-1-24G/fr-par-1/on-demand (InsufficientCapacity)";
    ask().having_tried(&two[1], "11:58", "RegistrationTimeout").is_told(two, "InsufficientCapacity", text);
}

#[test]
fn what_was_refused_for_what_it_asks_is_not_said_to_be_out_of_stock() {
    let one = &l4()[..1];
    let text = "the only one that fits was refused, the next try is at 12:08 UTC: \
                scaleway/L4-1-24G/fr-par-1/on-demand (InvalidRequest)";
    claim(&[]).having_tried(&one[0], "11:58", "InvalidRequest").is_told(one, "InvalidRequest", text);
    let two = &l4()[..2];
    let ask = |other: &str| {
        claim(&[]).having_tried(&two[0], "11:58", "Conflict").having_tried(&two[1], "11:59", other).of(two).why().0
    };
    assert_eq!(
        ["Conflict", "InvalidRequest", "QuotaExceeded"].map(ask),
        ["Conflict", "InvalidRequest", "InsufficientCapacity"]
    );
}

#[test]
fn a_time_of_another_day_is_told_with_its_day() {
    let all = Scope::Provider { provider: "power".into() };
    let text = "the only one that fits is out of stock until 2026-11-18 11:00 UTC: \
                power/node-a/regional/on-demand (InsufficientCapacity)";
    claim(&[]).remembering(all, "2026-11-18T11:00", "InsufficientCapacity").is_told(
        &rack()[..1],
        "InsufficientCapacity",
        text,
    );
}

#[test]
fn a_claim_that_contradicts_itself_is_told_its_own_words() {
    let check = |requirements: &[&str], text: &str| claim(requirements).is_told(&azure(), "InvalidRequest", text);
    check(
        &["topology.kubernetes.io/zone In a b", "failure-domain.beta.kubernetes.io/zone In c"],
        "the claim contradicts itself: no node can keep topology.kubernetes.io/zone In [a, b] and \
         failure-domain.beta.kubernetes.io/zone In [c]",
    );
    check(
        &["team Exists", "team DoesNotExist"],
        "the claim contradicts itself: no node can keep team Exists and team DoesNotExist",
    );
    check(&["team In"], "no node can keep team In []");
    check(&["slots Gt many"], "slots Gt many can never be kept: Gt needs one integer");
    let text = "the claim contradicts itself: its label team=audio does not keep team DoesNotExist";
    claim(&["team DoesNotExist"]).labelled("team", "audio").is_told(&azure(), "InvalidRequest", text);
}

#[test]
fn labels_of_an_earlier_attempt_do_not_contradict_the_next() {
    let ask = claim(&["topology.kubernetes.io/zone In fr-par-2"]).labelled("topology.kubernetes.io/zone", "fr-par-1");
    assert!(!ask.of(&scaleway()).rungs.is_empty());
}

#[test]
fn no_sentence_is_longer_than_three_hundred_letters() {
    let long = "é".repeat(1000);
    for requirements in [vec![format!("node.kubernetes.io/instance-type In {long}")], vec![format!("team Gt {long}")]] {
        let requirements: Vec<&str> = requirements.iter().map(String::as_str).collect();
        let (_, message) = claim(&requirements).of(&azure()).why();
        assert_eq!((message.chars().count(), message.ends_with('…')), (300, true), "{message}");
    }
}

#[test]
fn a_ladder_with_rungs_says_what_it_begins_with() {
    let (reason, message) = claim(&["node.kubernetes.io/instance-type In L4-1-24G"]).of(&scaleway()).why();
    assert_eq!(
        (reason, message.as_str()),
        ("OfferingFits", "2 on offer fit, the best is scaleway/L4-1-24G/fr-par-1/on-demand")
    );
}
