//! A claim itself: its offerings are real, its pool allows it, and what it says of itself is so.

use std::collections::{BTreeMap, BTreeSet};

use crate::answer::{Answer, ClaimAnswer, OfferingAnswer};
use crate::catalog::{Catalog, InstanceType, Offering};
use crate::daemons;
use crate::fresh::{Fresh, is_defined, normalized};
use crate::labels::{INSTANCE_TYPE, NODE_POOL, allows, normal};
use crate::placement::{Place, Placement};
use crate::quantity::{self, show};
use crate::{Rule, Violation};

pub fn check(placement: &Placement<'_>, answer: &Answer, found: &mut Vec<Violation>) {
    pods_agree(answer, found);
    for (index, place) in placement.places.iter().enumerate() {
        let Place::Fresh(fresh) = place else { continue };
        let mut say = |rule: Rule, message: String| {
            found.push(Violation::of(rule, format!("claim/{} {message}", fresh.answer.name)));
        };
        offerings(placement.catalog, fresh, &mut say);
        pool(placement.catalog, fresh, &mut say);
        min_values(placement.catalog, fresh, &mut say);
        requests(placement, index, fresh, &mut say);
    }
}

fn pods_agree(answer: &Answer, found: &mut Vec<Violation>) {
    let mut sent: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for pod in &answer.pods {
        if let Some(claim) = pod.on.as_deref().and_then(|on| on.strip_prefix("claim/")) {
            sent.entry(claim).or_default().insert(pod.full_name());
        }
    }
    for claim in &answer.claims {
        let listed: BTreeSet<String> = claim.pods.iter().cloned().collect();
        let sent = sent.get(claim.name.as_str()).cloned().unwrap_or_default();
        if listed != sent {
            let odd: Vec<&String> = listed.symmetric_difference(&sent).collect();
            let message = format!("claim/{} and its pods disagree about {odd:?}", claim.name);
            found.push(Violation::of(Rule::Answer, message));
        }
        if listed.is_empty() {
            found.push(Violation::of(Rule::Answer, format!("claim/{} is for no pod", claim.name)));
        }
    }
}

fn offerings(catalog: &Catalog, fresh: &Fresh<'_>, say: &mut impl FnMut(Rule, String)) {
    let listed = &fresh.answer.offerings;
    if listed.is_empty() {
        say(Rule::Offerings, "lists no offering".to_owned());
    }
    if listed.iter().zip(listed.iter().skip(1)).any(|(one, next)| one.price > next.price) {
        say(Rule::Offerings, "does not list its cheapest offering first".to_owned());
    }
    for one in listed {
        let named = format!("{} in {} ({}) for {}", one.instance_type, one.zone, one.capacity_type, one.price);
        match find(catalog, one) {
            None => say(Rule::Offerings, format!("lists {named}, which nobody sells")),
            Some((_, offerings)) if !offerings.iter().any(|offering| offering.available) => {
                say(Rule::Offerings, format!("lists {named}, which is not available"));
            }
            Some((kind, offerings)) if !offerings.iter().any(|offering| fresh.leaves_open(kind, offering)) => {
                say(Rule::Offerings, format!("lists {named}, which its own requirements exclude"));
            }
            Some(_) => {}
        }
    }
}

/// The offerings of the catalogue that a line of an answer can mean.
fn find<'c>(catalog: &'c Catalog, one: &OfferingAnswer) -> Option<(&'c InstanceType, Vec<&'c Offering>)> {
    let kind = &catalog.types[catalog.index_of(&one.instance_type)?];
    let means = |offering: &&Offering| {
        let close = (offering.price - one.price).abs() <= 1e-9 * offering.price.abs().max(1.0);
        offering.zone == one.zone && offering.capacity_type == one.capacity_type && close
    };
    let offerings: Vec<&Offering> = kind.offerings.iter().filter(means).collect();
    (!offerings.is_empty()).then_some((kind, offerings))
}

