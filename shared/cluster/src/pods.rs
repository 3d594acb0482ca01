//! Moving pods away: by the eviction API, which asks disruption budgets, or without asking.

use jiff::SignedDuration;
use k8s_openapi::api::core::v1::Pod as KubePod;
use kube::{
    Api,
    api::{DeleteParams, PostParams},
    core::Status,
};
use model::PodRef;
use serde_json::json;

use crate::{Cluster, ClusterError, Deleted, FIELD_MANAGER, ask::Asking, error::cut, rights};

/// What an eviction reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Evicted {
    /// The pod is on its way out.
    Done,
    /// It was gone already, or is another one of the same name.
    WasGone,
    /// A disruption budget, or somebody else who was asked, does not let it go now.
    Blocked { why: String },
}

impl Cluster {
    pub async fn evict(&self, pod: &PodRef) -> Result<Evicted, ClusterError> {
        let (api, shown) = (self.pods_in(pod), shown(pod));
        let asking = Asking::new(rights::EVICT_POD, "evicting pod", &shown);
        // Not `Api::evict` of kube 5.0: it sends `delete_options`, which the API server does not know, and so without
        // the precondition.
        let body = json!({ "apiVersion": "policy/v1", "kind": "Eviction",
            "metadata": { "name": pod.name.as_str(), "namespace": pod.namespace.as_str() },
            "deleteOptions": { "preconditions": { "uid": pod.uid.as_str() } } });
        let how = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
        // A refusal is an answer, so it is taken out before errors are sorted.
        let call = async {
            match api.create_subresource::<_, Status>("eviction", pod.name.as_str(), &how, &body).await {
                Ok(_) => Ok(Evicted::Done),
                Err(kube::Error::Api(status)) => refused(&status).ok_or(kube::Error::Api(status)),
                Err(error) => Err(error),
            }
        };
        match self.change(asking, call).await {
            Err(error) if error.is_not_found() || error.is_conflict() => Ok(Evicted::WasGone),
            answer => answer,
        }
    }

    /// Without asking anybody. At least a second of grace: with none, the API server forgets the pod while it still runs.
    pub async fn delete_pod(&self, pod: &PodRef, grace: SignedDuration) -> Result<Deleted, ClusterError> {
        let seconds = grace.as_secs() + i64::from(grace.subsec_nanos() > 0);
        let grace_period_seconds = Some(u32::try_from(seconds.max(1)).unwrap_or(u32::MAX));
        let shown = shown(pod);
        let asking = Asking::new(rights::DELETE_POD, "deleting pod", &shown);
        let how = DeleteParams { grace_period_seconds, ..DeleteParams::default() };
        self.delete(asking, &self.pods_in(pod), pod.name.as_str(), &pod.uid, how).await
    }

    fn pods_in(&self, pod: &PodRef) -> Api<KubePod> {
        Api::namespaced(self.client.clone(), pod.namespace.as_str())
    }
}

fn shown(pod: &PodRef) -> String {
    format!("{}/{}", pod.namespace, pod.name)
}

/// 429 is the answer of budgets and of webhooks that do not want the pod moved now; the cause says more than the message.
///
/// A pod under two budgets is a plain 500 without a reason (an internal error has one), so here the kind's name in the
/// message has to tell.
fn refused(status: &Status) -> Option<Evicted> {
    let two_budgets = status.code == 500 && status.reason.is_empty() && status.message.contains("PodDisruptionBudget");
    if status.code != 429 && !two_budgets {
        return None;
    }
    let causes = status.details.iter().flat_map(|details| &details.causes);
    let said = causes.map(|cause| cause.message.as_str()).find(|message| !message.is_empty());
    Some(Evicted::Blocked { why: cut(said.unwrap_or(&status.message)) })
}
