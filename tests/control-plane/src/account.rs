//! A function's own account on a real cluster: its manifest under `infra/rbac/`, and a kubeconfig with a token of it.

use k8s_openapi::api::{
    authentication::v1::{TokenRequest, TokenRequestSpec},
    core::v1::ServiceAccount,
};
use kube::{Api, Client, api::PostParams};
use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{ControlPlane, secrets};

/// Where everything of ours is, as the manifests have it.
pub const NAMESPACE: &str = "pilotlight";

/// The manifest of one account, as text.
pub fn manifest(name: &str) -> Result<String, String> {
    let path = rbac_folder().join(format!("{name}.yaml"));
    fs::read_to_string(&path).map_err(|why| format!("{}: {why}", path.display()))
}

pub fn rbac_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../infra/rbac")
}

/// A kubeconfig file with an hour's token of the account, as a projected one would be.
pub async fn kubeconfig_of(control_plane: &ControlPlane, client: &Client, account: &str) -> Result<PathBuf, String> {
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), NAMESPACE);
    let request = TokenRequest {
        spec: Some(TokenRequestSpec { expiration_seconds: Some(3600), ..TokenRequestSpec::default() }),
        ..TokenRequest::default()
    };
    let answer = accounts.create_token_request(account, &PostParams::default(), &request).await;
    let answer = answer.map_err(|why| format!("no token for service account {account}: {why}"))?;
    let token =
        answer.status.and_then(|status| status.token).ok_or("the token request was answered without a token")?;
    let authority = fs::read_to_string(control_plane.facts.folder.join("ca.pem")).map_err(|why| why.to_string())?;
    let text = secrets::kubeconfig(&control_plane.facts.server, &authority, account, &token, NAMESPACE);
    let path = control_plane.facts.folder.join(format!("{account}.kubeconfig"));
    fs::write(&path, text).map_err(|why| format!("{}: {why}", path.display()))?;
    Ok(path)
}
