//! Exact quantities: Kubernetes' `500m`, `2Gi`, `1e3` as whole numbers of billionths, and lists of them by resource.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

/// Billionths of a unit. Kubernetes has nothing finer.
pub type Amount = i128;

/// One whole unit.
pub const ONE: Amount = 1_000_000_000;

/// Amounts by the name of the resource.
pub type Resources = BTreeMap<String, Amount>;

/// Reads a quantity. None if it is not one, or is beyond all sense.
pub fn parse(text: &str) -> Option<Amount> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '+' || c == '-')).unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let (multiplier, divisor) = scale(suffix)?;
    let (negative, digits) = match number.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, number.strip_prefix('+').unwrap_or(number)),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let all: i128 = format!("{whole}{fraction}").parse().ok()?;
    let below = 10_i128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let scaled = all.checked_mul(multiplier)?.checked_mul(ONE)?;
    let divisor = below.checked_mul(divisor)?;
    // Rounded up, as Kubernetes does with what is finer than it can hold.
    let amount = (scaled + divisor - 1).div_euclid(divisor);
    Some(if negative { -amount } else { amount })
}

fn scale(suffix: &str) -> Option<(i128, i128)> {
    Some(match suffix {
        "" => (1, 1),
        "n" => (1, 1_000_000_000),
        "u" => (1, 1_000_000),
        "m" => (1, 1_000),
        "k" => (1_000, 1),
        "M" => (1_000_000, 1),
        "G" => (1_000_000_000, 1),
        "T" => (10_i128.pow(12), 1),
        "P" => (10_i128.pow(15), 1),
        "E" => (10_i128.pow(18), 1),
        "Ki" => (1 << 10, 1),
        "Mi" => (1 << 20, 1),
        "Gi" => (1 << 30, 1),
        "Ti" => (1 << 40, 1),
        "Pi" => (1 << 50, 1),
        "Ei" => (1 << 60, 1),
        exponent => {
            let power: i32 = exponent.strip_prefix(['e', 'E'])?.parse().ok()?;
            let size = 10_i128.checked_pow(power.unsigned_abs().min(18))?;
            if power < 0 { (1, size) } else { (size, 1) }
        }
    })
}

/// The amounts of a list. What cannot be read counts as nothing: a plan is not to be blamed for it.
pub fn resources<'a>(list: impl IntoIterator<Item = (&'a String, &'a Quantity)>) -> Resources {
    list.into_iter().map(|(name, quantity)| (name.clone(), parse(&quantity.0).unwrap_or(0))).collect()
}

/// Adds to `sum`, resource by resource.
pub fn add(sum: &mut Resources, more: &Resources) {
    for (name, amount) in more {
        *sum.entry(name.clone()).or_default() += amount;
    }
}

/// The greater amount of each resource.
pub fn greatest(into: &mut Resources, other: &Resources) {
    for (name, amount) in other {
        let entry = into.entry(name.clone()).or_insert(*amount);
        *entry = (*entry).max(*amount);
    }
}

/// As people write it: `1500m`, `4096Mi` is not restored, whole units are.
pub fn show(amount: Amount) -> String {
    let (whole, rest) = (amount / ONE, (amount % ONE).abs());
    match (whole, rest) {
        (_, 0) => whole.to_string(),
        _ if amount % 1_000_000 == 0 => format!("{}m", amount / 1_000_000),
        _ => format!("{amount}n"),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_read_exactly() {
        for (text, expected) in [
            ("1", ONE),
            ("500m", ONE / 2),
            ("0.5", ONE / 2),
            ("2Gi", (2 << 30) * ONE),
            ("1e3", 1000 * ONE),
            ("1E3", 1000 * ONE),
            ("1E", 10_i128.pow(18) * ONE),
            ("-1", -ONE),
            ("1n", 1),
            ("0.1n", 1),
        ] {
            assert_eq!(parse(text), Some(expected), "{text}");
        }
        for text in ["", "Gi", "1x", "one", "1.2.3", "1 Gi"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn amounts_are_shown_as_people_write_them() {
        for (text, shown) in [("2", "2"), ("1500m", "1500m"), ("-1500m", "-1500m"), ("1n", "1n"), ("-1", "-1")] {
            assert_eq!(show(parse(text).unwrap()), shown);
        }
    }
}
