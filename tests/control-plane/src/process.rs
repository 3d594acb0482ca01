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
    arguments: Vec<String>,
    log: PathBuf,
    variables: BTreeMap<String, String>,
    child: Option<Child>,
}

impl Program {
    /// What it says is added to `<name>.log` in `logs`.
    pub fn new(path: &Path, logs: &Path, variables: BTreeMap<String, String>) -> Self {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Program::named(&name, path, logs, variables)
    }

    /// The same under another name than its file's.
    pub fn named(name: &str, path: &Path, logs: &Path, variables: BTreeMap<String, String>) -> Self {
        let log = logs.join(format!("{name}.log"));
        Program { path: path.to_owned(), arguments: Vec::new(), log, variables, child: None }
    }

    pub fn with_arguments(mut self, arguments: &[&str]) -> Self {
        self.arguments = arguments.iter().map(|&argument| argument.to_owned()).collect();
        self
    }

    /// From the next start on.
    pub fn set(&mut self, variable: &str, value: &str) {
        self.variables.insert(variable.to_owned(), value.to_owned());
    }

    pub fn start(&mut self) -> Result<(), String> {
        let failed = |why: std::io::Error| format!("cannot start {}: {why}", self.path.display());
        let log = fs::OpenOptions::new().create(true).append(true).open(&self.log).map_err(failed)?;
        let errors = log.try_clone().map_err(failed)?;
        let mut command = dying_with_us(&self.path);
        command.args(&self.arguments).env_clear().envs(&self.variables);
        command.stdin(Stdio::null()).stdout(log).stderr(errors);
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

    /// Sends it a signal by its name, as `kill` does.
    pub fn signal(&self, name: &str) -> Result<(), String> {
        let id = self.child.as_ref().map(Child::id).ok_or_else(|| format!("{} does not run", self.path.display()))?;
        let sent = Command::new("kill").args([format!("-{name}"), id.to_string()]).status();
        sent.map(drop).map_err(|why| format!("cannot send {name} to {}: {why}", self.path.display()))
    }

    /// The most memory that it ever held, in MiB, as the kernel counted.
    pub fn peak_mib(&self) -> Option<f64> {
        self.memory("VmHWM:")
    }

    /// What it holds now, in MiB.
    pub fn now_mib(&self) -> Option<f64> {
        self.memory("VmRSS:")
    }

    fn memory(&self, line: &str) -> Option<f64> {
        let id = self.child.as_ref().map(Child::id)?;
        let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
        let text = status.lines().find_map(|found| found.strip_prefix(line))?;
        let kibibytes: f64 = text.trim().strip_suffix(" kB")?.trim().parse().ok()?;
        Some(kibibytes / 1024.0)
    }

    /// Seconds of CPU that it has used, of all its threads.
    pub fn cpu_seconds(&self) -> Option<f64> {
        let id = self.child.as_ref().map(Child::id)?;
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        // The name, in brackets, may hold anything; user and system time are the 14th and 15th of all fields.
        let after_name = stat.rsplit_once(')')?.1;
        let ticks: Vec<f64> =
            after_name.split_whitespace().skip(11).take(2).filter_map(|one| one.parse().ok()).collect();
        // Linux counts in hundredths of a second wherever anybody looks.
        Some(ticks.iter().sum::<f64>() / 100.0)
    }

    pub fn log(&self) -> &Path {
        &self.log
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Where util-linux is, the kernel ends the child when the thread that started it ends, however it ends. Elsewhere our own
/// clean-up has to do.
pub fn dying_with_us(program: &Path) -> Command {
    let setpriv = Path::new("/usr/bin/setpriv");
    if !setpriv.exists() {
        return Command::new(program);
    }
    let mut command = Command::new(setpriv);
    command.args(["--pdeathsig", "KILL", "--"]).arg(program);
    command
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
