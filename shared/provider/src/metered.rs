//! Counts and times every call that reaches a provider.

use core::future::Future;
use tokio::time::Instant;

use crate::{Around, Call, ProviderError, Wrapped};

const REQUESTS: &str = "pilotlight_provider_requests_total";
const DURATION: &str = "pilotlight_provider_request_duration_seconds";

/// A provider whose calls are counted.
pub type Metered<P> = Wrapped<P, Metering>;

#[derive(Debug, Clone, Copy)]
pub struct Metering;

impl Metering {
    /// Says once what the metrics mean.
    pub fn describe() -> Self {
        metrics::describe_counter!(
            REQUESTS,
            "Calls that reached a provider, by result: ok or the reason of the error."
        );
        metrics::describe_histogram!(DURATION, metrics::Unit::Seconds, "How long a provider took to answer a call.");
        Metering
    }
}

impl Around for Metering {
    async fn around<T: Send>(
        &self,
        call: Call<'_>,
        work: impl Future<Output = Result<T, ProviderError>> + Send,
    ) -> Result<T, ProviderError> {
        let began = Instant::now();
        let result = work.await;
        let (provider, operation) = (call.provider, call.operation.as_str());
        // Keys and offerings are no labels: there is no end to them.
        let class = result.as_ref().map_or_else(ProviderError::reason, |_| "ok");
        metrics::counter!(REQUESTS, "provider" => provider, "operation" => operation, "code_class" => class)
            .increment(1);
        metrics::histogram!(DURATION, "provider" => provider, "operation" => operation).record(began.elapsed());
        result
    }
}
