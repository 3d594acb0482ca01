//! What spot machines are replaced by, and what is replaced by them.

use super::fixture::*;
use model::{
    CapacityType, Operator, Requirement,
    disruption::{Decision, KeptCode},
    names,
};

fn world(of_node: &str) -> World {
    let mut world = World::new();
    let values = vec!["on-demand".to_owned(), "spot".to_owned()];
    let either = Requirement { key: names::CAPACITY_TYPE.into(), operator: Operator::In, values };
    world.last_pool().requirements = vec![either.into()];
    world.node("n", "xlarge").pod("p", 3000);
    world.last_there().labels.insert(names::CAPACITY_TYPE.into(), of_node.into());
    world
}

fn ways(decision: &Decision, world: &World) -> Vec<CapacityType> {
    let types = &world.situation.provision.scene.catalogues[0].types;
    let planned = &decision.disruptions[0].replacements[0].planned;
    let mut all: Vec<CapacityType> = planned
        .offerings
        .iter()
        .map(|of| types[of.instance_type as usize].offerings[of.offering as usize].capacity_type)
        .collect();
    all.dedup();
    all
}

#[test]
fn an_on_demand_machine_is_replaced_by_spot_where_both_will_do() {
    let world = world("on-demand");
    let decision = check(&world, &["Underutilized n -> medium"]);
    assert_eq!(ways(&decision, &world), [CapacityType::Spot]);
    assert_eq!(decision.disruptions[0].saves, 800_000 - 120_000);
    let made = &decision.disruptions[0].replacements[0].claim;
    let how = made.requirements.iter().find(|one| one.requirement.key == names::CAPACITY_TYPE).unwrap();
    assert_eq!(how.requirement.values, ["spot"]);
}

#[test]
fn a_spot_machine_is_not_replaced_by_spot_nor_by_what_spot_would_replace() {
    let mut world = world("spot");
    stays(&world, "n", KeptCode::SpotToSpot);
    world.last_pool().requirements[0].requirement.values = vec!["spot".into()];
    stays(&world, "n", KeptCode::SpotToSpot);
}

#[test]
fn a_spot_machine_is_replaced_by_what_is_cheaper_where_there_is_no_spot() {
    let mut world = world("spot");
    let types = &mut world.situation.provision.scene.catalogues[0].types;
    let offerings = types.iter_mut().flat_map(|one| &mut one.offerings);
    offerings.filter(|one| one.capacity_type == CapacityType::Spot).for_each(|one| one.available = false);
    let decision = check(&world, &["Underutilized n -> medium"]);
    assert_eq!(ways(&decision, &world), [CapacityType::OnDemand]);
}

#[test]
fn spot_for_spot_needs_fifteen_cheaper_types_and_lists_no_more() {
    let mut world = world("spot");
    world.rules().spot_to_spot = true;
    world.last_pool().requirements[0].requirement.values = vec!["spot".into()];
    let why = stays(&world, "n", KeptCode::SpotToSpot);
    assert!(why.contains("types are cheaper"), "{why}");
    let medium = world.situation.provision.scene.catalogues[0].types[2].clone();
    for at in 0..20 {
        let mut more = medium.clone();
        more.name = format!("medium-{at:02}");
        world.situation.provision.scene.catalogues[0].types.push(more);
    }
    let decision = world.decide();
    let types = decision.disruptions[0].replacements[0].planned.offerings.iter().map(|of| of.instance_type);
    assert_eq!(types.collect::<std::collections::BTreeSet<_>>().len(), 15);
}

#[test]
fn a_spot_machine_whose_pods_fit_elsewhere_goes_like_any_other() {
    let mut world = world("spot");
    world.node("other", "xlarge").pod("q", 12000);
    world.last_pod().do_not_disrupt = Some("true".into());
    check(&world, &["Underutilized n ->"]);
}

#[test]
fn what_a_pool_wants_left_to_choose_from_is_left() {
    let mut world = world("on-demand");
    let any = Requirement { key: names::INSTANCE_TYPE.into(), operator: Operator::Exists, values: vec![] };
    world.last_pool().requirements.push(model::place::PoolRequirement { requirement: any, min_values: Some(2) });
    assert_eq!(world.decide().disruptions.len(), 1);
    world.last_pool().requirements[1].min_values = Some(5);
    let why = stays(&world, "n", KeptCode::NotCheaper);
    assert!(why.contains("minValues"), "{why}");
}

#[test]
fn a_type_that_is_dearer_in_some_zone_is_said_to_be_that() {
    let mut world = world("on-demand");
    for of in &mut world.situation.provision.scene.catalogues[0].types {
        of.offerings
            .iter_mut()
            .filter(|one| one.zone.as_deref() == Some("b"))
            .for_each(|one| one.price = Some(9_000_000));
    }
    let why = stays(&world, "n", KeptCode::NotCheaper);
    assert!(why.contains("in some zone"), "{why}");
}

#[test]
fn a_spot_machine_is_not_replaced_by_spot_because_another_one_is_swapped_for_itself_beside_it() {
    let mut world = world("spot");
    world.pod("q", 3500).pod("r", 1800).node("od", "small").pod("pinned", 100);
    world.last_there().labels.insert(names::CAPACITY_TYPE.into(), "on-demand".into());
    let on_demand =
        Requirement { key: names::CAPACITY_TYPE.into(), operator: Operator::In, values: vec!["on-demand".into()] };
    let pinned = model::place::NodeTerm { expressions: vec![on_demand], fields: vec![] };
    world.last_pod().moves.as_mut().unwrap().node_affinity = vec![pinned];
    stays(&world, "n", KeptCode::SpotToSpot);
    check(&world, &["Underutilized od -> tiny"]);
}
