//! A kubeconfig for a world on loopback.

use base64::{Engine as _, prelude::BASE64_STANDARD};

/// One cluster, one user, one context. The token names the user.
pub fn write(server: &str, authority_pem: &str, user: &str) -> String {
    let authority = BASE64_STANDARD.encode(authority_pem);
    format!(
        "apiVersion: v1
kind: Config
current-context: world
clusters:
  - name: world
    cluster: {{server: \"{server}\", certificate-authority-data: {authority}}}
users:
  - name: {user}
    user: {{token: \"world:{user}\"}}
contexts:
  - name: world
    context: {{cluster: world, user: {user}, namespace: default}}
"
    )
}
