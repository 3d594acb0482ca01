//! One span a call: who was asked for what, for whom, and how it ended.

use core::future::Future;
use tracing::{Instrument as _, Span, field::Empty, info_span};

use crate::{Around, Call, ProviderError, Wrapped};

/// A provider whose calls are spans.
pub type Traced<P> = Wrapped<P, Tracing>;

#[derive(Debug, Clone, Copy)]
pub struct Tracing;

impl Around for Tracing {
    async fn around<T: Send>(
        &self,
        call: Call<'_>,
        work: impl Future<Output = Result<T, ProviderError>> + Send,
    ) -> Result<T, ProviderError> {
        let span = info_span!(
            "provider",
            provider = call.provider,
            operation = call.operation.as_str(),
            key = Empty,
            claim = Empty,
            outcome = Empty,
        );
        if let Some(key) = call.key {
            span.record("key", key.name.as_str());
            span.record("claim", key.claim.as_str());
        }
        async {
            let result = work.await;
            // The reason only: an error's text has words of the cloud in it, and nobody here can know that they hold no
            // secret. The caller, who knows the case, reports the text.
            let outcome = result.as_ref().map_or_else(ProviderError::reason, |_| "Ok");
            Span::current().record("outcome", outcome);
            match &result {
                Ok(_) => tracing::debug!(outcome, "asked the provider"),
                Err(_) => tracing::warn!(outcome, "asked the provider"),
            }
            result
        }
        .instrument(span)
        .await
    }
}
