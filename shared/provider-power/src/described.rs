//! A back end as a node class describes it: requests of one's own, or the name of a preset and what it needs.

use crate::config::{Auth, BackEndConfig, RequestTemplate, StatusTemplate, default_redfish_timeout, default_timeout};
use crate::presets;
use serde::Deserialize;

/// What [`BackEndConfig`] is read from.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields, tag = "kind")]
pub(crate) enum Described {
    Templates {
        on: Box<RequestTemplate>,
        off: Box<RequestTemplate>,
        #[serde(default)]
        soft_off: Option<Box<RequestTemplate>>,
        #[serde(default)]
        status: Option<Box<StatusTemplate>>,
    },
    Redfish {
        system: String,
        #[serde(default)]
        auth: Auth,
        #[serde(default)]
        ca: Option<String>,
        #[serde(default = "default_redfish_timeout")]
        timeout_seconds: u32,
    },
    Seed {
        up: String,
        down: String,
        #[serde(default)]
        auth: Auth,
        #[serde(default)]
        ca: Option<String>,
        #[serde(default = "default_timeout")]
        timeout_seconds: u32,
    },
    Maas {
        on: String,
        off: String,
        query: String,
        #[serde(default)]
        auth: Auth,
        #[serde(default)]
        ca: Option<String>,
        #[serde(default = "default_timeout")]
        timeout_seconds: u32,
    },
    MaasApi {
        base: String,
        system: String,
        #[serde(default)]
        auth: Auth,
        #[serde(default)]
        ca: Option<String>,
        #[serde(default = "default_timeout")]
        timeout_seconds: u32,
    },
    Bmclib {
        consumer: String,
        host: String,
        #[serde(default)]
        auth: Auth,
        #[serde(default)]
        ca: Option<String>,
        #[serde(default = "default_timeout")]
        timeout_seconds: u32,
    },
    Proxmox {
        base: String,
        node: String,
        vm: u32,
        #[serde(default)]
        auth: Auth,
        #[serde(default)]
        ca: Option<String>,
        #[serde(default = "default_timeout")]
        timeout_seconds: u32,
    },
    HomeAssistant {
        base: String,
        entity: String,
        /// What shuts the operating system down; it keeps its own authentication, authorities and patience.
        #[serde(default)]
        soft_off: Option<Box<RequestTemplate>>,
        #[serde(default)]
        auth: Auth,
        #[serde(default)]
        ca: Option<String>,
        #[serde(default = "default_timeout")]
        timeout_seconds: u32,
    },
}

impl From<Described> for BackEndConfig {
    fn from(described: Described) -> Self {
        match described {
            Described::Templates { on, off, soft_off, status } => {
                BackEndConfig::Templates { on, off, soft_off, status }
            }
            Described::Redfish { system, auth, ca, timeout_seconds } => {
                BackEndConfig::Redfish { system, auth, ca, timeout_seconds }
            }
            Described::Seed { up, down, auth, ca, timeout_seconds } => {
                // The preset is what k8s-gpu-autoprovision sends, which says nothing about itself.
                let mut back_end = presets::seed(&up, &down);
                each_request(&mut back_end, |request| request.auth = auth.clone());
                reached(back_end, ca, timeout_seconds)
            }
            Described::Maas { on, off, query, auth, ca, timeout_seconds } => {
                reached(presets::maas(&on, &off, &query, &auth), ca, timeout_seconds)
            }
            Described::MaasApi { base, system, auth, ca, timeout_seconds } => {
                reached(presets::maas_api(&base, &system, &auth), ca, timeout_seconds)
            }
            Described::Bmclib { consumer, host, auth, ca, timeout_seconds } => {
                reached(presets::bmclib(&consumer, &host, &auth), ca, timeout_seconds)
            }
            Described::Proxmox { base, node, vm, auth, ca, timeout_seconds } => {
                reached(presets::proxmox(&base, &node, vm, &auth), ca, timeout_seconds)
            }
            Described::HomeAssistant { base, entity, soft_off: own, auth, ca, timeout_seconds } => {
                let mut back_end = reached(presets::home_assistant(&base, &entity, &auth), ca, timeout_seconds);
                if let BackEndConfig::Templates { soft_off, .. } = &mut back_end {
                    *soft_off = own;
                }
                back_end
            }
        }
    }
}

fn reached(mut back_end: BackEndConfig, ca: Option<String>, timeout_seconds: u32) -> BackEndConfig {
    each_request(&mut back_end, |request| {
        request.ca = ca.clone();
        request.timeout_seconds = timeout_seconds;
    });
    back_end
}

fn each_request(back_end: &mut BackEndConfig, change: impl Fn(&mut RequestTemplate)) {
    if let BackEndConfig::Templates { on, off, soft_off, status } = back_end {
        change(on);
        change(off);
        soft_off.iter_mut().for_each(|request| change(request));
        status.iter_mut().for_each(|status| change(&mut status.request));
    }
}
