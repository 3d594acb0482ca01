//! The provider port: what every cloud, and every rack, has to be able to do. It speaks the model only.
//!
//! Looking and changing are different traits, and different rights. Every method is a protocol: its comment says what
//! "already so" returns, what success means, and who retries. A new provider follows docs/adding-a-provider.md and passes
//! the contract suite.

mod around;
mod chance;
#[cfg(feature = "testing")]
pub mod contract;
mod dressed;
mod error;
#[cfg(feature = "testing")]
pub mod fake;
mod limited;
mod metered;
mod remembered;
mod timed;
mod traced;

use async_trait::async_trait;
use model::{Ensured, Gone, Instance, InstanceKey, InstanceRequest, Offering, Owned, Progress, Rebooted};
pub use model::{Retry, Scope};

pub use around::{Around, Call, Operation, PerOperation, Wrapped};
pub use chance::{Chance, SystemChance, up_to};
pub use dressed::{Settings, dressed};
pub use error::ProviderError;
pub use limited::{Limited, Limiter, Limits, Rate};
pub use metered::{Metered, Metering};
pub use remembered::Remembered;
pub use timed::{TimeOuts, Timed};
pub use traced::{Traced, Tracing};

/// Reading: needs no right to change anything.
#[async_trait]
pub trait Look: Send + Sync {
    /// Everything that can be asked for here, with price and stock as far as known. Bundled data where the cloud cannot
    /// be asked. Never empty without an error. The caller retries.
    async fn offerings(&self) -> Result<Vec<Offering>, ProviderError>;

    /// The instance of a key as it is now. `None` is a proof that there is none, not a failure to find out.
    async fn observe(&self, key: &InstanceKey) -> Result<Option<Instance>, ProviderError>;

    /// Everything under our keys, complete (all pages, all zones), left-overs included. What is not ours is not in it.
    async fn owned(&self) -> Result<Vec<Owned>, ProviderError>;
}

/// Changing.
#[async_trait]
pub trait Change: Send + Sync {
    /// Brings the instance of a request's key into being, without waiting for it.
    ///
    /// - Already there and ours: `Running`, or `InProgress` with where it stands. Twice is once.
    /// - There and somebody else's: `Conflict`; it is not touched.
    /// - `progress` is what the last call returned, from any machine; without it the provider finds out by the key.
    /// - A typed capacity failure means that nothing is left of this attempt and the next offering may be tried.
    /// - `Uncertain` means that it may have been done: the caller asks again with the same request, and never with another
    ///   offering, until it knows.
    async fn ensure(&self, request: &InstanceRequest, progress: Option<&Progress>) -> Result<Ensured, ProviderError>;

    /// Makes sure that nothing of a key is left or billed: instance, disks, addresses.
    ///
    /// - Nothing there: `Confirmed`. That is the only success.
    /// - Somebody else's under the same name: `Conflict`; it is not touched.
    /// - The caller asks again until `Confirmed`; any call may be the first.
    async fn ensure_gone(&self, key: &InstanceKey, progress: Option<&Progress>) -> Result<Gone, ProviderError>;

    /// Starts the machine of a key anew, in place, without waiting for it.
    ///
    /// - `operation` names this one reboot, at most 40 letters, digits and dashes. Asked again with the same, from any
    ///   machine: `Issued`, and nothing is changed. Only where the answer was lost may it be done a second time.
    /// - Nothing there, or this provider cannot: `NotAble`, and nothing is changed. The caller replaces it instead.
    /// - The caller has drained the node, and asks again while the answer is `InProgress`.
    async fn reboot(&self, key: &InstanceKey, operation: &str) -> Result<Rebooted, ProviderError>;
}

/// A provider is both.
pub trait Provider: Look + Change {
    /// `aks`, `scaleway`, `power`: the first part of every offering's name.
    fn name(&self) -> &'static str;

    /// Whether `reboot` is worth asking for: where not, a machine is replaced, and its replacement comes first.
    fn can_reboot(&self) -> bool {
        false
    }
}
