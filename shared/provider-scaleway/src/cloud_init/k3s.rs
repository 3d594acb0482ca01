//! Joining with k3s: its installer reads the token from a file that only root can read, and finds NVIDIA's runtime.

use super::{File, Node, Steps, taint_text};
use crate::class::{Class, JoinSecret};

pub(super) fn steps(url: &str, token: &JoinSecret, class: &Class, node: &Node) -> Steps {
    let mut arguments = vec![format!("--node-name {}", node.name)];
    arguments.extend(node.labels.iter().map(|(key, value)| format!("--node-label {key}={value}")));
    arguments.extend(node.taints.iter().map(|taint| format!("--node-taint {}", taint_text(taint))));
    arguments.push(format!("--kubelet-arg=provider-id={}", node.provider_id));
    if class.external_cloud_provider {
        arguments.push("--kubelet-arg=cloud-provider=external".to_owned());
    }
    let secret = token.for_user_data();
    let environment = File {
        path: "/etc/rancher/pilotlight.env",
        permissions: "0600",
        content: format!("K3S_URL=\"{url}\"\nK3S_TOKEN=\"{secret}\"\n"),
    };
    let script = File {
        path: "/usr/local/sbin/pilotlight-join",
        permissions: "0700",
        content: format!(
            "#!/bin/sh\nset -eu\nset -a\n. /etc/rancher/pilotlight.env\nset +a\ncurl -sfL https://get.k3s.io | sh -s - agent \\\n  {}\nrm -f /etc/rancher/pilotlight.env\n",
            arguments.join(" \\\n  ")
        ),
    };
    Steps { files: vec![environment, script], commands: vec!["/usr/local/sbin/pilotlight-join".to_owned()] }
}
