//! No call lasts for ever. What a time-out means depends on what was asked.

use core::{future::Future, time::Duration};

use crate::{Around, Call, PerOperation, ProviderError, Wrapped};

/// A provider whose calls end in time.
pub type Timed<P> = Wrapped<P, TimeOuts>;

/// How long each operation may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeOuts(pub PerOperation<Duration>);

/// Below what platforms give a function (a minute and more), so that the answer is ours, not theirs.
impl Default for TimeOuts {
    fn default() -> Self {
        let seconds =
            PerOperation { offerings: 30, observe: 15, owned: 40, ensure: 40, ensure_gone: 40, go_on: 40, reboot: 40 };
        TimeOuts(PerOperation::from_fn(|operation| Duration::from_secs(*seconds.of(operation))))
    }
}

impl Around for TimeOuts {
    async fn around<T: Send>(
        &self,
        call: Call<'_>,
        work: impl Future<Output = Result<T, ProviderError>> + Send,
    ) -> Result<T, ProviderError> {
        let most = *self.0.of(call.operation);
        match tokio::time::timeout(most, work).await {
            Ok(result) => result,
            Err(_) => {
                let (doing, why) = (call.to_string(), format!("no answer within {} s", most.as_secs_f64()));
                // The request may be on its way: a change that timed out has not failed.
                Err(if call.operation.changes() {
                    ProviderError::Uncertain { doing, why }
                } else {
                    ProviderError::Unavailable { doing, why }
                })
            }
        }
    }
}
