//! What is so of a node that may go: whose it is, what is on it, what forbids to disturb it, how old it is, what it costs.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Node, Pod, Taint};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::when;
use crate::catalog::{Catalog, Offering};
use crate::cluster::{Cluster, PodFacts, Role};
use crate::labels::{CAPACITY_TYPE, INITIALIZED, INSTANCE_TYPE, Labels, REGISTERED, ZONE, holds, normal, selects};
use crate::load::Objects;
use crate::objects::{NodeClaim, NodePool};
use crate::pods::{is_owned_by, is_terminal, is_terminating, name, namespace, node_name, untolerated};
use crate::quantity::ONE;

const DO_NOT_DISRUPT: &str = "karpenter.sh/do-not-disrupt";
const DISRUPTED: &str = "karpenter.sh/disrupted";

/// The cluster, the market, and the time.
pub struct Situation<'a> {
    pub objects: &'a Objects,
    pub cluster: &'a Cluster,
    pub catalog: &'a Catalog,
    pub now: Timestamp,
}

pub struct NodeFacts<'a> {
    pub name: &'a str,
    pub node: &'a Node,
    pub claim: Option<&'a NodeClaim>,
    /// The pool of its label, if that is there.
    pub pool: Option<&'a NodePool>,
    pub pool_label: Option<&'a str>,
    pub labels: &'a Labels,
    pub leaving: bool,
    pub initialized: bool,
    /// All that is on it and not over.
    pub pods: Vec<&'a PodFacts>,
    pub now: Timestamp,
}

