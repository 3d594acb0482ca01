//! Machines that exist, switched on and off over HTTP: webhooks, MAAS, Redfish, bmclib, Proxmox, Home Assistant.
//!
//! [`Power`] is the provider. Machines come from the variables of k8s-gpu-autoprovision ([`environment`]) or from
//! [`MachineConfig`], with [`presets`] for what people have. [`step`] is the state machine, and pure; requests go through
//! a [`Transport`], and only where the [`UrlPolicy`] lets them.

mod back_end;
mod call;
mod catalogue;
mod config;
mod described;
pub mod environment;
mod errors;
#[cfg(feature = "testing")]
mod hold_table;
mod holders;
mod look;
mod machine;
mod note;
mod power;
pub mod presets;
mod reboot;
mod redfish;
mod request;
mod reqwest_transport;
mod secret;
pub mod step;
mod transport;
mod url_policy;

pub use catalogue::PROVIDER;
pub use config::{
    Auth, BackEndConfig, EnergyConfig, GpuConfig, HmacStyle, MachineConfig, RequestTemplate, StatusRule,
    StatusTemplate, Timing,
};
#[cfg(feature = "testing")]
pub use hold_table::{HoldTable, Nodes};
pub use holders::{Hold, Holders, NodeSign};
pub use machine::{ConfigError, Machine};
pub use power::{Clock, Power};
pub use reqwest_transport::ReqwestTransport;
pub use secret::Secret;
pub use transport::{Transport, TransportError, TrustedAuthorities};
pub use url_policy::{HostRule, UrlPolicy, UrlRefused};
