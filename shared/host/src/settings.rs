//! What a process can be told, from the environment and a file, checked all at once before anything starts.

mod catalogue;
mod file;
mod secret;
mod source;

use model::ClusterId;
use std::{fmt, net::IpAddr};
use tracing_subscriber::filter::Targets;

use crate::parts::WorkSettings;

pub use catalogue::{CATALOGUE, FORWARDER, Known};
pub use secret::Secret;
pub use source::SettingSource;

/// Everything the host was told.
#[derive(Debug, Clone)]
pub struct Settings {
    pub platform: Platform,
    /// Where to listen on HTTP; all interfaces unless told.
    pub bind: Option<IpAddr>,
    pub cluster: ClusterId,
    pub signing: Signing,
    pub max_body_bytes: usize,
    pub allow_rehearsal: bool,
    pub log: LogSettings,
    pub work: WorkSettings,
}

/// Where this process finds itself. Chosen once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Platform {
    Lambda,
    /// The port the Functions host chose for its custom handler.
    Azure {
        port: u16,
    },
    /// Knative, or any container or laptop.
    Http {
        port: u16,
    },
}

#[derive(Debug, Clone)]
pub enum Signing {
    Required(Vec<Secret>),
    /// Somebody said so explicitly.
    NotAsked,
}

#[derive(Debug, Clone)]
pub struct LogSettings {
    pub filter: Targets,
    pub format: LogFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    Json,
    Text,
    /// Text on a terminal, JSON elsewhere.
    Auto,
}

/// Everything that is wrong, not only the first.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Problems(Vec<Problem>);

/// One setting that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    variable: String,
    what: String,
    example: String,
}

impl Problem {
    pub fn new(variable: &str, what: String, example: &str) -> Self {
        Problem { variable: variable.to_owned(), what, example: example.to_owned() }
    }
}

impl Settings {
    /// From the process's environment, and the file that `PILOTLIGHT_CONFIG` names.
    pub fn from_env() -> Result<Self, Problems> {
        Settings::from_source(SettingSource::from_env())
    }

    pub fn from_source(source: SettingSource) -> Result<Self, Problems> {
        Settings::read_with(source, |_, _| ()).map(|(settings, ())| settings)
    }

    /// The same for a program that has settings of its own: it finds what is wrong together with everything else.
    pub fn read_with<Own>(
        mut source: SettingSource,
        own: impl FnOnce(&SettingSource, &mut Vec<Problem>) -> Own,
    ) -> Result<(Self, Own), Problems> {
        let problems = &mut Vec::new();
        if let Some(path) = source.get("PILOTLIGHT_CONFIG") {
            match file::read(&path) {
                Ok(settings) => source.add_file(settings, problems),
                Err(what) => add(problems, "PILOTLIGHT_CONFIG", what),
            }
        }
        let settings = Settings {
            platform: platform(&source, problems),
            bind: optional(&source, problems, "PILOTLIGHT_BIND", |text| {
                text.parse().map_err(|_| format!("{text:?} is not an IP address"))
            }),
            cluster: cluster(&source, problems),
            signing: signing(&source, problems),
            max_body_bytes: max_body_bytes(&source, problems),
            allow_rehearsal: flag(&source, problems, "PILOTLIGHT_ALLOW_REHEARSAL"),
            log: log(&source, problems),
            work: WorkSettings::read(&source, problems),
        };
        let own = own(&source, problems);
        if problems.is_empty() { Ok((settings, own)) } else { Err(Problems(std::mem::take(problems))) }
    }
}

fn platform(source: &SettingSource, problems: &mut Vec<Problem>) -> Platform {
    let port = |problems: &mut Vec<Problem>, variable| {
        optional(source, problems, variable, |text| {
            text.parse::<u16>().map_err(|_| format!("{text:?} is not a port, a number from 0 to 65535"))
        })
    };
    // Lambda adapters and App Service may set PORT too, so it is asked last.
    if let Some(api) = source.get("AWS_LAMBDA_RUNTIME_API") {
        lambda_environment(source, &api, problems);
        return Platform::Lambda;
    }
    if source.get("FUNCTIONS_CUSTOMHANDLER_PORT").is_some() {
        return Platform::Azure { port: port(problems, "FUNCTIONS_CUSTOMHANDLER_PORT").unwrap_or_default() };
    }
    Platform::Http { port: port(problems, "PORT").unwrap_or(8080) }
}

