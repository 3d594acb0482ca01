//! The way to the API server: a kubeconfig, or the service account of the pod we run in.

use core::time::Duration;
use http::{HeaderValue, header::USER_AGENT};
use kube::{
    Client, Config,
    config::{InClusterError, KubeconfigError},
};
use std::{ffi::OsStr, path::PathBuf};

use crate::{
    FIELD_MANAGER,
    ask::LONGEST_CALL,
    connect_config::{from_kubeconfig, in_pod},
    connect_entra::{EntraTokens, signed_in, take_scope},
};

const CONNECT: Duration = Duration::from_secs(5);

/// A watch is silent for as long as nothing changes; the server ends it before this.
const LONGEST_SILENCE: Duration = Duration::from_secs(330);

/// Why there is no way to the API server. What to set is in the text.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    #[error("KUBECONFIG is {}: {why}. Set it to a kubeconfig file that we can read", path.display())]
    Kubeconfig { path: PathBuf, why: KubeconfigError },
    /// Of what the variable holds nothing is repeated: there are secrets in it.
    #[error("KUBECONFIG holds a kubeconfig that cannot be used: {why}. Check the document, or set a path instead")]
    Inline { why: String },
    #[error(
        "there is no way to the API server: {why}. Set KUBECONFIG to a kubeconfig file, or run in a pod with a service \
         account (automountServiceAccountToken: true)"
    )]
    Nowhere { why: InClusterError },
    #[error("a client for {url} cannot be made: {why}. Check certificates and credentials of the kubeconfig")]
    Client { url: String, why: kube::Error },
}

/// How to get to the API server.
#[derive(Clone, Default)]
pub struct Way {
    /// The value of the variable KUBECONFIG: paths as kubectl takes them, a kubeconfig itself, or one in base64. Without it, we
    /// run in a pod.
    pub kubeconfig: Option<String>,
    /// Who we are to Entra ID, for a kubeconfig that says to ask kubelogin. Without it, kubelogin is asked.
    pub entra: Option<EntraTokens>,
}

impl Way {
    /// Nothing is sent yet.
    pub async fn connect(&self) -> Result<Client, ConnectError> {
        self.client(LONGEST_CALL).await
    }

    /// The same for whoever watches: it may wait long for the next word.
    pub async fn connect_to_watch(&self) -> Result<Client, ConnectError> {
        self.client(LONGEST_SILENCE).await
    }

    async fn client(&self, read_timeout: Duration) -> Result<Client, ConnectError> {
        let config = match self.kubeconfig.as_deref().filter(|value| !value.is_empty()) {
            Some(value) => from_kubeconfig(value).await?,
            None => in_pod()?,
        };
        let mut config = ours(config);
        config.read_timeout = Some(read_timeout);
        let url = config.cluster_url.to_string();
        let client = match &self.entra {
            Some(tokens) => match take_scope(&mut config.auth_info) {
                Some(scope) => Client::try_from(config).map(|client| signed_in(client, scope, tokens.clone())),
                None => Client::try_from(config),
            },
            None => Client::try_from(config),
        };
        client.map_err(|why| ConnectError::Client { url, why })
    }
}

/// By the value of KUBECONFIG alone.
pub async fn connect(kubeconfig: Option<&OsStr>) -> Result<Client, ConnectError> {
    let kubeconfig = kubeconfig.map(|value| value.to_string_lossy().into_owned());
    Way { kubeconfig, entra: None }.connect().await
}

fn ours(mut config: Config) -> Config {
    config.connect_timeout = Some(CONNECT);
    // A connection may have been idle for longer than that before it is used again.
    config.reset_reader_on_write = true;
    // A refused eviction is a 429, and a lost write is uncertain: whether to ask again is decided elsewhere.
    config.default_retry = false;
    config.headers.push((USER_AGENT, HeaderValue::from_static(FIELD_MANAGER)));
    config
}
