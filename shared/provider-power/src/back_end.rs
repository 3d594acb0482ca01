//! A machine's back end: what state is shown, the three commands, and the restart that some take.

use crate::{
    call::{Caller, doing},
    machine::{BackEnd, Machine, StatusReader, Template},
    redfish::{self, Actions},
    request::Occasion,
    step::{Command, PowerState},
};
use jiff::Timestamp;
use model::Uid;
use provider::ProviderError;
use serde_json::Value;

/// What a look at the back end gave.
pub(crate) struct Reading {
    pub power: PowerState,
    pub has_soft_off: bool,
    /// Redfish only: where commands go, as this very answer says.
    pub actions: Option<Actions>,
}

/// A command, and the key under which a receiver knows it again.
pub(crate) struct Order<'a> {
    pub command: Command,
    pub claim: &'a Uid,
    pub request_id: &'a str,
}

pub(crate) async fn read(caller: &Caller<'_>, machine: &Machine, now: Timestamp) -> Result<Reading, ProviderError> {
    let occasion = Occasion { machine, claim: "", action: "read the power of", request_id: None, now };
    match &machine.back_end {
        BackEnd::Templates(templates) => {
            let has_soft_off = templates.soft_off.is_some();
            let Some((template, reader)) = &templates.status else {
                return Ok(Reading { power: PowerState::Unknown, has_soft_off, actions: None });
            };
            let answer = caller.call(template, &occasion).await?;
            Ok(Reading { power: reader.read(answer.body()), has_soft_off, actions: None })
        }
        BackEnd::Redfish { system } => redfish::read(caller, system, &occasion).await,
    }
}

pub(crate) async fn order(
    caller: &Caller<'_>,
    machine: &Machine,
    reading: &Reading,
    order: &Order<'_>,
    now: Timestamp,
) -> Result<(), ProviderError> {
    let action = match order.command {
        Command::On => "switch on",
        Command::SoftOff => "shut down",
        Command::Off => "switch off",
    };
    let occasion = Occasion { machine, claim: order.claim.as_str(), action, request_id: Some(order.request_id), now };
    match &machine.back_end {
        BackEnd::Templates(templates) => {
            let template: &Template = match order.command {
                Command::On => &templates.on,
                Command::Off => &templates.off,
                Command::SoftOff => templates.soft_off.as_ref().unwrap_or(&templates.off),
            };
            caller.call(template, &occasion).await.map(drop)
        }
        BackEnd::Redfish { system } => {
            let Some(actions) = &reading.actions else {
                return Err(doing(system, &occasion).unavailable("the system shows no reset action"));
            };
            redfish::order(caller, system, actions, order.command, &occasion).await
        }
    }
}

impl Reading {
    /// Whether it can be started anew in one command.
    pub fn has_restart(&self) -> bool {
        self.actions.as_ref().is_some_and(Actions::has_restart)
    }
}

/// Only for a reading that has it.
pub(crate) async fn restart(
    caller: &Caller<'_>,
    machine: &Machine,
    reading: &Reading,
    claim: &Uid,
    request_id: &str,
    now: Timestamp,
) -> Result<(), ProviderError> {
    let occasion = Occasion { machine, claim: claim.as_str(), action: "restart", request_id: Some(request_id), now };
    match (&machine.back_end, &reading.actions) {
        (BackEnd::Redfish { system }, Some(actions)) => redfish::restart(caller, system, actions, &occasion).await,
        (BackEnd::Redfish { system }, None) => {
            Err(doing(system, &occasion).unavailable("the system shows no reset action"))
        }
        (BackEnd::Templates(templates), _) => {
            Err(doing(&templates.off, &occasion).invalid("it takes no restart: it is switched off and on"))
        }
    }
}

impl StatusReader {
    pub fn read(&self, body: &[u8]) -> PowerState {
        match self {
            StatusReader::Pointer { at, on, off, turning_on, turning_off } => {
                let body: Value = serde_json::from_slice(body).unwrap_or_default();
                let text = match body.pointer(at) {
                    Some(Value::String(text)) => text.clone(),
                    Some(Value::Bool(value)) => value.to_string(),
                    Some(Value::Number(number)) => number.to_string(),
                    _ => return PowerState::Unknown,
                };
                let table = [
                    (on, PowerState::On),
                    (off, PowerState::Off),
                    (turning_on, PowerState::TurningOn),
                    (turning_off, PowerState::TurningOff),
                ];
                let is = |words: &[String]| words.iter().any(|word| word.eq_ignore_ascii_case(&text));
                table.into_iter().find(|(words, _)| is(words)).map_or(PowerState::Unknown, |(_, state)| state)
            }
            StatusReader::Regex { on, off } => {
                let text = String::from_utf8_lossy(body);
                match (on.is_match(&text), off.is_match(&text)) {
                    (true, false) => PowerState::On,
                    (false, true) => PowerState::Off,
                    // Both is as good as neither.
                    _ => PowerState::Unknown,
                }
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use regex::Regex;

    #[test]
    fn a_status_is_found_by_pointer_whatever_type_it_has() {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let reader = StatusReader::Pointer {
            at: "/a/0".to_owned(),
            on: words(&["on", "true", "1"]),
            off: words(&["off", "false", "0"]),
            turning_on: words(&["starting"]),
            turning_off: words(&["stopping"]),
        };
        let cases = [
            (r#"{"a": ["On"]}"#, PowerState::On),
            (r#"{"a": [false]}"#, PowerState::Off),
            (r#"{"a": [1]}"#, PowerState::On),
            (r#"{"a": ["starting"]}"#, PowerState::TurningOn),
            (r#"{"a": ["stopping"]}"#, PowerState::TurningOff),
            (r#"{"a": ["unavailable"]}"#, PowerState::Unknown),
            (r#"{"a": [null]}"#, PowerState::Unknown),
            (r#"{"a": []}"#, PowerState::Unknown),
            ("on", PowerState::Unknown),
            ("", PowerState::Unknown),
        ];
        for (body, power) in cases {
            assert_eq!(reader.read(body.as_bytes()), power, "{body}");
        }
    }

    #[test]
    fn a_status_is_found_by_expression_and_both_is_as_good_as_neither() {
        let expression = |text: &str| Regex::new(text).unwrap();
        let reader =
            StatusReader::Regex { on: expression(r"status.*\:.*running"), off: expression(r"status.*\:.*stopped") };
        let cases: [(&[u8], PowerState); 5] = [
            (b"status : running", PowerState::On),
            (br#"{"status": "stopped"}"#, PowerState::Off),
            (b"status : running, status : stopped", PowerState::Unknown),
            (b"running", PowerState::Unknown),
            (b"\xff\xfe", PowerState::Unknown),
        ];
        for (body, power) in cases {
            assert_eq!(reader.read(body), power, "{}", String::from_utf8_lossy(body));
        }
    }
}
