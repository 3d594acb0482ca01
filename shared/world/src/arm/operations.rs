//! Long-running operations: started by PUT and DELETE, read by anyone who has the address, for as long as the world runs.

use super::{
    Core,
    answer::{Answer, Refusal, empty, reply, set},
    request::Call,
    state::{Operation, OperationStatus, State},
};
use bytes::Bytes;
use http::{Response, StatusCode};
use serde_json::json;

pub(super) fn start(core: &Core, state: &mut State, pool: &str, deletes: bool) -> String {
    let id = core.chance.stream(&format!("operation/{}", state.operations.len())).uuid();
    let started = core.clock.now();
    let status = OperationStatus::InProgress;
    let operation = Operation { id: id.clone(), pool: pool.to_owned(), deletes, started, ended: None, status };
    state.operations.insert(id.clone(), operation);
    if let Some(pool) = state.pools.get_mut(pool) {
        pool.operation = Some(id.clone());
    }
    id
}

/// Tells the caller where to look.
pub(super) fn announce(response: &mut Response<Bytes>, state: &State, operation: &str, call: &Call) {
    let options = &state.options;
    let place = format!(
        "{}/subscriptions/{}/providers/Microsoft.ContainerService/locations/{}",
        call.base, options.subscription, options.location
    );
    set(response, "azure-asyncoperation", &format!("{place}/operations/{operation}?api-version=2016-03-30"));
    set(response, "location", &format!("{place}/operationresults/{operation}?api-version=2016-03-30"));
    poll_after(response, state);
}

fn poll_after(response: &mut Response<Bytes>, state: &State) {
    if let Some(after) = state.options.timings.poll_after {
        set(response, "retry-after", &after.as_secs().max(1).to_string());
    }
}

/// `GET …/operations/{id}`
pub(super) fn status(state: &State, id: &str) -> Answer {
    let operation = find(state, id)?;
    let mut body = json!({"name": operation.id, "startTime": operation.started.to_string()});
    body["status"] = json!(match &operation.status {
        OperationStatus::InProgress => "InProgress",
        OperationStatus::Succeeded => "Succeeded",
        OperationStatus::Failed(_) => "Failed",
        OperationStatus::Canceled(_) => "Canceled",
    });
    if let OperationStatus::Failed(error) | OperationStatus::Canceled(error) = &operation.status {
        body["error"] = error.clone();
    }
    if let Some(ended) = operation.ended {
        body["endTime"] = json!(ended.to_string());
    }
    let mut response = reply(StatusCode::OK, &body);
    if operation.status == OperationStatus::InProgress {
        poll_after(&mut response, state);
    }
    Ok(response)
}

/// `GET …/operationresults/{id}`: 202 while it runs, then what the request itself would have answered.
pub(super) fn result(state: &State, id: &str, call: &Call) -> Answer {
    let operation = find(state, id)?;
    match &operation.status {
        OperationStatus::InProgress => {
            let mut response = empty(StatusCode::ACCEPTED);
            announce(&mut response, state, id, call);
            Ok(response)
        }
        OperationStatus::Succeeded if operation.deletes => Ok(empty(StatusCode::NO_CONTENT)),
        OperationStatus::Succeeded => super::pools::get(state, &operation.pool, call),
        OperationStatus::Failed(error) | OperationStatus::Canceled(error) => {
            Ok(reply(StatusCode::OK, &json!({"status": "Failed", "error": error})))
        }
    }
}

fn find<'a>(state: &'a State, id: &str) -> Result<&'a Operation, Refusal> {
    let missing =
        || Refusal::arm(StatusCode::NOT_FOUND, "OperationNotFound", format!("Operation '{id}' was not found."));
    state.operations.get(&id.to_ascii_lowercase()).ok_or_else(missing)
}
