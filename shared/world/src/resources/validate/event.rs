//! Rules for Events, whose two groups ask for different things.

use super::fixed;
use crate::resources::errors::FieldError;
use crate::resources::look::{at, has, number, text};
use crate::resources::names::check_qualified_name;
use serde_json::Value;

/// Field names as the events group and the core group have them; refusals use the core group's, but for one.
struct Names {
    about: &'static str,
    controller: &'static str,
    message: &'static str,
    first: &'static str,
    last: &'static str,
    count: &'static str,
    source: &'static str,
}

fn names(group: &str) -> Names {
    if group == "events.k8s.io" {
        return Names {
            about: "regarding",
            controller: "reportingController",
            message: "note",
            first: "deprecatedFirstTimestamp",
            last: "deprecatedLastTimestamp",
            count: "deprecatedCount",
            source: "deprecatedSource",
        };
    }
    Names {
        about: "involvedObject",
        controller: "reportingComponent",
        message: "message",
        first: "firstTimestamp",
        last: "lastTimestamp",
        count: "count",
        source: "source",
    }
}

pub fn validate_event(group: &str, event: &Value, created: bool) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let names = names(group);
    let (theirs, own) = (text(event, &[names.about, "namespace"]), text(event, &["metadata", "namespace"]));
    let mut foreign = || {
        let detail = "does not match event.namespace";
        errors.push(FieldError::invalid("involvedObject.namespace", theirs, detail));
    };
    let timed = at(event, &["eventTime"]).is_string();
    // An event about a thing without a namespace stands in `default`.
    match timed {
        false if theirs != own && !(theirs.is_empty() && own == "default") => foreign(),
        true if theirs.is_empty() && !["default", "kube-system"].contains(&own) => foreign(),
        _ => {}
    }
    if timed {
        let controller = text(event, &[names.controller]);
        if controller.is_empty() {
            errors.push(FieldError::required(names.controller, ""));
        }
        let wrong = check_qualified_name(controller);
        errors.extend(wrong.iter().map(|wrong| FieldError::invalid(names.controller, controller, wrong)));
        for (field, longest) in [("reportingInstance", 128), ("action", 128), ("reason", 128)] {
            let given = text(event, &[field]);
            if given.is_empty() {
                errors.push(FieldError::required(field, ""));
            } else if given.len() > longest {
                errors.push(FieldError::invalid(field, "", &format!("can have at most {longest} characters")));
            }
        }
        if text(event, &[names.message]).len() > 1024 {
            errors.push(FieldError::invalid("message", "", "can have at most 1024 characters"));
        }
    }
    if group == "events.k8s.io" && created {
        strict(event, &names, timed, &mut errors);
    }
    errors
}

fn strict(event: &Value, names: &Names, timed: bool, errors: &mut Vec<FieldError>) {
    series(event, errors);
    if !timed {
        errors.push(FieldError::required("eventTime", ""));
    }
    let kind = text(event, &["type"]);
    if !["Normal", "Warning"].contains(&kind) {
        errors.push(FieldError::invalid("type", "", &format!("has invalid value: {kind}")));
    }
    let mut unset = |field: &str| errors.push(FieldError::invalid(field, "", "needs to be unset"));
    if at(event, &[names.first]).is_string() {
        unset("firstTimestamp");
    }
    if at(event, &[names.last]).is_string() {
        unset("lastTimestamp");
    }
    if number(event, &[names.count]).is_some_and(|count| count != 0) {
        unset("count");
    }
    let source = at(event, &[names.source]);
    if !text(source, &["component"]).is_empty() || !text(source, &["host"]).is_empty() {
        unset("source");
    }
}

fn series(event: &Value, errors: &mut Vec<FieldError>) {
    if !has(event, &["series"]) {
        return;
    }
    if number(event, &["series", "count"]).unwrap_or_default() < 2 {
        errors.push(FieldError::invalid("series.count", "", "should be at least 2"));
    }
    if !at(event, &["series", "lastObservedTime"]).is_string() {
        errors.push(FieldError::required("series.lastObservedTime", ""));
    }
}

/// Through its own group, an Event that is written stays as it is, but for its series.
pub fn validate_event_change(group: &str, event: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if group != "events.k8s.io" {
        return errors;
    }
    if at(event, &["series"]) != at(old, &["series"]) {
        series(event, &mut errors);
    }
    let names = names(group);
    let fields = [
        (names.about, "involvedObject"),
        ("reason", "reason"),
        (names.message, "message"),
        (names.source, "source"),
        (names.first, "firstTimestamp"),
        (names.last, "lastTimestamp"),
        (names.count, "count"),
        ("reason", "reason"),
        ("type", "type"),
        ("eventTime", "eventTime"),
        ("action", "action"),
        ("related", "related"),
        (names.controller, "reportingController"),
        ("reportingInstance", "reportingInstance"),
    ];
    for (field, shown) in fields {
        errors.extend(fixed(shown, at(event, &[field]), at(old, &[field])));
    }
    errors
}
