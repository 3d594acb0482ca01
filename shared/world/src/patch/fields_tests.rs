//! Tests of `fields`: the written form of sets, and what is done with sets.
#![allow(clippy::unwrap_used)]
use serde_json::{Value, json};

use super::{FieldSet, printed};

fn set(fields: &Value) -> FieldSet {
    FieldSet::from_fields_v1(fields).unwrap()
}

#[test]
fn a_set_is_written_as_it_was_read() {
    let cases = [
        json!({}),
        json!({"f:metadata": {"f:labels": {".": {}, "f:app": {}}}}),
        json!({"f:spec": {"f:containers": {"k:{\"name\":\"a\"}": {".": {}, "f:image": {}, "f:name": {}}}}}),
        json!({"f:spec": {"f:ports": {"k:{\"containerPort\":80,\"protocol\":\"TCP\"}": {}}}}),
        json!({"f:metadata": {"f:finalizers": {"v:\"a/b\"": {}, "v:1": {}, "v:true": {}}}}),
        json!({"f:list": {"i:0": {}, "i:1": {"f:a": {}}}}),
    ];
    for fields in cases {
        assert_eq!(set(&fields).to_fields_v1(), fields);
    }
}

#[test]
fn an_element_of_unknown_kind_is_dropped_and_a_broken_one_refused() {
    assert_eq!(set(&json!({"x:new": {}, "f:a": {}})).to_fields_v1(), json!({"f:a": {}}));
    for broken in [json!({"f": {}}), json!({"fa": {}}), json!({"k:[]": {}}), json!({"k:{": {}}), json!({"i:x": {}})] {
        assert!(FieldSet::from_fields_v1(&broken).is_err(), "{broken}");
    }
}

#[test]
fn sets_are_joined_cut_and_subtracted_path_by_path() {
    let left = json!({"f:a": {}, "f:b": {".": {}, "f:c": {}, "f:d": {}}});
    let right = json!({"f:b": {"f:c": {}}, "f:e": {}});
    let cases: [(FieldSet, Value); 5] = [
        (set(&left).union(&set(&right)), json!({"f:a": {}, "f:b": {".": {}, "f:c": {}, "f:d": {}}, "f:e": {}})),
        (set(&left).intersection(&set(&right)), json!({"f:b": {"f:c": {}}})),
        (set(&left).difference(&set(&right)), json!({"f:a": {}, "f:b": {".": {}, "f:d": {}}})),
        (set(&left).difference(&set(&json!({"f:b": {}}))), json!({"f:a": {}, "f:b": {"f:c": {}, "f:d": {}}})),
        (set(&left).difference_with_all_below(&set(&json!({"f:b": {}}))), json!({"f:a": {}})),
    ];
    for (found, expected) in cases {
        assert_eq!(found.to_fields_v1(), expected);
    }
}

#[test]
fn paths_are_printed_as_in_messages() {
    let fields = json!({"f:a": {"f:b": {}, "k:{\"n\":\"x\",\"p\":80}": {"f:c": {}}, "v:\"s\"": {}, "i:3": {}}});
    let found: Vec<String> = set(&fields).paths().iter().map(|path| printed(path)).collect();
    assert_eq!(found, [".a.b", ".a[=\"s\"]", ".a[3]", ".a[n=\"x\",p=80].c"]);
}
