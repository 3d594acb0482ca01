//! What the guest makes of its user data: whether it joins a cluster, under which name, labels and taints.
//!
//! This reads text, it does not run it. It understands what the three join recipes (kubeadm, k3s, Kosmos) must write
//! down to work at all; a script that joins in another way runs here and never joins.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Join {
    pub recipe: &'static str,
    pub node: Option<String>,
    pub provider_id: Option<String>,
    pub external_cloud_provider: bool,
    pub labels: BTreeMap<String, String>,
    pub taints: Vec<(String, String, String)>,
    /// The driver is installed by the script, for images that lack it.
    pub installs_driver: bool,
}

/// `None` if cloud-init would not run the data, or if nothing in it joins a cluster.
pub(super) fn read(user_data: &[u8], secrets: Option<&[String]>) -> Option<Join> {
    let text = std::str::from_utf8(user_data).ok()?;
    let runs = ["#!", "#cloud-config", "#cloud-boothook", "Content-Type: multipart", "MIME-Version:"];
    if !runs.iter().any(|start| text.starts_with(start)) {
        return None;
    }
    let text = with_decoded_files(text);
    let recipe = recipe(&text)?;
    if secrets.is_some_and(|accepted| !accepted.iter().any(|secret| text.contains(secret.as_str()))) {
        return None;
    }
    let first = |keys: &[&str]| keys.iter().find_map(|key| values_of(&text, key).into_iter().next());
    let listed = |keys: &[&str]| -> Vec<String> {
        let values = keys.iter().flat_map(|key| values_of(&text, key));
        values.flat_map(|value| value.split(',').map(str::to_owned).collect::<Vec<_>>()).collect()
    };
    let labels = listed(&["node-labels", "node-label"])
        .into_iter()
        .filter_map(|label| label.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned())));
    let written = listed(&["register-with-taints", "node-taint"]);
    let mut taints: Vec<_> = written.iter().filter_map(|taint| taint_of(taint)).collect();
    taints.extend(registration_taints(&text));
    taints.dedup();
    Some(Join {
        recipe,
        node: first(&["node-name", "hostname-override"]).or_else(|| registration_name(&text)),
        provider_id: first(&["provider-id"]),
        external_cloud_provider: first(&["cloud-provider"]).is_some_and(|provider| provider == "external"),
        labels: labels.collect(),
        taints,
        installs_driver: text.contains("nvidia"),
    })
}

fn recipe(text: &str) -> Option<&'static str> {
    let kubeadm = text.contains("kubeadm join") && (text.contains("--token") || text.contains("JoinConfiguration"));
    let k3s = text.contains("K3S_URL") && text.contains("K3S_TOKEN")
        || (text.contains("k3s agent") && text.contains("--token"));
    let kosmos = ["POOL_ID", "POOL_REGION", "SCW_SECRET_KEY"].iter().all(|name| text.contains(name));
    [(kubeadm, "kubeadm"), (k3s, "k3s"), (kosmos, "kosmos")].into_iter().find(|(found, _)| *found).map(|(_, name)| name)
}

/// Files written by cloud-config may be in base64; their text is put behind the rest.
fn with_decoded_files(text: &str) -> String {
    let mut all = text.to_owned();
    if text.contains("encoding: b64") || text.contains("encoding: base64") {
        for line in text.lines() {
            let content = line.trim().trim_start_matches("- ").strip_prefix("content:").map(bare);
            let decoded = content.and_then(|content| STANDARD.decode(content).ok());
            if let Some(decoded) = decoded.and_then(|bytes| String::from_utf8(bytes).ok()) {
                all.push('\n');
                all.push_str(&decoded);
            }
        }
    }
    all
}

/// Values of an argument in the ways it can be written: `--key=value`, `--key value`, `key=value` after
/// `--kubelet-arg`, `key: value`, and a `name:` line followed by a `value:` line.
fn values_of(text: &str, key: &str) -> Vec<String> {
    let mut values = Vec::new();
    let mut named = false;
    for line in text.lines() {
        let line = line.trim().trim_start_matches("- ");
        if named && let Some(value) = line.strip_prefix("value:") {
            values.push(bare(value));
        }
        named = line.strip_prefix("name:").is_some_and(|name| bare(name) == key);
        if let Some(value) = line.strip_prefix(key).and_then(|rest| rest.strip_prefix(':')) {
            values.push(bare(value));
            continue;
        }
        let words: Vec<&str> = line.split_whitespace().flat_map(|word| word.split(';')).collect();
        for (at, word) in words.iter().enumerate() {
            let word = word.trim_start_matches(['"', '\'']);
            let word =
                word.rsplit_once("kubelet-arg=").map_or(word, |(_, argument)| argument).trim_start_matches(['"', '\'']);
            let word = word.rsplit_once(&format!("--{key}=")).map_or(word, |(_, value)| {
                values.push(bare(value));
                ""
            });
            if let Some(value) = word.strip_prefix(key).and_then(|rest| rest.strip_prefix('=')) {
                values.push(bare(value));
            } else if word.strip_prefix("--") == Some(key)
                && let Some(next) = words.get(at + 1)
            {
                values.push(bare(next));
            }
        }
    }
    values.retain(|value| !value.is_empty());
    values
}

fn bare(text: &str) -> String {
    text.trim().trim_end_matches(',').trim_matches(['"', '\'']).to_owned()
}

