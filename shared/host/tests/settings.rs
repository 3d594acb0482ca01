//! Settings: what is accepted, and how everything that is wrong is said at once.

#![allow(clippy::unwrap_used)]

use host::{Platform, SettingSource, Settings};
use std::fs;

const UNSIGNED: (&str, &str) = ("PILOTLIGHT_ALLOW_UNSIGNED", "true");
const SECRET: (&str, &str) = ("PILOTLIGHT_SIGNING_SECRETS", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");

fn read(pairs: &[(&str, &str)]) -> Result<Settings, String> {
    Settings::from_source(SettingSource::from_pairs(pairs.iter().copied())).map_err(|problems| problems.to_string())
}

#[test]
fn without_a_secret_and_without_the_explicit_word_nothing_starts() {
    let lambda = ("AWS_LAMBDA_RUNTIME_API", "127.0.0.1:9001");
    let azure = ("FUNCTIONS_CUSTOMHANDLER_PORT", "7071");
    for platform in [&[][..], &[lambda], &[azure]] {
        assert!(read(platform).unwrap_err().contains("PILOTLIGHT_SIGNING_SECRETS: is missing"));
    }
    assert!(read(&[("PILOTLIGHT_ALLOW_UNSIGNED", "false")]).is_err());
    assert!(read(&[("PILOTLIGHT_SIGNING_SECRETS", " ")]).is_err());
    assert!(read(&[SECRET]).is_ok());
    assert!(read(&[UNSIGNED]).is_ok());
    let both = format!("{:?}", read(&[SECRET, UNSIGNED]).unwrap().signing);
    assert_eq!(both, "Required([Secret(…)])", "the secrets win, and are never shown");
}

#[test]
fn the_platform_is_picked_in_a_fixed_order() {
    let lambda = [
        ("AWS_LAMBDA_RUNTIME_API", "127.0.0.1:9001"),
        ("AWS_LAMBDA_FUNCTION_NAME", "f"),
        ("AWS_LAMBDA_FUNCTION_VERSION", "1"),
        ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "128"),
    ];
    let azure = [("FUNCTIONS_CUSTOMHANDLER_PORT", "7071")];
    let http = [("PORT", "9090"), UNSIGNED];
    let platform = |pairs: &[&[(&str, &str)]]| read(&pairs.concat()).unwrap().platform;
    assert_eq!(platform(&[&lambda, &azure, &http]), Platform::Lambda);
    assert_eq!(platform(&[&azure, &http]), Platform::Azure { port: 7071 });
    assert_eq!(platform(&[&http]), Platform::Http { port: 9090 });
    assert_eq!(platform(&[&[UNSIGNED]]), Platform::Http { port: 8080 });
}

#[test]
fn everything_wrong_is_said_at_once_with_name_and_example() {
    let message = read(&[
        ("PORT", "eighty"),
        ("PILOTLIGHT_MAX_BODY_BYTES", "0"),
        ("PILOTLIGHT_SIGNING_SECRETS", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw nosecret-hidden"),
        ("PILOTLIGHT_ALLOW_REHEARSAL", "yes"),
        ("PILOTLIGHT_LOG_FORMAT", "xml"),
        ("PILOTLIGHT_LOG", "host=loud"),
        ("PILOTLIGHT_BIND", "everywhere"),
        ("PILOTLIGHT_CLUSTER_ID", "two words"),
        ("PILOTLIGHT_CONFIG", "/nowhere/at/all"),
    ])
    .unwrap_err();
    assert!(message.starts_with("cannot start, 9 settings are wrong:"), "{message}");
    for expected in [
        "PORT: \"eighty\" is not a port, a number from 0 to 65535\n      for example PORT=8080",
        "PILOTLIGHT_SIGNING_SECRETS: secret number 2 does not begin with whsec_",
        "PILOTLIGHT_ALLOW_REHEARSAL: \"yes\" is neither true nor false",
        "PILOTLIGHT_CONFIG: cannot read \"/nowhere/at/all\"",
    ] {
        assert!(message.contains(expected), "{expected}\nis not in\n{message}");
    }
    assert!(!message.contains("hidden") && !message.contains("MfKQ9r8GKYqrTwjU\""), "{message}");
}

#[test]
fn lambda_without_its_variables_is_an_error_and_no_panic() {
    let message = read(&[UNSIGNED, ("AWS_LAMBDA_RUNTIME_API", "host/path")]).unwrap_err();
    assert!(message.starts_with("cannot start, 4 settings are wrong:"), "{message}");
}

#[test]
fn a_file_has_the_same_settings_and_the_environment_wins() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("settings.yaml");
    let with = |text: &str, more: &[(&str, &str)]| {
        fs::write(&path, text).unwrap();
        read(&[&[("PILOTLIGHT_CONFIG", path.to_str().unwrap())], more].concat())
    };
    let yaml = "PILOTLIGHT_ALLOW_UNSIGNED: true\nPORT: 9191\nPILOTLIGHT_MAX_BODY_BYTES: 2048\nAZURE_CLIENT_ID: x\n";
    let settings = with(yaml, &[("PORT", "9292")]).unwrap();
    assert_eq!((settings.platform, settings.max_body_bytes), (Platform::Http { port: 9292 }, 2048));
    let slip = with("PILOTLIGHT_ALOW_UNSIGNED=true\n", &[]).unwrap_err();
    assert!(
        slip.contains("PILOTLIGHT_ALOW_UNSIGNED: is in the file of PILOTLIGHT_CONFIG, and no setting has this name")
    );
    assert!(slip.contains("2 settings are wrong"), "{slip}");
}

#[test]
fn the_schedulers_default_constraints_are_read_and_a_mistake_in_them_names_its_field() {
    let with = |text: &str| read(&[UNSIGNED, ("SCHEDULER_CONFIG", text)]);
    let yaml = "
podTopologySpread:
  defaultConstraints:
    - {maxSkew: 2, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule}
";
    let spread = with(yaml).unwrap().work.default_spread;
    assert_eq!((spread.len(), spread[0].max_skew), (1, 2));
    assert!(read(&[UNSIGNED]).unwrap().work.default_spread.is_empty());
    for (text, expected) in [
        (
            yaml.replace("maxSkew: 2", "maxSkew: 0"),
            "SCHEDULER_CONFIG: podTopologySpread.defaultConstraints[0].maxSkew is 0",
        ),
        (
            yaml.replace("DoNotSchedule", "Never"),
            "whenUnsatisfiable is \"Never\": write DoNotSchedule or ScheduleAnyway",
        ),
        (yaml.replace("podTopologySpread", "podTopology"), "podTopology"),
        ("{".to_owned(), "SCHEDULER_CONFIG: "),
    ] {
        let message = with(&text).unwrap_err();
        assert!(message.starts_with("cannot start, 1 setting is wrong:"), "{message}");
        assert!(message.contains(expected), "{expected}\nis not in\n{message}");
    }
}
