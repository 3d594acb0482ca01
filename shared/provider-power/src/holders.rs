//! Who has which machine, and what the cluster sees of it: the part of the truth that is in Kubernetes.

use async_trait::async_trait;
use jiff::Timestamp;
use model::Uid;
use provider::ProviderError;

/// A machine has no place for a tag, so whose it is stands in the cluster: in the launch record of a claim
/// (`pilotlight.dev/launch`) and on the machine's Node. The caller reads it there; this crate never touches Kubernetes.
///
/// The caller writes the record **before** it asks for a machine, and removes it only after `ensure_gone` was confirmed.
/// If two records name one machine, the older one holds it. An answer must be as fresh as a consistent read: with a stale
/// one, a machine could be cut under its next holder.
#[async_trait]
pub trait Holders: Send + Sync {
    /// The claim that has this machine now. `None` is a proof that no claim has it.
    async fn holder(&self, machine: &str) -> Result<Option<Uid>, ProviderError>;

    /// What the cluster sees of the machine's Node. The second witness beside the status; the only one without it.
    async fn node(&self, node: &str) -> Result<NodeSign, ProviderError>;
}

/// A Node, as far as power is concerned. What is not known is `None`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NodeSign {
    /// Its Ready condition; `None` if there is no Node.
    pub ready: Option<bool>,
    /// When the machine last came on: the minimum on-time counts from it.
    pub on_since: Option<Timestamp>,
    /// When it was last confirmed off: the cool-down counts from it.
    pub off_since: Option<Timestamp>,
}
