//! Joining with kubeadm: containerd with NVIDIA's runtime, packages of one minor version, a JoinConfiguration.

use super::{File, Node, Steps, effect_name, label_list};
use crate::class::{Class, JoinSecret};

/// Where the control plane is, and how it and the node know each other.
pub(super) struct Control<'a> {
    pub endpoint: &'a str,
    pub token: &'a JoinSecret,
    pub ca_cert_hash: &'a str,
    pub version: &'a str,
}

pub(super) fn steps(control: &Control<'_>, class: &Class, node: &Node) -> Steps {
    let Control { version, .. } = control;
    let repository = format!("https://pkgs.k8s.io/core:/stable:/v{version}/deb/");
    let commands = [
        "swapoff -a".to_owned(),
        "modprobe overlay".to_owned(),
        "modprobe br_netfilter".to_owned(),
        "sysctl --system".to_owned(),
        shell(&format!("curl -fsSL {repository}Release.key | gpg --dearmor -o /usr/share/keyrings/kubernetes.gpg")),
        shell(&format!(
            "echo 'deb [signed-by=/usr/share/keyrings/kubernetes.gpg] {repository} /' > /etc/apt/sources.list.d/kubernetes.list"
        )),
        shell("apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y containerd kubelet kubeadm"),
        "apt-mark hold kubelet kubeadm".to_owned(),
        shell(
            "mkdir -p /etc/containerd && containerd config default | sed 's/SystemdCgroup = false/SystemdCgroup = true/' > /etc/containerd/config.toml",
        ),
        "nvidia-ctk runtime configure --runtime=containerd --set-as-default".to_owned(),
        "systemctl restart containerd".to_owned(),
        // The control plane may be out of reach for a moment; a machine that never joins is paid for all the same.
        shell(
            "for attempt in 1 2 3 4 5; do kubeadm join --config /etc/kubernetes/pilotlight-join.yaml && break; kubeadm reset -f; sleep 15; done",
        ),
        // The kubelet has its own certificate now; the token is of no more use here.
        "rm -f /etc/kubernetes/pilotlight-join.yaml".to_owned(),
    ];
    let join = File {
        path: "/etc/kubernetes/pilotlight-join.yaml",
        permissions: "0600",
        content: join_configuration(control, class, node),
    };
    let sysctl = File {
        path: "/etc/sysctl.d/99-kubernetes.conf",
        permissions: "0644",
        content: "net.bridge.bridge-nf-call-iptables = 1\nnet.ipv4.ip_forward = 1\n".to_owned(),
    };
    Steps { files: vec![join, sysctl], commands: commands.to_vec() }
}

fn join_configuration(control: &Control<'_>, class: &Class, node: &Node) -> String {
    let Control { endpoint, token, ca_cert_hash, .. } = control;
    let token = token.for_user_data();
    let mut text = format!(
        "apiVersion: kubeadm.k8s.io/v1beta4\nkind: JoinConfiguration\ndiscovery:\n  bootstrapToken:\n    apiServerEndpoint: \"{endpoint}\"\n    token: \"{token}\"\n    caCertHashes:\n    - \"{ca_cert_hash}\"\nnodeRegistration:\n  name: \"{}\"\n",
        node.name
    );
    if !node.taints.is_empty() {
        text.push_str("  taints:\n");
    }
    for taint in &node.taints {
        text.push_str(&format!(
            "  - key: \"{}\"\n    value: \"{}\"\n    effect: {}\n",
            taint.key,
            taint.value,
            effect_name(taint.effect)
        ));
    }
    text.push_str("  kubeletExtraArgs:\n");
    let mut arguments = vec![("provider-id", node.provider_id.clone()), ("node-labels", label_list(node))];
    if class.external_cloud_provider {
        arguments.push(("cloud-provider", "external".to_owned()));
    }
    for (name, value) in arguments {
        text.push_str(&format!("  - name: {name}\n    value: \"{value}\"\n"));
    }
    text
}

fn shell(command: &str) -> String {
    format!("[sh, -c, {}]", serde_json::Value::from(command))
}
