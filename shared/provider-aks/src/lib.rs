//! AKS agent pools behind the provider port: one pool of one machine for each claim, manageable by gpu-provisioner too.
//!
//! Nothing here waits for Azure and nothing lives in memory that matters: a pool's name comes from its claim, its owner is
//! written on it, and an operation's address is the progress. What a node class may ask for beyond gpu-provisioner's pool is
//! listed in `class.rs`; what every error code of Azure becomes, in `errors.rs`.

mod carrier;
mod catalogue;
mod class;
mod client;
mod create;
mod delete;
mod draft;
mod errors;
mod look;
mod names;
mod offerings;
mod pool;
mod progress;
mod quota;
mod refusal;
mod settings;
mod tokens;
mod transport;

use async_trait::async_trait;
use core::time::Duration;
use jiff::Timestamp;
use model::{Ensured, Gone, Instance, InstanceKey, InstanceRequest, Offering, Owned, Progress, Rebooted};
use provider::{Change, Look, Provider, ProviderError};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::time::Instant;

use client::Client;
use offerings::{Prices, Sizes};
use quota::Kept;

pub use names::{CLAIM_NAME, CLAIM_NAME_TAG, CLAIM_UID, pool_name, pool_of_provider_id, spot_taint};
pub use offerings::{QUOTA_FAMILY, bundled, size_name, with_mig_profile};
pub use quota::{SPOT_FAMILY, Usage};
pub use settings::{Credential, HiddenText, Problem, Settings};
pub use tokens::{AzureTokens, TokenError, Tokens};
pub use transport::{Transport, TransportError, Web};

/// The first part of every offering's name.
pub const PROVIDER: &str = "aks";

type Now = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// One AKS cluster. Cheap to build: the first request builds what is expensive.
pub struct Aks {
    client: Client,
    now: Now,
    /// Until when the cluster said it was busy: other claims of this process need not ask as well.
    busy: Mutex<Option<Instant>>,
    usages: Kept<Vec<Usage>>,
    sizes: Kept<Sizes>,
    prices: Kept<Prices>,
}

impl Aks {
    pub fn new(settings: Settings, transport: Arc<dyn Transport>, tokens: Arc<dyn Tokens>) -> Self {
        Aks {
            client: Client { transport, tokens, settings },
            now: Arc::new(Timestamp::now),
            busy: Mutex::new(None),
            usages: Kept::default(),
            sizes: Kept::default(),
            prices: Kept::default(),
        }
    }

    /// Over the network, with the identity of the settings.
    pub fn connect(settings: Settings) -> Self {
        let web = Arc::new(Web::default());
        let tokens = Arc::new(AzureTokens::new(settings.clone(), web.clone()));
        Aks::new(settings, web, tokens)
    }

    /// Another clock, for tests and worlds.
    pub fn with_clock(mut self, now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        self.now = Arc::new(now);
        self
    }

    fn now(&self) -> Timestamp {
        (self.now)()
    }

    fn busy_for(&self) -> Option<Duration> {
        let busy = *self.busy.lock().unwrap_or_else(PoisonError::into_inner);
        busy?.checked_duration_since(Instant::now()).filter(|rest| !rest.is_zero())
    }

    fn set_busy(&self, rest: Duration) {
        let until = Instant::now().checked_add(rest);
        *self.busy.lock().unwrap_or_else(PoisonError::into_inner) = until;
    }
}

#[async_trait]
impl Look for Aks {
    async fn offerings(&self) -> Result<Vec<Offering>, ProviderError> {
        self.all_offerings().await
    }

    async fn observe(&self, key: &InstanceKey) -> Result<Option<Instance>, ProviderError> {
        self.observe_key(key).await
    }

    async fn owned(&self) -> Result<Vec<Owned>, ProviderError> {
        self.owned_pools().await
    }
}

#[async_trait]
impl Change for Aks {
    async fn ensure(&self, request: &InstanceRequest, progress: Option<&Progress>) -> Result<Ensured, ProviderError> {
        create::ensure(self, request, progress).await
    }

    async fn ensure_gone(&self, key: &InstanceKey, progress: Option<&Progress>) -> Result<Gone, ProviderError> {
        delete::ensure_gone(self, key, progress).await
    }

    /// An agent pool has no such operation, and its scale set is Azure's to run.
    async fn reboot(&self, _: &InstanceKey, _: &str) -> Result<Rebooted, ProviderError> {
        Ok(Rebooted::NotAble { why: "AKS has no way to start the machine of an agent pool anew".to_owned() })
    }
}

impl Provider for Aks {
    fn name(&self) -> &'static str {
        PROVIDER
    }
}
