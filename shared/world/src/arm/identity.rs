//! Entra ID and managed identity: who gets a token, for what, and in which of four answer shapes.

use super::{
    answer::reply,
    options::{ArmOptions, Identity},
    request::{Call, Pairs},
    token::{self, Fresh, TokenBook},
};
use crate::chance::Chance;
use bytes::Bytes;
use http::{Response, StatusCode};
use jiff::Timestamp;
use serde_json::{Value, json};

/// What signing in needs of the world.
pub(super) struct SignIn<'a> {
    pub options: &'a ArmOptions,
    pub book: &'a mut TokenBook,
    pub chance: &'a Chance,
    pub now: Timestamp,
}

/// An Entra error: HTTP status, OAuth code, AADSTS number, text.
struct Denied(StatusCode, &'static str, u32, String);

const EXCHANGE_AUDIENCE: &str = "api://AzureADTokenExchange";
const ASSERTION_TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

impl SignIn<'_> {
    /// `POST /{tenant}/oauth2/v2.0/token`, and the older `/{tenant}/oauth2/token` with `resource`.
    pub fn token(mut self, tenant: &str, call: &Call, second_version: bool) -> Response<Bytes> {
        let form = call.form();
        match self.grant(tenant, &form, second_version) {
            Err(Denied(status, error, number, text)) => {
                let trace = self.chance.uuid();
                let body = json!({
                    "error": error,
                    "error_description": format!("AADSTS{number}: {text} Trace ID: {trace} Timestamp: {}", self.now),
                    "error_codes": [number],
                    "timestamp": self.now.to_string(),
                    "trace_id": trace,
                    "correlation_id": self.chance.uuid(),
                    "error_uri": format!("{}/error?code={number}", call.base),
                });
                reply(status, &body)
            }
            Ok((fresh, _)) if second_version => {
                let life = fresh.life.as_secs();
                let body = json!({
                    "token_type": "Bearer", "expires_in": life, "ext_expires_in": life, "access_token": fresh.text,
                });
                reply(StatusCode::OK, &body)
            }
            Ok((fresh, resource)) => reply(StatusCode::OK, &self.as_strings(&fresh, &resource)),
        }
    }

    fn grant(&mut self, tenant: &str, form: &Pairs, second_version: bool) -> Result<(Fresh, String), Denied> {
        use StatusCode as S;
        let needed = |name: &'static str| {
            form.get(name).filter(|value| !value.is_empty()).ok_or_else(|| {
                let text = format!("The request body must contain the following parameter: '{name}'.");
                Denied(S::BAD_REQUEST, "invalid_request", 900_144, text)
            })
        };
        if !tenant.eq_ignore_ascii_case(&self.options.tenant) {
            let text = format!("Tenant '{tenant}' not found. Check to make sure you have the correct tenant ID.");
            return Err(Denied(S::BAD_REQUEST, "invalid_request", 90_002, text));
        }
        let grant = needed("grant_type")?;
        if grant != "client_credentials" {
            let text = format!("The app requested an unsupported grant type '{grant}'.");
            return Err(Denied(S::BAD_REQUEST, "unsupported_grant_type", 70_003, text));
        }
        let client = needed("client_id")?;
        let resource = if second_version {
            let scope = needed("scope")?;
            scope.split(' ').find_map(|scope| scope.strip_suffix("/.default")).map(str::to_owned).ok_or_else(|| {
                let text = format!(
                    "The provided value for the input parameter 'scope' is not valid. The scope {scope} is not valid."
                );
                Denied(S::BAD_REQUEST, "invalid_scope", 1_002_012, text)
            })?
        } else {
            needed("resource")?.to_owned()
        };
        let identities = &self.options.identities;
        let Some(identity) = identities.iter().find(|identity| identity.client_id.eq_ignore_ascii_case(client)) else {
            let text = format!("Application with identifier '{client}' was not found in the directory '{tenant}'.");
            return Err(Denied(S::BAD_REQUEST, "unauthorized_client", 700_016, text));
        };
        match (form.get("client_secret"), form.get("client_assertion")) {
            (_, Some(assertion)) => {
                if form.get("client_assertion_type") != Some(ASSERTION_TYPE) {
                    let text = "The request body must contain the parameter 'client_assertion_type'.".to_owned();
                    return Err(Denied(S::BAD_REQUEST, "invalid_request", 900_144, text));
                }
                self.check_assertion(identity, assertion)?;
            }
            (Some(secret), None) if identity.secret.as_deref() == Some(secret) => {}
            (Some(_), None) => {
                let text = format!("Invalid client secret provided for app '{client}'.");
                return Err(Denied(S::UNAUTHORIZED, "invalid_client", 7_000_215, text));
            }
            (None, None) => {
                let text = "The request body must contain 'client_assertion' or 'client_secret'.".to_owned();
                return Err(Denied(S::UNAUTHORIZED, "invalid_client", 7_000_218, text));
            }
        }
        Ok((self.issue(identity, &resource), resource))
    }

    /// Workload identity: the Kubernetes token's issuer, subject and audience must match a federated credential.
    fn check_assertion(&self, identity: &Identity, assertion: &str) -> Result<(), Denied> {
        let denied = |number, text: String| Err(Denied(StatusCode::UNAUTHORIZED, "invalid_client", number, text));
        let Some(claims) = token::claims(assertion) else {
            return denied(50_027, "JWT token is invalid or malformed.".to_owned());
        };
        let word = |name: &str| claims.get(name).and_then(Value::as_str).unwrap_or_default();
        let audience = match &claims["aud"] {
            Value::Array(all) => all.iter().any(|one| one == EXCHANGE_AUDIENCE),
            one => one == EXCHANGE_AUDIENCE,
        };
        if !audience {
            let text = format!(
                "No matching federated identity record found for presented assertion audience '{}'.",
                claims["aud"]
            );
            return denied(700_212, text);
        }
        let client_now = self.options.client_time(self.now);
        if claims["exp"].as_i64().is_some_and(|expires| expires <= client_now) {
            return denied(700_024, "Client assertion is not within its valid time range.".to_owned());
        }
        let fits = |own: &Option<String>, name| own.as_ref().is_none_or(|own| own == word(name));
        if identity.federated.iter().any(|one| fits(&one.issuer, "iss") && fits(&one.subject, "sub")) {
            return Ok(());
        }
        let text =
            format!("No matching federated identity record found for presented assertion subject '{}'.", word("sub"));
        denied(700_213, text)
    }

    /// `GET /metadata/identity/oauth2/token` on a virtual machine.
    pub fn metadata_token(self, call: &Call) -> Response<Bytes> {
        if !call.header("metadata").is_some_and(|value| value.eq_ignore_ascii_case("true")) {
            return bad_request("Required metadata header not specified");
        }
        self.managed_token(call)
    }

    /// `GET /msi/token`: what `IDENTITY_ENDPOINT` points to on App Service and Functions.
    pub fn app_service_token(self, call: &Call) -> Response<Bytes> {
        if call.header("x-identity-header") != Some(self.options.tokens.identity_header.as_str()) {
            let body = json!({"statusCode": 401, "message": "The X-IDENTITY-HEADER is missing or wrong."});
            return reply(StatusCode::UNAUTHORIZED, &body);
        }
        self.managed_token(call)
    }

    fn managed_token(mut self, call: &Call) -> Response<Bytes> {
        let Some(resource) = call.query.get("resource").filter(|resource| !resource.is_empty()) else {
            return bad_request("Required query variable 'resource' is missing");
        };
        let wanted = |identity: &&Identity| {
            let is = |name: &str, own: &str| call.query.get(name).is_none_or(|value| value.eq_ignore_ascii_case(own));
            identity.managed && is("client_id", &identity.client_id) && is("object_id", &identity.object_id)
        };
        let Some(identity) = self.options.identities.iter().find(wanted) else {
            return bad_request("Identity not found");
        };
        let fresh = self.issue(identity, resource);
        let mut body = self.as_strings(&fresh, resource);
        body["client_id"] = json!(identity.client_id);
        reply(StatusCode::OK, &body)
    }

    fn issue(&mut self, identity: &Identity, resource: &str) -> Fresh {
        self.book.issue(identity, resource, self.options, self.now, self.chance)
    }

    /// The first OAuth version and both managed identity endpoints give numbers as text.
    fn as_strings(&self, fresh: &Fresh, resource: &str) -> Value {
        let life = fresh.life.as_secs();
        let starts = self.options.client_time(self.now);
        json!({
            "access_token": fresh.text,
            "expires_in": life.to_string(),
            "ext_expires_in": life.to_string(),
            "expires_on": starts.saturating_add(i64::try_from(life).unwrap_or(i64::MAX)).to_string(),
            "not_before": starts.to_string(),
            "resource": resource,
            "token_type": "Bearer",
        })
    }
}

