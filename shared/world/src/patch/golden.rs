//! Cases whose expected results were computed by the code of kube-apiserver v1.36 itself.
//!
//! The files under `golden/` hold lists of cases: a strategic or JSON patch of one object, or a series of creates,
//! updates and applications with the object, its managedFields and the errors after every step.
#![allow(clippy::unwrap_used, clippy::panic)]
use serde_json::{Value, json};

use super::PatchError;
use super::apply::{Manager, apply, track_update};
use super::fields::FieldSet;
use super::json::json_patch;
use super::merge::merge_patch;
use super::schema_of::Schema;
use super::strategic::strategic_merge_patch;

fn check(file: &str, cases: &str) {
    let cases: Vec<Value> = serde_json::from_str(cases).unwrap();
    for case in &cases {
        assert_eq!(outcome(case), case["expected"], "{file}: {}", case["name"]);
    }
}

fn outcome(case: &Value) -> Value {
    let text = |name: &str| case[name].as_str().unwrap_or_default();
    let schema = Schema::of_core(text("apiVersion"), text("kind"))
        .unwrap_or_else(|| Schema::of_custom_resource(text("apiVersion"), text("kind"), case.get("openapi")));
    match text("patch") {
        "strategic" => shown(strategic_merge_patch(&case["object"], &case["with"], &schema), true),
        "json" => shown(json_patch(&case["object"], &case["with"]), false),
        _ => Value::Array(steps(case, &schema)),
    }
}

fn steps(case: &Value, schema: &Schema) -> Vec<Value> {
    let mut live: Option<Value> = None;
    let mut shown_steps = Vec::new();
    for (index, step) in case["steps"].as_array().unwrap().iter().enumerate() {
        let now = format!("2020-01-01T00:00:{index:02}Z");
        let ignored = ignored(step);
        let manager = Manager {
            name: step["manager"].as_str().unwrap(),
            subresource: step["subresource"].as_str().unwrap_or_default(),
            ignored: &ignored,
        };
        let result = if step["do"] == "apply" {
            apply(live.as_ref(), &step["object"], &manager, step["force"] == true, schema, &now)
        } else {
            let base = live.clone().unwrap_or_else(|| json!({}));
            let new = step.get("set").map_or_else(|| Ok(step["object"].clone()), |set| merge_patch(&base, set));
            Ok(track_update(live.as_ref(), new.unwrap(), &manager, schema, &now))
        };
        if let Ok(object) = &result {
            live = Some(object.clone());
        }
        shown_steps.push(shown(result, true));
    }
    shown_steps
}

fn ignored(step: &Value) -> FieldSet {
    let paths = step["ignored"].as_array().cloned().unwrap_or_default();
    let paths: Vec<Vec<&str>> = paths.iter().map(|path| path.as_str().unwrap().split('.').collect()).collect();
    FieldSet::of_paths(&paths.iter().map(Vec::as_slice).collect::<Vec<_>>())
}

fn shown(result: Result<Value, PatchError>, with_message: bool) -> Value {
    match result {
        Ok(object) => json!({ "object": object }),
        Err(error) => {
            let mut shown = json!({ "code": error.code });
            if with_message {
                shown["message"] = Value::from(error.message);
            }
            // The server gives the causes in no order.
            if let Some(causes) = error.details.get("causes").and_then(Value::as_array) {
                let mut causes = causes.clone();
                causes.sort_by_key(|cause| (cause["field"].to_string(), cause["message"].to_string()));
                shown["causes"] = Value::Array(causes);
            }
            json!({ "error": shown })
        }
    }
}

#[test]
fn strategic_merge_patches_end_as_on_the_server() {
    check("strategic", include_str!("golden/strategic.json"));
}

#[test]
fn json_patches_end_as_on_the_server() {
    check("json", include_str!("golden/json.json"));
}

#[test]
fn applications_and_updates_end_as_on_the_server() {
    check("track", include_str!("golden/track.json"));
}
