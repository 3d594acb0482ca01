//! The JSON of a pool and of the cluster, as GET shows them.

use super::{
    answer::{Answer, reply, set},
    node,
    request::Call,
    state::{Pool, State},
    versions,
};
use http::StatusCode;
use serde_json::{Value, json};

pub(super) fn pool_json(pool: &Pool, state: &State, call: &Call) -> Value {
    let mut properties = pool.properties.to_json();
    let version = pool.properties.orchestrator_version.clone();
    properties.insert("provisioningState".into(), json!(pool.provisioning.word()));
    properties.insert("powerState".into(), json!({"code": "Running"}));
    properties.insert("currentOrchestratorVersion".into(), json!(version));
    properties.insert("nodeImageVersion".into(), json!(node::image_version(pool)));
    if versions::has_etags(call) {
        properties.insert("eTag".into(), json!(pool.etag));
    }
    json!({
        "id": format!("{}/agentPools/{}", state.options.cluster_id(), pool.name),
        "name": pool.name,
        "type": "Microsoft.ContainerService/managedClusters/agentPools",
        "properties": properties,
    })
}

/// The cluster itself, as far as a provisioner reads it.
pub(super) fn cluster(state: &State, call: &Call) -> Answer {
    let options = &state.options;
    let profiles: Vec<Value> = state
        .pools
        .values()
        .map(|pool| {
            let mut profile = pool_json(pool, state, call)["properties"].take();
            profile["name"] = json!(pool.name);
            profile
        })
        .collect();
    let busy = state.running().next().is_some();
    let mut body = json!({
        "id": options.cluster_id(),
        "name": options.cluster,
        "type": "Microsoft.ContainerService/ManagedClusters",
        "location": options.location,
        "sku": {"name": "Base", "tier": "Standard"},
        "identity": {"type": "SystemAssigned", "tenantId": options.tenant},
        "properties": {
            "provisioningState": if busy { "Updating" } else { "Succeeded" },
            "powerState": {"code": "Running"},
            "kubernetesVersion": options.kubernetes_version,
            "currentKubernetesVersion": options.kubernetes_version,
            "nodeResourceGroup": options.node_resource_group(),
            "maxAgentPools": options.limits.pools,
            "agentPoolProfiles": profiles,
            "enableRBAC": true,
            "oidcIssuerProfile": {"enabled": true, "issuerURL": format!("{}/oidc/", call.base)},
        },
    });
    if versions::has_etags(call) {
        body["eTag"] = json!(state.cluster_etag);
    }
    let mut response = reply(StatusCode::OK, &body);
    set(&mut response, "cache-control", "no-cache");
    Ok(response)
}
