//! A NodePool in our words. One that cannot be read, or makes no nodes now, says so and is there all the same: its nodes are used.

use model::{
    CapacityType, ObjectName, Operator, Requirement, Resources, Taint, class_label,
    disruption::FixedSize,
    names,
    place::{Pool, PoolRequirement},
};
use std::collections::BTreeMap;

use super::{PoolSource, Problem, pool_checks};
use crate::{
    crd::{NodePool, RequirementWithMinimum},
    fields,
};

const MOST_MIN_VALUES: i64 = 50;
const RESTRICTED_DOMAIN: &str = "karpenter.sh";

/// `None`, with a problem, for a pool without a name.
pub(super) fn pool(
    source: &PoolSource,
    used: &BTreeMap<String, Resources>,
    problems: &mut Vec<Problem>,
) -> Option<Pool> {
    let name = source.pool.metadata.name.clone().unwrap_or_default();
    let mut problem = |why: String| problems.push(Problem { kind: "NodePool", name: name.clone(), why });
    let read = match ObjectName::new(&name) {
        Ok(name) => name,
        Err(error) => {
            problem(format!("metadata.name: {error}"));
            return None;
        }
    };
    let mut pool = Pool {
        name: read,
        weight: 0,
        labels: BTreeMap::new(),
        requirements: vec![],
        taints: vec![],
        spot_taints: source.spot_taints.clone(),
        startup_taints: vec![],
        limits: Resources::new(),
        used: used.get(&name).cloned().unwrap_or_default(),
        catalogue: *source.catalogue.as_ref().unwrap_or(&0),
        closed: None,
    };
    pool.closed = match fill(&mut pool, &source.pool) {
        Err(why) => {
            problem(why.clone());
            Some(why)
        }
        Ok(()) => closed(source),
    };
    Some(pool)
}

fn fill(pool: &mut Pool, given: &NodePool) -> Result<(), String> {
    let template = &given.spec.template;
    let weight = given.spec.weight.unwrap_or(0);
    let number = u8::try_from(weight).ok().filter(|weight| *weight <= 100);
    pool.weight = number.ok_or_else(|| format!("spec.weight is {weight}: it has to be 1 to 100"))?;
    pool.labels = template.metadata.labels.clone();
    for key in pool.labels.keys() {
        restricted("spec.template.metadata.labels", key)?;
    }
    let class = &template.spec.node_class_ref;
    if !class.kind.is_empty() {
        pool.labels.insert(class_label(&class.group, &class.kind), class.name.clone());
    }
    for (index, one) in template.spec.requirements.iter().enumerate() {
        pool.requirements.push(requirement(&format!("spec.template.spec.requirements[{index}]"), one)?);
    }
    pool.taints = fields::taints("spec.template.spec.taints", &template.spec.taints)?;
    pool.startup_taints = fields::taints("spec.template.spec.startupTaints", &template.spec.startup_taints)?;
    no_taint_twice(pool.taints.iter().chain(&pool.startup_taints))?;
    pool.limits = fields::resources("spec.limits", &given.spec.limits)?;
    some_capacity_type(&pool.requirements)?;
    pool_checks::check(given)
}

/// Whether a label is of the domain that only Karpenter sets, and not one of the two that everybody may ask for.
pub(super) fn is_karpenters_own(key: &str) -> bool {
    let domain = key.split_once('/').map(|(domain, _)| domain).unwrap_or_default();
    let own = domain == RESTRICTED_DOMAIN || domain.ends_with(".karpenter.sh");
    own && key != names::CAPACITY_TYPE && key != names::NODE_POOL
}

fn restricted(path: &str, key: &str) -> Result<(), String> {
    if [names::HOSTNAME, names::NODE_POOL].contains(&key) || is_karpenters_own(key) {
        return Err(format!("{path}: the label {key} is not a pool's to set"));
    }
    Ok(())
}

