//! Servers of power that others wrote, as processes: installed by tests/peers/power/setup.sh under `target/power-peers`.

use std::path::{Path, PathBuf};
use tokio::process::{Child, Command};

use crate::free_address;

/// The folder that POWER_PEERS names, where `make power-peers` puts them.
pub fn bin(name: &str) -> PathBuf {
    let folder = std::env::var_os("POWER_PEERS").expect("POWER_PEERS is the bin folder of the peers: make power-peers");
    PathBuf::from(folder).join(name)
}

/// It ends when the value is dropped.
pub fn start(program: &str, arguments: &[&str], folder: &Path) -> Child {
    let quiet = std::process::Stdio::null;
    let mut command = Command::new(bin(program));
    command.args(arguments).current_dir(folder).stdout(quiet()).stderr(quiet()).kill_on_drop(true);
    command.spawn().unwrap()
}

/// A sushy-emulator over TLS, and the systems that it was told of. Its account is `admin`, its password `word`.
pub struct Sushy {
    pub port: u16,
    /// Its own, which has to be trusted.
    pub certificate: String,
    _folder: tempfile::TempDir,
    _process: Child,
}

impl Sushy {
    /// Systems by name, UUID and whether they are on.
    pub async fn start(systems: &[(&str, &str, bool)]) -> Sushy {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name);
        let certified = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        std::fs::write(file("cert.pem"), certified.cert.pem()).unwrap();
        std::fs::write(file("key.pem"), certified.signing_key.serialize_pem()).unwrap();
        let hash = "import bcrypt; print('admin:' + bcrypt.hashpw(b'word', bcrypt.gensalt(4)).decode())";
        let accounts = Command::new(bin("python")).args(["-c", hash]).output().await.unwrap().stdout;
        std::fs::write(file("htpasswd"), accounts).unwrap();
        let port = free_address().unwrap().port();
        let system = |(name, uuid, on): &(&str, &str, bool)| {
            let power = if *on { "On" } else { "Off" };
            format!(
                "{{'uuid':'{uuid}','name':'{name}','power_state':'{power}','external_notifier':False,\
                 'nics':[{{'mac':'00:5c:52:31:3a:9c','ip':'172.22.0.100'}}]}}"
            )
        };
        let systems: Vec<String> = systems.iter().map(system).collect();
        let config = format!(
            "SUSHY_EMULATOR_LISTEN_IP='127.0.0.1'\nSUSHY_EMULATOR_LISTEN_PORT={port}\n\
             SUSHY_EMULATOR_FAKE_DRIVER=True\nSUSHY_EMULATOR_STATE_DIR={:?}\nSUSHY_EMULATOR_AUTH_FILE={:?}\n\
             SUSHY_EMULATOR_SSL_CERT={:?}\nSUSHY_EMULATOR_SSL_KEY={:?}\nSUSHY_EMULATOR_FAKE_SYSTEMS=[{}]\n",
            folder.path(),
            file("htpasswd"),
            file("cert.pem"),
            file("key.pem"),
            systems.join(",")
        );
        std::fs::write(file("config.py"), config).unwrap();
        let process = start("sushy-emulator", &["--config", "config.py"], folder.path());
        Sushy { port, certificate: certified.cert.pem(), _folder: folder, _process: process }
    }

    pub fn url(&self, system: &str) -> String {
        format!("https://localhost:{}/redfish/v1/Systems/{system}", self.port)
    }
}
