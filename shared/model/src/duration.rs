//! Durations as Go writes them, which is how people write them in annotations: `90s`, `1h30m`, `1.5h`.

use jiff::{SignedDuration, Timestamp};

const NANOS_OF: [(&str, i128); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// Whether an annotation that protects, as `karpenter.sh/do-not-disrupt` does, still does so: `true` for ever, a time for so long
/// from `from`. Anything else protects nothing.
pub fn protects(value: &str, from: Timestamp, now: Timestamp) -> bool {
    let lasts = || parse(value).filter(|lasts| lasts.is_positive());
    value == "true" || lasts().is_some_and(|lasts| from.checked_add(lasts).is_ok_and(|until| now < until))
}

/// `None` for what Go would not read, or what does not fit into its 64 bits of nanoseconds.
pub fn parse(text: &str) -> Option<SignedDuration> {
    let (sign, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(SignedDuration::ZERO);
    }
    if rest.is_empty() {
        return None;
    }
    let mut nanos: i128 = 0;
    while !rest.is_empty() {
        let number_ends = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, after) = rest.split_at(number_ends);
        let unit_ends = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
        let (unit, next) = after.split_at(unit_ends);
        let (_, scale) = NANOS_OF.iter().find(|(name, _)| *name == unit)?;
        nanos = nanos.checked_add(scaled(number, *scale)?)?;
        rest = next;
    }
    i64::try_from(nanos * sign).ok().map(SignedDuration::from_nanos)
}

/// `digits[.digits]`, one side of the point at the least; what is finer than a nanosecond is dropped, as Go does.
fn scaled(number: &str, scale: i128) -> Option<i128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
        return None;
    }
    // More digits than this are far below a nanosecond even of an hour.
    let fraction = fraction.get(..fraction.len().min(15))?;
    let digits = |text: &str| if text.is_empty() { Some(0) } else { text.parse::<i64>().ok().map(i128::from) };
    let power = 10_i128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    Some(digits(whole)? * scale + digits(fraction)? * scale / power)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::parse;
    use jiff::{SignedDuration, Timestamp};

    #[test]
    fn what_protects_does_so_for_ever_or_for_a_time_from_its_beginning() {
        let at = |seconds| Timestamp::from_second(seconds).unwrap();
        for (value, now, protects) in [
            ("true", 1_000_000, true),
            ("90s", 89, true),
            ("90s", 90, false),
            ("0s", 0, false),
            ("-5m", 0, false),
            ("false", 0, false),
            ("True", 0, false),
            ("", 0, false),
        ] {
            assert_eq!(super::protects(value, at(0), at(now)), protects, "{value} after {now} s");
        }
    }

    #[test]
    fn what_go_reads_is_read() {
        let cases = [
            ("0", 0),
            ("5s", 5_000),
            ("+5s", 5_000),
            ("-5s", -5_000),
            ("1h30m", 5_400_000),
            ("1.5h", 5_400_000),
            (".5s", 500),
            ("2.s", 2_000),
            ("1h1ms", 3_600_001),
            ("1000us", 1),
            ("1000µs", 1),
        ];
        for (text, millis) in cases {
            assert_eq!(parse(text), Some(SignedDuration::from_millis(millis)), "{text}");
        }
    }

    #[test]
    fn what_go_refuses_is_refused() {
        for text in
            ["", "-", "5", "s", ".s", "1.2.3s", "5 s", "1d", "true", "1h30", "PT1H", "9223372036854775807h", "²s"]
        {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