impl<'a> Situation<'a> {
    pub fn nodes(&self) -> Vec<NodeFacts<'a>> {
        let machines = self.cluster.machines.iter().enumerate();
        let one = |(index, machine): (usize, &'a crate::machines::Machine)| {
            let called = machine.node.as_deref()?;
            let claim = self.objects.claims.iter().find(|one| Some(one.name()) == machine.claim.as_deref());
            let on_it = |pod: &&PodFacts| pod.role == Role::Bound(index) || node_name(&pod.pod) == Some(called);
            let is_so = |label: &str| machine.labels.get(label).is_some_and(|it| it == "true");
            Some(NodeFacts {
                name: called,
                node: self.objects.nodes.iter().find(|node| name(&node.metadata) == called)?,
                claim,
                pool: machine.pool().and_then(|pool| self.cluster.pool(pool)),
                pool_label: machine.pool(),
                labels: &machine.labels,
                leaving: machine.leaving,
                // Where only labels say whose a node is, they say too that it is not up yet.
                initialized: is_so(INITIALIZED) || (claim.is_none() && !is_so(REGISTERED)),
                pods: self.cluster.pods.iter().filter(|pod| !is_terminal(&pod.pod)).filter(on_it).collect(),
                now: self.now,
            })
        };
        machines.filter_map(one).collect()
    }

    /// Why a pod must not be disturbed.
    pub fn held(&self, pod: &PodFacts) -> Option<String> {
        if is_terminating(&pod.pod) {
            return None;
        }
        if let Some(value) = note(&pod.pod.metadata.annotations, DO_NOT_DISRUPT) {
            let started = pod.pod.status.as_ref().and_then(|status| status.start_time.as_ref()).map(|time| time.0);
            let started = started.or_else(|| pod.pod.metadata.creation_timestamp.as_ref().map(|time| time.0));
            let lasts = when::duration(value).filter(SignedDuration::is_positive);
            // Where nobody says when it started, it is taken to have run for two hours, as in every file.
            let ran = started.map_or(SignedDuration::from_hours(2), |started| self.now.duration_since(started));
            if value == "true" || lasts.is_some_and(|lasts| ran < lasts) {
                return Some(format!("{} has {DO_NOT_DISRUPT}: {value}", pod.name));
            }
        }
        // Whoever passes over pods that tolerate every taint asks no budget for them; whoever evicts them does.
        let stays_anyway = untolerated(&pod.pod, &[disrupted_taint()]).is_none();
        if stays_anyway { None } else { self.held_by_budget(pod) }
    }

    /// Why PodDisruptionBudgets would not let a pod be evicted.
    pub fn held_by_budget(&self, pod: &PodFacts) -> Option<String> {
        if is_terminating(&pod.pod) || is_owned_by(&pod.pod, "Node") {
            return None;
        }
        let budgets: Vec<&PodDisruptionBudget> =
            self.objects.budgets.iter().filter(|budget| selects_pod(budget, pod)).collect();
        match budgets.as_slice() {
            [] => None,
            [one] if self.allows(one) > 0 || (lets_unready_go(one) && is_unready(&pod.pod)) => None,
            [one] => Some(format!("PodDisruptionBudget {} lets {} not go", name(&one.metadata), pod.name)),
            _ => Some(format!("{} has {} PodDisruptionBudgets", pod.name, budgets.len())),
        }
    }

    /// How many pods a budget lets go: as its status says, or as its controller would find.
    fn allows(&self, budget: &PodDisruptionBudget) -> i64 {
        if let Some(status) = &budget.status {
            return i64::from(status.disruptions_allowed.unwrap_or(0));
        }
        let pods = self.cluster.pods.iter().filter(|pod| selects_pod(budget, pod) && !is_terminal(&pod.pod));
        let (mut expected, mut healthy) = (0, 0);
        for pod in pods {
            expected += 1;
            healthy += i64::from(is_healthy(&pod.pod));
        }
        let share = |value: &IntOrString| match value {
            IntOrString::Int(number) => i64::from(*number),
            IntOrString::String(text) => {
                let percent = text.strip_suffix('%').and_then(|text| text.parse::<i64>().ok());
                percent.map_or(expected, |percent| (expected * percent + 99).div_euclid(100))
            }
        };
        let spec = budget.spec.clone().unwrap_or_default();
        let wanted = match (&spec.max_unavailable, &spec.min_available) {
            (Some(most), _) => expected - share(most),
            (None, Some(least)) => share(least),
            (None, None) => 0,
        };
        healthy - wanted.max(0)
    }

    /// The offering that a node was bought as: the cheapest that it can have been.
    pub fn paid(&self, node: &NodeFacts<'_>) -> Option<&'a Offering> {
        let of_type = node.labels.get(INSTANCE_TYPE)?;
        let one = &self.catalog.types[self.catalog.index_of(of_type)?];
        let says = |key: &str, value: &str| node.labels.get(key).is_none_or(|label| label == value);
        let usual = !node.labels.contains_key(CAPACITY_TYPE)
            && one.offerings.iter().any(|offering| offering.capacity_type == "on-demand");
        let fits = |offering: &&Offering| {
            let bought =
                says(CAPACITY_TYPE, &offering.capacity_type) && (!usual || offering.capacity_type == "on-demand");
            says(ZONE, &offering.zone) && bought
        };
        one.offerings.iter().filter(fits).min_by(|a, b| a.price.total_cmp(&b.price))
    }
}

impl<'a> NodeFacts<'a> {
    /// Those that will run somewhere else when it is gone.
    pub fn moving(&self) -> impl Iterator<Item = &'a PodFacts> + '_ {
        self.pods.iter().copied().filter(|pod| moves(&pod.pod))
    }

