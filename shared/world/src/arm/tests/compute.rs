//! Sizes, usages and prices.

use super::*;
use crate::arm::filter::Filter;

const COMPUTE: &str = "/subscriptions/22222222-2222-4222-8222-222222222222/providers/Microsoft.Compute";

/// Every Azure size of the KAITO tables, old and new.
const KAITO: &str = "NV36ads_A10_v5 NV72ads_A10_v5 NC24ads_A100_v4 NC48ads_A100_v4 NC96ads_A100_v4 ND96asr_A100_v4 \
    ND96amsr_A100_v4 NC40ads_H100_v5 NC80adis_H100_v5 ND96isr_H100_v5 NCC40ads_H100_v5 ND96isr_H200_v5 NG32ads_V620_v1 \
    NG32adms_V620_v1 NC6s_v3 NC12s_v3 NC24s_v3 NC24rs_v3 NC4as_T4_v3 NC8as_T4_v3 NC16as_T4_v3 NC64as_T4_v3 NV6 NV12 NV24 \
    NV12s_v3 NV24s_v3 NV48s_v3 NV32as_v4 NC6 NC12 NC24 NC24r ND6s ND12s ND24s ND24rs NC6s_v2 NC12s_v2 NC24s_v2 NC24rs_v2 \
    ND40rs_v2 ND96asr_v4 NV6ads_A10_v5 NV12ads_A10_v5 NV18ads_A10_v5 NV36adms_A10_v5";

async fn sizes(azure: &Azure) -> Vec<Value> {
    let mut next = format!("{COMPUTE}/skus?api-version=2021-07-01&$filter=location%20eq%20'eastus'");
    let mut sizes = Vec::new();
    while !next.is_empty() {
        let page = azure.get(&next).await;
        assert_eq!(page.status, StatusCode::OK, "{}", page.body);
        sizes.extend(page.body["value"].as_array().unwrap().clone());
        next = page.body["nextLink"].as_str().unwrap_or_default().to_owned();
    }
    sizes
}

#[tokio::test(start_paused = true)]
async fn every_kaito_size_is_listed_with_its_gpus_over_several_pages() {
    let azure = azure_with(|options| options.limits.sizes_page = 20).await;
    let sizes = sizes(&azure).await;
    for name in KAITO.split_whitespace() {
        let size =
            sizes.iter().find(|size| size["name"] == format!("Standard_{name}")).unwrap_or_else(|| panic!("{name}"));
        let gpus = size["capabilities"].as_array().unwrap().iter().find(|one| one["name"] == "GPUs").unwrap();
        assert!(gpus["value"].as_str().unwrap().parse::<u64>().unwrap() > 0, "{name}");
        assert_eq!(size["resourceType"], "virtualMachines");
    }
    let names: std::collections::BTreeSet<_> = sizes.iter().map(|size| size["name"].to_string()).collect();
    assert_eq!(names.len(), sizes.len(), "no size twice");
}

#[tokio::test(start_paused = true)]
async fn restricted_sizes_say_so_and_are_refused() {
    let azure = azure_with(|options| {
        options.restricted_sizes.insert(A100.into());
    })
    .await;
    let sizes = sizes(&azure).await;
    let size = sizes.iter().find(|size| size["name"] == A100).unwrap();
    assert_eq!(size["restrictions"][0]["reasonCode"], "NotAvailableForSubscription");
    assert_eq!(azure.put_pool("gpu", one_gpu()).await.code(), "VMSizeNotSupported");
}

#[tokio::test(start_paused = true)]
async fn another_location_has_no_sizes_and_a_bad_filter_is_an_error() {
    let azure = azure().await;
    let path = format!("{COMPUTE}/skus?api-version=2021-07-01&$filter=location%20eq%20'westus'");
    assert_eq!(azure.get(&path).await.body["value"], json!([]));
    let path = format!("{COMPUTE}/skus?api-version=2021-07-01&$filter=location%20is%20here");
    assert_eq!(azure.get(&path).await.status, StatusCode::BAD_REQUEST);
}

#[tokio::test(start_paused = true)]
async fn usages_count_what_lives_spot_apart() {
    let azure = azure_with(|options| {
        options.quota.families.insert("standardncadsa100v4family".into(), 96);
    })
    .await;
    azure.running_pool("regular", one_gpu()).await;
    azure.running_pool("spot", json!({"vmSize": A100, "count": 2, "scaleSetPriority": "Spot"})).await;
    let reply = azure.get(&format!("{COMPUTE}/locations/eastus/usages?api-version=2024-07-01")).await;
    let row = |name: &str| {
        let rows = reply.body["value"].as_array().unwrap();
        let row = rows.iter().find(|row| row["name"]["value"] == name).unwrap();
        (row["currentValue"].as_u64().unwrap(), row["limit"].as_u64().unwrap())
    };
    assert_eq!(row("StandardNCADSA100v4Family"), (24, 96));
    assert_eq!(row("cores"), (24, 10_000));
    assert_eq!(row("lowPriorityCores"), (48, 1000));
}

#[tokio::test(start_paused = true)]
async fn prices_are_public_filtered_and_paged() {
    let azure = azure_with(|options| options.limits.prices_page = 3).await;
    let path = "/api/retail/prices?currencyCode='USD'&$filter=serviceName%20eq%20'Virtual%20Machines'%20and%20armRegionName%20eq%20'eastus'%20and%20priceType%20eq%20'Consumption'%20and%20armSkuName%20eq%20'Standard_NC24ads_A100_v4'";
    let first = send(&azure.arm, Method::GET, path, &[], "").await;
    assert_eq!((first.status, &first.body["Count"]), (StatusCode::OK, &json!(3)));
    let next = first.body["NextPageLink"].as_str().unwrap().strip_prefix("http://azure.test").unwrap().to_owned();
    let second = send(&azure.arm, Method::GET, &next, &[], "").await;
    assert!(second.body["NextPageLink"].is_null());
    let all: Vec<&Value> = [&first, &second].iter().flat_map(|page| page.body["Items"].as_array().unwrap()).collect();
    let meters: Vec<&str> = all.iter().map(|item| item["meterName"].as_str().unwrap()).collect();
    assert_eq!(meters, ["NC24ads A100 v4", "NC24ads A100 v4 Spot", "NC24ads A100 v4 Low Priority", "NC24ads A100 v4"]);
    assert!(all[3]["productName"].as_str().unwrap().ends_with(" Windows"));
    assert_eq!(all[0]["retailPrice"], json!(3.673));
    assert!(all[1]["retailPrice"].as_f64() < all[0]["retailPrice"].as_f64());
}

#[test]
fn filters_read_brackets_or_contains_and_refuse_nonsense() {
    let field = |name: &str| (name == "a").then(|| "Alpha Spot".to_owned());
    let holds = |text: &str| Filter::read(text).map(|filter| filter.matches(&field));
    assert_eq!(holds("a eq 'alpha spot'"), Some(true));
    assert_eq!(holds("(a eq 'x' or contains(a, 'Spot')) and a ne 'y'"), Some(true));
    assert_eq!(holds("startswith(a,'B')"), Some(false));
    assert_eq!(holds("b eq 'x'"), Some(false));
    for nonsense in ["", "a", "a eq", "a eq 'x' and", "(a eq 'x'", "a eq 'x", "a gt 'x'"] {
        assert_eq!(holds(nonsense), None, "{nonsense}");
    }
}
