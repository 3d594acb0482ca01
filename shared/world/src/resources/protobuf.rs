//! Kubernetes' protobuf bodies, read into JSON. Typed Go clients of 1.32 and later send nothing else, kubectl's own
//! `create deployment` and `drain` among them; they all take JSON for an answer.
//!
//! The field numbers stand in `protobuf/fields.txt` (one message a line, `number=name`, all in plain lower
//! case); the types of the fields are those of the OpenAPI schemas.

use crate::resources::openapi::{SCHEMAS, schema_name};
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::sync::LazyLock;

/// What a protobuf body starts with.
const MAGIC: &[u8] = b"k8s\0";
const REFERENCE: &str = "#/components/schemas/";
/// Fields whose zero says something: Go holds them as pointers, and sends them only when they are set.
const ZERO_COUNTS: &str = " replicas revisionHistoryLimit progressDeadlineSeconds terminationGracePeriodSeconds \
    completions parallelism backoffLimit backoffLimitPerIndex suspend ttlSecondsAfterFinished gracePeriodSeconds \
    controller blockOwnerDeletion enableServiceLinks automountServiceAccountToken optional privileged priority \
    allowPrivilegeEscalation readOnlyRootFilesystem runAsNonRoot runAsUser runAsGroup fsGroup defaultMode mode \
    tolerationSeconds immutable allowVolumeExpansion leaseTransitions partition deletionGracePeriodSeconds \
    orphanDependents shareProcessNamespace hostUsers setHostnameAsFQDN manualSelector storageClassName started \
    holderIdentity allocateLoadBalancerNodePorts publishNotReadyAddresses attachRequired podInfoOnMount ";

/// The messages' fields by number.
static FIELDS: LazyLock<HashMap<&'static str, HashMap<u64, &'static str>>> = LazyLock::new(|| {
    include_str!("protobuf/fields.txt")
        .lines()
        .filter_map(|line| {
            let (message, fields) = line.split_once(' ')?;
            let fields = fields.split(' ').filter_map(|field| {
                let (number, name) = field.split_once('=')?;
                Some((number.parse().ok()?, name))
            });
            Some((message, fields.collect()))
        })
        .collect()
});

/// The JSON of a body of `application/vnd.kubernetes.protobuf`; none when it is not one, or of a type not known here.
pub fn to_json(body: &[u8]) -> Option<Value> {
    let mut envelope = Wire(body.strip_prefix(MAGIC)?);
    let (mut api_version, mut kind, mut raw) = (String::new(), String::new(), &[][..]);
    while let Some((number, value)) = envelope.next_field()? {
        match (number, value) {
            (1, Field::Bytes(type_meta)) => {
                let mut type_meta = Wire(type_meta);
                while let Some((number, value)) = type_meta.next_field()? {
                    match (number, value) {
                        (1, Field::Bytes(text)) => api_version = String::from_utf8(text.to_vec()).ok()?,
                        (2, Field::Bytes(text)) => kind = String::from_utf8(text.to_vec()).ok()?,
                        _ => {}
                    }
                }
            }
            (2, Field::Bytes(bytes)) => raw = bytes,
            _ => {}
        }
    }
    let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
    let own = schema_name(group, version, &kind);
    let shared = format!("io.k8s.apimachinery.pkg.apis.meta.v1.{kind}");
    let name = if fields_of(&own).is_some() { own } else { shared };
    let mut object = message(&name, raw)?;
    object["apiVersion"] = json!(api_version);
    object["kind"] = json!(kind);
    Some(object)
}

