//! Why a ladder has no rungs, in one or two plain sentences that name what to change.

mod sentence;

use jiff::{Timestamp, tz::TimeZone};
use model::{Offering, OfferingId, names};
use std::collections::{BTreeMap, BTreeSet};

use super::{CONFLICT, INSUFFICIENT_CAPACITY, INVALID_REQUEST, Misfit, Miss, QUOTA_EXCEEDED, asked::Asked};
use sentence::Sentences;

/// What a condition shows without being folded, and an Event without being cut.
const MOST_LETTERS: usize = 300;
/// So many of a list are shown; the rest is counted.
const MOST_SHOWN: usize = 4;

/// When something fits and none of it can be had now: when the first may be tried again, the reason and the sentence.
pub(super) fn waiting(misfits: &[Misfit], now: Timestamp) -> Option<(Timestamp, &'static str, String)> {
    let mut away: Vec<(Timestamp, &str, &OfferingId)> = misfits.iter().filter_map(fits_but).collect();
    away.sort();
    let (until, ..) = *away.first()?;
    let all = |wanted: &str| away.iter().all(|(_, reason, _)| *reason == wanted);
    let none_but = |these: &[&str]| away.iter().all(|(_, reason, _)| these.contains(reason));
    let lacking = none_but(&[INSUFFICIENT_CAPACITY, QUOTA_EXCEEDED]);
    let unwanted = none_but(&[INVALID_REQUEST, CONFLICT]);
    let (reason, what) = if all(QUOTA_EXCEEDED) {
        (QUOTA_EXCEEDED, "over quota")
    } else if all(CONFLICT) {
        (CONFLICT, "taken")
    } else if unwanted {
        // Stock has nothing to do with it, and waiting helps nobody: somebody has to change something.
        (INVALID_REQUEST, "refused")
    } else if all(INSUFFICIENT_CAPACITY) {
        (INSUFFICIENT_CAPACITY, "out of stock")
    } else {
        (INSUFFICIENT_CAPACITY, "out of stock or quota")
    };
    let (subject, is, was) = match away.len() {
        1 => ("the only one that fits".to_owned(), "is", "was"),
        2 => ("both that fit".to_owned(), "are", "were"),
        many => (format!("all {many} that fit"), "are", "were"),
    };
    let time = clock(until, now);
    let state = if lacking {
        format!("{subject} {is} {what} until {time}")
    } else if unwanted {
        format!("{subject} {was} refused, the next try is at {time}")
    } else {
        format!("{subject} {was} refused or did not come up, the next try is at {time}")
    };
    let each: Vec<String> = away.iter().map(|(_, reason, id)| format!("{id} ({reason})")).collect();
    let text = format!("{state}: {}", list(&each));
    Some((until, reason, shortened(text)))
}

/// When nothing fits at all: the nearest miss. Misfits and offerings are the same, in the same order.
pub(super) fn nothing_fits(asked: &Asked<'_>, offerings: &[Offering], misfits: &[Misfit]) -> String {
    let sentences = Sentences { asked, offerings, misfits };
    let other_type = |misfit: &Misfit| misfit.misses.iter().any(|miss| is_on(miss, names::INSTANCE_TYPE));
    let nearest = misfits.iter().min_by_key(|misfit| (misfit.misses.len(), other_type(misfit)));
    let Some(nearest) = nearest else {
        return "there is nothing to choose from: the provider of this node class offers no machine; \
                check its settings, its region and its rights"
            .to_owned();
    };
    let culprit = missed_by_all(misfits).or_else(|| only_miss(misfits));
    shortened(match culprit {
        Some(miss) => sentences.of(miss),
        None => sentences.of_several(nearest),
    })
}

/// At most so many letters, whatever a claim has in it.
pub(super) fn shortened(text: String) -> String {
    if text.chars().count() <= MOST_LETTERS {
        return text;
    }
    text.chars().take(MOST_LETTERS - 1).chain(['…']).collect()
}

/// `a, b, c, d and 3 more`.
fn list<T: AsRef<str>>(all: &[T]) -> String {
    let shown: Vec<&str> = all.iter().take(MOST_SHOWN).map(AsRef::as_ref).collect();
    match all.len().saturating_sub(MOST_SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

fn fits_but(misfit: &Misfit) -> Option<(Timestamp, &str, &OfferingId)> {
    match misfit.misses.as_slice() {
        [Miss::Unavailable { until, reason }] => Some((*until, reason, &misfit.offering)),
        _ => None,
    }
}

/// What no offering keeps, whatever else is asked: the thing that was mistyped, most of the time. The name of a type goes
/// before all others, since much else hangs on it.
fn missed_by_all(misfits: &[Misfit]) -> Option<&Miss> {
    let (first, rest) = misfits.split_first()?;
    let by_all = first.misses.iter().filter(|miss| rest.iter().all(|misfit| misfit.misses.contains(miss)));
    by_all.min_by_key(|miss| match miss {
        Miss::Label(key) => {
            [names::INSTANCE_TYPE, names::ZONE, names::REGION].iter().position(|own| own == key).unwrap_or(3)
        }
        Miss::Resource(_) => 4,
        Miss::CapacityTypeNotAskedFor | Miss::ZoneNotAskedFor | Miss::Unavailable { .. } => 5,
    })
}

/// What alone keeps some offering from fitting. Of several, the one that is given up most easily; then the one that
/// excludes most.
fn only_miss(misfits: &[Misfit]) -> Option<&Miss> {
    let mut alone: BTreeMap<&Miss, usize> = BTreeMap::new();
    for misfit in misfits {
        if let [miss] = misfit.misses.as_slice() {
            *alone.entry(miss).or_default() += 1;
        }
    }
    let ease = |miss: &Miss| match miss {
        Miss::CapacityTypeNotAskedFor | Miss::ZoneNotAskedFor | Miss::Unavailable { .. } => 0,
        Miss::Label(key) => match key.as_str() {
            names::CAPACITY_TYPE => 0,
            names::ZONE => 1,
            names::REGION => 2,
            names::INSTANCE_TYPE => 5,
            _ => 4,
        },
        Miss::Resource(_) => 3,
    };
    alone.into_iter().min_by_key(|(miss, count)| (ease(miss), usize::MAX - count)).map(|(miss, _)| miss)
}

fn is_on(miss: &Miss, key: &str) -> bool {
    matches!(miss, Miss::Label(own) if own == key)
}

/// The time of day in UTC, with the day where it is not today's. A point in time, not a distance: the text stays the same
/// until something changes.
fn clock(at: Timestamp, now: Timestamp) -> String {
    let [at, now] = [at, now].map(|time| time.to_zoned(TimeZone::UTC));
    let format = if at.date() == now.date() { "%H:%M UTC" } else { "%Y-%m-%d %H:%M UTC" };
    at.strftime(format).to_string()
}

/// Without doubles, in alphabetical order.
fn distinct<'t>(all: impl Iterator<Item = &'t str>) -> Vec<&'t str> {
    all.collect::<BTreeSet<&str>>().into_iter().collect()
}
