//! One command as it is now: its claims, their nodes, the pods on them, and its replacements, all read fresh.

use act::CommandSeen;
use cluster::{ClaimAsRead, ClaimRead, Cluster, ClusterError, command_of};
use decide::command::{Candidate, Situation};
use host::parts::Parts;
use model::{Claim, CommandPhase, InstanceKey, Node, ObjectName};

/// `None` if it is over: its first claim is gone, or has another command, or none.
pub async fn read(parts: &Parts, leader: &InstanceKey) -> Result<Option<CommandSeen>, ClusterError> {
    let cluster = &parts.cluster;
    let Some(first) = claim(cluster, leader).await? else { return Ok(None) };
    let Some(Ok(record)) = command_of(&first.claim) else { return Ok(None) };
    if record.leader() != Some(leader) || is_over(&first.claim, &record.phase) {
        return Ok(None);
    }
    let (mut candidates, mut claims) = (Vec::new(), Vec::new());
    for key in &record.candidates {
        let read = if key == leader { Some(first.clone()) } else { claim(cluster, key).await? };
        let node = match &read {
            Some(read) => node_of(cluster, &read.claim).await?,
            None => None,
        };
        // The last thing that is read: whatever is decided hangs on it.
        let pods = match &node {
            Some(node) => cluster.pods_on(&node.name).await?,
            None => Vec::new(),
        };
        let record = read.as_ref().and_then(|read| command_of(&read.claim)).and_then(Result::ok);
        let claim = read.as_ref().map(|read| read.claim.clone());
        candidates.push(Candidate { key: key.clone(), claim, record, node, pods });
        claims.push(read);
    }
    let mut replacements = Vec::new();
    for name in &record.replacements {
        replacements.push(match cluster.claim(name).await? {
            Some(ClaimRead::Claim(read)) => Some(read.claim),
            Some(ClaimRead::Malformed(_)) | None => None,
        });
    }
    let situation = Situation { record, candidates, replacements, now: parts.now() };
    Ok(Some(CommandSeen { situation, claims }))
}

/// Whatever is left to do with a claim that is deleted, and whose command meant that, is on-delete's.
fn is_over(claim: &Claim, phase: &CommandPhase) -> bool {
    claim.deleted_at.is_some() && *phase == CommandPhase::Deleting
}

/// `None` if it is gone, or is another one of the same name.
async fn claim(cluster: &Cluster, key: &InstanceKey) -> Result<Option<ClaimAsRead>, ClusterError> {
    Ok(match cluster.claim(&key.name).await? {
        Some(ClaimRead::Claim(read)) if read.claim.key == *key => Some(*read),
        Some(ClaimRead::Claim(_) | ClaimRead::Malformed(_)) | None => None,
    })
}

pub async fn node_of(cluster: &Cluster, claim: &Claim) -> Result<Option<Node>, ClusterError> {
    match claim.status.node.as_ref().and_then(|name| ObjectName::new(name).ok()) {
        Some(name) => cluster.node(&name).await,
        None => Ok(None),
    }
}
