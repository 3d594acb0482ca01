//! One exchange with a back end: time-out, redirects on the same host, success codes.

use crate::{
    errors::Doing,
    machine::Template,
    request::{Occasion, render},
    transport::{Transport, TransportError},
    url_policy::UrlPolicy,
};
use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header::LOCATION};
use provider::ProviderError;
use url::Url;

/// sushy-emulator redirects once, from a name to an ID.
const MOST_REDIRECTS: u32 = 3;

/// The way out, with what guards it.
pub(crate) struct Caller<'a> {
    pub transport: &'a dyn Transport,
    pub policy: &'a UrlPolicy,
}

impl Caller<'_> {
    /// Sends what a template says and returns a good answer.
    pub async fn call(&self, template: &Template, occasion: &Occasion<'_>) -> Result<Response<Bytes>, ProviderError> {
        let doing = doing(template, occasion);
        let request = render(template, occasion).map_err(|why| doing.invalid(why))?;
        let answering = self.follow(template, request, &doing);
        let answer = match tokio::time::timeout(template.timeout, answering).await {
            Ok(answer) => answer?,
            Err(_) => {
                let why = format!("no answer within {} s", template.timeout.as_secs());
                return Err(doing.no_answer(TransportError::after(why)));
            }
        };
        let status = answer.status();
        let good = if template.success.is_empty() { status.is_success() } else { template.success.contains(&status) };
        if !good {
            return Err(doing.bad_status(status, answer.headers()));
        }
        match failure(template, answer.body()) {
            Some(why) => Err(doing.unavailable(why)),
            None => Ok(answer),
        }
    }

    /// A redirect is followed if it stays on the same host, so credentials never leave it, and if it keeps the method.
    async fn follow(
        &self,
        template: &Template,
        request: Request<Bytes>,
        doing: &Doing,
    ) -> Result<Response<Bytes>, ProviderError> {
        let mut url = template.url.clone();
        let mut sending = request;
        for _ in 0..=MOST_REDIRECTS {
            let again = sending.clone();
            let answer = self.transport.send(sending).await.map_err(|error| doing.no_answer(error))?;
            let keeps_method = match answer.status() {
                StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT => true,
                StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND => again.method() == Method::GET,
                _ => false,
            };
            if !keeps_method {
                return Ok(answer);
            }
            let location = answer.headers().get(LOCATION).and_then(|value| value.to_str().ok());
            let target = location.and_then(|location| url.join(location).ok());
            let Some(target) = target else { return Ok(answer) };
            self.policy
                .check_url(&target)
                .map_err(|refused| doing.invalid(format!("it redirects to a URL that is refused: {refused}")))?;
            if !same_origin(&url, &target) {
                return Err(doing.invalid("it redirects to another host, where our credentials do not go"));
            }
            sending = again;
            *sending.uri_mut() =
                target.as_str().parse().map_err(|_| doing.invalid("it redirects to what is no URL"))?;
            url = target;
        }
        Err(doing.invalid(format!("it redirects more than {MOST_REDIRECTS} times")))
    }
}

pub(crate) fn same_origin(one: &Url, other: &Url) -> bool {
    one.scheme() == other.scheme()
        && one.host() == other.host()
        && one.port_or_known_default() == other.port_or_known_default()
}

/// The host only: paths and queries of webhooks are often secrets.
pub(crate) fn doing(template: &Template, occasion: &Occasion<'_>) -> Doing {
    let host = template.url.host_str().unwrap_or_default();
    let what = format!("{} {} at {host}", occasion.action, occasion.machine.name);
    Doing { what, changes: occasion.request_id.is_some() }
}

fn failure(template: &Template, body: &Bytes) -> Option<String> {
    let pointer = template.failure_pointer.as_ref()?;
    let body: serde_json::Value = serde_json::from_slice(body).ok()?;
    let error = body.pointer(pointer).filter(|error| !error.is_null())?;
    let code = error.get("code").and_then(serde_json::Value::as_i64);
    Some(code.map_or_else(|| "it answered with an error".to_owned(), |code| format!("it answered with error {code}")))
}
