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

pub static CATALOGUE: [Known; 37] = [
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
        "the cluster: kubeconfig files, a kubeconfig itself, or one in base64; in a pod its service account is used without it",
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
        "PILOTLIGHT_REPAIR_POLICIES",
        "what is done about nodes that are not well, as a JSON list beside what is built in; none for nothing at all",
        "",
        r#"[{"condition": "Ready", "status": "Unknown", "toleration": "30m", "action": "ReplaceNode"}]"#,
    ),
    known("PILOTLIGHT_NODE_NAME", "the node that we run on, which is never taken away", "", "system-1"),
    known(
        "PILOTLIGHT_ALSO_MANAGE",
        "claims of others to manage too: karpenter (pools of a Karpenter that runs), kaito-karpenter",
        "",
        "karpenter",
    ),
    known(
        "PILOTLIGHT_MAX_PRICE_PER_HOUR",
        "what all machines together may cost an hour; a NodePool has its own in pilotlight.dev/max-price-per-hour",
        "no cap",
        "12.50 EUR",
    ),
    known(
        "SCHEDULER_CONFIG",
        "default constraints of the scheduler, YAML as Karpenter reads it: podTopologySpread.defaultConstraints",
        "",
        "{podTopologySpread: {defaultConstraints: [{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule}]}}",
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

/// What only the forwarder is told, beside the settings above.
pub static FORWARDER: [Known; 23] = [
    known(
        "PILOTLIGHT_SINK",
        "where the functions are: a URL (/<function> is added, or stands in it as {function}) or a Lambda ARN with {function}",
        "",
        "https://my-app.azurewebsites.net/api",
    ),
    known(
        "PILOTLIGHT_SINK_ON_PENDING_POD",
        "the same for one function alone, as it is",
        "",
        "arn:aws:lambda:eu-west-1:123456789012:function:on-pending-pod",
    ),
    known("PILOTLIGHT_SINK_ON_NODECLAIM", "the same", "", "http://on-nodeclaim.pilotlight.svc"),
    known("PILOTLIGHT_SINK_ON_WORKSPACE", "the same", "", "http://on-workspace.pilotlight.svc"),
    known("PILOTLIGHT_SINK_ON_IDLE_TIMER", "the same", "", "http://on-idle-timer.pilotlight.svc"),
    known("PILOTLIGHT_SINK_ON_DELETE", "the same", "", "http://on-delete.pilotlight.svc"),
    known(
        "K_SINK",
        "set by a Knative SinkBinding: for functions that nothing above names; as it is if it has a path (a Broker), else /<function> is added",
        "",
        "http://broker-ingress.knative-eventing.svc.cluster.local/pilotlight/default",
    ),
    known(
        "K_CE_OVERRIDES",
        "set by a Knative SinkBinding: attributes that every event gets",
        "",
        r#"{"extensions":{"team":"a"}}"#,
    ),
    known("PILOTLIGHT_FUNCTIONS_KEY", "Azure Functions: the key that URLs ask for", "", "a-host-key"),
    known(
        "PILOTLIGHT_ENTRA_SCOPE",
        "Azure Functions: send an Entra ID token for this scope (AZURE_ variables say as whom)",
        "",
        "api://my-app/.default",
    ),
    known(
        "PILOTLIGHT_LAMBDA_INVOCATION",
        "AWS Lambda: RequestResponse, or Event (the answer does not come back then)",
        "RequestResponse",
        "Event",
    ),
    known(
        "AWS_ENDPOINT_URL_LAMBDA",
        "AWS Lambda: another address than the region's own",
        "",
        "https://vpce-1.lambda.eu-west-1.vpce.amazonaws.com",
    ),
    known(
        "PILOTLIGHT_BATCH_WINDOW",
        "how long pending pods that follow a first one are gathered, at most",
        "100ms",
        "250ms",
    ),
    known(
        "BATCH_IDLE_DURATION",
        "as Karpenter: gather pending pods, the first one too, until none came for this long",
        "",
        "1s",
    ),
    known("BATCH_MAX_DURATION", "as Karpenter: with it, how long they are gathered at most", "10s", "10s"),
    known("PILOTLIGHT_PENDING_REPEAT", "how often pods that still wait are told of again", "10s", "30s"),
    known("PILOTLIGHT_TICK", "how often on-idle-timer is called", "30s", "1m"),
    known("PILOTLIGHT_RESYNC", "how often everything is told again, changed or not", "5m", "10m"),
    known("PILOTLIGHT_PARALLEL", "deliveries under way at once", "32", "100"),
    known(
        "PILOTLIGHT_QUEUE",
        "objects that wait for a delivery, at most; further ones come with the next resync",
        "10000",
        "50000",
    ),
    known("PILOTLIGHT_TRIES", "failed deliveries in a row before one is given up until the next resync", "10", "20"),
    known(
        "PILOTLIGHT_LEASE_DURATION",
        "two replicas: how long one that is gone is waited for; 0s: there is one replica only",
        "15s",
        "30s",
    ),
    known("PILOTLIGHT_STREAMING_LISTS", "true, false, or auto: by the API server's version", "auto", "false"),
];
