//! What can be had here: the bundled sizes, corrected by what Azure says of the region, the quota and today's prices.

use core::time::Duration;
use jiff::{civil::Date, tz::TimeZone};
use model::{Arch, CapacityType, Gpu, Offering, OfferingId, Price, Quantity, Resources, Stock};
use provider::ProviderError;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

use crate::{
    Aks, PROVIDER,
    catalogue::{AS_OF, SIZES, Size},
    errors::About,
    names::MACHINE_TYPE,
    quota::{self, SPOT_FAMILY},
};

pub use model::stock::QUOTA_FAMILY;

/// Sizes and prices change rarely; quota with every machine.
const SIZES_AGE: Duration = Duration::from_secs(12 * 3600);
const QUOTA_AGE: Duration = Duration::from_secs(600);

/// What a region has of each size: by name in lower case.
pub(crate) type Sizes = BTreeMap<String, InRegion>;
/// USD an hour in millionths, by name in lower case and whether it is spot.
pub(crate) type Prices = BTreeMap<(String, bool), u64>;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct InRegion {
    /// Numbers of the zones that may be used.
    zones: BTreeSet<String>,
    spot: bool,
}

/// The bundled catalogue of a region, with the zones given for sizes that have some. Stock is unknown.
pub fn bundled(location: &str, zones: &[&str]) -> Vec<Offering> {
    let all = zones.iter().map(|zone| (*zone).to_owned()).collect::<BTreeSet<String>>();
    let in_region =
        |size: &Size| InRegion { zones: if size.zonal { all.clone() } else { BTreeSet::new() }, spot: size.spot };
    SIZES.iter().flat_map(|size| of_size(size, location, &in_region(size))).collect()
}

/// How Azure spells a size that is known here, given in any case.
pub fn size_name(text: &str) -> Option<&'static str> {
    SIZES.iter().map(|size| size.name).find(|name| name.eq_ignore_ascii_case(text))
}

/// The same offering with its GPUs cut by a `gpuInstanceProfile` (MIG1g … MIG7g); `None` where that cannot be.
pub fn with_mig_profile(offering: &Offering, profile: &str) -> Option<Offering> {
    let size = Size::named(&offering.id.instance_type)?;
    let (resource, slices) = size.slices(profile)?;
    let mut cut = offering.clone();
    cut.capacity.remove(size.gpu_resource());
    cut.capacity.insert(resource, whole(u64::from(slices * size.gpus)));
    Some(cut)
}

impl Aks {
    pub(crate) async fn all_offerings(&self) -> Result<Vec<Offering>, ProviderError> {
        let location = self.client.settings.location.as_str();
        let (sizes, prices) = (self.sizes().await, self.prices().await);
        let usages = match &sizes {
            // Resource Manager asked to be left alone, and the quota is its own too.
            Err(ProviderError::Throttled { .. }) => None,
            _ => self.usages(QUOTA_AGE).await.ok(),
        };
        let sizes = sizes.ok();
        let mut offerings: Vec<Offering> = match &sizes {
            None => bundled(location, &["1", "2", "3"]),
            Some(sizes) => SIZES
                .iter()
                .filter_map(|size| Some((size, sizes.get(&size.name.to_ascii_lowercase())?)))
                .flat_map(|(size, here)| of_size(size, location, here))
                .collect(),
        };
        if offerings.is_empty() {
            let why =
                format!("no GPU size may be used in {location}; check LOCATION, or ask Azure to lift the restrictions");
            return Err(ProviderError::InvalidRequest { doing: format!("reading the sizes of {location}"), why });
        }
        let today = self.now().to_zoned(TimeZone::UTC).date();
        for offering in &mut offerings {
            let full = usages.as_ref().is_some_and(|usages| quota::shortfall(usages, &offering.id).is_some());
            offering.stock = match (full, &sizes) {
                (true, _) => Stock::Shortage,
                (false, Some(_)) => Stock::Available,
                (false, None) => Stock::Unknown,
            };
            let spot = offering.id.capacity_type == CapacityType::Spot;
            let name = offering.id.instance_type.to_ascii_lowercase();
            if let Some(millionths) = prices.as_ref().and_then(|prices| prices.get(&(name, spot))) {
                offering.price = Some(price(*millionths, today));
            }
        }
        Ok(offerings)
    }

