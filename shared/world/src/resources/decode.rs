//! Decoding as the server does it: fields nobody knows are dropped and named, nulls vanish, quantities and times are
//! brought to their canonical form, and a value of the wrong type is a 400 with Go's own words.

use crate::resources::go_time;
use crate::resources::kinds::Resource;
use crate::resources::openapi::{SCHEMAS, schema_name};
use crate::resources::quantity::Quantity;
use serde_json::{Map, Value};

const REFERENCE: &str = "#/components/schemas/";
const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/// Decodes in place. Ok holds the unknown fields (for `fieldValidation`), Err the message of a wrongly typed value.
pub fn decode(resource: &Resource, object: &mut Value) -> Result<Vec<String>, String> {
    let mut unknown = Vec::new();
    match &resource.custom {
        Some(custom) => {
            unknown.extend(custom.decode(object));
            if let Some(metadata) = object.get_mut("metadata") {
                let mut inside = Vec::new();
                walk(OBJECT_META, metadata, "", &mut inside)?;
                unknown.extend(inside.into_iter().map(|field| format!("metadata.{field}")));
            }
        }
        None => {
            let name = schema_name(&resource.group, &resource.version, &resource.kind);
            walk(&name, object, "", &mut unknown)?;
        }
    }
    unknown.sort();
    Ok(unknown)
}

/// `fieldValidation=Strict`: the whole message of the 400. The kind is named twice, as the real server does.
pub fn strict_message(resource: &Resource, troubles: &[String]) -> String {
    bad_request(resource, &format!("strict decoding error: {}", troubles.join(", ")))
}

/// What strict decoding says of each field; with `fieldValidation=Warn` each is the text of a `Warning` header.
pub fn strict_troubles(doubled: &[String], unknown: &[String]) -> Vec<String> {
    let doubled = doubled.iter().map(|field| format!("duplicate field \"{field}\""));
    doubled.chain(unknown.iter().map(|field| format!("unknown field \"{field}\""))).collect()
}

/// The 400 message for a body that cannot be decoded into the resource.
pub fn bad_request(resource: &Resource, trouble: &str) -> String {
    let Resource { kind, version, .. } = resource;
    format!("{kind} in version \"{version}\" cannot be handled as a {kind}: {trouble}")
}

fn walk(schema_name: &str, value: &mut Value, path: &str, unknown: &mut Vec<String>) -> Result<(), String> {
    let Some(schema) = SCHEMAS.get(schema_name) else { return Ok(()) };
    let short = schema_name.rsplit('.').next().unwrap_or_default();
    match short {
        // Free JSON, kept as it is.
        "JSON" | "RawExtension" | "FieldsV1" => return Ok(()),
        // A schema, or something simpler in its place.
        "JSONSchemaPropsOrArray" | "JSONSchemaPropsOrBool" | "JSONSchemaPropsOrStringArray" => {
            let inner = schema_name.replace(short, "JSONSchemaProps");
            return if value.is_object() { walk(&inner, value, path, unknown) } else { Ok(()) };
        }
        "Quantity" => return canonical_quantity(value),
        "Time" | "MicroTime" => return canonical_time(value, short == "MicroTime"),
        _ => {}
    }
    let (Value::Object(map), Some(properties)) = (value, schema.get("properties").and_then(Value::as_object)) else {
        return Ok(());
    };
    drop_nulls(map);
    let mut names: Vec<String> = map.keys().cloned().collect();
    names.sort();
    for name in names {
        let below = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        match (properties.get(&name), map.get_mut(&name)) {
            (Some(property), Some(inner)) => walk_property(short, property, inner, &below, unknown)?,
            _ => {
                map.remove(&name);
                unknown.push(below);
            }
        }
    }
    Ok(())
}

