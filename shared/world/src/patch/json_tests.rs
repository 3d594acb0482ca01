//! Tests of `json`: what is refused, and with which words. What patches do is in the golden cases.
use serde_json::{Value, json};

use super::{MOST_OPERATIONS, json_patch};

#[test]
fn a_patch_that_cannot_be_read_or_done_is_refused_as_on_the_server() {
    let unprocessable = "the server rejected our request due to an error in our request";
    let cases = [
        (
            json!({"op": "add"}),
            400,
            "BadRequest",
            "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp",
        ),
        (
            json!(["add"]),
            400,
            "BadRequest",
            "error decoding patch: json: cannot unmarshal string into Go value of type handlers.jsonPatchOp",
        ),
        (json!([{"op": "test", "path": "/a", "value": 2}]), 422, "Invalid", unprocessable),
        (json!([{"op": "remove", "path": "/b"}]), 422, "Invalid", unprocessable),
        (json!([{"op": "add", "value": 1}]), 422, "Invalid", unprocessable),
        (json!([{"op": "unheard", "path": "/a"}]), 422, "Invalid", unprocessable),
    ];
    for (patch, code, reason, message) in cases {
        let error = json_patch(&json!({"a": 1}), &patch).err();
        let found = error.as_ref().map(|error| (error.code, error.reason, error.message.as_str()));
        assert_eq!(found, Some((code, reason, message)), "{patch}");
    }
}

#[test]
fn too_many_operations_are_refused() {
    let patch = Value::Array(vec![json!({"op": "test", "path": "/a", "value": 1}); MOST_OPERATIONS + 1]);
    let error = json_patch(&json!({"a": 1}), &patch).err();
    assert_eq!(error.map(|error| (error.code, error.reason)), Some((413, "RequestEntityTooLarge")));
}
