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

pub static CATALOGUE: [Known; 15] = [
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
    known("FUNCTIONS_CUSTOMHANDLER_PORT", "set by the Azure Functions host: serve it, on loopback", "", "7071"),
    known("AWS_LAMBDA_RUNTIME_API", "set by AWS Lambda: serve it", "", "127.0.0.1:9001"),
    known("AWS_LAMBDA_FUNCTION_NAME", "set by AWS Lambda", "", "on-nodeclaim"),
    known("AWS_LAMBDA_FUNCTION_VERSION", "set by AWS Lambda", "", "$LATEST"),
    known("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "set by AWS Lambda", "", "128"),
];
