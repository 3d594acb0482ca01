//! Scaleway: the Instance API v1, the Block API and what a client needs around them, as a stateful double.
//!
//! Requests are answered from memory at once; what takes time on the real cloud (boot, stop, terminate, detach) runs on
//! the world's clock, with delays from the world's chance drawn when the request arrives. A server that boots with user
//! data that joins a cluster does so through `Fleet`; nothing here knows Kubernetes.

mod actions;
mod answer;
mod block;
pub mod catalogue;
mod cloud_init;
mod create;
mod create_volumes;
mod images;
mod ips;
mod lifecycle;
mod machine;
mod networks;
pub mod options;
mod products;
mod request;
mod server_json;
mod servers;
mod snapshot;
mod state;
mod user_data;
mod volumes;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use crate::{chance::Chance, clock::Clock, fleet::Fleet};
use answer::{
    Answer, Outcome, denied_authentication, locked, method_not_allowed, not_found, permissions_denied, unknown_resource,
};
use bytes::Bytes;
use http::{Method, Request, Response};
use jiff::SignedDuration;
use request::{Call, Query, set_header};
use state::State;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use answer::{rate_limited, server_error};
pub use options::Options;
pub use snapshot::{IpRecord, ServerRecord, Snapshot, VolumeRecord};
pub use state::{ServerState, VolumeKind};

/// A handle on the one Scaleway of a world; clones share it.
#[derive(Clone)]
pub struct Scaleway {
    inner: Arc<Inner>,
}

struct Inner {
    clock: Clock,
    /// The seed for what depends on names only.
    chance: Chance,
    ids: Chance,
    delays: Chance,
    request_ids: Chance,
    fleet: Arc<dyn Fleet>,
    state: Mutex<State>,
}

impl Scaleway {
    pub fn new(clock: Clock, chance: Chance, fleet: Arc<dyn Fleet>, options: Options) -> Self {
        let chance = chance.stream("scaleway");
        let stream = |name: &str| chance.stream(&format!("scaleway/{name}"));
        let (ids, delays, request_ids) = (stream("ids"), stream("delays"), stream("request-ids"));
        let state = Mutex::new(State::new(options));
        Scaleway { inner: Arc::new(Inner { clock, chance, ids, delays, request_ids, fleet, state }) }
    }

    /// Answers one request. Nothing here waits; the future is there for the callers' sake.
    pub async fn respond(&self, request: Request<Bytes>) -> Response<Bytes> {
        let mut answer = match self.throttle() {
            Some(answer) => answer,
            None => self.route(&request).unwrap_or_else(Answer::from),
        };
        set_header(&mut answer, "x-request-id", &self.inner.request_ids.uuid());
        set_header(&mut answer, "server", "Scaleway API Gateway (world)");
        answer
    }

    /// Changes stock, quotas, keys or misfortunes while the world runs.
    pub fn adjust(&self, change: impl FnOnce(&mut Options)) {
        change(&mut self.state().options);
    }

