//! What on-delete must know: the claim that is to go, its nodes, the pods and volumes on them, and whose machine it is.

use cluster::{ClaimAsRead, ClaimRead, ClusterError, NodeSearch};
use decide::{
    claim::Whose,
    termination::{InstanceSeen, Kept, Situation, needs_observation},
};
use host::parts::Parts;
use model::{Answer, Claim, DeletableKind, DeletionRequested, Node, ObjectSeen, names};

/// The claim, word for word for writing, and the situation for deciding.
pub struct Seen {
    pub claim: ClaimAsRead,
    pub situation: Situation,
}

pub enum Read {
    Seen(Box<Seen>),
    /// A person deleted the Node, which means its claim.
    NodeOf(Box<(Node, ClaimAsRead)>),
    Answered(Answer),
}

pub async fn read(parts: &Parts, event: &DeletionRequested) -> Read {
    let object = &event.object;
    let looked = match event.kind {
        DeletableKind::NodeClaim => of_claim(parts, object).await,
        DeletableKind::Node => of_node(parts, object).await,
        DeletableKind::Workspace => {
            Ok(nothing(format!("Workspace {} is to go; its NodeClaims are owned by it and go with it", object.name)))
        }
    };
    looked.unwrap_or_else(|error| Read::Answered(Answer::failed(error.to_string())))
}

fn nothing(reason: String) -> Read {
    Read::Answered(Answer::nothing(reason))
}

async fn of_claim(parts: &Parts, object: &ObjectSeen) -> Result<Read, ClusterError> {
    let gone = || nothing(format!("NodeClaim {} is gone", object.name));
    match parts.cluster.claim(&object.name).await? {
        None => Ok(gone()),
        Some(found) if found.key().claim != object.uid => Ok(gone()),
        Some(ClaimRead::Malformed(malformed)) => {
            Ok(nothing(format!("NodeClaim {} cannot be read: {}", object.name, malformed.why)))
        }
        Some(ClaimRead::Claim(found)) => look(parts, *found).await,
    }
}

async fn of_node(parts: &Parts, object: &ObjectSeen) -> Result<Read, ClusterError> {
    let node = parts.cluster.node(&object.name).await?.filter(|node| node.uid == object.uid);
    let Some(node) = node else { return Ok(nothing(format!("Node {} is gone", object.name))) };
    if node.deleted_at.is_none() {
        return Ok(nothing(format!("Node {} is not to go", object.name)));
    }
    let claims = parts.cluster.claims().await?;
    let of_node = claims.into_iter().find_map(|found| match found {
        ClaimRead::Claim(found) if is_of(&found.claim, &node) => Some(*found),
        ClaimRead::Claim(_) | ClaimRead::Malformed(_) => None,
    });
    match of_node {
        Some(found) if found.claim.deleted_at.is_none() => Ok(Read::NodeOf(Box::new((node, found)))),
        Some(found) => look(parts, found).await,
        None => Ok(nothing(format!("Node {} belongs to no claim", object.name))),
    }
}

fn is_of(claim: &Claim, node: &Node) -> bool {
    let by_id = node.provider_id.is_some() && claim.status.provider_id == node.provider_id;
    by_id || node.owners.contains(&claim.key.claim) || NodeSearch::of(claim).fits(node)
}

async fn look(parts: &Parts, as_read: ClaimAsRead) -> Result<Read, ClusterError> {
    let claim = as_read.claim.clone();
    let provider = match provider_of(parts, &claim).await? {
        Ok(provider) => provider,
        Err(reason) => return Ok(nothing(format!("NodeClaim {} is left alone: {reason}", claim.key.name))),
    };
    let search = NodeSearch::of(&claim);
    let nodes: Vec<Node> =
        parts.cluster.nodes_of(&search).await?.into_iter().filter(|node| search.fits(node)).collect();
    let (mut pods, mut attachments) = (Vec::new(), Vec::new());
    for node in &nodes {
        pods.extend(parts.cluster.pods_on(&node.name).await?);
        attachments.extend(parts.cluster.volumes_attached(&node.name).await?);
    }
    let provider = Kept { node_stays: provider == provider_power::PROVIDER, provider };
    let mut situation = Situation {
        claim,
        nodes,
        pods,
        attachments,
        instance: InstanceSeen::NotAsked,
        provider: Some(provider),
        now: parts.now(),
    };
    if needs_observation(&situation) {
        situation.instance = observe(parts, &situation).await;
    }
    Ok(Read::Seen(Box::new(Seen { claim: as_read, situation })))
}

/// The provider that the record names; without one, the one that would have made it.
async fn provider_of(parts: &Parts, claim: &Claim) -> Result<Result<String, String>, ClusterError> {
    if let Some(record) = claim.record() {
        return Ok(Ok(record.offering.id.provider.clone()));
    }
    if !claim.finalizers.contains(names::FINALIZER) {
        return Ok(Err("our finalizer is not on it".to_owned()));
    }
    Ok(match parts.whose(claim).await? {
        Whose::Ours(ours) => Ok(ours.provider.to_owned()),
        Whose::Others { reason } => Err(reason),
    })
}

/// What cannot be found out counts as not asked: then nothing is skipped.
async fn observe(parts: &Parts, situation: &Situation) -> InstanceSeen {
    let kept = situation.provider.as_ref().map(|kept| kept.provider.as_str()).unwrap_or_default();
    let Ok(provider) = parts.providers.get(kept) else { return InstanceSeen::NotAsked };
    match provider.observe(&situation.claim.key).await {
        Ok(Some(_)) => InstanceSeen::Present,
        Ok(None) => InstanceSeen::Absent,
        Err(error) => {
            tracing::warn!(claim = %situation.claim.key.name, %error, "the machine could not be looked at");
            InstanceSeen::NotAsked
        }
    }
}
