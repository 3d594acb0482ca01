//! When things were first seen, by watches of the API server: times that no process under test tells about itself.

use futures_util::StreamExt as _;
use k8s_openapi::api::core::v1::Pod;
use kube::{
    Api,
    runtime::{WatchStreamExt as _, watcher},
};
use std::{
    collections::BTreeMap,
    fmt::Debug,
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};
use tokio::task::JoinHandle;

/// By whatever the watch calls them.
#[derive(Debug, Clone, Default)]
pub struct Seen(Arc<Mutex<BTreeMap<String, Instant>>>);

impl Seen {
    pub fn at(&self, name: &str) -> Option<Instant> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(name).copied()
    }

    pub fn all(&self) -> BTreeMap<String, Instant> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn count(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

/// Ends with the value.
pub struct Watching(pub JoinHandle<()>);

impl Drop for Watching {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Notes the first time that `name` gives a name for an object.
pub fn follow<K>(api: Api<K>, seen: &Seen, name: impl Fn(&K) -> Option<String> + Send + 'static) -> Watching
where
    K: kube::Resource<DynamicType: Default> + Clone + Debug + Send + serde::de::DeserializeOwned + 'static,
{
    let seen = seen.clone();
    Watching(tokio::spawn(async move {
        let mut changes = watcher(api, watcher::Config::default()).default_backoff().applied_objects().boxed();
        while let Some(change) = changes.next().await {
            if let Some(name) = change.ok().as_ref().and_then(&name) {
                seen.0.lock().unwrap_or_else(PoisonError::into_inner).entry(name).or_insert_with(Instant::now);
            }
        }
    }))
}

/// Whether the scheduler has found no node for it.
pub fn is_unschedulable(pod: &Pod) -> bool {
    let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.into_iter().any(|one| one.type_ == "PodScheduled" && one.reason.as_deref() == Some("Unschedulable"))
}
