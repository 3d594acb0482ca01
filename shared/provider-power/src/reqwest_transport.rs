//! The transport over real sockets: rustls with ring, addresses checked after DNS, no proxy, no redirect.

use crate::{
    transport::{Transport, TransportError, TrustedAuthorities},
    url_policy::{UrlPolicy, UrlRefused},
};
use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use http::{Request, Response};
use reqwest::{
    Client,
    dns::{Addrs, Name, Resolve, Resolving},
    redirect::Policy,
};
use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, pem::PemObject as _},
};
use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

/// An answer of a power back end is small; the largest that bmclib allows is this.
const MOST_BYTES: usize = 512 * 1024;

/// Clients are made when they are first needed, one for each set of authorities.
pub struct ReqwestTransport {
    policy: Arc<UrlPolicy>,
    clients: Mutex<BTreeMap<Option<Arc<str>>, Client>>,
}

impl ReqwestTransport {
    pub fn new(policy: UrlPolicy) -> Self {
        ReqwestTransport { policy: Arc::new(policy), clients: Mutex::new(BTreeMap::new()) }
    }

    fn client(&self, authorities: Option<Arc<str>>) -> Result<Client, TransportError> {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients.get(&authorities) {
            return Ok(client.clone());
        }
        let tls = tls(authorities.as_deref()).map_err(TransportError::refused)?;
        let client = Client::builder()
            .tls_backend_preconfigured(tls)
            .redirect(Policy::none())
            // A proxy would resolve names where we cannot check them.
            .no_proxy()
            .connect_timeout(Duration::from_secs(10))
            .dns_resolver(CheckedDns { policy: self.policy.clone() })
            .build()
            .map_err(|error| TransportError::before(format!("the HTTP client cannot be made: {error}")))?;
        clients.insert(authorities, client.clone());
        Ok(client)
    }
}

#[async_trait]
impl Transport for ReqwestTransport {
    async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, TransportError> {
        self.policy
            .check(&request.uri().to_string())
            .map_err(|refused| TransportError::refused(format!("the URL is refused: {refused}")))?;
        let authorities = request.extensions().get::<TrustedAuthorities>().map(|trusted| trusted.0.clone());
        let client = self.client(authorities)?;
        let request = reqwest::Request::try_from(request)
            .map_err(|error| TransportError::before(error.without_url().to_string()))?;
        let mut answer = client.execute(request).await.map_err(failed)?;
        let mut response = Response::new(Bytes::new());
        *response.status_mut() = answer.status();
        *response.headers_mut() = answer.headers().clone();
        let mut body = BytesMut::new();
        while let Some(chunk) = answer.chunk().await.map_err(failed)? {
            if body.len() + chunk.len() > MOST_BYTES {
                return Err(TransportError::after(format!("the answer has more than {MOST_BYTES} bytes")));
            }
            body.extend_from_slice(&chunk);
        }
        *response.body_mut() = body.freeze();
        Ok(response)
    }
}

/// A connection that was never made has sent nothing.
fn failed(error: reqwest::Error) -> TransportError {
    let sent = !error.is_connect() && !error.is_builder();
    let refused = refusal(&error);
    // The chain says what the outermost error leaves out ("invalid peer certificate"); none of it has the URL.
    let error = error.without_url();
    let mut why = error.to_string();
    let mut source = std::error::Error::source(&error);
    while let Some(cause) = source {
        why = format!("{why}: {cause}");
        source = cause.source();
    }
    TransportError { sent, refused, why }
}

fn refusal(error: &reqwest::Error) -> bool {
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        if cause.is::<UrlRefused>() {
            return true;
        }
        source = cause.source();
    }
    false
}

/// The authorities of a PEM text; the error ends a sentence that begins with "the CA".
pub(crate) fn authorities_of(pem: &str) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
        let certificate = certificate.map_err(|_| "is not PEM".to_owned())?;
        roots.add(certificate).map_err(|error| format!("holds what is not a certificate: {error}"))?;
    }
    if roots.is_empty() { Err("holds no certificate".to_owned()) } else { Ok(roots) }
}

fn tls(authorities: Option<&str>) -> Result<ClientConfig, String> {
    let roots = match authorities {
        Some(pem) => authorities_of(pem).map_err(|why| format!("the CA {why}"))?,
        None => {
            let mut roots = RootCertStore::empty();
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            roots
        }
    };
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().map_err(|error| error.to_string())?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

/// Resolves a name once; the connection goes to just the addresses that were checked.
struct CheckedDns {
    policy: Arc<UrlPolicy>,
}

impl Resolve for CheckedDns {
    fn resolve(&self, name: Name) -> Resolving {
        let policy = self.policy.clone();
        Box::pin(async move {
            let host = name.as_str().to_owned();
            let found: Vec<SocketAddr> = tokio::net::lookup_host((host.as_str(), 0)).await?.collect();
            for address in &found {
                policy.check_address(&host, address.ip())?;
            }
            let addresses: Addrs = Box::new(found.into_iter());
            Ok(addresses)
        })
    }
}
