//! A client of the APIs: one function a call, all pages of a list, failures as they came. It decides nothing.

use bytes::Bytes;
use http::{Method, Request, Response, header};
use model::OfferingId;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use provider::ProviderError;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::{collections::BTreeMap, sync::Arc};

use crate::errors::{Asked, Class, Failure, Refusal};
use crate::settings::Settings;
use crate::transport::Transport;
use crate::wire::{Availability, Block, Ip, LocalImage, LocalVolume, Product, Server};

/// A list that does not end is a broken cloud, not a reason to ask for ever.
const MOST_PAGES: usize = 200;

/// Everything that has a meaning in a query; what has none stays readable.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

pub(crate) struct Api {
    settings: Settings,
    transport: Arc<dyn Transport>,
}

/// A request about to be sent, in words and in bytes.
pub(crate) struct Call<'a> {
    pub doing: String,
    pub method: Method,
    pub path: String,
    pub content_type: &'static str,
    pub body: Bytes,
    pub offering: Option<&'a OfferingId>,
}

impl Call<'_> {
    pub fn get(doing: impl Into<String>, path: impl Into<String>) -> Self {
        Call::plain(doing, Method::GET, path)
    }

    pub fn delete(doing: impl Into<String>, path: impl Into<String>) -> Self {
        Call::plain(doing, Method::DELETE, path)
    }

    pub fn json(doing: impl Into<String>, method: Method, path: impl Into<String>, body: &Value) -> Self {
        let body = Bytes::from(body.to_string());
        Call { content_type: "application/json", body, ..Call::plain(doing, method, path) }
    }

    fn plain(doing: impl Into<String>, method: Method, path: impl Into<String>) -> Self {
        let (doing, path) = (doing.into(), path.into());
        Call { doing, method, path, content_type: "", body: Bytes::new(), offering: None }
    }
}

impl Api {
    pub fn new(settings: Settings, transport: Arc<dyn Transport>) -> Self {
        Api { settings, transport }
    }

    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The answer, if it is a success.
    pub async fn send(&self, call: &Call<'_>) -> Result<Response<Bytes>, Failure> {
        let nonsense = |error: http::Error| Failure::Nonsense(error.to_string());
        let mut request = Request::builder()
            .method(call.method.clone())
            .uri(format!("{}{}", self.settings.api_url, call.path))
            .header("x-auth-token", self.settings.secret_key.reveal())
            .header(header::USER_AGENT, concat!("pilotlight/", env!("CARGO_PKG_VERSION")))
            .header(header::ACCEPT, "application/json");
        if !call.content_type.is_empty() {
            request = request.header(header::CONTENT_TYPE, call.content_type);
        }
        let request = request.body(call.body.clone()).map_err(nonsense)?;
        let answer = self.transport.send(request).await.map_err(Failure::Lost)?;
        if answer.status().is_success() { Ok(answer) } else { Err(Failure::Refused(Refusal::read(&answer))) }
    }

    pub fn error(&self, call: &Call<'_>, failure: Failure) -> ProviderError {
        let changes = call.method != Method::GET;
        failure.into_error(Asked { doing: &call.doing, changes, offering: call.offering })
    }

    /// For calls whose success has nothing to say.
    pub async fn run(&self, call: &Call<'_>) -> Result<(), ProviderError> {
        self.send(call).await.map(drop).map_err(|failure| self.error(call, failure))
    }

    /// For a change of something that may have gone meanwhile: `false` if it has.
    pub async fn change(&self, call: &Call<'_>) -> Result<bool, ProviderError> {
        match self.send(call).await {
            Ok(_) => Ok(true),
            Err(failure) if failure.class() == Some(Class::NotFound) => Ok(false),
            Err(failure) => Err(self.error(call, failure)),
        }
    }

    /// The field of a JSON answer.
    pub async fn ask<T: DeserializeOwned>(&self, call: &Call<'_>, field: &str) -> Result<T, ProviderError> {
        let answer = self.send(call).await.map_err(|failure| self.error(call, failure))?;
        read(answer.body(), field).map_err(|failure| self.error(call, failure))
    }

