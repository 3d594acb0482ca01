//! Certificates, keys and tokens of one control plane, made for this run only.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, KeyUsagePurpose};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// Who may come in with a token of its own. Whatever a component may do comes from the roles that the API server makes
/// for it at its first start, as in a real cluster.
const USERS: [(&str, &str, &str); 4] = [
    (ADMIN, "admin", "system:masters"),
    (CONTROLLER_MANAGER, "system:kube-controller-manager", ""),
    (SCHEDULER, "system:kube-scheduler", ""),
    // Stands for the kubelets of many nodes: nothing that is tested here goes by its rights.
    (KWOK, "kwok", "system:masters"),
];

pub const ADMIN: &str = "admin";
pub const CONTROLLER_MANAGER: &str = "controller-manager";
pub const SCHEDULER: &str = "scheduler";
pub const KWOK: &str = "kwok";

#[derive(Debug, thiserror::Error)]
pub enum Failed {
    #[error("cannot make a certificate: {0}")]
    Certificate(#[from] rcgen::Error),
    #[error("cannot write {}: {why}", path.display())]
    Write { path: PathBuf, why: io::Error },
}

/// All of it, as files in one folder, which only its owner can read.
#[derive(Debug, Clone)]
pub struct Secrets {
    folder: PathBuf,
    authority_pem: String,
}

impl Secrets {
    pub fn make(folder: &Path) -> Result<Self, Failed> {
        let mut authority = CertificateParams::default();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        authority.distinguished_name.push(DnType::CommonName, "control plane of a test");
        let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate()?)?;
        let names = ["localhost", "127.0.0.1", "kubernetes.default.svc"].map(str::to_owned);
        let key = KeyPair::generate()?;
        let certificate = CertificateParams::new(names)?.signed_by(&key, &authority)?;
        let secrets = Secrets { folder: folder.to_owned(), authority_pem: authority.pem() };
        let tokens = USERS.map(|(short, user, groups)| format!("{},{user},{short},\"{groups}\"\n", token()));
        write(&secrets.authority(), &secrets.authority_pem)?;
        write(&secrets.certificate(), &certificate.pem())?;
        write(&secrets.key(), &key.serialize_pem())?;
        let accounts = KeyPair::generate()?;
        write(&secrets.service_account_key(), &accounts.serialize_pem())?;
        write(&secrets.service_account_public_key(), &accounts.public_key_pem())?;
        write(&secrets.tokens(), &tokens.concat())?;
        for ((short, _, _), line) in USERS.iter().zip(&tokens) {
            let token = line.split(',').next().unwrap_or_default();
            write(&folder.join(format!("{short}.token")), token)?;
        }
        Ok(secrets)
    }

    pub fn authority(&self) -> PathBuf {
        self.folder.join("ca.pem")
    }

    pub fn authority_pem(&self) -> &str {
        &self.authority_pem
    }

    pub fn certificate(&self) -> PathBuf {
        self.folder.join("server.pem")
    }

    pub fn key(&self) -> PathBuf {
        self.folder.join("server.key")
    }

    pub fn service_account_key(&self) -> PathBuf {
        self.folder.join("service-account.key")
    }

    pub fn service_account_public_key(&self) -> PathBuf {
        self.folder.join("service-account.pub")
    }

    pub fn tokens(&self) -> PathBuf {
        self.folder.join("tokens.csv")
    }

    pub fn kubeconfig(&self, user: &str) -> PathBuf {
        self.folder.join(format!("{user}.kubeconfig"))
    }

    /// A kubeconfig for each component and the admin, once it is known where the API server listens.
    pub fn write_kubeconfigs(&self, server: &str) -> Result<(), Failed> {
        for (short, _, _) in USERS {
            let from = self.folder.join(format!("{short}.token"));
            let token = fs::read_to_string(&from).map_err(|why| Failed::Write { path: from, why })?;
            write(&self.kubeconfig(short), &kubeconfig(server, &self.authority_pem, short, &token, "default"))?;
        }
        Ok(())
    }
}

/// One cluster, one user with a bearer token, one context.
pub fn kubeconfig(server: &str, authority_pem: &str, user: &str, token: &str, namespace: &str) -> String {
    let authority = BASE64_STANDARD.encode(authority_pem);
    format!(
        "apiVersion: v1
kind: Config
current-context: control-plane
clusters:
  - name: control-plane
    cluster: {{server: \"{server}\", certificate-authority-data: {authority}}}
users:
  - name: {user}
    user: {{token: \"{token}\"}}
contexts:
  - name: control-plane
    context: {{cluster: control-plane, user: {user}, namespace: {namespace}}}
"
    )
}

/// The bytes of a fresh key nobody else has: as good a random text as any, without another source of chance.
fn token() -> String {
    let bytes = KeyPair::generate().map(|key| key.serialize_der()).unwrap_or_default();
    let tail = bytes.iter().rev().take(24);
    tail.map(|byte| format!("{byte:02x}")).collect()
}

fn write(path: &Path, text: &str) -> Result<(), Failed> {
    fs::write(path, text).map_err(|why| Failed::Write { path: path.to_owned(), why })
}
