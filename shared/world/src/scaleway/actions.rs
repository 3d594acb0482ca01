//! Actions on servers: which are allowed when, what stock says, and the task that is answered but never to be polled.

use super::{
    Scaleway,
    answer::{
        Outcome, Refusal, found, invalid_argument, invalid_request, json_answer, out_of_stock, precondition_failed,
        transient_state,
    },
    lifecycle::Boot,
    not_locked,
    options::ShortageManner,
    products::shortage,
    request::{Call, text},
    server_in,
    server_json::{allowed_actions, instance_date},
    state::{Server, ServerState, Transition},
};
use http::StatusCode;
use jiff::Timestamp;
use serde_json::json;

impl Scaleway {
    pub(super) fn list_actions(&self, call: &Call<'_>, id: &str) -> Outcome {
        let mut state = self.state();
        let server = server_in(&mut state, call.zone, id)?;
        found(&json!({"actions": allowed_actions(server)}))
    }

    pub(super) fn act(&self, call: &Call<'_>, id: &str) -> Outcome {
        let body = call.json()?;
        let action =
            text(&body, "action").ok_or_else(|| invalid_argument("action", "required", "action is required"))?;
        let transition = match action {
            "poweron" => Transition::Poweron,
            "poweroff" => Transition::Poweroff,
            "stop_in_place" => Transition::StopInPlace,
            "reboot" => Transition::Reboot,
            "terminate" => Transition::Terminate,
            "backup" | "enable_routed_ip" => return Err(invalid_request("the world does not make backups")),
            _ => return Err(invalid_argument("action", "constraint", "is not an action")),
        };
        let now = self.inner.clock.now();
        let mut state = self.state();
        let server = server_in(&mut state, call.zone, id)?;
        not_locked(server)?;
        may_act(server, action)?;
        // A stop that is under way is not changed by asking for one.
        if server.state == ServerState::Stopping {
            return accepted(id, call.zone, now);
        }
        let (type_name, from) = (server.commercial_type.clone(), server.state);
        // A server stopped in place still holds its slot.
        let manner = match (transition, from) {
            (Transition::Poweron, ServerState::Stopped) => shortage(&state, &type_name, call.zone, now),
            _ => None,
        };
        if matches!(manner, Some(ShortageManner::RefusesPoweron | ShortageManner::RefusesCreate)) {
            let status = StatusCode::from_u16(state.options.out_of_stock_status);
            return Err(out_of_stock(status.unwrap_or(StatusCode::SERVICE_UNAVAILABLE), &type_name));
        }
        match transition {
            Transition::Poweron => self.power_on(&mut state, id, Boot { from, shortage: manner }, now),
            Transition::Poweroff => self.power_off(&mut state, id, now),
            Transition::StopInPlace => self.stop_in_place(&mut state, id, now),
            Transition::Reboot => self.reboot(&mut state, id, now),
            Transition::Terminate => self.terminate(&mut state, id, now),
        }
        accepted(id, call.zone, now)
    }
}

fn may_act(server: &Server, action: &str) -> Result<(), Refusal> {
    if server.protected && server.state == ServerState::Running && action != "poweron" {
        return Err(precondition_failed(StatusCode::PRECONDITION_FAILED, "unknown", "the server is protected"));
    }
    if allowed_actions(server).contains(&action) {
        return Ok(());
    }
    match server.state {
        ServerState::Starting | ServerState::Stopping => {
            Err(transient_state("instance_server", &server.id, server.state.name()))
        }
        ServerState::Running => Err(invalid_request("server should be stopped")),
        _ => Err(invalid_request("server should be running")),
    }
}

/// Since 2026 the task is a stand-in: no ID, no Location, nothing to poll.
fn accepted(id: &str, zone: &str, now: Timestamp) -> Outcome {
    let task = json!({"task": {
        "id": "00000000-0000-0000-0000-000000000000", "description": "fake task", "status": "pending", "progress": 0,
        "href_from": format!("/servers/{id}/action"), "href_result": format!("/servers/{id}"),
        "started_at": instance_date(now), "terminated_at": null, "zone": zone,
    }});
    Ok(json_answer(StatusCode::ACCEPTED, &task))
}
