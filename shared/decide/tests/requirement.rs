//! What requirements mean: the rules of Kubernetes and Karpenter, by example.

use decide::requirement::{Allowed, Requirements, left_open, normalised};
use model::{Operator, Requirement};
use std::collections::BTreeMap;

fn requirement(text: &str) -> Requirement {
    let mut words = text.split(' ');
    let key = words.next().unwrap_or_default().to_owned();
    let operator = words.next().and_then(|word| word.parse().ok()).unwrap_or(Operator::Exists);
    Requirement { key, operator, values: words.map(str::to_owned).collect() }
}

fn check(texts: &[&str], kept_by: &[&str], broken_by: &[&str], absent: bool) {
    let list: Vec<Requirement> = texts.iter().map(|text| requirement(text)).collect();
    let mut allowed = Allowed::anything();
    list.iter().for_each(|one| allowed.narrow(&Allowed::by(one)));
    kept_by.iter().for_each(|value| assert!(allowed.has(value), "{texts:?} is kept by {value}"));
    broken_by.iter().for_each(|value| assert!(!allowed.has(value), "{texts:?} is broken by {value}"));
    assert_eq!(allowed.allows_absent(), absent, "{texts:?} and a missing label");
    assert_eq!(allowed.is_empty(), kept_by.is_empty() && !absent, "{texts:?} and emptiness");
}

#[test]
fn each_operator_allows_what_kubernetes_says() {
    check(&["k In a b"], &["a", "b"], &["c", ""], false);
    check(&["k NotIn a b"], &["c", ""], &["a", "b"], true);
    check(&["k Exists"], &["a", ""], &[], false);
    check(&["k DoesNotExist"], &[], &["a", ""], true);
    check(&["k Gt 4"], &["5", "05"], &["4", "3", "many", ""], false);
    check(&["k Gte 4"], &["4", "5"], &["3"], false);
    check(&["k Lt 4"], &["3", "-9"], &["4", "5"], false);
    check(&["k Lte 4"], &["4", "3"], &["5"], false);
}

#[test]
fn several_requirements_on_a_key_are_their_intersection() {
    check(&["k In a b", "k In b c"], &["b"], &["a", "c"], false);
    check(&["k In a b", "k NotIn a"], &["b"], &["a"], false);
    check(&["k NotIn a", "k NotIn b"], &["c"], &["a", "b"], true);
    check(&["k NotIn a", "k Exists"], &["b"], &["a"], false);
    check(&["k NotIn a", "k DoesNotExist"], &[], &["a", "b"], true);
    check(&["k Gt 1", "k Lt 4", "k NotIn 2"], &["3"], &["1", "2", "4"], false);
    check(&["k In 1 2 3 x", "k Gte 2"], &["2", "3"], &["1", "x"], false);
}

#[test]
fn a_contradiction_is_kept_by_nothing_not_even_a_missing_label() {
    check(&["k In a", "k In b"], &[], &["a", "b"], false);
    check(&["k Exists", "k DoesNotExist"], &[], &["a"], false);
    check(&["k Gt 4", "k Lt 5"], &[], &["4", "5"], false);
    check(&["k In"], &[], &["a"], false);
}

#[test]
fn a_bound_that_is_no_integer_is_kept_by_nothing() {
    check(&["k Gt many"], &[], &["5", "many"], false);
    check(&["k Gt"], &[], &["5"], false);
    check(&["k Lte 1 2"], &[], &["1"], false);
    check(&["k Gt 9223372036854775807"], &[], &["9223372036854775807"], false);
}

#[test]
fn old_names_of_labels_mean_the_new_ones() {
    let pairs = [
        ("beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type"),
        ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"),
        ("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"),
        ("beta.kubernetes.io/arch", "kubernetes.io/arch"),
        ("beta.kubernetes.io/os", "kubernetes.io/os"),
        ("beta.kubernetes.io/fluentd-ds-ready", "beta.kubernetes.io/fluentd-ds-ready"),
        ("team", "team"),
    ];
    for (old, new) in pairs {
        assert_eq!(normalised(old), new);
        let list = [requirement(&format!("{old} In a"))];
        assert!(Requirements::new(&list).kept_by(&BTreeMap::from([(new.to_owned(), "a".to_owned())])), "{old}");
    }
}

#[test]
fn two_sides_meet_when_no_shared_key_keeps_them_apart() {
    let meets = |left: &[&str], right: &[&str]| {
        let [left, right] = [left, right].map(|side| side.iter().map(|text| requirement(text)).collect::<Vec<_>>());
        Requirements::new(&left).intersects(&Requirements::new(&right))
    };
    assert!(meets(&["zone In a b"], &["zone In b c"]));
    assert!(!meets(&["zone In a"], &["zone In b"]));
    assert!(meets(&["zone In a"], &["arch In amd64"]), "different keys do not meet at all");
    assert!(meets(&["gpu NotIn a"], &["gpu DoesNotExist"]), "a node without the label keeps both");
    assert!(!meets(&["arch In amd64", "zone In a"], &["arch In amd64", "zone NotIn a"]));
    assert!(!meets(&["size Gt 8"], &["size In 4 8"]));
}

#[test]
fn a_label_that_has_to_be_there_and_is_left_open_gets_the_least_value_that_will_do() {
    for (texts, value) in [
        (vec!["team Exists"], Some("0")),
        (vec!["team Exists", "team NotIn 0 1"], Some("2")),
        (vec!["team Gt 4"], Some("5")),
        (vec!["team Gte 4", "team Lt 9", "team NotIn 4"], Some("5")),
        (vec!["team Lt 9"], Some("8")),
        (vec!["team NotIn a"], None),
        (vec!["team DoesNotExist"], None),
        (vec!["team In a b"], None),
        (vec!["team Gt 4", "team Lt 5"], None),
        // A machine has such a label or has it not.
        (vec!["topology.kubernetes.io/zone Exists"], None),
        (vec!["karpenter.azure.com/sku-cpu Gt 4"], None),
    ] {
        let list: Vec<Requirement> = texts.iter().map(|text| requirement(text)).collect();
        let labels = left_open(&list);
        assert_eq!(labels.get("team").map(String::as_str), value, "{texts:?}");
        assert!(value.is_some() || labels.is_empty(), "{texts:?}");
        assert!(value.is_none() || Requirements::new(&list).kept_by(&labels), "{texts:?}");
    }
}
