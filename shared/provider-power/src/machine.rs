//! A machine whose description has been checked. Nobody checks again.

use crate::{
    config::{Auth, BackEndConfig, MachineConfig, RequestTemplate, StatusRule, Timing},
    reqwest_transport::authorities_of,
    url_policy::UrlPolicy,
};
use http::{HeaderName, HeaderValue, Method, StatusCode};
use model::{Arch, ObjectName, Quantity, Resources};
use regex::Regex;
use std::{sync::Arc, time::Duration};
use url::Url;

/// Why a machine's description cannot be used: which machine, which field, and what to change.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("machine {machine:?}: {field} {why}")]
pub struct ConfigError {
    pub machine: String,
    pub field: String,
    pub why: String,
}

pub struct Machine {
    pub(crate) name: String,
    pub(crate) node: String,
    pub(crate) arch: Arch,
    pub(crate) capacity: Resources,
    pub(crate) config: MachineConfig,
    pub(crate) back_end: BackEnd,
}

pub(crate) enum BackEnd {
    Templates(Box<Templates>),
    Redfish { system: Box<Template> },
}

pub(crate) struct Templates {
    pub on: Template,
    pub off: Template,
    pub soft_off: Option<Template>,
    pub status: Option<(Template, StatusReader)>,
}

/// A request template with everything parsed. There is no way to print it: its URL may be a secret itself.
#[derive(Clone)]
pub(crate) struct Template {
    pub method: Method,
    pub url: Url,
    pub headers: Vec<(HeaderName, String)>,
    pub body: String,
    pub auth: Auth,
    pub ca: Option<Arc<str>>,
    pub success: Vec<StatusCode>,
    pub timeout: Duration,
    pub failure_pointer: Option<String>,
}

pub(crate) enum StatusReader {
    Pointer { at: String, on: Vec<String>, off: Vec<String>, turning_on: Vec<String>, turning_off: Vec<String> },
    Regex { on: Regex, off: Regex },
}

