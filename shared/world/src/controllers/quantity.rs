//! Quantities as the scheduler counts them: whole units, thousandths for `cpu`, rounded up as the real one does.

use serde_json::Value;
use std::collections::BTreeMap;

use super::fields;

/// Resource name to amount: thousandths for `cpu`, units for everything else.
pub(super) type Amounts = BTreeMap<String, i64>;

/// The amount of a resource; `None` where the text is no quantity.
pub(super) fn amount(resource: &str, quantity: &Value) -> Option<i64> {
    let text = match quantity {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    let (numerator, denominator) = parse(&text)?;
    let scale = if resource == "cpu" { 1000 } else { 1 };
    let scaled = numerator.checked_mul(scale)?;
    let up = scaled.div_euclid(denominator) + i128::from(scaled.rem_euclid(denominator) != 0);
    i64::try_from(up).ok()
}

pub(super) fn amounts(list: &Value) -> Amounts {
    let pairs = list.as_object().into_iter().flatten();
    pairs.filter_map(|(name, quantity)| Some((name.clone(), amount(name, quantity)?))).collect()
}

/// What a pod asks for: the larger of its running containers with sidecars and of any moment of its start, and its
/// overhead. A sidecar (an init container that restarts always) counts from its start on.
pub(super) fn requests(pod: &Value) -> Amounts {
    let mut running = Amounts::new();
    for container in fields::containers(pod, "containers") {
        add(&mut running, &container_requests(container));
    }
    let (mut sidecars, mut peak) = (Amounts::new(), Amounts::new());
    for container in fields::containers(pod, "initContainers") {
        let wanted = container_requests(container);
        if container["restartPolicy"] == "Always" {
            add(&mut sidecars, &wanted);
            add(&mut running, &wanted);
            most(&mut peak, &sidecars);
        } else {
            let mut moment = sidecars.clone();
            add(&mut moment, &wanted);
            most(&mut peak, &moment);
        }
    }
    most(&mut running, &peak);
    // Requests of the pod as a whole replace what its containers sum up to.
    for (name, wanted) in amounts(&pod["spec"]["resources"]["requests"]) {
        running.insert(name, wanted);
    }
    add(&mut running, &amounts(&pod["spec"]["overhead"]));
    running
}

/// A limit without a request is a request, as admission makes it.
fn container_requests(container: &Value) -> Amounts {
    let mut wanted = amounts(&container["resources"]["limits"]);
    wanted.extend(amounts(&container["resources"]["requests"]));
    wanted
}

pub(super) fn add(sum: &mut Amounts, more: &Amounts) {
    for (name, amount) in more {
        *sum.entry(name.clone()).or_insert(0) += amount;
    }
}

fn most(sum: &mut Amounts, other: &Amounts) {
    for (name, amount) in other {
        let entry = sum.entry(name.clone()).or_insert(0);
        *entry = (*entry).max(*amount);
    }
}

/// A quantity as a fraction.
fn parse(text: &str) -> Option<(i128, i128)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | '+' | '-')).unwrap_or(text.len());
    let (digits, suffix) = text.split_at(end);
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let joined = format!("{whole}{part}");
    let number: i128 = joined.parse().ok()?;
    let mut fraction = (number, 10_i128.checked_pow(u32::try_from(part.len()).ok()?)?);
    let mut times = |factor: i128| {
        fraction.0 = fraction.0.checked_mul(factor)?;
        Some(fraction)
    };
    let power = |exponent: u32| 1024_i128.pow(exponent);
    match suffix {
        "" => Some(fraction),
        "n" => Some((number, fraction.1 * 1_000_000_000)),
        "u" => Some((number, fraction.1 * 1_000_000)),
        "m" => Some((number, fraction.1 * 1000)),
        "k" => times(1000),
        "M" => times(1_000_000),
        "G" => times(1_000_000_000),
        "T" => times(1_000_000_000_000),
        "P" => times(1_000_000_000_000_000),
        "E" => times(1_000_000_000_000_000_000),
        "Ki" => times(power(1)),
        "Mi" => times(power(2)),
        "Gi" => times(power(3)),
        "Ti" => times(power(4)),
        "Pi" => times(power(5)),
        "Ei" => times(power(6)),
        _ => exponent(suffix, fraction),
    }
}

fn exponent(suffix: &str, (number, under): (i128, i128)) -> Option<(i128, i128)> {
    let exponent: i32 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
    let factor = 10_i128.checked_pow(exponent.unsigned_abs())?;
    if exponent < 0 { Some((number, under.checked_mul(factor)?)) } else { Some((number.checked_mul(factor)?, under)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn quantities_are_exact_and_round_up() {
        let of = |name: &str, text: &str| amount(name, &json!(text));
        assert_eq!(of("cpu", "1"), Some(1000));
        assert_eq!(of("cpu", "100m"), Some(100));
        assert_eq!(of("cpu", "0.1"), Some(100));
        assert_eq!(of("cpu", "1u"), Some(1));
        assert_eq!(of("memory", "1Gi"), Some(1 << 30));
        assert_eq!(of("memory", "1.5G"), Some(1_500_000_000));
        assert_eq!(of("memory", "1e3"), Some(1000));
        assert_eq!(of("memory", "100m"), Some(1));
        assert_eq!(of("memory", "one"), None);
        assert_eq!(amount("nvidia.com/gpu", &json!(2)), Some(2));
    }

    #[test]
    fn a_pod_asks_for_its_worst_moment() {
        let container = |cpu: &str, extra: Value| {
            let mut container = json!({ "resources": { "requests": { "cpu": cpu } } });
            container["restartPolicy"] = extra;
            container
        };
        let pod = json!({ "spec": {
            "initContainers": [container("1", json!("Always")), container("5", Value::Null)],
            "containers": [container("2", Value::Null), container("1", Value::Null)],
            "overhead": { "cpu": "250m" },
        } });
        assert_eq!(requests(&pod)["cpu"], 6250);
    }
}
