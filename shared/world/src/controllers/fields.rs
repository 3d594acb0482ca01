//! Reading and writing the parts of objects that many controllers share.

use serde_json::{Value, json};

use super::kinds::Kind;

pub(super) fn name(value: &Value) -> &str {
    value["metadata"]["name"].as_str().unwrap_or_default()
}

pub(super) fn namespace(value: &Value) -> &str {
    value["metadata"]["namespace"].as_str().unwrap_or_default()
}

pub(super) fn uid(value: &Value) -> &str {
    value["metadata"]["uid"].as_str().unwrap_or_default()
}

/// Somebody asked for its deletion.
pub(super) fn is_going(value: &Value) -> bool {
    value["metadata"]["deletionTimestamp"].is_string()
}

pub(super) fn generation(value: &Value) -> i64 {
    value["metadata"]["generation"].as_i64().unwrap_or(0)
}

pub(super) fn annotation<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value["metadata"]["annotations"].get(key).and_then(Value::as_str)
}

pub(super) fn label<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value["metadata"]["labels"].get(key).and_then(Value::as_str)
}

pub(super) fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The owner reference that is marked as the controller.
pub(super) fn controller(value: &Value) -> Option<&Value> {
    list(&value["metadata"]["ownerReferences"]).iter().find(|owner| owner["controller"] == true)
}

pub(super) fn controller_uid(value: &Value) -> Option<&str> {
    controller(value)?["uid"].as_str()
}

pub(super) fn controller_reference(kind: Kind, owner: &Value) -> Value {
    json!({
        "apiVersion": kind.api_version(),
        "kind": kind.name(),
        "name": name(owner),
        "uid": uid(owner),
        "controller": true,
        "blockOwnerDeletion": true,
    })
}

pub(super) fn condition<'a>(value: &'a Value, kind: &str) -> Option<&'a Value> {
    list(&value["status"]["conditions"]).iter().find(|condition| condition["type"] == kind)
}

pub(super) fn condition_is(value: &Value, kind: &str, status: &str) -> bool {
    condition(value, kind).is_some_and(|condition| condition["status"] == status)
}

/// A condition to be set; its time of transition moves only when the status does.
pub(super) struct Condition<'a> {
    pub(super) kind: &'a str,
    pub(super) status: &'a str,
    pub(super) reason: &'a str,
    pub(super) message: &'a str,
}

/// Sets a condition. `beats` are further time fields that are always set to now (heartbeats, update times).
pub(super) fn set_condition(value: &mut Value, wanted: &Condition<'_>, now: &str, beats: &[&str]) {
    let conditions = &mut value["status"]["conditions"];
    if !conditions.is_array() {
        *conditions = json!([]);
    }
    let Some(conditions) = conditions.as_array_mut() else { return };
    let place = conditions.iter().position(|condition| condition["type"] == wanted.kind);
    let before = place.map_or(Value::Null, |place| conditions[place].clone());
    let moved = before["status"] != wanted.status;
    let since = before["lastTransitionTime"].as_str().filter(|_| !moved).unwrap_or(now);
    let mut after = before.clone();
    after["type"] = wanted.kind.into();
    after["status"] = wanted.status.into();
    after["lastTransitionTime"] = since.into();
    for (field, text) in [("reason", wanted.reason), ("message", wanted.message)] {
        if !text.is_empty() {
            after[field] = text.into();
        } else if let Some(after) = after.as_object_mut() {
            after.remove(field);
        }
    }
    for beat in beats {
        after[*beat] = now.into();
    }
    match place {
        Some(place) => conditions[place] = after,
        None => conditions.push(after),
    }
}

pub(super) fn phase(pod: &Value) -> &str {
    pod["status"]["phase"].as_str().unwrap_or("Pending")
}

pub(super) fn is_over(pod: &Value) -> bool {
    matches!(phase(pod), "Succeeded" | "Failed")
}

pub(super) fn is_ready(pod: &Value) -> bool {
    condition_is(pod, "Ready", "True")
}

