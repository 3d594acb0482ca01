//! A command as it stands in the annotation `pilotlight.dev/disruption`: small JSON, versioned, readable for a person too.

use jiff::{SignedDuration, Timestamp};
use model::{
    Claim, ClaimToMake, CommandOrder, CommandPhase, CommandRecord, CommandWork, InstanceKey, Manifest, ObjectName, Uid,
    disruption::Reason, names,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{error::cut, provision_claims::object};

const VERSION: u32 = 1;

/// What the annotation of a claim says; `None` where there is none.
pub fn command_of(claim: &Claim) -> Option<Result<CommandRecord, String>> {
    claim.annotations.get(names::DISRUPTION).map(|text| parse(text).map_err(|why| cut(&why)))
}

/// What is to stand in the annotation.
pub fn command_text(record: &CommandRecord) -> Result<String, String> {
    let written = Written::of(record).map_err(|error| error.to_string())?;
    serde_json::to_string(&written).map_err(|error| error.to_string())
}

/// A claim as the API server takes it.
pub fn manifest(claim: &ClaimToMake) -> Result<Manifest, String> {
    // By way of a value, so that the text is the same after it was read again.
    serde_json::to_value(object(claim)).map(|value| Manifest(value.to_string())).map_err(|error| error.to_string())
}

fn parse(text: &str) -> Result<CommandRecord, String> {
    serde_json::from_str::<Written>(text).map_err(|error| error.to_string())?.read()
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Written {
    v: u32,
    id: String,
    reason: String,
    action: String,
    order: String,
    phase: String,
    since: Timestamp,
    begun_at: Timestamp,
    why: String,
    candidates: Vec<WrittenKey>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    replacements: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pods: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    drain_within_seconds: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    undone_because: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    replacements_failed: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    make: Vec<Value>,
}

#[derive(Serialize, Deserialize)]
struct WrittenKey {
    name: String,
    uid: String,
}

const DELETE: &str = "delete";
const REBOOT: &str = "reboot";

impl Written {
    fn of(record: &CommandRecord) -> Result<Self, serde_json::Error> {
        let (undone_because, replacements_failed) = match &record.phase {
            CommandPhase::Undoing { why, failed } => (Some(why.clone()), *failed),
            _ => (None, false),
        };
        let key = |key: &InstanceKey| WrittenKey { name: key.name.to_string(), uid: key.claim.to_string() };
        let make = record.make.iter().map(|Manifest(text)| serde_json::from_str(text));
        Ok(Written {
            v: VERSION,
            id: record.id.clone(),
            reason: record.reason.as_str().to_owned(),
            action: match record.work {
                CommandWork::Delete => DELETE.to_owned(),
                CommandWork::Reboot => REBOOT.to_owned(),
            },
            order: order_text(record.order).to_owned(),
            phase: record.phase.as_str().to_owned(),
            since: record.since,
            begun_at: record.begun_at,
            why: record.why.clone(),
            candidates: record.candidates.iter().map(key).collect(),
            replacements: record.replacements.iter().map(ToString::to_string).collect(),
            pods: record.pods.iter().map(ToString::to_string).collect(),
            drain_within_seconds: record.drain_within.map(|span| span.as_secs()),
            undone_because,
            replacements_failed,
            make: make.collect::<Result<_, _>>()?,
        })
    }

    fn read(self) -> Result<CommandRecord, String> {
        if self.v != VERSION {
            return Err(format!("it is of version {}, and this program reads version {VERSION}", self.v));
        }
        let reason = Reason::ALL.into_iter().find(|reason| reason.as_str() == self.reason);
        let work = match self.action.as_str() {
            DELETE => CommandWork::Delete,
            REBOOT => CommandWork::Reboot,
            other => return Err(format!("the action {other:?} is unknown")),
        };
        let order = ORDERS.into_iter().find(|order| order_text(*order) == self.order);
        let key = |key: WrittenKey| -> Result<InstanceKey, String> {
            let claim = Uid::new(key.uid).map_err(|error| error.to_string())?;
            Ok(InstanceKey { claim, name: ObjectName::new(key.name).map_err(|error| error.to_string())? })
        };
        let candidates: Vec<InstanceKey> = self.candidates.into_iter().map(key).collect::<Result<_, _>>()?;
        if candidates.is_empty() {
            return Err("it names no claim".to_owned());
        }
        let undone = self.undone_because.unwrap_or_default();
        Ok(CommandRecord {
            id: self.id,
            reason: reason.ok_or_else(|| format!("the reason {:?} is unknown", self.reason))?,
            work,
            order: order.ok_or_else(|| format!("the order {:?} is unknown", self.order))?,
            candidates,
            pods: checked(self.pods, Uid::new)?,
            replacements: checked(self.replacements, ObjectName::new)?,
            make: self.make.into_iter().map(|value| Manifest(value.to_string())).collect(),
            drain_within: self.drain_within_seconds.map(SignedDuration::from_secs),
            phase: phase(&self.phase, undone, self.replacements_failed)?,
            since: self.since,
            begun_at: self.begun_at,
            why: self.why,
        })
    }
}

fn checked<T, E: ToString>(texts: Vec<String>, check: impl Fn(String) -> Result<T, E>) -> Result<Vec<T>, String> {
    texts.into_iter().map(|text| check(text).map_err(|error| error.to_string())).collect()
}

const ORDERS: [CommandOrder; 3] = [CommandOrder::ReplaceFirst, CommandOrder::TerminateFirst, CommandOrder::AtOnce];

fn order_text(order: CommandOrder) -> &'static str {
    match order {
        CommandOrder::ReplaceFirst => "replaceFirst",
        CommandOrder::TerminateFirst => "terminateFirst",
        CommandOrder::AtOnce => "atOnce",
    }
}

fn phase(text: &str, why: String, failed: bool) -> Result<CommandPhase, String> {
    let all = [
        CommandPhase::Recorded,
        CommandPhase::Tainted,
        CommandPhase::Making,
        CommandPhase::Waiting,
        CommandPhase::Deleting,
        CommandPhase::Draining,
        CommandPhase::Rebooting,
        CommandPhase::Rebooted,
        CommandPhase::Undoing { why, failed },
    ];
    all.into_iter().find(|phase| phase.as_str() == text).ok_or_else(|| format!("the phase {text:?} is unknown"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn record(phase: CommandPhase) -> CommandRecord {
        let key = |name: &str| InstanceKey {
            claim: Uid::new(format!("u-{name}")).unwrap(),
            name: ObjectName::new(name).unwrap(),
        };
        CommandRecord {
            id: "0123456789".into(),
            reason: Reason::Underutilized,
            work: CommandWork::Delete,
            order: CommandOrder::ReplaceFirst,
            candidates: vec![key("a"), key("b")],
            pods: vec![Uid::new("p").unwrap()],
            replacements: vec![ObjectName::new("gpu-0123456789-1").unwrap()],
            make: vec![Manifest(r#"{"kind":"NodeClaim","metadata":{"name":"gpu-0123456789-1"}}"#.into())],
            drain_within: Some(SignedDuration::from_secs(90)),
            phase,
            since: Timestamp::UNIX_EPOCH,
            begun_at: Timestamp::UNIX_EPOCH,
            why: "it is cheaper".into(),
        }
    }

    #[test]
    fn a_command_survives_the_way_through_its_annotation() {
        let undoing = CommandPhase::Undoing { why: "a pod came".into(), failed: true };
        for phase in [CommandPhase::Recorded, CommandPhase::Waiting, CommandPhase::Deleting, undoing] {
            let record = record(phase);
            assert_eq!(parse(&command_text(&record).unwrap()), Ok(record));
        }
    }

    #[test]
    fn what_somebody_else_wrote_there_is_no_command() {
        let whole = command_text(&record(CommandPhase::Recorded)).unwrap();
        for text in ["", "{}", "yes", &whole.replace("\"v\":1", "\"v\":2"), &whole.replace("Recorded", "Begun")] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
