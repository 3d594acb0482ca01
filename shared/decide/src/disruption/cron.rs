//! Schedules of budgets: five cron fields or a word such as `@daily`, in the time zone of the pool.

use jiff::{
    SignedDuration, Timestamp,
    civil::Date,
    tz::{AmbiguousOffset, TimeZone},
};

/// When a budget begins to count. Bits are the minutes, hours, days, months that it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedule {
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    /// Of days and weekdays one suffices if both are given.
    any_day: bool,
    any_weekday: bool,
}

struct Field {
    name: &'static str,
    least: u32,
    most: u32,
    words: &'static [&'static str],
}

const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

const FIELDS: [Field; 5] = [
    Field { name: "minute", least: 0, most: 59, words: &[] },
    Field { name: "hour", least: 0, most: 23, words: &[] },
    Field { name: "day of the month", least: 1, most: 31, words: &[] },
    Field { name: "month", least: 1, most: 12, words: &MONTHS },
    Field { name: "day of the week", least: 0, most: 6, words: &WEEKDAYS },
];

const MACROS: [(&str, &str); 7] = [
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];

/// A window longer than this is looked at no further back: every schedule has begun within it, or never does.
const MOST_DAYS: i64 = 8 * 366;

impl Schedule {
    /// The error says which field is wrong, for a person.
    pub fn parse(text: &str) -> Result<Self, String> {
        let known = MACROS.iter().find(|(name, _)| *name == text.trim()).map(|(_, fields)| *fields);
        let parts: Vec<&str> = known.unwrap_or(text).split_whitespace().collect();
        let [minute, hour, day, month, weekday] = parts.as_slice() else {
            return Err(format!(
                "{text:?} is not a schedule: five fields, as in '0 9 * * 1-5', or a word such as @daily"
            ));
        };
        let [of_minute, of_hour, of_day, of_month, of_weekday] = &FIELDS;
        let (days, any_day) = field(of_day, day)?;
        let (weekdays, any_weekday) = field(of_weekday, weekday)?;
        Ok(Schedule {
            minutes: field(of_minute, minute)?.0,
            hours: field(of_hour, hour)?.0,
            days,
            months: field(of_month, month)?.0,
            weekdays,
            any_day,
            any_weekday,
        })
    }

    /// Whether it has begun less than `lasts` ago.
    pub fn is_on(&self, now: Timestamp, lasts: SignedDuration, zone: &TimeZone) -> bool {
        let Ok(since) = now.checked_sub(lasts) else { return true };
        let first = zone.to_datetime(since).date();
        let mut date = zone.to_datetime(now).date();
        for _ in 0..MOST_DAYS {
            if self.has_day(date) && self.begins(date, since, now, zone) {
                return true;
            }
            match date.yesterday() {
                Ok(before) if before >= first => date = before,
                _ => return false,
            }
        }
        false
    }

    fn begins(&self, date: Date, since: Timestamp, now: Timestamp, zone: &TimeZone) -> bool {
        let hours = (0..24_i8).filter(|hour| has(self.hours, *hour));
        hours.into_iter().any(|hour| {
            (0..60_i8).filter(|minute| has(self.minutes, *minute)).any(|minute| {
                let local = zone.to_ambiguous_timestamp(date.at(hour, minute, 0, 0));
                let is_within = |at: Result<Timestamp, jiff::Error>| at.is_ok_and(|at| at > since && at <= now);
                // When clocks are put back an hour comes twice, and so does what begins in it.
                match matches!(local.offset(), AmbiguousOffset::Fold { .. }) {
                    true => is_within(local.earlier()) || is_within(local.later()),
                    false => is_within(local.compatible()),
                }
            })
        })
    }

    fn has_day(&self, date: Date) -> bool {
        let day = has(self.days, date.day());
        let weekday = has(self.weekdays, date.weekday().to_sunday_zero_offset());
        let either = if self.any_day || self.any_weekday { day && weekday } else { day || weekday };
        has(self.months, date.month()) && either
    }
}

fn has(bits: u64, number: i8) -> bool {
    u32::try_from(number).is_ok_and(|number| bits >> number & 1 == 1)
}

/// The numbers of a field, and whether it names all of them by a star.
fn field(of: &Field, text: &str) -> Result<(u64, bool), String> {
    let (mut bits, mut any) = (0, false);
    for part in text.split(',') {
        let (more, star) = range(of, part).ok_or_else(|| {
            format!("{part:?} is not a {}: a number from {} to {}, a range or a step", of.name, of.least, of.most)
        })?;
        bits |= more;
        any |= star;
    }
    Ok((bits, any))
}

/// `*`, `*/5`, `3`, `1-5`, `1-31/7`, `mon-fri`.
fn range(of: &Field, part: &str) -> Option<(u64, bool)> {
    let (span, step) = match part.split_once('/') {
        Some((span, step)) => (span, Some(number(step)?)),
        None => (part, None),
    };
    let star = matches!(span, "*" | "?");
    let (from, to) = match span.split_once('-') {
        _ if star => (of.least, of.most),
        Some((from, to)) => (value(of, from)?, value(of, to)?),
        None => {
            let from = value(of, span)?;
            // `3/5` is from the third on.
            (from, if step.is_some() { of.most } else { from })
        }
    };
    let step = step.unwrap_or(1);
    if from < of.least || to > of.most || from > to || step == 0 {
        return None;
    }
    let bits = (from..=to).step_by(usize::try_from(step).ok()?).fold(0, |bits, number| bits | 1 << number);
    Some((bits, star && step == 1))
}

fn value(of: &Field, text: &str) -> Option<u32> {
    let word = of.words.iter().position(|word| word.eq_ignore_ascii_case(text));
    match word {
        Some(at) => Some(of.least + u32::try_from(at).ok()?),
        None => number(text),
    }
}

/// Digits and nothing else.
fn number(text: &str) -> Option<u32> {
    let digits = !text.is_empty() && text.len() <= 4 && text.bytes().all(|byte| byte.is_ascii_digit());
    if digits { text.parse().ok() } else { None }
}
