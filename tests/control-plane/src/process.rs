//! One of our programs as a process of its own: started with its variables and no others, killed, started again.

use std::{
    collections::BTreeMap,
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

pub struct Program {
    path: PathBuf,
    log: PathBuf,
    variables: BTreeMap<String, String>,
    child: Option<Child>,
}

impl Program {
    /// What it says is added to `<name>.log` in `logs`.
    pub fn new(path: &Path, logs: &Path, variables: BTreeMap<String, String>) -> Self {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Program { path: path.to_owned(), log: logs.join(format!("{name}.log")), variables, child: None }
    }

    pub fn start(&mut self) -> Result<(), String> {
        let failed = |why: std::io::Error| format!("cannot start {}: {why}", self.path.display());
        let log = fs::OpenOptions::new().create(true).append(true).open(&self.log).map_err(failed)?;
        let errors = log.try_clone().map_err(failed)?;
        let mut command = Command::new(&self.path);
        command.env_clear().envs(&self.variables).stdin(Stdio::null()).stdout(log).stderr(errors);
        self.child = Some(command.spawn().map_err(failed)?);
        Ok(())
    }

    /// As `kill -9` does.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            // Both fail only if it has ended already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    pub fn id(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Waits until somebody listens there. Only asking tells.
pub async fn until_it_listens(address: SocketAddr) -> Result<(), String> {
    for _ in 0..600 {
        if tokio::net::TcpStream::connect(address).await.is_ok() {
            return Ok(());
        }
        tokio::time::sleep(core::time::Duration::from_millis(20)).await;
    }
    Err(format!("nobody listens at {address}"))
}
