//! Agent pools over HTTP: PUT, GET, LIST, DELETE, with conditions and one operation at a time.

use super::{
    Core,
    answer::{Answer, Refusal, empty, reply},
    checks,
    compute::page,
    life, operations,
    options::DeleteWhenBusy,
    plan::{self, Order, Plan},
    properties::Properties,
    request::Call,
    shapes::pool_json,
    state::{OperationStatus, Pool, Provisioning, State},
    versions,
};
use bytes::Bytes;
use http::{Response, StatusCode};
use serde_json::{Map, Value, json};
use std::sync::Arc;

pub(super) fn get(state: &State, name: &str, call: &Call) -> Answer {
    let pool = state.pools.get(name).ok_or_else(|| missing(name))?;
    Ok(reply(StatusCode::OK, &pool_json(pool, state, call)))
}

pub(super) fn list(state: &State, call: &Call) -> Answer {
    let pools: Vec<Value> = state.pools.values().map(|pool| pool_json(pool, state, call)).collect();
    Ok(reply(StatusCode::OK, &page(call, &pools, state.options.limits.page)))
}

pub(super) fn put(core: &Arc<Core>, state: &mut State, name: &str, call: &Call) -> Answer {
    checks::pool_name(name)?;
    let members = Properties::members(&call.body)?;
    check_conditions(state, name, call)?;
    check_idle(state, name, false)?;
    match state.pools.get(name) {
        None => create(core, state, name, members, call),
        Some(_) => update(core, state, name, members, call),
    }
}

fn create(core: &Arc<Core>, state: &mut State, name: &str, members: Map<String, Value>, call: &Call) -> Answer {
    let (properties, size) = Properties::create(members, &state.options)?;
    if state.pools.len() >= state.options.limits.pools {
        let message =
            format!("The cluster already has the maximum number of agent pools: {}.", state.options.limits.pools);
        return Err(Refusal::bad("MaxAgentPoolCountReached", message));
    }
    let now = core.clock.now();
    let serial = state.pools_made;
    let chance = core.chance.stream(&format!("pool/{name}/{serial}"));
    let zones = (0..u64::from(properties.count.unwrap_or(1))).map(|number| properties.zone_of(number)).collect();
    let order = Order { pool: name, size, spot: properties.is_spot(), zones, now };
    let shortest = state.options.timings.update;
    let plan = order.plan(state, &chance, shortest)?;
    state.pools_made += 1;
    let pool = Pool {
        serial,
        name: name.to_owned(),
        properties,
        size,
        provisioning: Provisioning::Creating,
        etag: chance.uuid(),
        scale_set: scale_set(core, name),
        instances: Vec::new(),
        next_instance: 0,
        operation: None,
        relabelled: false,
        created: now,
        deleted: None,
    };
    state.pools.insert(name.to_owned(), pool);
    accepted(core, state, name, plan, StatusCode::CREATED, call)
}

fn update(core: &Arc<Core>, state: &mut State, name: &str, members: Map<String, Value>, call: &Call) -> Answer {
    let pool = state.pools.get(name).ok_or_else(|| missing(name))?;
    let properties = pool.properties.update(members, pool.size, &state.options)?;
    let now = core.clock.now();
    let wanted = u64::from(properties.count.unwrap_or(1));
    let alive = pool.alive().count() as u64;
    let first = pool.next_instance;
    let zones = (first..first + wanted.saturating_sub(alive)).map(|number| properties.zone_of(number)).collect();
    let order = Order { pool: name, size: pool.size, spot: pool.spot(), zones, now };
    let chance = core.chance.stream(&format!("pool/{name}/{}/{}", pool.serial, pool.etag));
    let shortest = state.options.timings.update;
    let plan = order.plan(state, &chance, shortest)?;
    if let Some(pool) = state.pools.get_mut(name) {
        let same = pool.properties.node_labels == properties.node_labels
            && pool.properties.node_taints == properties.node_taints;
        pool.relabelled |= !same;
        pool.properties = properties;
        pool.etag = chance.uuid();
        pool.provisioning = if wanted == alive { Provisioning::Updating } else { Provisioning::Scaling };
    }
    accepted(core, state, name, plan, StatusCode::OK, call)
}

fn accepted(core: &Arc<Core>, state: &mut State, name: &str, plan: Plan, status: StatusCode, call: &Call) -> Answer {
    let operation = operations::start(core, state, name, false);
    life::carry_out(core, state, name, &operation, plan);
    let pool = state.pools.get(name).ok_or_else(|| missing(name))?;
    let mut response = reply(status, &pool_json(pool, state, call));
    operations::announce(&mut response, state, &operation, call);
    Ok(response)
}

