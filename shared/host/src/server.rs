//! The HTTP server: bounded in connections, bytes and time, and drained on SIGTERM.

mod body;

use bytes::Bytes;
use http::{Request, Response, request::Parts};
use http_body_util::Full;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::GracefulShutdown,
};
use std::{
    convert::Infallible,
    future::Future,
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    time::Instant,
};

use crate::deliver::REQUEST_TIME;
pub use body::Unread;
use body::{BodyBudget, read_body};

/// How long SIGTERM waits for requests under way.
pub const DRAIN_TIME: Duration = Duration::from_secs(30);

/// Headers have to arrive in this time; it also ends connections that say nothing.
const HEADER_TIME: Duration = Duration::from_secs(30);
const HEADER_BYTES: usize = 64 * 1024;

/// Below the usual limit of open files. Further clients wait in the kernel's queue.
const MOST_CONNECTIONS: usize = 512;

/// What all bodies under way may hold together.
const BODY_BUDGET: usize = 64 * 1024 * 1024;

/// What is served: first the request line and headers, then the body.
pub trait Site: Send + Sync + 'static {
    fn admit(&self, head: &Parts) -> Admission;

    fn accept(&self, head: Parts, body: Bytes, deadline: Instant) -> impl Future<Output = Response<Bytes>> + Send;

    /// The body could not be read.
    fn unread(&self, head: &Parts, why: Unread) -> Response<Bytes>;
}

/// What a request line and headers lead to.
pub enum Admission {
    /// Read the body, up to this many bytes.
    Read { most: usize },
    /// Answered without it.
    Answered(Response<Bytes>),
}

/// A bound socket that nobody serves yet.
#[derive(Debug)]
pub struct Listening {
    listener: TcpListener,
}

/// Binds; without an address on all interfaces, both families where the machine has both.
pub async fn listen(address: Option<IpAddr>, port: u16) -> io::Result<Listening> {
    let listener = match address {
        Some(address) => TcpListener::bind((address, port)).await?,
        None => match TcpListener::bind((Ipv6Addr::UNSPECIFIED, port)).await {
            Ok(listener) => listener,
            // No IPv6 here; a port that is taken fails again, with the right error.
            Err(_) => TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).await?,
        },
    };
    Ok(Listening { listener })
}

impl Listening {
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until `stop` is ready, then finishes what is under way.
    pub async fn serve<S: Site>(self, site: S, stop: impl Future<Output = ()>) {
        let site = Arc::new(site);
        let graceful = GracefulShutdown::new();
        let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
        let budget = BodyBudget::new(BODY_BUDGET);
        tokio::pin!(stop);
        loop {
            let stream = tokio::select! {
                () = &mut stop => break,
                stream = self.next(&places) => stream,
            };
            let Some((stream, place)) = stream else { continue };
            let (site, budget) = (site.clone(), budget.clone());
            let service = service_fn(move |request| {
                let (site, budget) = (site.clone(), budget.clone());
                async move { Ok::<_, Infallible>(one_request(&*site, &budget, request).await.map(Full::new)) }
            });
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEADER_TIME)
                .max_buf_size(HEADER_BYTES)
                // A sender that has said everything may close its half; the work goes on.
                .half_close(true)
                .serve_connection(TokioIo::new(stream), service);
            let connection = graceful.watch(connection);
            tokio::spawn(async move {
                // An error here is the client's (reset, no HTTP); it was answered where that was possible.
                drop(connection.await);
                drop(place);
            });
        }
        drop(self.listener);
        if tokio::time::timeout(DRAIN_TIME, graceful.shutdown()).await.is_err() {
            tracing::warn!(
                seconds = DRAIN_TIME.as_secs(),
                "requests were still under way after draining; leaving them"
            );
        }
    }

    async fn next(&self, places: &Arc<Semaphore>) -> Option<(TcpStream, tokio::sync::OwnedSemaphorePermit)> {
        let place = places.clone().acquire_owned().await.ok()?;
        match self.listener.accept().await {
            Ok((stream, _)) => {
                // Answers are small and whole: waiting to fill a packet only delays them.
                drop(stream.set_nodelay(true));
                Some((stream, place))
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                // Out of file descriptors, most likely; nothing tells when there are more.
                tokio::time::sleep(Duration::from_millis(20)).await;
                None
            }
        }
    }
}

async fn one_request<S: Site>(site: &S, budget: &BodyBudget, request: Request<Incoming>) -> Response<Bytes> {
    let deadline = Instant::now() + REQUEST_TIME;
    let (head, body) = request.into_parts();
    let most = match site.admit(&head) {
        Admission::Read { most } => most,
        Admission::Answered(response) => return response,
    };
    match read_body(body, &head.headers, most, budget, deadline).await {
        // The permit is held until the answer is there.
        Ok((body, _permit)) => site.accept(head, body, deadline).await,
        Err(why) => site.unread(&head, why),
    }
}
