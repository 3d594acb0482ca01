//! Access tokens, by azure_identity over our own transport.

use async_trait::async_trait;
use azure_core::{
    cloud::{CloudConfiguration, CustomConfiguration},
    credentials::{Secret, TokenCredential},
    error::ErrorKind,
    http::{ClientOptions, RetryOptions},
};
use azure_identity::{
    AzureCliCredential, ClientAssertionCredentialOptions, ClientSecretCredential, ClientSecretCredentialOptions,
    ManagedIdentityCredential, ManagedIdentityCredentialOptions, UserAssignedId, WorkloadIdentityCredential,
    WorkloadIdentityCredentialOptions,
};
use core::time::Duration;
use std::sync::{Arc, Mutex, PoisonError};

use crate::{
    carrier::Carrier,
    settings::{Credential, Settings},
    transport::Transport,
};

/// Gives bearer tokens and keeps them as long as they are good.
#[async_trait]
pub trait Tokens: Send + Sync {
    /// A token for a scope such as `https://management.azure.com/.default`.
    async fn token(&self, scope: &str) -> Result<String, TokenError>;

    /// Azure does not take the last one any more: the next must be a new one.
    fn forget(&self);
}

/// Why there is no token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// Asking again will not help until somebody changes the identity.
    #[error("{0}")]
    Denied(String),
    #[error("{0}")]
    Unavailable(String),
    #[error("Entra ID asks to be called less often")]
    Throttled { retry_after: Option<Duration> },
}

/// azure_identity, by the credentials of the settings, in their order. Nothing is built before the first token.
pub struct AzureTokens {
    settings: Settings,
    transport: Arc<dyn Transport>,
    /// The one that worked; azure_identity caches tokens in it.
    working: Mutex<Option<Arc<dyn TokenCredential>>>,
}

impl AzureTokens {
    pub fn new(settings: Settings, transport: Arc<dyn Transport>) -> Self {
        AzureTokens { settings, transport, working: Mutex::new(None) }
    }

    fn working(&self) -> Option<Arc<dyn TokenCredential>> {
        self.working.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_working(&self, credential: Option<Arc<dyn TokenCredential>>) {
        *self.working.lock().unwrap_or_else(PoisonError::into_inner) = credential;
    }

    fn options(&self) -> ClientOptions {
        let mut custom = CustomConfiguration::default();
        custom.authority_host = self.settings.authority_host.clone();
        ClientOptions {
            cloud: Some(Arc::new(CloudConfiguration::Custom(custom))),
            // The caller retries; a call that waits here would be one that nobody else can serve.
            retry: RetryOptions::none(),
            transport: Some(azure_core::http::Transport::new(Arc::new(Carrier(self.transport.clone())))),
            ..ClientOptions::default()
        }
    }

    fn build(&self, credential: &Credential) -> azure_core::Result<Arc<dyn TokenCredential>> {
        Ok(match credential {
            Credential::WorkloadIdentity { tenant, client, token_file } => {
                let options = WorkloadIdentityCredentialOptions {
                    credential_options: ClientAssertionCredentialOptions { client_options: self.options() },
                    client_id: Some(client.clone()),
                    tenant_id: Some(tenant.clone()),
                    token_file_path: Some(token_file.into()),
                };
                WorkloadIdentityCredential::new(Some(options))?
            }
            Credential::ManagedIdentity { client } => {
                let user_assigned_id = client.clone().map(UserAssignedId::ClientId);
                let options = ManagedIdentityCredentialOptions { user_assigned_id, client_options: self.options() };
                ManagedIdentityCredential::new(Some(options))?
            }
            Credential::ClientSecret { tenant, client, secret } => {
                let options = ClientSecretCredentialOptions { client_options: self.options() };
                let secret = Secret::new(secret.expose().to_owned());
                ClientSecretCredential::new(tenant, client.clone(), secret, Some(options))?
            }
            Credential::Cli => AzureCliCredential::new(None)?,
        })
    }
}

#[async_trait]
impl Tokens for AzureTokens {
    async fn token(&self, scope: &str) -> Result<String, TokenError> {
        if let Some(credential) = self.working() {
            let token = credential.get_token(&[scope], None).await;
            return token.map(|token| token.token.secret().to_owned()).map_err(|error| failure(&error));
        }
        let mut failures = Vec::new();
        for credential in &self.settings.credentials {
            let failed = match self.build(credential) {
                Ok(built) => match built.get_token(&[scope], None).await {
                    Ok(token) => {
                        self.set_working(Some(built));
                        return Ok(token.token.secret().to_owned());
                    }
                    Err(error) => failure(&error),
                },
                Err(error) => TokenError::Denied(text(&error)),
            };
            if matches!(failed, TokenError::Throttled { .. }) {
                return Err(failed);
            }
            failures.push((credential.name(), failed));
        }
        Err(all_failed(&failures))
    }

    fn forget(&self) {
        self.set_working(None);
    }
}

/// One credential that may work a moment later is enough for all of it to be worth asking again.
fn all_failed(failures: &[(&str, TokenError)]) -> TokenError {
    let lines: Vec<String> = failures.iter().map(|(name, error)| format!("{name}: {error}")).collect();
    let passing = failures.iter().any(|(_, error)| matches!(error, TokenError::Unavailable(_)));
    match lines.join("; ") {
        none if none.is_empty() => TokenError::Denied("no credential is configured".to_owned()),
        why if passing => TokenError::Unavailable(why),
        why => TokenError::Denied(why),
    }
}

/// azure_identity wraps every failure as one of the credential; what it was stands further in.
fn failure(error: &azure_core::Error) -> TokenError {
    let mut inner: Option<&(dyn core::error::Error + 'static)> = Some(error);
    while let Some(cause) = inner {
        if let Some(ours) = cause.downcast_ref::<TokenError>() {
            return ours.clone();
        }
        // An answer that is none of Entra's is somebody's on the way.
        if cause.downcast_ref().is_some_and(|own: &azure_core::Error| matches!(own.kind(), ErrorKind::DataConversion)) {
            return TokenError::Unavailable(text(error));
        }
        inner = cause.source();
    }
    TokenError::Denied(text(error))
}

/// On one line, without the address of the SDK's own guide: it ends in a condition.
fn text(error: &azure_core::Error) -> String {
    let text = error.to_string();
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("To troubleshoot"));
    lines.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_credential_that_may_work_later_keeps_the_others_refusals_from_being_final() {
        let denied = ("az CLI", TokenError::Denied("not installed".to_owned()));
        let passing = ("managed identity", TokenError::Unavailable("HTTP 503".to_owned()));
        let both = "managed identity: HTTP 503; az CLI: not installed".to_owned();
        assert_eq!(all_failed(&[passing, denied.clone()]), TokenError::Unavailable(both));
        assert_eq!(all_failed(&[denied]), TokenError::Denied("az CLI: not installed".to_owned()));
        assert_eq!(all_failed(&[]), TokenError::Denied("no credential is configured".to_owned()));
    }
}
