//! Durations as Kubernetes and Karpenter write them: `1h30m`, `90s`, `1.5h`, `500ms`.

use jiff::SignedDuration;

/// Reads a duration in Go's notation. `None` for anything else, a negative one included.
pub fn parse(text: &str) -> Option<SignedDuration> {
    if text == "0" {
        return Some(SignedDuration::ZERO);
    }
    let mut rest = text;
    let mut nanoseconds: i128 = 0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, after) = rest.split_at(digits);
        let letters = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
        let (unit, next) = after.split_at(letters);
        nanoseconds = nanoseconds.checked_add(part(number, unit)?)?;
        rest = next;
    }
    let nanoseconds = (!text.is_empty()).then_some(nanoseconds)?;
    Some(SignedDuration::from_nanos(i64::try_from(nanoseconds).ok()?))
}

fn part(number: &str, unit: &str) -> Option<i128> {
    let unit: i128 = match unit {
        "ns" => 1,
        "us" | "µs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') || fraction.len() > 9 || whole.len() > 12 {
        return None;
    }
    let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let parts: i128 = if fraction.is_empty() { 0 } else { fraction.parse().ok()? };
    let scale = 10_i128.pow(u32::try_from(fraction.len()).ok()?);
    Some(whole * unit + parts * unit / scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gos_notation_is_read() {
        for (text, milliseconds) in [
            ("0", 0),
            ("0s", 0),
            ("90s", 90_000),
            ("1h30m", 5_400_000),
            ("1.5h", 5_400_000),
            ("500ms", 500),
            ("720h", 2_592_000_000),
        ] {
            assert_eq!(parse(text), Some(SignedDuration::from_millis(milliseconds)), "{text}");
        }
    }

    #[test]
    fn anything_else_is_not_a_duration() {
        for text in ["", "1", "h", "-5m", "5 m", "5d", "1..5h", ".s", "Never", "999999999999999h"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
