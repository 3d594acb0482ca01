//! What the forwarder is told beyond what every process is told; read together, so that all that is wrong is said at once.

use core::time::Duration;
use host::{
    SettingSource,
    settings::{Problem, Problems, Signing, add, optional},
};
use model::{ClusterId, duration};
use provider_aks::{AzureTokens, HiddenText};
use serde_json::Value;
use std::{collections::BTreeMap, sync::Arc};

use crate::{
    debounce::Batching,
    queue::Limits,
    sink::{Address, AwsSettings, EntraSettings, FUNCTIONS, HttpSettings, Invocation, LambdaSettings},
    watch::StreamingLists,
};

/// How the forwarder works.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The `source` of every event.
    pub cluster: ClusterId,
    /// Where our Lease is; else the namespace of the connection.
    pub namespace: Option<String>,
    /// Attributes that every event gets.
    pub extensions: BTreeMap<String, Value>,
    pub batching: Batching,
    pub pending_repeat: Duration,
    pub tick: Duration,
    pub resync: Duration,
    /// Deliveries under way at once.
    pub parallel: usize,
    pub limits: Limits,
    /// `None`: there is one replica only.
    pub lease: Option<Duration>,
    pub lists: StreamingLists,
}

/// Where the functions are, and who we are to them.
#[derive(Clone)]
pub struct SinkSettings {
    pub addresses: BTreeMap<&'static str, Address>,
    pub http: HttpSettings,
    pub lambda: LambdaSettings,
}

impl Settings {
    /// For functions in the same process: nothing is asked about sinks.
    pub fn read(source: SettingSource) -> Result<(host::Settings, Self), Problems> {
        let (host, settings) = host::Settings::read_with(source, forwarding)?;
        let cluster = host.cluster.clone();
        Ok((host, Settings { cluster, ..settings }))
    }

    pub fn read_with_sinks(source: SettingSource) -> Result<(host::Settings, Self, SinkSettings), Problems> {
        let read = |source: &SettingSource, problems: &mut Vec<Problem>| {
            (forwarding(source, problems), sinks(source, problems))
        };
        let (host, (settings, mut sinks)) = host::Settings::read_with(source, read)?;
        if let Signing::Required(secrets) = &host.signing {
            sinks.http.secret = secrets.first().cloned();
        }
        let cluster = host.cluster.clone();
        Ok((host, Settings { cluster, ..settings }, sinks))
    }
}

fn forwarding(source: &SettingSource, problems: &mut Vec<Problem>) -> Settings {
    let lease = time(source, problems, "PILOTLIGHT_LEASE_DURATION", 15, Duration::ZERO);
    if !lease.is_zero() && lease < Duration::from_secs(3) {
        add(problems, "PILOTLIGHT_LEASE_DURATION", "must be at least 3s, or 0s for one replica only".to_owned());
    }
    let second = Duration::from_secs(1);
    Settings {
        // Every process is told; it is put in from there.
        cluster: ClusterId::default(),
        namespace: source.get("PILOTLIGHT_NAMESPACE"),
        extensions: overrides(source, problems),
        batching: batching(source, problems),
        pending_repeat: time(source, problems, "PILOTLIGHT_PENDING_REPEAT", 10, second),
        tick: time(source, problems, "PILOTLIGHT_TICK", 30, second),
        resync: time(source, problems, "PILOTLIGHT_RESYNC", 300, second),
        parallel: number(source, problems, "PILOTLIGHT_PARALLEL", 32, 1000),
        limits: Limits {
            lanes: number(source, problems, "PILOTLIGHT_QUEUE", 10_000, 10_000_000),
            tries: u32::try_from(number(source, problems, "PILOTLIGHT_TRIES", 10, 1_000_000)).unwrap_or(u32::MAX),
        },
        lease: Some(lease).filter(|lease| !lease.is_zero()),
        lists: lists(source, problems),
    }
}

fn batching(source: &SettingSource, problems: &mut Vec<Problem>) -> Batching {
    let window = read_time(source, problems, "PILOTLIGHT_BATCH_WINDOW", Duration::ZERO);
    let idle = read_time(source, problems, "BATCH_IDLE_DURATION", Duration::from_millis(1));
    let longest = read_time(source, problems, "BATCH_MAX_DURATION", Duration::from_millis(1));
    if idle.is_none() && longest.is_none() {
        return Batching::LeadingEdge { window: window.unwrap_or(Duration::from_millis(100)) };
    }
    let idle = idle.unwrap_or(Duration::from_secs(1));
    Batching::Karpenter { idle, longest: longest.unwrap_or(Duration::from_secs(10)).max(idle) }
}

fn lists(source: &SettingSource, problems: &mut Vec<Problem>) -> StreamingLists {
    let read = optional(source, problems, "PILOTLIGHT_STREAMING_LISTS", |text| match text {
        "auto" => Ok(StreamingLists::ByVersion),
        "true" => Ok(StreamingLists::Always),
        "false" => Ok(StreamingLists::Never),
        _ => Err(format!("{text:?} is neither true, false nor auto")),
    });
    read.unwrap_or(StreamingLists::ByVersion)
}

