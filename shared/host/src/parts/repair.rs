//! Repair policies as people write them: a JSON list, each entry in place of what is built in for its condition and status.

use decide::repair::{Policy, built_in};
use jiff::SignedDuration;
use model::{Truth, disruption::Remedy, duration};
use regex::Regex;
use serde::Deserialize;

/// `none` is no policy at all.
pub fn policies(text: &str) -> Result<Vec<Policy>, String> {
    if text.trim() == "none" {
        return Ok(Vec::new());
    }
    let written: Vec<Written> = serde_json::from_str(text).map_err(|error| format!("it cannot be read: {error}"))?;
    let own: Vec<Policy> = written.into_iter().map(Written::read).collect::<Result<_, _>>()?;
    let replaced =
        |policy: &Policy| own.iter().any(|one| one.condition == policy.condition && one.status == policy.status);
    let mut all: Vec<Policy> = built_in().into_iter().filter(|policy| !replaced(policy)).collect();
    all.extend(own);
    Ok(all)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Written {
    condition: String,
    status: String,
    /// A regular expression on the condition's reason; without it, the policy is for all that no other names.
    reason: Option<String>,
    toleration: String,
    drain_within: Option<String>,
    #[serde(default = "usual_priority")]
    priority: u8,
    action: String,
}

fn usual_priority() -> u8 {
    50
}

impl Written {
    fn read(self) -> Result<Policy, String> {
        let of = |what: &str| format!("the policy for {} has {what}", self.condition);
        let status = [Truth::True, Truth::False, Truth::Unknown].into_iter().find(|one| one.as_str() == self.status);
        let status = status.ok_or_else(|| of("a status that is neither True, False nor Unknown"))?;
        let reason = self.reason.as_deref().map(Regex::new).transpose();
        let reason = reason.map_err(|_| of("a reason that is no regular expression"))?;
        let time = |text: &str| {
            let read = duration::parse(text).filter(|time: &SignedDuration| !time.is_negative());
            read.ok_or_else(|| of(&format!("the time {text:?}; write one as in 10m")))
        };
        let tolerate = time(&self.toleration)?;
        let drain_within = self.drain_within.as_deref().map(time).transpose()?;
        if self.priority > 100 {
            return Err(of("a priority above 100"));
        }
        let remedy = match self.action.as_str() {
            "RebootNode" => Some(Remedy::Reboot),
            "ReplaceNode" => Some(Remedy::Replace),
            "None" => None,
            _ => return Err(of("an action that is neither RebootNode, ReplaceNode nor None")),
        };
        let priority = self.priority;
        Ok(Policy {
            condition: self.condition,
            status,
            reason,
            tolerate,
            drain_within,
            priority,
            remedy,
            urgent: false,
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_takes_the_place_of_what_is_built_in_for_the_same_condition_and_status() {
        let text = r#"[{"condition": "Ready", "status": "False", "toleration": "30m", "drainWithin": "0s", "priority": 7, "action": "ReplaceNode"},
            {"condition": "Ours", "status": "True", "reason": "^Disk", "toleration": "1m", "action": "None"}]"#;
        let read = policies(text).unwrap();
        let of = |condition: &str, status: Truth| -> Vec<&Policy> {
            read.iter().filter(|one| one.condition == condition && one.status == status).collect()
        };
        let [ready] = of("Ready", Truth::False)[..] else { panic!("one of them") };
        assert_eq!((ready.tolerate, ready.drain_within), (SignedDuration::from_mins(30), Some(SignedDuration::ZERO)));
        assert_eq!((ready.priority, ready.remedy), (7, Some(Remedy::Replace)));
        assert_eq!(of("Ready", Truth::Unknown).len(), 1, "what nobody named stays");
        assert_eq!(of("Ours", Truth::True)[0].remedy, None);
        assert!(policies("none").unwrap().is_empty());
        assert_eq!(policies("[]").unwrap().len(), built_in().len());
    }

    #[test]
    fn a_mistake_is_named() {
        let check = |text: &str, words: &str| {
            let problem = policies(text).unwrap_err();
            assert!(problem.contains(words), "{text}: {problem}");
        };
        let entry = |rest: &str| format!(r#"[{{"condition": "Ready", {rest}}}]"#);
        check("{}", "it cannot be read");
        check(&entry(r#""status": "Maybe", "toleration": "1m", "action": "None""#), "a status");
        check(&entry(r#""status": "True", "toleration": "soon", "action": "None""#), "\"soon\"");
        check(&entry(r#""status": "True", "toleration": "1m", "action": "Explode""#), "an action");
        check(
            &entry(r#""status": "True", "toleration": "1m", "reason": "(", "action": "None""#),
            "no regular expression",
        );
        check(&entry(r#""status": "True", "toleration": "1m", "action": "None", "typo": 1"#), "typo");
    }
}
