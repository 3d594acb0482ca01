//! One process with all functions in it.

use host::{Deliverer, Function, PartsSource, SettingSource, Settings, in_process};
use model::{Answer, Cap};
use world::World;

use crate::{line::Pulse, parts::parts};

/// Parts of functions on the world, for whoever serves them in another way.
pub fn source(world: &World, user: &str) -> Result<PartsSource, String> {
    parts(world, world, &Pulse::default(), user, None).map(PartsSource::ready)
}

/// How a function is made from its parts.
pub type Make = fn(PartsSource) -> Function;

/// It died while it was at work. What it had done stays done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Crashed;

pub struct Copy {
    names: Vec<&'static str>,
    deliverer: Deliverer,
    pulse: Pulse,
}

impl Copy {
    /// Starts one under this user name.
    pub fn start(world: &World, user: &str, functions: &[Make]) -> Result<Self, String> {
        Copy::with(world, world, user, functions, None)
    }

    /// The same, with the clouds of another world perhaps, and what all machines together may cost an hour.
    pub fn with(
        world: &World,
        clouds: &World,
        user: &str,
        functions: &[Make],
        cap: Option<Cap>,
    ) -> Result<Self, String> {
        let pulse = Pulse::default();
        let source = PartsSource::ready(parts(world, clouds, &pulse, user, cap)?);
        let functions: Vec<Function> = functions.iter().map(|make| make(source.clone())).collect();
        let names = functions.iter().map(Function::name).collect();
        // Nothing leaves this process, so there is nobody to prove anything to.
        let unsigned = SettingSource::from_pairs([("PILOTLIGHT_ALLOW_UNSIGNED", "true")]);
        let settings = Settings::from_source(unsigned).map_err(|problems| problems.to_string())?;
        Ok(Copy { names, deliverer: Deliverer::new(functions, &settings), pulse })
    }

    /// Whether this function is in it.
    pub fn has(&self, function: &str) -> bool {
        self.names.contains(&function)
    }

    pub async fn call(&self, function: &str, event: &str) -> Result<Answer, Crashed> {
        tokio::select! {
            biased;
            () = self.pulse.stopped() => Err(Crashed),
            answer = in_process::call(&self.deliverer, function, event.as_bytes()) => Ok(answer),
        }
    }
}
