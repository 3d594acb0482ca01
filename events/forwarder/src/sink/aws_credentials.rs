//! Who we are to AWS: keys of the environment, a role by web identity (IRSA), or a container's endpoint (EKS Pod Identity).

use aws_credential_types::Credentials;
use bytes::Bytes;
use host::parts::Clock;
use http::{Method, Request, header};
use jiff::{SignedDuration, Timestamp};
use provider_aks::HiddenText;
use serde::Deserialize;
use std::{fs, sync::Arc};
use tokio::sync::Mutex;
use url::form_urlencoded;

use super::{Web, lambda::domain};

/// What the environment says, under the names of AWS' own tools.
#[derive(Debug, Clone, Default)]
pub struct AwsSettings {
    pub access_key: Option<String>,
    pub secret_key: Option<HiddenText>,
    pub session_token: Option<HiddenText>,
    pub role: Option<String>,
    pub web_identity_file: Option<String>,
    pub sts_endpoint: Option<String>,
    pub container_uri: Option<String>,
    pub container_token_file: Option<String>,
}

/// Kept until shortly before they end.
pub struct AwsCredentials {
    settings: AwsSettings,
    region: String,
    web: Arc<Web>,
    clock: Clock,
    kept: Mutex<Option<(Credentials, Timestamp)>>,
}

/// So much earlier new ones are fetched.
const BEFORE_THE_END: SignedDuration = SignedDuration::from_mins(5);

/// What a container's endpoint answers.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Issued {
    access_key_id: String,
    secret_access_key: String,
    #[serde(alias = "SessionToken")]
    token: String,
    expiration: String,
}

impl AwsCredentials {
    pub fn new(settings: AwsSettings, region: String, web: Arc<Web>, clock: Clock) -> Self {
        AwsCredentials { settings, region, web, clock, kept: Mutex::new(None) }
    }

    /// The error says which variables would help.
    pub async fn get(&self) -> Result<Credentials, String> {
        let AwsSettings { access_key, secret_key, session_token, role, web_identity_file, container_uri, .. } =
            &self.settings;
        if let (Some(key), Some(secret)) = (access_key, secret_key) {
            let token = session_token.as_ref().map(|token| token.expose().to_owned());
            return Ok(Credentials::from_keys(key, secret.expose(), token));
        }
        let mut kept = self.kept.lock().await;
        let now = (self.clock)();
        if let Some((credentials, _)) = kept.as_ref().filter(|(_, until)| now + BEFORE_THE_END < *until) {
            return Ok(credentials.clone());
        }
        let issued = match (role, web_identity_file, container_uri) {
            (Some(role), Some(file), _) => self.by_web_identity(role, file).await?,
            (_, _, Some(uri)) => self.by_container(uri).await?,
            _ => {
                return Err(
                    "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give the pod's service account a role \
                     (AWS_ROLE_ARN, AWS_WEB_IDENTITY_TOKEN_FILE, or EKS Pod Identity)"
                        .to_owned(),
                );
            }
        };
        let until: Timestamp = issued.expiration.parse().map_err(|_| "their expiration is not a time".to_owned())?;
        let credentials = Credentials::from_keys(issued.access_key_id, issued.secret_access_key, Some(issued.token));
        *kept = Some((credentials.clone(), until));
        Ok(credentials)
    }

    async fn by_web_identity(&self, role: &str, file: &str) -> Result<Issued, String> {
        let token = read(file)?;
        let form = form_urlencoded::Serializer::new(String::new())
            .append_pair("Action", "AssumeRoleWithWebIdentity")
            .append_pair("Version", "2011-06-15")
            .append_pair("RoleArn", role)
            .append_pair("RoleSessionName", "pilotlight-forwarder")
            .append_pair("WebIdentityToken", &token)
            .finish();
        let regional = || format!("https://sts.{}.{}", self.region, domain(&self.region));
        let request = Request::builder()
            .method(Method::POST)
            .uri(self.settings.sts_endpoint.clone().unwrap_or_else(regional))
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(Bytes::from(form))
            .map_err(|error| error.to_string())?;
        let body = self.ask(request, "AWS STS").await?;
        let text = String::from_utf8_lossy(&body);
        let issued = || {
            Some(Issued {
                access_key_id: element(&text, "AccessKeyId")?,
                secret_access_key: element(&text, "SecretAccessKey")?,
                token: element(&text, "SessionToken")?,
                expiration: element(&text, "Expiration")?,
            })
        };
        issued().ok_or_else(|| format!("AWS STS gave no credentials for {role}"))
    }

    async fn by_container(&self, uri: &str) -> Result<Issued, String> {
        let mut request = Request::builder().method(Method::GET).uri(uri);
        if let Some(file) = &self.settings.container_token_file {
            request = request.header(header::AUTHORIZATION, read(file)?);
        }
        let request = request.body(Bytes::new()).map_err(|error| error.to_string())?;
        let body = self.ask(request, "the container's credentials endpoint").await?;
        serde_json::from_slice(&body).map_err(|_| "the container's credentials endpoint gave no credentials".to_owned())
    }

    /// Bodies are not shown: they may hold what they should not.
    async fn ask(&self, request: Request<Bytes>, whom: &str) -> Result<Bytes, String> {
        let response = self.web.send(request).await.map_err(|why| format!("{whom}: {why}"))?;
        let status = response.status();
        if status.is_success() {
            return Ok(response.into_body());
        }
        let code = element(&String::from_utf8_lossy(response.body()), "Code").unwrap_or_default();
        Err(format!("{whom} answers {status} {code}"))
    }
}

fn read(file: &str) -> Result<String, String> {
    fs::read_to_string(file)
        .map(|text| text.trim().to_owned())
        .map_err(|error| format!("cannot read {file:?}: {error}"))
}

/// The text of the first element of this name: STS' answers are flat enough for that.
fn element(xml: &str, name: &str) -> Option<String> {
    let from = xml.split_once(&format!("<{name}>"))?.1;
    Some(from.split_once(&format!("</{name}>"))?.0.trim().to_owned())
}
