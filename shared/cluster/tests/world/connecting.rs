//! The way to the API server, over TLS on loopback.

use cluster::{Cluster, ConnectError, connect};
use model::ObjectName;
use std::{ffi::OsStr, sync::Arc};
use world::{
    World, WorldOptions, kubeconfig,
    serve::{Certificates, Listening},
};

#[tokio::test]
async fn a_kubeconfig_leads_to_the_cluster_under_our_name() {
    let world = World::start(WorldOptions::default());
    let certificates = Arc::new(Certificates::new().unwrap());
    let listening = Listening::bind(0).await.unwrap();
    let url = format!("https://{}", listening.address().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("kubeconfig");
    std::fs::write(&file, kubeconfig::write(&url, &certificates.authority, "admin")).unwrap();
    let serving = tokio::spawn(listening.serve(world.kubernetes(), Some(certificates)));

    let client = connect(Some(file.as_os_str())).await.unwrap();
    let cluster = Cluster::new(client, "default".to_owned());
    assert_eq!(cluster.node(&ObjectName::new("nobody").unwrap()).await, Ok(None));
    assert_eq!(world.history.exchanges().last().map(|one| one.path.clone()).as_deref(), Some("/api/v1/nodes/nobody"));
    serving.abort();
}

#[tokio::test]
async fn without_a_way_the_error_says_what_to_set() {
    let missing = connect(Some(OsStr::new("no/such/file"))).await.err().unwrap();
    assert!(matches!(missing, ConnectError::Kubeconfig { .. }));
    assert!(missing.to_string().starts_with("KUBECONFIG is no/such/file: "), "{missing}");
    let nowhere = connect(None).await.err().unwrap();
    assert!(nowhere.to_string().contains("Set KUBECONFIG to a kubeconfig file, or run in a pod"), "{nowhere}");
}
