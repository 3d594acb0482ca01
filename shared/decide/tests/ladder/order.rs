//! Which of several offerings is tried first.

use crate::market::{A100, A100_X2, aks, claim, dollars, euros, rack, scaleway};
use model::{CapacityType::*, Offering, Price, Stock};

fn priced(name: &str, price: Option<Price>) -> Offering {
    Offering { price, ..aks(name, None, OnDemand, 1, 0) }
}

fn stocked(name: &str, price: u64, stock: Stock) -> Offering {
    Offering { stock, ..aks(name, None, OnDemand, 1, price) }
}

/// Offered the other way round, they come out in this order.
fn check(expected: &[Offering]) {
    let mut offered = expected.to_vec();
    offered.reverse();
    let ask = claim(&["karpenter.sh/capacity-type Exists"]);
    let found: Vec<String> = ask.of(&offered).rungs.iter().map(|rung| rung.id.to_string()).collect();
    assert_eq!(found, expected.iter().map(|one| one.id.to_string()).collect::<Vec<_>>());
}

#[test]
fn the_cheapest_comes_first_and_what_has_no_price_last() {
    check(&[priced("c", Some(dollars(1))), priced("b", Some(dollars(2))), priced("a", None)]);
}

#[test]
fn currencies_count_as_equal_and_only_break_a_tie() {
    check(&[
        priced("d", Some(dollars(1))),
        priced("c", Some(euros(2))),
        priced("b", Some(dollars(2))),
        priced("a", Some(euros(3))),
    ]);
}

#[test]
fn what_the_cloud_says_is_out_of_stock_comes_last_whatever_it_costs() {
    check(&[stocked("b", 9, Stock::Scarce), priced("c", None), stocked("a", 1, Stock::Shortage)]);
}

#[test]
fn what_is_scarce_gives_way_only_at_equal_price() {
    check(&[stocked("c", 1, Stock::Scarce), stocked("b", 2, Stock::Unknown), stocked("a", 2, Stock::Scarce)]);
    check(&[stocked("a", 2, Stock::Available), stocked("b", 2, Stock::Unknown)]);
}

#[test]
fn at_equal_price_reserved_goes_before_spot_before_on_demand_and_zonal_before_regional_then_by_name() {
    let of = |name, zone, kind| aks(name, zone, kind, 1, 5);
    check(&[
        of("b", None, Reserved),
        of("b", Some("westeurope-1"), Spot),
        of("b", Some("westeurope-2"), Spot),
        of("a", None, Spot),
        of("a", Some("westeurope-1"), OnDemand),
        of("b", Some("westeurope-1"), OnDemand),
        of("a", None, OnDemand),
        of("b", None, OnDemand),
    ]);
}

#[test]
fn preferring_listed_the_claims_own_order_of_types_goes_before_the_price() {
    let requirement = format!("node.kubernetes.io/instance-type In {A100_X2} {A100}");
    let offerings = [aks(A100, None, OnDemand, 1, 1), aks(A100_X2, None, OnDemand, 2, 2)];
    let [one, two] = [A100, A100_X2].map(|size| format!("aks/{size}/regional/on-demand"));
    claim(&[&requirement]).gets(&offerings, &[&one, &two]);
    claim(&[&requirement]).preferring_listed().gets(&offerings, &[&two, &one]);
    let mut short = offerings;
    short[1].stock = Stock::Shortage;
    claim(&[&requirement]).preferring_listed().gets(&short, &[&one, &two]);
}

#[test]
fn preferring_listed_without_a_list_is_by_price() {
    claim(&[])
        .preferring_listed()
        .gets(&rack(), &["power/node-a/regional/on-demand", "power/node-b/regional/on-demand"]);
}

#[test]
fn one_ladder_goes_over_all_clouds() {
    let mut all = scaleway();
    all.extend(rack());
    let rungs = claim(&[]).requesting(&[("nvidia.com/gpu", "2")]).of(&all).rungs;
    let names: Vec<&str> = rungs.iter().map(|rung| rung.id.instance_type.as_str()).collect();
    assert_eq!(names, ["node-a", "node-b", "L4-4-24G", "L4-4-24G", "H100-SXM-8-80G"]);
}
