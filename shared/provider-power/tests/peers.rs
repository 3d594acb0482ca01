//! Back ends that nobody here wrote: sushy-emulator (Redfish, TLS, basic auth) and maaspower, over real sockets.
//!
//! ```sh
//! python3 -m venv target/power-peers && target/power-peers/bin/pip install sushy-tools bcrypt maaspower
//! POWER_PEERS=$PWD/target/power-peers/bin cargo test -p provider-power --test peers -- --ignored
//! ```

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use async_trait::async_trait;
use model::{Ensured, Gone, InstanceKey, InstanceRequest, ObjectName, Progress, Uid};
use provider::{Change as _, Look as _, ProviderError};
use provider_power::{
    Auth, BackEndConfig, Holders, HostRule, MachineConfig, NodeSign, Power, ReqwestTransport, Secret, UrlPolicy,
    presets,
};
use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};
use tokio::process::{Child, Command};

const SYSTEM: &str = "6f1c0d3e-1111-4222-8333-944444444444";

fn bin(name: &str) -> PathBuf {
    let folder =
        std::env::var_os("POWER_PEERS").expect("POWER_PEERS is the bin folder of the peers; see the file's top");
    PathBuf::from(folder).join(name)
}

struct Held;

#[async_trait]
impl Holders for Held {
    async fn holder(&self, _: &str) -> Result<Option<Uid>, ProviderError> {
        Ok(Some(Uid::new("uid").unwrap()))
    }
    async fn node(&self, _: &str) -> Result<NodeSign, ProviderError> {
        Ok(NodeSign::default())
    }
}

fn key() -> InstanceKey {
    InstanceKey { claim: Uid::new("uid").unwrap(), name: ObjectName::new("train-0").unwrap() }
}

fn provider(back_end: BackEndConfig) -> Power {
    let policy = UrlPolicy::new(vec![HostRule::parse("127.0.0.0/8").unwrap(), HostRule::parse("::1").unwrap()], true);
    let machine = MachineConfig::new("rack-1", 1, back_end);
    let transport = Arc::new(ReqwestTransport::new(policy.clone()));
    Power::new(vec![machine], policy, transport, Arc::new(Held), Arc::new(jiff::Timestamp::now)).unwrap()
}

async fn request(power: &Power) -> InstanceRequest {
    InstanceRequest {
        key: key(),
        offering: power.offerings().await.unwrap().remove(0),
        epoch: 1,
        labels: BTreeMap::new(),
        annotations: BTreeMap::new(),
        taints: vec![],
        startup_taints: vec![],
        requests: BTreeMap::new(),
        class: BTreeMap::new(),
    }
}

async fn seconds(seconds: u32) {
    tokio::time::sleep(Duration::from_secs(u64::from(seconds))).await;
}

async fn drive_on(power: &Power) {
    let (request, mut progress) = (request(power).await, None::<Progress>);
    for _ in 0..60 {
        match power.ensure(&request, progress.as_ref()).await.unwrap() {
            Ensured::Running(_) => return,
            Ensured::InProgress { progress: next, look_again_seconds } => {
                progress = Some(next);
                seconds(look_again_seconds).await;
            }
        }
    }
    panic!("it did not come on");
}

async fn drive_off(power: &Power) {
    let mut progress = None::<Progress>;
    for _ in 0..60 {
        match power.ensure_gone(&key(), progress.as_ref()).await.unwrap() {
            Gone::Confirmed => return,
            Gone::InProgress { progress: next, look_again_seconds } => {
                progress = Some(next);
                seconds(look_again_seconds).await;
            }
        }
    }
    panic!("it did not go off");
}

async fn until_it_answers(power: &Power) {
    for _ in 0..60 {
        match power.observe(&key()).await {
            Ok(_) => return,
            Err(error) if error.reason() == "Unavailable" => seconds(1).await,
            Err(error) => panic!("{error}"),
        }
    }
    panic!("the peer does not answer");
}

async fn free_port() -> u16 {
    tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port()
}

fn start(program: &str, arguments: &[&str], folder: &std::path::Path) -> Child {
    let quiet = std::process::Stdio::null;
    let mut command = Command::new(bin(program));
    command.args(arguments).current_dir(folder).stdout(quiet()).stderr(quiet()).kill_on_drop(true);
    command.spawn().unwrap()
}

