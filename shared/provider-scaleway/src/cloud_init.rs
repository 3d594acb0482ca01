//! The user data of a server: what makes a machine with a GPU a node of the cluster. Rendered after the server was made,
//! for only then is its provider ID known.

mod driver;
mod k3s;
mod kosmos;
mod kubeadm;

use std::collections::BTreeMap;

use model::{Effect, Taint};

use crate::class::{Class, Join};

/// Everything a node says about itself. All of it has been checked to be plain words.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub name: String,
    pub provider_id: String,
    pub labels: BTreeMap<String, String>,
    pub taints: Vec<Taint>,
}

/// cloud-config that joins the node. It holds the join secret, so it goes nowhere but into user data.
pub(crate) fn render(class: &Class, node: &Node) -> String {
    let joining = match &class.join {
        Join::Kubeadm { endpoint, token, ca_cert_hash, version } => {
            kubeadm::steps(&kubeadm::Control { endpoint, token, ca_cert_hash, version }, class, node)
        }
        Join::K3s { url, token } => k3s::steps(url, token, class, node),
        Join::Kosmos { pool, region, secret_key } => kosmos::steps(pool, region, secret_key, node),
    };
    let mut steps = Steps::default();
    if class.install_driver {
        steps.add(driver::steps());
    }
    steps.add(joining);
    steps.cloud_config(&node.name)
}

/// Files to write and commands to run, in order.
#[derive(Debug, Default)]
struct Steps {
    files: Vec<File>,
    commands: Vec<String>,
}

#[derive(Debug)]
struct File {
    path: &'static str,
    permissions: &'static str,
    content: String,
}

impl Steps {
    fn add(&mut self, more: Steps) {
        self.files.extend(more.files);
        self.commands.extend(more.commands);
    }

    fn cloud_config(&self, name: &str) -> String {
        // No package_upgrade: on Scaleway's GPU images a dist-upgrade breaks the driver.
        let mut text = format!("#cloud-config\nhostname: {name}\npreserve_hostname: false\nwrite_files:\n");
        for File { path, permissions, content } in &self.files {
            text.push_str(&format!("- path: {path}\n  permissions: \"{permissions}\"\n  content: |\n"));
            content.lines().for_each(|line| text.push_str(&format!("    {line}\n")));
        }
        text.push_str("runcmd:\n");
        self.commands.iter().for_each(|command| text.push_str(&format!("- {command}\n")));
        text
    }
}

/// `a=b,c=d`
fn label_list(node: &Node) -> String {
    let pairs: Vec<String> = node.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    pairs.join(",")
}

fn taint_text(taint: &Taint) -> String {
    let value = if taint.value.is_empty() { String::new() } else { format!("={}", taint.value) };
    format!("{}{value}:{}", taint.key, effect_name(taint.effect))
}

pub(crate) fn effect_name(effect: Effect) -> &'static str {
    match effect {
        Effect::NoSchedule => "NoSchedule",
        Effect::PreferNoSchedule => "PreferNoSchedule",
        Effect::NoExecute => "NoExecute",
    }
}
