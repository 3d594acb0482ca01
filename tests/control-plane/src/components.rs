//! The five programs of a control plane, and with which arguments each is started.

use std::{net::SocketAddr, path::PathBuf};

use crate::secrets::{self, Secrets};

/// In the order in which they start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Component {
    Etcd,
    ApiServer,
    ControllerManager,
    Scheduler,
    Kwok,
}

/// Where everything listens. All of it is loopback.
#[derive(Debug, Clone, Copy)]
pub struct Addresses {
    pub etcd: SocketAddr,
    pub etcd_peer: SocketAddr,
    pub api_server: SocketAddr,
    pub controller_manager: SocketAddr,
    pub scheduler: SocketAddr,
    pub kwok: SocketAddr,
}

/// One control plane: its folder, addresses and secrets.
pub struct Layout {
    pub folder: PathBuf,
    pub addresses: Addresses,
    pub secrets: Secrets,
}

/// Every node with this annotation is kept alive by KWOK, and what is bound to it "runs".
pub const KWOK_NODE: (&str, &str) = ("kwok.x-k8s.io/node", "fake");

impl Component {
    pub const ALL: [Component; 5] =
        [Component::Etcd, Component::ApiServer, Component::ControllerManager, Component::Scheduler, Component::Kwok];

    /// Its program, and its name wherever people see it.
    pub fn name(self) -> &'static str {
        match self {
            Component::Etcd => "etcd",
            Component::ApiServer => "kube-apiserver",
            Component::ControllerManager => "kube-controller-manager",
            Component::Scheduler => "kube-scheduler",
            Component::Kwok => "kwok",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Component::ALL.into_iter().find(|component| component.name() == name)
    }

    /// What answers 200 once it is ready.
    pub fn readiness(self, addresses: &Addresses) -> String {
        match self {
            Component::Etcd => format!("http://{}/health", addresses.etcd),
            Component::ApiServer => format!("https://{}/readyz", addresses.api_server),
            Component::ControllerManager => format!("https://{}/healthz", addresses.controller_manager),
            Component::Scheduler => format!("https://{}/readyz", addresses.scheduler),
            Component::Kwok => format!("http://{}/readyz", addresses.kwok),
        }
    }

    pub fn arguments(self, layout: &Layout) -> Vec<String> {
        match self {
            Component::Etcd => etcd(layout),
            Component::ApiServer => api_server(layout),
            Component::ControllerManager => controller_manager(layout),
            Component::Scheduler => scheduler(layout),
            Component::Kwok => kwok(layout),
        }
    }
}

impl Layout {
    pub fn server(&self) -> String {
        format!("https://{}", self.addresses.api_server)
    }

    pub fn audit_log(&self) -> PathBuf {
        self.folder.join("audit.log")
    }

    pub fn kwok_stages(&self) -> PathBuf {
        self.folder.join("kwok-stages.yaml")
    }

    pub fn audit_policy(&self) -> PathBuf {
        self.folder.join("audit-policy.yaml")
    }
}

fn etcd(layout: &Layout) -> Vec<String> {
    let Addresses { etcd, etcd_peer, .. } = layout.addresses;
    vec![
        format!("--data-dir={}", layout.folder.join("etcd").display()),
        format!("--listen-client-urls=http://{etcd}"),
        format!("--advertise-client-urls=http://{etcd}"),
        format!("--listen-peer-urls=http://{etcd_peer}"),
        format!("--initial-advertise-peer-urls=http://{etcd_peer}"),
        format!("--initial-cluster=default=http://{etcd_peer}"),
        // Nobody's data: what a power cut would lose is thrown away anyway.
        "--unsafe-no-fsync".to_owned(),
        "--log-level=warn".to_owned(),
    ]
}

/// Their clients would wait for themselves after fifty requests in a second, and whoever waits for a pod would be measured by that.
const NO_PATIENCE: [&str; 2] = ["--kube-api-qps=500", "--kube-api-burst=1000"];

