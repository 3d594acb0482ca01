//! The world's Azure under our provider: the transport that leads there, and the settings that fit it.

use async_trait::async_trait;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::BodyExt as _;
use provider_aks::{Aks, AzureTokens, Settings, Transport, TransportError};
use std::{sync::Arc, time::Duration};
use world::{
    World,
    arm::ArmOptions,
    door::{Door, Respond},
};

/// The world's Azure as a transport.
struct WorldTransport<R>(Door<R>);

#[async_trait]
impl<R: Respond> Transport for WorldTransport<R> {
    async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, TransportError> {
        let lost = |why: String| TransportError { sent: true, why };
        let response = self.0.call(request).await.map_err(|error| lost(error.to_string()))?;
        let (head, body) = response.into_parts();
        let body = body.collect().await.map_err(|error| lost(error.to_string()))?.to_bytes();
        Ok(Response::from_parts(head, body))
    }
}

/// The first identity of these options, by its secret, through azure_identity.
pub fn settings(options: &ArmOptions) -> Settings {
    let lookup = |name: &str| {
        let value = match name {
            "ARM_SUBSCRIPTION_ID" => &options.subscription,
            "ARM_RESOURCE_GROUP" => &options.resource_group,
            "AZURE_CLUSTER_NAME" => &options.cluster,
            "LOCATION" => &options.location,
            "AZURE_TENANT_ID" => &options.tenant,
            "AZURE_CLIENT_ID" => &options.identities[0].client_id,
            "AZURE_CLIENT_SECRET" => return options.identities[0].secret.clone(),
            "PILOTLIGHT_AZURE_CREDENTIAL" => return Some("client-secret".to_owned()),
            _ => return None,
        };
        Some(value.clone())
    };
    Settings::read(lookup).unwrap()
}

/// One more provider for a world, as another machine would make it.
pub fn provider(world: &World, settings: &Settings) -> Aks {
    let transport: Arc<dyn Transport> = Arc::new(WorldTransport(world.aks()));
    let tokens = Arc::new(AzureTokens::new(settings.clone(), transport.clone()));
    let clock = world.clock;
    Aks::new(settings.clone(), transport, tokens).with_clock(move || clock.now())
}

/// Short operations: few polls, so that every request of a life can have its turn.
pub fn quick(options: &mut ArmOptions) {
    let span = |least, most| (Duration::from_secs(least), Duration::from_secs(most));
    options.timings.boot = span(12, 14);
    options.timings.settle = span(1, 2);
    options.timings.stop = span(6, 7);
    options.timings.delete = span(8, 9);
    options.timings.failure = span(12, 14);
}
