//! Settings, by the environment names of gpu-provisioner. A pure function: what is wrong is found all at once.

use core::fmt;

/// Everything this provider has to be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    pub subscription: String,
    pub resource_group: String,
    pub cluster: String,
    /// The region, as in `westeurope`.
    pub location: String,
    /// Resource Manager, without a slash at the end.
    pub endpoint: String,
    /// Entra ID, without a slash at the end.
    pub authority_host: String,
    /// The retail price list. Only the public cloud has one.
    pub prices: Option<String>,
    /// Tried in this order.
    pub credentials: Vec<Credential>,
    /// The UID of the Kubernetes cluster that we work for; whoever connects to it fills it in. Without it no leak is proved to be
    /// ours: the settings may name the agent pools of another cluster.
    pub cluster_uid: Option<String>,
}

/// Who we are to Azure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Credential {
    WorkloadIdentity { tenant: String, client: String, token_file: String },
    ManagedIdentity { client: Option<String> },
    ClientSecret { tenant: String, client: String, secret: HiddenText },
    Cli,
}

/// A secret that no log prints.
#[derive(Clone, PartialEq, Eq)]
pub struct HiddenText(String);

/// One thing that is wrong, with what would be right.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{variable} {problem}, as in {variable}={example}")]
pub struct Problem {
    pub variable: &'static str,
    pub problem: String,
    pub example: &'static str,
}

/// (names, Resource Manager, Entra ID, has a price list)
type Cloud = (&'static [&'static str], &'static str, &'static str, bool);

const CLOUDS: [Cloud; 3] = [
    (
        &["AzureCloud", "AzurePublic", "AzurePublicCloud"],
        "https://management.azure.com",
        "https://login.microsoftonline.com",
        true,
    ),
    (
        &["AzureUSGovernment", "AzureGovernment", "AzureUSGovernmentCloud"],
        "https://management.usgovcloudapi.net",
        "https://login.microsoftonline.us",
        false,
    ),
    (
        &["AzureChinaCloud", "AzureChina"],
        "https://management.chinacloudapi.cn",
        "https://login.chinacloudapi.cn",
        false,
    ),
];

const PRICES: &str = "https://prices.azure.com";
const SOME_ID: &str = "6f1c0d3e-1111-4222-8333-944444444444";
const TOKEN_FILE: &str = "/var/run/secrets/azure/tokens/azure-identity-token";

impl Settings {
    /// Reads the settings from names and values, for example of the environment. Values are trimmed, as before.
    pub fn read(lookup: impl Fn(&str) -> Option<String>) -> Result<Settings, Vec<Problem>> {
        let mut reader = Reader { lookup, problems: Vec::new() };
        let cloud = reader.cloud();
        let settings = Settings {
            subscription: reader.needed("ARM_SUBSCRIPTION_ID", SOME_ID),
            resource_group: reader.needed("ARM_RESOURCE_GROUP", "my-group"),
            cluster: reader.needed("AZURE_CLUSTER_NAME", "my-cluster"),
            location: reader.needed("LOCATION", "westeurope").to_ascii_lowercase().replace(' ', ""),
            endpoint: reader.address("AZURE_RESOURCE_MANAGER_ENDPOINT", cloud.1),
            authority_host: reader.address("AZURE_AUTHORITY_HOST", cloud.2),
            prices: cloud.3.then(|| PRICES.to_owned()),
            credentials: reader.credentials(),
            cluster_uid: None,
        };
        if reader.problems.is_empty() { Ok(settings) } else { Err(reader.problems) }
    }
}

struct Reader<L> {
    lookup: L,
    problems: Vec<Problem>,
}

impl<L: Fn(&str) -> Option<String>> Reader<L> {
    fn given(&self, variable: &str) -> Option<String> {
        (self.lookup)(variable).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
    }

    fn wrong(&mut self, variable: &'static str, problem: impl Into<String>, example: &'static str) {
        self.problems.push(Problem { variable, problem: problem.into(), example });
    }

    fn needed(&mut self, variable: &'static str, example: &'static str) -> String {
        let value = self.given(variable).unwrap_or_default();
        if value.is_empty() {
            self.wrong(variable, "is missing", example);
        } else if value.contains(['/', '?', '#', '%']) || value.contains(char::is_whitespace) && variable != "LOCATION"
        {
            self.wrong(variable, "has a character that no Azure name has", example);
        }
        value
    }

