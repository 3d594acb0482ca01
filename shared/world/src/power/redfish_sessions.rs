//! Redfish sessions: a BMC allows few of them, so a client that does not delete its own is soon locked out.

use super::{
    Power,
    answer::{Answer, empty, json_answer, set_header},
    maas::account_accepts,
    redfish::error,
};
use bytes::Bytes;
use http::{Method, Request, StatusCode};
use serde_json::{Value, json};

const PATH: &str = "/redfish/v1/SessionService";

impl Power {
    /// By account in every request, or by the token of a session.
    pub(super) fn redfish_accepts(&self, request: &Request<Bytes>) -> bool {
        let token = request.headers().get("x-auth-token").and_then(|value| value.to_str().ok());
        let state = self.state();
        match token {
            Some(token) => state.sessions.values().any(|known| known == token),
            None => account_accepts(&state, request),
        }
    }

    pub(super) fn create_session(&self, request: &Request<Bytes>) -> Answer {
        let body: Value = serde_json::from_slice(request.body()).unwrap_or_default();
        let sent = (body.get("UserName").and_then(Value::as_str), body.get("Password").and_then(Value::as_str));
        let mut state = self.state();
        let Some(most) = state.options.redfish.sessions else {
            return error(StatusCode::NOT_FOUND, "Resource not found");
        };
        let account = state.options.account.as_ref();
        if account.is_some_and(|(user, password)| sent != (Some(user), Some(password))) {
            return error(StatusCode::UNAUTHORIZED, "Authorization failed");
        }
        if state.sessions.len() >= most {
            return error(StatusCode::SERVICE_UNAVAILABLE, "The session limit is exceeded");
        }
        let (id, token) = (self.inner.ids.uuid(), self.inner.ids.uuid());
        let location = format!("{PATH}/Sessions/{id}");
        let body = json!({"@odata.id": location, "@odata.type": "#Session.v1_3_0.Session", "Id": id,
                          "Name": "User Session", "UserName": sent.0});
        let mut answer = json_answer(StatusCode::CREATED, &body);
        set_header(&mut answer, "location", &location);
        set_header(&mut answer, "x-auth-token", &token);
        state.sessions.insert(id, token);
        answer
    }

    pub(super) fn sessions(&self, request: &Request<Bytes>, path: &[&str]) -> Answer {
        let mut state = self.state();
        if state.options.redfish.sessions.is_none() {
            return error(StatusCode::NOT_FOUND, "Resource not found");
        }
        match path {
            [] => json_answer(
                StatusCode::OK,
                &json!({"@odata.id": PATH, "ServiceEnabled": true,
                "@odata.type": "#SessionService.v1_1_8.SessionService", "Id": "SessionService",
                "Sessions": {"@odata.id": format!("{PATH}/Sessions")}}),
            ),
            ["Sessions"] => {
                let members: Vec<Value> =
                    state.sessions.keys().map(|id| json!({"@odata.id": format!("{PATH}/Sessions/{id}")})).collect();
                json_answer(
                    StatusCode::OK,
                    &json!({"@odata.id": format!("{PATH}/Sessions"), "Members": members,
                    "Members@odata.count": state.sessions.len()}),
                )
            }
            ["Sessions", id] if request.method() == Method::DELETE => match state.sessions.remove(*id) {
                Some(_) => empty(StatusCode::NO_CONTENT),
                None => error(StatusCode::NOT_FOUND, "Session not found"),
            },
            _ => error(StatusCode::NOT_FOUND, "Resource not found"),
        }
    }
}
