//! Joining an external pool of Kapsule: Scaleway's agent asks for the node's own key and does the rest.
//!
//! The agent brings its own kubelet. What it registers with is written where the kubelet's service looks for more
//! arguments; that the agent of every version reads it has not been verified.

use super::{File, Node, Steps, label_list, taint_text};
use crate::class::JoinSecret;

const AGENT: &str = "https://scwcontainermulticloud.s3.fr-par.scw.cloud/node-agent_linux_amd64";

pub(super) fn steps(pool: &str, region: &str, secret_key: &JoinSecret, node: &Node) -> Steps {
    let taints: Vec<String> = node.taints.iter().map(taint_text).collect();
    let mut arguments = vec![
        format!("--hostname-override={}", node.name),
        format!("--provider-id={}", node.provider_id),
        format!("--node-labels={}", label_list(node)),
    ];
    if !taints.is_empty() {
        arguments.push(format!("--register-with-taints={}", taints.join(",")));
    }
    let kubelet = File {
        path: "/etc/default/kubelet",
        permissions: "0644",
        content: format!("KUBELET_EXTRA_ARGS=\"{}\"\n", arguments.join(" ")),
    };
    let secret = secret_key.for_user_data();
    let environment = File {
        path: "/etc/pilotlight-kosmos.env",
        permissions: "0600",
        content: format!("POOL_ID={pool}\nPOOL_REGION={region}\nSCW_SECRET_KEY={secret}\n"),
    };
    let script = File {
        path: "/usr/local/sbin/pilotlight-join",
        permissions: "0700",
        content: format!(
            "#!/bin/sh\nset -eu\nset -a\n. /etc/pilotlight-kosmos.env\nset +a\ncurl -sfL {AGENT} -o /usr/local/sbin/node-agent\nchmod 0700 /usr/local/sbin/node-agent\n/usr/local/sbin/node-agent -loglevel 0 -no-controller\nrm -f /etc/pilotlight-kosmos.env\n"
        ),
    };
    let commands = vec!["/usr/local/sbin/pilotlight-join".to_owned()];
    Steps { files: vec![kubelet, environment, script], commands }
}
