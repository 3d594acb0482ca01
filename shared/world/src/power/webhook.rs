//! The webhook that k8s-gpu-autoprovision calls: a URL for up, a URL for down, `{}` as the body. A status URL is added.

use super::{
    BackEnd, Power,
    answer::{Answer, basic_challenge, json_answer, text_answer},
    options::Auth,
    records::{Effect, Verb},
};
use bytes::Bytes;
use http::{Method, Request, StatusCode};
use serde_json::json;

impl Power {
    pub(super) fn webhook(&self, request: &Request<Bytes>, machine: &str, path: &str) -> Answer {
        let verb = match path {
            "up" | "on" => Verb::On,
            "down" | "off" => Verb::Off,
            "soft-off" => Verb::SoftOff,
            "status" => Verb::Status,
            _ => return text_answer(StatusCode::NOT_FOUND, "Not Found"),
        };
        let (effect, answer) = self.webhook_answer(request, machine, verb);
        self.keep(request, BackEnd::Webhook, machine, verb, effect, answer)
    }

    fn webhook_answer(&self, request: &Request<Bytes>, name: &str, verb: Verb) -> (Effect, Answer) {
        let refuse = |status: StatusCode, text: &str| (Effect::Refused, text_answer(status, text));
        let mut state = self.state();
        if !state.options.webhook_auth.accepts(request) {
            let (effect, answer) = refuse(StatusCode::UNAUTHORIZED, "Unauthorized");
            let basic = matches!(state.options.webhook_auth, Auth::Basic { .. });
            return (effect, if basic { basic_challenge(answer) } else { answer });
        }
        let machine = state.machines.get(name).filter(|machine| machine.options.back_end == BackEnd::Webhook);
        let Some(machine) = machine else { return refuse(StatusCode::NOT_FOUND, "no such machine") };
        if let Some(status) = machine.options.faults.answers.and_then(|status| StatusCode::from_u16(status).ok()) {
            return refuse(status, "the machine's controller does not answer");
        }
        let method = if verb == Verb::Status { Method::GET } else { Method::POST };
        if request.method() != method {
            return refuse(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed");
        }
        if verb == Verb::Status {
            let power = if machine.on { "on" } else { "off" };
            let body = json!({"machine": name, "power": power, "ready": machine.joined, "watts": machine.watts()});
            return (Effect::Read, json_answer(StatusCode::OK, &body));
        }
        let effect = self.command(&mut state, name, verb);
        (effect, json_answer(StatusCode::OK, &json!({"machine": name, "accepted": true})))
    }
}
