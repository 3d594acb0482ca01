//! `--consolidate`: which nodes would go, what would come in their place, and why the others stay.

use cluster::{
    ClaimRead,
    scene::{ClassNow, PoolSource, SceneRead, SceneSource, Told, class_now, read_inventory},
    template_hash,
};
use decide::{
    command::paused,
    disruption::{self, Situation},
    provision::{self, PoolFacts},
    repair::{Patient, built_in, is_notice, judge},
};
use jiff::Timestamp;
use model::{
    ClassRef, ConditionKind, Node, ObjectName, PoolRef, Uid,
    disruption::{Decision, Disruption, Kept, Order, To},
    names,
};
use serde::Serialize;
use serde_json::Value;
use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    answer::{Answer, ClaimAnswer, Lists, describe},
    catalogue::Market,
};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Consolidation {
    pub disruptions: Vec<DisruptionAnswer>,
    pub kept: Vec<KeptAnswer>,
    /// Of the decision alone.
    pub disrupt_ms: f64,
    pub saves_per_hour: f64,
    /// When the same cluster would be decided differently.
    #[serde(skip_serializing_if = "Option::is_none")]
    look_again_at: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DisruptionAnswer {
    pub nodes: Vec<String>,
    pub action: &'static str,
    pub reason: &'static str,
    pub replacements: Vec<ClaimAnswer>,
    pub saves_per_hour: f64,
    /// In words.
    pub why: String,
    /// The node goes before anything can come in its place.
    #[serde(skip_serializing_if = "is_false")]
    pub terminate_first: bool,
    pub moves: Vec<MoveAnswer>,
}

#[derive(Serialize)]
pub struct MoveAnswer {
    /// `namespace/name`.
    pod: String,
    from: String,
    /// `node/NAME` or `claim/NAME`; null where ordinary provisioning decides later.
    to: Option<String>,
}

#[derive(Serialize)]
pub struct KeptAnswer {
    pub node: String,
    pub reason: String,
    pub code: &'static str,
}

/// Decides, and adds it to the answer.
pub fn add(
    answer: &mut Answer,
    source: &SceneSource,
    classes: &[Value],
    read: SceneRead,
    market: &Market,
    most: usize,
    limit: Duration,
) {
    let inventory = read_inventory(source, &read, &Told { classes: classes_now(source, classes), ..found(source) });
    let claims = source.claims.iter().filter_map(|read| match read {
        ClaimRead::Claim(read) => Some(read.claim.clone()),
        ClaimRead::Malformed(_) => None,
    });
    let pools = read.scene.pools.iter().map(|pool| facts(source, &pool.name)).collect();
    let provision =
        provision::Situation { scene: read.scene.clone(), pools, claims: claims.collect(), now: source.now };
    let situation = Situation { provision, inventory };
    let begun = Instant::now();
    let decision = disruption::decide(&situation, &mut || begun.elapsed() < limit);
    let took = begun.elapsed();
    if decision.out_of_time {
        answer.warnings.push("time ran out before every node was looked at: give it more with --timeout".to_owned());
    }
    answer.consolidation = Some(told(&decision, &read, Lists::new(&read, market, most), took));
}

/// What conditions of nodes and notes on pools say. What would be started anew where somebody can do that is shown as replaced.
fn found(source: &SceneSource) -> Told {
    let policies = built_in();
    let sick = source.nodes_read().into_iter().filter_map(|mut node| {
        // Where a file does not say since when, nobody has borne it for too long.
        node.conditions.retain(|condition| condition.since.is_some() || is_notice(condition));
        let patient = Patient { node: &node, claim: None, can_reboot: false };
        Some((node.name.to_string(), judge(&policies, patient, source.now)?))
    });
    let paused = source.pools.iter().filter_map(|one| {
        let metadata = &one.pool.metadata;
        let noted = metadata.annotations.as_ref().and_then(|all| all.get(names::BACK_OFF));
        Some((metadata.name.clone()?, paused(noted.map(String::as_str), source.now)?))
    });
    Told { unhealthy: sick.collect(), paused: paused.collect(), changed_at: switched_at(source), ..Told::default() }
}

/// What nodes made now would be, of every class that a pool names and a file has.
fn classes_now(source: &SceneSource, classes: &[Value]) -> BTreeMap<(String, String), ClassNow> {
    let of_pool = |one: &PoolSource| {
        let class = &one.pool.spec.template.spec.node_class_ref;
        let is_it = |given: &&Value| given["kind"] == *class.kind && given["metadata"]["name"] == *class.name;
        let given = classes.iter().find(is_it)?;
        let named =
            ClassRef { group: class.group.clone(), kind: class.kind.clone(), name: ObjectName::new(&class.name).ok()? };
        Some(((class.kind.clone(), class.name.clone()), class_now(&named, given)))
    };
    source.pools.iter().filter_map(of_pool).collect()
}

/// When machines of one's own came on: each rests before it is switched again, and they take turns.
fn switched_at(source: &SceneSource) -> BTreeMap<String, Timestamp> {
    let nodes = source.nodes_read();
    let of_claim = |read: &ClaimRead| {
        let ClaimRead::Claim(read) = read else { return None };
        let claim = &read.claim;
        let registered = claim.condition(ConditionKind::Registered).filter(|_| is_rack(&claim.class.kind))?;
        let is_its = |node: &&Node| {
            let named = claim.status.node.as_deref() == Some(node.name.as_str());
            named || (node.provider_id.is_some() && node.provider_id == claim.status.provider_id)
        };
        Some((nodes.iter().find(is_its)?.name.to_string(), registered.since))
    };
    source.claims.iter().filter_map(of_claim).collect()
}

fn is_rack(kind: &str) -> bool {
    kind == "PowerNodeClass"
}

fn told(decision: &Decision, read: &SceneRead, mut lists: Lists<'_>, took: Duration) -> Consolidation {
    let mut count = 0;
    let disruptions: Vec<DisruptionAnswer> =
        decision.disruptions.iter().map(|one| disrupted(one, read, &mut lists, &mut count)).collect();
    let kept = |one: &Kept| KeptAnswer {
        node: one.node.to_string(),
        reason: format!("not disrupted because {}", one.reason),
        code: one.code.as_str(),
    };
    Consolidation {
        // Nothing at all adds up to -0.
        saves_per_hour: decision.disruptions.iter().map(|one| one.saves as f64 / 1e6).sum::<f64>() + 0.0,
        disruptions,
        kept: decision.kept.iter().map(kept).collect(),
        disrupt_ms: took.as_secs_f64() * 1e3,
        look_again_at: decision.look_again.map(|at| at.to_string()),
    }
}

fn disrupted(one: &Disruption, read: &SceneRead, lists: &mut Lists<'_>, count: &mut usize) -> DisruptionAnswer {
    let pod = |at: usize| read.scene.bound.get(at).map(|pod| format!("{}/{}", pod.namespace, pod.name));
    let mut replacements = vec![];
    for replacement in &one.replacements {
        let mut claim = describe(&replacement.planned, lists, &pod);
        claim.name = format!("replacement-{count}");
        *count += 1;
        replacements.push(claim);
    }
    let to = |to: &To| match to {
        To::Node(name) => Some(format!("node/{name}")),
        To::Replacement(at) => replacements.get(*at).map(|claim| format!("claim/{}", claim.name)),
        To::Later => None,
    };
    let moves = one.moves.iter().map(|one| MoveAnswer {
        pod: format!("{}/{}", one.pod.namespace, one.pod.name),
        from: one.from.to_string(),
        to: to(&one.to),
    });
    DisruptionAnswer {
        nodes: one.nodes.iter().map(|leaving| leaving.node.to_string()).collect(),
        action: one.action(),
        reason: one.reason.as_str(),
        moves: moves.collect(),
        replacements,
        saves_per_hour: one.saves as f64 / 1e6,
        why: one.why.clone(),
        terminate_first: one.order == Order::TerminateFirst,
    }
}

/// What claims of a pool are made with. A file need not say who makes machines for it.
fn facts(source: &SceneSource, name: &ObjectName) -> PoolFacts {
    let given =
        source.pools.iter().find(|one| one.pool.metadata.name.as_deref() == Some(name.as_str())).map(|one| &one.pool);
    let class = given.map(|pool| &pool.spec.template.spec.node_class_ref);
    let template = given.map(|pool| &pool.spec.template);
    let owner = given.and_then(|pool| {
        let uid = Uid::new(pool.metadata.uid.clone()?).ok()?;
        Some(PoolRef { name: name.clone(), uid })
    });
    let mut annotations = template.map(|template| template.metadata.annotations.clone()).unwrap_or_default();
    annotations.extend(given.map(template_hash).unwrap_or_default());
    let rack = class.is_some_and(|class| is_rack(&class.kind));
    PoolFacts {
        allowance: Default::default(),
        owner,
        class: ClassRef {
            group: class.map(|class| class.group.clone()).unwrap_or_default(),
            kind: class.map(|class| class.kind.clone()).unwrap_or_default(),
            name: class.and_then(|class| ObjectName::new(&class.name).ok()).unwrap_or_else(|| name.clone()),
        },
        provider: if rack { "power" } else { "" },
        annotations,
        expire_after: template.and_then(|template| template.spec.expire_after.clone()),
        termination_grace_period: template.and_then(|template| template.spec.termination_grace_period.clone()),
        offerings: Arc::from([]),
    }
}

fn is_false(value: &bool) -> bool {
    !value
}
