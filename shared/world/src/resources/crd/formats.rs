//! The string formats a structural schema may ask for. Formats the server does not know are not checked.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// True when `text` is of `format`, or the format is none the server checks.
pub fn is_of_format(format: &str, text: &str) -> bool {
    match format {
        "date-time" | "datetime" => is_date_time(text),
        "date" => text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok(),
        "duration" => parse_duration(text).is_some(),
        "ipv4" => text.parse::<Ipv4Addr>().is_ok(),
        "ipv6" => text.parse::<Ipv6Addr>().is_ok(),
        "ip" => text.parse::<IpAddr>().is_ok(),
        "cidr" => is_cidr(text),
        "mac" => is_mac(text),
        "uri" => text.split_once(':').is_some_and(|(scheme, _)| !scheme.is_empty()) || text.starts_with('/'),
        "uuid" => is_uuid(text, None),
        "uuid3" => is_uuid(text, Some('3')),
        "uuid4" => is_uuid(text, Some('4')),
        "uuid5" => is_uuid(text, Some('5')),
        "byte" => is_base64(text),
        "hostname" => text.len() <= 253 && text.split('.').all(is_host_part),
        "email" => text.split_once('@').is_some_and(|(user, host)| !user.is_empty() && !host.is_empty()),
        "k8s-short-name" => crate::resources::names::check_label(text).is_empty(),
        "k8s-long-name" => crate::resources::names::check_subdomain(text).is_empty(),
        _ => true,
    }
}

fn is_date_time(text: &str) -> bool {
    text.contains(['T', 't']) && text.parse::<jiff::Timestamp>().is_ok()
}

/// A Go duration (`1h2m3.5s`, `300ms`) in nanoseconds.
pub fn parse_duration(text: &str) -> Option<i64> {
    let (negative, mut rest) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    if rest == "0" {
        return Some(0);
    }
    let mut total = 0.0_f64;
    while !rest.is_empty() {
        let digits = rest.find(|one: char| !one.is_ascii_digit() && one != '.')?;
        let amount: f64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let unit_end = rest.find(|one: char| one.is_ascii_digit() || one == '.').unwrap_or(rest.len());
        let unit = match &rest[..unit_end] {
            "ns" => 1.0,
            "us" | "µs" => 1e3,
            "ms" => 1e6,
            "s" => 1e9,
            "m" => 60e9,
            "h" => 3600e9,
            _ => return None,
        };
        total += amount * unit;
        rest = &rest[unit_end..];
    }
    if total == 0.0 && text.trim_matches(['-', '+']).is_empty() {
        return None;
    }
    let nanoseconds = total as i64;
    Some(if negative { -nanoseconds } else { nanoseconds })
}

fn is_cidr(text: &str) -> bool {
    text.split_once('/').is_some_and(|(address, bits)| match (address.parse::<IpAddr>(), bits.parse::<u8>()) {
        (Ok(IpAddr::V4(_)), Ok(bits)) => bits <= 32,
        (Ok(IpAddr::V6(_)), Ok(bits)) => bits <= 128,
        _ => false,
    })
}

fn is_mac(text: &str) -> bool {
    let parts: Vec<&str> = text.split([':', '-']).collect();
    matches!(parts.len(), 6 | 8)
        && parts.iter().all(|part| part.len() == 2 && part.chars().all(|one| one.is_ascii_hexdigit()))
}

fn is_uuid(text: &str, version: Option<char>) -> bool {
    let plain: String = text.chars().filter(|one| *one != '-').collect();
    plain.len() == 32
        && plain.chars().all(|one| one.is_ascii_hexdigit())
        && version.is_none_or(|wanted| plain.chars().nth(12) == Some(wanted))
}

fn is_base64(text: &str) -> bool {
    let body = text.trim_end_matches('=');
    text.len().is_multiple_of(4)
        && text.len() - body.len() <= 2
        && body.chars().all(|one| one.is_ascii_alphanumeric() || matches!(one, '+' | '/'))
}

fn is_host_part(part: &str) -> bool {
    let inside = |one: char| one.is_ascii_alphanumeric();
    part.len() <= 63
        && part.starts_with(inside)
        && part.ends_with(inside)
        && part.chars().all(|one| inside(one) || one == '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_checked() {
        let cases = [
            ("date-time", "2026-01-02T03:04:05Z", true),
            ("date-time", "2026-01-02", false),
            ("date", "2026-01-02", true),
            ("duration", "1h30m", true),
            ("duration", "10", false),
            ("duration", "", false),
            ("ipv4", "10.0.0.1", true),
            ("ipv4", "10.0.0.256", false),
            ("cidr", "10.0.0.0/8", true),
            ("cidr", "10.0.0.0/33", false),
            ("uuid", "01234567-89ab-cdef-0123-456789abcdef", true),
            ("byte", "aGk=", true),
            ("byte", "a!", false),
            ("made-up", "anything", true),
        ];
        for (format, text, expected) in cases {
            assert_eq!(is_of_format(format, text), expected, "{format} {text}");
        }
        assert_eq!(parse_duration("-1m0.5s"), Some(-60_500_000_000));
    }
}