fn message(name: &str, bytes: &[u8]) -> Option<Value> {
    let text_of = |number: u64| {
        let mut wire = Wire(bytes);
        while let Some((found, value)) = wire.next_field()? {
            if let (true, Field::Bytes(text)) = (found == number, value) {
                return std::str::from_utf8(text).ok();
            }
        }
        Some("")
    };
    match name.rsplit('.').next()? {
        "Quantity" => Some(json!(text_of(1)?)),
        "Time" | "MicroTime" => time(bytes),
        "IntOrString" => {
            let (kind, number) = (number_of(bytes, 1)?, number_of(bytes, 2)?);
            Some(if kind == 0 { json!(number) } else { json!(text_of(3)?) })
        }
        "JSON" | "RawExtension" | "FieldsV1" => serde_json::from_str(text_of(1)?).ok(),
        "JSONSchemaPropsOrBool" | "JSONSchemaPropsOrArray" | "JSONSchemaPropsOrStringArray" => {
            schema_or_else(name, bytes)
        }
        _ => {
            let mut object = Map::new();
            fill(name, name, bytes, &mut object)?;
            Some(Value::Object(object))
        }
    }
}

/// The schema if there is one, else the plain value that stands in its place.
fn schema_or_else(name: &str, bytes: &[u8]) -> Option<Value> {
    let package = name.rsplit_once('.')?.0;
    let (mut schema, mut list, mut flag) = (None, Vec::new(), false);
    let schema_number = if name.ends_with("OrBool") { 2 } else { 1 };
    let mut wire = Wire(bytes);
    while let Some((number, value)) = wire.next_field()? {
        match value {
            Field::Bytes(inner) if number == schema_number => {
                schema = message(&format!("{package}.JSONSchemaProps"), inner);
            }
            Field::Bytes(text) if name.ends_with("OrStringArray") => list.push(json!(std::str::from_utf8(text).ok()?)),
            Field::Bytes(inner) => list.push(message(&format!("{package}.JSONSchemaProps"), inner)?),
            Field::Number(number) => flag = number != 0,
            Field::Double(_) => {}
        }
    }
    Some(schema.unwrap_or(if name.ends_with("OrBool") { json!(flag) } else { Value::Array(list) }))
}

/// Reads the fields of `numbered` into an object of type `typed`: two names, as Go embeds messages in one another
/// where JSON has them flat (a volume's source, a probe's handler).
fn fill(numbered: &str, typed: &str, bytes: &[u8], object: &mut Map<String, Value>) -> Option<()> {
    let schema = SCHEMAS.get(typed)?;
    // A message without fields stands for its mere presence, as a CRD's `subresources.status` does.
    let (Some(fields), Some(properties)) = (fields_of(numbered), schema["properties"].as_object()) else {
        return Some(());
    };
    let required = &schema["required"];
    let mut wire = Wire(bytes);
    while let Some((number, value)) = wire.next_field()? {
        let Some(plain) = fields.get(&number) else { continue };
        let Some((name, property)) = properties.iter().find(|(name, _)| plain_name(name) == *plain) else {
            if let Field::Bytes(inner) = value {
                fill(&embedded(numbered, plain), typed, inner, object)?;
            }
            continue;
        };
        let is_required = required.as_array().is_some_and(|list| list.iter().any(|one| one == name));
        add(name, property, value, is_required, object)?;
    }
    Some(())
}

/// `x-kubernetes-list-type` and `$ref` as the table writes them.
fn plain_name(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|one| one.to_ascii_lowercase()).collect()
}

/// The message a field embeds is called as the field is.
fn embedded(parent: &str, field: &str) -> String {
    let package = parent.rsplit_once('.').map(|(package, _)| package).unwrap_or_default();
    format!("{package}.{}", if field == "handler" { "probehandler" } else { field })
}

fn fields_of(message: &str) -> Option<&'static HashMap<u64, &'static str>> {
    FIELDS.get(message.to_lowercase().as_str())
}

