//! A Redfish service: systems, their power state and their reset action, as sushy-emulator answers, with the places
//! where vendors differ as options.

use super::{
    BackEnd, Power, State,
    answer::{Answer, empty, json_answer, set_header},
    machine::Machine,
    options::WhileSettling,
    records::{Effect, Verb},
};
use bytes::Bytes;
use http::{Method, Request, StatusCode, header};
use serde_json::{Map, Value, json};

impl Power {
    pub(super) fn redfish(&self, request: &Request<Bytes>, path: &[&str]) -> Answer {
        let mut answer = self.redfish_answer(request, path);
        set_header(&mut answer, "odata-version", "4.0");
        answer
    }

    fn redfish_answer(&self, request: &Request<Bytes>, path: &[&str]) -> Answer {
        let method = request.method();
        match path {
            // The root is open; so is making a session.
            [] => return json_answer(StatusCode::OK, &json!({"v1": "/redfish/v1/"})),
            ["v1"] => return self.service_root(),
            ["v1", "SessionService", "Sessions"] if method == Method::POST => return self.create_session(request),
            _ => {}
        }
        if !self.redfish_accepts(request) {
            return super::answer::basic_challenge(error(StatusCode::UNAUTHORIZED, "Authorization failed"));
        }
        match path {
            ["v1", "Systems"] => self.systems(),
            ["v1", "Systems", id] => self.system(request, id),
            ["v1", "Systems", id, "Actions", "ComputerSystem.Reset"] => self.reset(request, id),
            ["v1", "Systems", id, "ResetActionInfo"] => self.action_info(id),
            ["v1", "Chassis", id, "Power"] => self.chassis_power(id),
            ["v1", "TaskService", "Tasks", id] => self.task(id),
            ["v1", "SessionService", rest @ ..] => self.sessions(request, rest),
            _ => error(StatusCode::NOT_FOUND, "Resource not found"),
        }
    }

    fn service_root(&self) -> Answer {
        let mut root = json!({"@odata.id": "/redfish/v1/", "@odata.type": "#ServiceRoot.v1_5_0.ServiceRoot",
            "Id": "RedvirtService", "Name": "Redfish Service", "RedfishVersion": "1.5.0",
            "UUID": self.inner.chance.stream("service").uuid(), "Systems": {"@odata.id": "/redfish/v1/Systems"}});
        if let (Value::Object(fields), Some(_)) = (&mut root, self.state().options.redfish.sessions) {
            let service = "/redfish/v1/SessionService";
            fields.insert("SessionService".to_owned(), json!({"@odata.id": service}));
            fields.insert("Links".to_owned(), json!({"Sessions": {"@odata.id": format!("{service}/Sessions")}}));
        }
        json_answer(StatusCode::OK, &root)
    }

    fn systems(&self) -> Answer {
        let state = self.state();
        let members: Vec<Value> = state
            .machines
            .values()
            .filter(|machine| machine.options.back_end == BackEnd::Redfish)
            .map(|machine| json!({"@odata.id": format!("/redfish/v1/Systems/{}", machine.uuid)}))
            .collect();
        json_answer(
            StatusCode::OK,
            &json!({"@odata.id": "/redfish/v1/Systems", "Name": "Computer System Collection",
            "@odata.type": "#ComputerSystemCollection.ComputerSystemCollection",
            "Members@odata.count": members.len(), "Members": members}),
        )
    }

    fn system(&self, request: &Request<Bytes>, id: &str) -> Answer {
        let mut state = self.state();
        let name = match find(&state, id, "") {
            Ok(name) => name,
            Err(answer) => return *answer,
        };
        let answer = match *request.method() {
            Method::GET => system_answer(&state, &name, request),
            Method::PATCH => patch(&mut state, &name, request),
            _ => error(StatusCode::METHOD_NOT_ALLOWED, "Method not allowed"),
        };
        drop(state);
        let effect = if answer.status().is_client_error() { Effect::Refused } else { Effect::Read };
        self.keep(request, BackEnd::Redfish, &name, Verb::Status, effect, answer)
    }

    fn reset(&self, request: &Request<Bytes>, id: &str) -> Answer {
        let mut state = self.state();
        let name = match find(&state, id, "/Actions/ComputerSystem.Reset") {
            Ok(name) => name,
            Err(answer) => return *answer,
        };
        let kind = match reset_type(request) {
            Ok(kind) => kind,
            Err(answer) => return *answer,
        };
        let verb = match kind.as_str() {
            "On" | "ForceOn" => Verb::On,
            "ForceOff" => Verb::Off,
            "GracefulShutdown" => Verb::SoftOff,
            "GracefulRestart" | "ForceRestart" => Verb::Restart,
            // Nmi too, though it is advertised.
            _ => return error(StatusCode::NOT_IMPLEMENTED, "The requested power state is not supported"),
        };
        let (effect, answer) = self.reset_answer(&mut state, &name, verb);
        drop(state);
        self.keep(request, BackEnd::Redfish, &name, verb, effect, answer)
    }

