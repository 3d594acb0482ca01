//! JSON merge patch (RFC 7386) on whole objects.
use serde_json::{Map, Value};

use super::PatchError;
use super::json::go_kind;

/// The object with the patch merged into it: null removes, objects merge, everything else replaces.
pub fn merge_patch(object: &Value, patch: &Value) -> Result<Value, PatchError> {
    match patch {
        Value::Object(patch) => Ok(merge(Some(object), patch)),
        Value::Null => Err(PatchError::bad_request("Invalid JSON Patch")),
        other => Err(PatchError::bad_request(format!(
            "error decoding patch: json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
            go_kind(other)
        ))),
    }
}

fn merge(target: Option<&Value>, patch: &Map<String, Value>) -> Value {
    let mut merged = target.and_then(Value::as_object).cloned().unwrap_or_default();
    for (key, value) in patch {
        match value {
            Value::Null => {
                merged.remove(key);
            }
            Value::Object(inner) => {
                let value = merge(merged.get(key), inner);
                merged.insert(key.clone(), value);
            }
            other => {
                merged.insert(key.clone(), other.clone());
            }
        }
    }
    Value::Object(merged)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::{Value, json};

    use super::merge_patch;

    /// Object, patch, and either the result or the code and message of the error.
    type Case<'a> = (Value, Value, Result<Value, (u16, &'a str)>);

    fn check(cases: Vec<Case<'_>>) {
        for (object, patch, expected) in cases {
            let result = merge_patch(&object, &patch);
            assert_eq!(
                result.as_ref().map_err(|error| (error.code, error.message.as_str())),
                expected.as_ref().map_err(|e| *e),
                "{object} with {patch}"
            );
        }
    }

    #[test]
    fn a_merge_patch_does_what_the_examples_of_the_rfc_say() {
        check(vec![
            (json!({"a":"b"}), json!({"a":"c"}), Ok(json!({"a":"c"}))),
            (json!({"a":"b"}), json!({"b":"c"}), Ok(json!({"a":"b","b":"c"}))),
            (json!({"a":"b"}), json!({"a":null}), Ok(json!({}))),
            (json!({"a":"b","b":"c"}), json!({"a":null}), Ok(json!({"b":"c"}))),
            (json!({"a":["b"]}), json!({"a":"c"}), Ok(json!({"a":"c"}))),
            (json!({"a":"c"}), json!({"a":["b"]}), Ok(json!({"a":["b"]}))),
            (json!({"a":{"b":"c"}}), json!({"a":{"b":"d","c":null}}), Ok(json!({"a":{"b":"d"}}))),
            (json!({"a":[{"b":"c"}]}), json!({"a":[1]}), Ok(json!({"a":[1]}))),
            (json!({"e":null}), json!({"a":1}), Ok(json!({"e":null,"a":1}))),
            (json!({}), json!({"a":{"bb":{"ccc":null}}}), Ok(json!({"a":{"bb":{}}}))),
            (json!({"a":"foo"}), json!({"a":{"b":{"c":null,"d":1}}}), Ok(json!({"a":{"b":{"d":1}}}))),
        ]);
    }

    #[test]
    fn a_merge_patch_that_is_no_object_is_a_bad_request() {
        let text = |kind: &str| {
            format!(
                "error decoding patch: json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"
            )
        };
        check(vec![
            (json!({"a":1}), json!(["a"]), Err((400, &text("array")))),
            (json!({"a":1}), json!("a"), Err((400, &text("string")))),
            (json!({"a":1}), json!(1), Err((400, &text("number")))),
            (json!({"a":1}), Value::Null, Err((400, "Invalid JSON Patch"))),
        ]);
    }
}