    async fn sizes(&self) -> Result<std::sync::Arc<Sizes>, ProviderError> {
        if let Some(kept) = self.sizes.get(SIZES_AGE) {
            return Ok(kept);
        }
        let doing = "reading VM sizes";
        let found = self.client.list(doing, self.client.sizes_url(), "value", "nextLink").await;
        let found = found.map_err(|failure| failure.into_error(doing, About::default()))?;
        let location = self.client.settings.location.as_str();
        Ok(self.sizes.set(found.iter().filter_map(|sku| in_region(sku, location)).collect()))
    }

    async fn prices(&self) -> Option<std::sync::Arc<Prices>> {
        if let Some(kept) = self.prices.get(SIZES_AGE) {
            return Some(kept);
        }
        let url = self.client.prices_url()?;
        let found = self.client.list("reading prices", url, "Items", "NextPageLink").await.ok()?;
        Some(self.prices.set(found.iter().filter_map(meter).collect()))
    }
}

/// A resource SKU, if it is a VM size that may be used in this region.
fn in_region(sku: &Value, location: &str) -> Option<(String, InRegion)> {
    if sku["resourceType"] != "virtualMachines" {
        return None;
    }
    let list = |value: &Value| -> Vec<String> {
        value.as_array().into_iter().flatten().filter_map(|item| Some(item.as_str()?.to_owned())).collect()
    };
    let restrictions = sku["restrictions"].as_array().map(Vec::as_slice).unwrap_or_default();
    if restrictions.iter().any(|restriction| restriction["type"] == "Location") {
        return None;
    }
    let places = sku["locationInfo"].as_array().into_iter().flatten();
    let here = places.filter(|info| info["location"].as_str().is_some_and(|own| own.eq_ignore_ascii_case(location)));
    let mut zones: BTreeSet<String> = here.flat_map(|info| list(&info["zones"])).collect();
    for restriction in restrictions.iter().filter(|restriction| restriction["type"] == "Zone") {
        for zone in list(&restriction["restrictionInfo"]["zones"]) {
            zones.remove(&zone);
        }
    }
    let capabilities = sku["capabilities"].as_array().into_iter().flatten();
    let spot = capabilities.into_iter().any(|one| {
        one["name"] == "LowPriorityCapable"
            && one["value"].as_str().is_some_and(|value| value.eq_ignore_ascii_case("true"))
    });
    Some((sku["name"].as_str()?.to_ascii_lowercase(), InRegion { zones, spot }))
}

/// One meter of the price list: Linux, on demand or spot. The list has no other field that tells them apart.
fn meter(item: &Value) -> Option<((String, bool), u64)> {
    let text = |name: &str| item[name].as_str().unwrap_or_default();
    if text("productName").ends_with("Windows")
        || text("skuName").ends_with("Low Priority")
        || text("unitOfMeasure") != "1 Hour"
    {
        return None;
    }
    // Six digits are what the list prints; a price is never negative or above a million.
    let price = item["retailPrice"].as_f64().filter(|price| (0.0..1e6).contains(price))?;
    let spot = text("skuName").ends_with("Spot");
    Some(((text("armSkuName").to_ascii_lowercase(), spot), (price * 1e6).round() as u64))
}

/// Regional first, then each zone; on demand and, where it can be, spot.
fn of_size(size: &Size, location: &str, here: &InRegion) -> Vec<Offering> {
    let zones = core::iter::once(None).chain(here.zones.iter().map(Some));
    let kinds: &[CapacityType] =
        if here.spot { &[CapacityType::OnDemand, CapacityType::Spot] } else { &[CapacityType::OnDemand] };
    zones
        .flat_map(|zone| kinds.iter().map(move |kind| offering(size, location, zone.map(String::as_str), *kind)))
        .collect()
}

