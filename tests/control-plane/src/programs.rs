//! Where the programs are: given by hand, kept from an earlier run, or built now from the Go module proxy.

use std::{
    collections::BTreeMap,
    env, fs,
    fs::File,
    path::{Path, PathBuf},
};

use crate::{
    build,
    versions::{MODULES, Module},
};

/// Every program of a control plane, by name.
#[derive(Debug, Clone)]
pub struct Programs(BTreeMap<&'static str, PathBuf>);

/// Why there is no control plane on this machine.
#[derive(Debug, thiserror::Error)]
pub enum Missing {
    #[error("there is no folder to keep programs in: set HOME or XDG_CACHE_HOME")]
    NoCache,
    #[error("{}: {why}", path.display())]
    Cache { path: PathBuf, why: std::io::Error },
    #[error("{programs} are not in KUBEBUILDER_ASSETS and cannot be built: {why}")]
    Build { programs: String, why: build::Failed },
}

impl Programs {
    /// Looks in the folder that KUBEBUILDER_ASSETS names, then among what was built before, and builds the rest.
    pub fn find_or_build() -> Result<Self, Missing> {
        let given = env::var_os("KUBEBUILDER_ASSETS").map(PathBuf::from);
        let cache = cache_folder().ok_or(Missing::NoCache)?;
        let mut found = BTreeMap::new();
        for module in &MODULES {
            found.extend(of_module(module, given.as_deref(), &cache)?);
        }
        Ok(Programs(found))
    }

    /// An unknown name is taken from the PATH, where starting it says that it is not there.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.get(name).cloned().unwrap_or_else(|| PathBuf::from(name))
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &Path)> {
        self.0.iter().map(|(name, path)| (*name, path.as_path()))
    }
}

fn of_module(module: &Module, given: Option<&Path>, cache: &Path) -> Result<BTreeMap<&'static str, PathBuf>, Missing> {
    let kept = cache.join(build::fingerprint(module));
    let places = [given, Some(kept.as_path())];
    let look = || {
        let place = |name: &'static str| {
            let there = places.iter().flatten().map(|folder| folder.join(name)).find(|path| path.is_file());
            (name, there)
        };
        module.programs.iter().map(|name| place(name)).collect::<BTreeMap<_, _>>()
    };
    let complete = |found: BTreeMap<&'static str, Option<PathBuf>>| {
        found.into_iter().map(|(name, path)| Some((name, path?))).collect::<Option<BTreeMap<_, _>>>()
    };
    if let Some(found) = complete(look()) {
        return Ok(found);
    }
    let failed = |why| Missing::Cache { path: kept.clone(), why };
    fs::create_dir_all(&kept).map_err(failed)?;
    // Two runs at once build it once.
    let lock = File::create(kept.join("lock")).map_err(failed)?;
    lock.lock().map_err(failed)?;
    if complete(look()).is_none() {
        let programs = module.programs.join(", ");
        build::build(module, &kept).map_err(|why| Missing::Build { programs, why })?;
    }
    complete(look()).ok_or_else(|| failed(std::io::Error::other("the build left a program out")))
}

fn cache_folder() -> Option<PathBuf> {
    let folder = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")))?;
    Some(cache.join("pilotlight").join("control-plane"))
}
