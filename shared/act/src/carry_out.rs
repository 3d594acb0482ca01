//! The actions of a plan, in order, each with its result.

use cluster::{Cluster, ClusterError, Evicted};
use futures_util::future::join_all;
use model::{Action, ActionResult, Claim, Gone, Plan, Reservation, ResourceVersion};

use crate::Providers;

/// What came of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Carried {
    /// One for each action.
    pub results: Vec<ActionResult>,
    /// The claim's version after our own writes: later ones are made against it.
    pub version: ResourceVersion,
}

/// The first action that does not come out ends it. Evictions and deletions of pods stand side by side: all are tried.
pub async fn carry_out(cluster: &Cluster, providers: &Providers, claim: &Claim, plan: &Plan) -> Carried {
    let mut results = Vec::with_capacity(plan.actions.len());
    let mut version = claim.version.clone();
    let mut rest = plan.actions.as_slice();
    while let Some(action) = rest.first() {
        let together = rest.iter().take_while(|action| is_about_a_pod(action)).count().max(1);
        let (now, later) = rest.split_at(together);
        rest = later;
        let came_out = if is_about_a_pod(action) {
            join_all(now.iter().map(|action| about_a_pod(cluster, action))).await
        } else {
            vec![one(cluster, providers, claim, &mut version, action).await]
        };
        let goes_on = came_out.iter().all(goes_on);
        results.extend(came_out);
        if !goes_on {
            break;
        }
    }
    results.resize(plan.actions.len(), ActionResult::NotTried);
    for (action, result) in plan.actions.iter().zip(&results) {
        tracing::debug!(claim = %claim.key.name, action = name(action), ?result, "acted");
    }
    Carried { results, version }
}

fn goes_on(result: &ActionResult) -> bool {
    match result {
        ActionResult::Done | ActionResult::WasGone | ActionResult::Ensured(_) | ActionResult::Gone(Gone::Confirmed) => {
            true
        }
        ActionResult::Lost
        | ActionResult::NotNow { .. }
        | ActionResult::Failed(_)
        | ActionResult::Gone(Gone::InProgress { .. })
        | ActionResult::NotTried => false,
    }
}

fn is_about_a_pod(action: &Action) -> bool {
    matches!(action, Action::Evict(_) | Action::DeletePod { .. })
}

async fn about_a_pod(cluster: &Cluster, action: &Action) -> ActionResult {
    match action {
        Action::Evict(pod) => match cluster.evict(pod).await {
            Ok(Evicted::Done) => ActionResult::Done,
            Ok(Evicted::WasGone) => ActionResult::WasGone,
            Ok(Evicted::Blocked { why }) => ActionResult::NotNow { why },
            Err(error) => failed(&error),
        },
        Action::DeletePod { pod, grace } => done(cluster.delete_pod(pod, *grace).await),
        _ => ActionResult::NotTried,
    }
}

async fn one(
    cluster: &Cluster,
    providers: &Providers,
    claim: &Claim,
    version: &mut ResourceVersion,
    action: &Action,
) -> ActionResult {
    match action {
        Action::ChangeClaim(change) => {
            match cluster.change_claim(&claim.key, version, &claim.finalizers, change).await {
                Ok(new) => {
                    *version = new;
                    ActionResult::Done
                }
                Err(error) => failed(&error),
            }
        }
        Action::Reserve(Reservation { before, version, after }) => {
            done(cluster.write_spending(before, version.as_ref(), after).await)
        }
        Action::DeleteClaim => done(cluster.delete_claim(&claim.key).await),
        Action::ChangeNode(change) => done(cluster.change_node(change).await),
        Action::DeleteNode { name, uid } => done(cluster.delete_node(name, uid).await),
        Action::Evict(_) | Action::DeletePod { .. } => about_a_pod(cluster, action).await,
        Action::Ensure { request, progress } => match providers.get(&request.offering.id.provider) {
            Ok(provider) => match provider.ensure(request, progress.as_ref()).await {
                Ok(ensured) => ActionResult::Ensured(ensured),
                Err(error) => ActionResult::Failed(error.failure()),
            },
            Err(failure) => ActionResult::Failed(*failure),
        },
        Action::EnsureGone { provider, key, progress } => match providers.get(provider) {
            Ok(provider) => match provider.ensure_gone(key, progress.as_ref()).await {
                Ok(gone) => ActionResult::Gone(gone),
                Err(error) => ActionResult::Failed(error.failure()),
            },
            Err(failure) => ActionResult::Failed(*failure),
        },
    }
}

fn done<T>(result: Result<T, ClusterError>) -> ActionResult {
    match result {
        Ok(_) => ActionResult::Done,
        Err(error) => failed(&error),
    }
}

fn failed(error: &ClusterError) -> ActionResult {
    if error.is_conflict() {
        ActionResult::Lost
    } else if error.is_not_found() {
        ActionResult::WasGone
    } else {
        ActionResult::Failed(error.failure())
    }
}

fn name(action: &Action) -> &'static str {
    match action {
        Action::ChangeClaim(_) => "change claim",
        Action::Reserve(_) => "reserve money",
        Action::DeleteClaim => "delete claim",
        Action::ChangeNode(_) => "change node",
        Action::DeleteNode { .. } => "delete node",
        Action::Evict(_) => "evict pod",
        Action::DeletePod { .. } => "delete pod",
        Action::Ensure { .. } => "ensure instance",
        Action::EnsureGone { .. } => "ensure gone",
    }
}
