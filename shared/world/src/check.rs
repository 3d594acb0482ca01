//! The invariants, checked over what happened: the first that was broken is reported with the lines that led to it.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use crate::{
    api::{
        objects::Objects,
        store::{Change, ResourceKey},
    },
    check_money::Purse,
    clock::Clock,
    fleet::{Fleet, Machine},
    history::{Exchange, History, Place},
};

/// The label (AKS) or tag (Scaleway, as `name=value`) by which an instance names the claim it was made for.
pub const CLAIM_KEY: &str = "pilotlight.dev/claim-uid";
/// The same as a tag of Scaleway, where a slash would become a part of a label.
pub const CLAIM_TAG: &str = "pilotlight-claim-uid";

/// How long an instance may outlive its claim.
const LEAK_TIME: SignedDuration = SignedDuration::from_secs(60);

/// A promise that was broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The number of the invariant in ARCHITECTURE.md.
    pub invariant: u8,
    pub what: String,
    /// The requests that led to it, oldest first.
    pub lines: Vec<String>,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "invariant {}: {}", self.invariant, self.what)?;
        self.lines.iter().try_for_each(|line| write!(f, "\n  {line}"))
    }
}

/// An instance of a cloud, over its whole life.
#[derive(Debug, Clone, PartialEq)]
pub struct Instance {
    pub cloud: &'static str,
    pub name: String,
    /// The UID of the claim it was made for; absent for what is not ours.
    pub claim: Option<String>,
    pub from: Timestamp,
    pub until: Option<Timestamp>,
    /// What it costs an hour, in millionths of its cloud's currency.
    pub price: u64,
}

/// Invariant 1: at most one live instance a claim, at any time.
pub fn one_instance_a_claim(instances: &[Instance]) -> Result<(), (String, String)> {
    let mut by_claim: BTreeMap<&str, Vec<&Instance>> = BTreeMap::new();
    for instance in instances {
        if let Some(claim) = &instance.claim {
            by_claim.entry(claim).or_default().push(instance);
        }
    }
    for (claim, mut lives) in by_claim {
        lives.sort_by_key(|instance| instance.from);
        for pair in lives.windows(2) {
            if let [first, second] = pair
                && first.until.is_none_or(|until| until > second.from)
            {
                let what = format!(
                    "claim {claim} has two instances at once: {} {} and {} {}, from {}",
                    first.cloud, first.name, second.cloud, second.name, second.from
                );
                return Err((what, second.name.clone()));
            }
        }
    }
    Ok(())
}

/// Invariant 3: what lives has a claim, or had one until a moment ago.
pub fn nothing_left_behind(
    instances: &[Instance],
    claims: &BTreeMap<String, Option<Timestamp>>,
    now: Timestamp,
    grace: SignedDuration,
) -> Result<(), (String, String)> {
    for instance in instances.iter().filter(|instance| instance.until.is_none()) {
        let Some(claim) = &instance.claim else { continue };
        let since = match claims.get(claim) {
            Some(None) => continue,
            Some(Some(gone)) => *gone,
            None => instance.from,
        };
        if now.duration_since(since.max(instance.from)) > LEAK_TIME + grace {
            let what = format!(
                "{} {} lives at {now}, but its claim {claim} is gone since {since}",
                instance.cloud, instance.name
            );
            return Err((what, instance.name.clone()));
        }
    }
    Ok(())
}

/// Invariant 6: how much is spent at the most at any time, where each instance costs what `price` says.
pub fn most_spent(instances: &[Instance], price: impl Fn(&Instance) -> u64) -> u64 {
    let spent_at = |time: Timestamp| -> u64 {
        let alive = |one: &&Instance| one.from <= time && one.until.is_none_or(|until| until > time);
        instances.iter().filter(alive).map(&price).sum()
    };
    // It only ever rises when something is made.
    instances.iter().map(|instance| spent_at(instance.from)).max().unwrap_or_default()
}

/// Invariant 5: once the world stands still, nobody writes and nobody calls a cloud to change something.
pub fn first_write_since(exchanges: &[Exchange], since: Timestamp) -> Option<&Exchange> {
    let writes = |exchange: &&Exchange| !["GET", "HEAD", "OPTIONS"].contains(&exchange.method.as_str());
    // Asking for a token changes nothing.
    let token = |exchange: &&Exchange| exchange.path.ends_with("/token");
    exchanges.iter().find(|exchange| exchange.at >= since && writes(exchange) && !token(exchange))
}

