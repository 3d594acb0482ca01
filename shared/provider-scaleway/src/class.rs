//! What a node class may say to this provider, read from `InstanceRequest.class`, and checked before anything is sent.
//!
//! | key | value |
//! |---|---|
//! | `join` | `kubeadm`, `k3s` or `kosmos`; needed |
//! | `join.endpoint` | kubeadm: `host:port`; k3s: `https://host:port` |
//! | `join.token` | secret: kubeadm's bootstrap token, or k3s's node token |
//! | `join.ca-cert-hash` | kubeadm: `sha256:…` |
//! | `join.kubernetes-version` | kubeadm: the minor version of the packages, as in `1.34` |
//! | `join.pool-id`, `join.pool-region` | kosmos: the external pool |
//! | `join.secret-key` | secret: kosmos: the key with KubernetesExternalNodeRegister |
//! | `join.cloud-provider` | `external` where Scaleway's cloud controller manager runs; else the kubelet says its own ID |
//! | `joined` | `true` once the node has joined: `ensure` then removes the join secret from the user data |
//! | `image` | a marketplace label or an image ID; `ubuntu_jammy_gpu_os_12` |
//! | `driver` | `install` or `preinstalled`; by the image: those with `gpu_os` in their label have it |
//! | `root-volume-size` | a quantity, as in `200G`; else what the claim asks for, else 100 GB |
//! | `scratch` | `true` for all the local NVMe the type has |
//! | `public-ip` | `dynamic` (default), `flexible` or `none` |
//! | `security-group`, `private-network`, `project` | IDs |

use core::fmt;
use model::Quantity;
use std::collections::BTreeMap;

use crate::names::{is_uuid, is_zone};

pub(crate) const DEFAULT_IMAGE: &str = "ubuntu_jammy_gpu_os_12";

#[derive(Debug, Clone)]
pub(crate) struct Class {
    pub join: Join,
    pub external_cloud_provider: bool,
    pub joined: bool,
    pub image: String,
    pub install_driver: bool,
    pub root_bytes: Option<u64>,
    pub scratch: bool,
    pub public_ip: PublicIp,
    pub security_group: Option<String>,
    pub private_network: Option<String>,
    pub project: Option<String>,
}

#[derive(Debug, Clone)]
pub(crate) enum Join {
    Kubeadm { endpoint: String, token: JoinSecret, ca_cert_hash: String, version: String },
    K3s { url: String, token: JoinSecret },
    Kosmos { pool: String, region: String, secret_key: JoinSecret },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PublicIp {
    Dynamic,
    Flexible,
    None,
}

/// What lets a machine into the cluster. It has no way to show itself except into user data.
#[derive(Clone)]
pub(crate) struct JoinSecret(String);

impl JoinSecret {
    pub fn for_user_data(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for JoinSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JoinSecret(…)")
    }
}

impl Class {
    /// An error names the key and what to write there; it never repeats a value.
    pub fn read(class: &BTreeMap<String, String>) -> Result<Class, String> {
        let get = |key: &str| class.get(key).map(|text| text.trim()).filter(|text| !text.is_empty());
        let choice = |key: &str, allowed: &[&'static str]| match get(key) {
            None => Ok(allowed[0]),
            Some(text) => allowed
                .iter()
                .find(|one| **one == text)
                .copied()
                .ok_or_else(|| format!("{key} of the node class must be one of: {}", allowed.join(", "))),
        };
        let id = |key: &str| match get(key) {
            Some(text) if !is_uuid(text) => Err(format!("{key} of the node class is not a UUID")),
            other => Ok(other.map(str::to_owned)),
        };
        let image = get("image").unwrap_or(DEFAULT_IMAGE).to_owned();
        if !image.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte)) {
            return Err("image of the node class is neither a label nor an ID".to_owned());
        }
        let driver = if image.contains("gpu_os") { ["preinstalled", "install"] } else { ["install", "preinstalled"] };
        let root_bytes = match get("root-volume-size").map(str::parse::<Quantity>) {
            None => None,
            Some(Ok(size)) => Some(u64::try_from(size.thousandths() / 1000).unwrap_or(u64::MAX)),
            Some(Err(_)) => return Err("root-volume-size of the node class is no quantity, as in 200G".to_owned()),
        };
        Ok(Class {
            join: join(&get)?,
            external_cloud_provider: choice("join.cloud-provider", &["none", "external"])? == "external",
            joined: choice("joined", &["false", "true"])? == "true",
            install_driver: choice("driver", &driver)? == "install",
            image,
            root_bytes,
            scratch: choice("scratch", &["false", "true"])? == "true",
            public_ip: match choice("public-ip", &["dynamic", "flexible", "none"])? {
                "flexible" => PublicIp::Flexible,
                "none" => PublicIp::None,
                _ => PublicIp::Dynamic,
            },
            security_group: id("security-group")?,
            private_network: id("private-network")?,
            project: id("project")?,
        })
    }
}

