//! The deeds of a command, in order. The first that does not come out ends it: whoever comes next looks again.

use cluster::{ClaimAsRead, Cluster, ClusterError, Evicted, PROVISIONING, Turn, command_text};
use decide::command::{Deed, Situation, Step, after_failure};
use jiff::Timestamp;
use model::{ClaimChange, CommandRecord, Manifest, ObjectName, Rebooted, ResourceVersion, names};
use std::collections::BTreeMap;

use crate::Providers;

/// A command, word for word for writing, and its situation for deciding.
pub struct CommandSeen {
    pub situation: Situation,
    /// In the order of the situation's candidates.
    pub claims: Vec<Option<ClaimAsRead>>,
}

/// What came of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Acted {
    /// All of it.
    Done,
    /// It ended with a provider's answer, which decides what comes next.
    Rebooted(Rebooted),
    /// Somebody else was faster: look again soon.
    Overtaken {
        why: String,
    },
    Failed {
        why: String,
    },
}

/// `holder` is of this invocation alone.
pub async fn carry_out_command(
    cluster: &Cluster,
    providers: &Providers,
    holder: &str,
    seen: &CommandSeen,
    step: &Step,
    now: Timestamp,
) -> Acted {
    let mut hands = Hands { cluster, providers, holder, seen, versions: BTreeMap::new(), now };
    for deed in &step.deeds {
        let acted = hands.act(deed).await;
        tracing::debug!(command = %seen.situation.record.id, deed = name(deed), ?acted, "acted");
        if acted != Acted::Done {
            return acted;
        }
    }
    Acted::Done
}

struct Hands<'a> {
    cluster: &'a Cluster,
    providers: &'a Providers,
    holder: &'a str,
    seen: &'a CommandSeen,
    /// Of claims that this step has written.
    versions: BTreeMap<usize, ResourceVersion>,
    now: Timestamp,
}