    fn reset_answer(&self, state: &mut State, name: &str, verb: Verb) -> (Effect, Answer) {
        let manner = state.options.redfish.clone();
        let Some(machine) = state.machines.get(name) else {
            return (Effect::Refused, error(StatusCode::NOT_FOUND, "System not found"));
        };
        if let Some(status) = machine.options.faults.answers.and_then(|status| StatusCode::from_u16(status).ok()) {
            return (Effect::Refused, error(status, "The service cannot reach the system"));
        }
        if machine.pending.is_some() {
            match manner.while_settling {
                WhileSettling::Accepts => {}
                WhileSettling::Conflicts => {
                    return (Effect::Refused, error(StatusCode::CONFLICT, "A power operation is in progress"));
                }
                WhileSettling::Busy => {
                    let mut answer = error(StatusCode::SERVICE_UNAVAILABLE, "The service is busy");
                    set_header(&mut answer, "retry-after", "5");
                    return (Effect::Refused, answer);
                }
            }
        }
        let effect = self.command(state, name, verb);
        let status = if effect == Effect::AlreadySo { manner.already_so } else { manner.accepted };
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::NO_CONTENT);
        if status.is_client_error() {
            return (effect, error(status, "The system is already in the requested state"));
        }
        if status != StatusCode::ACCEPTED {
            return (effect, empty(status));
        }
        let task = self.inner.ids.below(1_000_000).to_string();
        let location = format!("/redfish/v1/TaskService/Tasks/{task}");
        let mut answer = json_answer(status, &json!({"@odata.id": location, "Id": task, "TaskState": "Running"}));
        set_header(&mut answer, "location", &location);
        state.tasks.insert(task, name.to_owned());
        (effect, answer)
    }

    fn action_info(&self, id: &str) -> Answer {
        let state = self.state();
        match find(&state, id, "/ResetActionInfo") {
            Ok(_) => json_answer(
                StatusCode::OK,
                &json!({"@odata.type": "#ActionInfo.v1_1_2.ActionInfo",
                "@odata.id": format!("/redfish/v1/Systems/{id}/ResetActionInfo"), "Id": "ResetActionInfo",
                "Parameters": [{"Name": "ResetType", "Required": true, "DataType": "String",
                                "AllowableValues": state.options.redfish.allowable}]}),
            ),
            Err(answer) => *answer,
        }
    }

    fn chassis_power(&self, id: &str) -> Answer {
        let state = self.state();
        match find(&state, id, "/Power").ok().and_then(|name| state.machines.get(&name)) {
            Some(machine) => json_answer(
                StatusCode::OK,
                &json!({"@odata.type": "#Power.v1_5_0.Power", "Id": "Power",
                "@odata.id": format!("/redfish/v1/Chassis/{id}/Power"),
                "PowerControl": [{"MemberId": "0", "PowerConsumedWatts": machine.watts()}]}),
            ),
            None => error(StatusCode::NOT_FOUND, "Chassis not found"),
        }
    }

    fn task(&self, id: &str) -> Answer {
        let state = self.state();
        let Some(machine) = state.tasks.get(id).and_then(|name| state.machines.get(name)) else {
            return error(StatusCode::NOT_FOUND, "Task not found");
        };
        let (task, status) = if machine.pending.is_some() { ("Running", 202) } else { ("Completed", 200) };
        let body = json!({"@odata.id": format!("/redfish/v1/TaskService/Tasks/{id}"), "Id": id, "TaskState": task});
        json_answer(StatusCode::from_u16(status).unwrap_or(StatusCode::OK), &body)
    }
}

pub(super) fn error(status: StatusCode, message: &str) -> Answer {
    json_answer(
        status,
        &json!({"error": {"code": "Base.1.0.GeneralError", "message": message,
        "@Message.ExtendedInfo": [{"@odata.type": "/redfish/v1/$metadata#Message.1.0.0.Message",
                                   "MessageId": "Base.1.0.GeneralError", "Message": message}]}}),
    )
}

/// The machine of a system ID. Its name redirects to the ID; the caller has to send everything again.
fn find(state: &State, id: &str, rest: &str) -> Result<String, Box<Answer>> {
    let mut machines = state.machines.values().filter(|machine| machine.options.back_end == BackEnd::Redfish);
    match machines.find(|machine| machine.uuid == id || machine.options.name == id) {
        Some(machine) if machine.uuid == id => Ok(machine.options.name.clone()),
        Some(machine) => {
            let mut answer = empty(StatusCode::TEMPORARY_REDIRECT);
            set_header(&mut answer, "location", &format!("/redfish/v1/Systems/{}{rest}", machine.uuid));
            Err(Box::new(answer))
        }
        None => Err(Box::new(error(StatusCode::NOT_FOUND, "System not found"))),
    }
}