    /// The first pod that keeps it from being empty.
    pub fn busy(&self) -> Option<&'a PodFacts> {
        self.moving().find(|pod| !is_ignored(pod) && disturbance(pod) > 0.0)
    }

    /// Whether it has pods that nobody ignores, whatever they cost.
    pub fn has_pods(&self) -> bool {
        self.moving().any(|pod| !is_ignored(pod))
    }

    /// A note on the Node or on its claim.
    pub fn is_noted(&self, key: &str) -> bool {
        let claim = self.claim.and_then(|claim| note(&claim.metadata.annotations, key));
        note(&self.node.metadata.annotations, key) == Some("true") || claim == Some("true")
    }

    pub fn must_not_be_disrupted(&self) -> bool {
        self.is_noted(DO_NOT_DISRUPT)
    }

    pub fn is_ready(&self) -> bool {
        let conditions = self.node.status.as_ref().and_then(|status| status.conditions.as_ref());
        let ready = conditions.into_iter().flatten().find(|one| one.type_ == "Ready");
        ready.is_none_or(|one| one.status == "True")
    }

    /// A command is at work on it.
    pub fn is_disrupted(&self) -> bool {
        let taints = self.node.spec.as_ref().and_then(|spec| spec.taints.as_ref());
        let tainted = taints.into_iter().flatten().any(|taint| taint.key == DISRUPTED);
        tainted || self.claim.and_then(|claim| claim.condition("DisruptionReason")) == Some(true)
    }

    pub fn is_control_plane(&self) -> bool {
        ["control-plane", "master"]
            .iter()
            .any(|role| self.labels.contains_key(&format!("node-role.kubernetes.io/{role}")))
    }

    pub fn is_rack(&self) -> bool {
        self.pool.is_some_and(|pool| pool.spec.template.spec.node_class_ref.kind == "PowerNodeClass")
    }

    pub fn is_cordoned(&self) -> bool {
        self.node.spec.as_ref().is_some_and(|spec| spec.unschedulable == Some(true))
    }

    pub fn pool_note(&self, key: &str) -> Option<&'a str> {
        self.pool.and_then(|pool| note(&pool.metadata.annotations, key))
    }

    /// What nobody dates is two hours old.
    pub fn created(&self) -> Timestamp {
        let claimed = self.claim.map(|claim| &claim.metadata);
        let made = claimed.unwrap_or(&self.node.metadata).creation_timestamp.as_ref().map(|time| time.0);
        made.unwrap_or_else(|| self.now.checked_sub(SignedDuration::from_hours(2)).unwrap_or(self.now))
    }

    pub fn up_since(&self) -> Timestamp {
        let initialized = self.claim.and_then(|claim| {
            let condition =
                claim.status.conditions.iter().find(|one| one.type_ == "Initialized" && one.status == "True");
            condition.map(|one| one.last_transition_time.0)
        });
        initialized.unwrap_or_else(|| self.created())
    }

    /// When a machine of one's own came on.
    pub fn switched_on(&self) -> Option<Timestamp> {
        let conditions = &self.claim.filter(|_| self.is_rack())?.status.conditions;
        conditions.iter().find(|one| one.type_ == "Registered").map(|one| one.last_transition_time.0)
    }

    /// When a pod came or went last, as far as anybody knows.
    pub fn last_event(&self) -> Timestamp {
        let noted = self.claim.and_then(|claim| claim.status.last_pod_event_time.as_deref()?.parse().ok());
        let bound = |pod: &&PodFacts| {
            let conditions = pod.pod.status.as_ref().and_then(|status| status.conditions.as_ref())?;
            let scheduled = conditions.iter().find(|one| one.type_ == "PodScheduled" && one.status == "True")?;
            scheduled.last_transition_time.as_ref().map(|time| time.0)
        };
        let came = self.moving().filter_map(|pod| bound(&pod)).max();
        noted.unwrap_or_else(|| came.map_or(self.up_since(), |came| came.max(self.up_since())))
    }

    pub fn termination_grace(&self) -> bool {
        match (self.claim, self.pool) {
            (Some(claim), _) => claim.spec.termination_grace_period.is_some(),
            (None, pool) => pool.is_some_and(|pool| pool.spec.template.spec.termination_grace_period.is_some()),
        }
    }

    /// Since when it is too old.
    pub fn expired(&self) -> bool {
        let said = match (self.claim, self.pool) {
            (Some(claim), _) => claim.spec.expire_after.as_deref(),
            (None, pool) => pool.and_then(|pool| pool.spec.template.spec.expire_after.as_deref()),
        };
        let after = when::duration(said.unwrap_or("720h"));
        after.is_some_and(|after| self.now.duration_since(self.created()) >= after)
    }

    /// Why it is not what its pool would make now.
    pub fn drifted(&self, catalog: &Catalog) -> Option<String> {
        if self.claim.and_then(|claim| claim.condition("Drifted")) == Some(true) {
            return Some("a condition says so".to_owned());
        }
        let pool = self.pool?;
        for one in &pool.spec.template.spec.requirements {
            let value = self.labels.get(normal(&one.key)).map(String::as_str);
            if (self.claim.is_some() || value.is_some()) && !holds(&one.operator, &one.values, value) {
                return Some(format!("its pool does not allow its {}", one.key));
            }
        }
        let of_type = self.labels.get(INSTANCE_TYPE)?;
        let hour = SignedDuration::from_hours(1);
        let gone = pool.is_open() && catalog.index_of(of_type).is_none() && !catalog.types.is_empty();
        (gone && self.now.duration_since(self.created()) >= hour).then(|| format!("nobody sells {of_type} any more"))
    }

    /// Its template may have changed: only who knows the rule of the hash can tell.
    pub fn has_hash(&self) -> bool {
        self.claim.is_some_and(|claim| note(&claim.metadata.annotations, "karpenter.sh/nodepool-hash").is_some())
    }
}

