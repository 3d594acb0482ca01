//! User data: raw bytes under keys. The guest reads `cloud-init` at its first boot only.

use super::{
    Scaleway,
    answer::{Outcome, found, method_not_allowed, no_content, not_found},
    request::Call,
    server_in,
};
use bytes::Bytes;
use http::{HeaderValue, Method, Response, header::CONTENT_TYPE};
use serde_json::json;

impl Scaleway {
    pub(super) fn list_user_data(&self, call: &Call<'_>, id: &str) -> Outcome {
        let mut state = self.state();
        let server = server_in(&mut state, call.zone, id)?;
        found(&json!({"user_data": server.user_data.keys().collect::<Vec<_>>()}))
    }

    pub(super) fn user_data(&self, call: &Call<'_>, id: &str, key: &str) -> Outcome {
        let mut state = self.state();
        let server = server_in(&mut state, call.zone, id)?;
        match *call.method {
            Method::GET => {
                let data = server.user_data.get(key).ok_or_else(|| not_found("instance_user_data", key))?;
                let mut answer = Response::new(Bytes::from(data.clone()));
                answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
                Ok(answer)
            }
            // The documentation says PATCH; PUT is what older clients send.
            Method::PATCH | Method::PUT => {
                server.user_data.insert(key.to_owned(), call.body.to_vec());
                server.modified = self.inner.clock.now();
                no_content()
            }
            Method::DELETE => {
                server.user_data.remove(key).ok_or_else(|| not_found("instance_user_data", key))?;
                server.modified = self.inner.clock.now();
                no_content()
            }
            _ => Err(method_not_allowed()),
        }
    }
}
