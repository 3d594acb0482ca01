//! The real client over a real socket: TLS that is checked, TLS that may be left unchecked on this machine, and plain HTTP.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::{PROJECT, SECRET_KEY, Stage, key, request};
use model::Ensured;
use provider::{Change as _, Look as _};
use provider_scaleway::{Scaleway, Settings};
use std::sync::Arc;
use world::serve::{Certificates, Listening};

fn provider(url: &str, insecure: &str) -> Scaleway {
    let known = [
        ("SCW_SECRET_KEY", SECRET_KEY),
        ("SCW_DEFAULT_PROJECT_ID", PROJECT),
        ("SCW_API_URL", url),
        ("SCW_INSECURE", insecure),
    ];
    let find = |name: &str| known.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
    Scaleway::new(Settings::from_lookup(find).unwrap())
}

#[tokio::test]
async fn requests_and_answers_travel_over_tls_and_over_plain_http() {
    for encrypted in [true, false] {
        let stage = Stage::plain();
        let listening = Listening::bind(0).await.unwrap();
        let scheme = if encrypted { "https" } else { "http" };
        let url = format!("{scheme}://{}", listening.address().unwrap());
        let certificates = encrypted.then(|| Arc::new(Certificates::new().unwrap()));
        tokio::spawn(listening.serve(stage.world.scaleway(), certificates));
        if encrypted {
            let error = provider(&url, "false").observe(&key("u")).await.unwrap_err();
            assert_eq!(error.reason(), "Unavailable", "a certificate that nobody vouches for: {error}");
            assert!(stage.world.history.exchanges().is_empty());
        }
        let provider = provider(&url, &encrypted.to_string());
        assert_eq!(provider.offerings().await.unwrap().len(), 32);
        let started = provider.ensure(&request("L4-1-24G", "fr-par-2"), None).await.unwrap();
        assert!(matches!(started, Ensured::InProgress { .. }));
        assert_eq!(stage.present().servers.len(), 1);
        assert_eq!(provider.owned().await.unwrap().len(), 1);
    }
}
