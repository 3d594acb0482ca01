//! CEL rules, as data: the schema of `spec`, its value, its old value, and the messages expected.

use super::*;
use serde_json::json;

fn messages(spec_schema: Value, value: Value, old: Option<Value>) -> Vec<String> {
    let schema = json!({"type": "object", "properties": {"spec": spec_schema}});
    let object = json!({"spec": value});
    let old = old.map(|old| json!({"spec": old}));
    Rules::of(&schema).validate(&schema, &object, old.as_ref()).iter().map(FieldError::message).collect()
}

fn with_rule(rule: Value) -> Value {
    json!({"type": "object", "properties": {"min": {"type": "integer"}, "max": {"type": "integer"},
        "name": {"type": "string"}, "namespace": {"type": "string"}}, "x-kubernetes-validations": [rule]})
}

#[test]
fn rules_speak_by_message_expression_message_or_their_own_text() {
    let cases = [
        (json!({"rule": "self.min <= self.max"}), "spec: Invalid value: failed rule: self.min <= self.max"),
        (json!({"rule": "self.min <= self.max", "message": "wrong way"}), "spec: Invalid value: wrong way"),
        (
            json!({"rule": "self.min <= self.max", "message": "no", "messageExpression":
                "'min ' + string(self.min) + ' is over ' + string(self.max)"}),
            "spec: Invalid value: min 5 is over 3",
        ),
        (
            json!({"rule": "self.min <= self.max", "message": "no", "reason": "FieldValueForbidden",
                "fieldPath": ".min"}),
            "spec.min: Forbidden: no",
        ),
        (
            json!({"rule": "self.name == 'x'"}),
            "spec: Invalid value: \"object\": no such key: name evaluating rule: self.name == 'x'",
        ),
        (json!({"rule": "has(self.name)", "message": "need a name"}), "spec: Invalid value: need a name"),
    ];
    for (rule, expected) in cases {
        assert_eq!(messages(with_rule(rule), json!({"min": 5, "max": 3}), None), [expected]);
    }
}

#[test]
fn transition_rules_wait_for_an_old_value() {
    let rule = || with_rule(json!({"rule": "self.min == oldSelf.min", "message": "fixed"}));
    assert!(messages(rule(), json!({"min": 1}), None).is_empty());
    assert!(messages(rule(), json!({"min": 1}), Some(json!({"min": 1}))).is_empty());
    assert_eq!(messages(rule(), json!({"min": 2}), Some(json!({"min": 1}))), ["spec: Invalid value: fixed"]);
}

#[test]
fn an_optional_old_self_is_seen_on_create_too() {
    let rule = || {
        with_rule(json!({"rule": "oldSelf.hasValue() ? oldSelf.value().min == self.min : self.min == 1",
            "optionalOldSelf": true, "message": "starts at one"}))
    };
    assert!(messages(rule(), json!({"min": 1}), None).is_empty());
    assert_eq!(messages(rule(), json!({"min": 2}), None).len(), 1);
    assert_eq!(messages(rule(), json!({"min": 2}), Some(json!({"min": 1}))).len(), 1);
}

#[test]
fn rules_reach_items_map_values_and_escaped_names() {
    let list = json!({"type": "array", "items": {"type": "integer",
        "x-kubernetes-validations": [{"rule": "self > 0", "message": "positive"}]}});
    assert_eq!(messages(list, json!([1, 0]), None), ["spec[1]: Invalid value: 0: positive"]);
    let map = json!({"type": "object", "additionalProperties": {"type": "string",
        "x-kubernetes-validations": [{"rule": "self != ''", "message": "filled"}]}});
    assert_eq!(messages(map, json!({"k": ""}), None), ["spec[k]: Invalid value: \"\": filled"]);
    let escaped = with_rule(json!({"rule": "self.__namespace__ == 'a'"}));
    assert!(messages(escaped, json!({"namespace": "a"}), None).is_empty());
}

#[test]
fn an_unchanged_part_is_not_held_to_a_new_rule() {
    let rule = || with_rule(json!({"rule": "self.min > 10"}));
    assert!(messages(rule(), json!({"min": 1}), Some(json!({"min": 1}))).is_empty());
    assert_eq!(messages(rule(), json!({"min": 2}), Some(json!({"min": 1}))).len(), 1);
}

#[test]
fn a_rule_that_does_not_parse_is_known_as_broken() {
    assert_eq!(Rules::of(&with_rule(json!({"rule": "self.("}))).broken().count(), 1);
}

#[test]
fn the_rules_of_well_known_definitions_are_evaluated() {
    // In the manner of the CRDs of Karpenter and KAITO, which the world will serve.
    let requirements = || {
        json!({"type": "array", "items": {"type": "object", "properties": {"key": {"type": "string"},
            "operator": {"type": "string"}, "values": {"type": "array", "items": {"type": "string"}},
            "minValues": {"type": "integer"}}}, "x-kubernetes-validations": [
            {"rule": "self.all(x, x.operator == 'In' ? x.values.size() != 0 : true)", "message": "In needs values"},
            {"rule": "self.all(x, (x.operator == 'Gt' || x.operator == 'Lt') ? (x.values.size() == 1 \
                && int(x.values[0]) >= 0) : true)",
                "message": "one integer"},
            {"rule": "self.all(x, (x.operator == 'In' && has(x.minValues)) ? x.values.size() >= x.minValues : true)",
                "message": "minValues"},
            {"rule": "self.all(x, x.key in ['karpenter.sh/capacity-type'] || \
                !x.key.find('^([^/]+)').endsWith('karpenter.sh'))",
                "message": "restricted"}]})
    };
    let cases = [
        (json!([{"key": "a", "operator": "In", "values": ["x"]}]), vec![]),
        (json!([{"key": "karpenter.sh/capacity-type", "operator": "Exists", "values": []}]), vec![]),
        (json!([{"key": "a", "operator": "In", "values": []}]), vec!["In needs values"]),
        (json!([{"key": "a", "operator": "Gt", "values": ["1", "2"]}]), vec!["one integer"]),
        (json!([{"key": "a", "operator": "In", "values": ["x"], "minValues": 2}]), vec!["minValues"]),
        (json!([{"key": "karpenter.sh/other", "operator": "Exists", "values": []}]), vec!["restricted"]),
    ];
    for (value, expected) in cases {
        let found = messages(requirements(), value, None);
        let expected: Vec<String> = expected.iter().map(|one| format!("spec: Invalid value: {one}")).collect();
        assert_eq!(found, expected);
    }
    let fixed = || {
        json!({"type": "object", "properties": {"a": {"type": "integer"}},
        "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "spec is immutable"}]})
    };
    assert!(messages(fixed(), json!({"a": 1}), Some(json!({"a": 1}))).is_empty());
    assert_eq!(messages(fixed(), json!({"a": 2}), Some(json!({"a": 1}))).len(), 1);
}