fn bad_request(text: &str) -> Response<Bytes> {
    reply(StatusCode::BAD_REQUEST, &json!({"error": "invalid_request", "error_description": text}))
}

/// `/{tenant}/v2.0/.well-known/openid-configuration` and its older sister.
pub(super) fn openid_configuration(call: &Call, tenant: &str) -> Response<Bytes> {
    let authority = format!("{}/{tenant}", call.base);
    let body = json!({
        "token_endpoint": format!("{authority}/oauth2/v2.0/token"),
        "token_endpoint_auth_methods_supported": ["client_secret_post", "private_key_jwt", "client_secret_basic"],
        "jwks_uri": format!("{authority}/discovery/v2.0/keys"),
        "issuer": format!("{authority}/v2.0"),
        "authorization_endpoint": format!("{authority}/oauth2/v2.0/authorize"),
        "device_authorization_endpoint": format!("{authority}/oauth2/v2.0/devicecode"),
        "tenant_region_scope": null,
        "cloud_instance_name": "microsoftonline.com",
    });
    reply(StatusCode::OK, &body)
}

/// `/common/discovery/instance`: which hosts are one and the same authority.
pub(super) fn instance_discovery(call: &Call, tenant: &str) -> Response<Bytes> {
    let host = call.base.split_once("://").map_or(call.base.as_str(), |(_, host)| host);
    let body = json!({
        "tenant_discovery_endpoint": format!("{}/{tenant}/v2.0/.well-known/openid-configuration", call.base),
        "api-version": "1.1",
        "metadata": [{"preferred_network": host, "preferred_cache": host, "aliases": [host]}],
    });
    reply(StatusCode::OK, &body)
}
