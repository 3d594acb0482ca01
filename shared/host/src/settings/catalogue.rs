//! Every setting of a function process: what `--help` prints and what an error gives as an example.

/// One setting, as a person needs it.
#[derive(Debug)]
pub struct Known {
    pub variable: &'static str,
    pub meaning: &'static str,
    pub default: &'static str,
    pub example: &'static str,
}

const fn known(variable: &'static str, meaning: &'static str, default: &'static str, example: &'static str) -> Known {
    Known { variable, meaning, default, example }
}

pub static CATALOGUE: [Known; 33] = [
    known("PORT", "port to serve HTTP on (Knative sets it)", "8080", "8080"),
    known("PILOTLIGHT_BIND", "address to serve HTTP on", "all interfaces", "127.0.0.1"),
    known(
        "PILOTLIGHT_SIGNING_SECRETS",
        "Standard Webhooks secrets, separated by spaces; any of them may have signed a delivery",
        "",
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    ),
    known(
        "PILOTLIGHT_ALLOW_UNSIGNED",
        "true: start without secrets and ask for no signatures; with secrets set it changes nothing",
        "false",
        "true",
    ),
    known(
        "PILOTLIGHT_CLUSTER_ID",
        "the cluster that ticks of a platform's own timer are for",
        "default",
        "eu-west-prod",
    ),
    known("PILOTLIGHT_MAX_BODY_BYTES", "largest event, whatever envelope carries it", "1048576", "1048576"),
    known("PILOTLIGHT_ALLOW_REHEARSAL", "true: answer rehearsal events as they ask, for tests", "false", "true"),
    known("PILOTLIGHT_LOG", "what to log: a level, or target=level pairs", "info", "info,host=debug"),
    known("PILOTLIGHT_LOG_FORMAT", "json or text", "text on a terminal, else json", "json"),
    known(
        "PILOTLIGHT_CONFIG",
        "a file with the same settings, as KEY=VALUE lines or YAML; the environment wins",
        "",
        "/etc/pilotlight/config.yaml",
    ),
    known(
        "KUBECONFIG",
        "the cluster: a kubeconfig file; in a pod its service account is used without it",
        "",
        "/home/me/.kube/config",
    ),
    known(
        "PILOTLIGHT_NAMESPACE",
        "where our ConfigMap, Leases and Secrets are",
        "the namespace of the connection",
        "pilotlight",
    ),
    known(
        "PILOTLIGHT_ALSO_MANAGE",
        "claims of others to manage too: karpenter (pools of a Karpenter that runs), kaito-karpenter",
        "",
        "karpenter",
    ),
    known(
        "ARM_SUBSCRIPTION_ID",
        "AKS: the subscription; with it come the next three",
        "",
        "6f1c0d3e-1111-4222-8333-944444444444",
    ),
    known("ARM_RESOURCE_GROUP", "AKS: the cluster's resource group", "", "my-group"),
    known("AZURE_CLUSTER_NAME", "AKS: the cluster", "", "my-cluster"),
    known("LOCATION", "AKS: its region", "", "westeurope"),
    known(
        "SCW_SECRET_KEY",
        "Scaleway: the secret key, with the other SCW_ variables",
        "",
        "11111111-2222-4333-8444-555555555555",
    ),
    known("PILOTLIGHT_SCALEWAY_JOIN", "Scaleway, without a ScalewayNodeClass: kubeadm, k3s or kosmos", "", "kubeadm"),
    known("PILOTLIGHT_SCALEWAY_JOIN_ENDPOINT", "Scaleway: where machines join", "", "10.0.0.1:6443"),
    known("PILOTLIGHT_SCALEWAY_JOIN_TOKEN", "Scaleway: the join token", "", "abcdef.0123456789abcdef"),
    known("PILOTLIGHT_SCALEWAY_JOIN_CA_CERT_HASH", "Scaleway: kubeadm's discovery hash", "", "sha256:…"),
    known("PILOTLIGHT_SCALEWAY_JOIN_KUBERNETES_VERSION", "Scaleway: kubeadm's minor version", "", "1.36"),
    known(
        "PILOTLIGHT_SCALEWAY_JOIN_POOL_ID",
        "Scaleway: Kosmos' external pool",
        "",
        "6f1c0d3e-1111-4222-8333-944444444444",
    ),
    known("PILOTLIGHT_SCALEWAY_JOIN_POOL_REGION", "Scaleway: its region", "", "fr-par"),
    known(
        "PILOTLIGHT_SCALEWAY_JOIN_SECRET_KEY",
        "Scaleway: the key that may register external nodes",
        "",
        "11111111-2222-4333-8444-555555555555",
    ),
    known(
        "PILOTLIGHT_SCALEWAY_IMAGE",
        "Scaleway: the image's label",
        "ubuntu_jammy_gpu_os_12",
        "ubuntu_noble_gpu_os_13",
    ),
    known(
        "<PREFIX>_NAME",
        "a machine of yours, with _GPU_COUNT, _SCALE_UP_ENDPOINT and _SCALE_DOWN_ENDPOINT",
        "",
        "rack-1",
    ),
    known("FUNCTIONS_CUSTOMHANDLER_PORT", "set by the Azure Functions host: serve it, on loopback", "", "7071"),
    known("AWS_LAMBDA_RUNTIME_API", "set by AWS Lambda: serve it", "", "127.0.0.1:9001"),
    known("AWS_LAMBDA_FUNCTION_NAME", "set by AWS Lambda", "", "on-nodeclaim"),
    known("AWS_LAMBDA_FUNCTION_VERSION", "set by AWS Lambda", "", "$LATEST"),
    known("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "set by AWS Lambda", "", "128"),
];