    /// The same, or `None` where there is none.
    async fn find<T: DeserializeOwned>(&self, call: &Call<'_>, field: &str) -> Result<Option<T>, ProviderError> {
        match self.send(call).await {
            Ok(answer) => read(answer.body(), field).map(Some).map_err(|failure| self.error(call, failure)),
            Err(failure) if failure.class() == Some(Class::NotFound) => Ok(None),
            Err(failure) => Err(self.error(call, failure)),
        }
    }

    /// Deletes; what is not there is deleted. `false` if something still uses it.
    pub async fn delete(&self, doing: &str, path: String) -> Result<bool, ProviderError> {
        let call = Call::delete(doing, path);
        match self.send(&call).await {
            Ok(_) => Ok(true),
            Err(Failure::Refused(refusal)) if refusal.class == Class::NotFound => Ok(true),
            Err(Failure::Refused(refusal)) if refusal.is_still_in_use() => Ok(false),
            Err(failure) if failure.class() == Some(Class::Transient) => Ok(false),
            Err(failure) => Err(self.error(&call, failure)),
        }
    }

    pub async fn servers(&self, zone: &str, tag: &str) -> Result<Vec<Server>, ProviderError> {
        let query = format!("tags={}", encoded(tag));
        let mut servers: Vec<Server> =
            self.pages("listing servers", &format!("{}/servers", instance(zone)), &query, "servers").await?;
        // The filter of the API is looser than equality in places, so it is not trusted.
        servers.retain(|server| server.tags.iter().any(|own| own == tag));
        servers.iter_mut().for_each(|server| server.zone = zone.to_owned());
        Ok(servers)
    }

    pub async fn server(&self, zone: &str, id: &str) -> Result<Option<Server>, ProviderError> {
        let call = Call::get(format!("reading server {id}"), format!("{}/servers/{id}", instance(zone)));
        let server: Option<Server> = self.find(&call, "server").await?;
        Ok(server.map(|server| Server { zone: zone.to_owned(), ..server }))
    }

    pub async fn act(&self, server: &Server, action: &str) -> Result<(), Failure> {
        let path = format!("{}/servers/{}/action", instance(&server.zone), server.id);
        self.send(&Call::json("", Method::POST, path, &json!({ "action": action }))).await.map(drop)
    }

    pub async fn blocks(&self, zone: &str, tag: &str) -> Result<Vec<Block>, ProviderError> {
        let path = format!("{}/volumes", block(zone));
        let query = format!("tags={}", encoded(tag));
        let mut blocks: Vec<Block> = self.pages("listing block volumes", &path, &query, "volumes").await?;
        blocks.retain(|one| one.tags.iter().any(|own| own == tag));
        Ok(blocks)
    }

    pub async fn block(&self, zone: &str, id: &str) -> Result<Option<Block>, ProviderError> {
        let call = Call::get(format!("reading block volume {id}"), format!("{}/volumes/{id}", block(zone)));
        let found: Option<Value> = self.find(&call, "").await?;
        Ok(found.and_then(|value| serde_json::from_value(value).ok()))
    }

    pub async fn local_volumes(&self, zone: &str, tag: &str) -> Result<Vec<LocalVolume>, ProviderError> {
        let path = format!("{}/volumes", instance(zone));
        let query = format!("tags={}", encoded(tag));
        let mut volumes: Vec<LocalVolume> = self.pages("listing volumes", &path, &query, "volumes").await?;
        volumes.retain(|one| one.tags.iter().any(|own| own == tag));
        Ok(volumes)
    }

    pub async fn ips(&self, zone: &str, tag: &str) -> Result<Vec<Ip>, ProviderError> {
        let path = format!("{}/ips", instance(zone));
        let query = format!("tags={}", encoded(tag));
        let mut ips: Vec<Ip> = self.pages("listing addresses", &path, &query, "ips").await?;
        ips.retain(|one| one.tags.iter().any(|own| own == tag));
        Ok(ips)
    }