fn walk_property(
    owner: &str,
    property: &Value,
    value: &mut Value,
    path: &str,
    unknown: &mut Vec<String>,
) -> Result<(), String> {
    if let Some(name) = reference_of(property) {
        if is_struct(name) && !value.is_object() {
            return Err(mismatch(owner, path, value, &go_type(property)));
        }
        return walk(name, value, path, unknown);
    }
    let fits = match property["type"].as_str() {
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("number") => value.is_number(),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        _ => true,
    };
    if !fits {
        return Err(mismatch(owner, path, value, &go_type(property)));
    }
    if property["format"] == "byte"
        && let Some(place) = value.as_str().and_then(wrong_base64)
    {
        return Err(format!("illegal base64 data at input byte {place}"));
    }
    match value {
        Value::Array(list) => {
            for (index, item) in list.iter_mut().enumerate() {
                walk_property(owner, &property["items"], item, &format!("{path}[{index}]"), unknown)?;
            }
        }
        // A whole number is written as one, however it came.
        Value::Number(number) if property["type"] == "number" => {
            let whole = number.as_f64().filter(|number| number.fract() == 0.0 && number.abs() < 9e15);
            if let Some(whole) = whole.filter(|_| number.is_f64()) {
                *value = Value::from(whole as i64);
            }
        }
        Value::Object(map) if property["additionalProperties"].is_object() => {
            for (key, inner) in map.iter_mut() {
                // A null in a map of strings reads as the empty string in Go.
                if inner.is_null() && property["additionalProperties"]["type"] == "string" {
                    *inner = Value::String(String::new());
                }
                // Go leaves the key out where a value of a map is of the wrong type.
                let inside = if property["additionalProperties"]["type"].is_string() {
                    path.to_owned()
                } else {
                    format!("{path}.{key}")
                };
                walk_property(owner, &property["additionalProperties"], inner, &inside, unknown)?;
            }
        }
        _ => {}
    }
    Ok(())
}

/// Whether a type is a Go struct; free JSON and its like only look so.
fn is_struct(name: &str) -> bool {
    SCHEMAS.get(name).is_some_and(|schema| schema["properties"].is_object())
}

fn reference_of(property: &Value) -> Option<&str> {
    let direct = property["$ref"].as_str();
    let wrapped = property["allOf"].get(0).and_then(|inner| inner["$ref"].as_str());
    direct.or(wrapped).and_then(|reference| reference.strip_prefix(REFERENCE))
}

fn drop_nulls(map: &mut Map<String, Value>) {
    map.retain(|_, value| !value.is_null());
}

fn canonical_quantity(value: &mut Value) -> Result<(), String> {
    let text = match &*value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return Err("json: cannot unmarshal into Go value of type resource.Quantity".to_owned()),
    };
    match Quantity::parse(text.trim()) {
        Some(quantity) => *value = Value::String(quantity.canonical()),
        None => {
            return Err("quantities must match the regular expression \
                 '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
                .to_owned());
        }
    }
    Ok(())
}

/// Times are written in UTC, to the second or, for a MicroTime, to the microsecond.
fn canonical_time(value: &mut Value, micro: bool) -> Result<(), String> {
    let Some(text) = value.as_str() else {
        return Err("json: cannot unmarshal into Go value of type string".to_owned());
    };
    if let Some(trouble) = go_time::trouble(text, micro) {
        return Err(trouble);
    }
    if let Ok(time) = text.parse::<jiff::Timestamp>() {
        *value = Value::String(if micro { format!("{time:.6}") } else { write_seconds(time) });
    }
    Ok(())
}

/// Where Go's decoder stops: at a letter that is none, or at the beginning of a group of four that is cut short.
fn wrong_base64(text: &str) -> Option<usize> {
    let letters: Vec<(usize, u8)> = text.bytes().enumerate().filter(|(_, byte)| !b"\r\n".contains(byte)).collect();
    for group in letters.chunks(4) {
        for (index, (place, byte)) in group.iter().enumerate() {
            let last = group.last().is_some_and(|last| Some(last) == letters.last());
            let padding = *byte == b'=' && last && index >= 2 && group[index..].iter().all(|(_, byte)| *byte == b'=');
            if !(padding || byte.is_ascii_alphanumeric() || b"+/".contains(byte)) {
                return Some(*place);
            }
        }
        if group.len() < 4 {
            return group.first().map(|(place, _)| *place);
        }
    }
    None
}

fn write_seconds(time: jiff::Timestamp) -> String {
    let seconds = jiff::Timestamp::from_second(time.as_second()).unwrap_or(time);
    seconds.to_string()
}