fn add(name: &str, property: &Value, value: Field, required: bool, object: &mut Map<String, Value>) -> Option<()> {
    if property["type"] == "array" {
        let item = single(&property["items"], value)?;
        let list = object.entry(name.to_owned()).or_insert_with(|| json!([]));
        list.as_array_mut()?.push(item);
        return Some(());
    }
    if let (true, Field::Bytes(entry)) = (property["additionalProperties"].is_object(), &value) {
        let (mut key, mut inner) = (Value::Null, Value::Null);
        let mut entry = Wire(entry);
        while let Some((number, value)) = entry.next_field()? {
            match number {
                1 => key = single(&json!({"type": "string"}), value)?,
                _ => inner = single(&property["additionalProperties"], value)?,
            }
        }
        let inner = if inner.is_null() { json!("") } else { inner };
        let map = object.entry(name.to_owned()).or_insert_with(|| json!({}));
        map.as_object_mut()?.insert(key.as_str().unwrap_or_default().to_owned(), inner);
        return Some(());
    }
    let single = single(property, value)?;
    let empty = single.is_null() || single == "" || single == 0 || single == false;
    if !empty || ((required || ZERO_COUNTS.contains(&format!(" {name} "))) && !single.is_null()) {
        object.insert(name.to_owned(), single);
    }
    Some(())
}

fn single(property: &Value, value: Field) -> Option<Value> {
    let direct = property["$ref"].as_str().or_else(|| property["allOf"].get(0)?["$ref"].as_str());
    match (value, property["type"].as_str()) {
        (Field::Bytes(bytes), None) => message(direct?.strip_prefix(REFERENCE)?, bytes),
        (Field::Bytes(bytes), _) if property["format"] == "byte" => {
            Some(json!(crate::resources::discovery::base64(bytes)))
        }
        (Field::Bytes(bytes), _) => Some(json!(std::str::from_utf8(bytes).ok()?)),
        (Field::Number(number), Some("boolean")) => Some(json!(number != 0)),
        (Field::Number(number), _) => Some(json!(number as i64)),
        (Field::Double(number), _) => Some(json!(number)),
    }
}

/// Null for the zero time, which Go writes as an empty message.
fn time(bytes: &[u8]) -> Option<Value> {
    let (seconds, nanoseconds) = (number_of(bytes, 1)?, number_of(bytes, 2)?);
    if bytes.is_empty() {
        return Some(Value::Null);
    }
    let time = jiff::Timestamp::new(seconds, i32::try_from(nanoseconds).ok()?).ok()?;
    Some(json!(time.to_string()))
}

fn number_of(bytes: &[u8], wanted: u64) -> Option<i64> {
    let mut wire = Wire(bytes);
    while let Some((number, value)) = wire.next_field()? {
        if let (true, Field::Number(found)) = (number == wanted, value) {
            return Some(found as i64);
        }
    }
    Some(0)
}

enum Field<'a> {
    Number(u64),
    Double(f64),
    Bytes(&'a [u8]),
}

/// What is left to read of a message.
struct Wire<'a>(&'a [u8]);

impl<'a> Wire<'a> {
    /// The next field; `Some(None)` at the end, none when the bytes are not protobuf.
    fn next_field(&mut self) -> Option<Option<(u64, Field<'a>)>> {
        if self.0.is_empty() {
            return Some(None);
        }
        let tag = self.varint()?;
        let field = match tag & 7 {
            0 => Field::Number(self.varint()?),
            1 => Field::Double(f64::from_le_bytes(self.take(8)?.try_into().ok()?)),
            2 => {
                let length = usize::try_from(self.varint()?).ok()?;
                Field::Bytes(self.take(length)?)
            }
            5 => Field::Number(u64::from(u32::from_le_bytes(self.take(4)?.try_into().ok()?))),
            _ => return None,
        };
        Some(Some((tag >> 3, field)))
    }