/// `{"extensions": {name: value}}`, as Knative writes it.
fn overrides(source: &SettingSource, problems: &mut Vec<Problem>) -> BTreeMap<String, Value> {
    let read = |text: &str| -> Result<BTreeMap<String, Value>, String> {
        let value: Value = serde_json::from_str(text).map_err(|_| "is not JSON".to_owned())?;
        let Some(extensions) = value.get("extensions").filter(|given| !given.is_null()) else {
            return Ok(BTreeMap::new());
        };
        let extensions = extensions.as_object().ok_or("\"extensions\" is not an object")?;
        for (name, value) in extensions {
            let plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
            let own = ["specversion", "id", "source", "type", "subject", "time", "data", "datacontenttype"];
            if !plain || own.contains(&name.as_str()) || !value.is_string() {
                let shown: String = name.chars().take(40).collect();
                return Err(format!(
                    "{shown:?} is no name of an extension (lower-case letters and digits) with a text"
                ));
            }
        }
        Ok(extensions.clone().into_iter().collect())
    };
    optional(source, problems, "K_CE_OVERRIDES", read).unwrap_or_default()
}

fn sinks(source: &SettingSource, problems: &mut Vec<Problem>) -> SinkSettings {
    let (mut addresses, mut is_told) = (BTreeMap::new(), false);
    for function in FUNCTIONS {
        let own = format!("PILOTLIGHT_SINK_{}", function.to_uppercase().replace('-', "_"));
        let (variable, read): (&str, fn(&str, &str) -> _) = if source.get(&own).is_some() {
            (&own, Address::exact)
        } else if source.get("PILOTLIGHT_SINK").is_some() {
            ("PILOTLIGHT_SINK", Address::of_base)
        } else {
            ("K_SINK", Address::of_knative)
        };
        is_told |= source.get(variable).is_some();
        match source.get(variable).map(|text| read(&text, function)) {
            Some(Ok(address)) => _ = addresses.insert(function, address),
            Some(Err(problem)) => {
                add(problems, variable, problem.to_string());
                // One line is enough for what all functions share.
                if variable != own {
                    break;
                }
            }
            None => {}
        }
    }
    if !is_told {
        let what = "is missing: where are the functions? Set it, or PILOTLIGHT_SINK_<FUNCTION> for each, or K_SINK";
        add(problems, "PILOTLIGHT_SINK", what.to_owned());
    }
    let invocation = optional(source, problems, "PILOTLIGHT_LAMBDA_INVOCATION", |text| match text {
        "RequestResponse" => Ok(Invocation::RequestResponse),
        "Event" => Ok(Invocation::Event),
        _ => Err(format!("{text:?} is neither RequestResponse nor Event")),
    });
    let hidden = |name: &str| source.get(name).map(HiddenText::new);
    SinkSettings {
        addresses,
        http: HttpSettings { secret: None, key: hidden("PILOTLIGHT_FUNCTIONS_KEY"), entra: entra(source, problems) },
        lambda: LambdaSettings {
            invocation: invocation.unwrap_or_default(),
            endpoint: source.get("AWS_ENDPOINT_URL_LAMBDA").or_else(|| source.get("AWS_ENDPOINT_URL")),
            aws: AwsSettings {
                access_key: source.get("AWS_ACCESS_KEY_ID"),
                secret_key: hidden("AWS_SECRET_ACCESS_KEY"),
                session_token: hidden("AWS_SESSION_TOKEN"),
                role: source.get("AWS_ROLE_ARN"),
                web_identity_file: source.get("AWS_WEB_IDENTITY_TOKEN_FILE"),
                sts_endpoint: source.get("AWS_ENDPOINT_URL_STS").or_else(|| source.get("AWS_ENDPOINT_URL")),
                container_uri: source.get("AWS_CONTAINER_CREDENTIALS_FULL_URI"),
                container_token_file: source.get("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"),
            },
        },
    }
}

/// Signs in by the same variables as the AKS provider. What that wants to know of a cluster does not matter here.
fn entra(source: &SettingSource, problems: &mut Vec<Problem>) -> Option<EntraSettings> {
    let scope = source.get("PILOTLIGHT_ENTRA_SCOPE")?;
    let cluster = ["ARM_SUBSCRIPTION_ID", "ARM_RESOURCE_GROUP", "AZURE_CLUSTER_NAME", "LOCATION"];
    let lookup = |name: &str| source.get(name).or_else(|| cluster.contains(&name).then(|| "none".to_owned()));
    match provider_aks::Settings::read(lookup) {
        Ok(settings) => {
            let tokens = AzureTokens::new(settings, Arc::new(provider_aks::Web::default()));
            Some(EntraSettings { scope, tokens: Arc::new(tokens) })
        }
        Err(found) => {
            for problem in found {
                problems.push(Problem::new(problem.variable, problem.problem, problem.example));
            }
            None
        }
    }
}

fn time(
    source: &SettingSource,
    problems: &mut Vec<Problem>,
    variable: &'static str,
    default_seconds: u64,
    least: Duration,
) -> Duration {
    read_time(source, problems, variable, least).unwrap_or(Duration::from_secs(default_seconds))
}

fn read_time(
    source: &SettingSource,
    problems: &mut Vec<Problem>,
    variable: &'static str,
    least: Duration,
) -> Option<Duration> {
    const MOST: Duration = Duration::from_secs(24 * 3600);
    optional(source, problems, variable, |text| match duration::parse(text).map(Duration::try_from) {
        Some(Ok(time)) if (least..=MOST).contains(&time) => Ok(time),
        _ => Err(format!("{text:?} is not a time from {least:?} to 24h, as in 500ms, 10s or 1m30s")),
    })
}

fn number(
    source: &SettingSource,
    problems: &mut Vec<Problem>,
    variable: &'static str,
    default: usize,
    most: usize,
) -> usize {
    let read = optional(source, problems, variable, |text| match text.parse() {
        Ok(number) if (1..=most).contains(&number) => Ok(number),
        _ => Err(format!("{text:?} is not a number from 1 to {most}")),
    });
    read.unwrap_or(default)
}