impl Machine {
    pub fn new(mut config: MachineConfig, policy: &UrlPolicy) -> Result<Self, ConfigError> {
        config.timing.settle_seconds.get_or_insert(config.back_end.settle_seconds());
        let fail = |field: &str, why: String| ConfigError {
            machine: config.name.chars().take(80).collect(),
            field: field.to_owned(),
            why,
        };
        ObjectName::new(config.name.clone()).map_err(|error| fail("name", error.to_string()))?;
        let node = config.node.clone().unwrap_or_else(|| config.name.clone());
        ObjectName::new(node.clone()).map_err(|error| fail("node", error.to_string()))?;
        ObjectName::new(config.class.clone()).map_err(|error| fail("class", error.to_string()))?;
        if config.gpu.count < 1 {
            return Err(fail("gpu.count", "is below 1: a machine has at least one GPU".to_owned()));
        }
        if config.timing.most_attempts < 1 {
            return Err(fail("timing.mostAttempts", "is below 1".to_owned()));
        }
        let arch = match config.arch.as_str() {
            "amd64" => Arch::Amd64,
            "arm64" => Arch::Arm64,
            _ => return Err(fail("arch", "is neither amd64 nor arm64".to_owned())),
        };
        let mut capacity = Resources::new();
        for (resource, text) in &config.capacity {
            let quantity: Quantity =
                text.parse().map_err(|error| fail(&format!("capacity.{resource}"), format!("{error}")))?;
            capacity.insert(resource.clone(), quantity);
        }
        let gpus = i128::from(config.gpu.count).saturating_mul(1000);
        capacity.insert(config.gpu.resource.clone(), Quantity::from_thousandths(gpus));
        let back_end = back_end(&config, &node, policy).map_err(|(field, why)| fail(&field, why))?;
        Ok(Machine { name: config.name.clone(), node, arch, capacity, config, back_end })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// A scheme of our own, so that no cloud's node controller takes the Node of a machine that is off for a leftover.
    pub fn provider_id(&self) -> String {
        format!("power://{}/{}", self.config.class, self.name)
    }

    /// How patient to be, with what was not said filled in.
    pub fn timing(&self) -> &Timing {
        &self.config.timing
    }

    pub(crate) fn has_status(&self) -> bool {
        match &self.back_end {
            BackEnd::Templates(templates) => templates.status.is_some(),
            BackEnd::Redfish { .. } => true,
        }
    }
}

type Problem = (String, String);

fn back_end(config: &MachineConfig, node: &str, policy: &UrlPolicy) -> Result<BackEnd, Problem> {
    let compile = |field: &str, template: &RequestTemplate| compile(config, node, policy, field, template);
    match &config.back_end {
        BackEndConfig::Templates { on, off, soft_off, status } => Ok(BackEnd::Templates(Box::new(Templates {
            on: compile("on", on)?,
            off: compile("off", off)?,
            soft_off: soft_off.as_ref().map(|template| compile("softOff", template)).transpose()?,
            status: match status {
                Some(status) => Some((compile("status.request", &status.request)?, reader(&status.read)?)),
                None => None,
            },
        }))),
        BackEndConfig::Redfish { system, auth, ca, timeout_seconds } => {
            let mut template = RequestTemplate::new("GET", system.trim_end_matches('/')).with_auth(auth);
            template = template.with_header("accept", "application/json");
            template.ca = ca.clone();
            template.timeout_seconds = *timeout_seconds;
            Ok(BackEnd::Redfish { system: Box::new(compile("system", &template)?) })
        }
    }
}

fn compile(
    config: &MachineConfig,
    node: &str,
    policy: &UrlPolicy,
    field: &str,
    template: &RequestTemplate,
) -> Result<Template, Problem> {
    let problem = |part: &str, why: String| (format!("{field}.{part}"), why);
    // These three are DNS names, so they cannot change what the URL means.
    let url = template.url.replace("${machine}", &config.name).replace("${node}", node);
    let url = url.replace("${class}", &config.class);
    if url.contains("${") {
        return Err(problem("url", "has a variable other than machine, node and class".to_owned()));
    }
    let url = policy.check(&url).map_err(|refused| problem("url", format!("is refused: {refused}")))?;
    let method = Method::from_bytes(template.method.as_bytes())
        .map_err(|_| problem("method", "is not an HTTP method".to_owned()))?;
    let mut headers = Vec::new();
    for (name, value) in &template.headers {
        let header = name.parse::<HeaderName>().map_err(|_| problem("headers", format!("{name:?} is not a header")))?;
        HeaderValue::from_str(value)
            .map_err(|_| problem("headers", format!("{name:?} has a value no header takes")))?;
        headers.push((header, value.clone()));
    }
    let mut success = Vec::new();
    for code in &template.success {
        let code = StatusCode::from_u16(*code).map_err(|_| problem("success", format!("{code} is not a status")))?;
        success.push(code);
    }
    if !(1..=120).contains(&template.timeout_seconds) {
        return Err(problem("timeoutSeconds", "is not between 1 and 120".to_owned()));
    }
    if let Some(pem) = &template.ca {
        authorities_of(pem).map_err(|why| problem("ca", why))?;
    }
    check_auth(&template.auth).map_err(|why| problem("auth", why.to_owned()))?;
    Ok(Template {
        method,
        url,
        headers,
        body: template.body.clone(),
        auth: template.auth.clone(),
        ca: template.ca.as_deref().map(Arc::from),
        success,
        timeout: Duration::from_secs(u64::from(template.timeout_seconds)),
        failure_pointer: template.failure_pointer.clone(),
    })
}

/// A secret that is missing is found at the start, not in the first call.
fn check_auth(auth: &Auth) -> Result<(), &'static str> {
    let fits = |text: &str| !text.is_empty() && HeaderValue::from_str(text).is_ok();
    match auth {
        Auth::None => Ok(()),
        Auth::Basic { user, password } => {
            let good = !user.is_empty() && !user.contains(':') && !password.expose().is_empty();
            if good { Ok(()) } else { Err("needs a user without a colon and a password") }
        }
        Auth::Bearer(token) if fits(token.expose()) => Ok(()),
        Auth::Bearer(_) => Err("needs a token that a header can carry"),
        Auth::Header { name, value } if name.parse::<HeaderName>().is_ok() && fits(value.expose()) => Ok(()),
        Auth::Header { .. } => Err("needs the name of a header and a value that it can carry"),
        Auth::Hmac { key, .. } if !key.expose().is_empty() => Ok(()),
        Auth::Hmac { .. } => Err("needs a key"),
        Auth::MaasKey(key) if key.expose().split(':').filter(|part| fits(part)).count() == 3 => Ok(()),
        Auth::MaasKey(_) => Err("needs a MAAS key of three parts, consumer:token:secret"),
    }
}

fn reader(rule: &StatusRule) -> Result<StatusReader, Problem> {
    let problem = |why: &str| ("status.read".to_owned(), why.to_owned());
    match rule {
        StatusRule::Pointer { at, on, off, turning_on, turning_off } => {
            if !at.is_empty() && !at.starts_with('/') {
                return Err(problem("has a JSON pointer that does not begin with /"));
            }
            if on.is_empty() || off.is_empty() {
                return Err(problem("needs at least one value for on and one for off"));
            }
            Ok(StatusReader::Pointer {
                at: at.clone(),
                on: on.clone(),
                off: off.clone(),
                turning_on: turning_on.clone(),
                turning_off: turning_off.clone(),
            })
        }
        StatusRule::Regex { on, off } => {
            let compile = |text: &str| Regex::new(text).map_err(|_| problem("has an expression that cannot be read"));
            Ok(StatusReader::Regex { on: compile(on)?, off: compile(off)? })
        }
    }
}