fn api_server(layout: &Layout) -> Vec<String> {
    let (secrets, key) = (&layout.secrets, layout.secrets.service_account_key());
    let mut arguments = vec![
        format!("--etcd-servers=http://{}", layout.addresses.etcd),
        format!("--cert-dir={}", layout.folder.display()),
        format!("--tls-cert-file={}", secrets.certificate().display()),
        format!("--tls-private-key-file={}", secrets.key().display()),
        format!("--client-ca-file={}", secrets.authority().display()),
        format!("--token-auth-file={}", secrets.tokens().display()),
        "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
        format!("--service-account-signing-key-file={}", key.display()),
        format!("--service-account-key-file={}", secrets.service_account_public_key().display()),
        "--authorization-mode=Node,RBAC".to_owned(),
        // On top of what is on by default: whoever sets an owner must be allowed to hold it back.
        "--enable-admission-plugins=NodeRestriction,OwnerReferencesPermissionEnforcement".to_owned(),
        "--service-cluster-ip-range=10.96.0.0/16".to_owned(),
        "--endpoint-reconciler-type=none".to_owned(),
        "--allow-privileged=true".to_owned(),
        format!("--audit-policy-file={}", layout.audit_policy().display()),
        format!("--audit-log-path={}", layout.audit_log().display()),
        "--audit-log-mode=blocking".to_owned(),
        "--shutdown-delay-duration=0s".to_owned(),
    ];
    arguments.extend(listen(layout.addresses.api_server));
    arguments
}

fn controller_manager(layout: &Layout) -> Vec<String> {
    let mut arguments = vec![
        format!("--service-account-private-key-file={}", layout.secrets.service_account_key().display()),
        format!("--root-ca-file={}", layout.secrets.authority().display()),
        "--use-service-account-credentials=true".to_owned(),
        // Nothing here has an address, and certificates are made by hand.
        "--controllers=*,-certificatesigningrequest-signing-controller,-node-ipam-controller".to_owned(),
    ];
    arguments.extend(client(layout, secrets::CONTROLLER_MANAGER));
    arguments.extend(NO_PATIENCE.map(str::to_owned));
    arguments.extend(listen_with_certificate(layout, layout.addresses.controller_manager));
    arguments
}

fn scheduler(layout: &Layout) -> Vec<String> {
    let mut arguments = client(layout, secrets::SCHEDULER);
    arguments.extend(NO_PATIENCE.map(str::to_owned));
    arguments.extend(listen_with_certificate(layout, layout.addresses.scheduler));
    arguments
}

fn kwok(layout: &Layout) -> Vec<String> {
    let (annotation, value) = KWOK_NODE;
    vec![
        format!("--kubeconfig={}", layout.secrets.kubeconfig(secrets::KWOK).display()),
        format!("--config={}", layout.kwok_stages().display()),
        "--manage-all-nodes=false".to_owned(),
        format!("--manage-nodes-with-annotation-selector={annotation}={value}"),
        "--node-lease-duration-seconds=40".to_owned(),
        format!("--server-address={}", layout.addresses.kwok),
        "--cidr=10.244.0.0/16".to_owned(),
        "--node-ip=127.0.0.1".to_owned(),
    ]
}

/// How the two that are clients of the API server find it, and who asks them.
fn client(layout: &Layout, user: &str) -> Vec<String> {
    let kubeconfig = layout.secrets.kubeconfig(user);
    let named = |flag: &str| format!("--{flag}={}", kubeconfig.display());
    let mut arguments: Vec<String> = ["kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig"]
        .iter()
        .map(|flag| named(flag))
        .collect();
    arguments.push("--leader-elect=false".to_owned());
    arguments
}

fn listen_with_certificate(layout: &Layout, address: SocketAddr) -> Vec<String> {
    let mut arguments = listen(address);
    arguments.push(format!("--tls-cert-file={}", layout.secrets.certificate().display()));
    arguments.push(format!("--tls-private-key-file={}", layout.secrets.key().display()));
    arguments
}

fn listen(address: SocketAddr) -> Vec<String> {
    vec![format!("--bind-address={}", address.ip()), format!("--secure-port={}", address.port())]
}
