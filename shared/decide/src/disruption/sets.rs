//! Several nodes at once: what none of them can do alone, some may do together.
//!
//! Sets are nodes of one kind that are about as full as each other, in growing sizes, and not only the first ones: a set that
//! fails says nothing about larger ones. A bound on what their pods cost anywhere answers for most of them.

use std::collections::BTreeMap;

use super::{Stay, consolidate::Search};
use model::{disruption::KeptCode, names};

const SIZES: [usize; 11] = [2, 3, 4, 5, 6, 8, 12, 16, 24, 48, 100];

/// With no more candidates than this, every pair is tried, and every three.
const PAIRS: usize = 40;
const THREES: usize = 16;

/// After so many in a row that did not pay, the others are left: they promise less.
const FRUITLESS: usize = 200;

pub fn several(search: &mut Search<'_, '_>, still_time: &mut dyn FnMut() -> bool) {
    let mut fruitless = 0;
    for set in promising(search) {
        if set.iter().any(|at| search.choosing.gone[*at]) {
            continue;
        }
        match attempt(search, &set, still_time) {
            Tried::Paid => fruitless = 0,
            Tried::InVain => fruitless += 1,
            Tried::OutOfTime => return,
        }
        if fruitless == FRUITLESS {
            break;
        }
    }
    few(search, still_time);
}

/// Neighbours in a list, those first that would save most of what they cost if all went well.
fn promising(search: &mut Search<'_, '_>) -> Vec<Vec<usize>> {
    let lists = lists(search);
    let mut found: Vec<(f64, &[usize])> = vec![];
    for list in &lists {
        for size in SIZES.into_iter().filter(|size| *size <= list.len()) {
            let step = if size <= 4 { 1 } else { size / 2 };
            for set in list.windows(size).step_by(step) {
                let (price, least) = (search.price(set), search.least(set));
                if least < price {
                    found.push((least as f64 / price as f64, set));
                }
            }
        }
    }
    found.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    found.into_iter().map(|(_, set)| set.to_vec()).collect()
}

enum Tried {
    Paid,
    InVain,
    OutOfTime,
}

/// With no more candidates than this, what was chosen is looked at once more as a whole.
const ANEW: usize = 40;
const MOST_TRIES: usize = 400;

/// All that was taken, at once, with some of the rest: what step by step was not found.
pub fn anew(search: &mut Search<'_, '_>, still_time: &mut dyn FnMut() -> bool) {
    if search.order.len() > ANEW || search.choosing.out_of_time {
        return;
    }
    let mut tries = 0;
    while search.taken.len() > 1 || tries == 0 {
        let left: Vec<usize> = search.order.iter().copied().filter(|at| !search.choosing.gone[*at]).collect();
        let mut sets: Vec<Vec<usize>> = vec![vec![], left.clone()];
        for at in &left {
            sets.push(vec![*at]);
            sets.push(left.iter().copied().filter(|other| other != at).collect());
        }
        for (at, first) in left.iter().enumerate() {
            sets.extend(left.iter().skip(at + 1).map(|second| vec![*first, *second]));
        }
        let mut better = false;
        // All at once is tried first; one after the other, in other orders, packs otherwise where rules between pods bind.
        let tried = (0..ORDERS.len() + 1).flat_map(|order| sets.iter().map(move |set| (order, set)));
        for (order, set) in tried {
            tries += 1;
            if tries > MOST_TRIES || !still_time() {
                return;
            }
            if search.taken.is_empty() && set.len() < 2 {
                continue;
            }
            let all = [&search.taken[..], set].concat();
            let steps = match order.checked_sub(1).and_then(|at| ORDERS.get(at)) {
                None => vec![all],
                Some(order) => order(search, all).into_iter().map(|at| vec![at]).collect(),
            };
            better = search.attempt_anew(set, &steps, still_time);
            if better {
                break;
            }
        }
        if !better {
            return;
        }
    }
}

/// Sorts candidates.
type Order = fn(&Search<'_, '_>, Vec<usize>) -> Vec<usize>;

