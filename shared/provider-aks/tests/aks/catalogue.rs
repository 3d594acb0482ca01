//! The catalogue: bundled, and corrected by what Azure says.

use crate::common::*;
use model::{CapacityType, Offering, Stock};
use provider::Look as _;
use provider_aks::{bundled, with_mig_profile};
use world::arm::ArmOptions;

/// Name, GPUs, GB of all of them together: the table of KAITO in shared/spec/kaito.md, what it dropped included.
#[rustfmt::skip]
const KAITO: &[(&str, u32, u64)] = &[
    ("Standard_NV36ads_A10_v5", 1, 24), ("Standard_NV72ads_A10_v5", 2, 48), ("Standard_NC24ads_A100_v4", 1, 80),
    ("Standard_NC48ads_A100_v4", 2, 160), ("Standard_NC96ads_A100_v4", 4, 320), ("Standard_ND96asr_A100_v4", 8, 320),
    ("Standard_ND96amsr_A100_v4", 8, 640), ("Standard_NC40ads_H100_v5", 1, 94), ("Standard_NC80adis_H100_v5", 2, 188),
    ("Standard_ND96isr_H100_v5", 8, 640), ("Standard_NCC40ads_H100_v5", 1, 94), ("Standard_ND96isr_H200_v5", 8, 1128),
    ("Standard_NG32ads_V620_v1", 1, 32), ("Standard_NG32adms_V620_v1", 1, 32), ("Standard_NC6s_v3", 1, 16),
    ("Standard_NC12s_v3", 2, 32), ("Standard_NC24s_v3", 4, 64), ("Standard_NC24rs_v3", 4, 64),
    ("Standard_NC4as_T4_v3", 1, 16), ("Standard_NC8as_T4_v3", 1, 16), ("Standard_NC16as_T4_v3", 1, 16),
    ("Standard_NC64as_T4_v3", 4, 64), ("Standard_NV6", 1, 8), ("Standard_NV12", 2, 16), ("Standard_NV24", 4, 32),
    ("Standard_NV12s_v3", 1, 8), ("Standard_NV24s_v3", 2, 16), ("Standard_NV48s_v3", 4, 32), ("Standard_NV32as_v4", 1, 16),
    ("Standard_NC6", 1, 12), ("Standard_NC12", 2, 24), ("Standard_NC24", 4, 48), ("Standard_NC24r", 4, 48),
    ("Standard_ND6s", 1, 24), ("Standard_ND12s", 2, 48), ("Standard_ND24s", 4, 96), ("Standard_ND24rs", 4, 96),
    ("Standard_NC6s_v2", 1, 16), ("Standard_NC12s_v2", 2, 32), ("Standard_NC24s_v2", 4, 64), ("Standard_NC24rs_v2", 4, 64),
    ("Standard_ND40rs_v2", 8, 256), ("Standard_ND96asr_v4", 8, 320), ("Standard_NV6ads_A10_v5", 1, 4),
    ("Standard_NV12ads_A10_v5", 1, 8), ("Standard_NV18ads_A10_v5", 1, 12), ("Standard_NV36adms_A10_v5", 1, 24),
];

fn of<'a>(offerings: &'a [Offering], size: &str) -> Vec<&'a Offering> {
    offerings.iter().filter(|one| one.id.instance_type == size).collect()
}

#[test]
fn every_size_of_kaito_is_there_with_its_gpus() {
    let offerings = bundled("eastus", &["1"]);
    for (name, count, memory_gib) in KAITO {
        let found = of(&offerings, name);
        let gpu = found.first().unwrap_or_else(|| panic!("{name} is missing")).gpu.as_ref().unwrap();
        assert_eq!((gpu.count, u64::from(gpu.count) * gpu.memory_mib / 1024), (*count, *memory_gib), "{name}");
        assert!(found.iter().all(|one| one.price.is_some() && !one.capacity.is_empty()), "{name}");
    }
}

#[test]
fn offerings_are_told_apart_by_zone_and_capacity_type() {
    let offerings = bundled("eastus", &["1", "2", "3"]);
    let ids: std::collections::BTreeSet<String> = offerings.iter().map(|one| one.id.to_string()).collect();
    assert_eq!(ids.len(), offerings.len());
    assert_eq!(of(&offerings, A100).len(), 8);
    assert_eq!(of(&offerings, "Standard_NC24").len(), 1, "neither zones nor spot");
    let amd = of(&offerings, "Standard_ND96isr_MI300X_v5")[0];
    assert_eq!(amd.capacity["amd.com/gpu"].to_string(), "8");
    let cut = with_mig_profile(&offering(A100, None, CapacityType::OnDemand), "MIG1g").unwrap();
    assert_eq!(cut.capacity["nvidia.com/mig-1g.10gb"].to_string(), "7");
    assert!(!cut.capacity.contains_key("nvidia.com/gpu"));
    assert!(with_mig_profile(&offering("Standard_NC6s_v3", None, CapacityType::OnDemand), "MIG1g").is_none());
}

#[tokio::test(start_paused = true)]
async fn azure_corrects_sizes_zones_stock_and_prices() {
    let rig = rig_with(|options| {
        options.restricted_sizes.insert("Standard_NC6s_v3".into());
        options.zones = vec!["2".into()];
        options.quota.families.insert("standardNCFamily".into(), 5);
    });
    let offerings = rig.aks.offerings().await.unwrap();
    assert!(of(&offerings, "Standard_NC6s_v3").is_empty(), "restricted");
    let a100 = of(&offerings, A100);
    let zones: Vec<_> = a100.iter().map(|one| one.id.zone.as_deref()).collect();
    assert_eq!(zones, [None, None, Some("eastus-2"), Some("eastus-2")]);
    assert!(a100.iter().all(|one| one.stock == Stock::Available));
    assert!(of(&offerings, "Standard_NC6").iter().all(|one| one.stock == Stock::Shortage), "over quota");
    let price = |kind| {
        let found = a100.iter().find(|one| one.id.capacity_type == kind).unwrap();
        let price = found.price.clone().unwrap();
        (price.millionths_per_hour, price.as_of.to_string())
    };
    assert_eq!(price(CapacityType::OnDemand), (3_673_000, "2026-01-01".to_owned()));
    assert_eq!(price(CapacityType::Spot).0, 1_101_900);
    let asked = rig.requests().len();
    rig.aks.offerings().await.unwrap();
    assert_eq!(rig.requests().len(), asked, "kept for a while");
}

#[tokio::test(start_paused = true)]
async fn without_azure_the_bundled_catalogue_stands_in() {
    let (aks, script) = scripted(settings(&ArmOptions::default()), |_, _| (503, serde_json::Value::Null));
    assert_eq!(aks.offerings().await.unwrap(), bundled("eastus", &["1", "2", "3"]));
    let asked = script.asked.lock().unwrap().clone();
    let prices = asked.iter().find(|one| one["url"].as_str().unwrap().contains("prices.azure.com")).unwrap();
    assert!(prices["headers"].get("authorization").is_none(), "the price list gets no token");
}

#[tokio::test(start_paused = true)]
async fn a_resource_manager_that_asks_for_rest_is_not_asked_for_the_quota_as_well() {
    let rig = rig();
    let fault = r#"{"path":"skus","fault":"answer","status":429,"retry_after":60}"#;
    rig.world.faults.add(serde_json::from_str(fault).unwrap());
    let offerings = rig.aks.offerings().await.unwrap();
    assert!(offerings.iter().all(|one| one.stock == Stock::Unknown), "the bundled ones");
    assert_eq!(rig.requests().iter().filter(|one| one.path.contains("usages")).count(), 0);
}
