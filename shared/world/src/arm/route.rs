//! From a request to its answer: first the front door (token, version, scope, rights, rate), then who serves it.

use super::{
    Core,
    answer::{Answer, Refusal, reply, set},
    compute,
    identity::{self, SignIn},
    operations,
    options::Rate,
    pools, prices,
    request::Call,
    shapes,
    state::State,
    token::{self, Caller},
    versions,
};
use bytes::Bytes;
use http::{Method, Response, StatusCode};
use serde_json::json;
use std::sync::Arc;

pub(super) fn answer(core: &Arc<Core>, call: &Call) -> Response<Bytes> {
    let lowered = call.lowered();
    let words: Vec<&str> = lowered.iter().map(String::as_str).collect();
    if words.first() == Some(&"subscriptions") {
        let mut state = core.lock();
        let enveloped = state.options.enveloped_errors;
        let mut left = None;
        let mut response = resource_manager(core, &mut state, call, &words, &mut left)
            .unwrap_or_else(|refusal| refusal.into_response(enveloped));
        let id = core.chance.uuid();
        set(&mut response, "x-ms-request-id", &id);
        set(&mut response, "x-ms-correlation-request-id", call.header("x-ms-correlation-request-id").unwrap_or(&id));
        if let Some((name, left)) = left {
            set(&mut response, name, &left.to_string());
        }
        return response;
    }
    public(core, call, &words)
}

/// Endpoints that want no token: sign-in, discovery, prices.
fn public(core: &Arc<Core>, call: &Call, words: &[&str]) -> Response<Bytes> {
    let mut guard = core.lock();
    let State { options, tokens, .. } = &mut *guard;
    let sign_in = SignIn { options, book: tokens, chance: &core.chance, now: core.clock.now() };
    match (&call.method, words) {
        (&Method::POST, [tenant, "oauth2", "v2.0", "token"]) => sign_in.token(tenant, call, true),
        (&Method::POST, [tenant, "oauth2", "token"]) => sign_in.token(tenant, call, false),
        (&Method::GET, ["metadata", "identity", "oauth2", "token"]) => sign_in.metadata_token(call),
        (&Method::GET, ["msi", "token"]) => sign_in.app_service_token(call),
        (&Method::GET, ["common" | "organizations", "discovery", "instance"]) => {
            identity::instance_discovery(call, &options.tenant)
        }
        (
            &Method::GET,
            [tenant, "v2.0", ".well-known", "openid-configuration"] | [tenant, ".well-known", "openid-configuration"],
        ) => identity::openid_configuration(call, tenant),
        (&Method::GET, [_, "discovery", "v2.0", "keys"]) => reply(StatusCode::OK, &json!({"keys": []})),
        (&Method::GET, ["api", "retail", "prices"]) => prices::list(call, options),
        _ => no_route(call).into_response(true),
    }
}

