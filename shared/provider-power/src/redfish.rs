//! Redfish: the system says its power, where its reset action is, and which values that takes. Nothing is guessed.

use crate::{
    back_end::Reading,
    call::{Caller, doing, same_origin},
    machine::Template,
    request::Occasion,
    step::{Command, PowerState},
};
use http::Method;
use provider::ProviderError;
use serde_json::{Value, json};
use url::Url;

/// The reset action of a system.
pub(crate) struct Actions {
    target: Url,
    /// Empty where the system does not say.
    allowable: Vec<String>,
}

pub(crate) async fn read(
    caller: &Caller<'_>,
    system: &Template,
    occasion: &Occasion<'_>,
) -> Result<Reading, ProviderError> {
    let body = get(caller, system, occasion).await?;
    let power = match body.get("PowerState").and_then(Value::as_str) {
        Some("On") => PowerState::On,
        Some("Off") => PowerState::Off,
        Some("PoweringOn") => PowerState::TurningOn,
        Some("PoweringOff") => PowerState::TurningOff,
        // Paused, or a word of a later version: not ours to interpret.
        _ => PowerState::Unknown,
    };
    let actions = actions(caller, system, occasion, &body).await?;
    let has_soft_off = actions.as_ref().is_some_and(|actions| actions.takes("GracefulShutdown"));
    Ok(Reading { power, has_soft_off, actions })
}

pub(crate) async fn order(
    caller: &Caller<'_>,
    system: &Template,
    actions: &Actions,
    command: Command,
    occasion: &Occasion<'_>,
) -> Result<(), ProviderError> {
    let wanted: &[&str] = match command {
        Command::On => &["On", "ForceOn"],
        Command::SoftOff => &["GracefulShutdown"],
        Command::Off => &["ForceOff"],
    };
    reset_by(caller, system, actions, wanted, occasion).await
}

/// By force: the node is drained, and what has to be started anew may not listen any more.
const RESTARTS: [&str; 2] = ["ForceRestart", "GracefulRestart"];

pub(crate) async fn restart(
    caller: &Caller<'_>,
    system: &Template,
    actions: &Actions,
    occasion: &Occasion<'_>,
) -> Result<(), ProviderError> {
    reset_by(caller, system, actions, &RESTARTS, occasion).await
}

/// By the first of these that the system takes.
async fn reset_by(
    caller: &Caller<'_>,
    system: &Template,
    actions: &Actions,
    wanted: &[&str],
    occasion: &Occasion<'_>,
) -> Result<(), ProviderError> {
    let Some(kind) = wanted.iter().find(|kind| actions.takes(kind)) else {
        let why = format!("the system does not allow the reset type {}", wanted.join(" or "));
        return Err(doing(system, occasion).invalid(why));
    };
    let template = reset(system, actions, kind);
    caller.call(&template, occasion).await.map(drop)
}

fn reset(system: &Template, actions: &Actions, kind: &str) -> Template {
    let mut template = system.clone();
    template.method = Method::POST;
    template.url = actions.target.clone();
    template.headers.push((http::header::CONTENT_TYPE, "application/json".to_owned()));
    template.body = json!({ "ResetType": kind }).to_string();
    template
}

impl Actions {
    pub(crate) fn has_restart(&self) -> bool {
        RESTARTS.iter().any(|kind| self.takes(kind))
    }

    fn takes(&self, kind: &str) -> bool {
        self.allowable.is_empty() || self.allowable.iter().any(|allowed| allowed == kind)
    }
}

async fn get(caller: &Caller<'_>, template: &Template, occasion: &Occasion<'_>) -> Result<Value, ProviderError> {
    let answer = caller.call(template, occasion).await?;
    serde_json::from_slice(answer.body())
        .map_err(|_| doing(template, occasion).unavailable("it answered what is not JSON"))
}

async fn actions(
    caller: &Caller<'_>,
    system: &Template,
    occasion: &Occasion<'_>,
    body: &Value,
) -> Result<Option<Actions>, ProviderError> {
    let Some(action) = body.pointer("/Actions/#ComputerSystem.Reset") else { return Ok(None) };
    let Some(target) = action.get("target").and_then(Value::as_str) else { return Ok(None) };
    let target = linked(system, occasion, target)?;
    let mut allowable = texts(action.get("ResetType@Redfish.AllowableValues"));
    let info = action.get("@Redfish.ActionInfo").and_then(Value::as_str);
    if let (true, Some(info)) = (allowable.is_empty(), info) {
        let mut template = system.clone();
        template.url = linked(system, occasion, info)?;
        allowable = allowable_of(&get(caller, &template, occasion).await?);
    }
    Ok(Some(Actions { target, allowable }))
}

/// A link of an answer is input: it may not lead our credentials elsewhere.
fn linked(system: &Template, occasion: &Occasion<'_>, link: &str) -> Result<Url, ProviderError> {
    let target = system.url.join(link).ok().filter(|target| same_origin(&system.url, target));
    target.ok_or_else(|| doing(system, occasion).invalid("the system links its reset action to another host"))
}

fn allowable_of(info: &Value) -> Vec<String> {
    let parameters = info.get("Parameters").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let is_reset_type = |parameter: &&Value| parameter.get("Name").and_then(Value::as_str) == Some("ResetType");
    texts(parameters.iter().find(is_reset_type).and_then(|parameter| parameter.get("AllowableValues")))
}

fn texts(value: Option<&Value>) -> Vec<String> {
    let items = value.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    items.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}