fn reset_type(request: &Request<Bytes>) -> Result<String, Box<Answer>> {
    let refuse = |status, message| Err(Box::new(error(status, message)));
    if request.method() != Method::POST {
        return refuse(StatusCode::METHOD_NOT_ALLOWED, "Method not allowed");
    }
    let content_type = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    if !content_type.is_some_and(|kind| kind.starts_with("application/json")) {
        return refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, "The body must be JSON");
    }
    let Ok(body) = serde_json::from_slice::<Map<String, Value>>(request.body()) else {
        return refuse(StatusCode::BAD_REQUEST, "The body is not a JSON object");
    };
    match body.get("ResetType").and_then(Value::as_str) {
        Some(kind) => Ok(kind.to_owned()),
        None => refuse(StatusCode::INTERNAL_SERVER_ERROR, "ResetType is missing"),
    }
}

fn etag(machine: &Machine) -> String {
    format!("W/\"{}\"", machine.power_changes + machine.patches)
}

fn system_answer(state: &State, name: &str, request: &Request<Bytes>) -> Answer {
    let Some(machine) = state.machines.get(name) else { return error(StatusCode::NOT_FOUND, "System not found") };
    if let Some(status) = machine.options.faults.answers.and_then(|status| StatusCode::from_u16(status).ok()) {
        return error(status, "The service cannot reach the system");
    }
    let tag = etag(machine);
    let known = request.headers().get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok());
    let mut answer = match known == Some(tag.as_str()) {
        true => empty(StatusCode::NOT_MODIFIED),
        false => json_answer(StatusCode::OK, &system_json(state, machine)),
    };
    set_header(&mut answer, "etag", &tag);
    answer
}

fn system_json(state: &State, machine: &Machine) -> Value {
    let manner = &state.options.redfish;
    let power = match machine.pending {
        Some((true, _)) if manner.shows_transitions => "PoweringOn",
        Some((false, _)) if manner.shows_transitions => "PoweringOff",
        _ => {
            if machine.on {
                "On"
            } else {
                "Off"
            }
        }
    };
    let path = format!("/redfish/v1/Systems/{}", machine.uuid);
    let mut action = json!({"target": format!("{path}/Actions/ComputerSystem.Reset")});
    if let Value::Object(fields) = &mut action {
        if manner.action_info {
            fields.insert("@Redfish.ActionInfo".to_owned(), json!(format!("{path}/ResetActionInfo")));
        } else {
            fields.insert("ResetType@Redfish.AllowableValues".to_owned(), json!(manner.allowable));
        }
    }
    json!({"@odata.id": path, "@odata.type": "#ComputerSystem.v1_13_0.ComputerSystem", "@odata.etag": etag(machine),
        "Id": machine.uuid, "Name": machine.options.name, "UUID": machine.uuid, "Manufacturer": "world",
        "PowerState": power, "Status": {"State": "Enabled", "Health": "OK", "HealthRollUp": "OK"},
        "Boot": {"BootSourceOverrideEnabled": "Continuous", "BootSourceOverrideTarget": machine.boot_target,
                 "BootSourceOverrideTarget@Redfish.AllowableValues": ["Pxe", "Cd", "Hdd"]},
        "Links": {"Chassis": [{"@odata.id": format!("/redfish/v1/Chassis/{}", machine.uuid)}]},
        "Actions": {"#ComputerSystem.Reset": action}})
}

/// Only the boot target can be patched, and only over what the caller has seen if it says what that was.
fn patch(state: &mut State, name: &str, request: &Request<Bytes>) -> Answer {
    let Some(machine) = state.machines.get_mut(name) else { return error(StatusCode::NOT_FOUND, "System not found") };
    let seen = request.headers().get(header::IF_MATCH).and_then(|value| value.to_str().ok());
    if seen.is_some_and(|seen| seen != "*" && seen != etag(machine)) {
        return error(StatusCode::PRECONDITION_FAILED, "The resource has changed");
    }
    let body: Value = serde_json::from_slice(request.body()).unwrap_or_default();
    let target = body.pointer("/Boot/BootSourceOverrideTarget").and_then(Value::as_str);
    let Some(target) = target else { return error(StatusCode::BAD_REQUEST, "Missing the Boot section") };
    machine.boot_target = target.to_owned();
    machine.patches += 1;
    empty(StatusCode::NO_CONTENT)
}