/// Orders in which nodes are taken away one after the other: those with the fewest pods first, those with the most, the last first.
const ORDERS: [Order; 3] = [
    |search, mut all| {
        all.sort_by_key(|at| search.choosing.board.pods_of(*at).len());
        all
    },
    |search, mut all| {
        all.sort_by_key(|at| core::cmp::Reverse(search.choosing.board.pods_of(*at).len()));
        all
    },
    |_, mut all| {
        all.reverse();
        all
    },
];

fn attempt(search: &mut Search<'_, '_>, set: &[usize], still_time: &mut dyn FnMut() -> bool) -> Tried {
    if !still_time() {
        search.run_out();
        return Tried::OutOfTime;
    }
    match search.attempt(set, still_time) {
        Ok(()) => Tried::Paid,
        Err(stay) => {
            remember(search, set, &stay);
            Tried::InVain
        }
    }
}

/// Where there are few, those that are not neighbours too.
fn few(search: &mut Search<'_, '_>, still_time: &mut dyn FnMut() -> bool) {
    let left: Vec<usize> = search.order.iter().copied().filter(|at| !search.choosing.gone[*at]).collect();
    let mut sets: Vec<Vec<usize>> = vec![];
    for (at, first) in left.iter().enumerate().filter(|_| left.len() <= PAIRS) {
        for (next, second) in left.iter().enumerate().skip(at + 1) {
            sets.push(vec![*first, *second]);
            let thirds = left.iter().skip(next + 1).filter(|_| left.len() <= THREES);
            sets.extend(thirds.map(|third| vec![*first, *second, *third]));
        }
    }
    for set in sets {
        if set.iter().any(|at| search.choosing.gone[*at]) || search.may_pay(&set).is_err() {
            continue;
        }
        if matches!(attempt(search, &set, still_time), Tried::OutOfTime) {
            return;
        }
    }
}

/// A budget that only the set would have broken says more than that nothing is saved.
fn remember(search: &mut Search<'_, '_>, set: &[usize], stay: &Stay) {
    if stay.code != KeptCode::Budget {
        return;
    }
    for at in set {
        if search.choosing.stays[*at].as_ref().is_some_and(|own| own.code == KeptCode::NotCheaper) {
            search.choosing.stay(*at, stay.clone());
        }
    }
}

/// The candidates that are left: all of them, and those of each pool and zone, the emptiest first.
fn lists(search: &Search<'_, '_>) -> Vec<Vec<usize>> {
    let board = search.choosing.board;
    let mut all: Vec<usize> = search.order.iter().copied().filter(|at| !search.choosing.gone[*at]).collect();
    let fullness = |at: &usize| {
        let of = &board.candidates[*at];
        let used = search.choosing.moving.pods_on(of.node);
        let mut sums: BTreeMap<&str, i128> = BTreeMap::new();
        for (name, amount) in used.iter().filter_map(|pod| board.scene.pods.get(*pod)).flat_map(|pod| &pod.requests) {
            *sums.entry(name).or_insert(0) += amount.thousandths();
        }
        let has = |name: &str| of.there.allocatable.get(name).map_or(1, |amount| amount.thousandths().max(1));
        sums.iter().map(|(name, sum)| sum.saturating_mul(1000) / has(name)).max().unwrap_or(0)
    };
    all.sort_by_cached_key(|at| (fullness(at), board.candidates[*at].name().to_owned()));
    let mut by_kind: BTreeMap<(usize, &str), Vec<usize>> = BTreeMap::new();
    for at in &all {
        let of = &board.candidates[*at];
        let zone = of.there.labels.get(names::ZONE).map_or("", String::as_str);
        by_kind.entry((of.pool, zone)).or_default().push(*at);
    }
    let mut lists: Vec<Vec<usize>> =
        by_kind.into_values().filter(|list| list.len() > 1 && list.len() < all.len()).collect();
    if all.len() > 1 {
        lists.push(all);
    }
    lists
}
