//! The verbs of the suites: one site of each cast for all tests of a file, and waiting until something is so.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

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

use crate::{site::Site, troupe::Cast};

/// What has not happened by then does not. The clouds need seconds at their speed; the rest is for a busy machine, and for budgets: where
/// whoever evicts a pod is killed in the midst of it, Kubernetes counts that pod as going for two minutes and lets no other go.
const LONGEST: Duration = Duration::from_secs(360);
/// How often a real server is asked whether it is so: watching it would cost more words than it saves time.
const LOOK_EVERY: Duration = Duration::from_millis(150);

/// Lives as long as the process: what one test started must not end with that test's own runtime.
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    let _ = rustls::crypto::ring::default_provider().install_default();
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
});
static SITES: [OnceLock<Site>; 2] = [OnceLock::new(), OnceLock::new()];

/// Runs a test on the site of this cast that all tests of this process share. Where it fails, the logs stay, and it says where.
pub fn on_site<F>(supervisor: &'static str, cast: Cast, test: impl FnOnce(&'static Site) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    let open = || {
        let opening = async move { Site::open(Path::new(supervisor), cast).await };
        on_a_worker(opening).unwrap_or_else(|why| panic!("the site does not open: {why}"))
    };
    let site = SITES[cast as usize].get_or_init(open);
    let guard = KeepsLogs(site);
    on_a_worker(test(site));
    drop(guard);
}

/// For a test that needs no site of ours.
pub fn block_on<F: Future<Output = ()>>(test: F) {
    RUNTIME.block_on(test);
}

/// Processes end with the thread that started them, and a test's own thread ends before the others need them no more.
fn on_a_worker<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> T {
    match RUNTIME.block_on(RUNTIME.spawn(work)) {
        Ok(done) => done,
        Err(failed) => std::panic::resume_unwind(failed.into_panic()),
    }
}

struct KeepsLogs(&'static Site);

impl Drop for KeepsLogs {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let kept = RUNTIME.block_on(self.0.control_plane.keep_folder());
            eprintln!("logs are kept in {kept:?}; answers were:\n{}", self.0.troupe.answers());
        }
    }
}

impl Site {
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
        panic!("{what}: not within {LONGEST:?}; functions said\n{}", self.troupe.answers());
    }

    /// As `kubectl apply --server-side` by the administrator, of one object.
    pub async fn apply(&self, object: &Value) {
        let path = format!("{}?fieldManager=person&force=true", path_of(object));
        let body = object.to_string().into_bytes();
        let request = || http::Request::patch(&path).header("content-type", "application/apply-patch+yaml");
        self.insist(&path, || request().body(body.clone()).unwrap()).await;
    }

    /// As `kubectl patch --type merge`, of one object.
    pub async fn patch(&self, path: &str, change: &Value) {
        let body = change.to_string().into_bytes();
        let request = || http::Request::patch(path).header("content-type", "application/merge-patch+json");
        self.insist(path, || request().body(body.clone()).unwrap()).await;
    }

    pub async fn delete(&self, path: &str) {
        self.insist(path, || http::Request::delete(path).body(Vec::new()).unwrap()).await;
    }

    /// What people want, they try until the server is there. What is gone already is as good as deleted.
    async fn insist(&self, path: &str, request: impl Fn() -> http::Request<Vec<u8>>) {
        let attempt = || async {
            match self.client.request::<Value>(request()).await {
                Err(kube::Error::Api(status)) if status.code == 404 && *request().method() == http::Method::DELETE => {
                    Some(())
                }
                Err(kube::Error::Api(status)) if status.code < 429 => panic!("{path}: {status:?}"),
                answer => answer.ok().map(drop),
            }
        };
        self.until(path, attempt).await;
    }
}

/// Where an object is, by its kind and name.
pub fn path_of(object: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (version, kind) = (text(&object["apiVersion"]), text(&object["kind"]).to_lowercase());
    let root = if version.contains('/') { "apis" } else { "api" };
    let plural = match kind.strip_suffix('y') {
        Some(stem) => format!("{stem}ies"),
        None if kind.ends_with('s') => format!("{kind}es"),
        None => format!("{kind}s"),
    };
    let place = object["metadata"]["namespace"].as_str().map(|one| format!("namespaces/{one}/")).unwrap_or_default();
    format!("/{root}/{version}/{place}{plural}/{}", text(&object["metadata"]["name"]))
}

/// Whether a condition is True.
pub fn is(object: &Value, condition: &str) -> bool {
    let conditions = object["status"]["conditions"].as_array();
    conditions.is_some_and(|all| all.iter().any(|one| one["type"] == condition && one["status"] == "True"))
}

pub fn claim_path(name: &str) -> String {
    format!("/apis/karpenter.sh/v1/nodeclaims/{name}")
}