fn requirement(path: &str, given: &RequirementWithMinimum) -> Result<PoolRequirement, String> {
    restricted(&format!("{path}.key"), &given.key)?;
    let operator: Operator = given.operator.parse().map_err(|error| format!("{path}.operator: {error}"))?;
    let count = i64::try_from(given.values.len()).unwrap_or(i64::MAX);
    let is_number =
        |text: &String| text.len() <= 18 && !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match operator {
        Operator::In if given.values.is_empty() => return Err(format!("{path}.values is empty: In needs a value")),
        Operator::Gt | Operator::Lt | Operator::Gte | Operator::Lte
            if given.values.len() != 1 || !given.values.iter().all(is_number) =>
        {
            return Err(format!("{path}.values: {operator} needs one whole number that is not negative"));
        }
        Operator::Exists | Operator::DoesNotExist if !given.values.is_empty() => {
            return Err(format!("{path}.values: {operator} takes no values"));
        }
        _ => {}
    }
    let min_values = given.min_values.map(|least| match u32::try_from(least) {
        Ok(number) if (1..=MOST_MIN_VALUES).contains(&least) && (operator != Operator::In || least <= count) => {
            Ok(number)
        }
        _ => Err(format!(
            "{path}.minValues is {least}: it has to be 1 to {MOST_MIN_VALUES}, and no more than there are values"
        )),
    });
    let requirement = Requirement { key: given.key.clone(), operator, values: given.values.clone() };
    Ok(PoolRequirement { requirement, min_values: min_values.transpose()? })
}

fn no_taint_twice<'a>(taints: impl Iterator<Item = &'a Taint>) -> Result<(), String> {
    let mut seen: Vec<&Taint> = Vec::new();
    for taint in taints {
        if seen.iter().any(|other| other.is_same(taint)) {
            let effect = taint.effect.as_str();
            return Err(format!("spec.template.spec: the taint {}:{effect} is there twice", taint.key));
        }
        seen.push(taint);
    }
    Ok(())
}

/// Values that nobody knows are passed over, but one that is known has to be left.
fn some_capacity_type(requirements: &[PoolRequirement]) -> Result<(), String> {
    let on_it = requirements.iter().map(|one| &one.requirement).filter(|one| one.key == names::CAPACITY_TYPE);
    for one in on_it.filter(|one| one.operator == Operator::In) {
        if !one.values.iter().any(|value| value.parse::<CapacityType>().is_ok()) {
            let key = names::CAPACITY_TYPE;
            return Err(format!("spec.template.spec.requirements: {key} leaves none of on-demand, spot and reserved"));
        }
    }
    Ok(())
}

/// What keeps a pool of fixed size from making nodes, apart from its size.
pub(super) fn fixed_size(pool: &Pool, given: &NodePool) -> Option<FixedSize> {
    let replicas = given.spec.replicas?;
    let closed = pool.closed.clone().filter(|why| *why != only_so_many(replicas));
    Some(FixedSize { replicas: u64::try_from(replicas).unwrap_or(0), closed })
}

fn only_so_many(replicas: i64) -> String {
    format!("it has {replicas} nodes, whatever pods wait (spec.replicas)")
}

fn closed(source: &PoolSource) -> Option<String> {
    unready(source).or_else(|| source.pool.spec.replicas.map(only_so_many))
}

fn unready(source: &PoolSource) -> Option<String> {
    let pool = &source.pool;
    if pool.metadata.deletion_timestamp.is_some() {
        return Some("it is being deleted".to_owned());
    }
    let conditions = pool.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
    // Where nobody writes conditions, there is nothing against it.
    let against = conditions.iter().find(|one| {
        one.status != "True" && ["ValidationSucceeded", "NodeClassReady", "Ready"].contains(&one.type_.as_str())
    });
    if let Some(one) = against {
        let why = if one.message.is_empty() { &one.reason } else { &one.message };
        return Some(format!("it is not ready: {} is {}, {why}", one.type_, one.status));
    }
    source.catalogue.as_ref().err().cloned()
}
