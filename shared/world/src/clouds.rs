//! The three clouds on loopback, and the variables by which programs find them.

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use std::{
    fs, io,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::{
    power::options::BackEnd,
    serve::{Certificates, Listening},
    world::{World, WorldOptions},
};

/// Three places that listen. Nothing is served before [`Clouds::serve`].
pub struct Clouds {
    listening: [Listening; 3],
    at: Addresses,
}

struct Addresses {
    kubernetes: SocketAddr,
    aks: SocketAddr,
    scaleway: SocketAddr,
    power: SocketAddr,
}

impl Clouds {
    /// `kubernetes` is where machines find the cluster that they join.
    pub async fn bind(kubernetes: SocketAddr) -> io::Result<Self> {
        let (aks, scaleway, power) = (Listening::bind(0).await?, Listening::bind(0).await?, Listening::bind(0).await?);
        let at = Addresses { kubernetes, aks: aks.address()?, scaleway: scaleway.address()?, power: power.address()? };
        Ok(Clouds { listening: [aks, scaleway, power], at })
    }

    /// Clouds that hand out links have to know their own address.
    pub fn told_to(&self, options: WorldOptions) -> WorldOptions {
        self.at.told_to(options)
    }

    /// The variables by which functions find these clouds, as KEY=VALUE lines. Certificates lie beside the file.
    pub fn environment(&self, options: &WorldOptions, env_file: &Path) -> String {
        self.at.environment(options, env_file)
    }

    /// Serves them for as long as the runtime lives.
    pub fn serve(self, world: &World, certificates: &Arc<Certificates>) {
        let [aks, scaleway, power] = self.listening;
        tokio::spawn(aks.serve(world.aks(), Some(certificates.clone())));
        tokio::spawn(scaleway.serve(world.scaleway(), Some(certificates.clone())));
        tokio::spawn(power.serve(world.power(), None));
    }
}

/// Writes the lines, and beside them what they point to.
pub fn write(env_file: &Path, lines: &str, certificates: &Certificates) -> Result<(), String> {
    write_file(&authority_file(env_file), &certificates.authority)?;
    write_file(&federated_file(env_file), &service_account_token())?;
    write_file(env_file, lines)
}

impl Addresses {
    fn told_to(&self, mut options: WorldOptions) -> WorldOptions {
        options.arm.base_url = Some(format!("https://{}", self.aks));
        // Clients believe their own clock: a token must look alive to them however fast the world runs.
        options.arm.tokens.told_life = Some(options.arm.tokens.life.max(std::time::Duration::from_secs(3599)));
        options
    }

    /// The variables of the systems we replace, so that functions need nothing else.
    fn environment(&self, options: &WorldOptions, env_file: &Path) -> String {
        let (arm, scaleway) = (&options.arm, &options.scaleway);
        let mut lines: Vec<(String, String)> = Vec::new();
        let mut add = |name: &str, value: String| lines.push((name.to_owned(), value));
        add("SSL_CERT_FILE", authority_file(env_file).display().to_string());
        add("ARM_SUBSCRIPTION_ID", arm.subscription.clone());
        add("ARM_RESOURCE_GROUP", arm.resource_group.clone());
        add("AZURE_CLUSTER_NAME", arm.cluster.clone());
        add("LOCATION", arm.location.clone());
        add("AZURE_TENANT_ID", arm.tenant.clone());
        if let Some(identity) = arm.identities.first() {
            add("AZURE_CLIENT_ID", identity.client_id.clone());
        }
        add("AZURE_FEDERATED_TOKEN_FILE", federated_file(env_file).display().to_string());
        add("AZURE_AUTHORITY_HOST", format!("https://{}/", self.aks));
        add("AZURE_RESOURCE_MANAGER_ENDPOINT", format!("https://{}", self.aks));
        add("SCW_API_URL", format!("https://{}", self.scaleway));
        if let Some(key) = scaleway.keys.first() {
            add("SCW_ACCESS_KEY", "SCWWORLD000000000000".to_owned());
            add("SCW_SECRET_KEY", key.secret.clone());
        }
        add("SCW_DEFAULT_PROJECT_ID", scaleway.project.clone());
        add("SCW_DEFAULT_ORGANIZATION_ID", scaleway.organization.clone());
        add("SCW_DEFAULT_REGION", "fr-par".to_owned());
        add("SCW_DEFAULT_ZONE", "fr-par-2".to_owned());
        // How a machine of this Scaleway joins this cluster, for claims whose class says nothing about it.
        add("PILOTLIGHT_SCALEWAY_JOIN", "kubeadm".to_owned());
        add("PILOTLIGHT_SCALEWAY_JOIN_ENDPOINT", self.kubernetes.to_string());
        add("PILOTLIGHT_SCALEWAY_JOIN_TOKEN", "world1.0123456789abcdef".to_owned());
        add("PILOTLIGHT_SCALEWAY_JOIN_CA_CERT_HASH", format!("sha256:{}", "0f".repeat(32)));
        add("PILOTLIGHT_SCALEWAY_JOIN_KUBERNETES_VERSION", "1.36".to_owned());
        let webhooks = options.power.machines.iter().filter(|machine| machine.back_end == BackEnd::Webhook);
        for (index, machine) in webhooks.enumerate() {
            let prefix = format!("GPU_NODE_{}", index + 1);
            let gpus = machine.accelerator.as_ref().map_or(0, |(_, count)| *count);
            let endpoint = |verb: &str| format!("http://{}/webhook/{}/{verb}", self.power, machine.name);
            add(&format!("{prefix}_NAME"), machine.node.clone().unwrap_or_else(|| machine.name.clone()));
            add(&format!("{prefix}_GPU_COUNT"), gpus.to_string());
            add(&format!("{prefix}_SCALE_UP_ENDPOINT"), endpoint("up"));
            add(&format!("{prefix}_SCALE_DOWN_ENDPOINT"), endpoint("down"));
        }
        add("WORLD_REDFISH_ENDPOINT", format!("http://{}", self.power));
        lines.into_iter().map(|(name, value)| format!("{name}={value}\n")).collect()
    }
}

/// What a cluster would project into a pod: the world's tenant reads its claims and believes them.
fn service_account_token() -> String {
    let part = |value: serde_json::Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
    let claims = serde_json::json!({ "iss": "https://world", "sub": "system:serviceaccount:pilotlight:pilotlight",
        "aud": ["api://AzureADTokenExchange"], "exp": 4_102_444_800_u64 });
    format!("{}.{}.{}", part(serde_json::json!({ "alg": "none" })), part(claims), part(serde_json::json!({})))
}

fn authority_file(env_file: &Path) -> PathBuf {
    beside(env_file, "ca.pem")
}

fn federated_file(env_file: &Path) -> PathBuf {
    beside(env_file, "token")
}

/// Absolute: whoever reads the lines may stand in another folder.
fn beside(env_file: &Path, extension: &str) -> PathBuf {
    let path = env_file.with_extension(extension);
    std::path::absolute(&path).unwrap_or(path)
}

pub(crate) fn write_file(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
}
