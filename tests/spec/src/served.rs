//! A function served over HTTP on loopback, and a client that sends exactly the bytes it is told to.

use host::{Deliverer, Function, SettingSource, Settings, listen, platform::http::Http};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde_json::Value;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    sync::oneshot,
};

/// Settings for a test: unsigned unless told otherwise.
pub fn settings(pairs: &[(&str, &str)]) -> Settings {
    let all = [("PILOTLIGHT_ALLOW_UNSIGNED", "true")].into_iter().chain(pairs.iter().copied());
    Settings::from_source(SettingSource::from_pairs(all)).expect("the settings of a test are right")
}

pub fn deliverer(functions: Vec<Function>, pairs: &[(&str, &str)]) -> Deliverer {
    Deliverer::new(functions, &settings(pairs))
}

/// A running server. Dropping it stops it.
pub struct Served {
    address: SocketAddr,
    _stop: oneshot::Sender<()>,
}

/// What came back.
#[derive(Debug, Clone, PartialEq)]
pub struct Received {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

impl Served {
    pub async fn start(functions: Vec<Function>, pairs: &[(&str, &str)]) -> Self {
        let settings = settings(pairs);
        let listening = listen(Some(IpAddr::V4(Ipv4Addr::LOCALHOST)), 0).await.expect("a port on loopback");
        let address = listening.address().expect("a bound socket has an address");
        let (stop, stopped) = oneshot::channel::<()>();
        let site = Http::new(Deliverer::new(functions, &settings), settings.signing.clone());
        tokio::spawn(listening.serve(site, async move { drop(stopped.await) }));
        Served { address, _stop: stop }
    }

    pub async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.expect("the server accepts")
    }

    /// Sends bytes as they are and reads until the server closes.
    pub async fn raw(&self, bytes: &[u8]) -> Vec<u8> {
        let mut stream = self.connect().await;
        // The server may answer and close before it has read everything; what it said still counts.
        drop(stream.write_all(bytes).await);
        drop(stream.shutdown().await);
        let mut answer = Vec::new();
        drop(stream.read_to_end(&mut answer).await);
        answer
    }

    pub async fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Received {
        let mut request = format!("{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n");
        for (name, value) in headers {
            request += &format!("{name}: {value}\r\n");
        }
        request += &format!("content-length: {}\r\n\r\n", body.len());
        let bytes = [request.as_bytes(), body].concat();
        Received::parse(&self.raw(&bytes).await)
    }

    /// A structured CloudEvent, without further headers.
    pub async fn post(&self, path: &str, body: &[u8]) -> Received {
        self.send("POST", path, &[("content-type", "application/cloudevents+json")], body).await
    }
}

impl Received {
    fn parse(bytes: &[u8]) -> Self {
        let end = bytes.windows(4).position(|window| window == b"\r\n\r\n").expect("an HTTP response");
        let head = String::from_utf8_lossy(&bytes[..end]);
        let mut lines = head.lines();
        let status = lines.next().and_then(|line| line.split(' ').nth(1)).expect("a status line");
        let mut headers = HeaderMap::new();
        for (name, value) in lines.filter_map(|line| line.split_once(": ")) {
            let name: HeaderName = name.parse().expect("a header name");
            headers.append(name, HeaderValue::from_str(value).expect("a header value"));
        }
        Received { status: status.parse().expect("a status"), headers, body: bytes[end + 4..].to_vec() }
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("a JSON body, not {self:?}"))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// The reason in an answer that came as JSON.
    pub fn reason(&self) -> String {
        self.json()["reason"].as_str().unwrap_or_default().to_owned()
    }
}
