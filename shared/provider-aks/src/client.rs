//! Resource Manager as calls: addresses, tokens, conditions, time-outs, and answers that are either good or a refusal.

use bytes::Bytes;
use core::time::Duration;
use http::{
    HeaderName, HeaderValue, Method, Request, Response,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, IF_MATCH, IF_NONE_MATCH},
};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use provider::ProviderError;
use serde_json::Value;
use std::sync::Arc;

use crate::{
    errors::{self, About},
    refusal::{Refusal, retry_after},
    settings::Settings,
    tokens::{TokenError, Tokens},
    transport::Transport,
};

/// Conditions on agent pools came with 2024-09-01.
const API_VERSION: &str = "2025-05-01";
const COMPUTE_VERSION: &str = "2021-07-01";
const PRICES_VERSION: &str = "2023-01-01-preview";

/// Whatever carries the request: no answer within this is no answer. Less than a call as a whole has, so that it can say which
/// request it was.
const PATIENCE: Duration = Duration::from_secs(30);
/// A list that does not end is a defect of whoever writes it.
const MOST_PAGES: usize = 200;

const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

#[derive(Clone)]
pub(crate) struct Client {
    pub transport: Arc<dyn Transport>,
    pub tokens: Arc<dyn Tokens>,
    pub settings: Settings,
}

/// A good answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub status: u16,
    pub body: Value,
    pub retry_after: Option<Duration>,
    /// Where the operation that was started can be followed.
    pub operation: Option<String>,
}

/// A bad one.
#[derive(Debug)]
pub(crate) enum Failure {
    Refused(Refusal),
    /// Nothing that Azure said: no token, no connection, no answer.
    Other(ProviderError),
}

impl Failure {
    pub fn into_error(self, doing: &str, about: About<'_>) -> ProviderError {
        match self {
            Failure::Refused(refusal) => errors::error(doing, &refusal, about),
            Failure::Other(error) => error,
        }
    }
}

/// What has to be true of the pool for a change to happen.
#[derive(Debug)]
pub(crate) enum Condition {
    Absent,
    Unchanged(String),
}

impl Client {
    pub fn cluster_path(&self) -> String {
        let Settings { subscription, resource_group, cluster, .. } = &self.settings;
        format!(
            "/subscriptions/{}/resourceGroups/{}/providers/Microsoft.ContainerService/managedClusters/{}",
            escape(subscription),
            escape(resource_group),
            escape(cluster)
        )
    }

    pub fn cluster_url(&self) -> String {
        format!("{}{}?api-version={API_VERSION}", self.settings.endpoint, self.cluster_path())
    }

    pub fn pools_url(&self) -> String {
        format!("{}{}/agentPools?api-version={API_VERSION}", self.settings.endpoint, self.cluster_path())
    }

    pub fn pool_url(&self, pool: &str) -> String {
        let path = self.cluster_path();
        format!("{}{path}/agentPools/{}?api-version={API_VERSION}", self.settings.endpoint, escape(pool))
    }

    pub fn sizes_url(&self) -> String {
        let Settings { endpoint, subscription, location, .. } = &self.settings;
        let filter = escape(&format!("location eq '{location}'"));
        format!(
            "{endpoint}/subscriptions/{}/providers/Microsoft.Compute/skus?api-version={COMPUTE_VERSION}&$filter={filter}",
            escape(subscription)
        )
    }

    pub fn usages_url(&self) -> String {
        let Settings { endpoint, subscription, location, .. } = &self.settings;
        format!(
            "{endpoint}/subscriptions/{}/providers/Microsoft.Compute/locations/{}/usages?api-version={COMPUTE_VERSION}",
            escape(subscription),
            escape(location)
        )
    }

    pub fn prices_url(&self) -> Option<String> {
        let filter = format!(
            "serviceName eq 'Virtual Machines' and priceType eq 'Consumption' and armRegionName eq '{}' and startswith(armSkuName, 'Standard_N')",
            self.settings.location
        );
        let host = self.settings.prices.as_ref()?;
        Some(format!(
            "{host}/api/retail/prices?api-version={PRICES_VERSION}&currencyCode=USD&$filter={}",
            escape(&filter)
        ))
    }

    pub async fn get(&self, doing: &str, url: &str) -> Result<Answer, Failure> {
        self.call(doing, Method::GET, url, None, None).await
    }

    pub async fn put(&self, doing: &str, url: &str, condition: Condition, body: &Value) -> Result<Answer, Failure> {
        self.call(doing, Method::PUT, url, Some(condition), Some(body)).await
    }

    pub async fn delete(&self, doing: &str, url: &str, condition: Option<Condition>) -> Result<Answer, Failure> {
        self.call(doing, Method::DELETE, url, condition, None).await
    }

    /// Every item of a list, all pages. `next` is the member with the address of the next page.
    pub async fn list(&self, doing: &str, url: String, items: &str, next: &str) -> Result<Vec<Value>, Failure> {
        let mut all = Vec::new();
        let mut url = Some(url);
        for _ in 0..MOST_PAGES {
            let Some(page) = url else { return Ok(all) };
            let mut answer = self.get(doing, &page).await?;
            let Some(Value::Array(found)) = answer.body.get_mut(items).map(Value::take) else {
                return Err(nonsense(doing, "a list without items"));
            };
            all.extend(found);
            url = answer.body[next].as_str().filter(|next| !next.is_empty()).map(str::to_owned);
            if url.as_ref().is_some_and(|url| !same_host(url, &page)) {
                return Err(nonsense(doing, "the next page is on another host"));
            }
        }
        Err(nonsense(doing, "a list without end"))
    }

