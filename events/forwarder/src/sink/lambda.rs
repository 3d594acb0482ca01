//! AWS Lambda, invoked by its API: a request signed with SigV4, and the function's answer as its return value.

use async_trait::async_trait;
use aws_credential_types::Credentials;
use aws_sigv4::{
    http_request::{SignableBody, SignableRequest, SigningSettings, sign},
    sign::v4,
};
use bytes::Bytes;
use host::parts::Clock;
use http::{Method, Request, Response, header};
use jiff::Timestamp;
use std::{sync::Arc, time::SystemTime};

use super::{
    Sink, Told, Web,
    aws_credentials::{AwsCredentials, AwsSettings},
    http::told,
};
use crate::event::Letter;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Invocation {
    /// The answer comes back.
    #[default]
    RequestResponse,
    /// Lambda takes the event and tries it up to three times by itself.
    Event,
}

#[derive(Debug, Clone, Default)]
pub struct LambdaSettings {
    pub invocation: Invocation,
    /// Another address than the region's own.
    pub endpoint: Option<String>,
    pub aws: AwsSettings,
}

/// One Lambda function.
pub struct LambdaSink {
    url: String,
    region: String,
    invocation: Invocation,
    credentials: AwsCredentials,
    web: Arc<Web>,
    clock: Clock,
}

impl LambdaSink {
    /// `function` is a name or an ARN.
    pub fn new(function: &str, region: String, settings: LambdaSettings, web: Arc<Web>, clock: Clock) -> Self {
        let LambdaSettings { invocation, endpoint, aws } = settings;
        let endpoint = endpoint.unwrap_or_else(|| format!("https://lambda.{region}.{}", domain(&region)));
        let name = function.replace(':', "%3A").replace('$', "%24");
        LambdaSink {
            url: format!("{}/2015-03-31/functions/{name}/invocations", endpoint.trim_end_matches('/')),
            credentials: AwsCredentials::new(aws, region.clone(), web.clone(), clock.clone()),
            region,
            invocation,
            web,
            clock,
        }
    }

    fn request(&self, letter: &Letter, credentials: Credentials) -> Result<Request<Bytes>, String> {
        let kind = match self.invocation {
            Invocation::RequestResponse => "RequestResponse",
            Invocation::Event => "Event",
        };
        let request = Request::builder()
            .method(Method::POST)
            .uri(&self.url)
            .header(header::CONTENT_TYPE, "application/json")
            .header("x-amz-invocation-type", kind)
            .body(Bytes::from(letter.text.clone()))
            .map_err(|error| error.to_string())?;
        signed(request, credentials, &self.region, "lambda", (self.clock)())
    }
}

#[async_trait]
impl Sink for LambdaSink {
    async fn deliver(&self, _: &'static str, letter: &Letter) -> Told {
        let credentials = match self.credentials.get().await {
            Ok(credentials) => credentials,
            Err(why) => return Told::unheard(format!("no AWS credentials: {why}")),
        };
        let request = match self.request(letter, credentials) {
            Ok(request) => request,
            Err(why) => return Told::unheard(format!("cannot sign the invocation: {why}")),
        };
        match self.web.send(request).await {
            Ok(response) => invoked(&response),
            Err(why) => Told::unheard(format!("Lambda in {}: {why}", self.region)),
        }
    }

    fn most_bytes(&self) -> usize {
        match self.invocation {
            Invocation::RequestResponse => 6 * 1024 * 1024,
            Invocation::Event => 256 * 1024,
        }
    }
}

/// Lambda says 200 whatever the function did; emulators say it in other ways. A body with an `errorMessage` is a failure in all.
fn invoked(response: &Response<Bytes>) -> Told {
    let body: serde_json::Value = serde_json::from_slice(response.body()).unwrap_or_default();
    let message = body.get("errorMessage").or_else(|| body.get("Message")).or_else(|| body.get("message"));
    let message: String = message.and_then(|text| text.as_str()).unwrap_or_default().chars().take(500).collect();
    let failed = response.headers().contains_key("x-amz-function-error") || body.get("errorMessage").is_some();
    match response.status().as_u16() {
        _ if failed => Told::unheard(format!("the function failed: {message}")),
        200..=299 => told(response),
        // Nobody but a person can help; until then it is tried at the pace of the back-off.
        403 => Told::unheard(format!("AWS refuses, is lambda:InvokeFunction allowed? {message}")),
        status => Told::unheard(format!("Lambda answers {status}: {message}")),
    }
}

/// Adds the headers of a SigV4 signature.
pub fn signed(
    request: Request<Bytes>,
    credentials: Credentials,
    region: &str,
    service: &str,
    now: Timestamp,
) -> Result<Request<Bytes>, String> {
    let identity = credentials.into();
    let parameters = v4::SigningParams::builder()
        .identity(&identity)
        .region(region)
        .name(service)
        .time(SystemTime::from(now))
        .settings(SigningSettings::default())
        .build()
        .map_err(|error| error.to_string())?
        .into();
    let (mut head, body) = request.into_parts();
    let headers = head.headers.iter().filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)));
    let uri = head.uri.to_string();
    let signable = SignableRequest::new(head.method.as_str(), &uri, headers, SignableBody::Bytes(&body))
        .map_err(|error| error.to_string())?;
    let (instructions, _) = sign(signable, &parameters).map_err(|error| error.to_string())?.into_parts();
    let mut added = Vec::new();
    for (name, value) in instructions.headers() {
        let name: http::HeaderName = name.parse().map_err(|_| "a header of the signature is not one".to_owned())?;
        let mut value = http::HeaderValue::from_str(value).map_err(|error| error.to_string())?;
        value.set_sensitive(true);
        added.push((name, value));
    }
    head.headers.extend(added);
    Ok(Request::from_parts(head, body))
}

pub(super) fn domain(region: &str) -> &'static str {
    if region.starts_with("cn-") { "amazonaws.com.cn" } else { "amazonaws.com" }
}
