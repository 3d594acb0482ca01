//! Commands that are open: each is looked at, goes its next steps or is put back, whoever began it. What no command owns is
//! taken off.

mod left_overs;
mod read;

use act::{Acted, CommandSeen, carry_out_command};
use cluster::{ClaimRead, command_of};
use core::time::Duration;
use decide::command::{Next, Step, after_reboot, plan};
use futures_util::stream::{self, StreamExt as _};
use model::{CommandRecord, InstanceKey};
use provider::{Chance as _, SystemChance};

use crate::{NAME, findings::Findings, read::Tick};

/// Steps of one command in one tick: more than any has that waits for nobody.
const MOST_STEPS: usize = 10;
/// Commands side by side.
const AT_ONCE: usize = 4;
/// When somebody else was faster, or has the turn.
const SOON: Duration = Duration::from_secs(2);

/// The first claim of every command that is open, with its record.
pub fn open(claims: &[ClaimRead]) -> Vec<(InstanceKey, CommandRecord)> {
    let record = |read: &ClaimRead| match read {
        ClaimRead::Claim(read) => {
            let record = command_of(&read.claim)?.ok()?;
            (record.leader() == Some(&read.claim.key)).then(|| (read.claim.key.clone(), record))
        }
        ClaimRead::Malformed(_) => None,
    };
    claims.iter().filter_map(record).collect()
}

/// Goes on with all of them, and takes off what nobody owns.
pub async fn carry_on(tick: &Tick) -> Findings {
    let open = open(&tick.claims);
    let going = open.iter().map(|(leader, _)| go_on(tick, leader));
    let found = stream::iter(going.collect::<Vec<_>>()).buffer_unordered(AT_ONCE).collect::<Vec<Findings>>().await;
    let found = found.into_iter().fold(Findings::default(), Findings::and);
    found.and(left_overs::take_off(tick).await)
}

/// As far as it goes without waiting.
pub async fn go_on(tick: &Tick, leader: &InstanceKey) -> Findings {
    let mut findings = Findings::default();
    for _ in 0..MOST_STEPS {
        let seen = match read::read(&tick.parts, leader).await {
            Ok(Some(seen)) => seen,
            Ok(None) => return findings,
            Err(error) => return findings.and(Findings::failure(error.to_string())),
        };
        let step = plan(&seen.situation);
        match walk(tick, &seen, step).await {
            Walked::On => {}
            Walked::Waits { why, after } => {
                findings.under_way.push(format!("{}: {why}", subject(&seen)));
                findings.call_again(after);
                return findings;
            }
            Walked::Over { why } => {
                tracing::info!(command = %seen.situation.record.id, "{why}");
                findings.done.push(why);
                return findings;
            }
            Walked::Failed { why } => {
                findings.failed.push(format!("{}: {why}", subject(&seen)));
                return findings;
            }
        }
    }
    findings.call_again(SOON);
    findings
}

enum Walked {
    On,
    Waits { why: String, after: Duration },
    Over { why: String },
    Failed { why: String },
}

async fn walk(tick: &Tick, seen: &CommandSeen, mut step: Step) -> Walked {
    loop {
        if !step.deeds.is_empty() {
            match tick.is_our_turn().await {
                Ok(true) => {}
                Ok(false) => return Walked::Waits { why: "another tick is at work".to_owned(), after: SOON },
                Err(error) => return Walked::Failed { why: error.to_string() },
            }
        }
        let (cluster, providers) = (&tick.parts.cluster, &tick.parts.providers);
        let holder = format!("{NAME}-{:016x}", SystemChance.number());
        match carry_out_command(cluster, providers, &holder, seen, &step, tick.now()).await {
            Acted::Done => break,
            Acted::Rebooted(answer) => step = after_reboot(&seen.situation, &answer),
            Acted::Overtaken { why } => return Walked::Waits { why, after: SOON },
            Acted::Failed { why } => return Walked::Failed { why },
        }
    }
    match step.next {
        Next::AtOnce => Walked::On,
        Next::After { why, after } => Walked::Waits { why, after },
        Next::Over { why } => Walked::Over { why },
    }
}

fn subject(seen: &CommandSeen) -> String {
    let record = &seen.situation.record;
    let names: Vec<&str> = record.candidates.iter().map(|key| key.name.as_str()).collect();
    format!("NodeClaim {} ({})", names.join(", "), record.reason)
}
