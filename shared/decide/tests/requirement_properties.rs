//! The algebra of requirements against an obvious model: ask every requirement about every value, one by one.

use decide::requirement::{Allowed, Requirements};
use model::{Operator, Requirement};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Values that a set can tell apart, with integers around every bound the strategy makes, and spellings of them.
const UNIVERSE: [&str; 16] = [
    "a",
    "b",
    "c",
    "",
    "0",
    "1",
    "2",
    "3",
    "4",
    "5",
    "07",
    "7",
    "-1",
    "+2",
    "9223372036854775807",
    "99999999999999999999",
];

/// What Kubernetes says of one requirement and one label, which may be missing. Slow and obvious.
fn keeps(requirement: &Requirement, value: Option<&str>) -> bool {
    let named = value.is_some_and(|value| requirement.values.iter().any(|own| own == value));
    let compare = |holds: fn(i64, i64) -> bool| {
        let bound = requirement.values.first().filter(|_| requirement.values.len() == 1);
        let numbers = value.zip(bound).and_then(|(value, bound)| Some((value.parse().ok()?, bound.parse().ok()?)));
        numbers.is_some_and(|(value, bound)| holds(value, bound))
    };
    match requirement.operator {
        Operator::In => named,
        Operator::NotIn => !named,
        Operator::Exists => value.is_some(),
        Operator::DoesNotExist => value.is_none(),
        Operator::Gt => compare(|value, bound| value > bound),
        Operator::Gte => compare(|value, bound| value >= bound),
        Operator::Lt => compare(|value, bound| value < bound),
        Operator::Lte => compare(|value, bound| value <= bound),
    }
}

fn requirement() -> impl Strategy<Value = Requirement> {
    let operator = proptest::sample::select(Operator::ALL.to_vec());
    let values = proptest::collection::vec(proptest::sample::select(UNIVERSE.to_vec()), 0..4);
    let key = proptest::sample::select(vec!["x", "y", "kubernetes.io/arch", "beta.kubernetes.io/arch"]);
    (key, operator, values).prop_map(|(key, operator, mut values)| {
        if !matches!(operator, Operator::In | Operator::NotIn) {
            values.truncate(1);
        }
        Requirement { key: key.to_owned(), operator, values: values.into_iter().map(str::to_owned).collect() }
    })
}

fn some() -> impl Strategy<Value = Vec<Requirement>> {
    proptest::collection::vec(requirement(), 0..5)
}

fn all_of(list: &[Requirement]) -> Allowed<'_> {
    let mut allowed = Allowed::anything();
    list.iter().for_each(|one| allowed.narrow(&Allowed::by(one)));
    allowed
}

/// Bounds may leave room for an integer outside the universe (6, say): then a set is not empty though no value here is in it.
fn more_values() -> impl Iterator<Item = String> {
    let spelled = (-3..12)
        .flat_map(|number: i64| [format!("{number}"), format!("0{}", number.abs()), format!("+00{}", number.abs())]);
    let ends = [i64::MIN, i64::MIN + 1, i64::MAX - 1].map(|number| number.to_string());
    spelled.chain(ends).chain(["zzz".to_owned(), format!("+{}", i64::MAX), format!("-0{}", i64::MIN.unsigned_abs())])
}

proptest! {
    #[test]
    fn a_value_is_allowed_when_every_requirement_is_kept_by_it(list in some()) {
        let allowed = all_of(&list);
        for value in UNIVERSE {
            let expected = list.iter().all(|one| keeps(one, Some(value)));
            prop_assert_eq!(allowed.has(value), expected, "{:?} of {:?}", value, list);
        }
        prop_assert_eq!(allowed.allows_absent(), list.iter().all(|one| keeps(one, None)));
    }

    #[test]
    fn a_set_is_empty_when_nothing_keeps_it(list in some()) {
        let others: Vec<String> = more_values().collect();
        let mut values = UNIVERSE.into_iter().chain(others.iter().map(String::as_str)).map(Some).chain([None]);
        let expected = !values.any(|value| list.iter().all(|one| keeps(one, value)));
        prop_assert_eq!(all_of(&list).is_empty(), expected, "{:?}", list);
    }

    #[test]
    fn two_sets_intersect_when_their_intersection_is_not_empty(left in some(), right in some()) {
        let (left, right) = (all_of(&left), all_of(&right));
        let mut both = left.clone();
        both.narrow(&right);
        prop_assert_eq!(left.intersects(&right), !both.is_empty());
        prop_assert_eq!(right.intersects(&left), !both.is_empty());
    }

    #[test]
    fn the_order_of_requirements_does_not_matter_and_twice_is_once(list in some()) {
        let mut reversed = list.clone();
        reversed.reverse();
        prop_assert_eq!(all_of(&list), all_of(&reversed));
        reversed.extend(list.clone());
        prop_assert_eq!(all_of(&list), all_of(&reversed));
    }

    #[test]
    fn labels_keep_requirements_when_they_keep_each(list in some(), labels in labels()) {
        let expected = list.iter().all(|one| {
            let key = if one.key.starts_with("beta.") { "kubernetes.io/arch" } else { one.key.as_str() };
            keeps(one, labels.get(key).map(String::as_str))
        });
        prop_assert_eq!(Requirements::new(&list).kept_by(&labels), expected);
    }

    #[test]
    fn requirements_intersect_when_no_key_of_both_becomes_a_contradiction(left in some(), right in some()) {
        let (left, right) = (Requirements::new(&left), Requirements::new(&right));
        let mut both = left.clone();
        both.require_all(&right);
        let shared = |key: &&str| left.on(key).is_some() && right.on(key).is_some();
        prop_assert_eq!(left.intersects(&right), !both.contradictions().any(|key| shared(&key)));
    }
}

fn labels() -> impl Strategy<Value = BTreeMap<String, String>> {
    let key = proptest::sample::select(vec!["x", "y", "kubernetes.io/arch"]).prop_map(str::to_owned);
    let value = proptest::sample::select(UNIVERSE.to_vec()).prop_map(str::to_owned);
    proptest::collection::btree_map(key, value, 0..4)
}
