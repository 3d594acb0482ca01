//! What people read: on the claim, on each pod, and in the answer.

use model::{CapacityType, Claim, ClaimToMake, ConditionKind, Offering, PodNote, PodRef, Price, names, place::Why};

use super::PoolFacts;

/// Of an Event's text.
pub const LONGEST_TEXT: usize = 1024;

const NOMINATED: &str = "Nominated";

/// How many past claims of a pool are looked at.
const MOST_EXAMPLES: usize = 9;

/// How long a node takes to become usable, where nothing like it has been made here yet.
const USUAL_MINUTES: [(&str, i64); 3] = [("aks", 6), ("scaleway", 4), ("power", 5)];

/// `L4-1-24G in fr-par-2, on-demand, at 0.75 EUR an hour, usable in about 4 minutes; 3 more would do, up to 1.40 EUR an hour`.
pub(super) fn expected(offerings: &[&Offering], minutes: i64) -> String {
    let Some((first, others)) = offerings.split_first() else {
        return format!("usable in about {}", in_minutes(minutes));
    };
    let zone = first.id.zone.as_ref().map(|zone| format!(" in {zone}")).unwrap_or_default();
    let how = match first.id.capacity_type {
        CapacityType::OnDemand => "",
        CapacityType::Spot => ", spot",
        CapacityType::Reserved => ", reserved",
    };
    let cost = first.price.as_ref().map(|price| format!(", {}", money(price))).unwrap_or_default();
    let mut text = format!("{}{zone}{how}{cost}, usable in about {}", first.id.instance_type, in_minutes(minutes));
    if !others.is_empty() {
        let dearest = others.iter().filter_map(|one| one.price.as_ref()).max_by_key(|price| price.millionths_per_hour);
        let up_to = dearest.map(|price| format!(", up to {}", amount(price))).unwrap_or_default();
        text.push_str(&format!("; if it cannot be had, {} more would do{up_to}", others.len()));
    }
    text
}

/// What stands on a claim that was made before.
pub(super) fn expected_on(claim: &Claim) -> String {
    claim.annotations.get(names::EXPECTED).cloned().unwrap_or_default()
}

/// The Event of a pod that a claim is made for.
pub(super) fn nominated(pod: &PodRef, claim: &ClaimToMake) -> PodNote {
    let expected = claim.annotations.get(names::EXPECTED).map(String::as_str).unwrap_or_default();
    PodNote { again: false, ..on_its_way(pod, claim.name.as_str(), expected) }
}

/// The same, for a claim that is there: word by word what was said when it was made.
pub fn on_its_way(pod: &PodRef, claim: &str, expected: &str) -> PodNote {
    let text = if expected.is_empty() {
        format!("a node is coming: NodeClaim {claim}")
    } else {
        format!("a node is coming: NodeClaim {claim}, {expected}")
    };
    PodNote { pod: pod.clone(), warning: false, again: true, reason: NOMINATED.to_owned(), text: cut(&text) }
}

/// The Event of a pod that gets none.
pub(super) fn no_node(pod: &PodRef, why: &Why) -> PodNote {
    // How many nodes there are changes all the time, and the scheduler tells it: without it, the same words stay the same.
    let pools = why.reason.split("; nodes that are there").next().unwrap_or_default();
    let text = format!("no node can be made for it: {pools}");
    PodNote { pod: pod.clone(), warning: true, again: true, reason: why.code.to_string(), text: cut(&text) }
}

/// What earlier claims of the same pool took, the one in the middle; else what is usual with its provider.
pub(super) fn minutes_to_ready(claims: &[Claim], facts: &PoolFacts) -> i64 {
    let pool = facts.owner.as_ref().map(|pool| pool.name.as_str());
    let same_pool =
        |claim: &&Claim| claim.class == facts.class && claim.labels.get(names::NODE_POOL).map(String::as_str) == pool;
    let took = |claim: &Claim| {
        let ready = claim.condition(ConditionKind::Initialized).filter(|_| claim.is(ConditionKind::Initialized))?;
        Some(ready.since.duration_since(claim.created_at).as_secs().max(0))
    };
    let mut seconds: Vec<i64> = claims.iter().filter(same_pool).filter_map(took).take(MOST_EXAMPLES).collect();
    seconds.sort_unstable();
    match seconds.get(seconds.len() / 2) {
        Some(seconds) => (seconds + 59) / 60,
        None => USUAL_MINUTES.iter().find(|(provider, _)| *provider == facts.provider).map_or(5, |(_, usual)| *usual),
    }
}

fn in_minutes(minutes: i64) -> String {
    if minutes <= 1 { "a minute".to_owned() } else { format!("{minutes} minutes") }
}

/// `at 3.67 USD an hour`, `at no cost`.
fn money(price: &Price) -> String {
    if price.millionths_per_hour == 0 { "at no cost".to_owned() } else { format!("at {}", amount(price)) }
}

fn amount(price: &Price) -> String {
    // To the cent, rounded; below a cent to what there is.
    let Price { millionths_per_hour: millionths, currency, .. } = price;
    if *millionths < 10_000 {
        return format!("0.{millionths:06} {currency} an hour");
    }
    let cents = millionths.saturating_add(5_000) / 10_000;
    format!("{}.{:02} {currency} an hour", cents / 100, cents % 100)
}

/// At most so many bytes, and whole characters.
fn cut(text: &str) -> String {
    text[..text.floor_char_boundary(LONGEST_TEXT)].to_owned()
}
