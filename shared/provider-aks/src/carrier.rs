//! azure_identity's requests, carried by our transport: one client, one proxy and one set of trusted authorities for all.

use async_trait::async_trait;
use azure_core::{
    error::{Error, ErrorKind},
    http::{AsyncRawResponse, Body, HttpClient, Request, headers::Headers},
};
use core::fmt;
use std::sync::Arc;

use crate::{refusal::retry_after, tokens::TokenError, transport::Transport};

pub(crate) struct Carrier(pub Arc<dyn Transport>);

impl fmt::Debug for Carrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Carrier")
    }
}

#[async_trait]
impl HttpClient for Carrier {
    async fn execute_request(&self, request: &Request) -> azure_core::Result<AsyncRawResponse> {
        let Body::Bytes(body) = request.body().clone() else {
            return Err(Error::with_message(ErrorKind::Other, "a sign-in that streams its body is not carried"));
        };
        let mut carried = http::Request::builder().method(request.method().as_ref()).uri(request.url().as_str());
        for (name, value) in request.headers().iter() {
            carried = carried.header(name.as_str(), value.as_str());
        }
        let carried = carried.body(body).map_err(|error| Error::new(ErrorKind::DataConversion, error))?;
        let answer = self.0.send(carried).await.map_err(|error| not_now(TokenError::Unavailable(error.why)))?;
        // azure_identity takes every other status for a refusal. These three are how Entra ID and the metadata service refuse;
        // the rest is somebody on the way, or they themselves on a bad day.
        match answer.status().as_u16() {
            200..300 | 400 | 401 | 403 => {}
            429 => return Err(not_now(TokenError::Throttled { retry_after: retry_after(answer.headers()) })),
            _ => return Err(not_now(TokenError::Unavailable(format!("HTTP {}", answer.status())))),
        }
        let mut headers = Headers::new();
        for (name, value) in answer.headers() {
            if let Ok(value) = value.to_str() {
                headers.insert(name.as_str().to_owned(), value.to_owned());
            }
        }
        let status = answer.status().as_u16().into();
        Ok(AsyncRawResponse::from_bytes(status, headers, answer.into_body()))
    }
}

/// Travels inside azure_identity's own error and is found there again.
fn not_now(why: TokenError) -> Error {
    Error::new(ErrorKind::Io, why)
}
