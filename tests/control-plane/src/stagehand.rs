//! The verbs of the suites: one site for all tests of a file, waiting until something is so, and claims as others make them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use kube::api::{Api, DynamicObject};
use serde_json::{Value, json};
use std::{
    path::Path,
    sync::{LazyLock, OnceLock},
    time::Duration,
};
use tokio::{
    runtime::Runtime,
    time::{Instant, sleep},
};

use crate::{sender, site::Site};

/// What has not happened by then does not. The clouds need seconds at their speed; the rest is for a busy machine.
const LONGEST: Duration = Duration::from_secs(240);
/// How often a real server is asked whether it is so: watching it would cost more words than it saves time.
const LOOK_EVERY: Duration = Duration::from_millis(150);

/// Lives as long as the process: what one test started must not end with that test's own runtime.
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    let _ = rustls::crypto::ring::default_provider().install_default();
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
});
static SITE: OnceLock<Site> = OnceLock::new();

/// Runs a test on the site that all tests of this process share. Where it fails, the logs stay, and it says where.
pub fn on_site<F: Future<Output = ()> + Send>(supervisor: &str, test: impl FnOnce(&'static Site) -> F) {
    let site = SITE.get_or_init(|| RUNTIME.block_on(Site::open(Path::new(supervisor))).expect("the site opens"));
    let guard = KeepsLogs(site);
    RUNTIME.block_on(test(site));
    drop(guard);
}

/// For a test that needs no site of ours.
pub fn block_on<F: Future<Output = ()>>(test: F) {
    RUNTIME.block_on(test);
}

struct KeepsLogs(&'static Site);

impl Drop for KeepsLogs {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let kept = RUNTIME.block_on(self.0.control_plane.keep_folder());
            eprintln!("logs are kept in {kept:?}; answers were:\n{}", self.0.answers());
        }
    }
}

impl Site {
    pub fn claims(&self) -> Api<DynamicObject> {
        sender::claims(self.client.clone())
    }

    /// An object as JSON, whatever its kind, or nothing if it is not there.
    pub async fn get(&self, path: &str) -> Option<Value> {
        let request = http::Request::get(path).body(Vec::new()).unwrap();
        match self.client.request::<Value>(request).await {
            Ok(found) => Some(found),
            Err(kube::Error::Api(status)) if status.code == 404 => None,
            // The server may be restarting; whoever waits asks again.
            Err(why) => Some(json!({ "unreachable": why.to_string() })),
        }
    }

    pub async fn claim(&self, name: &str) -> Option<Value> {
        self.get(&format!("/apis/karpenter.sh/v1/nodeclaims/{name}")).await
    }

    pub async fn until_ready(&self, name: &str) -> Value {
        let what = format!("NodeClaim {name} is Ready");
        self.until(&what, || async { self.claim(name).await.filter(|claim| is(claim, "Ready")) }).await
    }

    pub async fn until_gone(&self, path: &str) {
        let what = format!("{path} is gone");
        self.until(&what, || async { self.get(path).await.is_none().then_some(()) }).await;
    }

    /// Waits until there is an answer, and gives it back.
    pub async fn until<T, F: Future<Output = Option<T>>>(&self, what: &str, look: impl Fn() -> F) -> T {
        let end = Instant::now() + LONGEST;
        while Instant::now() < end {
            if let Some(found) = look().await {
                return found;
            }
            sleep(LOOK_EVERY).await;
        }
        panic!("{what}: not within {LONGEST:?}; functions said\n{}", self.answers());
    }

    /// An event by hand. Gives back the answer, once the function is there to give one.
    pub async fn tell(&self, function: &str, event: &str) -> Value {
        let http = reqwest::Client::new();
        self.until("the function answers", || self.sender.send(&http, function, event.to_owned())).await
    }

    pub async fn delete(&self, path: &str) {
        let request = http::Request::delete(path).body(Vec::new()).unwrap();
        self.client.request::<Value>(request).await.unwrap_or_else(|why| panic!("DELETE {path}: {why}"));
    }
}

/// Whether a condition is True.
pub fn is(object: &Value, condition: &str) -> bool {
    let conditions = object["status"]["conditions"].as_array();
    conditions.is_some_and(|all| all.iter().any(|one| one["type"] == condition && one["status"] == "True"))
}

pub fn claim_path(name: &str) -> String {
    format!("/apis/karpenter.sh/v1/nodeclaims/{name}")
}
