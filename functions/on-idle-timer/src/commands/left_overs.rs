//! Taints, conditions and records that no command owns: a process died in between, or somebody removed a record.

use act::{Acted, CommandSeen, carry_out_command};
use cluster::{ClaimAsRead, ClaimRead, ClusterError, command_of};
use decide::{
    claim::Whose,
    command::{Candidate, Next, Situation, Step, left_over},
};
use model::{Claim, CommandOrder, CommandPhase, CommandRecord, CommandWork, Node, disruption::Reason};
use std::collections::BTreeMap;

use super::read::node_of;
use crate::{NAME, findings::Findings, read::Tick};

/// In one tick; there is hardly ever one.
const MOST: usize = 20;

pub async fn take_off(tick: &Tick) -> Findings {
    let nodes = match tick.parts.cluster.nodes().await {
        Ok(nodes) => nodes,
        Err(error) => return Findings::failure(error.to_string()),
    };
    let nodes: BTreeMap<&str, &Node> = nodes.iter().map(|node| (node.name.as_str(), node)).collect();
    let commands: Vec<CommandRecord> = super::open(&tick.claims).into_iter().map(|(_, record)| record).collect();
    let mut findings = Findings::default();
    let suspects = tick.known_claims().filter(|claim| is_left_over(claim, &commands, &nodes)).take(MOST);
    for claim in suspects {
        match of_claim(tick, claim).await {
            Ok(Some(why)) => findings.done.push(why),
            Ok(None) => {}
            Err(why) => findings.failed.push(why),
        }
    }
    findings
}

fn is_left_over(claim: &Claim, commands: &[CommandRecord], nodes: &BTreeMap<&str, &Node>) -> bool {
    let node = claim.status.node.as_deref().and_then(|name| nodes.get(name)).copied();
    left_over(claim, command_of(claim).as_ref(), leader(claim, commands), node).is_some()
}

fn leader<'a>(claim: &Claim, commands: &'a [CommandRecord]) -> Option<&'a CommandRecord> {
    commands.iter().find(|command| command.candidates.contains(&claim.key))
}

/// Looked at once more, when no other tick can begin a command.
async fn of_claim(tick: &Tick, claim: &Claim) -> Result<Option<String>, String> {
    let parts = &tick.parts;
    let text = |error: ClusterError| error.to_string();
    // A taint of somebody else's command is somebody else's.
    if !matches!(parts.whose(claim).await.map_err(text)?, Whose::Ours(_)) || !tick.is_our_turn().await.map_err(text)? {
        return Ok(None);
    }
    let claims = parts.cluster.claims().await.map_err(text)?;
    let commands: Vec<CommandRecord> = super::open(&claims).into_iter().map(|(_, record)| record).collect();
    let found = claims.into_iter().find_map(|read| match read {
        ClaimRead::Claim(read) if read.claim.key == claim.key => Some(*read),
        ClaimRead::Claim(_) | ClaimRead::Malformed(_) => None,
    });
    let Some(read) = found else { return Ok(None) };
    let node = node_of(&parts.cluster, &read.claim).await.map_err(text)?;
    let own = command_of(&read.claim);
    let Some(left) = left_over(&read.claim, own.as_ref(), leader(&read.claim, &commands), node.as_ref()) else {
        return Ok(None);
    };
    let name = read.claim.key.name.clone();
    let step = Step { deeds: left.deeds, next: Next::Over { why: String::new() } };
    let seen = as_seen(read, node, tick);
    match carry_out_command(&parts.cluster, &parts.providers, NAME, &seen, &step, tick.now()).await {
        Acted::Done => Ok(Some(format!("NodeClaim {name} is open again: {}", left.why))),
        Acted::Overtaken { .. } | Acted::Rebooted(_) => Ok(None),
        Acted::Failed { why } => Err(why),
    }
}

/// The one claim, in the shape that deeds are carried out on.
fn as_seen(read: ClaimAsRead, node: Option<Node>, tick: &Tick) -> CommandSeen {
    let key = read.claim.key.clone();
    let record = CommandRecord {
        id: String::new(),
        reason: Reason::Empty,
        work: CommandWork::Delete,
        order: CommandOrder::ReplaceFirst,
        candidates: vec![key.clone()],
        pods: vec![],
        replacements: vec![],
        make: vec![],
        drain_within: None,
        phase: CommandPhase::Recorded,
        since: tick.now(),
        begun_at: tick.now(),
        why: String::new(),
    };
    let candidate = Candidate { key, claim: Some(read.claim.clone()), record: None, node, pods: vec![] };
    let situation = Situation { record, candidates: vec![candidate], replacements: vec![], now: tick.now() };
    CommandSeen { situation, claims: vec![Some(read)] }
}
