//! Karpenter itself, with its KWOK provider, on a real control plane: its custom resources, its account, its process.

use kube::Client;
use serde_json::{Value, json};
use spec::free_address;
use std::{collections::BTreeMap, fs, path::PathBuf, process::Command};

use crate::{
    ControlPlane, account, build,
    process::{Program, until_it_listens},
    programs,
    site::kubectl,
    versions::KARPENTER,
};

/// Its account, and where it is: in a namespace that the audit policy does not pass over.
pub const ACCOUNT: &str = "karpenter";
pub const NAMESPACE: &str = "kube-public";

/// The node class of its KWOK provider, as pools refer to it.
pub fn class_ref() -> Value {
    json!({ "group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default" })
}

/// Its own custom resources, from the module that it was built from, and an account that may do everything.
pub async fn install(control_plane: &ControlPlane) -> Result<(), String> {
    let module = module_folder()?;
    for folder in ["pkg/apis/crds", "kwok/apis/crds"] {
        let folder = module.join(folder).display().to_string();
        kubectl(control_plane, &["apply", "--server-side", "--force-conflicts", "-f", &folder], "").await?;
    }
    kubectl(control_plane, &["wait", "--for=condition=Established", "crd", "--all", "--timeout=60s"], "").await?;
    let account = json!({ "apiVersion": "v1", "kind": "ServiceAccount",
        "metadata": { "name": ACCOUNT, "namespace": NAMESPACE } });
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": { "name": ACCOUNT },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin" },
        "subjects": [{ "kind": "ServiceAccount", "name": ACCOUNT, "namespace": NAMESPACE }],
    });
    let class = json!({ "apiVersion": "karpenter.kwok.sh/v1alpha1", "kind": "KWOKNodeClass",
        "metadata": { "name": "default" } });
    for object in [account, binding, class] {
        kubectl(control_plane, &["apply", "--server-side", "-f", "-"], &object.to_string()).await?;
    }
    Ok(())
}

/// Starts it with these instance types, in the JSON of its KWOK provider, and waits until it is healthy.
pub async fn start(control_plane: &ControlPlane, client: &Client, types: &Value) -> Result<Program, String> {
    let program = programs::of_peer(&KARPENTER).map_err(|why| why.to_string())?;
    let folder = &control_plane.facts.folder;
    let kubeconfig = account::kubeconfig_in(control_plane, client, NAMESPACE, ACCOUNT).await?;
    let catalogue = folder.join("instance-types.json");
    fs::write(&catalogue, types.to_string()).map_err(|why| format!("{}: {why}", catalogue.display()))?;
    let free = || free_address().map_err(|why| why.to_string());
    let (metrics, health) = (free()?, free()?);
    let variables: BTreeMap<String, String> = [
        ("KUBECONFIG", kubeconfig.display().to_string()),
        ("SYSTEM_NAMESPACE", NAMESPACE.to_owned()),
        ("DISABLE_LEADER_ELECTION", "true".to_owned()),
        ("METRICS_PORT", metrics.port().to_string()),
        ("HEALTH_PROBE_PORT", health.port().to_string()),
        ("HOME", folder.display().to_string()),
        // As many workers as the machine has cores.
        ("CPU_REQUESTS", "2000".to_owned()),
        ("INSTANCE_TYPES_FILE_PATH", catalogue.display().to_string()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into();
    let mut karpenter = Program::named(ACCOUNT, &program, folder, variables);
    karpenter.start()?;
    until_it_listens(health).await?;
    Ok(karpenter)
}

/// Builds it if that was not done before: minutes that nobody should wait for in the middle of a measurement.
pub fn ensure_built() -> Result<(), String> {
    programs::of_peer(&KARPENTER).map(drop).map_err(|why| why.to_string())
}

/// Where Go keeps the module, by its own word.
fn module_folder() -> Result<PathBuf, String> {
    let mut command = Command::new("go");
    command.args(["list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/karpenter"]).current_dir(build::source(&KARPENTER));
    let output = command.output().map_err(|why| format!("cannot start go: {why}"))?;
    Ok(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()))
}