pub(super) fn delete(core: &Arc<Core>, state: &mut State, name: &str, call: &Call) -> Answer {
    let Some(pool) = state.pools.get(name) else { return Ok(empty(StatusCode::NO_CONTENT)) };
    let system = pool.properties.is_system();
    check_conditions(state, name, call)?;
    if pool.provisioning == Provisioning::Deleting {
        // A second DELETE joins the first.
        let running = pool.operation.clone().unwrap_or_default();
        return Ok(deleting(state, &running, call));
    }
    if system && state.pools.values().filter(|pool| pool.properties.is_system()).count() == 1 {
        let message = "There has to be at least one system agent pool.";
        return Err(Refusal::bad("OperationNotAllowed", message));
    }
    check_idle(state, name, true)?;
    let interrupted = state.pools.get(name).and_then(|pool| pool.operation.clone());
    let operation = operations::start(core, state, name, true);
    if let Some(interrupted) = interrupted {
        let message = format!("The operation was overriden and canceled by a later operation {operation}.");
        let error = json!({"code": "Canceled", "message": message});
        state.end_operation(&interrupted, OperationStatus::Canceled(error), core.clock.now());
    }
    if let Some(pool) = state.pools.get_mut(name) {
        pool.provisioning = Provisioning::Deleting;
        pool.etag = core.chance.stream(&operation).uuid();
    }
    let deletion = plan::deletion(state, name, core.clock.now());
    life::take_down(core, state, name, &operation, deletion);
    Ok(deleting(state, &operation, call))
}

fn deleting(state: &State, operation: &str, call: &Call) -> Response<Bytes> {
    let mut response = empty(StatusCode::ACCEPTED);
    operations::announce(&mut response, state, operation, call);
    response
}

/// `If-Match` and `If-None-Match`. API versions before 2024-09-01 do not know them and ignore them.
fn check_conditions(state: &State, name: &str, call: &Call) -> Result<(), Refusal> {
    if !versions::has_etags(call) {
        return Ok(());
    }
    let pool = state.pools.get(name);
    let header = |name| call.header(name).map(|value| value.trim().trim_matches('"')).filter(|value| !value.is_empty());
    let matches = match (header("if-match"), pool) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(wanted), Some(pool)) => wanted == "*" || wanted == pool.etag,
    };
    let absent = header("if-none-match").is_none() || pool.is_none();
    if matches && absent {
        return Ok(());
    }
    let message =
        format!("The condition of the request on agent pool '{name}' is not met: its eTag is not the expected one.");
    Err(Refusal::aks(StatusCode::PRECONDITION_FAILED, "PreconditionFailed", message))
}

/// One operation at a time in a pool, and as many in the cluster as the limits say.
fn check_idle(state: &State, name: &str, deletes: bool) -> Result<(), Refusal> {
    let conflict = |message: String| Err(Refusal::aks(StatusCode::CONFLICT, "OperationNotAllowed", message));
    let more = "please wait for it to finish before starting a new operation. See https://aka.ms/aks-pending-operation for more details";
    if let Some((_, pool)) = state.running().find(|(_, pool)| pool.name == name) {
        return match pool.provisioning {
            _ if deletes && state.options.delete_when_busy == DeleteWhenBusy::Preempts => Ok(()),
            Provisioning::Creating => conflict(format!(
                "Operation is not allowed because there's an in progress create node pool operation on {name}, {more}"
            )),
            other => conflict(format!(
                "Operation is not allowed: Another operation ({name} - {}) is in progress, {more}",
                other.word()
            )),
        };
    }
    let mut running = state.running();
    match running.next() {
        Some((_, pool)) if 1 + running.count() >= state.options.limits.operations => conflict(format!(
            "Operation is not allowed: Another agentpool operation ({} - {}) is in progress, {more}",
            pool.name,
            pool.provisioning.word()
        )),
        _ => Ok(()),
    }
}

fn missing(name: &str) -> Refusal {
    Refusal::aks(StatusCode::NOT_FOUND, "NotFound", format!("Agent Pool not found: {name}."))
}

/// The same name gives the same scale set, so that a pool made again brings back old node names and provider IDs.
fn scale_set(core: &Core, name: &str) -> String {
    let number = core.chance.stream(&format!("scale-set/{name}")).below(90_000_000) + 10_000_000;
    format!("aks-{name}-{number}-vmss")
}

/// The pool every AKS cluster has before anyone asks; its nodes have joined long ago.
pub(super) fn begin(core: &Arc<Core>) {
    let mut state = core.lock();
    let Some(wanted) = state.options.system_pool.clone() else { return };
    let members = json!({"vmSize": wanted.size, "count": wanted.count, "mode": "System"});
    let Value::Object(members) = members else { return };
    let Ok((properties, size)) = Properties::create(members, &state.options) else { return };
    let name = wanted.name;
    let chance = core.chance.stream(&format!("pool/{name}/beginning"));
    let pool = Pool {
        serial: state.pools_made,
        name: name.clone(),
        properties,
        size,
        provisioning: Provisioning::Succeeded,
        etag: chance.uuid(),
        scale_set: scale_set(core, &name),
        instances: Vec::new(),
        next_instance: 0,
        operation: None,
        relabelled: false,
        created: core.clock.now(),
        deleted: None,
    };
    state.pools_made += 1;
    state.pools.insert(name.clone(), pool);
    drop(state);
    life::begin(core, &name, wanted.count);
}
