//! Several nodes at once: what none of them can do alone, some may do together.
//!
//! Sets are nodes of one kind that are about as full as each other, in growing sizes, and not only the first ones: a set that
//! fails says nothing about larger ones. A bound on what their pods cost anywhere answers for most of them.

use std::collections::BTreeMap;

use super::{Stay, consolidate::Search};
use model::{disruption::KeptCode, names};

const SIZES: [usize; 11] = [2, 3, 4, 5, 6, 8, 12, 16, 24, 48, 100];

pub fn several(search: &mut Search<'_, '_>, still_time: &mut dyn FnMut() -> bool) {
    for list in lists(search) {
        for size in SIZES.into_iter().filter(|size| *size <= list.len()) {
            let step = if size <= 4 { 1 } else { size / 2 };
            let mut from = 0;
            while from + size <= list.len() {
                let set: Vec<usize> =
                    list[from..].iter().copied().filter(|at| !search.choosing.gone[*at]).take(size).collect();
                if set.len() < size {
                    break;
                }
                if search.may_pay(&set).is_ok() {
                    if !still_time() {
                        return search.run_out();
                    }
                    if let Err(stay) = search.attempt(&set, still_time) {
                        remember(search, &set, &stay);
                    }
                }
                from += step;
            }
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
    let mut lists: Vec<Vec<usize>> = by_kind.into_values().filter(|list| list.len() > 1 && list.len() < all.len()).collect();
    if all.len() > 1 {
        lists.push(all);
    }
    lists
}
