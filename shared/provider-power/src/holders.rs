//! Who has which machine, and what the cluster sees of it: the part of the truth that is in Kubernetes.

use async_trait::async_trait;
use jiff::Timestamp;
use model::Uid;
use provider::ProviderError;
use std::collections::BTreeMap;

/// A machine has no place for a tag, so whose it is stands in the cluster, and is written there **before** the first
/// command. This crate takes, notes and releases; the caller brings the store, and this crate never touches Kubernetes.
///
/// What an implementation guarantees:
///
/// 1. **A machine has at most one hold.** [`take`](Self::take) is one atomic step: of claims that take a free machine at
///    once, one gets it, and each is told which. So a machine's hold is *one* object, named for the machine, and taking is
///    a create that fails if it exists, or an update under its `resourceVersion`. Records that each claim writes for
///    itself cannot do this, however they are compared later: clocks differ, and an older record may be written last.
/// 2. **A hold does not expire.** It ends with [`release`](Self::release) by its own claim and in no other way, also when
///    the claim is long gone: the machine may be on. `owned` tells of it, and whoever closes leaks asks for its removal.
/// 3. **Reads are consistent**: they see every take, note and release that was answered before they began, whichever
///    process asked for it. A watch cache does not. With a stale read, a machine could be cut under its next holder.
/// 4. **A write whose answer was lost may be repeated.** Taking what one holds is a success.
///
/// Errors are the port's: the API server that cannot be reached is `Unavailable`.
#[async_trait]
pub trait Holders: Send + Sync {
    /// Every hold there is, by machine. A machine that is not in it is held by nobody: that is a proof.
    async fn held(&self) -> Result<BTreeMap<String, Hold>, ProviderError>;

    /// Gives a machine to a claim if nobody has it, with its first note, and answers who has it now.
    async fn take(&self, machine: &str, claim: &Uid, note: &str) -> Result<Hold, ProviderError>;

    /// Replaces the note of a claim's hold. If the claim does not hold the machine it is an error, never a new hold: the
    /// note comes before the command, so this is what keeps a late process from switching what is no longer its own.
    async fn note(&self, machine: &str, claim: &Uid, note: &str) -> Result<(), ProviderError>;

    /// Ends a claim's hold: the machine is confirmed off at this moment, which is its next [`NodeSign::off_since`].
    /// If the claim does not hold the machine, nothing is done and nothing is wrong.
    async fn release(&self, machine: &str, claim: &Uid) -> Result<(), ProviderError>;

    /// What the cluster sees of the machine's Node. The second witness beside the status; the only one without it.
    async fn node(&self, node: &str) -> Result<NodeSign, ProviderError>;
}

/// A machine in somebody's hands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hold {
    pub claim: Uid,
    /// What was last noted under this hold: how far the machine has come, in this crate's words, at most some hundred
    /// bytes. Any process goes on from it.
    pub note: Option<String>,
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
