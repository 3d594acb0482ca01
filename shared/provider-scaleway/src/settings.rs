//! What the provider is told by the `SCW_*` variables of Scaleway's own tools, checked all at once.

use core::fmt;
use std::net::IpAddr;

use crate::names::{is_uuid, is_zone};
use crate::tags::Home;

const PUBLIC_API: &str = "https://api.scaleway.com";

/// Everything the provider was told. Nothing in it can show the secret key.
#[derive(Debug, Clone)]
pub struct Settings {
    pub secret_key: SecretKey,
    pub project: String,
    /// Where things are asked for that name no zone.
    pub default_zone: Option<String>,
    /// Without a slash at its end.
    pub api_url: String,
    /// Certificates are not checked. Only for a double on this machine.
    pub insecure: bool,
    /// Whose instances these are: two clusters may share a project, and neither may sweep the other's.
    pub cluster: String,
    /// The UID of that cluster, which no two share; whoever connects to it fills it in. Without it no leak is proved to be ours.
    pub cluster_uid: Option<String>,
}

impl Settings {
    pub(crate) fn home(&self) -> Home<'_> {
        Home { name: &self.cluster, uid: self.cluster_uid.as_deref() }
    }
}

/// The key that is sent with each request. It cannot be shown, compared or written down.
#[derive(Clone)]
pub struct SecretKey(String);

impl SecretKey {
    pub fn new(text: impl Into<String>) -> Self {
        SecretKey(text.into())
    }

    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretKey(…)")
    }
}

/// One variable that is wrong, with an example of a right value. It never repeats a value that may be secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub variable: &'static str,
    pub what: String,
    pub example: &'static str,
}

/// Everything that is wrong, not only the first.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Problems(pub Vec<Problem>);

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, Problem { variable, what, example }) in self.0.iter().enumerate() {
            let separator = if at == 0 { "" } else { "; " };
            write!(f, "{separator}{variable} {what}, as in {variable}={example}")?;
        }
        Ok(())
    }
}

const UUID_EXAMPLE: &str = "6f1c0d3e-1111-4222-8333-944444444444";

impl Settings {
    /// Pure: `look_up` gives the value of a variable. An empty value counts as none.
    pub fn from_lookup(look_up: impl Fn(&str) -> Option<String>) -> Result<Settings, Problems> {
        let get = |name: &str| look_up(name).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        let mut problems = Vec::new();
        let mut wrong = |variable, what: &str, example| {
            problems.push(Problem { variable, what: what.to_owned(), example });
        };
        let secret = get("SCW_SECRET_KEY");
        match &secret {
            None => wrong("SCW_SECRET_KEY", "is missing: the secret key of an API key", UUID_EXAMPLE),
            Some(key) if !is_uuid(key) => wrong("SCW_SECRET_KEY", "is not a UUID", UUID_EXAMPLE),
            Some(_) => {}
        }
        // It is never sent; but a wrong one shows that key and secret were mixed up.
        if let Some(key) = get("SCW_ACCESS_KEY")
            && !(key.starts_with("SCW") && key.len() == 20 && key.bytes().all(|byte| byte.is_ascii_alphanumeric()))
        {
            wrong("SCW_ACCESS_KEY", "is not SCW and 17 letters or digits", "SCWXXXXXXXXXXXXXXXXX");
        }
        // A project is the default one of its organisation if it has the same ID.
        let organization = get("SCW_DEFAULT_ORGANIZATION_ID");
        let project = get("SCW_DEFAULT_PROJECT_ID").or_else(|| organization.clone());
        match &project {
            None => wrong("SCW_DEFAULT_PROJECT_ID", "is missing: the project that pays", UUID_EXAMPLE),
            Some(project) if !is_uuid(project) => wrong("SCW_DEFAULT_PROJECT_ID", "is not a UUID", UUID_EXAMPLE),
            Some(_) => {}
        }
        if organization.is_some_and(|text| !is_uuid(&text)) {
            wrong("SCW_DEFAULT_ORGANIZATION_ID", "is not a UUID", UUID_EXAMPLE);
        }
        let default_zone = get("SCW_DEFAULT_ZONE");
        if default_zone.as_deref().is_some_and(|zone| !is_zone(zone)) {
            wrong("SCW_DEFAULT_ZONE", "is not a zone", "fr-par-2");
        }
        if let Some(region) = get("SCW_DEFAULT_REGION") {
            if !is_zone(&format!("{region}-1")) {
                wrong("SCW_DEFAULT_REGION", "is not a region", "fr-par");
            } else if default_zone.as_deref().is_some_and(|zone| is_zone(zone) && !zone.starts_with(&region)) {
                wrong("SCW_DEFAULT_REGION", "is not the region of SCW_DEFAULT_ZONE", "fr-par");
            }
        }
        let api_url = get("SCW_API_URL").unwrap_or_else(|| PUBLIC_API.to_owned());
        let loopback = is_loopback(&api_url);
        match api_url.parse::<http::Uri>() {
            Ok(uri) if uri.scheme_str() == Some("https") || (uri.scheme_str() == Some("http") && loopback) => {}
            Ok(uri) if uri.scheme_str() == Some("http") => {
                wrong("SCW_API_URL", "would send the secret key without TLS to another machine", PUBLIC_API);
            }
            _ => wrong("SCW_API_URL", "is not an https address", PUBLIC_API),
        }
        let insecure = match get("SCW_INSECURE").as_deref() {
            None | Some("false" | "0") => false,
            Some("true" | "1") if loopback => true,
            Some("true" | "1") => {
                wrong("SCW_INSECURE", "is refused unless SCW_API_URL is on this machine", "false");
                false
            }
            Some(_) => {
                wrong("SCW_INSECURE", "is neither true nor false", "false");
                false
            }
        };
        let cluster = get("PILOTLIGHT_CLUSTER_ID").unwrap_or_else(|| "default".to_owned());
        let (Some(secret), Some(project), true) = (secret, project, problems.is_empty()) else {
            return Err(Problems(problems));
        };
        let api_url = api_url.trim_end_matches('/').to_owned();
        Ok(Settings {
            secret_key: SecretKey(secret),
            project,
            default_zone,
            api_url,
            insecure,
            cluster,
            cluster_uid: None,
        })
    }
}

