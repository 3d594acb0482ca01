//! What is sold: server types with their stock, prices, and the counts of the dashboard.

use super::{
    Scaleway,
    answer::{Outcome, found},
    catalogue,
    options::{Availability, ShortageManner, covers},
    request::{Call, paged, paged_in_body},
    state::{ServerState, State, VolumeKind},
};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

impl Scaleway {
    pub(super) fn server_types(&self, call: &Call<'_>) -> Outcome {
        let types = catalogue::sold_in(call.zone);
        paged(&call.query, "/products/servers", types.len(), |skip, size| {
            let page: Map<String, Value> =
                types.iter().skip(skip).take(size).map(|one| (one.name.clone(), one.to_json())).collect();
            json!({"servers": page})
        })
    }

    pub(super) fn availability(&self, call: &Call<'_>) -> Outcome {
        let now = self.inner.clock.now();
        let state = self.state();
        let types = catalogue::sold_in(call.zone);
        paged(&call.query, "/products/servers/availability", types.len(), |skip, size| {
            let entry = |name: String| {
                let stock = stock(&state, &name, call.zone, now).0;
                (name, json!({"availability": stock.name()}))
            };
            let page: Map<String, Value> =
                types.iter().skip(skip).take(size).map(|one| entry(one.name.clone())).collect();
            json!({"servers": page})
        })
    }

    /// Prices a minute, as units and nanos.
    pub(super) fn price_list(&self, call: &Call<'_>) -> Outcome {
        let zones: Vec<&str> = call.query.get("zone").map_or_else(|| catalogue::ZONES.to_vec(), |zone| vec![zone]);
        let wanted = call.query.list("api_ids");
        let kinds = call.query.list("product_types");
        let products: Vec<Value> = zones
            .iter()
            .flat_map(|zone| catalogue::sold_in(zone).into_iter().map(move |offered| (*zone, offered)))
            .filter(|(_, offered)| wanted.is_empty() || wanted.contains(&offered.name.as_str()))
            .filter(|_| kinds.is_empty() || kinds.contains(&"instance"))
            .map(|(zone, offered)| {
                let nanos = (offered.euro_per_hour / 60.0 * 1e9).round() as u64;
                let name = &offered.name;
                json!({
                    "sku": format!("/compute/{}/run_{zone}", name.to_lowercase().replace('-', "_")),
                    "service_category": "Compute", "product_category": "Instance", "product": name, "variant": name,
                    "description": name, "locality": {"zone": zone},
                    "price": {"retail_price": {"currency_code": "EUR", "units": nanos / 1_000_000_000,
                                               "nanos": nanos % 1_000_000_000}},
                    "properties": {"hardware": {"cpu": {"virtual": {"count": offered.cpus}}},
                                   "instance": {"offer_id": name}},
                    "unit_of_measure": {"unit": "minute", "size": 1}, "status": "general_availability",
                })
            })
            .collect();
        paged_in_body(&call.query, "products", &products)
    }

    pub(super) fn dashboard(&self, call: &Call<'_>) -> Outcome {
        let state = self.state();
        let servers: Vec<_> = state.servers.values().filter(|server| server.zone == call.zone).collect();
        let ips: Vec<_> = state.ips.values().filter(|ip| ip.zone == call.zone).collect();
        let volumes = |kind| state.volumes.values().filter(|one| one.zone == call.zone && one.kind == kind).count();
        let mut by_type: Map<String, Value> = Map::new();
        for server in &servers {
            let count = by_type.get(&server.commercial_type).and_then(Value::as_u64).unwrap_or(0);
            by_type.insert(server.commercial_type.clone(), json!(count + 1));
        }
        let running = servers.iter().filter(|server| server.state == ServerState::Running).count();
        let local: u64 = state.volumes.values().filter(|one| one.zone == call.zone).map(|one| one.size).sum();
        found(&json!({"dashboard": {
            "servers_count": servers.len(), "running_servers_count": running, "servers_by_types": by_type,
            "volumes_count": volumes(VolumeKind::Local) + volumes(VolumeKind::Scratch),
            "volumes_l_ssd_count": volumes(VolumeKind::Local), "volumes_l_ssd_total_size": local,
            "volumes_b_ssd_count": 0, "volumes_b_ssd_total_size": 0, "images_count": 0, "snapshots_count": 0,
            "ips_count": ips.len(), "ips_unused": ips.iter().filter(|ip| ip.server.is_none()).count(),
            "security_groups_count": 1, "placement_groups_count": 0,
            "private_nics_count": state.nics.values().filter(|nic| servers.iter().any(|one| one.id == nic.server)).count(),
        }}))
    }
}

/// The stock of a type now, and how a shortage shows.
fn stock(state: &State, name: &str, zone: &str, now: Timestamp) -> (Availability, ShortageManner) {
    if let Some(&slots) = state.options.slots.get(&(name.to_owned(), zone.to_owned())) {
        // A slot is held from poweron until the server is stopped; stopping in place keeps it.
        let held = state
            .servers
            .values()
            .filter(|server| server.commercial_type == name && server.zone == zone && server.billed_since.is_some());
        if held.count() as u64 >= slots {
            return (Availability::Shortage, ShortageManner::default());
        }
    }
    let mut entries = state.options.stock.iter().rev();
    let entry = entries
        .find(|entry| covers(&entry.commercial_type, name) && covers(&entry.zone, zone) && entry.window.holds(now));
    match entry {
        Some(entry) => (entry.availability, entry.manner),
        None => {
            let recorded = catalogue::recorded_availability(name, zone);
            (recorded.unwrap_or(Availability::Shortage), ShortageManner::default())
        }
    }
}

/// How the lack of stock shows, if there is one now.
pub(super) fn shortage(state: &State, name: &str, zone: &str, now: Timestamp) -> Option<ShortageManner> {
    let (availability, manner) = stock(state, name, zone, now);
    (availability == Availability::Shortage).then_some(manner)
}
