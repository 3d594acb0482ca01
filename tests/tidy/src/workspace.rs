//! The workspace as the rules see it: packages, their targets and their dependencies on each other, without cargo's own types.

/// One package of the workspace.
#[derive(Debug, Clone)]
pub struct Package {
    pub name: String,
    /// Relative to the repository, with `/`.
    pub folder: String,
    pub targets: Vec<Target>,
    pub dependencies: Vec<Dependency>,
}

/// One thing cargo builds from a package.
#[derive(Debug, Clone)]
pub struct Target {
    pub name: String,
    pub kind: TargetKind,
    /// The crate's root file, relative to the repository.
    pub root: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetKind {
    Library,
    Binary,
    Other,
}

/// A dependency on any crate, ours or not, optional ones included.
#[derive(Debug, Clone)]
pub struct Dependency {
    pub on: String,
    pub kind: DependencyKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DependencyKind {
    /// Linked into what we ship, or run while it is built.
    Shipped,
    /// Seen by tests only.
    Development,
}

impl Package {
    /// Test crates look at everything from above; nothing that is shipped looks at them.
    pub fn is_test_crate(&self) -> bool {
        self.folder.starts_with("tests/")
    }
}

/// The small world of unit tests: a package with dependencies and no targets.
#[cfg(test)]
pub fn package(folder: &str, shipped: &[&str], development: &[&str]) -> Package {
    let name = folder.rsplit('/').next().unwrap_or(folder).to_owned();
    let dependency = |kind| move |on: &&str| Dependency { on: (*on).to_owned(), kind };
    let shipped = shipped.iter().map(dependency(DependencyKind::Shipped));
    let development = development.iter().map(dependency(DependencyKind::Development));
    Package { name, folder: folder.to_owned(), targets: vec![], dependencies: shipped.chain(development).collect() }
}
