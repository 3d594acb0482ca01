//! Ages as kubectl prints them: two units while young, one when old.

use jiff::Timestamp;

/// The text for a span of whole seconds.
pub fn human_duration(seconds: i64) -> String {
    // Clocks of two machines may differ by a little; more than that is a time in the future.
    if seconds < -1 {
        return "<invalid>".to_owned();
    }
    if seconds < 120 {
        return format!("{}s", seconds.max(0));
    }
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    let (days, years) = (hours / 24, hours / 24 / 365);
    if minutes < 10 {
        two(minutes, "m", seconds % 60, "s")
    } else if minutes < 180 {
        format!("{minutes}m")
    } else if hours < 8 {
        two(hours, "h", minutes % 60, "m")
    } else if hours < 48 {
        format!("{hours}h")
    } else if days < 8 {
        two(days, "d", hours % 24, "h")
    } else if years < 2 {
        format!("{days}d")
    } else if years < 8 {
        two(years, "y", days % 365, "d")
    } else {
        format!("{years}y")
    }
}

/// The age of a time written in an object; `<unknown>` when there is none.
pub fn age_of(time: &str, now: Timestamp) -> String {
    match time.parse::<Timestamp>() {
        Ok(time) => human_duration(now.as_second() - time.as_second()),
        Err(_) => "<unknown>".to_owned(),
    }
}

fn two(large: i64, large_unit: &str, small: i64, small_unit: &str) -> String {
    if small == 0 { format!("{large}{large_unit}") } else { format!("{large}{large_unit}{small}{small_unit}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_read_as_kubectl_prints_them() {
        let cases = [
            (-2, "<invalid>"),
            (-1, "0s"),
            (0, "0s"),
            (65, "65s"),
            (119, "119s"),
            (120, "2m"),
            (185, "3m5s"),
            (600, "10m"),
            (10_799, "179m"),
            (10_800, "3h"),
            (12_000, "3h20m"),
            (28_800, "8h"),
            (172_799, "47h"),
            (172_800, "2d"),
            (183_600, "2d3h"),
            (691_200, "8d"),
            (63_071_999, "729d"),
            (63_072_000, "2y"),
            (70_000_000, "2y80d"),
            (252_288_000, "8y"),
        ];
        for (seconds, text) in cases {
            assert_eq!(human_duration(seconds), text, "{seconds}");
        }
    }

    #[test]
    fn a_missing_time_has_no_age() {
        assert_eq!(age_of("", Timestamp::UNIX_EPOCH), "<unknown>");
        assert_eq!(age_of("1970-01-01T00:00:00Z", Timestamp::UNIX_EPOCH), "0s");
    }
}