/// `key=value:Effect`, `key:Effect`
fn taint_of(text: &str) -> Option<(String, String, String)> {
    let (pair, effect) = text.rsplit_once(':')?;
    let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
    let known = ["NoSchedule", "PreferNoSchedule", "NoExecute"].contains(&effect);
    known.then(|| (key.to_owned(), value.to_owned(), effect.to_owned()))
}

/// The lines of a JoinConfiguration's `nodeRegistration`, without its indentation.
fn registration(text: &str) -> Vec<&str> {
    let mut lines = text.lines().skip_while(|line| line.trim() != "nodeRegistration:");
    let Some(head) = lines.next() else { return Vec::new() };
    let depth = |line: &str| line.len() - line.trim_start().len();
    lines.take_while(|line| line.trim().is_empty() || depth(line) > depth(head)).map(str::trim).collect()
}

fn registration_name(text: &str) -> Option<String> {
    let lines = registration(text);
    lines.iter().find_map(|line| line.strip_prefix("name:").map(bare)).filter(|name| !name.is_empty())
}

fn registration_taints(text: &str) -> Vec<(String, String, String)> {
    let mut taints: Vec<(String, String, String)> = Vec::new();
    let mut inside = false;
    for line in registration(text) {
        if line.ends_with(':') {
            inside = line == "taints:";
        }
        let starts = line.starts_with("- ");
        let line = line.trim_start_matches("- ");
        if !inside {
            continue;
        }
        if starts {
            taints.push(Default::default());
        }
        let Some(taint) = taints.last_mut() else { continue };
        for (name, field) in [("key:", &mut taint.0), ("value:", &mut taint.1), ("effect:", &mut taint.2)] {
            if let Some(value) = line.strip_prefix(name) {
                *field = bare(value);
            }
        }
    }
    taints.retain(|(key, _, effect)| !key.is_empty() && !effect.is_empty());
    taints
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_kubeadm_join_configuration_gives_name_labels_taints_and_provider_id() {
        let data = "#cloud-config\nwrite_files:\n- path: /etc/join.yaml\n  content: |\n    apiVersion: kubeadm.k8s.io/v1beta4\n    kind: JoinConfiguration\n    nodeRegistration:\n      name: gpu-1\n      taints:\n      - key: karpenter.sh/unregistered\n        effect: NoExecute\n      - key: sku\n        value: gpu\n        effect: NoSchedule\n      kubeletExtraArgs:\n      - name: provider-id\n        value: \"scaleway://instance/fr-par-2/abc\"\n      - name: node-labels\n        value: \"a=b,c/d=e\"\nruncmd:\n- kubeadm join --config /etc/join.yaml\n";
        let join = read(data.as_bytes(), None).unwrap();
        assert_eq!((join.recipe, join.node.as_deref()), ("kubeadm", Some("gpu-1")));
        assert_eq!(join.provider_id.as_deref(), Some("scaleway://instance/fr-par-2/abc"));
        assert_eq!(join.labels.get("c/d").map(String::as_str), Some("e"));
        assert_eq!(join.taints[0], ("karpenter.sh/unregistered".into(), String::new(), "NoExecute".into()));
        assert_eq!(join.taints[1], ("sku".into(), "gpu".into(), "NoSchedule".into()));
    }

    #[test]
    fn a_k3s_agent_gives_name_labels_taints_and_provider_id() {
        let data = "#!/bin/sh\ncurl -sfL https://get.k3s.io | K3S_URL=https://10.0.0.1:6443 K3S_TOKEN=t sh -s - agent --node-name gpu-2 --node-label a=b --node-label=c=d --node-taint sku=gpu:NoSchedule --kubelet-arg=provider-id=scaleway://instance/fr-par-2/abc --kubelet-arg cloud-provider=external\n";
        let join = read(data.as_bytes(), None).unwrap();
        assert_eq!((join.recipe, join.node.as_deref()), ("k3s", Some("gpu-2")));
        assert_eq!(join.provider_id.as_deref(), Some("scaleway://instance/fr-par-2/abc"));
        assert_eq!(join.labels.len(), 2);
        assert_eq!(join.taints, [("sku".to_owned(), "gpu".to_owned(), "NoSchedule".to_owned())]);
        assert!(join.external_cloud_provider);
    }

    #[test]
    fn kosmos_and_files_in_base64_are_understood() {
        let script = STANDARD.encode("POOL_ID=p POOL_REGION=fr-par SCW_SECRET_KEY=s ./k8s-agent");
        let data = format!("#cloud-config\nwrite_files:\n- path: /run.sh\n  encoding: b64\n  content: {script}\n");
        assert_eq!(read(data.as_bytes(), None).unwrap().recipe, "kosmos");
    }

    #[test]
    fn user_data_without_a_header_or_a_join_or_the_right_secret_does_not_join() {
        assert_eq!(read(b"kubeadm join 10.0.0.1:6443 --token a.b", None), None);
        assert_eq!(read(b"#!/bin/sh\necho hello\n", None), None);
        let join = b"#!/bin/sh\nkubeadm join 10.0.0.1:6443 --token old.token\n";
        assert_eq!(read(join, Some(&["new.token".to_owned()])), None);
        assert!(read(join, Some(&["old.token".to_owned()])).is_some());
    }
}
