//! What the API server refuses of a NodePool, for pools that come from files: it has not seen those. The error names the field.

use k8s_openapi::api::core::v1::Taint;

use crate::{
    crd::{Budget, Disruption, NodePool, RequirementWithMinimum},
    error::cut,
};

const LONGEST_NAME: usize = 63;
const LONGEST_DOMAIN: usize = 253;
const POLICIES: [&str; 3] = ["WhenEmpty", "WhenEmptyOrUnderutilized", "Balanced"];
const REASONS: [&str; 4] = ["Underutilized", "Empty", "Drifted", "Unhealthy"];
const FIELDS_OF_SCHEDULES: usize = 5;

/// Only what can be seen without knowing what the words mean: their form.
pub(super) fn check(pool: &NodePool) -> Result<(), String> {
    let template = &pool.spec.template;
    let spec = &template.spec;
    let checked = labels(&template.metadata.labels)
        .and_then(|()| requirements(&spec.requirements))
        .and_then(|()| taints("spec.template.spec.taints", &spec.taints))
        .and_then(|()| taints("spec.template.spec.startupTaints", &spec.startup_taints))
        .and_then(|()| time_or_never("spec.template.spec.expireAfter", spec.expire_after.as_deref()))
        .and_then(|()| {
            time("spec.template.spec.terminationGracePeriod", spec.termination_grace_period.as_deref(), "smh")
        })
        .and_then(|()| disruption(&pool.spec.disruption));
    checked.map_err(|why| cut(&why))
}

fn labels(given: &std::collections::BTreeMap<String, String>) -> Result<(), String> {
    let path = "spec.template.metadata.labels";
    given.iter().try_for_each(|(key, value)| {
        label_key(path, key)?;
        label_value(&format!("{path}.{key}"), value)
    })
}

fn requirements(given: &[RequirementWithMinimum]) -> Result<(), String> {
    given.iter().enumerate().try_for_each(|(index, one)| {
        let path = format!("spec.template.spec.requirements[{index}]");
        label_key(&format!("{path}.key"), &one.key)?;
        one.values.iter().try_for_each(|value| label_value(&format!("{path}.values"), value))
    })
}

fn taints(path: &str, given: &[Taint]) -> Result<(), String> {
    given.iter().enumerate().try_for_each(|(index, taint)| {
        label_key(&format!("{path}[{index}].key"), &taint.key)?;
        label_value(&format!("{path}[{index}].value"), taint.value.as_deref().unwrap_or_default())
    })
}

fn disruption(given: &Disruption) -> Result<(), String> {
    time_or_never("spec.disruption.consolidateAfter", Some(&given.consolidate_after))?;
    if !POLICIES.contains(&given.consolidation_policy.as_str()) {
        let (policy, known) = (&given.consolidation_policy, POLICIES.join(", "));
        return Err(format!("spec.disruption.consolidationPolicy: {policy:?} is not a policy: {known}"));
    }
    let mut budgets = given.budgets.iter().enumerate();
    budgets.try_for_each(|(index, one)| budget(&format!("spec.disruption.budgets[{index}]"), one))
}

fn budget(path: &str, given: &Budget) -> Result<(), String> {
    let nodes = given.nodes.as_str();
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let counts = match nodes.strip_suffix('%') {
        Some(share) => digits(share) && share.parse::<u8>().is_ok_and(|share| share <= 100),
        None => digits(nodes),
    };
    if !counts {
        let why = "is neither a number of nodes nor a share of them, from 0% to 100%";
        return Err(format!("{path}.nodes: {nodes:?} {why}"));
    }
    if let Some(reason) = given.reasons.iter().find(|reason| !REASONS.contains(&reason.as_str())) {
        return Err(format!("{path}.reasons: {reason:?} is not a reason: {}", REASONS.join(", ")));
    }
    if given.schedule.is_some() != given.duration.is_some() {
        return Err(format!("{path}: schedule and duration go together"));
    }
    let fields = given.schedule.as_deref().map(|schedule| schedule.split_whitespace().count());
    if let Some(schedule) = given.schedule.as_deref().filter(|text| !text.starts_with('@'))
        && fields != Some(FIELDS_OF_SCHEDULES)
    {
        return Err(format!("{path}.schedule: {schedule:?} is not a schedule: five fields, or a word such as @daily"));
    }
    // Go writes a time of minutes with a `0s` at the end.
    let minutes = |text: &'_ str| text.strip_suffix("0s").filter(|rest| rest.ends_with(['h', 'm'])).map(str::len);
    let duration = given.duration.as_deref().map(|text| minutes(text).and_then(|end| text.get(..end)).unwrap_or(text));
    time(&format!("{path}.duration"), duration, "mh")
}

fn time_or_never(path: &str, given: Option<&str>) -> Result<(), String> {
    time(path, given.filter(|text| *text != "Never"), "smh")
}

/// Whole numbers, each with one of the units.
fn time(path: &str, given: Option<&str>, units: &str) -> Result<(), String> {
    let Some(text) = given else { return Ok(()) };
    let parts =
        |text: &str| text.split_inclusive(|letter: char| !letter.is_ascii_digit()).all(|part| is_part(part, units));
    if !text.is_empty() && parts(text) && model::duration::parse(text).is_some() {
        return Ok(());
    }
    let known: Vec<String> = units.chars().rev().map(String::from).collect();
    Err(format!("{path}: {text:?} is not a time: whole numbers with {}, as in 1h30m", known.join(", ")))
}

fn is_part(part: &str, units: &str) -> bool {
    let mut letters = part.chars();
    letters.next_back().is_some_and(|unit| units.contains(unit)) && !letters.as_str().is_empty()
}

fn label_key(path: &str, key: &str) -> Result<(), String> {
    let (domain, name) = match key.split_once('/') {
        Some((domain, name)) => (Some(domain), name),
        None => (None, key),
    };
    if !name.is_empty() && is_name(name) && domain.is_none_or(is_domain) {
        return Ok(());
    }
    Err(format!(
        "{path}: {key:?} is not the key of a label: a name as in team, or with a domain as in example.com/team"
    ))
}

fn label_value(path: &str, value: &str) -> Result<(), String> {
    if value.is_empty() || is_name(value) {
        return Ok(());
    }
    let why = "at most 63 letters, digits, dashes, dots and underscores, the first and the last a letter or digit";
    Err(format!("{path}: {value:?} is not the value of a label: {why}"))
}

fn is_name(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    text.len() <= LONGEST_NAME && text.bytes().all(plain) && has_plain_ends(text)
}

fn is_domain(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    text.len() <= LONGEST_DOMAIN && text.split('.').all(|part| part.bytes().all(plain) && has_plain_ends(part))
}

/// A letter or digit at both ends, so not empty.
fn has_plain_ends(text: &str) -> bool {
    let ends = [text.bytes().next(), text.bytes().next_back()];
    ends.iter().all(|end| end.is_some_and(|byte| byte.is_ascii_alphanumeric()))
}
