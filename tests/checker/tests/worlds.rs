//! Random worlds: reproducible, readable, and with a known optimum where nothing but resources, taints and selectors binds.

#![allow(clippy::unwrap_used, clippy::panic)]

use checker::exact::minimum_cost;
use checker::random::World;
use checker::{Answer, Catalog, Cluster, Objects, Rule, check};
use serde_json::json;

fn load(world: &World) -> (Cluster, Catalog) {
    let catalog = Catalog::parse(&world.catalog).unwrap_or_else(|error| panic!("seed {}: {error}", world.seed));
    let mut objects = Objects::default();
    objects.add_yaml("world", &world.cluster).unwrap_or_else(|error| panic!("seed {}: {error}", world.seed));
    (Cluster::new(objects, &catalog), catalog)
}

#[test]
fn the_same_seed_makes_the_same_world() {
    let (one, two) = (World::random(7), World::random(7));
    assert_eq!((one.cluster, one.catalog), (two.cluster, two.catalog));
    assert_ne!(World::random(7).cluster, World::random(8).cluster);
}

#[test]
fn every_world_can_be_read_and_an_empty_answer_is_refused() {
    for seed in 0..100 {
        let (cluster, catalog) = load(&World::random(seed));
        let found = check(&cluster, &catalog, &Answer::default());
        assert!(found.iter().any(|one| one.rule == Rule::Answer), "seed {seed}: {found:?}");
    }
}

fn cost_of(cluster: &str, types: serde_json::Value) -> Option<f64> {
    let catalog = Catalog::parse(&types.to_string()).unwrap();
    let mut objects = Objects::default();
    objects.add_yaml("test", cluster).unwrap();
    minimum_cost(&Cluster::new(objects, &catalog), &catalog)
}

fn types() -> serde_json::Value {
    let one = |name: &str, cpu: usize, price: f64| {
        json!({"name": name, "resources": {"cpu": cpu.to_string()}, "offerings": [{"Price": price, "Available": true, "Requirements": [
            {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]},
            {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["zone-a"]}]}]})
    };
    json!([one("four", 4, 1.0), one("ten", 10, 2.2)])
}

fn waiting(cpu: &[usize]) -> String {
    let pod = |(number, cpu): (usize, &usize)| {
        format!(
            "---\nkind: Pod\nmetadata: {{name: p{number}}}\nspec: {{containers: [{{name: c, resources: {{requests: {{cpu: '{cpu}'}}}}}}]}}\n"
        )
    };
    let pods: String = cpu.iter().enumerate().map(pod).collect();
    format!("kind: NodePool\nmetadata: {{name: default}}\n{pods}")
}

#[test]
fn the_optimum_is_found() {
    for (cpu, expected) in [
        (&[4][..], 1.0),
        (&[3, 3, 2, 2], 2.2), // all ten on one
        (&[3, 3, 3, 1], 2.2), // and not three of four
        (&[4, 4], 2.0),       // two of four are cheaper than one of ten
        (&[3, 3, 3, 3], 3.2), // three on ten, one on four
        (&[5, 5, 4], 3.2),
        (&[100], 0.0), // what fits nowhere costs nothing
    ] {
        let found = cost_of(&waiting(cpu), types()).unwrap();
        assert!((found - expected).abs() < 1e-6, "{cpu:?} costs {found}, not {expected}");
    }
}

#[test]
fn room_on_a_node_is_free_and_other_constraints_are_not_for_it() {
    let node = "---\nkind: Node\nmetadata: {name: n1}\nstatus: {allocatable: {cpu: '5', pods: '10'}}\n";
    let found = cost_of(&format!("{}{node}", waiting(&[4, 4])), types()).unwrap();
    assert!((found - 1.0).abs() < 1e-6, "{found}");
    let limited =
        waiting(&[4]).replacen("metadata: {name: default}", "metadata: {name: default}\nspec: {limits: {cpu: '9'}}", 1);
    assert_eq!(cost_of(&limited, types()), None);
}

#[test]
fn plain_worlds_have_an_optimum() {
    let known = (0..30).filter(|seed| {
        let (cluster, catalog) = load(&World::plain(*seed));
        minimum_cost(&cluster, &catalog).is_some()
    });
    assert!(known.count() >= 27);
}