/// Go names the struct that holds the field, then the path without indices.
fn mismatch(owner: &str, path: &str, value: &Value, wanted: &str) -> String {
    let given = match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let mut plain = String::new();
    let mut inside = false;
    for character in path.chars() {
        match character {
            '[' => inside = true,
            ']' => inside = false,
            _ if inside => {}
            other => plain.push(other),
        }
    }
    format!("json: cannot unmarshal {given} into Go struct field {owner}.{plain} of type {wanted}")
}

fn go_type(property: &Value) -> String {
    if let Some(name) = reference_of(property) {
        let mut parts = name.rsplit('.');
        let short = parts.next().unwrap_or_default();
        return format!("{}.{short}", parts.next().unwrap_or_default());
    }
    match (property["type"].as_str(), property["format"].as_str()) {
        (Some("integer"), Some(format)) => format.to_owned(),
        (Some("boolean"), _) => "bool".to_owned(),
        (Some("number"), _) => "float64".to_owned(),
        (Some("array"), _) => format!("[]{}", go_type(&property["items"])),
        (Some("object"), _) => format!("map[string]{}", go_type(&property["additionalProperties"])),
        (kind, _) => kind.unwrap_or("interface {}").to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resources::kinds::Registry;
    use serde_json::json;

    fn decoded(group: &str, plural: &str, mut object: Value) -> (Value, Result<Vec<String>, String>) {
        let Some(resource) = Registry::new().find(group, "v1", plural) else { unreachable!("{plural}") };
        let outcome = decode(&resource, &mut object);
        (object, outcome)
    }

    #[test]
    fn unknown_fields_are_dropped_and_named() {
        let (pod, unknown) = decoded(
            "",
            "pods",
            json!({"apiVersion": "v1", "kind": "Pod", "oops": 1,
            "metadata": {"name": "x", "nope": {}}, "spec": {"foo": 1, "containers": [{"name": "a", "bar": 2}],
            "nodeName": null}}),
        );
        assert_eq!(
            unknown,
            Ok(["metadata.nope", "oops", "spec.containers[0].bar", "spec.foo"].map(str::to_owned).into())
        );
        assert_eq!(pod["spec"], json!({"containers": [{"name": "a"}]}));
    }

    #[test]
    fn quantities_and_times_become_canonical() {
        let (node, _) = decoded(
            "",
            "nodes",
            json!({"metadata": {"creationTimestamp": "2026-01-01T01:00:00.5+01:00"},
            "status": {"capacity": {"cpu": 4, "memory": "2048Mi"}}}),
        );
        assert_eq!(node["status"]["capacity"], json!({"cpu": "4", "memory": "2Gi"}));
        assert_eq!(node["metadata"]["creationTimestamp"], "2026-01-01T00:00:00Z");
        let (lease, _) =
            decoded("coordination.k8s.io", "leases", json!({"spec": {"renewTime": "2026-01-01T00:00:00.000000Z"}}));
        assert_eq!(lease["spec"]["renewTime"], "2026-01-01T00:00:00.000000Z");
    }

    #[test]
    fn a_wrong_type_is_refused_in_the_words_of_go() {
        let cases = [
            (
                json!({"spec": {"terminationGracePeriodSeconds": "x"}}),
                "json: cannot unmarshal string into Go struct field PodSpec.spec.terminationGracePeriodSeconds of type \
                 int64",
            ),
            (
                json!({"spec": {"containers": [{"image": 3}]}}),
                "json: cannot unmarshal number into Go struct field Container.spec.containers.image of type string",
            ),
            (
                json!({"spec": {"containers": {}}}),
                "json: cannot unmarshal object into Go struct field PodSpec.spec.containers of type []v1.Container",
            ),
            (
                json!({"metadata": {"labels": {"a": 1}}}),
                "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string",
            ),
        ];
        for (pod, message) in cases {
            assert_eq!(decoded("", "pods", pod).1, Err(message.to_owned()));
        }
    }

    #[test]
    fn the_strict_message_names_kind_and_fields() {
        let Some(pods) = Registry::new().find("", "v1", "pods") else { unreachable!("pods are built in") };
        assert_eq!(
            strict_message(&pods, &strict_troubles(&[], &["spec.foo".to_owned(), "spec.bar".to_owned()])),
            "Pod in version \"v1\" cannot be handled as a Pod: strict decoding error: unknown field \"spec.foo\", \
             unknown field \"spec.bar\""
        );
    }
}
