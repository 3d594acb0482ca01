//! What there is and was, for checks: pools with their machines, and operations.

use super::state::{Instance, OperationStatus, Pool, Provisioning, State};
use jiff::Timestamp;
use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    /// Living pools, then former ones in the order of their end.
    pub pools: Vec<PoolRecord>,
    pub operations: Vec<OperationRecord>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct PoolRecord {
    pub name: String,
    pub size: String,
    pub spot: bool,
    pub system: bool,
    pub provisioning: Provisioning,
    pub etag: String,
    pub labels: BTreeMap<String, String>,
    pub taints: Vec<String>,
    pub tags: BTreeMap<String, String>,
    pub created: Timestamp,
    pub deleted: Option<Timestamp>,
    pub machines: Vec<MachineRecord>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct MachineRecord {
    pub node: String,
    pub zone: Option<String>,
    /// From here to `gone` it costs money.
    pub allocated: Timestamp,
    pub joined: Option<Timestamp>,
    pub gone: Option<Timestamp>,
    pub deallocated: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct OperationRecord {
    pub id: String,
    pub pool: String,
    pub deletes: bool,
    pub status: &'static str,
    /// The code of a failure.
    pub code: Option<String>,
    pub started: Timestamp,
    pub ended: Option<Timestamp>,
}

impl Snapshot {
    pub fn alive(&self) -> impl Iterator<Item = &PoolRecord> {
        self.pools.iter().filter(|pool| pool.deleted.is_none())
    }

    /// The living pool of that name.
    pub fn pool(&self, name: &str) -> Option<&PoolRecord> {
        self.alive().find(|pool| pool.name == name)
    }

    pub(super) fn of(state: &State) -> Snapshot {
        let mut operations: Vec<OperationRecord> = state
            .operations
            .values()
            .map(|operation| {
                let (status, error) = match &operation.status {
                    OperationStatus::InProgress => ("InProgress", None),
                    OperationStatus::Succeeded => ("Succeeded", None),
                    OperationStatus::Failed(error) => ("Failed", Some(error)),
                    OperationStatus::Canceled(error) => ("Canceled", Some(error)),
                };
                OperationRecord {
                    id: operation.id.clone(),
                    pool: operation.pool.clone(),
                    deletes: operation.deletes,
                    status,
                    code: error.and_then(|error| error["code"].as_str()).map(String::from),
                    started: operation.started,
                    ended: operation.ended,
                }
            })
            .collect();
        operations.sort_by(|one, other| (one.started, &one.id).cmp(&(other.started, &other.id)));
        Snapshot { pools: state.pools.values().chain(&state.former).map(pool).collect(), operations }
    }
}

fn pool(pool: &Pool) -> PoolRecord {
    let machine = |one: &Instance| MachineRecord {
        node: one.node.clone(),
        zone: one.zone.clone(),
        allocated: one.allocated,
        joined: one.joined,
        gone: one.gone,
        deallocated: one.deallocated,
    };
    PoolRecord {
        name: pool.name.clone(),
        size: pool.size.name.to_owned(),
        spot: pool.spot(),
        system: pool.properties.is_system(),
        provisioning: pool.provisioning,
        etag: pool.etag.clone(),
        labels: pool.properties.node_labels.clone().unwrap_or_default(),
        taints: pool.properties.node_taints.clone().unwrap_or_default(),
        tags: pool.properties.tags.clone().unwrap_or_default(),
        created: pool.created,
        deleted: pool.deleted,
        machines: pool.instances.iter().map(machine).collect(),
    }
}
