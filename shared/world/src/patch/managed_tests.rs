//! Tests of `managed`: names, broken entries and times.
use serde_json::{Value, json};

use super::{decode, keep_times_if_nothing_else_changed, name_of};

fn entry(time: &str, fields: Value) -> Value {
    json!({"manager": "m", "operation": "Update", "apiVersion": "v1", "time": time, "fieldsType": "FieldsV1",
        "fieldsV1": fields})
}

fn object(data: &str, entries: Vec<Value>) -> Value {
    json!({"metadata": {"name": "c", "managedFields": entries}, "data": {"k": data}})
}

#[test]
fn a_manager_is_named_by_the_request_or_by_its_user_agent() {
    let long = "x".repeat(200);
    let cases = [
        ("me", "kubectl/v1.36.0 (linux/amd64)", "me"),
        ("", "kubectl/v1.36.0 (linux/amd64)", "kubectl"),
        ("", "curl", "curl"),
        ("", "a\u{7}b/1", "ab"),
        ("", "", ""),
        ("", &long, &long[..128]),
    ];
    for (field_manager, user_agent, expected) in cases {
        assert_eq!(name_of(field_manager, user_agent), expected);
    }
}

#[test]
fn broken_entries_are_told_apart() {
    let cases = [
        (json!({"operation": "Delete"}), "operation must be `Apply` or `Update`"),
        (json!({"operation": "Apply"}), "apiVersion must not be empty"),
        (json!({"operation": "Apply", "apiVersion": "v1"}), "missing fieldsType in managed fields entry 0"),
        (
            json!({"operation": "Apply", "apiVersion": "v1", "fieldsType": "V2"}),
            "invalid fieldsType \"V2\" in managed fields entry 0",
        ),
    ];
    for (entry, expected) in cases {
        assert_eq!(decode(&object("v", vec![entry])).err().as_deref(), Some(expected));
    }
}

#[test]
fn times_are_kept_only_when_nothing_else_changes() {
    let fields = || json!({"f:data": {"f:k": {}}});
    let old = object("v", vec![entry("1", fields())]);
    let cases = [
        (object("v", vec![entry("2", fields())]), old.clone()),
        (object("w", vec![entry("2", fields())]), object("w", vec![entry("2", fields())])),
        (object("v", vec![entry("2", json!({}))]), object("v", vec![entry("2", json!({}))])),
        (object("v", Vec::new()), object("v", Vec::new())),
    ];
    for (mut new, expected) in cases {
        keep_times_if_nothing_else_changed(&old, &mut new);
        assert_eq!(new, expected);
    }
}
