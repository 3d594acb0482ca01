//! Two shapes from the world of MAAS: the webhook server maaspower, and the API of MAAS itself.

use super::{
    BackEnd, Power, State,
    answer::{Answer, authorization, basic_challenge, empty, is_basic, json_answer, text_answer},
    machine::Machine,
    records::{Effect, Verb},
};
use bytes::Bytes;
use http::{Method, Request, StatusCode};
use serde_json::{Value, json};

impl Power {
    /// maaspower: empty 200 for commands, a line of text for the state, 500 for what it does not know.
    pub(super) fn maaspower(&self, request: &Request<Bytes>, device: &str, path: &str) -> Answer {
        let verb = match path {
            "on" => Some(Verb::On),
            "off" => Some(Verb::Off),
            "query" => Some(Verb::Status),
            "cycle" => Some(Verb::Restart),
            _ => None,
        };
        let (effect, answer) = self.maaspower_answer(request, device, verb);
        self.keep(request, BackEnd::MaasPower, device, verb.unwrap_or(Verb::Status), effect, answer)
    }

    fn maaspower_answer(&self, request: &Request<Bytes>, device: &str, verb: Option<Verb>) -> (Effect, Answer) {
        let mut state = self.state();
        if !account_accepts(&state, request) {
            return (Effect::Refused, basic_challenge(text_answer(StatusCode::UNAUTHORIZED, "Unauthorized")));
        }
        let known = machine_of(&state, device, BackEnd::MaasPower);
        let (Some(machine), Some(verb)) = (known, verb) else {
            return (Effect::Refused, text_answer(StatusCode::INTERNAL_SERVER_ERROR, "Internal Server Error"));
        };
        if let Some(answer) = fault_of(machine) {
            return (Effect::Refused, answer);
        }
        if verb == Verb::Status {
            let line = if machine.on { "status : running" } else { "status : stopped" };
            return (Effect::Read, text_answer(StatusCode::OK, line));
        }
        if request.method() != Method::POST {
            return (Effect::Refused, text_answer(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed"));
        }
        (self.command(&mut state, device, verb), empty(StatusCode::OK))
    }

    /// `/machines/{id}/op-power_on`, or `/machines/{id}/?op=power_on`, which is how MAAS writes it.
    pub(super) fn maas(&self, request: &Request<Bytes>, path: &[&str]) -> Answer {
        let query = request.uri().query().unwrap_or_default();
        let from_query = query.split('&').find_map(|pair| pair.strip_prefix("op="));
        match path {
            [] if request.method() == Method::GET => self.maas_list(request),
            [id] => self.maas_machine(request, id, from_query.unwrap_or_default()),
            [id, operation] => match operation.strip_prefix("op-") {
                Some(operation) => self.maas_machine(request, id, operation),
                None => text_answer(StatusCode::NOT_FOUND, "Not Found"),
            },
            _ => text_answer(StatusCode::NOT_FOUND, "Not Found"),
        }
    }

    fn maas_list(&self, request: &Request<Bytes>) -> Answer {
        let state = self.state();
        if !maas_accepts(&state, request) {
            return text_answer(StatusCode::UNAUTHORIZED, "Authorization Error: Invalid API key.");
        }
        let of_maas = state.machines.values().filter(|machine| machine.options.back_end == BackEnd::Maas);
        json_answer(StatusCode::OK, &Value::Array(of_maas.map(machine_json).collect()))
    }

    fn maas_machine(&self, request: &Request<Bytes>, id: &str, operation: &str) -> Answer {
        let soft = String::from_utf8_lossy(request.body()).contains("soft");
        let (method, verb) = match operation {
            "power_on" => (Method::POST, Verb::On),
            "power_off" => (Method::POST, if soft { Verb::SoftOff } else { Verb::Off }),
            "query_power_state" | "" => (Method::GET, Verb::Status),
            _ => return text_answer(StatusCode::BAD_REQUEST, "Unrecognised signature"),
        };
        let (effect, answer) = self.maas_answer(request, id, operation, &method, verb);
        self.keep(request, BackEnd::Maas, id, verb, effect, answer)
    }

    fn maas_answer(
        &self,
        request: &Request<Bytes>,
        id: &str,
        operation: &str,
        method: &Method,
        verb: Verb,
    ) -> (Effect, Answer) {
        let refuse = |status, text: &str| (Effect::Refused, text_answer(status, text));
        let mut state = self.state();
        if !maas_accepts(&state, request) {
            return refuse(StatusCode::UNAUTHORIZED, "Authorization Error: Invalid API key.");
        }
        let Some(machine) = machine_of(&state, id, BackEnd::Maas) else {
            return refuse(StatusCode::NOT_FOUND, "No Machine matches the given query.");
        };
        if let Some(answer) = fault_of(machine) {
            return (Effect::Refused, answer);
        }
        if request.method() != method {
            return refuse(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed");
        }
        if operation == "query_power_state" {
            let power = if machine.on { "on" } else { "off" };
            return (Effect::Read, json_answer(StatusCode::OK, &json!({"state": power})));
        }
        let effect = self.command(&mut state, id, verb);
        let body = state.machines.get(id).map(machine_json).unwrap_or_default();
        (effect, json_answer(StatusCode::OK, &body))
    }
}

pub(super) fn account_accepts(state: &State, request: &Request<Bytes>) -> bool {
    state.options.account.as_ref().is_none_or(|(user, password)| is_basic(request, user, password))
}

pub(super) fn machine_of<'a>(state: &'a State, name: &str, back_end: BackEnd) -> Option<&'a Machine> {
    state.machines.get(name).filter(|machine| machine.options.back_end == back_end)
}

fn fault_of(machine: &Machine) -> Option<Answer> {
    let status = machine.options.faults.answers.and_then(|status| StatusCode::from_u16(status).ok())?;
    Some(text_answer(status, "the machine's controller does not answer"))
}

/// OAuth 1 with PLAINTEXT: the signature is `&` and the token's secret.
fn maas_accepts(state: &State, request: &Request<Bytes>) -> bool {
    let Some(key) = &state.options.maas_key else { return true };
    let [consumer, token, secret] = key.split(':').collect::<Vec<_>>()[..] else { return false };
    let header = authorization(request);
    let field = |name: &str| {
        let mut fields = header.trim_start_matches("OAuth ").split(',').filter_map(|pair| pair.trim().split_once('='));
        fields.find(|(key, _)| *key == name).map(|(_, value)| value.trim_matches('"'))
    };
    header.starts_with("OAuth ")
        && field("oauth_signature_method") == Some("PLAINTEXT")
        && field("oauth_consumer_key") == Some(consumer)
        && field("oauth_token") == Some(token)
        && [format!("%26{secret}"), format!("&{secret}")]
            .iter()
            .any(|expected| field("oauth_signature") == Some(expected))
}

fn machine_json(machine: &Machine) -> Value {
    let name = &machine.options.name;
    json!({"system_id": name, "hostname": name, "fqdn": format!("{name}.maas"), "architecture": "amd64/generic",
           "power_state": if machine.on { "on" } else { "off" }, "power_type": "webhook", "status_name": "Deployed",
           "resource_uri": format!("/MAAS/api/2.0/machines/{name}/")})
}