/// What evicting a pod costs: 1 for an ordinary one.
pub fn disturbance(pod: &PodFacts) -> f64 {
    let notes = &pod.pod.metadata.annotations;
    let said = note(notes, "karpenter.sh/disruption-cost")
        .or_else(|| note(notes, "controller.kubernetes.io/pod-deletion-cost"));
    let said: i32 = said.and_then(|text| text.parse().ok()).unwrap_or(0);
    let priority = pod.pod.spec.as_ref().and_then(|spec| spec.priority).unwrap_or(0);
    let sum = 1.0 + f64::from(said) / 2_f64.powi(27) + f64::from(priority) / 2_f64.powi(25) + gpus(pod);
    sum.clamp(-10.0, 10.0)
}

/// How many GPUs, or slices of them, a pod holds.
#[allow(clippy::cast_precision_loss)] // A few devices.
pub fn gpus(pod: &PodFacts) -> f64 {
    let devices = pod.requests.iter().filter(|(name, amount)| {
        let known = ["habana.ai/gaudi", "google.com/tpu", "aws.amazon.com/neuron"];
        let named = name.contains('/') && (name.contains("gpu") || name.contains("/mig-"));
        **amount > 0 && (named || known.iter().any(|known| name.starts_with(known)))
    });
    devices.map(|(_, amount)| (*amount as f64 / ONE as f64).clamp(1.0, 10.0)).sum()
}

pub fn moves(pod: &Pod) -> bool {
    let fixed = is_owned_by(pod, "DaemonSet") || is_owned_by(pod, "Node");
    !fixed && (!is_terminating(pod) || is_owned_by(pod, "StatefulSet"))
}

pub fn note<'n>(notes: &'n Option<std::collections::BTreeMap<String, String>>, key: &str) -> Option<&'n str> {
    notes.as_ref()?.get(key).map(String::as_str)
}

fn disrupted_taint() -> Taint {
    Taint { key: DISRUPTED.to_owned(), effect: "NoSchedule".to_owned(), ..Taint::default() }
}

fn selects_pod(budget: &PodDisruptionBudget, pod: &PodFacts) -> bool {
    let selector = budget.spec.as_ref().and_then(|spec| spec.selector.as_ref());
    namespace(&budget.metadata) == pod.namespace && selects(selector, &pod.labels)
}

fn lets_unready_go(budget: &PodDisruptionBudget) -> bool {
    let policy = budget.spec.as_ref().and_then(|spec| spec.unhealthy_pod_eviction_policy.as_deref());
    policy == Some("AlwaysAllow")
}

fn ready(pod: &Pod) -> Option<bool> {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions.into_iter().flatten().find(|one| one.type_ == "Ready").map(|one| one.status == "True")
}

fn is_unready(pod: &Pod) -> bool {
    ready(pod) == Some(false)
}

/// A pod on a node that says nothing of itself runs.
fn is_healthy(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or("Running");
    !is_terminating(pod) && ready(pod).unwrap_or(node_name(pod).is_some() && phase == "Running")
}

/// A pod that keeps no node, and gets none of its own when it goes.
pub fn is_ignored(pod: &PodFacts) -> bool {
    note(&pod.pod.metadata.annotations, "pilotlight.dev/ignored-when-idle") == Some("true")
}