impl Hands<'_> {
    async fn act(&mut self, deed: &Deed) -> Acted {
        match deed {
            Deed::Record { candidate, record, others } => self.record(*candidate, record.as_deref(), others).await,
            Deed::Status { candidate, status } => {
                let Some((read, version)) = self.claim(*candidate) else { return gone() };
                let written = self.cluster.write_status(read, &version, status).await;
                self.written(*candidate, written)
            }
            Deed::Node(change) => acted(self.cluster.change_node(change).await),
            Deed::Evict(pod) => match self.cluster.evict(pod).await {
                // A budget that does not let it go now is no reason to leave the others.
                Ok(Evicted::Done | Evicted::WasGone | Evicted::Blocked { .. }) => Acted::Done,
                Err(error) => failed(&error),
            },
            Deed::DeletePod { pod, grace } => acted(self.cluster.delete_pod(pod, *grace).await),
            Deed::Make(claims) => self.make(claims).await,
            Deed::DeleteClaim(key) => acted(self.cluster.delete_claim(key).await),
            Deed::Reboot { candidate, operation } => self.reboot(*candidate, operation).await,
            Deed::Replaced { pools, came } => self.note(pools, *came).await,
        }
    }

    fn claim(&self, candidate: usize) -> Option<(&ClaimAsRead, ResourceVersion)> {
        let read = self.seen.claims.get(candidate)?.as_ref()?;
        Some((read, self.versions.get(&candidate).cloned().unwrap_or_else(|| read.claim.version.clone())))
    }

    fn written(&mut self, candidate: usize, written: Result<ResourceVersion, ClusterError>) -> Acted {
        match written {
            Ok(version) => {
                self.versions.insert(candidate, version);
                Acted::Done
            }
            Err(error) => failed(&error),
        }
    }

    async fn record(
        &mut self,
        candidate: usize,
        record: Option<&CommandRecord>,
        others: &BTreeMap<String, Option<String>>,
    ) -> Acted {
        let text = match record.map(command_text).transpose() {
            Ok(text) => text,
            Err(why) => return Acted::Failed { why: format!("writing a command down: {why}") },
        };
        let Some((read, version)) = self.claim(candidate) else { return gone() };
        let mut annotations = others.clone();
        annotations.insert(names::DISRUPTION.to_owned(), text);
        let change = ClaimChange { annotations, ..ClaimChange::default() };
        let written = self.cluster.change_claim(&read.claim.key, &version, &read.claim.finalizers, &change).await;
        self.written(candidate, written)
    }

    /// Only one at a time makes claims, whoever they are for.
    async fn make(&self, claims: &[(ObjectName, Manifest)]) -> Acted {
        let turn = match self.cluster.take_turn(PROVISIONING, self.holder, self.now).await {
            Ok(Turn::Ours(turn)) => turn,
            Ok(Turn::Others { .. }) => {
                return Acted::Overtaken { why: "somebody else is making NodeClaims".to_owned() };
            }
            Err(error) => return failed(&error),
        };
        let mut came = Acted::Done;
        for (name, manifest) in claims {
            match self.cluster.make_as_written(name, manifest).await {
                Ok(made) => tracing::info!(claim = %name, ?made, "a replacement is ordered"),
                Err(error) => {
                    came = failed(&error);
                    break;
                }
            }
        }
        if let Err(error) = self.cluster.end_turn(turn).await {
            // It ends by itself.
            tracing::warn!(%error, "the turn to provision was not given back");
        }
        came
    }

    async fn reboot(&self, candidate: usize, operation: &str) -> Acted {
        let Some((read, _)) = self.claim(candidate) else { return gone() };
        let Some(launch) = read.claim.record() else {
            return Acted::Rebooted(Rebooted::NotAble { why: "nobody knows whose machine it is".to_owned() });
        };
        let provider = match self.providers.get(&launch.offering.id.provider) {
            Ok(provider) => provider,
            Err(failure) => return Acted::Failed { why: failure.message },
        };
        match provider.reboot(&read.claim.key, operation).await {
            Ok(answer) => Acted::Rebooted(answer),
            Err(error) => Acted::Failed { why: error.to_string() },
        }
    }

    async fn note(&self, pools: &[ObjectName], came: bool) -> Acted {
        for pool in pools {
            let annotations = match self.cluster.pool_annotations(pool).await {
                Ok(annotations) => annotations.unwrap_or_default(),
                Err(error) => return failed(&error),
            };
            let before = annotations.get(names::BACK_OFF).map(String::as_str);
            let text = match (came, before) {
                (true, None) => continue,
                (true, Some(_)) => None,
                (false, before) => Some(after_failure(pool, before, self.now).write()),
            };
            if let Err(error) = self.cluster.note_on_pool(pool, names::BACK_OFF, text.as_deref()).await {
                return failed(&error);
            }
        }
        Acted::Done
    }
}

fn acted<T>(result: Result<T, ClusterError>) -> Acted {
    result.map_or_else(|error| failed(&error), |_| Acted::Done)
}

fn failed(error: &ClusterError) -> Acted {
    if error.is_conflict() || error.is_not_found() {
        return Acted::Overtaken { why: error.to_string() };
    }
    Acted::Failed { why: error.to_string() }
}

fn gone() -> Acted {
    Acted::Overtaken { why: "the claim is gone".to_owned() }
}

fn name(deed: &Deed) -> &'static str {
    match deed {
        Deed::Record { .. } => "note on claim",
        Deed::Status { .. } => "write status",
        Deed::Node(_) => "change node",
        Deed::Evict(_) => "evict pod",
        Deed::DeletePod { .. } => "delete pod",
        Deed::Make(_) => "make replacements",
        Deed::DeleteClaim(_) => "delete claim",
        Deed::Reboot { .. } => "reboot",
        Deed::Replaced { .. } => "note on pool",
    }
}
