//! AKS with Entra ID: its kubeconfigs say to run kubelogin for a token. Functions have no programs to run, so they get the token
//! themselves.

use core::{future::Future, pin::Pin};
use http::{HeaderValue, Request, header::AUTHORIZATION};
use kube::{
    Client,
    client::Body,
    config::{AuthInfo, ExecConfig},
};
use std::{path::Path, sync::Arc};
use tower::BoxError;

/// Gives a token for a scope, a new one before the old one expires; or says why there is none.
pub type EntraTokens =
    Arc<dyn Fn(String) -> Pin<Box<dyn Future<Output = Result<String, String>> + Send>> + Send + Sync>;

/// The application that stands for the API server of every AKS cluster.
const AKS_SERVER: &str = "6dae42f8-4368-4678-94ff-3960e28e3630";

/// The token did not come, so the request was never sent.
#[derive(Debug, thiserror::Error)]
#[error(
    "Entra ID gives no token for the API server: {0}. Check AZURE_TENANT_ID, AZURE_CLIENT_ID and what goes with them"
)]
pub(crate) struct NotSignedIn(String);

/// The scope of the token that kubelogin would get. Kubelogin is not asked any more then. `None` where the user of the
/// kubeconfig has other credentials.
pub(crate) fn take_scope(user: &mut AuthInfo) -> Option<String> {
    let server = match (&user.exec, &user.auth_provider) {
        (Some(exec), _) if is_kubelogin(exec) => argument(exec, "--server-id"),
        // What kubeconfigs had before kubelogin.
        (None, Some(provider)) if provider.name == "azure" => provider.config.get("apiserver-id").cloned(),
        _ => return None,
    };
    user.exec = None;
    user.auth_provider = None;
    Some(format!("{}/.default", server.as_deref().unwrap_or(AKS_SERVER)))
}

fn is_kubelogin(exec: &ExecConfig) -> bool {
    let command = exec.command.as_deref().map(Path::new);
    command.and_then(Path::file_stem).is_some_and(|name| name == "kubelogin")
}

/// `--name value` or `--name=value`.
fn argument(exec: &ExecConfig, name: &str) -> Option<String> {
    let arguments = exec.args.as_deref().unwrap_or_default();
    let apart = arguments.windows(2).find_map(|pair| match pair {
        [key, value] if key == name => Some(value.clone()),
        _ => None,
    });
    let together = || arguments.iter().find_map(|one| one.strip_prefix(name)?.strip_prefix('=').map(str::to_owned));
    apart.or_else(together)
}

/// The same client, with a token on every request.
pub(crate) fn signed_in(client: Client, scope: String, tokens: EntraTokens) -> Client {
    let namespace = client.default_namespace().to_owned();
    let service = tower::service_fn(move |mut request: Request<Body>| {
        let (client, token) = (client.clone(), tokens(scope.clone()));
        async move {
            let token = token.await.map_err(NotSignedIn)?;
            let bearer = HeaderValue::from_str(&format!("Bearer {token}"));
            let mut bearer = bearer.map_err(|_| NotSignedIn("what came is no token".to_owned()))?;
            bearer.set_sensitive(true);
            request.headers_mut().insert(AUTHORIZATION, bearer);
            client.send(request).await.map_err(BoxError::from)
        }
    });
    Client::new(service, namespace)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn scope(user: &str) -> Option<String> {
        let mut user: AuthInfo = serde_json::from_str(user).unwrap();
        let scope = take_scope(&mut user);
        assert!(scope.is_none() || (user.exec.is_none() && user.auth_provider.is_none()));
        scope
    }

    #[test]
    fn kubelogin_is_known_by_its_name_and_says_which_server() {
        let exec = |command: &str, arguments: &str| {
            format!(
                r#"{{"exec": {{"apiVersion": "client.authentication.k8s.io/v1", "command": "{command}", "args": [{arguments}]}}}}"#
            )
        };
        let own = Some("abc/.default".to_owned());
        let aks = Some(format!("{AKS_SERVER}/.default"));
        assert_eq!(scope(&exec("kubelogin", r#""get-token", "--server-id", "abc", "--login", "devicecode""#)), own);
        assert_eq!(scope(&exec("/usr/local/bin/kubelogin", r#""get-token", "--server-id=abc""#)), own);
        assert_eq!(scope(&exec("kubelogin.exe", r#""get-token""#)), aks);
        assert_eq!(scope(r#"{"auth-provider": {"name": "azure", "config": {"apiserver-id": "abc"}}}"#), own);
        for other in [&exec("aws", r#""eks", "get-token""#), r#"{"token": "t"}"#, "{}"] {
            assert_eq!(scope(other), None, "{other}");
        }
    }
}
