//! Our programs as processes on a real cluster: the forwarder and each function apart, or `pilotlight run` alone.

use kube::Client;
use spec::free_address;
use std::{
    collections::BTreeMap,
    fs,
    net::SocketAddr,
    path::Path,
    sync::{Mutex, MutexGuard, PoisonError},
};

use crate::{
    ControlPlane, account,
    process::{Program, until_it_listens},
};

/// How our programs are put on the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cast {
    /// The forwarder and each function: a process and an account each, HTTP between them, and every delivery signed.
    Apart,
    /// `pilotlight run`: all of it in one process, under one account.
    Together,
}

impl Cast {
    pub const BOTH: [Cast; 2] = [Cast::Apart, Cast::Together];

    /// In the order in which they start. Each is also the name of its program and of its account.
    pub fn members(self) -> &'static [&'static str] {
        match self {
            Cast::Apart => &["on-pending-pod", "on-nodeclaim", "on-delete", TIMER, FORWARDER],
            Cast::Together => &[ALL_IN_ONE],
        }
    }

    /// Those that are told what happens to objects.
    pub fn functions_with_events(self) -> impl Iterator<Item = &'static str> {
        self.members().iter().copied().filter(|name| name.starts_with("on-") && *name != TIMER)
    }

    /// Who goes on with commands that take nodes away.
    pub fn ticked(self) -> &'static str {
        match self {
            Cast::Apart => TIMER,
            Cast::Together => ALL_IN_ONE,
        }
    }

    /// Who hears the watches and sends the ticks, and so knows what functions answer.
    pub fn listener(self) -> &'static str {
        match self {
            Cast::Apart => FORWARDER,
            Cast::Together => ALL_IN_ONE,
        }
    }
}

const FORWARDER: &str = "forwarder";
const TIMER: &str = "on-idle-timer";
const ALL_IN_ONE: &str = "pilotlight";

/// Whoever has it may call functions: nobody but this machine, for as long as a test lasts.
const SIGNING_SECRET: &str = "whsec_cGlsb3RsaWdodC1jb250cm9sLXBsYW5lLXRlc3Q=";

/// A forwarder that was killed is missed for this long: the Lease is short, so that lives are too.
const LEASE: &str = "3s";

pub struct Troupe {
    pub cast: Cast,
    members: Mutex<BTreeMap<&'static str, Member>>,
}

struct Member {
    program: Program,
    address: SocketAddr,
}

impl Troupe {
    /// Starts all of them: programs from `folder`, each with a token of its own account and the variables of the clouds.
    pub async fn engage(
        cast: Cast,
        folder: &Path,
        control_plane: &ControlPlane,
        client: &Client,
        clouds: &BTreeMap<String, String>,
    ) -> Result<Self, String> {
        let mut members: BTreeMap<&'static str, Member> = BTreeMap::new();
        for &name in cast.members() {
            let address = free_address().map_err(|why| why.to_string())?;
            let kubeconfig = account::kubeconfig_of(control_plane, client, name).await?;
            // Machines come from node classes here; two descriptions of one machine would be two machines.
            let mut variables = clouds.clone();
            variables.retain(|name, _| !name.starts_with("GPU_NODE_"));
            let mut set = |name: &str, value: &str| drop(variables.insert(name.to_owned(), value.to_owned()));
            set("PORT", &address.port().to_string());
            set("PILOTLIGHT_BIND", "127.0.0.1");
            set("PILOTLIGHT_LOG", "info,forwarder=debug");
            set("PILOTLIGHT_LOG_FORMAT", "text");
            set("PILOTLIGHT_LEASE_DURATION", LEASE);
            set("KUBECONFIG", &kubeconfig.display().to_string());
            if cast == Cast::Apart {
                set("PILOTLIGHT_SIGNING_SECRETS", SIGNING_SECRET);
            }
            if name == FORWARDER {
                for (function, Member { address, .. }) in &members {
                    let sink = format!("PILOTLIGHT_SINK_{}", function.to_uppercase().replace('-', "_"));
                    set(&sink, &format!("http://{address}/{function}"));
                }
            }
            let arguments: &[&str] = if name == ALL_IN_ONE { &["run"] } else { &[] };
            let program = Program::new(&folder.join(name), &control_plane.facts.folder, variables);
            members.insert(name, Member { program: program.with_arguments(arguments), address });
        }
        let troupe = Troupe { cast, members: Mutex::new(members) };
        for name in cast.members() {
            troupe.start(name).await?;
        }
        Ok(troupe)
    }

    /// Ends it as `kill -9` does.
    pub fn kill(&self, name: &str) {
        if let Some(member) = self.members().get_mut(name) {
            member.program.kill();
        }
    }

    /// Ends it as `kill -9` does, starts it again, and waits until it listens.
    pub async fn kill_and_start(&self, name: &str) -> Result<(), String> {
        self.start(name).await
    }

    /// Starts it, anew if it runs, and waits until it listens.
    pub async fn start(&self, name: &str) -> Result<(), String> {
        let address = match self.members().get_mut(name) {
            Some(member) => {
                member.program.kill();
                member.program.start()?;
                member.address
            }
            None => return Err(format!("{name} is not in the cast {:?}", self.cast)),
        };
        until_it_listens(address).await
    }

    /// The same with another setting, which stays.
    pub async fn start_with(&self, name: &str, variable: &str, value: &str) -> Result<(), String> {
        if let Some(member) = self.members().get_mut(name) {
            member.program.set(variable, value);
        }
        self.start(name).await
    }

    /// Stops it where it is, or lets it go on: `STOP` and `CONT`.
    pub fn signal(&self, name: &str, signal: &str) -> Result<(), String> {
        match self.members().get(name) {
            Some(member) => member.program.signal(signal),
            None => Err(format!("{name} is not in the cast {:?}", self.cast)),
        }
    }

    /// What is read of each process, by name.
    pub fn of_each<T>(&self, read: impl Fn(&Program) -> Option<T>) -> BTreeMap<&'static str, T> {
        self.members().iter().filter_map(|(name, member)| Some((*name, read(&member.program)?))).collect()
    }

    /// What functions said last, for a failure that has to be understood.
    pub fn answers(&self) -> String {
        let log = self.members().get(self.cast.listener()).map(|member| member.program.log().to_owned());
        let text = log.and_then(|log| fs::read_to_string(log).ok()).unwrap_or_default();
        let lines: Vec<&str> = text.lines().filter(|line| line.contains("delivered")).collect();
        let last = &lines[lines.len().saturating_sub(40)..];
        last.iter().map(|line| format!("  {line}\n")).collect()
    }

    fn members(&self) -> MutexGuard<'_, BTreeMap<&'static str, Member>> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
