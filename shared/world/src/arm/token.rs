//! Access tokens: issued here, kept here, checked here. They look like JWTs, but nobody may rely on their inside.

use super::{
    answer::Refusal,
    options::{ArmOptions, Identity},
    request::Call,
};
use crate::chance::Chance;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use http::StatusCode;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use std::{collections::BTreeMap, time::Duration};

#[derive(Debug, Default)]
pub(super) struct TokenBook {
    issued: BTreeMap<String, Issued>,
}

#[derive(Debug, Clone)]
struct Issued {
    client_id: String,
    object_id: String,
    audience: String,
    expires: Timestamp,
}

/// Whom a good token stands for.
#[derive(Debug, Clone)]
pub(super) struct Caller {
    pub client_id: String,
    pub object_id: String,
}

/// A token and the life its owner is told.
#[derive(Debug)]
pub(super) struct Fresh {
    pub text: String,
    pub life: Duration,
}

impl TokenBook {
    pub fn issue(
        &mut self,
        identity: &Identity,
        audience: &str,
        options: &ArmOptions,
        now: Timestamp,
        chance: &Chance,
    ) -> Fresh {
        // An hour after expiry nobody needs to hear "expired" any more.
        let old = now.checked_sub(SignedDuration::from_hours(1)).unwrap_or(now);
        self.issued.retain(|_, issued| issued.expires > old);
        let life = SignedDuration::try_from(options.tokens.life).unwrap_or(SignedDuration::MAX);
        let expires = now.checked_add(life).unwrap_or(Timestamp::MAX);
        let told = options.tokens.told_life.unwrap_or(options.tokens.life);
        let starts = options.client_time(now);
        let claims = json!({
            "aud": audience,
            "iss": format!("https://sts.windows.net/{}/", options.tenant),
            "iat": starts,
            "nbf": starts,
            "exp": starts.saturating_add(i64::try_from(told.as_secs()).unwrap_or(i64::MAX)),
            "appid": identity.client_id,
            "idtyp": "app",
            "oid": identity.object_id,
            "sub": identity.object_id,
            "tid": options.tenant,
            "uti": chance.uuid(),
            "ver": "1.0",
        });
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let head = part(&json!({"alg": "RS256", "kid": "world", "typ": "JWT"}));
        let text = format!("{head}.{}.{}", part(&claims), URL_SAFE_NO_PAD.encode(chance.uuid()));
        let issued = Issued {
            client_id: identity.client_id.clone(),
            object_id: identity.object_id.clone(),
            audience: audience.trim_end_matches('/').to_owned(),
            expires,
        };
        self.issued.insert(text.clone(), issued);
        Fresh { text, life: told }
    }

    /// Every token of an identity stops working at once, as when its credential is revoked.
    pub fn revoke(&mut self, client_id: &str) {
        self.issued.retain(|_, issued| issued.client_id != client_id);
    }

    pub fn check(&self, call: &Call, options: &ArmOptions, now: Timestamp) -> Result<Caller, Refusal> {
        let Some(header) = call.header("authorization") else {
            let message = "Authentication failed. The 'Authorization' header is missing.";
            return Err(unauthorized(options, "AuthenticationFailed", message));
        };
        let (scheme, text) = header.split_once(' ').unwrap_or((header, ""));
        if !scheme.eq_ignore_ascii_case("bearer") {
            let message = format!("The authentication scheme '{scheme}' is not supported.");
            return Err(unauthorized(options, "AuthenticationFailedInvalidHeader", &message));
        }
        let Some(issued) = self.issued.get(text.trim()) else {
            return Err(unauthorized(options, "InvalidAuthenticationToken", "The access token is invalid."));
        };
        if issued.expires <= now {
            let message = format!(
                "The access token expiry UTC time '{}' is earlier than current UTC time '{now}'.",
                issued.expires
            );
            return Err(unauthorized(options, "ExpiredAuthenticationToken", &message));
        }
        if !is_arm(&issued.audience, &call.base, options) {
            let message = format!(
                "The access token has been obtained for wrong audience or resource '{}'. It should exactly match with one of the allowed audiences '{}'.",
                issued.audience,
                options.tokens.audiences.join("','")
            );
            return Err(unauthorized(options, "InvalidAuthenticationTokenAudience", &message));
        }
        Ok(Caller { client_id: issued.client_id.clone(), object_id: issued.object_id.clone() })
    }
}

/// Whether a token for this resource opens this ARM: its own address, or one it is configured to be known by.
fn is_arm(audience: &str, base: &str, options: &ArmOptions) -> bool {
    let same = |name: &str| name.trim_end_matches('/').eq_ignore_ascii_case(audience);
    same(base) || options.tokens.audiences.iter().any(|name| same(name))
}

fn unauthorized(options: &ArmOptions, code: &str, message: &str) -> Refusal {
    let challenge = format!(
        "Bearer authorization_uri=\"https://login.windows.net/{}\", error=\"invalid_token\", error_description=\"{message}\"",
        options.tenant
    );
    Refusal::arm(StatusCode::UNAUTHORIZED, code, message).header("www-authenticate", challenge)
}

/// What a caller may not do, if the options deny the action.
pub(super) fn authorize(caller: &Caller, action: &str, scope: &str, options: &ArmOptions) -> Result<(), Refusal> {
    if !options.denied_actions.iter().any(|denied| denied.eq_ignore_ascii_case(action)) {
        return Ok(());
    }
    let message = format!(
        "The client '{}' with object id '{}' does not have authorization to perform action '{action}' over scope '{scope}' or the scope is invalid. If access was recently granted, please refresh your credentials.",
        caller.client_id, caller.object_id
    );
    Err(Refusal::arm(StatusCode::FORBIDDEN, "AuthorizationFailed", message))
}

/// The claims of a token somebody else signed; the signature is not looked at.
pub(super) fn claims(token: &str) -> Option<Value> {
    let mut parts = token.trim().split('.');
    let (_, claims, _) = (parts.next()?, parts.next()?, parts.next()?);
    let bytes = URL_SAFE_NO_PAD.decode(claims.trim_end_matches('=')).ok()?;
    serde_json::from_slice(&bytes).ok()
}
