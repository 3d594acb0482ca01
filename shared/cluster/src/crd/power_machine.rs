//! A machine of a PowerNodeClass as the JSON that the power provider reads, with its secrets in place.

use super::power_back_end::PowerBackEnd;
use super::power_node_class::{PowerMachine, PowerNodeClassSpec};
use super::power_request::{HmacStyle, PowerAuth, PowerRequest, PowerStatus};
use super::secrets::{MissingSecret, SecretKeyReference, Secrets};
use serde_json::{Map, Value, json};

/// What keeps a machine from being described.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PowerMachineError {
    #[error("machine {machine}: {source}")]
    Secret { machine: String, source: MissingSecret },
    #[error(
        "machine {machine}: energy.pricePerKWh is no price; write a decimal number with at most six decimals, as in 0.31"
    )]
    Price { machine: String },
    #[error("machine {machine}: {field} has to hold exactly one of its alternatives")]
    NotExactlyOne { machine: String, field: &'static str },
}

/// The same, before it is known which machine it was.
enum Problem {
    Secret(MissingSecret),
    Price,
    NotExactlyOne(&'static str),
}

/// BMCs accept a command and show the state before it for some seconds; measured on sushy-emulator, up to 10.9.
const REDFISH_SETTLES_SECONDS: u32 = 12;

impl PowerNodeClassSpec {
    /// Which Secrets have to be read before [`PowerMachine::to_config`], each once.
    pub fn needed_secrets(&self) -> Vec<SecretKeyReference> {
        let mut needed: Vec<_> = self.machines.iter().flat_map(PowerMachine::needed_secrets).collect();
        needed.sort();
        needed.dedup();
        needed
    }
}

impl PowerMachine {
    pub fn needed_secrets(&self) -> Vec<SecretKeyReference> {
        let back_end = &self.back_end;
        let mut requests: Vec<&PowerRequest> = Vec::new();
        if let Some(templates) = &back_end.templates {
            requests.extend([&templates.power_on, &templates.power_off]);
            requests.extend(&templates.soft_off);
            requests.extend(templates.status.as_ref().map(|status| &status.request));
        }
        requests.extend(back_end.home_assistant.as_ref().and_then(|switch| switch.soft_off.as_ref()));
        let auths = requests.iter().filter_map(|request| request.auth.as_ref()).chain(&back_end.auth);
        let authorities = requests.iter().filter_map(|request| request.ca_ref.as_ref()).chain(&back_end.ca_ref);
        auths.filter_map(secret_of).chain(authorities).cloned().collect()
    }

    /// `class` is the name of the PowerNodeClass: it stands in the provider ID.
    pub fn to_config(&self, class: &str, secrets: &Secrets) -> Result<Value, PowerMachineError> {
        self.describe(class, secrets).map_err(|problem| {
            let machine = self.name.clone();
            match problem {
                Problem::Secret(source) => PowerMachineError::Secret { machine, source },
                Problem::Price => PowerMachineError::Price { machine },
                Problem::NotExactlyOne(field) => PowerMachineError::NotExactlyOne { machine, field },
            }
        })
    }

    fn describe(&self, class: &str, secrets: &Secrets) -> Result<Value, Problem> {
        let gpu = &self.gpu;
        let mut gpus = json!({ "resource": gpu.resource, "count": gpu.count, "migCapable": gpu.mig_capable });
        put(&mut gpus, "model", gpu.model.as_deref());
        put(&mut gpus, "memoryMib", gpu.memory_mib);
        let capacity: Map<String, Value> =
            self.capacity.iter().map(|(name, amount)| (name.clone(), json!(amount.0))).collect();
        let mut config = json!({
            "name": self.name,
            "class": class,
            "gpu": gpus,
            "capacity": capacity,
            "arch": self.arch,
            "labels": self.labels,
            "backEnd": back_end(&self.back_end, secrets)?,
            "timing": self.timing_with_defaults(),
        });
        put(&mut config, "node", self.node.as_deref());
        if let Some(energy) = &self.energy {
            config["energy"] = json!({
                "watts": energy.watts,
                "millionthsPerKwh": millionths(&energy.price_per_kwh).ok_or(Problem::Price)?,
                "currency": energy.currency,
                "asOf": energy.as_of,
            });
        }
        Ok(config)
    }