/// Invariant 7: a secret is sent only where it belongs, in a Secret. Gives back where else it was said.
pub fn first_line_with<'a>(exchanges: &'a [Exchange], secret: &str) -> Option<&'a Exchange> {
    let to_cluster = |exchange: &&Exchange| exchange.to == Place::Kubernetes;
    let belongs = |exchange: &&Exchange| exchange.audit.as_ref().is_some_and(|audit| audit.resource == "secrets");
    let says = |exchange: &&Exchange| exchange.request.to_string().contains(secret) || exchange.query.contains(secret);
    exchanges.iter().find(|exchange| to_cluster(exchange) && !belongs(exchange) && says(exchange))
}

/// Stands between clouds and cluster and notes work that a machine took with it (invariant 2).
#[derive(Clone)]
pub struct Watchman {
    inner: Arc<dyn Fleet>,
    objects: Objects,
    clock: Clock,
    history: History,
    seen: Arc<Mutex<Seen>>,
}

#[derive(Default)]
struct Seen {
    violations: Vec<Violation>,
    /// Nodes whose loss was injected: what they take with them is not our fault.
    expected: Vec<String>,
    gone_claims: BTreeMap<String, Timestamp>,
    purse: Purse,
}

impl Watchman {
    pub fn new(inner: Arc<dyn Fleet>, objects: Objects, clock: Clock, history: History) -> Self {
        Watchman { inner, objects, clock, history, seen: Arc::default() }
    }

    fn seen(&self) -> std::sync::MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next loss of this node is the test's doing.
    pub fn expect_loss(&self, node: &str) {
        self.seen().expected.push(node.to_owned());
    }

    /// Claims that were deleted, and when that was seen.
    pub fn gone_claims(&self) -> BTreeMap<String, Option<Timestamp>> {
        self.seen().gone_claims.iter().map(|(uid, at)| (uid.clone(), Some(*at))).collect()
    }

    /// Who may spend how much.
    pub fn purse(&self) -> Purse {
        self.seen().purse.clone()
    }

    pub fn cap_all(&self, cap: u64) {
        self.seen().purse.cap_all(cap);
    }

    /// Notes when claims go, and what pools may spend, for as long as the world runs.
    pub async fn follow_claims(self) {
        let (mut news, revision) = (self.objects.store.subscribe(), self.objects.store.revision());
        let (mut of_claims, mut of_pools) = (revision, revision);
        while news.changed().await.is_ok() {
            let now = self.clock.now();
            for change in self.changes("nodeclaims", &mut of_claims) {
                let mut seen = self.seen();
                seen.purse.note_claim(&change.after.value);
                if change.deleted {
                    let uid = change.after.value["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
                    seen.gone_claims.insert(uid, now);
                }
            }
            for change in self.changes("nodepools", &mut of_pools) {
                self.seen().purse.note_pool(&change.after.value);
            }
        }
    }

    fn changes(&self, plural: &str, revision: &mut u64) -> Vec<Change> {
        let resource: ResourceKey = ("karpenter.sh".into(), plural.into());
        // Compacted away only if thousands of objects change in one instant; then the rest is still seen.
        let Ok((changes, seen)) = self.objects.store.read_log(&resource, *revision) else {
            *revision = self.objects.store.revision();
            return Vec::new();
        };
        *revision = seen;
        changes
    }

    pub fn first_violation(&self) -> Option<Violation> {
        self.seen().violations.first().cloned()
    }
}

impl Fleet for Watchman {
    fn join(&self, machine: Machine) {
        self.inner.join(machine);
    }

