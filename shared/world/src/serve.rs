//! The world over loopback: TLS with a certificate authority of its own, so that any client can be told to trust it.

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::BodyExt as _;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, KeyUsagePurpose};
use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        self, ServerConfig,
        pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
    },
};

use crate::{
    body::WorldBody,
    door::{Door, Respond},
};

/// Larger than any object may be; the API server has its own, smaller limit and answers to it.
const MOST_BYTES: usize = 8 * 1024 * 1024;

/// A certificate authority and a certificate for loopback, made for this run only.
pub struct Certificates {
    /// What clients have to trust, in PEM.
    pub authority: String,
    acceptor: TlsAcceptor,
}

/// Why certificates could not be made.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    #[error("cannot make a certificate: {0}")]
    Make(#[from] rcgen::Error),
    #[error("cannot use the certificate: {0}")]
    Use(#[from] rustls::Error),
}

impl Certificates {
    pub fn new() -> Result<Self, CertificateError> {
        let mut authority = CertificateParams::default();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        authority.distinguished_name.push(rcgen::DnType::CommonName, "pilotlight world");
        let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate()?)?;
        let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
        let key = KeyPair::generate()?;
        let certificate = CertificateParams::new(names)?.signed_by(&key, &authority)?;
        let private = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], private)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Certificates { authority: authority.pem(), acceptor: TlsAcceptor::from(Arc::new(config)) })
    }
}

/// A place that listens.
pub struct Listening {
    listener: TcpListener,
}

impl Listening {
    /// Binds to loopback only. Port 0 is any that is free.
    pub async fn bind(port: u16) -> io::Result<Self> {
        TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.map(|listener| Listening { listener })
    }

    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves a place for ever; without certificates over plain HTTP.
    pub async fn serve<R: Respond>(self, door: Door<R>, certificates: Option<Arc<Certificates>>) {
        loop {
            let Ok((stream, _)) = self.listener.accept().await else {
                // Out of file descriptors, most likely; nothing tells when there are more.
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
                continue;
            };
            drop(stream.set_nodelay(true));
            tokio::spawn(connection(stream, door.clone(), certificates.clone()));
        }
    }
}

async fn connection<R: Respond>(stream: TcpStream, door: Door<R>, certificates: Option<Arc<Certificates>>) {
    let service = service_fn(move |request: Request<Incoming>| {
        let door = door.clone();
        async move { one_request(&door, request).await }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new());
    // Errors are the client's or were wanted (an injected reset): nothing is left to do.
    match certificates {
        None => drop(builder.serve_connection(TokioIo::new(stream), service).await),
        Some(certificates) => {
            let Ok(stream) = certificates.acceptor.accept(stream).await else { return };
            drop(builder.serve_connection(TokioIo::new(stream), service).await);
        }
    }
}

async fn one_request<R: Respond>(door: &Door<R>, request: Request<Incoming>) -> io::Result<Response<WorldBody>> {
    let (head, body) = request.into_parts();
    let limited = http_body_util::Limited::new(body, MOST_BYTES);
    let body = match limited.collect().await {
        Ok(body) => body.to_bytes(),
        Err(_) => Bytes::new(),
    };
    door.call(Request::from_parts(head, body)).await
}