fn pool(catalog: &Catalog, fresh: &Fresh<'_>, say: &mut impl FnMut(Rule, String)) {
    let (answer, pool) = (&fresh.answer, fresh.pool);
    if !pool.is_open() {
        say(Rule::Pool, format!("is of pool {}, which makes no claims now", pool.name()));
    }
    let template = &pool.spec.template;
    for (key, value) in &template.metadata.labels {
        if answer.labels.get(key) != Some(value) {
            say(Rule::Pool, format!("does not have the label {key}={value} of its pool"));
        }
    }
    if answer.labels.get(NODE_POOL).is_some_and(|name| name != pool.name()) {
        say(Rule::Pool, format!("has the label {NODE_POOL} of another pool"));
    }
    let set = |taints: &[k8s_openapi::api::core::v1::Taint]| -> BTreeSet<(String, String, String)> {
        taints.iter().map(|one| (one.key.clone(), one.value.clone().unwrap_or_default(), one.effect.clone())).collect()
    };
    if set(&answer.taints) != set(&template.spec.taints) {
        say(Rule::Pool, "does not have the taints of its pool".to_owned());
    }
    for one in &fresh.requirements {
        let absent_will_do = matches!(one.operator.as_str(), "NotIn" | "DoesNotExist");
        if !absent_will_do && !is_defined(&one.key, pool, catalog) {
            say(Rule::UndefinedLabel, format!("demands the label {}, which its pool does not have", one.key));
        }
    }
    let demanded = normalized(&template.spec.requirements);
    let keys: BTreeSet<&str> = demanded.iter().map(|one| one.key.as_str()).collect();
    for key in keys {
        let mentioned: Vec<&String> =
            demanded.iter().filter(|one| one.key == key).flat_map(|one| &one.values).collect();
        let mut seen = BTreeSet::new();
        let bad = fresh
            .nodes()
            .flat_map(|node| fresh.values(node, key, &mentioned))
            .find(|value| seen.insert(value.clone()) && !allows(&demanded, key, value.as_deref()));
        if let Some(value) = bad {
            let value = value.unwrap_or_else(|| "(none)".to_owned());
            say(Rule::Pool, format!("may become a node with {key}={value}, which its pool excludes"));
        }
    }
}

/// Counted as leniently as anybody could: over all values that the listed types have.
fn min_values(catalog: &Catalog, fresh: &Fresh<'_>, say: &mut impl FnMut(Rule, String)) {
    let pool = normalized(&fresh.pool.spec.template.spec.requirements);
    for one in pool.iter().chain(&fresh.requirements) {
        let Some(wanted) = one.min_values else { continue };
        let there = values_of_types(catalog, &fresh.answer, &one.key);
        if there.len() < wanted {
            let message = format!("lists {} values of {}, and {wanted} are demanded", there.len(), one.key);
            say(Rule::MinValues, message);
            return;
        }
    }
}

fn values_of_types(catalog: &Catalog, answer: &ClaimAnswer, key: &str) -> BTreeSet<String> {
    let listed: BTreeSet<&str> = answer.offerings.iter().map(|one| one.instance_type.as_str()).collect();
    if normal(key) == INSTANCE_TYPE {
        return listed.into_iter().map(str::to_owned).collect();
    }
    let types = listed.into_iter().filter_map(|name| catalog.index_of(name)).map(|index| &catalog.types[index]);
    let values = types.flat_map(|kind| kind.offerings.iter().flat_map(|offering| kind.values(offering, key)));
    values.cloned().collect()
}

/// A claim requests what its pods do, and at most the DaemonSets on top.
fn requests(placement: &Placement<'_>, index: usize, fresh: &Fresh<'_>, say: &mut impl FnMut(Rule, String)) {
    let said = quantity::resources(&fresh.answer.requests);
    let mut least = daemons::total(placement.arrivals(index));
    least.remove("pods");
    // A planner may count DaemonSets by pool, before it knows which of them the node will get.
    let mut most = daemons::total(placement.cluster.daemons.iter());
    quantity::add(&mut most, &daemons::total(placement.arrivals(index)));
    for (name, amount) in &least {
        let there = said.get(name).copied().unwrap_or(0);
        if there < *amount {
            say(Rule::Pool, format!("requests {} {name}, and its pods {}", show(there), show(*amount)));
        }
    }
    for (name, amount) in &said {
        let enough = most.get(name).copied().unwrap_or(0);
        if *amount > enough {
            let message = format!("requests {} {name}, and its pods and DaemonSets {}", show(*amount), show(enough));
            say(Rule::Pool, message);
        }
    }
}
