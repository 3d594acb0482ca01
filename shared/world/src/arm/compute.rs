//! Microsoft.Compute as far as a provisioner reads it: resource SKUs and usages.

use super::{
    answer::{Answer, Refusal, reply},
    catalogue::{SIZES, Size},
    filter::Filter,
    options::ArmOptions,
    request::Call,
    state::State,
};
use http::StatusCode;
use serde_json::{Value, json};

/// `GET /subscriptions/{id}/providers/Microsoft.Compute/skus`
pub(super) fn list_sizes(call: &Call, options: &ArmOptions) -> Answer {
    let filter = match call.query.get("$filter") {
        None => None,
        Some(text) => Some(Filter::read(text).ok_or_else(|| {
            Refusal::arm(
                StatusCode::BAD_REQUEST,
                "InvalidFilterExpression",
                format!("The filter '{text}' is not valid."),
            )
        })?),
    };
    let location = |name: &str| name.eq_ignore_ascii_case("location").then(|| options.location.clone());
    // Real lists of other regions are not empty; this world has one region.
    let here = filter.is_none_or(|filter| filter.matches(&location));
    let sizes: Vec<Value> = if here { SIZES.iter().map(|size| size_json(size, options)).collect() } else { Vec::new() };
    Ok(reply(StatusCode::OK, &page(call, &sizes, options.limits.sizes_page)))
}

/// One page of a list, with `nextLink` when there is more.
pub(super) fn page(call: &Call, items: &[Value], length: usize) -> Value {
    let from = call.skip().min(items.len());
    let to = from.saturating_add(length.max(1)).min(items.len());
    let mut page = json!({"value": items.get(from..to).unwrap_or_default()});
    if to < items.len() {
        page["nextLink"] = json!(call.next_page(to));
    }
    page
}

fn size_json(size: &Size, options: &ArmOptions) -> Value {
    let location = &options.location;
    let zones = if size.zonal { options.zones.clone() } else { Vec::new() };
    let short = size.name.trim_start_matches("Standard_");
    let yes = |is: bool| if is { "True" } else { "False" };
    let mut capabilities = vec![
        ("vCPUs", size.vcpus.to_string()),
        ("vCPUsAvailable", size.vcpus.to_string()),
        ("MemoryGB", size.memory_gib.to_string()),
        ("CpuArchitectureType", "x64".to_owned()),
        ("LowPriorityCapable", yes(size.spot).to_owned()),
        ("HyperVGenerations", "V1,V2".to_owned()),
        ("PremiumIO", "True".to_owned()),
        ("AcceleratedNetworkingEnabled", "True".to_owned()),
        ("EphemeralOSDiskSupported", "False".to_owned()),
        ("OSVhdSizeMB", "1047552".to_owned()),
        ("EncryptionAtHostSupported", "True".to_owned()),
    ];
    if size.gpus > 0 {
        capabilities.push(("GPUs", size.gpus.to_string()));
    }
    let capabilities: Vec<Value> =
        capabilities.iter().map(|(name, value)| json!({"name": name, "value": value})).collect();
    let restricted = options.restricted_sizes.iter().any(|name| name.eq_ignore_ascii_case(size.name));
    let restrictions = if restricted {
        json!([{
            "type": "Location",
            "values": [location],
            "restrictionInfo": {"locations": [location]},
            "reasonCode": "NotAvailableForSubscription",
        }])
    } else {
        json!([])
    };
    json!({
        "resourceType": "virtualMachines",
        "name": size.name,
        "tier": "Standard",
        "size": short,
        "family": size.family,
        "locations": [location],
        "locationInfo": [{"location": location, "zones": zones, "zoneDetails": []}],
        "capabilities": capabilities,
        "restrictions": restrictions,
    })
}

/// `GET /subscriptions/{id}/providers/Microsoft.Compute/locations/{location}/usages`
pub(super) fn list_usages(location: &str, options: &ArmOptions, state: &State) -> Answer {
    if !location.eq_ignore_ascii_case(&options.location) {
        let message = format!("The location '{location}' is not part of this world.");
        return Err(Refusal::arm(StatusCode::NOT_FOUND, "NoRegisteredProviderFound", message));
    }
    let used = state.used_vcpus();
    let mut rows = vec![
        usage("cores", "Total Regional vCPUs", used.regional, options.quota.regional),
        usage("lowPriorityCores", "Total Regional Low-priority vCPUs", used.low_priority, options.quota.low_priority),
    ];
    let mut families: Vec<&str> = SIZES.iter().map(|size| size.family).collect();
    families.dedup();
    for family in families {
        let own = used.families.get(family).copied().unwrap_or(0);
        rows.push(usage(family, &format!("{family} vCPUs"), own, family_limit(options, family)));
    }
    Ok(reply(StatusCode::OK, &json!({"value": rows})))
}

/// Family names are compared without case: usages and SKUs spell some of them differently.
pub(super) fn family_limit(options: &ArmOptions, family: &str) -> u64 {
    let own = options.quota.families.iter().find(|(name, _)| name.eq_ignore_ascii_case(family));
    own.map_or(options.quota.family_default, |(_, limit)| *limit)
}

fn usage(value: &str, localized: &str, used: u64, limit: u64) -> Value {
    json!({
        "unit": "Count",
        "currentValue": used,
        "limit": limit,
        "name": {"value": value, "localizedValue": localized},
    })
}
