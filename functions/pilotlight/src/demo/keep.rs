//! The world of the demo on loopback, for as long as somebody wants to look at it.

use std::{io::Write as _, sync::Arc};
use tempfile::NamedTempFile;
use world::{
    World, kubeconfig,
    serve::{Certificates, Listening},
};

use super::{Failure, show::Screen};

/// Serves the API server and tells how to reach it. The kubeconfig is gone when the value is.
pub async fn serve(world: &World, screen: &mut Screen) -> Result<NamedTempFile, Failure> {
    let certificates = Arc::new(Certificates::new()?);
    let listening = Listening::bind(0).await?;
    let server = format!("https://{}", listening.address()?);
    let mut file = tempfile::Builder::new().prefix("pilotlight-").suffix(".kubeconfig").tempfile()?;
    file.write_all(kubeconfig::write(&server, &certificates.authority, "admin").as_bytes())?;
    tokio::spawn(listening.serve(world.kubernetes(), Some(certificates)));
    screen.say(&format!(
        "Look at it, and change it, from another terminal until Ctrl-C:
  export KUBECONFIG={}
  kubectl get nodeclaims -w
  kubectl delete nodeclaim NAME",
        file.path().display()
    ));
    Ok(file)
}
