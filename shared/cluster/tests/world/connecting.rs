//! The way to the API server, over TLS on loopback.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use cluster::{Cluster, ClusterError, ConnectError, EntraTokens, Kind, Way, connect};
use kube::Client;
use model::ObjectName;
use serde_json::json;
use std::{
    ffi::OsStr,
    sync::{Arc, Mutex},
};
use world::{
    World, WorldOptions, kubeconfig,
    serve::{Certificates, Listening},
};

/// A world on loopback, and the kubeconfig that leads there.
async fn served() -> (World, String) {
    let world = World::start(WorldOptions::default());
    let certificates = Arc::new(Certificates::new().unwrap());
    let listening = Listening::bind(0).await.unwrap();
    let url = format!("https://{}", listening.address().unwrap());
    let text = kubeconfig::write(&url, &certificates.authority, "admin");
    tokio::spawn(listening.serve(world.kubernetes(), Some(certificates)));
    (world, text)
}

/// Who the API server takes us for.
async fn asks(world: &World, client: Client) -> Result<String, ClusterError> {
    let cluster = Cluster::new(client, "default".to_owned());
    assert_eq!(cluster.node(&ObjectName::new("nobody").unwrap()).await?, None);
    let last = world.history.exchanges().last().cloned().unwrap();
    assert_eq!(last.path, "/api/v1/nodes/nobody");
    Ok(last.user)
}

#[tokio::test]
async fn a_kubeconfig_leads_to_the_cluster_as_a_file_as_it_is_and_in_base64() {
    let (world, text) = served().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("kubeconfig");
    std::fs::write(&file, &text).unwrap();
    let client = connect(Some(file.as_os_str())).await.unwrap();
    assert_eq!(asks(&world, client).await.as_deref(), Ok("admin"));
    for value in [STANDARD.encode(&text), text] {
        let way = Way { kubeconfig: Some(value), entra: None };
        assert_eq!(asks(&world, way.connect().await.unwrap()).await.as_deref(), Ok("admin"));
        assert_eq!(asks(&world, way.connect_to_watch().await.unwrap()).await.as_deref(), Ok("admin"));
    }
}

#[tokio::test]
async fn a_kubeconfig_of_aks_gets_its_token_from_entra_and_runs_no_program() {
    let (world, text) = served().await;
    let mut given: serde_json::Value = serde_saphyr::from_str(&text).unwrap();
    let arguments = ["get-token", "--login", "devicecode", "--server-id", "6dae42f8-4368-4678-94ff-3960e28e3630"];
    let exec =
        json!({ "apiVersion": "client.authentication.k8s.io/v1beta1", "command": "kubelogin", "args": arguments });
    given["users"][0]["user"] = json!({ "exec": exec });
    let asked = Arc::new(Mutex::new(Vec::new()));
    let tokens = |answer: Result<&str, &str>| -> EntraTokens {
        let (asked, answer) = (asked.clone(), answer.map(str::to_owned).map_err(str::to_owned));
        Arc::new(move |scope| {
            asked.lock().unwrap().push(scope);
            let answer = answer.clone();
            Box::pin(async move { answer })
        })
    };
    let way = |entra| Way { kubeconfig: Some(given.to_string()), entra: Some(entra) };
    let client = way(tokens(Ok("world:entra"))).connect().await.unwrap();
    assert_eq!(asks(&world, client).await.as_deref(), Ok("entra"));
    let refused = way(tokens(Err("no such app"))).connect().await.unwrap();
    let error = asks(&world, refused).await.unwrap_err();
    assert!(error.to_string().contains("Entra ID gives no token for the API server: no such app"), "{error}");
    assert!(matches!(error.kind, Kind::Unavailable { .. }), "nothing was sent: {error:?}");
    assert_eq!(asked.lock().unwrap().as_slice(), ["6dae42f8-4368-4678-94ff-3960e28e3630/.default"; 2]);
}

#[tokio::test]
async fn what_is_wrong_with_a_document_is_said_without_repeating_it() {
    let secret = "clusters:\n- hush: [\n";
    let wrong = Way { kubeconfig: Some(secret.to_owned()), entra: None }.connect().await.err().unwrap();
    assert!(matches!(wrong, ConnectError::Inline { .. }) && !wrong.to_string().contains("hush"), "{wrong}");
    let nowhere = "apiVersion: v1\nkind: Config\nclusters: []\n";
    let wrong = Way { kubeconfig: Some(nowhere.to_owned()), entra: None }.connect().await.err().unwrap();
    assert!(wrong.to_string().starts_with("KUBECONFIG holds a kubeconfig that cannot be used: "), "{wrong}");
}

#[tokio::test]
async fn without_a_way_the_error_says_what_to_set() {
    let missing = connect(Some(OsStr::new("no/such/file"))).await.err().unwrap();
    assert!(matches!(missing, ConnectError::Kubeconfig { .. }));
    assert!(missing.to_string().starts_with("KUBECONFIG is no/such/file: "), "{missing}");
    let nowhere = connect(None).await.err().unwrap();
    assert!(nowhere.to_string().contains("Set KUBECONFIG to a kubeconfig file, or run in a pod"), "{nowhere}");
}
