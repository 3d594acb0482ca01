//! Settings: everything that is wrong is said at once, and what a person can do.

use forwarder::{Settings, debounce::Batching, sink::Address};
use host::SettingSource;
use std::time::Duration;

fn problems(pairs: &[(&str, &str)]) -> String {
    let source = SettingSource::from_pairs(pairs.iter().copied());
    match Settings::read_with_sinks(source) {
        Ok(_) => "fine".to_owned(),
        Err(problems) => problems.to_string(),
    }
}

fn check(pairs: &[(&str, &str)], parts: &[&str]) {
    let said = problems(pairs);
    for part in parts {
        assert!(said.contains(part), "{pairs:?}: {said}");
    }
}

const UNSIGNED: (&str, &str) = ("PILOTLIGHT_ALLOW_UNSIGNED", "true");

#[test]
fn without_a_sink_or_secrets_it_does_not_start_and_says_both() {
    check(&[], &["PILOTLIGHT_SIGNING_SECRETS: is missing", "PILOTLIGHT_SINK: is missing"]);
    check(&[UNSIGNED], &["PILOTLIGHT_SINK: is missing: where are the functions?", "for example PILOTLIGHT_SINK="]);
    check(&[UNSIGNED, ("PILOTLIGHT_SINK", "http://a")], &["fine"]);
    check(&[UNSIGNED, ("K_SINK", "http://a"), ("K_CE_OVERRIDES", "")], &["fine"]);
}

#[test]
fn every_wrong_setting_is_named_with_what_would_be_right() {
    let all = [
        UNSIGNED,
        ("PILOTLIGHT_SINK", "localhost:8080"),
        ("PILOTLIGHT_TICK", "often"),
        ("PILOTLIGHT_RESYNC", "25h"),
        ("PILOTLIGHT_PARALLEL", "0"),
        ("PILOTLIGHT_LEASE_DURATION", "1s"),
        ("PILOTLIGHT_LAMBDA_INVOCATION", "DryRun"),
        ("PILOTLIGHT_STREAMING_LISTS", "maybe"),
        ("K_CE_OVERRIDES", r#"{"extensions":{"Team":"a"}}"#),
    ];
    let expected = [
        "8 settings are wrong",
        "PILOTLIGHT_SINK: \"localhost:8080\" is neither a URL",
        "PILOTLIGHT_TICK: \"often\" is not a time from 1s to 24h",
        "PILOTLIGHT_RESYNC: \"25h\"",
        "PILOTLIGHT_PARALLEL: \"0\" is not a number from 1 to 1000",
        "PILOTLIGHT_LEASE_DURATION: must be at least 3s",
        "PILOTLIGHT_LAMBDA_INVOCATION: \"DryRun\" is neither RequestResponse nor Event",
        "PILOTLIGHT_STREAMING_LISTS: \"maybe\"",
        "K_CE_OVERRIDES: \"Team\" is no name of an extension",
    ];
    check(&all, &expected);
}

#[test]
fn a_function_of_its_own_wins_over_what_all_share_and_that_over_knative() {
    let source = SettingSource::from_pairs([
        UNSIGNED,
        ("PILOTLIGHT_SINK", "http://all"),
        ("PILOTLIGHT_SINK_ON_DELETE", "http://one/x"),
        ("K_SINK", "http://knative"),
    ]);
    let (_, _, sinks) = Settings::read_with_sinks(source).unwrap();
    let url = |function: &str| match &sinks.addresses[function] {
        Address::Http(url) => url.to_string(),
        other => panic!("{other:?}"),
    };
    assert_eq!((url("on-delete").as_str(), url("on-nodeclaim").as_str()), ("http://one/x", "http://all/on-nodeclaim"));
    assert_eq!(sinks.addresses.len(), 5);
}

#[test]
fn karpenters_variables_change_how_pods_are_gathered() {
    let batching = |pairs: &[(&str, &str)]| crate::scene::settings(pairs).batching;
    let ms = Duration::from_millis;
    assert_eq!(batching(&[]), Batching::LeadingEdge { window: ms(100) });
    assert_eq!(batching(&[("PILOTLIGHT_BATCH_WINDOW", "250ms")]), Batching::LeadingEdge { window: ms(250) });
    let theirs = Batching::Karpenter { idle: ms(2000), longest: ms(10_000) };
    assert_eq!(batching(&[("BATCH_IDLE_DURATION", "2s")]), theirs);
}