    fn varint(&mut self) -> Option<u64> {
        let mut number = 0_u64;
        for place in 0..10 {
            let byte = self.take(1)?[0];
            number |= u64::from(byte & 127) << (7 * place);
            if byte < 128 {
                return Some(number);
            }
        }
        None
    }

    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deployment_from_kubectl_is_read() {
        // What `kubectl create deployment d --image=nginx` of version 1.32.4 sends, byte for byte.
        let body = [
            &b"k8s\x00\n\x15\n\x07apps/v1\x12\nDeployment\x12\xa3\x01\n\x1b\n\x01d\x12\x00\x1a\x00\"\x00*\x00"[..],
            b"2\x008\x00B\x00Z\x08\n\x03app\x12\x01d\x12v\x08\x01\x12\n\n\x08\n\x03app\x12\x01d\x1a^\n\x1a\n\x00",
            b"\x12\x00\x1a\x00\"\x00*\x002\x008\x00B\x00Z\x08\n\x03app\x12\x01d\x12@\x12\"\n\x05nginx\x12\x05nginx",
            b"*\x00B\x00j\x00r\x00\x80\x01\x00\x88\x01\x00\x90\x01\x00\xa2\x01\x00\x1a\x002\x00B\x00J\x00R\x00X\x00",
            b"`\x00h\x00\x82\x01\x00\x8a\x01\x00\x9a\x01\x00\xc2\x01\x00\"\x02\n\x00(\x008\x00\x1a\x0c\x08\x00",
            b"\x10\x00\x18\x00 \x00(\x008\x00\x1a\x00\"\x00",
        ]
        .concat();
        let labels = json!({"app": "d"});
        assert_eq!(
            to_json(&body),
            Some(json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "labels": labels},
                "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "strategy": {},
                    "template": {"metadata": {"labels": labels},
                        "spec": {"containers": [{"name": "nginx", "image": "nginx", "resources": {}}]}}},
                "status": {"replicas": 0}}))
        );
    }

    #[test]
    fn an_eviction_keeps_a_grace_period_of_nothing() {
        let body = b"k8s\0\n\x15\n\x09policy/v1\x12\x08Eviction\x12\x0c\n\x06\n\x01p\x1a\x01d\x12\x02\x08\x00";
        assert_eq!(
            to_json(body),
            Some(json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p", "namespace": "d"},
                "deleteOptions": {"gracePeriodSeconds": 0}}))
        );
    }

    #[test]
    fn every_field_of_every_type_has_its_number() {
        // Fields that came with 1.36, after the table was made; all are of alpha features.
        let newer = [
            "ImageVolumeStatus",
            "NodeAllocatableResourceClaimStatus",
            "PodSchedulingGroup",
            "PodSpec.schedulingGroup",
            "nodeAllocatableResourceClaimStatuses",
            "ResourceHealth.message",
            "VolumeMountStatus.volumeStatus",
            "VolumeStatus.image",
            "ListMeta.shardInfo",
            "ShardInfo.selector",
        ];
        let special = ["Quantity", "Time", "MicroTime", "IntOrString", "JSON", "RawExtension", "FieldsV1"];
        let mut lost = Vec::new();
        for (name, schema) in SCHEMAS.iter() {
            let short = name.rsplit('.').next().unwrap_or_default();
            let Some(properties) = schema["properties"].as_object().filter(|_| !special.contains(&short)) else {
                continue;
            };
            let mut known = String::new();
            let mut collect = |message: &str| {
                for field in fields_of(message).into_iter().flat_map(HashMap::values) {
                    known.push_str(&format!(" {field} "));
                }
            };
            collect(name);
            for inner in fields_of(name).into_iter().flat_map(HashMap::values) {
                collect(&embedded(name, inner));
            }
            for field in properties.keys().filter(|field| !matches!(field.as_str(), "apiVersion" | "kind")) {
                if !known.contains(&format!(" {} ", plain_name(field))) {
                    lost.push(format!("{name}.{field}"));
                }
            }
        }
        lost.retain(|field| !newer.iter().any(|known| field.contains(known)));
        assert!(lost.is_empty(), "{lost:#?}");
    }

    #[test]
    fn what_is_not_protobuf_is_refused() {
        for body in [&b"{}"[..], b"k8s", b"k8s\0\xff", b""] {
            assert_eq!(to_json(body), None);
        }
    }
}
