//! Sample events are named after the function they are for: `<function>.<case>.json`, bad ones `<function>.bad-<case>.json`.

use serde_json::Value;

use crate::Offence;

/// The functions, and the type of the event that wakes each, without its version.
pub const FUNCTIONS: &[(&str, &str)] = &[
    ("on-pending-pod", "dev.pilotlight.pod.pending"),
    ("on-nodeclaim", "dev.pilotlight.nodeclaim.changed"),
    ("on-workspace", "dev.pilotlight.workspace.changed"),
    ("on-idle-timer", "dev.pilotlight.timer.idle"),
    ("on-delete", "dev.pilotlight.deletion.requested"),
];

/// So many cases are worth showing for each function, and one of them must be refused.
const FEWEST: usize = 4;
const FEWEST_BAD: usize = 1;

/// Cases about events that are somebody else's, or that nobody knows.
const OF_ANOTHER_TYPE: &[&str] = &["unknown-", "other-"];

/// Every file of `events/samples/` with its text.
pub fn offences(samples: &[(String, String)]) -> Vec<Offence> {
    let named: Vec<(&str, Option<Sample>)> =
        samples.iter().map(|(file, text)| (file.as_str(), parse(file, text))).collect();
    let known = || named.iter().filter_map(|(_, sample)| sample.as_ref());
    let misnamed = named.iter().filter(|(_, sample)| sample.is_none()).map(|(file, _)| {
        format!("events/samples/{file} is named after no function: call it <function>.<case>.json, in small letters, digits and `-`")
    });
    let mistyped = known().filter_map(Sample::mistyped);
    let missing = FUNCTIONS.iter().flat_map(|(function, _)| {
        let of_function = || known().filter(move |sample| sample.function == *function);
        too_few(function, of_function().count(), of_function().filter(|sample| sample.is_bad()).count())
    });
    misnamed.chain(mistyped).chain(missing).collect()
}

fn too_few(function: &str, all: usize, bad: usize) -> Vec<Offence> {
    let mut offences = vec![];
    if all < FEWEST {
        offences.push(format!(
            "{function} has {all} of at least {FEWEST} samples: add events/samples/{function}.<case>.json"
        ));
    }
    if bad < FEWEST_BAD {
        offences.push(format!("{function} has no sample it refuses: add events/samples/{function}.bad-<case>.json"));
    }
    offences
}

struct Sample<'a> {
    file: &'a str,
    function: &'a str,
    event_type: &'a str,
    case: &'a str,
    text: &'a str,
}

fn parse<'a>(file: &'a str, text: &'a str) -> Option<Sample<'a>> {
    let (function, case) = file.strip_suffix(".json")?.split_once('.')?;
    let (_, event_type) = FUNCTIONS.iter().find(|(known, _)| *known == function)?;
    let plain = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
    let case_is_plain = !case.is_empty() && case.chars().all(plain);
    case_is_plain.then_some(Sample { file, function, event_type, case, text })
}

impl Sample<'_> {
    fn is_bad(&self) -> bool {
        self.case.starts_with("bad-")
    }

    fn mistyped(&self) -> Option<Offence> {
        let Sample { file, function, event_type, .. } = self;
        if self.is_bad() {
            return None;
        }
        let event: Option<Value> = serde_json::from_str(self.text).ok();
        let Some(found) = event.as_ref().and_then(|event| event.get("type")?.as_str()) else {
            return Some(format!(
                "events/samples/{file} is no CloudEvent with a `type`: mend it, or name its case `bad-…`"
            ));
        };
        let may_differ = OF_ANOTHER_TYPE.iter().any(|prefix| self.case.starts_with(prefix));
        let version = found.strip_prefix(event_type);
        if may_differ || version.is_some_and(|version| version.is_empty() || version.starts_with(".v")) {
            return None;
        }
        Some(format!(
            "events/samples/{file} has the type {found}, but {function} takes {event_type}: mend it, or name its case `other-…`"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::{FUNCTIONS, offences};

    /// Four good-enough samples for every function.
    fn complete() -> Vec<(String, String)> {
        let of_function = |(function, event_type): &(&str, &str)| {
            ["first", "second", "other-type", "bad-json"].map(|case| {
                let text = match case {
                    "bad-json" => "{".to_owned(),
                    "other-type" => r#"{"type": "com.example.thing"}"#.to_owned(),
                    _ => format!(r#"{{"type": "{event_type}.v1"}}"#),
                };
                (format!("{function}.{case}.json"), text)
            })
        };
        FUNCTIONS.iter().flat_map(of_function).collect()
    }

    fn with(file: &str, text: &str) -> Vec<String> {
        let mut samples = complete();
        samples.push((file.to_owned(), text.to_owned()));
        offences(&samples)
    }

    #[test]
    fn four_samples_a_function_one_of_them_bad_are_enough() {
        assert_eq!(offences(&complete()), Vec::<String>::new());
    }

    #[test]
    fn too_few_samples_are_an_offence_for_each_function() {
        assert_eq!(offences(&[]).len(), 2 * FUNCTIONS.len());
        let mut samples = complete();
        samples.retain(|(file, _)| file != "on-delete.bad-json.json");
        let found = offences(&samples);
        assert!(found[0].starts_with("on-delete has 3 of at least 4 samples"), "{found:?}");
        assert!(found[1].starts_with("on-delete has no sample it refuses"), "{found:?}");
    }

    #[test]
    fn a_name_that_no_function_has_is_an_offence() {
        for file in
            ["on-fire.first.json", "on-delete.json", "on-delete..json", "on-delete.Big.json", "on-delete.a.yaml"]
        {
            assert!(with(file, "{}")[0].contains("is named after no function"), "{file}");
        }
    }

    #[test]
    fn a_good_sample_is_an_event_of_its_own_function() {
        let of_another = r#"{"type": "dev.pilotlight.timer.idle.v1"}"#;
        assert!(
            with("on-delete.third.json", of_another)[0].contains("on-delete takes dev.pilotlight.deletion.requested")
        );
        assert!(
            with("on-delete.third.json", r#"{"type": "dev.pilotlight.deletion.requestedness"}"#)[0]
                .contains("has the type")
        );
        assert!(with("on-delete.third.json", "{")[0].contains("is no CloudEvent"));
        assert!(with("on-delete.unknown-third.json", of_another).is_empty());
    }
}
