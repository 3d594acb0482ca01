//! What this Azure remembers: pools and their machines, operations, tokens, buckets.

use super::{catalogue::Size, options::ArmOptions, properties::Properties, throttle::Buckets, token::TokenBook};
use jiff::Timestamp;
use serde_json::Value;
use std::collections::BTreeMap;

#[derive(Debug)]
pub(super) struct State {
    pub options: ArmOptions,
    pub tokens: TokenBook,
    pub buckets: Buckets,
    /// By name; a pool being deleted is still one.
    pub pools: BTreeMap<String, Pool>,
    /// Pools that were; for the history only.
    pub former: Vec<Pool>,
    pub operations: BTreeMap<String, Operation>,
    pub cluster_etag: String,
    pub pools_made: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provisioning {
    Creating,
    Updating,
    Scaling,
    Deleting,
    Succeeded,
    Failed,
    Canceled,
}

impl Provisioning {
    pub fn word(self) -> &'static str {
        match self {
            Provisioning::Creating => "Creating",
            Provisioning::Updating => "Updating",
            Provisioning::Scaling => "Scaling",
            Provisioning::Deleting => "Deleting",
            Provisioning::Succeeded => "Succeeded",
            Provisioning::Failed => "Failed",
            Provisioning::Canceled => "Canceled",
        }
    }
}

#[derive(Debug, Clone)]
pub(super) struct Pool {
    /// Tells a pool from a later one of the same name.
    pub serial: u64,
    pub name: String,
    pub properties: Properties,
    pub size: &'static Size,
    pub provisioning: Provisioning,
    pub etag: String,
    pub scale_set: String,
    pub instances: Vec<Instance>,
    pub next_instance: u64,
    /// The operation that is running on it.
    pub operation: Option<String>,
    /// Labels or taints have changed and its nodes have not heard yet.
    pub relabelled: bool,
    pub created: Timestamp,
    pub deleted: Option<Timestamp>,
}

/// One virtual machine of the pool's scale set.
#[derive(Debug, Clone)]
pub(super) struct Instance {
    pub number: u64,
    pub node: String,
    pub zone: Option<String>,
    pub boot_id: String,
    pub allocated: Timestamp,
    pub joined: Option<Timestamp>,
    /// Deleted, and no longer billed.
    pub gone: Option<Timestamp>,
    /// Evicted by deallocation: not running, still there.
    pub deallocated: bool,
    pub joins: bool,
    pub gpu_after: Option<std::time::Duration>,
}

#[derive(Debug, Clone)]
pub(super) struct Operation {
    pub id: String,
    pub pool: String,
    pub deletes: bool,
    pub started: Timestamp,
    pub ended: Option<Timestamp>,
    pub status: OperationStatus,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum OperationStatus {
    InProgress,
    Succeeded,
    Failed(Value),
    Canceled(Value),
}

/// vCPUs in use, as quota counts them: spot apart from the rest.
#[derive(Debug, Default)]
pub(super) struct Used {
    pub regional: u64,
    pub low_priority: u64,
    pub families: BTreeMap<&'static str, u64>,
}

impl Pool {
    pub fn spot(&self) -> bool {
        self.properties.is_spot()
    }

    pub fn alive(&self) -> impl Iterator<Item = &Instance> {
        self.instances.iter().filter(|instance| instance.gone.is_none())
    }

    pub fn instance(&mut self, number: u64) -> Option<&mut Instance> {
        self.instances.iter_mut().find(|instance| instance.number == number)
    }
}

impl State {
    pub fn used_vcpus(&self) -> Used {
        let mut used = Used::default();
        for pool in self.pools.values() {
            let vcpus = pool.size.vcpus * pool.alive().count() as u64;
            if pool.spot() {
                used.low_priority += vcpus;
            } else {
                used.regional += vcpus;
                *used.families.entry(pool.size.family).or_default() += vcpus;
            }
        }
        used
    }

    /// The pool, if it is still the one that was meant.
    pub fn pool(&mut self, name: &str, serial: u64) -> Option<&mut Pool> {
        self.pools.get_mut(name).filter(|pool| pool.serial == serial)
    }

    /// Ends an operation, unless it has ended before; says whether it did.
    pub fn end_operation(&mut self, id: &str, status: OperationStatus, now: Timestamp) -> bool {
        match self.operations.get_mut(id).filter(|operation| operation.status == OperationStatus::InProgress) {
            None => false,
            Some(operation) => {
                operation.status = status;
                operation.ended = Some(now);
                if let Some(pool) = self.pools.values_mut().find(|pool| pool.operation.as_deref() == Some(id)) {
                    pool.operation = None;
                }
                true
            }
        }
    }

    pub fn running(&self) -> impl Iterator<Item = (&Operation, &Pool)> {
        self.pools.values().filter_map(|pool| {
            let operation = self.operations.get(pool.operation.as_deref()?)?;
            Some((operation, pool))
        })
    }
}
