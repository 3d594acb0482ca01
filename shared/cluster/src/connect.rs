//! The way to the API server: a kubeconfig file, or the service account of the pod we run in.

use core::time::Duration;
use http::{HeaderValue, header::USER_AGENT};
use kube::{
    Client, Config,
    config::{InClusterError, KubeConfigOptions, Kubeconfig, KubeconfigError},
};
use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

use crate::{FIELD_MANAGER, ask::LONGEST_CALL};

const CONNECT: Duration = Duration::from_secs(5);

/// Why there is no way to the API server. What to set is in the text.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    #[error("KUBECONFIG is {}: {why}. Set it to a kubeconfig file that we can read", path.display())]
    Kubeconfig { path: PathBuf, why: KubeconfigError },
    #[error(
        "there is no way to the API server: {why}. Set KUBECONFIG to a kubeconfig file, or run in a pod with a service \
         account (automountServiceAccountToken: true)"
    )]
    Nowhere { why: InClusterError },
    #[error("a client for {url} cannot be made: {why}. Check certificates and credentials of the kubeconfig")]
    Client { url: String, why: kube::Error },
}

/// A watch is silent for as long as nothing changes; the server ends it before this.
const LONGEST_SILENCE: Duration = Duration::from_secs(330);

/// `kubeconfig` is the value of the variable KUBECONFIG: one path or several, as kubectl takes them. Without it, we run
/// in a pod. Nothing is sent yet.
pub async fn connect(kubeconfig: Option<&OsStr>) -> Result<Client, ConnectError> {
    client(ours(read(kubeconfig).await?))
}

/// The same for whoever watches: it may wait long for the next word.
pub async fn connect_to_watch(kubeconfig: Option<&OsStr>) -> Result<Client, ConnectError> {
    let mut config = ours(read(kubeconfig).await?);
    config.read_timeout = Some(LONGEST_SILENCE);
    client(config)
}

async fn read(kubeconfig: Option<&OsStr>) -> Result<Config, ConnectError> {
    match kubeconfig.filter(|paths| !paths.is_empty()) {
        Some(paths) => from_files(paths).await,
        None => Config::incluster().map_err(|why| ConnectError::Nowhere { why }),
    }
}

fn client(config: Config) -> Result<Client, ConnectError> {
    let url = config.cluster_url.to_string();
    Client::try_from(config).map_err(|why| ConnectError::Client { url, why })
}

async fn from_files(paths: &OsStr) -> Result<Config, ConnectError> {
    let failed = |path: &Path, why| ConnectError::Kubeconfig { path: path.to_owned(), why };
    let mut merged = Kubeconfig::default();
    for path in std::env::split_paths(paths).filter(|path| !path.as_os_str().is_empty()) {
        let next = Kubeconfig::read_from(&path).map_err(|why| failed(&path, why))?;
        merged = merged.merge(next).map_err(|why| failed(&path, why))?;
    }
    let options = KubeConfigOptions::default();
    Config::from_custom_kubeconfig(merged, &options).await.map_err(|why| failed(Path::new(paths), why))
}

fn ours(mut config: Config) -> Config {
    config.connect_timeout = Some(CONNECT);
    config.read_timeout = Some(LONGEST_CALL);
    // A connection may have been idle for longer than that before it is used again.
    config.reset_reader_on_write = true;
    // A refused eviction is a 429, and a lost write is uncertain: whether to ask again is decided elsewhere.
    config.default_retry = false;
    config.headers.push((USER_AGENT, HeaderValue::from_static(FIELD_MANAGER)));
    config
}