/// The Lambda runtime panics where one of these is missing; a plain error is better.
fn lambda_environment(source: &SettingSource, api: &str, problems: &mut Vec<Problem>) {
    let with_scheme = if api.contains("://") { api.to_owned() } else { format!("http://{api}") };
    if with_scheme.parse::<http::Uri>().is_err() || (api.contains('/') && !api.contains("://")) {
        add(problems, "AWS_LAMBDA_RUNTIME_API", format!("{api:?} is not an address; with a path it needs http://"));
    }
    for variable in ["AWS_LAMBDA_FUNCTION_NAME", "AWS_LAMBDA_FUNCTION_VERSION"] {
        if source.get(variable).is_none() {
            add(problems, variable, "is missing, and AWS_LAMBDA_RUNTIME_API says this is Lambda".to_owned());
        }
    }
    let memory = source.get("AWS_LAMBDA_FUNCTION_MEMORY_SIZE");
    if memory.as_deref().and_then(|text| text.parse::<i32>().ok()).is_none() {
        let what = "is missing or no number, and AWS_LAMBDA_RUNTIME_API says this is Lambda";
        add(problems, "AWS_LAMBDA_FUNCTION_MEMORY_SIZE", what.to_owned());
    }
}

fn cluster(source: &SettingSource, problems: &mut Vec<Problem>) -> ClusterId {
    let read = |text: &str| ClusterId::new(text).map_err(|error| error.to_string());
    optional(source, problems, "PILOTLIGHT_CLUSTER_ID", read).unwrap_or_default()
}

fn signing(source: &SettingSource, problems: &mut Vec<Problem>) -> Signing {
    let allow_unsigned = flag(source, problems, "PILOTLIGHT_ALLOW_UNSIGNED");
    let Some(text) = source.get("PILOTLIGHT_SIGNING_SECRETS") else {
        if !allow_unsigned {
            let what = "is missing: deliveries must be signed, or PILOTLIGHT_ALLOW_UNSIGNED=true must say that they need not be";
            add(problems, "PILOTLIGHT_SIGNING_SECRETS", what.to_owned());
        }
        return Signing::NotAsked;
    };
    let mut secrets = Vec::new();
    for (index, word) in text.split_whitespace().enumerate() {
        match Secret::parse(word) {
            Ok(secret) => secrets.push(secret),
            Err(what) => {
                // Never the text itself: it may be a secret with a small mistake in it.
                add(problems, "PILOTLIGHT_SIGNING_SECRETS", format!("secret number {} {what}", index + 1));
            }
        }
    }
    Signing::Required(secrets)
}

fn max_body_bytes(source: &SettingSource, problems: &mut Vec<Problem>) -> usize {
    const DEFAULT: usize = 1024 * 1024;
    const RANGE: std::ops::RangeInclusive<usize> = 1..=64 * 1024 * 1024;
    let read = optional(source, problems, "PILOTLIGHT_MAX_BODY_BYTES", |text| match text.parse() {
        Ok(bytes) if RANGE.contains(&bytes) => Ok(bytes),
        _ => Err(format!("{text:?} is not a number of bytes from 1 to {}", RANGE.end())),
    });
    read.unwrap_or(DEFAULT)
}

fn log(source: &SettingSource, problems: &mut Vec<Problem>) -> LogSettings {
    let filter = optional(source, problems, "PILOTLIGHT_LOG", |text| {
        text.parse::<Targets>().map_err(|_| format!("{text:?} is not a filter"))
    });
    let format = optional(source, problems, "PILOTLIGHT_LOG_FORMAT", |text| match text {
        "json" => Ok(LogFormat::Json),
        "text" => Ok(LogFormat::Text),
        _ => Err(format!("{text:?} is neither json nor text")),
    });
    let info = || Targets::new().with_default(tracing::Level::INFO);
    LogSettings { filter: filter.unwrap_or_else(info), format: format.unwrap_or(LogFormat::Auto) }
}

pub fn flag(source: &SettingSource, problems: &mut Vec<Problem>, variable: &'static str) -> bool {
    let read = optional(source, problems, variable, |text| match text {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(format!("{text:?} is neither true nor false")),
    });
    read.unwrap_or(false)
}

/// Reads a setting that may be left out; one that cannot be read is a problem and as good as left out.
pub fn optional<T>(
    source: &SettingSource,
    problems: &mut Vec<Problem>,
    variable: &'static str,
    read: impl Fn(&str) -> Result<T, String>,
) -> Option<T> {
    match read(&source.get(variable)?) {
        Ok(value) => Some(value),
        Err(what) => {
            add(problems, variable, what);
            None
        }
    }
}

/// Notes a problem, with the example that the catalogue has for this variable.
pub fn add(problems: &mut Vec<Problem>, variable: &str, what: String) {
    let example =
        CATALOGUE.iter().chain(&FORWARDER).find(|known| known.variable == variable).map_or("", |known| known.example);
    problems.push(Problem::new(variable, what, example));
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let settings = if self.0.len() == 1 { "1 setting is" } else { &format!("{} settings are", self.0.len()) };
        write!(f, "cannot start, {settings} wrong:")?;
        for Problem { variable, what, example } in &self.0 {
            write!(f, "\n  {variable}: {what}")?;
            if !example.is_empty() {
                write!(f, "\n      for example {variable}={example}")?;
            }
        }
        write!(f, "\nAll settings: --help")
    }
}