/// Counts as one of its controller's pods: neither finished nor on its way out.
pub(super) fn is_active(pod: &Value) -> bool {
    !is_over(pod) && !is_going(pod)
}

pub(super) fn node_of(pod: &Value) -> Option<&str> {
    pod["spec"]["nodeName"].as_str().filter(|node| !node.is_empty())
}

/// The containers of a pod's specification, in one of its lists.
pub(super) fn containers<'a>(pod: &'a Value, field: &str) -> &'a [Value] {
    list(&pod["spec"][field])
}

/// The claims a pod uses, its own ones included.
pub(super) fn claims(pod: &Value) -> Vec<String> {
    let volumes = list(&pod["spec"]["volumes"]).iter();
    let claim = |volume: &Value| match volume["persistentVolumeClaim"]["claimName"].as_str() {
        Some(claim) => Some(claim.to_owned()),
        None if volume["ephemeral"].is_object() => Some(format!("{}-{}", name(pod), volume["name"].as_str()?)),
        None => None,
    };
    volumes.filter_map(claim).collect()
}

pub(super) fn remove_finalizer(value: &mut Value, finalizer: &str) {
    let kept: Vec<Value> =
        list(&value["metadata"]["finalizers"]).iter().filter(|one| *one != finalizer).cloned().collect();
    match value["metadata"].as_object_mut() {
        Some(metadata) if kept.is_empty() => _ = metadata.remove("finalizers"),
        _ => value["metadata"]["finalizers"] = kept.into(),
    }
}

/// A pod that was ready for at least so many seconds.
pub(super) fn is_available(pod: &Value, least_seconds: i64, now: jiff::Timestamp) -> bool {
    is_ready(pod) && available_at(pod, least_seconds).is_some_and(|at| at <= now)
}

/// When a ready pod counts as available.
pub(super) fn available_at(pod: &Value, least_seconds: i64) -> Option<jiff::Timestamp> {
    let since = time(&condition(pod, "Ready")?["lastTransitionTime"])?;
    since.checked_add(jiff::SignedDuration::from_secs(least_seconds)).ok()
}

pub(super) fn time(value: &Value) -> Option<jiff::Timestamp> {
    value.as_str()?.parse().ok()
}

/// `intstr`: a number, or a share of `total` in percent.
pub(super) fn number_or_share(value: &Value, total: i64, round_up: bool) -> Option<i64> {
    if let Some(number) = value.as_i64() {
        return Some(number);
    }
    let percent: i64 = value.as_str()?.strip_suffix('%')?.parse().ok()?;
    let hundredths = percent.saturating_mul(total);
    Some(if round_up { (hundredths + 99).div_euclid(100) } else { hundredths.div_euclid(100) })
}

/// A short text that changes when the value does, with letters that are safe in names.
pub(super) fn hash(value: &Value) -> String {
    const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let text = value.to_string();
    let mut number =
        text.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    let mut letters = String::new();
    for _ in 0..9 {
        letters.push(char::from(LETTERS[number as usize % LETTERS.len()]));
        number = number.rotate_left(5).wrapping_mul(0x9e37_79b1) ^ number;
    }
    letters
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_keeps_its_time_until_its_status_moves() {
        let mut object = json!({});
        let set = |object: &mut Value, status, now| {
            set_condition(object, &Condition { kind: "Ready", status, reason: "", message: "" }, now, &[]);
            object["status"]["conditions"][0]["lastTransitionTime"].clone()
        };
        assert_eq!(set(&mut object, "True", "1"), "1");
        assert_eq!(set(&mut object, "True", "2"), "1");
        assert_eq!(set(&mut object, "False", "3"), "3");
    }

    #[test]
    fn shares_round_as_they_are_told_to() {
        assert_eq!(number_or_share(&json!("25%"), 10, true), Some(3));
        assert_eq!(number_or_share(&json!("25%"), 10, false), Some(2));
        assert_eq!(number_or_share(&json!(4), 10, false), Some(4));
        assert_eq!(number_or_share(&json!("four"), 10, false), None);
    }
}