fn join<'a>(get: &impl Fn(&str) -> Option<&'a str>) -> Result<Join, String> {
    let text = |key: &str, example: &str| match get(key) {
        None => Err(format!("{key} of the node class is missing, as in {example}")),
        Some(text) if !is_plain(text) => Err(format!("{key} of the node class has a character that no {key} has")),
        Some(text) => Ok(text.to_owned()),
    };
    let secret = |key: &str| text(key, "the value of a Secret").map(JoinSecret);
    match get("join") {
        Some("kubeadm") => {
            let version = text("join.kubernetes-version", "1.34")?;
            if !version.split('.').all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit())) {
                return Err("join.kubernetes-version of the node class is no minor version, as in 1.34".to_owned());
            }
            Ok(Join::Kubeadm {
                endpoint: text("join.endpoint", "10.0.0.1:6443")?,
                token: secret("join.token")?,
                ca_cert_hash: text("join.ca-cert-hash", "sha256:0123…")?,
                version,
            })
        }
        Some("k3s") => {
            Ok(Join::K3s { url: text("join.endpoint", "https://10.0.0.1:6443")?, token: secret("join.token")? })
        }
        Some("kosmos") => {
            let pool = text("join.pool-id", "6f1c0d3e-1111-4222-8333-944444444444")?;
            let region = text("join.pool-region", "fr-par")?;
            if !is_uuid(&pool) || !is_zone(&format!("{region}-1")) {
                return Err("join.pool-id must be a UUID and join.pool-region a region, as in fr-par".to_owned());
            }
            Ok(Join::Kosmos { pool, region, secret_key: secret("join.secret-key")? })
        }
        _ => Err("join of the node class must be kubeadm, k3s or kosmos".to_owned()),
    }
}

/// Printable, and nothing that ends a quoted word in YAML or in a shell.
fn is_plain(text: &str) -> bool {
    text.len() <= 512 && text.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"'`$\\".contains(&byte))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const KUBEADM: [(&str, &str); 5] = [
        ("join", "kubeadm"),
        ("join.endpoint", "10.0.0.1:6443"),
        ("join.token", "abcdef.0123456789abcdef"),
        ("join.ca-cert-hash", "sha256:00"),
        ("join.kubernetes-version", "1.34"),
    ];

    fn read(with: &[(&str, &str)]) -> Result<Class, String> {
        let pairs = KUBEADM.iter().chain(with);
        Class::read(&pairs.map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect())
    }

    #[test]
    fn what_is_not_said_has_a_default() {
        let class = read(&[]).unwrap();
        assert_eq!((class.image.as_str(), class.install_driver), (DEFAULT_IMAGE, false));
        assert!(read(&[("image", "ubuntu_noble")]).unwrap().install_driver);
        assert!(!format!("{class:?}").contains("abcdef"), "a join secret is never shown");
    }

    #[test]
    fn each_wrong_value_is_named_and_never_repeated() {
        for (key, value) in [
            ("join", "rke"),
            ("join.token", "evil\"; rm -rf"),
            ("join.token", ""),
            ("join.endpoint", "$(evil)"),
            ("join.kubernetes-version", "latest"),
            ("image", "../evil"),
            ("root-volume-size", "big"),
            ("scratch", "maybe"),
            ("public-ip", "static"),
            ("security-group", "default"),
            ("driver", "none"),
        ] {
            let why = read(&[(key, value)]).unwrap_err();
            assert!(why.contains(key), "{key}: {why}");
            assert!(value.is_empty() || !why.contains("evil"), "{why}");
        }
    }
}