    fn cloud(&mut self) -> Cloud {
        let Some(name) = self.given("AZURE_CLOUD") else { return CLOUDS[0] };
        let known = |cloud: &&Cloud| cloud.0.iter().any(|own| own.eq_ignore_ascii_case(&name));
        CLOUDS.iter().find(known).copied().unwrap_or_else(|| {
            self.wrong(
                "AZURE_CLOUD",
                "is not a cloud we know (AzureCloud, AzureUSGovernment, AzureChinaCloud)",
                "AzureUSGovernment",
            );
            CLOUDS[0]
        })
    }

    fn address(&mut self, variable: &'static str, default: &'static str) -> String {
        let value = self.given(variable).unwrap_or_else(|| default.to_owned());
        let host = value.strip_prefix("https://").or_else(|| value.strip_prefix("http://")).unwrap_or_default();
        if host.trim_matches('/').is_empty() || host.contains(char::is_whitespace) {
            self.wrong(variable, "is not an address", default);
        }
        value.trim_end_matches('/').to_owned()
    }

    /// Workload identity first, then managed identity, client secret, the CLI; or just the one that is named.
    fn credentials(&mut self) -> Vec<Credential> {
        let choice = self.given("PILOTLIGHT_AZURE_CREDENTIAL");
        let managed = self.given("DEPLOYMENT_MODE").as_deref() == Some("managed");
        let self_hosted = self.given("DEPLOYMENT_MODE").as_deref() == Some("self-hosted");
        let (file, secret) = (self.given("AZURE_FEDERATED_TOKEN_FILE"), self.given("AZURE_CLIENT_SECRET"));
        match choice.as_deref() {
            Some("workload-identity") => vec![self.workload_identity()],
            Some("managed-identity") => vec![self.managed_identity()],
            Some("client-secret") => vec![self.client_secret()],
            Some("cli") => vec![Credential::Cli],
            Some(_) => {
                let problem = "is none of workload-identity, managed-identity, client-secret, cli";
                self.wrong("PILOTLIGHT_AZURE_CREDENTIAL", problem, "workload-identity");
                Vec::new()
            }
            None if file.is_some() || self_hosted && secret.is_none() => vec![self.workload_identity()],
            None => {
                let mut chain = Vec::new();
                if managed || secret.is_none() {
                    chain.push(self.managed_identity());
                }
                if secret.is_some() {
                    chain.push(self.client_secret());
                }
                chain.push(Credential::Cli);
                chain
            }
        }
    }

    fn workload_identity(&mut self) -> Credential {
        Credential::WorkloadIdentity {
            tenant: self.needed("AZURE_TENANT_ID", SOME_ID),
            client: self.needed("AZURE_CLIENT_ID", SOME_ID),
            token_file: self.given("AZURE_FEDERATED_TOKEN_FILE").unwrap_or_else(|| {
                let problem = "is missing (the workload-identity webhook sets it on pods labelled azure.workload.identity/use=true)";
                self.wrong("AZURE_FEDERATED_TOKEN_FILE", problem, TOKEN_FILE);
                String::new()
            }),
        }
    }

    fn managed_identity(&self) -> Credential {
        Credential::ManagedIdentity { client: self.given("AZURE_CLIENT_ID") }
    }

    fn client_secret(&mut self) -> Credential {
        let secret = self.given("AZURE_CLIENT_SECRET").unwrap_or_else(|| {
            self.wrong("AZURE_CLIENT_SECRET", "is missing", "the-secret-of-the-app-registration");
            String::new()
        });
        Credential::ClientSecret {
            tenant: self.needed("AZURE_TENANT_ID", SOME_ID),
            client: self.needed("AZURE_CLIENT_ID", SOME_ID),
            secret: HiddenText(secret),
        }
    }
}

impl Credential {
    pub fn name(&self) -> &'static str {
        match self {
            Credential::WorkloadIdentity { .. } => "workload identity",
            Credential::ManagedIdentity { .. } => "managed identity",
            Credential::ClientSecret { .. } => "client secret",
            Credential::Cli => "az CLI",
        }
    }
}

impl HiddenText {
    pub fn new(text: impl Into<String>) -> Self {
        HiddenText(text.into())
    }

    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for HiddenText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(hidden)")
    }
}