    fn leave(&self, node: &str, deleted: bool) {
        let expected = {
            let mut seen = self.seen();
            let position = seen.expected.iter().position(|one| one == node);
            position.map(|position| seen.expected.remove(position)).is_some()
        };
        let pods: ResourceKey = ("".into(), "pods".into());
        let killed = self
            .objects
            .list(&pods)
            .into_iter()
            .find(|pod| pod.value["spec"]["nodeName"] == node && is_work(&pod.value));
        if let Some(pod) = killed.filter(|_| !expected) {
            let metadata = &pod.value["metadata"];
            let (namespace, name) = (metadata["namespace"].as_str(), metadata["name"].as_str());
            let what = format!(
                "node {node} went at {} with pod {}/{} on it, which had not been evicted",
                self.clock.now(),
                namespace.unwrap_or_default(),
                name.unwrap_or_default()
            );
            let lines = lines_about(&self.history.exchanges(), node);
            self.seen().violations.push(Violation { invariant: 2, what, lines });
        }
        self.inner.leave(node, deleted);
    }
}

/// A pod that is lost work: not of a DaemonSet, not a mirror, not over, not being deleted.
fn is_work(pod: &Value) -> bool {
    let metadata = &pod["metadata"];
    let owners = metadata["ownerReferences"].as_array().map(Vec::as_slice).unwrap_or_default();
    let daemon = owners.iter().any(|owner| owner["kind"] == "DaemonSet" && owner["controller"] == true);
    let mirror = metadata["annotations"].get("kubernetes.io/config.mirror").is_some();
    let over = matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
    !(daemon || mirror || over || metadata["deletionTimestamp"].is_string())
}

/// The last requests that name something, as a person reads them.
pub fn lines_about(exchanges: &[Exchange], name: &str) -> Vec<String> {
    let about = |exchange: &&Exchange| exchange.path.contains(name) || exchange.request.to_string().contains(name);
    let mut lines: Vec<String> = exchanges.iter().rev().filter(about).take(12).map(line).collect();
    lines.reverse();
    lines
}

fn line(exchange: &Exchange) -> String {
    let status = exchange.status.map_or("no answer".to_owned(), |status| status.to_string());
    let fault = exchange.fault.as_ref().map_or(String::new(), |fault| format!(" [{fault}]"));
    let Exchange { at, to, user, method, path, .. } = exchange;
    format!("{at} {user} {method} {}{path} -> {status}{fault}", to.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::BEGINNING;

    fn instance(name: &str, claim: &str, from: i64, until: Option<i64>) -> Instance {
        let at = |seconds: i64| BEGINNING + SignedDuration::from_secs(seconds);
        Instance {
            cloud: "aks",
            name: name.to_owned(),
            claim: Some(claim.to_owned()),
            from: at(from),
            until: until.map(at),
            price: 0,
        }
    }

    #[test]
    fn two_lives_that_touch_are_fine_and_two_that_overlap_are_not() {
        assert!(one_instance_a_claim(&[instance("a", "u", 0, Some(10)), instance("b", "u", 10, None)]).is_ok());
        assert!(one_instance_a_claim(&[instance("a", "u", 0, Some(11)), instance("b", "u", 10, None)]).is_err());
        assert!(one_instance_a_claim(&[instance("a", "u", 0, None), instance("b", "v", 0, None)]).is_ok());
    }

    #[test]
    fn what_is_spent_is_counted_over_those_who_live_at_the_same_time() {
        let lives = [instance("a", "u", 0, Some(10)), instance("b", "v", 5, Some(20)), instance("c", "w", 20, None)];
        assert_eq!(most_spent(&lives, |_| 3), 6);
        assert_eq!(most_spent(&[], |_| 3), 0);
    }

    fn said(method: &str, resource: &str, text: &str) -> Exchange {
        let audit = crate::history::Audit {
            verb: "create",
            group: String::new(),
            resource: resource.to_owned(),
            subresource: String::new(),
            namespace: String::new(),
        };
        Exchange {
            at: BEGINNING,
            to: Place::Kubernetes,
            user: "u".to_owned(),
            method: method.to_owned(),
            path: format!("/api/v1/{resource}"),
            query: String::new(),
            status: Some(200),
            request: Value::from(text),
            answer: Value::Null,
            fault: None,
            audit: Some(audit),
        }
    }

    #[test]
    fn a_quiet_world_is_only_read() {
        let history = [said("GET", "pods", ""), said("PATCH", "nodes", "")];
        assert_eq!(first_write_since(&history, BEGINNING).map(|one| one.method.as_str()), Some("PATCH"));
        assert!(first_write_since(&history, BEGINNING + SignedDuration::from_secs(1)).is_none());
        assert!(first_write_since(&history[..1], BEGINNING).is_none());
    }

    #[test]
    fn a_secret_belongs_into_a_secret_and_nowhere_else() {
        let history = [said("POST", "secrets", "token hush"), said("POST", "events", "joined with hush")];
        assert_eq!(first_line_with(&history, "hush").map(|one| one.path.as_str()), Some("/api/v1/events"));
        assert!(first_line_with(&history[..1], "hush").is_none());
    }

    #[test]
    fn an_instance_may_outlive_its_claim_for_a_minute() {
        let at = |seconds: i64| BEGINNING + SignedDuration::from_secs(seconds);
        let claims = BTreeMap::from([("u".to_owned(), Some(at(100)))]);
        let left = |now| nothing_left_behind(&[instance("a", "u", 0, None)], &claims, at(now), SignedDuration::ZERO);
        assert!(left(160).is_ok());
        assert!(left(161).is_err());
        let alive = BTreeMap::from([("u".to_owned(), None)]);
        assert!(nothing_left_behind(&[instance("a", "u", 0, None)], &alive, at(9999), SignedDuration::ZERO).is_ok());
    }
}
