//! API versions: which are served, and what the older ones do not know yet.

use super::{answer::Refusal, options::ArmOptions, request::Call};
use http::StatusCode;

/// Stable versions of Microsoft.ContainerService/managedClusters; previews are known by their shape.
#[rustfmt::skip]
const STABLE: &[&str] = &[
    "2020-11-01", "2020-12-01", "2021-02-01", "2021-03-01", "2021-05-01", "2021-07-01", "2021-08-01", "2021-09-01",
    "2021-10-01", "2022-01-01", "2022-02-01", "2022-03-01", "2022-04-01", "2022-06-01", "2022-07-01", "2022-09-01",
    "2022-11-01", "2023-01-01", "2023-02-01", "2023-03-01", "2023-04-01", "2023-05-01", "2023-06-01", "2023-07-01",
    "2023-08-01", "2023-09-01", "2023-10-01", "2023-11-01", "2024-01-01", "2024-02-01", "2024-05-01", "2024-06-01",
    "2024-07-01", "2024-08-01", "2024-09-01", "2024-10-01", "2025-01-01", "2025-02-01", "2025-03-01", "2025-04-01",
    "2025-05-01", "2025-06-01", "2025-07-01", "2025-08-01", "2025-09-01", "2025-10-01",
];

pub(super) fn given(call: &Call) -> Result<&str, Refusal> {
    call.query.get("api-version").filter(|version| !version.is_empty()).ok_or_else(|| {
        let message = "The api-version query parameter (?api-version=) is required for all requests.";
        Refusal::arm(StatusCode::BAD_REQUEST, "MissingApiVersionParameter", message)
    })
}

/// Versions of `kind` of Microsoft.ContainerService.
pub(super) fn of_containers(call: &Call, kind: &str, options: &ArmOptions) -> Result<(), Refusal> {
    let version = given(call)?;
    let preview = version.ends_with("-02-preview") && is_date(version) && version > "2021";
    if preview || STABLE.contains(&version) { Ok(()) } else { Err(unknown(version, kind, &STABLE.join(", "), options)) }
}

/// Compute and operation addresses have many versions that do not differ here: any date will do.
pub(super) fn any(call: &Call, kind: &str, options: &ArmOptions) -> Result<(), Refusal> {
    let version = given(call)?;
    if is_date(version) { Ok(()) } else { Err(unknown(version, kind, "2016-03-30, 2021-07-01, 2024-07-01", options)) }
}

fn unknown(version: &str, kind: &str, supported: &str, options: &ArmOptions) -> Refusal {
    let message = format!(
        "No registered resource provider found for location '{}' and API version '{version}' for type '{kind}'. The supported api-versions are '{supported}'. The supported locations are '{}'.",
        options.location, options.location
    );
    Refusal::arm(StatusCode::BAD_REQUEST, "NoRegisteredProviderFound", message)
}

/// ETags and conditions came with 2024-09-01, in previews with 2024-06-02-preview.
pub(super) fn has_etags(call: &Call) -> bool {
    let version = call.query.get("api-version").unwrap_or_default();
    version >= if version.ends_with("preview") { "2024-06" } else { "2024-09-01" }
}

fn is_date(version: &str) -> bool {
    let digits = |from: usize, to: usize| {
        version.get(from..to).is_some_and(|part| part.bytes().all(|byte| byte.is_ascii_digit()))
    };
    digits(0, 4) && digits(5, 7) && digits(8, 10) && version.get(4..5) == Some("-") && version.get(7..8) == Some("-")
}