fn offering(size: &Size, location: &str, zone: Option<&str>, capacity_type: CapacityType) -> Offering {
    let zone = zone.map(|zone| format!("{location}-{zone}"));
    Offering {
        labels: labels(size, location, zone.as_deref(), capacity_type),
        id: OfferingId { provider: PROVIDER.to_owned(), instance_type: size.name.to_owned(), zone, capacity_type },
        gpu: Some(Gpu {
            model: size.gpu.to_owned(),
            count: size.gpus,
            memory_mib: size.gpu_memory_gib * 1024,
            mig_capable: size.is_mig_capable(),
        }),
        capacity: capacity(size),
        arch: Arch::Amd64,
        // A spot machine never costs more than this; the price list says how much less.
        price: Some(price(size.price, AS_OF)),
        stock: Stock::Unknown,
    }
}

fn capacity(size: &Size) -> Resources {
    let gib = |gib: u64| u128::from(gib) << 30;
    // What a VM shows is 7.5 % less than the size promises; the hypervisor has the rest.
    let memory = gib(size.memory_gib) * 925 / 1000;
    let bytes = |bytes: u128| Quantity::from_thousandths(i128::try_from(bytes * 1000).unwrap_or(i128::MAX));
    Resources::from([
        ("cpu".to_owned(), whole(size.vcpus)),
        ("memory".to_owned(), bytes(memory)),
        ("ephemeral-storage".to_owned(), bytes(gib(size.default_disk_gib()))),
        ("pods".to_owned(), whole(110)),
        (size.gpu_resource().to_owned(), whole(u64::from(size.gpus))),
    ])
}

fn labels(size: &Size, location: &str, zone: Option<&str>, capacity_type: CapacityType) -> BTreeMap<String, String> {
    let spot = capacity_type == CapacityType::Spot;
    let maker = if size.is_amd() { "amd" } else { "nvidia" };
    let pairs = [
        ("node.kubernetes.io/instance-type", size.name.to_owned()),
        ("kubernetes.io/arch", "amd64".to_owned()),
        ("kubernetes.io/os", "linux".to_owned()),
        ("topology.kubernetes.io/region", location.to_owned()),
        // AKS writes 0 on nodes that have no zone.
        ("topology.kubernetes.io/zone", zone.unwrap_or("0").to_owned()),
        ("karpenter.sh/capacity-type", capacity_type.as_str().to_owned()),
        ("karpenter.azure.com/placement-scope", if zone.is_some() { "zonal" } else { "regional" }.to_owned()),
        ("karpenter.azure.com/sku-name", size.name.to_owned()),
        ("karpenter.azure.com/sku-family", size.family_letter().to_owned()),
        ("karpenter.azure.com/sku-series", size.series()),
        ("karpenter.azure.com/sku-version", size.version().to_owned()),
        ("karpenter.azure.com/sku-cpu", size.vcpus.to_string()),
        ("karpenter.azure.com/sku-memory", (size.memory_gib * 1024).to_string()),
        ("karpenter.azure.com/sku-gpu-name", size.gpu.split('-').next().unwrap_or_default().to_owned()),
        ("karpenter.azure.com/sku-gpu-manufacturer", maker.to_owned()),
        ("karpenter.azure.com/sku-gpu-count", size.gpus.to_string()),
        (MACHINE_TYPE, "gpu".to_owned()),
        (QUOTA_FAMILY, if spot { SPOT_FAMILY.to_owned() } else { size.family_label() }),
    ];
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn price(millionths_per_hour: u64, as_of: Date) -> Price {
    Price { millionths_per_hour, currency: "USD".to_owned(), as_of }
}

fn whole(number: u64) -> Quantity {
    Quantity::from_thousandths(i128::from(number) * 1000)
}
