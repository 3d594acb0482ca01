//! Rules for a container's probes, ports and variables.

use super::not_negative;
use super::pod::valid_port;
use crate::resources::errors::FieldError;
use crate::resources::look::{at, entries, has, items, number, text};
use serde_json::Value;

const HANDLERS: [&str; 4] = ["exec", "httpGet", "tcpSocket", "grpc"];

pub fn validate_probes(container: &Value, path: &str, errors: &mut Vec<FieldError>) {
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if has(container, &[name]) {
            validate_probe(at(container, &[name]), &format!("{path}.{name}"), errors);
        }
    }
}

fn validate_probe(probe: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let mut handlers = 0;
    for handler in HANDLERS.iter().filter(|handler| has(probe, &[handler])) {
        handlers += 1;
        let field = format!("{path}.{handler}");
        if handlers > 1 {
            errors.push(FieldError::forbidden(&field, "may not specify more than 1 handler type"));
            continue;
        }
        match *handler {
            "exec" if items(probe, &["exec", "command"]).is_empty() => {
                errors.push(FieldError::required(&format!("{field}.command"), ""));
            }
            "httpGet" | "tcpSocket" | "grpc" => {
                let port = at(probe, &[handler, "port"]);
                match port {
                    Value::String(name) => {
                        let wrong = check_port_name(name);
                        errors.extend(
                            wrong
                                .iter()
                                .map(|wrong| FieldError::invalid(&format!("{field}.port"), name.as_str(), wrong)),
                        );
                    }
                    other => errors.extend(valid_port(other.as_i64().unwrap_or_default(), &format!("{field}.port"))),
                }
            }
            _ => {}
        }
    }
    if handlers == 0 {
        errors.push(FieldError::required(path, "must specify a handler type"));
    }
    let counts = ["initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"];
    for field in counts {
        errors.extend(not_negative(&format!("{path}.{field}"), at(probe, &[field])));
    }
}

pub fn validate_ports(container: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let mut names: Vec<&str> = Vec::new();
    for (index, port) in items(container, &["ports"]).iter().enumerate() {
        let path = format!("{path}.ports[{index}]");
        let name = text(port, &["name"]);
        if !name.is_empty() {
            let wrong = check_port_name(name);
            errors.extend(wrong.iter().map(|wrong| FieldError::invalid(&format!("{path}.name"), name, wrong)));
            if wrong.is_empty() && names.contains(&name) {
                errors.push(FieldError::duplicate(&format!("{path}.name"), name));
            }
            names.push(name);
        }
        match number(port, &["containerPort"]).unwrap_or_default() {
            0 => errors.push(FieldError::required(&format!("{path}.containerPort"), "")),
            given => errors.extend(valid_port(given, &format!("{path}.containerPort"))),
        }
        if let Some(host) = number(port, &["hostPort"]).filter(|host| *host != 0) {
            errors.extend(valid_port(host, &format!("{path}.hostPort")));
        }
        super::pod::one_of(port, &path, "protocol", &["SCTP", "TCP", "UDP"], errors);
    }
}

/// The names of ports are those of IANA's services: short, and with a letter in them.
fn check_port_name(name: &str) -> Vec<&'static str> {
    let mut wrong = Vec::new();
    if name.len() > 15 {
        wrong.push("must be no more than 15 characters");
    }
    if !name.chars().all(|one| one.is_ascii_lowercase() || one.is_ascii_digit() || one == '-') {
        wrong.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
    }
    if !name.chars().any(|one| one.is_ascii_lowercase()) {
        wrong.push("must contain at least one letter (a-z)");
    }
    if name.contains("--") {
        wrong.push("must not contain consecutive hyphens");
    }
    if name.starts_with('-') || name.ends_with('-') {
        wrong.push("must not begin or end with a hyphen");
    }
    wrong
}

pub fn validate_variables(container: &Value, path: &str, errors: &mut Vec<FieldError>) {
    for (index, variable) in items(container, &["env"]).iter().enumerate() {
        let path = format!("{path}.env[{index}]");
        let name = text(variable, &["name"]);
        if name.is_empty() {
            errors.push(FieldError::required(&format!("{path}.name"), ""));
        } else if !name.chars().all(|one| (' '..='~').contains(&one) && one != '=') {
            let detail =
                "a valid environment variable name must consist only of printable ASCII characters other than '='";
            errors.push(FieldError::invalid(&format!("{path}.name"), name, detail));
        }
        let sources = entries(variable, &["valueFrom"]).len();
        let field = format!("{path}.valueFrom");
        if has(variable, &["valueFrom"]) && sources == 0 {
            let detail = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`";
            errors.push(FieldError::invalid(&field, "", detail));
        }
        if !text(variable, &["value"]).is_empty() && sources > 0 {
            errors.push(FieldError::invalid(&field, "", "may not be specified when `value` is not empty"));
        } else if sources > 1 {
            let detail = "may not have more than one field specified at a time";
            errors.push(FieldError::invalid(&field, "", detail));
        }
    }
}
