//! Back ends that people have, each as the requests it takes.

use crate::config::{Auth, BackEndConfig, RequestTemplate, StatusRule, StatusTemplate, default_redfish_timeout};
use serde_json::json;

/// k8s-gpu-autoprovision: POST `{}` to a URL for up and a URL for down. There is no status; the Node is the witness.
pub fn seed(up: &str, down: &str) -> BackEndConfig {
    let post = |url: &str| Box::new(RequestTemplate::new("POST", url).with_json("{}"));
    BackEndConfig::Templates { on: post(up), off: post(down), soft_off: None, status: None }
}

/// The webhook power driver of MAAS, and servers made for it such as maaspower: empty POSTs, and a text to search.
pub fn maas(on: &str, off: &str, query: &str, auth: &Auth) -> BackEndConfig {
    let ask = |method: &str, url: &str| {
        let request = RequestTemplate::new(method, url).with_header("accept", "application/json");
        request.with_header("system_id", "${machine}").with_auth(auth)
    };
    let read = StatusRule::Regex { on: r"status.*\:.*running".to_owned(), off: r"status.*\:.*stopped".to_owned() };
    BackEndConfig::Templates {
        on: Box::new(ask("POST", on)),
        off: Box::new(ask("POST", off)),
        soft_off: None,
        status: Some(Box::new(StatusTemplate { request: ask("GET", query), read })),
    }
}

/// The API of MAAS itself; `base` as in `http://maas:5240/MAAS`, `system` the machine's system ID.
pub fn maas_api(base: &str, system: &str, auth: &Auth) -> BackEndConfig {
    let machine = format!("{}/api/2.0/machines/{system}", base.trim_end_matches('/'));
    let ask = |method: &str, operation: &str| {
        let request = RequestTemplate::new(method, format!("{machine}/{operation}"));
        request.with_header("accept", "application/json").with_auth(auth)
    };
    let off = |mode: &str| {
        let request = ask("POST", "op-power_off").with_header("content-type", "application/x-www-form-urlencoded");
        Box::new(RequestTemplate { body: format!("stop_mode={mode}"), ..request })
    };
    BackEndConfig::Templates {
        on: Box::new(ask("POST", "op-power_on")),
        off: off("hard"),
        soft_off: Some(off("soft")),
        status: Some(Box::new(StatusTemplate {
            request: ask("GET", "op-query_power_state"),
            read: pointer("/state", "on", "off"),
        })),
    }
}

/// A Redfish system: graceful first, force by policy.
pub fn redfish(system: &str, auth: &Auth) -> BackEndConfig {
    BackEndConfig::Redfish {
        system: system.to_owned(),
        auth: auth.clone(),
        ca: None,
        timeout_seconds: default_redfish_timeout(),
    }
}

/// The RPC of bmclib and Rufio; `host` is the BMC as the consumer knows it.
pub fn bmclib(consumer: &str, host: &str, auth: &Auth) -> BackEndConfig {
    let call = |method: &str, params: serde_json::Value| {
        let mut body = json!({ "id": 1, "host": host, "method": method });
        if !params.is_null() {
            body["params"] = params;
        }
        let request = RequestTemplate::new("POST", consumer).with_json(body.to_string()).with_auth(auth);
        RequestTemplate { failure_pointer: Some("/error".to_owned()), ..request }
    };
    let set = |state: &str| Box::new(call("setPowerState", json!({ "state": state })));
    BackEndConfig::Templates {
        on: set("on"),
        off: set("off"),
        soft_off: Some(set("soft")),
        status: Some(Box::new(StatusTemplate {
            request: call("getPowerState", serde_json::Value::Null),
            read: pointer("/result", "on", "off"),
        })),
    }
}

/// A virtual machine of Proxmox VE; `base` as in `https://pve:8006`. The token goes into [`Auth::Header`] as
/// `PVEAPIToken=user@realm!name=secret` under `authorization`.
pub fn proxmox(base: &str, node: &str, vm: u32, auth: &Auth) -> BackEndConfig {
    let status = format!("{}/api2/json/nodes/{node}/qemu/{vm}/status", base.trim_end_matches('/'));
    let ask = |method: &str, verb: &str| RequestTemplate::new(method, format!("{status}/{verb}")).with_auth(auth);
    BackEndConfig::Templates {
        on: Box::new(ask("POST", "start")),
        off: Box::new(ask("POST", "stop")),
        soft_off: Some(Box::new(ask("POST", "shutdown"))),
        status: Some(Box::new(StatusTemplate {
            request: ask("GET", "current"),
            read: pointer("/data/status", "running", "stopped"),
        })),
    }
}

/// A switch of Home Assistant; `base` as in `http://homeassistant:8123`. A plug cuts power: give `soft_off` a request
/// that shuts the operating system down where there is one.
pub fn home_assistant(base: &str, entity: &str, auth: &Auth) -> BackEndConfig {
    let base = base.trim_end_matches('/');
    let turn = |service: &str| {
        let request = RequestTemplate::new("POST", format!("{base}/api/services/switch/{service}"));
        Box::new(request.with_json(json!({ "entity_id": entity }).to_string()).with_auth(auth))
    };
    BackEndConfig::Templates {
        on: turn("turn_on"),
        off: turn("turn_off"),
        soft_off: None,
        status: Some(Box::new(StatusTemplate {
            request: RequestTemplate::new("GET", format!("{base}/api/states/{entity}")).with_auth(auth),
            read: pointer("/state", "on", "off"),
        })),
    }
}

fn pointer(at: &str, on: &str, off: &str) -> StatusRule {
    StatusRule::Pointer {
        at: at.to_owned(),
        on: vec![on.to_owned()],
        off: vec![off.to_owned()],
        turning_on: Vec::new(),
        turning_off: Vec::new(),
    }
}