    pub async fn images(&self, zone: &str, label: &str) -> Result<Vec<LocalImage>, ProviderError> {
        let path = "/marketplace/v2/local-images";
        let label = encoded(label);
        let query = format!("image_label={label}&zone={zone}&type=instance_sbs&order_by=type_asc");
        let call = Call::get(format!("looking up image {label} in {zone}"), format!("{path}?{query}"));
        Ok(self.find(&call, "local_images").await?.unwrap_or_default())
    }

    pub async fn products(&self, zone: &str) -> Result<BTreeMap<String, Product>, ProviderError> {
        self.map_pages("listing server types", &format!("{}/products/servers", instance(zone))).await
    }

    pub async fn availability(&self, zone: &str) -> Result<BTreeMap<String, Availability>, ProviderError> {
        self.map_pages("listing stock", &format!("{}/products/servers/availability", instance(zone))).await
    }

    /// All pages of a list. Both APIs count from 1; the older one takes `per_page`, the newer one `page_size`.
    async fn pages<T: DeserializeOwned>(
        &self,
        doing: &str,
        path: &str,
        query: &str,
        field: &str,
    ) -> Result<Vec<T>, ProviderError> {
        let size = if path.starts_with("/block/") { "page_size" } else { "per_page" };
        let mut all = Vec::new();
        for page in 1..=MOST_PAGES {
            let call = Call::get(doing, format!("{path}?{query}&{size}=100&page={page}"));
            let items: Vec<T> = self.ask(&call, field).await?;
            let last = items.len() < 100;
            all.extend(items);
            if last {
                return Ok(all);
            }
        }
        let why = format!("the list has more than {MOST_PAGES} pages");
        Err(ProviderError::Unavailable { doing: doing.to_owned(), why })
    }

    /// All pages of an object by name. GPU types begin behind the first.
    async fn map_pages<T: DeserializeOwned>(
        &self,
        doing: &str,
        path: &str,
    ) -> Result<BTreeMap<String, T>, ProviderError> {
        let mut all: BTreeMap<String, T> = BTreeMap::new();
        for page in 1..=MOST_PAGES {
            let call = Call::get(doing, format!("{path}?page={page}"));
            let answer = self.send(&call).await.map_err(|failure| self.error(&call, failure))?;
            let items: BTreeMap<String, T> =
                read(answer.body(), "servers").map_err(|failure| self.error(&call, failure))?;
            let total = answer.headers().get("x-total-count").and_then(|value| value.to_str().ok());
            let total: Option<usize> = total.and_then(|text| text.parse().ok());
            let more = !items.is_empty();
            all.extend(items);
            if !more || total.is_some_and(|total| all.len() >= total) {
                return Ok(all);
            }
        }
        let why = format!("the list has more than {MOST_PAGES} pages");
        Err(ProviderError::Unavailable { doing: doing.to_owned(), why })
    }
}

pub(crate) fn instance(zone: &str) -> String {
    format!("/instance/v1/zones/{zone}")
}

pub(crate) fn block(zone: &str) -> String {
    format!("/block/v1/zones/{zone}")
}

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

/// One field of a JSON body; without a name, all of it.
fn read<T: DeserializeOwned>(body: &Bytes, field: &str) -> Result<T, Failure> {
    let nonsense = |error: serde_json::Error| Failure::Nonsense(format!("the answer is not as promised: {error}"));
    let mut value: Value = serde_json::from_slice(body).map_err(nonsense)?;
    let value = if field.is_empty() { value } else { value[field].take() };
    serde_json::from_value(value).map_err(nonsense)
}

/// What a cloud says when an action does not fit the present state: somebody was faster, so look again.
pub(crate) fn is_overtaken(failure: &Failure) -> bool {
    matches!(failure.class(), Some(Class::Transient | Class::NotFound))
        || matches!(failure, Failure::Refused(refusal) if refusal.is_still_in_use())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_encoded_as_a_whole() {
        assert_eq!(encoded("a/b=c&d"), "a%2Fb%3Dc%26d");
    }
}
