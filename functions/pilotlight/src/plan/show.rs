//! The answer for people: where each pod goes, which nodes come for it, and what they cost.

use super::answer::{Answer, ClaimAnswer, PodAnswer};
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
    text + &summary(answer)
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