#[tokio::test]
#[ignore = "needs sushy-tools; see the file's top"]
async fn sushy_emulator_is_driven_over_tls_and_its_race_survived() {
    let folder = tempfile::tempdir().unwrap();
    let certified = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let (certificate, key_file) = (folder.path().join("cert.pem"), folder.path().join("key.pem"));
    std::fs::write(&certificate, certified.cert.pem()).unwrap();
    std::fs::write(&key_file, certified.signing_key.serialize_pem()).unwrap();
    let hash = "import bcrypt; print('admin:' + bcrypt.hashpw(b'word', bcrypt.gensalt(4)).decode())";
    let accounts = Command::new(bin("python")).args(["-c", hash]).output().await.unwrap().stdout;
    let accounts_file = folder.path().join("htpasswd");
    std::fs::write(&accounts_file, accounts).unwrap();
    let port = free_port().await;
    let config = format!(
        "SUSHY_EMULATOR_LISTEN_IP='127.0.0.1'\nSUSHY_EMULATOR_LISTEN_PORT={port}\nSUSHY_EMULATOR_FAKE_DRIVER=True\n\
         SUSHY_EMULATOR_STATE_DIR={:?}\nSUSHY_EMULATOR_AUTH_FILE={accounts_file:?}\n\
         SUSHY_EMULATOR_SSL_CERT={certificate:?}\nSUSHY_EMULATOR_SSL_KEY={key_file:?}\n\
         SUSHY_EMULATOR_FAKE_SYSTEMS=[{{'uuid':'{SYSTEM}','name':'rack-1','power_state':'Off',\
         'external_notifier':False,'nics':[{{'mac':'00:5c:52:31:3a:9c','ip':'172.22.0.100'}}]}}]\n",
        folder.path()
    );
    std::fs::write(folder.path().join("config.py"), config).unwrap();
    let _sushy = start("sushy-emulator", &["--config", "config.py"], folder.path());
    let machine = |system: &str, password: &str| {
        let auth = Auth::Basic { user: "admin".to_owned(), password: Secret::new(password) };
        let mut back_end = presets::redfish(&format!("https://localhost:{port}/redfish/v1/Systems/{system}"), &auth);
        if let BackEndConfig::Redfish { ca, .. } = &mut back_end {
            *ca = Some(certified.cert.pem());
        }
        provider(back_end)
    };
    let power = machine(SYSTEM, "word");
    until_it_answers(&power).await;
    let refused = machine(SYSTEM, "wrong").observe(&key()).await.unwrap_err();
    assert_eq!(refused.reason(), "Unauthorized");

    drive_on(&power).await;
    assert!(power.observe(&key()).await.unwrap().is_some());
    power.ensure_gone(&key(), None).await.unwrap();
    // Another process takes the shutdown back, by the system's name, while it is on its way.
    let other = machine("rack-1", "word");
    drive_on(&other).await;
    seconds(14).await;
    assert!(other.observe(&key()).await.unwrap().is_some(), "confirmed on is on for good");
    drive_off(&other).await;
    seconds(14).await;
    assert!(other.observe(&key()).await.unwrap().is_none(), "confirmed off is off for good");
}

#[tokio::test]
#[ignore = "needs maaspower; see the file's top"]
async fn maaspower_is_driven() {
    let folder = tempfile::tempdir().unwrap();
    let (port, state) = (free_port().await, folder.path().join("state"));
    for (file, word) in [("running", "running"), ("stopped", "stopped"), ("state", "stopped")] {
        std::fs::write(folder.path().join(file), word).unwrap();
    }
    let config = format!(
        "name: test\nip_address: 127.0.0.1\nport: {port}\nusername: admin\npassword: word\ndevices:\n\
         - type: CommandLine\n  name: rack-1\n  on: cp {0}/running {0}/state\n  off: cp {0}/stopped {0}/state\n\
         \x20 query: cat {0}/state\n  query_on_regex: running\n  query_off_regex: stopped\n",
        folder.path().display()
    );
    std::fs::write(folder.path().join("config.yaml"), config).unwrap();
    let _maaspower = start("maaspower", &["run", "config.yaml"], folder.path());
    let url = |verb: &str| format!("http://127.0.0.1:{port}/maaspower/rack-1/{verb}");
    let auth = Auth::Basic { user: "admin".to_owned(), password: Secret::new("word") };
    let power = provider(presets::maas(&url("on"), &url("off"), &url("query"), &auth));
    until_it_answers(&power).await;
    drive_on(&power).await;
    assert_eq!(std::fs::read_to_string(&state).unwrap().trim(), "running");
    drive_off(&power).await;
    assert_eq!(std::fs::read_to_string(&state).unwrap().trim(), "stopped");
}
