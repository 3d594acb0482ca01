//! Holds in memory, with all that [`Holders`] asks for: for tests, and the pattern for a store in a cluster.

use crate::{Clock, Hold, Holders, NodeSign};
use async_trait::async_trait;
use jiff::Timestamp;
use model::Uid;
use provider::ProviderError;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// What the cluster sees of a Node.
pub type Nodes = Arc<dyn Fn(&str) -> NodeSign + Send + Sync>;

/// One row a machine. Clones share it, as processes share a cluster. Machines and Nodes have the same names here.
#[derive(Clone)]
pub struct HoldTable {
    rows: Arc<Mutex<BTreeMap<String, Row>>>,
    clock: Clock,
    nodes: Nodes,
}

#[derive(Default)]
struct Row {
    hold: Option<Hold>,
    off_since: Option<Timestamp>,
}

impl HoldTable {
    pub fn new(clock: Clock, nodes: Nodes) -> Self {
        HoldTable { rows: Arc::default(), clock, nodes }
    }

    /// For machines that no cluster sees: the status is the only witness.
    pub fn without_nodes(clock: Clock) -> Self {
        HoldTable::new(clock, Arc::new(|_| NodeSign::default()))
    }

    fn rows(&self) -> MutexGuard<'_, BTreeMap<String, Row>> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Holders for HoldTable {
    async fn held(&self) -> Result<BTreeMap<String, Hold>, ProviderError> {
        others_first().await;
        let rows = self.rows();
        Ok(rows.iter().filter_map(|(machine, row)| Some((machine.clone(), row.hold.clone()?))).collect())
    }

    async fn take(&self, machine: &str, claim: &Uid, note: &str) -> Result<Hold, ProviderError> {
        others_first().await;
        let mut rows = self.rows();
        let row = rows.entry(machine.to_owned()).or_default();
        let hold = || Hold { claim: claim.clone(), note: Some(note.to_owned()) };
        Ok(row.hold.get_or_insert_with(hold).clone())
    }

    async fn note(&self, machine: &str, claim: &Uid, note: &str) -> Result<(), ProviderError> {
        others_first().await;
        let mut rows = self.rows();
        let hold = rows.get_mut(machine).and_then(|row| row.hold.as_mut()).filter(|hold| hold.claim == *claim);
        let Some(hold) = hold else {
            let doing = format!("note how far {machine} is for the claim {claim}");
            return Err(ProviderError::Conflict { doing, what: format!("the hold on {machine}") });
        };
        hold.note = Some(note.to_owned());
        Ok(())
    }

    async fn release(&self, machine: &str, claim: &Uid) -> Result<(), ProviderError> {
        others_first().await;
        let now = (self.clock)();
        let mut rows = self.rows();
        let row = rows.get_mut(machine);
        if let Some(row) = row.filter(|row| row.hold.as_ref().is_some_and(|hold| hold.claim == *claim)) {
            *row = Row { hold: None, off_since: Some(now) };
        }
        Ok(())
    }

    async fn node(&self, node: &str) -> Result<NodeSign, ProviderError> {
        let seen = (self.nodes)(node);
        let off_since = seen.off_since.or_else(|| self.rows().get(node)?.off_since);
        Ok(NodeSign { off_since, ..seen })
    }
}

/// A store in a cluster is not asked alone: whoever waits gets in between any two requests, so that races are real.
async fn others_first() {
    tokio::task::yield_now().await;
}
