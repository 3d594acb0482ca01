//! The world and the functions as processes on loopback, a forwarder between them, and a client for whoever asks the world.

use std::ffi::OsStr;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, PostParams};

use crate::Result;
use crate::http::Connection;
use crate::process::{Program, Running};
use spec::free_address;

const PATIENCE: Duration = Duration::from_secs(300);

pub struct Loopback {
    pub forwarder: Program,
    kubeconfig: PathBuf,
    functions: SocketAddr,
    /// Every request and its answer, a line each.
    pub record: PathBuf,
    _processes: [Running; 2],
}

impl Loopback {
    /// The functions reach the world's API server and its clouds.
    pub fn start(bin_dir: &Path, folder: &Path) -> Result<Loopback> {
        fs::create_dir_all(folder)?;
        let (kubeconfig, env_file, record) = (folder.join("kubeconfig"), folder.join("env"), folder.join("record"));
        drop(fs::remove_file(&kubeconfig));
        let named = |name: &str, path: &Path| [format!("--{name}"), path.display().to_string()];
        let arguments: Vec<String> =
            [named("kubeconfig", &kubeconfig), named("env-file", &env_file), named("record", &record)].concat();
        let world = Program::new(bin_dir, "world", folder).start_with(&arguments, &[])?;
        wait("the world", || kubeconfig.exists())?;
        let functions = free_address()?;
        let clouds = fs::read_to_string(&env_file)?;
        let mut variables: Vec<(&str, String)> =
            clouds.lines().filter_map(|line| line.split_once('=')).map(|(name, value)| (name, value.into())).collect();
        variables.extend([
            ("PILOTLIGHT_ALLOW_UNSIGNED", "true".to_owned()),
            ("PORT", functions.port().to_string()),
            ("PILOTLIGHT_BIND", functions.ip().to_string()),
            ("KUBECONFIG", kubeconfig.display().to_string()),
        ]);
        let served = Program::new(bin_dir, "pilotlight", folder).start_with(&["serve".to_owned()], &variables)?;
        let forwarder = Program::new(bin_dir, "forwarder", folder);
        Ok(Loopback { forwarder, kubeconfig, functions, record, _processes: [world, served] })
    }

    /// Starts a forwarder and waits until it knows this many pods and has told the functions of a tick.
    pub fn forward(&self, pods: usize) -> Result<Running> {
        let address = free_address()?;
        let variables = [
            ("PILOTLIGHT_ALLOW_UNSIGNED", "true".to_owned()),
            ("PILOTLIGHT_SINK", format!("http://{}", self.functions)),
            ("PILOTLIGHT_BIND", address.ip().to_string()),
            ("PORT", address.port().to_string()),
            ("KUBECONFIG", self.kubeconfig.display().to_string()),
        ];
        let running = self.forwarder.start(&variables)?;
        wait("the forwarder", || is_ready(address, pods).unwrap_or(false))?;
        Ok(running)
    }

    pub async fn api(&self, group: &str, kind: &str, plural: &str) -> Result<Api<DynamicObject>> {
        let client = cluster::connect(Some(OsStr::new(&self.kubeconfig))).await?;
        let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, "v1", kind), plural);
        let namespaced = kind == "Pod";
        Ok(if namespaced { Api::default_namespaced_with(client, &resource) } else { Api::all_with(client, &resource) })
    }

    /// Our custom resources.
    pub async fn define(&self) -> Result<()> {
        let api = self.api("apiextensions.k8s.io", "CustomResourceDefinition", "customresourcedefinitions").await?;
        for definition in cluster::crd::all() {
            let object: DynamicObject = serde_json::from_value(serde_json::to_value(definition)?)?;
            api.create(&PostParams::default(), &object).await?;
        }
        Ok(())
    }
}

pub fn wait(what: &str, is_so: impl Fn() -> bool) -> Result<()> {
    let begin = Instant::now();
    while !is_so() {
        if begin.elapsed() > PATIENCE {
            return Err(format!("{what}: not ready after {PATIENCE:?}").into());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

/// Whether it has listed everything and told a function something.
fn is_ready(address: SocketAddr, pods: usize) -> Result<bool> {
    let mut connection = Connection::open(address)?;
    let request = |path: &str| format!("GET {path} HTTP/1.1\r\nhost: {address}\r\n\r\n").into_bytes();
    let ready = connection.ask(&request("/readyz"))?.status() == Some(200);
    let figures = connection.ask(&request("/metrics"))?.text();
    let known = figures.lines().find_map(|line| line.strip_prefix("pilotlight_forwarder_objects{kind=\"pods\"} "));
    let told = figures.contains("pilotlight_forwarder_deliveries_total{function=\"on-idle-timer\"");
    Ok(ready && told && known.and_then(|count| count.parse::<usize>().ok()) >= Some(pods))
}
