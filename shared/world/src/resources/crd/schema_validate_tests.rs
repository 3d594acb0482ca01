//! The messages of schema validation, as data.

use super::*;
use serde_json::json;

#[test]
fn every_rule_speaks_as_the_real_server_does() {
    let cases = [
        (
            json!({"type": "integer"}),
            json!("3"),
            "spec: Invalid value: \"string\": spec in body must be of type integer: \"string\"",
        ),
        (
            json!({"type": "string"}),
            json!(null),
            "spec: Invalid value: \"null\": spec in body must be of type string: \"null\"",
        ),
        (json!({"enum": ["a", "b"]}), json!("c"), "spec: Unsupported value: \"c\": supported values: \"a\", \"b\""),
        (json!({"maximum": 10}), json!(11), "spec: Invalid value: 11: spec in body should be less than or equal to 10"),
        (
            json!({"minimum": 1, "exclusiveMinimum": true}),
            json!(1),
            "spec: Invalid value: 1: spec in body should be greater than 1",
        ),
        (json!({"multipleOf": 2}), json!(3), "spec: Invalid value: 3: spec in body should be a multiple of 2"),
        (json!({"maxLength": 2}), json!("abc"), "spec: Too long: may not be more than 2 bytes"),
        (json!({"minLength": 1}), json!(""), "spec: Invalid value: \"\": spec in body should be at least 1 chars long"),
        (json!({"pattern": "^a$"}), json!("b"), "spec: Invalid value: \"b\": spec in body should match '^a$'"),
        (
            json!({"format": "date-time"}),
            json!("now"),
            "spec: Invalid value: \"now\": spec in body must be of type date-time: \"now\"",
        ),
        (json!({"maxItems": 1}), json!([1, 2]), "spec: Too many: 2: must have at most 1 item"),
        (json!({"minItems": 1}), json!([]), "spec: Invalid value: 0: spec in body should have at least 1 items"),
        (json!({"required": ["x"]}), json!({}), "spec.x: Required value"),
        (json!({"x-kubernetes-list-type": "set"}), json!(["a", "a"]), "spec[1]: Duplicate value: \"a\""),
        (
            json!({"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}),
            json!([{"name": "a"}, {"name": "a", "x": 1}]),
            "spec[1]: Duplicate value: {\"name\":\"a\"}",
        ),
        (
            json!({"x-kubernetes-int-or-string": true}),
            json!(true),
            "spec: Invalid value: \"boolean\": spec in body must be of type integer,string: \"boolean\"",
        ),
        (
            json!({"not": {"required": ["x"]}}),
            json!({"x": 1}),
            "<nil>: Invalid value: \"\": \"spec\" must not validate the schema (not)",
        ),
        (
            json!({"additionalProperties": {"type": "string"}}),
            json!({"k": 1}),
            "spec.k: Invalid value: \"integer\": spec.k in body must be of type string: \"integer\"",
        ),
    ];
    for (schema, value, message) in cases {
        let errors =
            validate_schema(&json!({"type": "object", "properties": {"spec": schema}}), &json!({"spec": value}));
        assert_eq!(errors.iter().map(FieldError::message).collect::<Vec<_>>(), [message]);
    }
}

#[test]
fn one_of_tells_how_many_alternatives_held() {
    let schema = json!({"oneOf": [{"required": ["a"]}, {"required": ["b"]}]});
    assert!(validate_schema(&schema, &json!({"a": 1})).is_empty());
    let both = validate_schema(&schema, &json!({"a": 1, "b": 1}));
    assert_eq!(
        both[0].message(),
        "<nil>: Invalid value: \"\": \"\" must validate one and only one schema (oneOf). Found 2 valid alternatives"
    );
    let none = validate_schema(&schema, &json!({}));
    assert_eq!(none[1].message(), "a: Required value");
}

#[test]
fn values_that_fit_pass() {
    let schema = json!({"type": "object", "properties": {"port": {"x-kubernetes-int-or-string": true},
        "nothing": {"type": "string", "nullable": true}, "share": {"type": "number"}}});
    for value in [json!({"port": 80}), json!({"port": "http"}), json!({"nothing": null}), json!({"share": 1})] {
        assert_eq!(validate_schema(&schema, &value), []);
    }
}

#[test]
fn an_unchanged_part_is_not_judged_again() {
    let schema = json!({"properties": {"old": {"maximum": 1}, "new": {"maximum": 1}}});
    let before = json!({"old": 5, "new": 1});
    assert!(validate_change(&schema, &json!({"old": 5, "new": 0}), Some(&before)).is_empty());
    assert_eq!(validate_change(&schema, &json!({"old": 6, "new": 1}), Some(&before)).len(), 1);
}
