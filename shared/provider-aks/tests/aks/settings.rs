//! Settings: the names of gpu-provisioner, and everything that is wrong at once.

use provider_aks::{Credential, Settings};

type Pairs = &'static [(&'static str, &'static str)];

fn read(pairs: &[(&str, &str)]) -> Result<Settings, Vec<provider_aks::Problem>> {
    Settings::read(|name| pairs.iter().find(|(own, _)| *own == name).map(|(_, value)| (*value).to_owned()))
}

const PLACE: [(&str, &str); 4] = [
    ("ARM_SUBSCRIPTION_ID", " 22222222-2222-4222-8222-222222222222 "),
    ("ARM_RESOURCE_GROUP", "group"),
    ("AZURE_CLUSTER_NAME", "cluster"),
    ("LOCATION", "West Europe"),
];

fn with(pairs: &[(&'static str, &'static str)]) -> Vec<(&'static str, &'static str)> {
    PLACE.iter().chain(pairs).copied().collect()
}

#[test]
fn nothing_set_names_every_variable_that_is_needed_with_an_example() {
    let problems = read(&[]).unwrap_err();
    let text: Vec<String> = problems.iter().map(ToString::to_string).collect();
    for (variable, _) in PLACE {
        assert!(
            text.iter().any(|line| line.starts_with(variable) && line.contains(&format!("{variable}="))),
            "{text:?}"
        );
    }
}

#[test]
fn the_identity_is_chosen_by_what_is_set() {
    let ids: Pairs = &[("AZURE_TENANT_ID", "t"), ("AZURE_CLIENT_ID", "c")];
    let cases: [(Pairs, &[&str]); 9] = [
        (&[("AZURE_FEDERATED_TOKEN_FILE", "/token"), ("AZURE_CLIENT_SECRET", "s")], &["workload identity"]),
        (&[("AZURE_FEDERATED_TOKEN_FILE", "/token"), ("DEPLOYMENT_MODE", "managed")], &["workload identity"]),
        (&[("DEPLOYMENT_MODE", "managed")], &["managed identity", "az CLI"]),
        (
            &[("DEPLOYMENT_MODE", "managed"), ("AZURE_CLIENT_SECRET", "s")],
            &["managed identity", "client secret", "az CLI"],
        ),
        (&[("AZURE_CLIENT_SECRET", "s")], &["client secret", "az CLI"]),
        (&[], &["managed identity", "az CLI"]),
        (&[("PILOTLIGHT_AZURE_CREDENTIAL", "cli")], &["az CLI"]),
        (
            &[("PILOTLIGHT_AZURE_CREDENTIAL", "managed-identity"), ("AZURE_FEDERATED_TOKEN_FILE", "/x")],
            &["managed identity"],
        ),
        (&[("PILOTLIGHT_AZURE_CREDENTIAL", "client-secret"), ("AZURE_CLIENT_SECRET", "s")], &["client secret"]),
    ];
    for (pairs, expected) in cases {
        let settings = read(&[with(ids), pairs.to_vec()].concat()).unwrap();
        let names: Vec<&str> = settings.credentials.iter().map(Credential::name).collect();
        assert_eq!(names, expected, "{pairs:?}");
    }
}

#[test]
fn what_an_identity_lacks_is_named() {
    let cases: [(Pairs, &[&str]); 4] = [
        (&[("DEPLOYMENT_MODE", "self-hosted")], &["AZURE_TENANT_ID", "AZURE_CLIENT_ID", "AZURE_FEDERATED_TOKEN_FILE"]),
        (
            &[("PILOTLIGHT_AZURE_CREDENTIAL", "client-secret")],
            &["AZURE_CLIENT_SECRET", "AZURE_TENANT_ID", "AZURE_CLIENT_ID"],
        ),
        (&[("PILOTLIGHT_AZURE_CREDENTIAL", "password")], &["PILOTLIGHT_AZURE_CREDENTIAL"]),
        (
            &[
                ("AZURE_CLOUD", "Moon"),
                ("AZURE_RESOURCE_MANAGER_ENDPOINT", "here"),
                ("AZURE_AUTHORITY_HOST", "https://"),
            ],
            &["AZURE_CLOUD", "AZURE_RESOURCE_MANAGER_ENDPOINT", "AZURE_AUTHORITY_HOST"],
        ),
    ];
    for (pairs, expected) in cases {
        let problems = read(&with(pairs)).unwrap_err();
        let names: Vec<&str> = problems.iter().map(|problem| problem.variable).collect();
        assert_eq!(names, expected, "{pairs:?}");
    }
}

#[test]
fn endpoints_can_be_overridden_and_a_secret_is_never_printed() {
    let settings = read(&with(&[
        ("AZURE_RESOURCE_MANAGER_ENDPOINT", "http://127.0.0.1:8080/"),
        ("AZURE_AUTHORITY_HOST", "https://login.example/"),
        ("AZURE_TENANT_ID", "t"),
        ("AZURE_CLIENT_ID", "c"),
        ("AZURE_CLIENT_SECRET", "canary"),
    ]))
    .unwrap();
    assert_eq!((settings.endpoint.as_str(), settings.location.as_str()), ("http://127.0.0.1:8080", "westeurope"));
    assert_eq!(settings.authority_host, "https://login.example");
    assert!(!format!("{settings:?}").contains("canary"));
    assert!(settings.prices.is_some());
    assert!(read(&with(&[("AZURE_CLOUD", "AzureChinaCloud")])).unwrap().prices.is_none());
}

/// What the chart of gpu-provisioner and the workload-identity webhook put into the pod, as it is.
#[test]
fn the_environment_of_gpu_provisioner_works_unchanged() {
    let settings = read(&[
        ("ARM_SUBSCRIPTION_ID", "22222222-2222-4222-8222-222222222222"),
        ("LOCATION", "eastus"),
        ("AZURE_CLUSTER_NAME", "cluster"),
        ("ARM_RESOURCE_GROUP", "group"),
        ("DEPLOYMENT_MODE", "self-hosted"),
        ("LEADER_ELECT", "false"),
        ("E2E_TEST_MODE", "false"),
        ("AZURE_ENABLE_DYNAMIC_SKU_CACHE", "false"),
        ("AZURE_CLIENT_ID", "c"),
        ("AZURE_TENANT_ID", "t"),
        ("AZURE_FEDERATED_TOKEN_FILE", "/var/run/secrets/azure/tokens/azure-identity-token"),
        ("AZURE_AUTHORITY_HOST", "https://login.microsoftonline.com/"),
    ])
    .unwrap();
    let [Credential::WorkloadIdentity { tenant, client, token_file }] = settings.credentials.as_slice() else {
        panic!("{:?}", settings.credentials)
    };
    assert_eq!((tenant.as_str(), client.as_str()), ("t", "c"));
    assert_eq!(token_file, "/var/run/secrets/azure/tokens/azure-identity-token");
    assert_eq!(settings.endpoint, "https://management.azure.com");
}
