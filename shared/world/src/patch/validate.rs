//! Whether an applied configuration fits the schema, in the words of the server.
use serde_json::Value;

use super::fields::PathElement;
use super::schema_of::{Atom, ListShape, ListType, MapShape, Scalar, Schema, ShapeId};
use super::walk::element_of;

/// What is wrong with the object, as one message.
pub fn complaint(schema: &Schema, object: &Value) -> Option<String> {
    let complaints = validate(schema, schema.root(), object);
    let printed = |(path, text): &(String, String)| match path.as_str() {
        "" => text.clone(),
        path => format!("{path}: {text}"),
    };
    match complaints.as_slice() {
        [] => None,
        [only] => Some(printed(only)),
        many => Some(many.iter().fold("errors:".to_owned(), |text, one| format!("{text}\n  {}", printed(one)))),
    }
}

/// Pairs of path and message.
type Complaints = Vec<(String, String)>;

fn validate(schema: &Schema, shape: ShapeId, value: &Value) -> Complaints {
    match (schema.shape(shape).atom_for(Some(value)), value) {
        (_, Value::Null) => Vec::new(),
        (Atom::Scalar(scalar), _) => {
            validate_scalar(scalar, value).into_iter().map(|text| (String::new(), text)).collect()
        }
        (Atom::Map(map), Value::Object(object)) => validate_map(schema, map, object),
        (Atom::Map(_), _) => complain(format!("expected map, got &{{{}}}", go_text(value))),
        (Atom::List(list), Value::Array(items)) => validate_list(schema, list, items),
        (Atom::List(_), _) => complain(format!("expected list, got &{{{}}}", go_text(value))),
        (Atom::Nothing, _) => Vec::new(),
    }
}

fn validate_scalar(scalar: Scalar, value: &Value) -> Option<String> {
    let fits = match scalar {
        Scalar::String => value.is_string(),
        Scalar::Numeric => value.is_number(),
        Scalar::Boolean => value.is_boolean(),
        Scalar::Untyped => !value.is_array() && !value.is_object(),
    };
    let text = match scalar {
        Scalar::String => format!("expected string, got &value.valueUnstructured{{Value:{}}}", go_source(value)),
        Scalar::Numeric => format!("expected numeric (int or float), got {}", go_type(value)),
        Scalar::Boolean => format!("expected boolean, got &{{{}}}", go_text(value)),
        Scalar::Untyped => format!("expected any scalar, got &{{{}}}", go_text(value)),
    };
    (!fits).then_some(text)
}

fn validate_map(schema: &Schema, map: &MapShape, object: &serde_json::Map<String, Value>) -> Complaints {
    let mut complaints = Vec::new();
    for (key, value) in object {
        let element = PathElement::field(key);
        match map.shape_at(key) {
            Some(shape) => complaints.extend(below(&element, validate(schema, shape, value))),
            None => {
                // The server looks no further in this object.
                complaints.push((element.to_string(), "field not declared in schema".to_owned()));
                break;
            }
        }
    }
    complaints
}

fn validate_list(schema: &Schema, list: &ListShape, items: &[Value]) -> Complaints {
    let mut complaints = Vec::new();
    let mut seen = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let element = if list.list_type == ListType::Atomic {
            PathElement::Index(i64::try_from(index).unwrap_or(i64::MAX))
        } else {
            match element_of(schema, list, item) {
                Ok(element) => element,
                Err(text) => return [complaints, complain(format!("element {index}: {text}"))].concat(),
            }
        };
        if seen.contains(&element) {
            complaints.extend(complain(format!("duplicate entries for key {element}")));
        }
        complaints.extend(below(&element, validate(schema, list.element, item)));
        seen.push(element);
    }
    complaints
}

fn complain(text: String) -> Complaints {
    vec![(String::new(), text)]
}

fn below(element: &PathElement, complaints: Complaints) -> Complaints {
    complaints.into_iter().map(|(path, text)| (format!("{element}{path}"), text)).collect()
}

/// A value as Go prints it with `%v`.
pub fn go_text(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) => format!("[{}]", items.iter().map(go_text).collect::<Vec<_>>().join(" ")),
        Value::Object(map) => {
            let mut pairs: Vec<String> = map.iter().map(|(key, value)| format!("{key}:{}", go_text(value))).collect();
            pairs.sort_unstable();
            format!("map[{}]", pairs.join(" "))
        }
        Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

/// A value as Go prints it with `%#v`, for the scalars; lists and maps are written with their types.
fn go_source(value: &Value) -> String {
    let list = |items: &Vec<Value>| items.iter().map(go_source).collect::<Vec<_>>().join(", ");
    match value {
        Value::Array(items) => format!("[]interface {{}}{{{}}}", list(items)),
        Value::Object(map) => {
            let pairs = map.iter().map(|(key, value)| format!("{key:?}:{}", go_source(value)));
            format!("map[string]interface {{}}{{{}}}", pairs.collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

/// The Go type a JSON value is decoded into.
pub fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}
