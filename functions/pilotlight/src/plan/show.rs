//! The answer for people: where each pod goes, which nodes come for it, and what they cost.

use super::{
    answer::{Answer, ClaimAnswer, PodAnswer},
    consolidate::{Consolidation, DisruptionAnswer},
};
use crate::table::table as lay_out;

/// What clouds count as a month.
const HOURS_A_MONTH: f64 = 730.0;

pub fn table(answer: &Answer) -> String {
    let mut text = String::new();
    if !answer.pods.is_empty() {
        let rows: Vec<Vec<String>> = answer.pods.iter().map(|pod| pod_row(pod, &answer.claims)).collect();
        text += &lay_out(&["POD", "ON", "WHAT"], &rows);
        text.push('\n');
    }
    if !answer.claims.is_empty() {
        let rows: Vec<Vec<String>> = answer.claims.iter().map(claim_row).collect();
        let header =
            ["CLAIM", "POOL", "CHEAPEST", "ZONE", "CAPACITY", "AN HOUR", "A MONTH", "OFFERINGS", "PODS", "REQUESTS"];
        text += &lay_out(&header, &rows);
        text.push('\n');
    }
    text += &summary(answer);
    if let Some(consolidation) = &answer.consolidation {
        text.push('\n');
        text += &nodes(consolidation);
    }
    text
}

/// The nodes that go, what comes for them, and why the others stay.
fn nodes(of: &Consolidation) -> String {
    let mut text = String::new();
    if !of.disruptions.is_empty() {
        let rows: Vec<Vec<String>> = of.disruptions.iter().map(disruption_row).collect();
        text += &lay_out(&["NODES THAT GO", "REASON", "INSTEAD", "SAVES AN HOUR", "WHY"], &rows);
        text.push('\n');
    }
    if !of.kept.is_empty() {
        let words = |reason: &str| reason.strip_prefix("not disrupted because ").unwrap_or(reason).to_owned();
        let rows: Vec<Vec<String>> =
            of.kept.iter().map(|one| vec![one.node.clone(), one.code.to_owned(), words(&one.reason)]).collect();
        text += &lay_out(&["NODES THAT STAY", "CODE", "BECAUSE"], &rows);
        text.push('\n');
    }
    let go: usize = of.disruptions.iter().map(|one| one.nodes.len()).sum();
    let come: usize = of.disruptions.iter().map(|one| one.replacements.len()).sum();
    let moved: usize = of.disruptions.iter().map(|one| one.moves.len()).sum();
    let hour = of.saves_per_hour;
    let (what, by) = if hour < 0.0 { ("costs", -hour) } else { ("saves", hour) };
    text + &format!(
        "{} go{}, {come} come{} in their place, {}. It {what} {} an hour, {} a month. Decided in {:.2} ms.\n",
        counted(go, "node"),
        if go == 1 { "es" } else { "" },
        if come == 1 { "s" } else { "" },
        format_args!("{} move{}", counted(moved, "pod"), if moved == 1 { "s" } else { "" }),
        money(Some(by)),
        money(Some(by * HOURS_A_MONTH)),
        of.disrupt_ms
    )
}

fn disruption_row(one: &DisruptionAnswer) -> Vec<String> {
    let cheapest = |claim: &ClaimAnswer| match claim.offerings.first() {
        Some(first) => format!("{} at {}", first.instance_type, money(first.price)),
        None => claim.name.clone(),
    };
    let instead: Vec<String> = one.replacements.iter().map(cheapest).collect();
    let instead = match (instead.is_empty(), one.terminate_first) {
        (true, true) => "what comes later".to_owned(),
        (true, false) => "-".to_owned(),
        (false, _) => instead.join(", "),
    };
    let saves = if one.saves_per_hour < 0.0 {
        format!("-{}", money(Some(-one.saves_per_hour)))
    } else {
        money(Some(one.saves_per_hour))
    };
    vec![one.nodes.join(", "), one.reason.to_owned(), instead, saves, one.why.clone()]
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn pod_row(pod: &PodAnswer, claims: &[ClaimAnswer]) -> Vec<String> {
    let name = format!("{}/{}", pod.namespace, pod.name);
    let Some(on) = &pod.on else {
        return vec![name, "-".to_owned(), format!("{}: {}", pod.code, pod.reason)];
    };
    let claim = claims.iter().find(|claim| on.strip_prefix("claim/") == Some(claim.name.as_str()));
    let what = match claim.and_then(|claim| claim.offerings.first()) {
        Some(cheapest) => format!("a new node, {} at {} an hour", cheapest.instance_type, money(cheapest.price)),
        None if on.starts_with("node/") => "a node that is there".to_owned(),
        None => "a node that is on its way".to_owned(),
    };
    vec![name, on.clone(), what]
}

fn claim_row(claim: &ClaimAnswer) -> Vec<String> {
    let cheapest = claim.offerings.first();
    let text = |text: Option<&str>| text.unwrap_or("-").to_owned();
    let price = cheapest.and_then(|one| one.price);
    let requests: Vec<String> = claim.requests.iter().map(|(name, of)| format!("{name} {of}")).collect();
    vec![
        claim.name.clone(),
        claim.pool.clone(),
        text(cheapest.map(|one| one.instance_type.as_str())),
        text(cheapest.map(|one| one.zone.as_str()).filter(|zone| !zone.is_empty())),
        text(cheapest.map(|one| one.capacity_type)),
        money(price),
        money(price.map(|price| price * HOURS_A_MONTH)),
        claim.offerings.len().to_string(),
        claim.pods.len().to_string(),
        requests.join(", "),
    ]
}

fn summary(answer: &Answer) -> String {
    let on = |begins: &str| {
        answer.pods.iter().filter(|pod| pod.on.as_deref().is_some_and(|on| on.starts_with(begins))).count()
    };
    let new: usize = answer.claims.iter().map(|claim| claim.pods.len()).sum();
    let coming = on("claim/").saturating_sub(new);
    let without = answer.pods.iter().filter(|pod| pod.on.is_none()).count();
    let mut parts = vec![format!("{} pod{}", answer.pods.len(), if answer.pods.len() == 1 { "" } else { "s" })];
    let mut say = |count: usize, words: String| {
        if count > 0 {
            parts.push(format!("{count} {words}"));
        }
    };
    let nodes =
        if answer.claims.len() == 1 { "1 new node".to_owned() } else { format!("{} new nodes", answer.claims.len()) };
    say(new, format!("on {nodes}"));
    say(on("node/"), "on nodes that are there".to_owned());
    say(coming, "on nodes that are on their way".to_owned());
    say(without, "without a place".to_owned());
    let hour = answer.price_per_hour;
    let (head, rest) = parts.split_first().map(|(head, rest)| (head.clone(), rest.join(", "))).unwrap_or_default();
    let rest = if rest.is_empty() { String::new() } else { format!(": {rest}") };
    format!(
        "{head}{rest}. New nodes cost {} an hour, {} a month. Solved in {:.2} ms.\n",
        money(Some(hour)),
        money(Some(hour * HOURS_A_MONTH)),
        answer.solve_ms
    )
}

fn money(price: Option<f64>) -> String {
    match price {
        Some(price) if price < 10.0 => format!("{price:.4}"),
        Some(price) => format!("{price:.2}"),
        None => "?".to_owned(),
    }
}
