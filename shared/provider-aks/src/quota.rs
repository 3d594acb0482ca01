//! Quota: what the subscription may have and has, from Compute's usages. A quota error gets its numbers here, not from text.

use core::time::Duration;
use model::{CapacityType, OfferingId};
use provider::{ProviderError, Scope};
use serde_json::Value;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::time::Instant;

use crate::{Aks, PROVIDER, catalogue::Size, client::Client, errors::About};

/// Spot machines of all sizes share one quota.
pub const SPOT_FAMILY: &str = "lowPriorityCores";
const REGIONAL: &str = "cores";

/// One line of the usages: vCPUs of a family, of the region (`cores`) or of all spot machines (`lowPriorityCores`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Usage {
    pub name: String,
    pub used: u64,
    pub limit: u64,
}

/// The quota that stands in the way of an offering.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct QuotaSeen {
    family: Option<String>,
    pub used: u64,
    pub limit: u64,
}

impl QuotaSeen {
    pub fn scope(&self) -> Scope {
        let provider = PROVIDER.to_owned();
        match self.family.clone() {
            Some(family) => Scope::Family { provider, family },
            None => Scope::Provider { provider },
        }
    }
}

/// Something read from Azure and kept for a while. Only a hint: nothing is decided by it that Azure does not decide again.
pub(crate) struct Kept<T>(Mutex<Option<(Instant, Arc<T>)>>);

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Kept(Mutex::new(None))
    }
}

impl<T> Kept<T> {
    pub fn get(&self, not_older: Duration) -> Option<Arc<T>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.as_ref().filter(|(since, _)| since.elapsed() < not_older).map(|(_, value)| value.clone())
    }

    pub fn set(&self, value: T) -> Arc<T> {
        let value = Arc::new(value);
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((Instant::now(), value.clone()));
        value
    }
}

impl Aks {
    /// Every quota line of the region, as it is now.
    pub async fn quota(&self) -> Result<Vec<Usage>, ProviderError> {
        self.usages(Duration::ZERO).await.map(|usages| usages.to_vec())
    }

    /// The usages, not older than that.
    pub(crate) async fn usages(&self, not_older: Duration) -> Result<Arc<Vec<Usage>>, ProviderError> {
        if let Some(kept) = self.usages.get(not_older) {
            return Ok(kept);
        }
        let doing = format!("reading the quota of {}", self.client.settings.location);
        Ok(self.usages.set(read(&self.client, &doing).await?))
    }
}

async fn read(client: &Client, doing: &str) -> Result<Vec<Usage>, ProviderError> {
    let found = client.list(doing, client.usages_url(), "value", "nextLink").await;
    let found = found.map_err(|failure| failure.into_error(doing, About::default()))?;
    let usage = |line: &Value| {
        let limit = line["limit"].as_i64()?;
        Some(Usage {
            name: line["name"]["value"].as_str()?.to_owned(),
            used: line["currentValue"].as_u64()?,
            // Azure writes "no limit" as -1.
            limit: u64::try_from(limit).unwrap_or(u64::MAX),
        })
    };
    Ok(found.iter().filter_map(usage).collect())
}

/// The quota that an offering does not fit into, if there is one. A family that has no line has no limit we know of.
pub(crate) fn shortfall(usages: &[Usage], offering: &OfferingId) -> Option<QuotaSeen> {
    let size = Size::named(&offering.instance_type)?;
    let line = |name: &str| usages.iter().find(|usage| plain(&usage.name) == plain(name));
    let short = |name: &str, family: Option<&str>| {
        let usage = line(name).filter(|usage| usage.used.saturating_add(size.vcpus) > usage.limit)?;
        Some(QuotaSeen { family: family.map(str::to_owned), used: usage.used, limit: usage.limit })
    };
    match offering.capacity_type {
        CapacityType::Spot => short(SPOT_FAMILY, Some(SPOT_FAMILY)),
        CapacityType::OnDemand | CapacityType::Reserved => {
            short(size.family, Some(&size.family_label())).or_else(|| short(REGIONAL, None))
        }
    }
}

/// Usages and SKUs spell some families with other spaces and cases.
fn plain(family: &str) -> String {
    family.chars().filter(|letter| !letter.is_whitespace()).collect::<String>().to_ascii_lowercase()
}