    /// Only what is said; the provider has the other defaults.
    fn timing_with_defaults(&self) -> Value {
        let mut timing = self.timing.clone().unwrap_or_default();
        if self.back_end.redfish.is_some() {
            timing.settle_seconds.get_or_insert(REDFISH_SETTLES_SECONDS);
        }
        json!(timing)
    }
}

fn back_end(back_end: &PowerBackEnd, secrets: &Secrets) -> Result<Value, Problem> {
    let PowerBackEnd {
        seed,
        maas,
        maas_api,
        redfish,
        bmclib,
        proxmox,
        home_assistant,
        templates,
        auth,
        ca_ref,
        timeout_seconds,
    } = back_end;
    let mut found = Vec::new();
    found.extend(seed.as_ref().map(|it| json!({ "kind": "seed", "up": it.on_url, "down": it.off_url })));
    found.extend(
        maas.as_ref().map(|it| json!({ "kind": "maas", "on": it.on_url, "off": it.off_url, "query": it.query_url })),
    );
    found.extend(maas_api.as_ref().map(|it| json!({ "kind": "maasApi", "base": it.url, "system": it.system_id })));
    found.extend(redfish.as_ref().map(|it| json!({ "kind": "redfish", "system": it.system })));
    found.extend(bmclib.as_ref().map(|it| json!({ "kind": "bmclib", "consumer": it.url, "host": it.host })));
    found.extend(proxmox.as_ref().map(|it| json!({ "kind": "proxmox", "base": it.url, "node": it.node, "vm": it.vm })));
    if let Some(switch) = home_assistant {
        let mut value = json!({ "kind": "homeAssistant", "base": switch.url, "entity": switch.entity });
        put(&mut value, "softOff", switch.soft_off.as_ref().map(|it| request(it, secrets)).transpose()?);
        found.push(value);
    }
    if let Some(own) = templates {
        let mut value = json!({
            "kind": "templates",
            "on": request(&own.power_on, secrets)?,
            "off": request(&own.power_off, secrets)?,
        });
        put(&mut value, "softOff", own.soft_off.as_ref().map(|it| request(it, secrets)).transpose()?);
        put(&mut value, "status", own.status.as_ref().map(|it| status(it, secrets)).transpose()?);
        found.push(value);
    }
    let mut value = only(found, "backEnd")?;
    put(&mut value, "auth", auth.as_ref().map(|it| authentication(it, secrets)).transpose()?);
    put(&mut value, "ca", ca_ref.as_ref().map(|it| secrets.get(it)).transpose().map_err(Problem::Secret)?);
    put(&mut value, "timeoutSeconds", *timeout_seconds);
    Ok(value)
}

fn request(request: &PowerRequest, secrets: &Secrets) -> Result<Value, Problem> {
    let mut value = json!({
        "method": request.method,
        "url": request.url,
        "headers": request.headers,
        "success": request.success,
    });
    put(&mut value, "body", request.body.as_deref());
    put(&mut value, "auth", request.auth.as_ref().map(|it| authentication(it, secrets)).transpose()?);
    put(&mut value, "ca", request.ca_ref.as_ref().map(|it| secrets.get(it)).transpose().map_err(Problem::Secret)?);
    put(&mut value, "timeoutSeconds", request.timeout_seconds);
    put(&mut value, "failurePointer", request.failure_pointer.as_deref());
    Ok(value)
}

fn status(status: &PowerStatus, secrets: &Secrets) -> Result<Value, Problem> {
    let mut found = Vec::new();
    found.extend(status.pointer.as_ref().map(|it| {
        json!({ "pointer": { "at": it.at, "on": it.on_values, "off": it.off_values,
            "turningOn": it.turning_on_values, "turningOff": it.turning_off_values } })
    }));
    found.extend(status.regex.as_ref().map(|it| json!({ "regex": { "on": it.on_pattern, "off": it.off_pattern } })));
    Ok(json!({ "request": request(&status.request, secrets)?, "read": only(found, "status")? }))
}

fn authentication(auth: &PowerAuth, secrets: &Secrets) -> Result<Value, Problem> {
    let secret = |reference| secrets.get(reference).map_err(Problem::Secret);
    let PowerAuth { basic, bearer, header, hmac, maas_key } = auth;
    let mut found = Vec::new();
    if let Some(basic) = basic {
        found.push(json!({ "basic": { "user": basic.user, "password": secret(&basic.secret_ref)? } }));
    }
    if let Some(bearer) = bearer {
        found.push(json!({ "bearer": secret(&bearer.secret_ref)? }));
    }
    if let Some(header) = header {
        found.push(json!({ "header": { "name": header.name, "value": secret(&header.secret_ref)? } }));
    }
    if let Some(hmac) = hmac {
        let style = match hmac.style {
            HmacStyle::StandardWebhooks => "standardWebhooks",
            HmacStyle::Bmclib => "bmclib",
        };
        found.push(json!({ "hmac": { "style": style, "key": secret(&hmac.secret_ref)? } }));
    }
    if let Some(key) = maas_key {
        found.push(json!({ "maasKey": secret(&key.secret_ref)? }));
    }
    only(found, "auth")
}

fn secret_of(auth: &PowerAuth) -> Option<&SecretKeyReference> {
    let PowerAuth { basic, bearer, header, hmac, maas_key } = auth;
    let basic = basic.as_ref().map(|it| &it.secret_ref);
    let bearer = bearer.as_ref().map(|it| &it.secret_ref);
    let header = header.as_ref().map(|it| &it.secret_ref);
    let hmac = hmac.as_ref().map(|it| &it.secret_ref);
    basic.or(bearer).or(header).or(hmac).or(maas_key.as_ref().map(|it| &it.secret_ref))
}

/// The schema holds this too; a class may be older than its schema.
fn only(mut found: Vec<Value>, field: &'static str) -> Result<Value, Problem> {
    match (found.pop(), found.is_empty()) {
        (Some(one), true) => Ok(one),
        _ => Err(Problem::NotExactlyOne(field)),
    }
}

fn put(object: &mut Value, key: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        object[key] = value.into();
    }
}

fn millionths(price: &str) -> Option<u64> {
    let (whole, part) = price.split_once('.').unwrap_or((price, "0"));
    let digits = |text: &str| !text.is_empty() && text.len() <= 6 && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(part) {
        return None;
    }
    format!("{whole}{part:0<6}").parse().ok()
}
