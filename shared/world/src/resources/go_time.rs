//! Times that cannot be read, in the words of Go's parser.

/// Go's layout, piece by piece: how many digits each wants, and how an error names it.
const DATE: [(&str, usize); 11] = [
    ("2006", 4),
    ("-", 0),
    ("01", 2),
    ("-", 0),
    ("02", 2),
    ("T", 0),
    ("15", 2),
    (":", 0),
    ("04", 2),
    (":", 0),
    ("05", 2),
];

/// What is wrong with a time, if anything is. A MicroTime has exactly six digits after its seconds.
pub fn trouble(text: &str, micro: bool) -> Option<String> {
    let layout = if micro { "2006-01-02T15:04:05.000000Z07:00" } else { "2006-01-02T15:04:05Z07:00" };
    let refuse = |rest: &str, piece: &str| {
        Some(format!("parsing time {text:?} as {layout:?}: cannot parse {rest:?} as {piece:?}"))
    };
    let mut rest = text;
    for (piece, digits) in DATE {
        let taken = if digits == 0 {
            rest.strip_prefix(piece)
        } else {
            let number = rest.get(..digits).filter(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
            number.and_then(|_| rest.get(digits..))
        };
        match taken {
            Some(left) => rest = left,
            None => return refuse(rest, piece),
        }
    }
    let digits = rest.strip_prefix('.').map_or(0, |after| after.bytes().take_while(u8::is_ascii_digit).count());
    if micro && digits != 6 {
        return refuse(rest, ".000000");
    }
    let zone = if digits > 0 { rest.get(digits + 1..).unwrap_or_default() } else { rest };
    let offset = zone.len() == 6 && zone.starts_with(['+', '-']) && zone.as_bytes().get(3) == Some(&b':');
    if zone != "Z" && !offset {
        return match zone.strip_prefix('Z') {
            Some(extra) => Some(format!("parsing time {text:?}: extra text: {extra:?}")),
            None => refuse(zone, "Z07:00"),
        };
    }
    if text.parse::<jiff::Timestamp>().is_err() {
        let part = |from: usize| text.get(from..from + 2).and_then(|part| part.parse::<u8>().ok()).unwrap_or(0);
        let wrong = [
            (1..=12, part(5), "month"),
            (1..=31, part(8), "day"),
            (0..=23, part(11), "hour"),
            (0..=59, part(14), "minute"),
        ];
        let name =
            wrong.iter().find(|(range, number, _)| !range.contains(number)).map_or("second", |(_, _, name)| name);
        return Some(format!("parsing time {text:?}: {name} out of range"));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::trouble;

    #[test]
    fn the_first_piece_that_does_not_fit_is_named() {
        let check = |text: &str, micro, expected: Option<&str>| assert_eq!(trouble(text, micro).as_deref(), expected);
        check("2024-01-01T00:00:00Z", false, None);
        check("2024-01-01T00:00:00.123456+01:00", true, None);
        check(
            "yesterday",
            false,
            Some("parsing time \"yesterday\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"yesterday\" as \"2006\""),
        );
        check(
            "2024-01-01T00:00:05.5Z",
            true,
            Some(
                "parsing time \"2024-01-01T00:00:05.5Z\" as \"2006-01-02T15:04:05.000000Z07:00\": cannot parse \".5Z\" as \".000000\"",
            ),
        );
        check("2024-13-01T00:00:00Z", false, Some("parsing time \"2024-13-01T00:00:00Z\": month out of range"));
    }
}
