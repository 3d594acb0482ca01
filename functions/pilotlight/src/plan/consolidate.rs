//! `--consolidate`: which nodes would go, what would come in their place, and why the others stay.

use cluster::{
    ClaimRead,
    scene::{SceneRead, SceneSource, Told, read_inventory},
    template_hash,
};
use decide::{
    disruption::{self, Situation},
    provision::{self, PoolFacts},
};
use model::{
    ClassRef, ObjectName, PoolRef, Uid,
    disruption::{Decision, Disruption, Kept, Order, To},
};
use serde::Serialize;
use std::{
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
pub fn add(answer: &mut Answer, source: &SceneSource, read: SceneRead, market: &Market, most: usize, limit: Duration) {
    let inventory = read_inventory(source, &read, &Told::default());
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
    let rack = class.is_some_and(|class| class.kind == "PowerNodeClass");
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
