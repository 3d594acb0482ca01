//! The retail price list: public, without a token, one meter each for on-demand, spot, low priority and Windows.

use super::{
    answer::{empty, reply},
    catalogue::{SIZES, Size},
    filter::Filter,
    options::ArmOptions,
    request::Call,
};
use bytes::Bytes;
use http::{Response, StatusCode};
use serde_json::{Value, json};

/// The meters of one size: suffix of the names, product suffix, factor on the Linux price.
const METERS: [(&str, &str, f64); 4] =
    [("", "", 1.0), (" Spot", "", 0.3), (" Low Priority", "", 0.2), ("", " Windows", 1.25)];

/// What a machine of this size costs an hour; nothing for a size that nobody knows.
pub fn price_of(size: &str, spot: bool) -> f64 {
    let found = SIZES.iter().find(|one| one.name.eq_ignore_ascii_case(size));
    let price: f64 = found.and_then(|size| size.price.parse().ok()).unwrap_or_default();
    if spot { price * METERS[1].2 } else { price }
}

/// `GET /api/retail/prices`
pub(super) fn list(call: &Call, options: &ArmOptions) -> Response<Bytes> {
    let filter = match call.query.get("$filter").map(Filter::read) {
        Some(None) => return empty(StatusCode::BAD_REQUEST),
        Some(Some(filter)) => Some(filter),
        None => None,
    };
    let currency = call.query.get("currencyCode").unwrap_or("USD").trim_matches('\'').to_owned();
    let items: Vec<Value> = SIZES
        .iter()
        .flat_map(|size| METERS.map(|meter| item(size, meter, options, &currency)))
        .filter(|item| !item.is_null())
        .filter(|item| {
            let field = |name: &str| match name {
                "priceType" => item["type"].as_str().map(String::from),
                _ => item[name].as_str().map(String::from).or_else(|| item[name].as_bool().map(|is| is.to_string())),
            };
            filter.as_ref().is_none_or(|filter| filter.matches(&field))
        })
        .collect();
    let skip = call.query.get("$skip").and_then(|skip| skip.parse().ok()).unwrap_or(call.skip()).min(items.len());
    let end = skip.saturating_add(options.limits.prices_page.max(1)).min(items.len());
    let next = (end < items.len()).then(|| call.next_page(end));
    let body = json!({
        "BillingCurrency": currency,
        "CustomerEntityId": "Default",
        "CustomerEntityType": "Retail",
        "Items": items.get(skip..end).unwrap_or_default(),
        "NextPageLink": next,
        "Count": end - skip,
    });
    reply(StatusCode::OK, &body)
}

fn item(size: &Size, (suffix, product, factor): (&str, &str, f64), options: &ArmOptions, currency: &str) -> Value {
    if !suffix.is_empty() && !size.spot {
        return Value::Null;
    }
    let name = format!("{}{suffix}", size.name.trim_start_matches("Standard_").replace('_', " "));
    // Six digits, as the list prints them; more would be the factor's noise.
    let price = (size.price.parse().unwrap_or(0.0) * factor * 1e6_f64).round() / 1e6;
    json!({
        "currencyCode": currency,
        "tierMinimumUnits": 0.0,
        "retailPrice": price,
        "unitPrice": price,
        "armRegionName": options.location,
        "location": options.location,
        "effectiveStartDate": "2025-01-01T00:00:00Z",
        "meterId": meter_id(&format!("{}{suffix}{product}", size.name)),
        "meterName": name,
        "productId": "DZH318Z0BQ4B",
        "skuId": format!("DZH318Z0BQ4B/{}", size.name),
        "productName": format!("Virtual Machines {} Series{product}", size.family),
        "skuName": name,
        "serviceName": "Virtual Machines",
        "serviceId": "DZH313Z7MMC8",
        "serviceFamily": "Compute",
        "unitOfMeasure": "1 Hour",
        "type": "Consumption",
        "isPrimaryMeterRegion": true,
        "armSkuName": size.name,
    })
}

/// Stable for a name, so that the same meter has the same id in every world.
fn meter_id(name: &str) -> String {
    crate::chance::Chance::new(0).stream(name).uuid()
}