    /// Whether an address is one that our token may be sent to.
    pub fn trusts(&self, url: &str) -> bool {
        same_host(url, &self.settings.endpoint)
    }

    async fn call(
        &self,
        doing: &str,
        method: Method,
        url: &str,
        condition: Option<Condition>,
        body: Option<&Value>,
    ) -> Result<Answer, Failure> {
        let body = body.map(|body| Bytes::from(body.to_string()));
        let authorized = self.trusts(url);
        for last in [false, true] {
            let mut request = Request::builder().method(&method).uri(url).header(ACCEPT, "application/json");
            if let Some((name, value)) = condition.as_ref().and_then(header) {
                request = request.header(name, value);
            }
            if authorized {
                request = request.header(AUTHORIZATION, self.bearer(doing).await?);
            }
            if body.is_some() {
                request = request.header(CONTENT_TYPE, "application/json");
            }
            let request = request.body(body.clone().unwrap_or_default());
            let request = request.map_err(|error| nonsense(doing, &format!("{url:?} is no address: {error}")))?;
            let response = self.send(doing, &method, request).await?;
            // Azure looks at the token before anything else, so a 401 did nothing; an old token is worth one new one.
            if response.status() == http::StatusCode::UNAUTHORIZED && authorized && !last {
                self.tokens.forget();
                continue;
            }
            return self.read(doing, &method, &response);
        }
        Err(nonsense(doing, "no answer was read"))
    }

    async fn bearer(&self, doing: &str) -> Result<HeaderValue, Failure> {
        let doing = || doing.to_owned();
        let scope = format!("{}/.default", self.settings.endpoint);
        let unavailable = |why: String| Failure::Other(ProviderError::Unavailable { doing: doing(), why });
        let token = match tokio::time::timeout(PATIENCE, self.tokens.token(&scope)).await {
            Ok(Ok(token)) => token,
            Ok(Err(TokenError::Denied(why))) => {
                let why = format!("no token: {why}; check AZURE_TENANT_ID, AZURE_CLIENT_ID and its credential");
                return Err(Failure::Other(ProviderError::Unauthorized { doing: doing(), why }));
            }
            Ok(Err(TokenError::Unavailable(why))) => return Err(unavailable(format!("no token: {why}"))),
            Ok(Err(TokenError::Throttled { retry_after })) => {
                return Err(Failure::Other(ProviderError::Throttled { doing: doing(), retry_after }));
            }
            Err(_) => return Err(unavailable("no token came in time".to_owned())),
        };
        let mut value = HeaderValue::from_str(&format!("Bearer {token}"))
            .map_err(|_| unavailable("the token is not one a header can carry".to_owned()))?;
        value.set_sensitive(true);
        Ok(value)
    }

    async fn send(&self, doing: &str, method: &Method, request: Request<Bytes>) -> Result<Response<Bytes>, Failure> {
        let (sent, why) = match tokio::time::timeout(PATIENCE, self.transport.send(request)).await {
            Ok(Ok(response)) => return Ok(response),
            Ok(Err(error)) => (error.sent, error.why),
            Err(_) => (true, format!("nothing within {} s", PATIENCE.as_secs())),
        };
        let doing = doing.to_owned();
        Err(Failure::Other(match sent && method != Method::GET {
            true => ProviderError::Uncertain { doing, why },
            false => ProviderError::Unavailable { doing, why },
        }))
    }

    fn read(&self, doing: &str, method: &Method, response: &Response<Bytes>) -> Result<Answer, Failure> {
        if !response.status().is_success() {
            return Err(Failure::Refused(Refusal::of_response(response)));
        }
        let body = if response.body().is_empty() {
            Value::Null
        } else {
            let parsed = serde_json::from_slice(response.body());
            // What was changed is changed, whatever the body says; only a read needs it.
            parsed.or_else(|error| match *method {
                Method::GET => Err(nonsense(doing, &format!("its answer is not JSON: {error}"))),
                _ => Ok(Value::Null),
            })?
        };
        let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
        let operation = header("azure-asyncoperation").or_else(|| header("operation-location"));
        Ok(Answer {
            status: response.status().as_u16(),
            body,
            retry_after: retry_after(response.headers()),
            operation: operation.filter(|url| self.trusts(url)).map(str::to_owned),
        })
    }
}

fn header(condition: &Condition) -> Option<(HeaderName, HeaderValue)> {
    match condition {
        Condition::Absent => Some((IF_NONE_MATCH, HeaderValue::from_static("*"))),
        Condition::Unchanged(etag) => Some((IF_MATCH, HeaderValue::from_str(etag).ok()?)),
    }
}

pub(crate) fn nonsense(doing: &str, why: &str) -> Failure {
    Failure::Other(ProviderError::Unavailable { doing: doing.to_owned(), why: why.to_owned() })
}

fn escape(text: &str) -> String {
    utf8_percent_encode(text, SEGMENT).to_string()
}

/// Scheme, host and port are the same.
fn same_host(one: &str, other: &str) -> bool {
    let origin = |url: &str| {
        let uri: http::Uri = url.parse().ok()?;
        let parts = (uri.scheme_str()?.to_ascii_lowercase(), uri.authority()?.as_str().to_ascii_lowercase());
        (!parts.1.contains('@')).then_some(parts)
    };
    origin(one).is_some_and(|one| Some(one) == origin(other))
}