fn is_loopback(url: &str) -> bool {
    let host = url.parse::<http::Uri>().ok().and_then(|uri| uri.host().map(str::to_owned)).unwrap_or_default();
    let host = host.trim_matches(['[', ']']);
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const SECRET: &str = "11111111-2222-4333-8444-555555555555";
    const GOOD: [(&str, &str); 2] = [("SCW_SECRET_KEY", SECRET), ("SCW_DEFAULT_PROJECT_ID", UUID_EXAMPLE)];

    fn settings(with: &[(&str, &str)]) -> Result<Settings, Problems> {
        let find = |list: &[(&str, &str)], name: &str| {
            list.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        };
        Settings::from_lookup(|name| find(with, name).or_else(|| find(&GOOD, name)))
    }

    #[test]
    fn two_variables_are_enough_and_the_secret_is_never_shown() {
        let settings = settings(&[]).unwrap();
        assert_eq!(settings.api_url, "https://api.scaleway.com");
        assert!(!format!("{settings:?}").contains(SECRET));
    }

    #[test]
    fn everything_wrong_is_said_at_once_with_the_variable_and_an_example() {
        let problems = Settings::from_lookup(|name| {
            let set = [("SCW_ACCESS_KEY", "x"), ("SCW_DEFAULT_ZONE", "Paris"), ("SCW_INSECURE", "true")];
            set.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        });
        let problems = problems.unwrap_err();
        let named: Vec<&str> = problems.0.iter().map(|problem| problem.variable).collect();
        let expected =
            ["SCW_SECRET_KEY", "SCW_ACCESS_KEY", "SCW_DEFAULT_PROJECT_ID", "SCW_DEFAULT_ZONE", "SCW_INSECURE"];
        assert_eq!(named, expected);
        assert!(problems.to_string().contains("as in SCW_DEFAULT_ZONE=fr-par-2"), "{problems}");
    }

    #[test]
    fn each_wrong_value_is_a_problem_of_its_own_variable() {
        for (variable, value) in [
            ("SCW_SECRET_KEY", "not-a-uuid"),
            ("SCW_DEFAULT_PROJECT_ID", "project"),
            ("SCW_DEFAULT_ORGANIZATION_ID", "me"),
            ("SCW_DEFAULT_REGION", "france"),
            ("SCW_API_URL", "http://api.scaleway.com"),
            ("SCW_API_URL", "nonsense"),
            ("SCW_INSECURE", "maybe"),
        ] {
            let problems = settings(&[(variable, value)]).unwrap_err();
            assert_eq!(problems.0.len(), 1, "{problems}");
            assert_eq!(problems.0[0].variable, variable);
            assert!(variable != "SCW_SECRET_KEY" || !problems.to_string().contains(value));
        }
    }

    #[test]
    fn a_double_on_this_machine_may_be_plain_or_unchecked() {
        for url in ["http://127.0.0.1:4000/", "http://localhost:4000", "http://[::1]:4000"] {
            let settings = settings(&[("SCW_API_URL", url), ("SCW_INSECURE", "true")]).unwrap();
            assert!(settings.insecure && !settings.api_url.ends_with('/'), "{url}");
        }
    }
}
