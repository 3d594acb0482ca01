//! Access tokens: from azure_identity in the field, from the world in tests.

use async_trait::async_trait;
use azure_core::{
    cloud::{CloudConfiguration, CustomConfiguration},
    credentials::{Secret, TokenCredential},
    http::ClientOptions,
};
use azure_identity::{
    AzureCliCredential, ClientAssertionCredentialOptions, ClientSecretCredential, ClientSecretCredentialOptions,
    ManagedIdentityCredential, ManagedIdentityCredentialOptions, UserAssignedId, WorkloadIdentityCredential,
    WorkloadIdentityCredentialOptions,
};
use std::sync::{Arc, Mutex, PoisonError};

use crate::settings::{Credential, Settings};

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
}

/// azure_identity, by the credentials of the settings, in their order. Nothing is built before the first token.
pub struct AzureTokens {
    settings: Settings,
    /// The one that worked; azure_identity caches tokens in it.
    working: Mutex<Option<Arc<dyn TokenCredential>>>,
}

impl AzureTokens {
    pub fn new(settings: Settings) -> Self {
        AzureTokens { settings, working: Mutex::new(None) }
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
        ClientOptions { cloud: Some(Arc::new(CloudConfiguration::Custom(custom))), ..ClientOptions::default() }
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
        // azure_identity's own HTTP client needs the TLS provider too; a second installation is refused and harmless.
        drop(rustls::crypto::ring::default_provider().install_default());
        if let Some(credential) = self.working() {
            let token = credential.get_token(&[scope], None).await;
            return token.map(|token| token.token.secret().to_owned()).map_err(|error| failure(&error));
        }
        let mut last = TokenError::Denied("no credential is configured".to_owned());
        for credential in &self.settings.credentials {
            let built = match self.build(credential) {
                Ok(built) => built,
                Err(error) => {
                    last = TokenError::Denied(format!("{}: {error}", credential.name()));
                    continue;
                }
            };
            match built.get_token(&[scope], None).await {
                Ok(token) => {
                    self.set_working(Some(built));
                    return Ok(token.token.secret().to_owned());
                }
                Err(error) => last = failure(&error),
            }
        }
        Err(last)
    }

    fn forget(&self) {
        self.set_working(None);
    }
}

/// Entra refuses by a status of 4xx; everything else may pass.
fn failure(error: &azure_core::Error) -> TokenError {
    let refused = error.http_status().is_some_and(|status| (400..500).contains(&u16::from(status)));
    let credential = matches!(error.kind(), azure_core::error::ErrorKind::Credential);
    if refused || credential {
        TokenError::Denied(error.to_string())
    } else {
        TokenError::Unavailable(error.to_string())
    }
}
