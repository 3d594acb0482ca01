//! The variables of k8s-gpu-autoprovision, unchanged, with the checks that it lacks.

use crate::{
    Secret,
    config::{Auth, BackEndConfig, MachineConfig},
    presets,
};
use percent_encoding::percent_decode_str;
use std::collections::BTreeMap;
use url::Url;

const SUFFIX: &str = "_GPU_COUNT";

/// What the environment says.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    pub machines: Vec<MachineConfig>,
    /// What was skipped, as k8s-gpu-autoprovision skips it; to be logged.
    pub warnings: Vec<String>,
}

/// Why a process does not start. It names the variable and never repeats a URL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{variable} {why}")]
pub struct EnvironmentError {
    pub variable: String,
    pub why: String,
}

/// Every variable that ends in `_GPU_COUNT` is a machine, in the order given. A machine that is not complete is skipped.
pub fn read<'a>(variables: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Environment, EnvironmentError> {
    let variables: Vec<(&str, &str)> = variables.into_iter().collect();
    let all: BTreeMap<&str, &str> = variables.iter().copied().collect();
    let mut environment = Environment::default();
    let mut names: BTreeMap<String, String> = BTreeMap::new();
    for prefix in variables.iter().filter_map(|(name, _)| name.strip_suffix(SUFFIX)) {
        let variable = |part: &str| format!("{prefix}_{part}");
        let value = |part: &str| all.get(variable(part).as_str()).copied().unwrap_or_default();
        let missing = ["NAME", "GPU_COUNT", "SCALE_UP_ENDPOINT", "SCALE_DOWN_ENDPOINT"];
        if let Some(part) = missing.into_iter().find(|part| value(part).is_empty()) {
            environment.warnings.push(format!("{} is empty: its machine is skipped", variable(part)));
            continue;
        }
        let Some(count) = count(value("GPU_COUNT")) else {
            let line = format!("{} is not a whole number: its machine is skipped", variable("GPU_COUNT"));
            environment.warnings.push(line);
            continue;
        };
        let fail = |part: &str, why: String| EnvironmentError { variable: variable(part), why };
        let count = u32::try_from(count).ok().filter(|count| *count >= 1);
        let count = count.ok_or_else(|| fail("GPU_COUNT", "is below 1, or not a number of GPUs".to_owned()))?;
        let name = value("NAME");
        if let Err(error) = model::ObjectName::new(name) {
            return Err(fail("NAME", format!("is not the name of a node: {error}")));
        }
        if let Some(other) = names.insert(name.to_owned(), variable("NAME")) {
            return Err(fail("NAME", format!("names the machine {name:?}, which {other} names too")));
        }
        let endpoint = |part: &str| endpoint(value(part)).map_err(|why| fail(part, why.to_owned()));
        let (up, up_auth) = endpoint("SCALE_UP_ENDPOINT")?;
        let (down, down_auth) = endpoint("SCALE_DOWN_ENDPOINT")?;
        let mut back_end = presets::seed(&up, &down);
        if let BackEndConfig::Templates { on, off, .. } = &mut back_end {
            on.auth = up_auth;
            off.auth = down_auth;
        }
        environment.machines.push(MachineConfig::new(name, count, back_end));
    }
    Ok(environment)
}

/// As Go's `strconv.Atoi` reads it: a sign, digits, nothing else.
fn count(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten()
}

/// A user in the URL is how basic auth was given there. It becomes auth, and the URL is clean from here on.
fn endpoint(text: &str) -> Result<(String, Auth), &'static str> {
    let mut url = Url::parse(text).map_err(|_| "is not a URL, as in http://rack.example/up")?;
    if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
        return Err("is not an http or https URL");
    }
    let decode = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    let auth = match (url.username(), url.password()) {
        ("", None) => Auth::None,
        (user, password) => {
            Auth::Basic { user: decode(user), password: Secret::new(decode(password.unwrap_or_default())) }
        }
    };
    let cleaned = url.set_username("").and_then(|()| url.set_password(None));
    cleaned.map_err(|()| "has a user that cannot be read")?;
    Ok((url.into(), auth))
}
