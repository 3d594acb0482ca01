//! Everything that was said in the world: each request with its answer, in order, and a hash over all of it.

use jiff::Timestamp;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::{
    collections::VecDeque,
    fmt,
    io::Write,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Who was spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Place {
    Kubernetes,
    Aks,
    Scaleway,
    Power,
}

impl Place {
    pub const ALL: [Place; 4] = [Place::Kubernetes, Place::Aks, Place::Scaleway, Place::Power];

    pub fn as_str(self) -> &'static str {
        match self {
            Place::Kubernetes => "kubernetes",
            Place::Aks => "aks",
            Place::Scaleway => "scaleway",
            Place::Power => "power",
        }
    }
}

/// One request and its answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Exchange {
    pub at: Timestamp,
    pub to: Place,
    pub user: String,
    pub method: String,
    pub path: String,
    pub query: String,
    /// Absent where no answer reached the caller.
    pub status: Option<u16>,
    pub request: Value,
    pub answer: Value,
    /// What was done to it on purpose.
    pub fault: Option<String>,
    pub audit: Option<Audit>,
}

/// A request to the API server, in the words of RBAC.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Audit {
    pub verb: &'static str,
    pub group: String,
    pub resource: String,
    pub subresource: String,
    pub namespace: String,
}

impl Exchange {
    pub fn to_json(&self) -> Value {
        let mut line = json!({
            "at": self.at.to_string(), "to": self.to.as_str(), "user": self.user, "method": self.method,
            "path": self.path, "query": self.query, "status": self.status, "request": self.request,
            "answer": self.answer,
        });
        if let Some(fault) = &self.fault {
            line["fault"] = fault.as_str().into();
        }
        if let Some(audit) = &self.audit {
            line["verb"] = audit.verb.into();
            line["group"] = audit.group.as_str().into();
            line["resource"] = audit.resource.as_str().into();
            line["subresource"] = audit.subresource.as_str().into();
            line["namespace"] = audit.namespace.as_str().into();
        }
        line
    }
}

struct Inner {
    exchanges: VecDeque<Exchange>,
    most: usize,
    count: u64,
    hash: Sha256,
    record: Option<Box<dyn Write + Send>>,
}

/// Cheap to clone; all clones are the same history.
#[derive(Clone)]
pub struct History(Arc<Mutex<Inner>>);

impl History {
    /// Keeps the last `most` exchanges in memory; the hash and the record cover all of them.
    pub fn new(most: usize) -> Self {
        let inner = Inner { exchanges: VecDeque::new(), most, count: 0, hash: Sha256::new(), record: None };
        History(Arc::new(Mutex::new(inner)))
    }

    /// Writes one JSON line an exchange from now on.
    pub fn record_to(&self, writer: impl Write + Send + 'static) {
        self.lock().record = Some(Box::new(writer));
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn add(&self, exchange: Exchange) {
        let mut inner = self.lock();
        let line = exchange.to_json().to_string();
        inner.hash.update(line.as_bytes());
        inner.hash.update(b"\n");
        inner.count += 1;
        if let Some(record) = &mut inner.record {
            // A full disk must not stop the world; the line count at the end shows what is missing.
            drop(writeln!(record, "{line}").and_then(|()| record.flush()));
        }
        if inner.exchanges.len() == inner.most {
            inner.exchanges.pop_front();
        }
        if inner.most > 0 {
            inner.exchanges.push_back(exchange);
        }
    }

    /// How many there were, and a hash over all of them: the same seed gives the same.
    pub fn fingerprint(&self) -> (u64, String) {
        let inner = self.lock();
        let digest = inner.hash.clone().finalize();
        (inner.count, digest.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// What `read` takes from each exchange, in order: for who asks often and needs little.
    pub fn select<T>(&self, read: impl FnMut(&Exchange) -> Option<T>) -> Vec<T> {
        self.lock().exchanges.iter().filter_map(read).collect()
    }

    pub fn exchanges(&self) -> Vec<Exchange> {
        self.lock().exchanges.iter().cloned().collect()
    }
}

impl fmt::Debug for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("History").field("count", &self.lock().count).finish_non_exhaustive()
    }
}