/// The remaining-calls header of the bucket that was used.
type Left = Option<(&'static str, u64)>;

fn resource_manager(core: &Arc<Core>, state: &mut State, call: &Call, words: &[&str], left: &mut Left) -> Answer {
    let now = core.clock.now();
    let caller = state.tokens.check(call, &state.options, now)?;
    versions::given(call)?;
    let [_, subscription, rest @ ..] = words else { return Err(no_route(call)) };
    if !state.options.subscription.eq_ignore_ascii_case(subscription) {
        let message = format!("The subscription '{subscription}' could not be found.");
        return Err(Refusal::arm(StatusCode::NOT_FOUND, "SubscriptionNotFound", message));
    }
    throttle(core, state, call, &caller, left)?;
    // Rights are checked before existence, or a stranger could find out what there is.
    let allowed = |state: &State, action: &str| token::authorize(&caller, action, &call.path, &state.options);
    match (&call.method, rest) {
        (
            method,
            ["resourcegroups", group, "providers", "microsoft.containerservice", "managedclusters", cluster, rest @ ..],
        ) => {
            versions::of_containers(
                call,
                if rest.is_empty() { "managedClusters" } else { "managedClusters/agentPools" },
                &state.options,
            )?;
            let kind = "Microsoft.ContainerService/managedClusters";
            match (method, rest) {
                (&Method::GET, []) => allowed(state, &format!("{kind}/read"))?,
                (&Method::GET, ["agentpools", ..]) => allowed(state, &format!("{kind}/agentPools/read"))?,
                (&Method::PUT, ["agentpools", _]) => allowed(state, &format!("{kind}/agentPools/write"))?,
                (&Method::DELETE, ["agentpools", _]) => allowed(state, &format!("{kind}/agentPools/delete"))?,
                _ => return Err(no_route(call)),
            }
            check_parents(state, call, group, cluster)?;
            managed_cluster(core, state, call, rest)
        }
        (
            &Method::GET,
            ["providers", "microsoft.containerservice", "locations", _, kind @ ("operations" | "operationresults"), id],
        ) => {
            versions::any(call, "locations/operations", &state.options)?;
            allowed(state, &format!("Microsoft.ContainerService/locations/{kind}/read"))?;
            bucket(core, state, &format!("operations/{}", caller.client_id), state.options.rates.operation_status)?;
            if *kind == "operations" { operations::status(state, id) } else { operations::result(state, id, call) }
        }
        (&Method::GET, ["providers", "microsoft.compute", "skus"]) => {
            versions::any(call, "skus", &state.options)?;
            allowed(state, "Microsoft.Compute/skus/read")?;
            compute::list_sizes(call, &state.options)
        }
        (&Method::GET, ["providers", "microsoft.compute", "locations", location, "usages"]) => {
            versions::any(call, "locations/usages", &state.options)?;
            allowed(state, "Microsoft.Compute/locations/usages/read")?;
            compute::list_usages(location, &state.options, state)
        }
        _ => Err(no_route(call)),
    }
}

fn managed_cluster(core: &Arc<Core>, state: &mut State, call: &Call, rest: &[&str]) -> Answer {
    // The pool's name keeps its case: upper case is an error in PUT, and the same pool everywhere else.
    let name = call.segments.last().map(String::as_str).unwrap_or_default();
    match (&call.method, rest) {
        (&Method::GET, []) => shapes::cluster(state, call),
        (&Method::GET, ["agentpools"]) => pools::list(state, call),
        (&Method::GET, ["agentpools", name]) => pools::get(state, name, call),
        (&Method::PUT, ["agentpools", lowered]) => {
            bucket(core, state, &format!("put/{lowered}"), state.options.rates.put_agent_pool)?;
            pools::put(core, state, name, call)
        }
        (&Method::DELETE, ["agentpools", name]) => pools::delete(core, state, name, call),
        _ => Err(no_route(call)),
    }
}

fn check_parents(state: &State, call: &Call, group: &str, cluster: &str) -> Result<(), Refusal> {
    let options = &state.options;
    if !options.resource_group.eq_ignore_ascii_case(group) {
        let message = format!("Resource group '{group}' could not be found.");
        return Err(Refusal::arm(StatusCode::NOT_FOUND, "ResourceGroupNotFound", message));
    }
    if options.cluster.eq_ignore_ascii_case(cluster) {
        return Ok(());
    }
    if call.method == Method::PUT {
        let message = format!(
            "Failed to perform 'write' on resource(s) of type 'managedClusters/agentPools', because the parent resource '{}' could not be found.",
            call.path.rsplit_once("/agent").map_or(call.path.as_str(), |(parent, _)| parent)
        );
        return Err(Refusal::arm(StatusCode::NOT_FOUND, "ParentResourceNotFound", message));
    }
    let message = format!(
        "The Resource 'Microsoft.ContainerService/managedClusters/{cluster}' under resource group '{group}' was not found. For more details please go to https://aka.ms/ARMResourceNotFoundFix"
    );
    Err(Refusal::arm(StatusCode::NOT_FOUND, "ResourceNotFound", message))
}

/// ARM's own buckets, by subscription, principal and kind of request.
fn throttle(core: &Core, state: &mut State, call: &Call, caller: &Caller, left: &mut Left) -> Result<(), Refusal> {
    let rates = &state.options.rates;
    let (kind, header, rate) = match call.method {
        Method::GET | Method::HEAD => ("reads", "x-ms-ratelimit-remaining-subscription-reads", rates.reads),
        Method::DELETE => ("deletes", "x-ms-ratelimit-remaining-subscription-deletes", rates.deletes),
        _ => ("writes", "x-ms-ratelimit-remaining-subscription-writes", rates.writes),
    };
    let Some(rate) = rate else { return Ok(()) };
    match state.buckets.take(&format!("{kind}/{}", caller.client_id), rate, core.clock.now()) {
        Ok(remaining) => {
            *left = Some((header, remaining));
            Ok(())
        }
        Err(wait) => {
            let message = format!(
                "Number of '{kind}' requests for subscription '{}' exceeded the limit. Please try again after '{wait}' seconds.",
                state.options.subscription
            );
            let refusal = Refusal::arm(StatusCode::TOO_MANY_REQUESTS, "SubscriptionRequestsThrottled", message);
            Err(refusal.header("retry-after", wait.to_string()))
        }
    }
}

/// AKS's own buckets.
fn bucket(core: &Core, state: &mut State, name: &str, rate: Option<Rate>) -> Result<(), Refusal> {
    let Some(rate) = rate else { return Ok(()) };
    let taken = state.buckets.take(name, rate, core.clock.now());
    taken.map(drop).map_err(|wait| {
        let message = format!("The request is throttled. Please try again after {wait} seconds.");
        Refusal::aks(StatusCode::TOO_MANY_REQUESTS, "Throttled", message).header("retry-after", wait.to_string())
    })
}

fn no_route(call: &Call) -> Refusal {
    let message = format!("This world does not serve {} {}.", call.method, call.path);
    Refusal::arm(StatusCode::NOT_FOUND, "NotFound", message)
}