    /// Locks a server, as Scaleway's own people do for abuse or maintenance.
    pub fn lock(&self, server: &str) {
        let mut state = self.state();
        if let Some(server) = state.servers.get_mut(server) {
            server.state = ServerState::Locked;
            server.state_detail = "locked".to_owned();
            server.transition = None;
            server.generation += 1;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.inner.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn throttle(&self) -> Option<Answer> {
        let now = self.inner.clock.now();
        let mut state = self.state();
        let (allowed, span) = state.options.rate_limit?;
        let span = SignedDuration::try_from(span).unwrap_or(SignedDuration::MAX);
        while state.recent.front().is_some_and(|at| now.duration_since(*at) >= span) {
            state.recent.pop_front();
        }
        if state.recent.len() >= allowed as usize {
            return Some(rate_limited());
        }
        state.recent.push_back(now);
        None
    }

    fn route(&self, request: &Request<Bytes>) -> Outcome {
        let path = request.uri().path();
        let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
        let query = Query::parse(request.uri().query());
        let call = |zone| Call { method: request.method(), zone, query, body: request.body() };
        match segments.as_slice() {
            // The marketplace and the price list are public.
            ["marketplace", "v2", "local-images", rest @ ..] => self.marketplace(&call(""), rest.first().copied()),
            ["product-catalog", "v2alpha1", "public-catalog", "products"] => self.price_list(&call("")),
            ["instance", "v1", "zones", zone, rest @ ..] => {
                self.authorize(request, &resource_of("compute", rest))?;
                known_zone(zone)?;
                self.instance(&call(zone), rest)
            }
            ["block", "v1" | "v1alpha1", "zones", zone, rest @ ..] => {
                self.authorize(request, &resource_of("block", rest))?;
                known_zone(zone)?;
                self.block(&call(zone), rest)
            }
            ["ipam", "v1", "regions", _, "ips"] => {
                self.authorize(request, "ipam_ips")?;
                self.ipam(&call(""))
            }
            _ => Err(unknown_resource()),
        }
    }

    fn authorize(&self, request: &Request<Bytes>, resource: &str) -> Result<(), answer::Refusal> {
        let token = request.headers().get("x-auth-token").and_then(|value| value.to_str().ok()).unwrap_or_default();
        if !request::is_uuid(token) {
            return Err(denied_authentication("invalid_argument"));
        }
        let state = self.state();
        let key = state.options.keys.iter().find(|key| key.secret == token);
        let key = key.ok_or_else(|| denied_authentication("not_found"))?;
        if key.expired {
            return Err(denied_authentication("expired"));
        }
        let action = if request.method() == Method::GET { "read" } else { "write" };
        match key.denied.iter().any(|(denied, verb)| denied == resource && verb == action) {
            true => Err(permissions_denied(resource, action)),
            false => Ok(()),
        }
    }

    fn instance(&self, call: &Call<'_>, path: &[&str]) -> Outcome {
        let method = call.method;
        match path {
            ["servers"] if method == Method::POST => self.create_server(call),
            ["servers"] if method == Method::GET => self.list_servers(call),
            ["servers", id] => match *method {
                Method::GET => self.get_server(call, id),
                Method::PATCH => self.patch_server(call, id),
                Method::DELETE => self.delete_server(call, id),
                _ => Err(method_not_allowed()),
            },
            ["servers", id, "action"] if method == Method::POST => self.act(call, id),
            ["servers", id, "action"] if method == Method::GET => self.list_actions(call, id),
            ["servers", id, "user_data"] if method == Method::GET => self.list_user_data(call, id),
            ["servers", id, "user_data", key] => self.user_data(call, id, key),
            ["servers", id, "attach-volume"] if method == Method::POST => self.attach_volume(call, id),
            ["servers", id, "detach-volume"] if method == Method::POST => self.detach_volume(call, id),
            ["servers", id, "private_nics", rest @ ..] => self.private_nics(call, id, rest.first().copied()),
            ["volumes", rest @ ..] => self.local_volumes(call, rest.first().copied()),
            ["ips", rest @ ..] => self.ips(call, rest.first().copied()),
            ["images", id] if method == Method::GET => self.instance_image(call, id),
            ["security_groups"] if method == Method::GET => self.security_groups(call),
            ["products", "servers"] if method == Method::GET => self.server_types(call),
            ["products", "servers", "availability"] if method == Method::GET => self.availability(call),
            ["dashboard"] if method == Method::GET => self.dashboard(call),
            ["servers" | "images" | "security_groups" | "products" | "dashboard", ..] => Err(method_not_allowed()),
            _ => Err(unknown_resource()),
        }
    }
}

/// The name under which keys allow or deny: `compute_servers`, `block_volumes`, …
fn resource_of(product: &str, path: &[&str]) -> String {
    format!("{product}_{}", path.first().unwrap_or(&"none"))
}

fn known_zone(zone: &str) -> Result<(), answer::Refusal> {
    if catalogue::ZONES.contains(&zone) { Ok(()) } else { Err(unknown_resource()) }
}

/// The server of a request, which must be in the zone of its path.
fn server_in<'a>(state: &'a mut State, zone: &str, id: &str) -> Result<&'a mut state::Server, answer::Refusal> {
    state.servers.get_mut(id).filter(|server| server.zone == zone).ok_or_else(|| not_found("instance_server", id))
}

fn not_locked(server: &state::Server) -> Result<(), answer::Refusal> {
    if server.state == ServerState::Locked { Err(locked("instance_server", &server.id)) } else { Ok(()) }
}
