//! From a template to a request: variables filled in, identity added. Pure: the time is given.

use crate::{
    config::{Auth, HmacStyle},
    machine::{Machine, Template},
    transport::TrustedAuthorities,
};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use bytes::Bytes;
use hmac::{Hmac, KeyInit as _, Mac as _};
use http::{HeaderMap, HeaderName, HeaderValue, Request, header};
use jiff::Timestamp;
use sha2::{Digest as _, Sha256};

/// What a request is about.
pub(crate) struct Occasion<'a> {
    pub machine: &'a Machine,
    /// Empty for a reading.
    pub claim: &'a str,
    pub action: &'a str,
    /// The idempotency key of a command; `None` for a reading.
    pub request_id: Option<&'a str>,
    pub now: Timestamp,
}

/// The error is a sentence; it never holds a secret.
pub(crate) fn render(template: &Template, occasion: &Occasion<'_>) -> Result<Request<Bytes>, String> {
    let body = Bytes::from(fill(&template.body, occasion, json_escaped));
    let mut request = Request::new(body);
    *request.method_mut() = template.method.clone();
    *request.uri_mut() = template.url.as_str().parse().map_err(|_| "the URL cannot be sent".to_owned())?;
    let mut headers = HeaderMap::new();
    for (name, value) in &template.headers {
        insert(&mut headers, name.clone(), &fill(value, occasion, str::to_owned))?;
    }
    if let Some(id) = occasion.request_id {
        insert(&mut headers, HeaderName::from_static("idempotency-key"), id)?;
    }
    identify(&mut headers, template, occasion, request.body())?;
    *request.headers_mut() = headers;
    if let Some(ca) = &template.ca {
        request.extensions_mut().insert(TrustedAuthorities(ca.clone()));
    }
    Ok(request)
}

fn fill(text: &str, occasion: &Occasion<'_>, escape: fn(&str) -> String) -> String {
    if !text.contains("${") {
        return text.to_owned();
    }
    let values = [
        ("${machine}", occasion.machine.name.as_str()),
        ("${node}", occasion.machine.node.as_str()),
        ("${class}", occasion.machine.config.class.as_str()),
        ("${claim}", occasion.claim),
        ("${action}", occasion.action),
        ("${requestId}", occasion.request_id.unwrap_or_default()),
    ];
    values.iter().fold(text.to_owned(), |text, (variable, value)| text.replace(variable, &escape(value)))
}

/// A UID may hold a quote, and bodies with variables are JSON.
fn json_escaped(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted.trim_start_matches('"').strip_suffix('"').unwrap_or_default().to_owned()
}

fn insert(headers: &mut HeaderMap, name: HeaderName, value: &str) -> Result<(), String> {
    let problem = || format!("the header {name} has a value that cannot be sent");
    let value = HeaderValue::from_str(value).map_err(|_| problem())?;
    headers.insert(name, value);
    Ok(())
}

/// The same, for a value that HTTP libraries must not print either.
fn insert_secret(headers: &mut HeaderMap, name: HeaderName, value: &str) -> Result<(), String> {
    let mut value =
        HeaderValue::from_str(value).map_err(|_| format!("the secret for the header {name} cannot be sent"))?;
    value.set_sensitive(true);
    headers.insert(name, value);
    Ok(())
}

fn identify(headers: &mut HeaderMap, template: &Template, occasion: &Occasion<'_>, body: &Bytes) -> Result<(), String> {
    match &template.auth {
        Auth::None => Ok(()),
        Auth::Basic { user, password } => {
            let pair = BASE64_STANDARD.encode(format!("{user}:{}", password.expose()));
            insert_secret(headers, header::AUTHORIZATION, &format!("Basic {pair}"))
        }
        Auth::Bearer(token) => insert_secret(headers, header::AUTHORIZATION, &format!("Bearer {}", token.expose())),
        Auth::Header { name, value } => {
            let name = name.parse::<HeaderName>().map_err(|_| "the auth header has no valid name".to_owned())?;
            insert_secret(headers, name, value.expose())
        }
        Auth::Hmac { style, key } => sign(headers, *style, key.expose(), occasion, body),
        Auth::MaasKey(key) => insert_secret(headers, header::AUTHORIZATION, &oauth(key.expose(), template, occasion)),
    }
}

fn sign(
    headers: &mut HeaderMap,
    style: HmacStyle,
    key: &str,
    occasion: &Occasion<'_>,
    body: &Bytes,
) -> Result<(), String> {
    match style {
        HmacStyle::StandardWebhooks => {
            let seconds = occasion.now.as_second().to_string();
            // A reading has no key of its own, and a receiver must still be able to tell two apart.
            let id = occasion.request_id.map_or_else(|| format!("{}-{seconds}", occasion.action), str::to_owned);
            let parts = [id.as_bytes(), b".", seconds.as_bytes(), b".", body];
            let signature = format!("v1,{}", BASE64_STANDARD.encode(hmac_sha256(key, &parts)?));
            insert(headers, HeaderName::from_static("webhook-id"), &id)?;
            insert(headers, HeaderName::from_static("webhook-timestamp"), &seconds)?;
            insert(headers, HeaderName::from_static("webhook-signature"), &signature)
        }
        HmacStyle::Bmclib => {
            let signature = format!("sha256={}", hex(&hmac_sha256(key, &[body])?));
            insert(headers, HeaderName::from_static("x-bmclib-timestamp"), &occasion.now.to_string())?;
            insert(headers, HeaderName::from_static("x-bmclib-signature-256"), &signature)
        }
    }
}

fn hmac_sha256(key: &str, parts: &[&[u8]]) -> Result<Vec<u8>, String> {
    let mac = Hmac::<Sha256>::new_from_slice(key.as_bytes());
    let mut mac = mac.map_err(|_| "the HMAC key cannot be used".to_owned())?;
    for part in parts {
        mac.update(part);
    }
    Ok(mac.finalize().into_bytes().to_vec())
}

/// The secret is the signature, so the nonce has only to differ from one request to the next.
fn oauth(key: &str, template: &Template, occasion: &Occasion<'_>) -> String {
    let mut parts = key.split(':');
    let mut next = || parts.next().unwrap_or_default();
    let (consumer, token, secret) = (next(), next(), next());
    let nanoseconds = occasion.now.as_nanosecond();
    let nonce = Sha256::digest(format!("{nanoseconds}\n{}\n{}", template.method, template.url));
    let nonce = hex(&nonce[..8]);
    format!(
        "OAuth oauth_version=\"1.0\", oauth_signature_method=\"PLAINTEXT\", oauth_consumer_key=\"{consumer}\", \
         oauth_token=\"{token}\", oauth_signature=\"%26{secret}\", oauth_nonce=\"{nonce}\", oauth_timestamp=\"{}\"",
        occasion.now.as_second()
    )
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
