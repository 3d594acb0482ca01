//! Reads the real repository for the rules: its files by git, its packages by cargo. The only module here that does IO.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cargo_metadata::{MetadataCommand, TargetKind as CargoTargetKind};

use crate::workspace::{Dependency, DependencyKind, Package, Target, TargetKind};

/// Everything the rules look at. Paths are relative to the root, with `/`.
#[derive(Debug)]
pub struct Repository {
    pub root: PathBuf,
    /// What is committed, and what would be: untracked but not ignored.
    pub paths: Vec<String>,
    /// Those of `paths` that are text, with it.
    pub texts: BTreeMap<String, String>,
    pub packages: Vec<Package>,
}

impl Repository {
    pub fn read() -> Result<Repository, String> {
        // Asked at run time: checkouts that share a target folder also share this binary.
        let own = std::env::var("CARGO_MANIFEST_DIR").map_err(|_| "run this by `cargo test -p tidy`".to_owned())?;
        let root = Path::new(&own).join("../..");
        let root = root.canonicalize().map_err(|cause| format!("{}: {cause}", root.display()))?;
        let listed = output(&root, "git", &["ls-files", "-z", "--cached", "--others", "--exclude-standard"])?;
        // A file deleted but not yet committed so is still listed.
        let exists = |path: &&str| !path.is_empty() && root.join(path).is_file();
        let mut paths: Vec<String> = listed.split('\0').filter(exists).map(str::to_owned).collect();
        paths.sort();
        paths.dedup();
        let texts = paths.iter().filter_map(|path| Some((path.clone(), text(&root.join(path))?))).collect();
        let packages = packages(&root)?;
        Ok(Repository { root, paths, texts, packages })
    }

    pub fn texts_ending(&self, ending: &str) -> impl Iterator<Item = (&str, &str)> {
        let of_kind = self.texts.iter().filter(move |(path, _)| path.ends_with(ending));
        of_kind.map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// The crates one package links, itself included: resolved for it alone, so no neighbour's features are seen.
    pub fn linked_by(&self, package: &str) -> Result<Vec<String>, String> {
        let arguments = ["tree", "--locked", "-p", package, "--edges", "normal", "--prefix", "none", "--format", "{p}"];
        let tree = output(&self.root, &cargo(), &arguments)?;
        let mut crates: Vec<String> =
            tree.lines().filter_map(|line| Some(line.split_once(' ')?.0.to_owned())).collect();
        crates.sort();
        crates.dedup();
        Ok(crates)
    }
}

/// Joins and settles `.` and `..` by text alone. A path that leaves the repository keeps its `..` and so names nothing in it.
pub fn join(folder: &str, path: &str) -> String {
    let mut parts: Vec<&str> = vec![];
    for part in folder.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => drop(parts.pop()),
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

fn packages(root: &Path) -> Result<Vec<Package>, String> {
    let metadata = MetadataCommand::new()
        .cargo_path(cargo())
        .manifest_path(root.join("Cargo.toml"))
        .no_deps()
        .exec()
        .map_err(|cause| format!("cargo metadata: {cause}"))?;
    let relative = |path: &cargo_metadata::camino::Utf8Path| {
        let inside = path.as_std_path().strip_prefix(root).map_err(|_| format!("{path} is outside the repository"))?;
        Ok::<String, String>(inside.to_string_lossy().replace('\\', "/"))
    };
    let package = |package: &cargo_metadata::Package| {
        let folder = package.manifest_path.parent().ok_or("a manifest without a folder")?;
        let targets = package.targets.iter().map(|target| {
            Ok(Target { name: target.name.clone(), kind: target_kind(&target.kind), root: relative(&target.src_path)? })
        });
        let dependencies = package.dependencies.iter().map(|dependency| Dependency {
            on: dependency.name.to_string(),
            kind: match dependency.kind {
                cargo_metadata::DependencyKind::Development => DependencyKind::Development,
                _ => DependencyKind::Shipped,
            },
        });
        Ok(Package {
            name: package.name.to_string(),
            folder: relative(folder)?,
            targets: targets.collect::<Result<_, String>>()?,
            dependencies: dependencies.collect(),
        })
    };
    metadata.packages.iter().map(package).collect()
}

fn target_kind(kinds: &[CargoTargetKind]) -> TargetKind {
    if kinds.contains(&CargoTargetKind::Bin) {
        TargetKind::Binary
    } else if kinds.contains(&CargoTargetKind::Lib) {
        TargetKind::Library
    } else {
        TargetKind::Other
    }
}

/// The cargo that runs these tests, so that both agree.
fn cargo() -> String {
    std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned())
}

fn text(path: &Path) -> Option<String> {
    fs::read(path).ok().and_then(|bytes| String::from_utf8(bytes).ok()).filter(|text| !text.contains('\0'))
}

fn output(folder: &Path, program: &str, arguments: &[&str]) -> Result<String, String> {
    let said = |cause: String| format!("`{program} {}` failed: {cause}", arguments.join(" "));
    let output =
        Command::new(program).args(arguments).current_dir(folder).output().map_err(|cause| said(cause.to_string()))?;
    if !output.status.success() {
        return Err(said(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    String::from_utf8(output.stdout).map_err(|cause| said(cause.to_string()))
}

#[cfg(test)]
mod tests {
    use super::join;

    #[test]
    fn paths_are_settled_by_text() {
        assert_eq!(join("docs/decisions", "../adding.md"), "docs/adding.md");
        assert_eq!(join("", "./a/b/"), "a/b");
        assert_eq!(join("docs", ".."), "");
        assert_eq!(join("docs", "../../outside"), "../outside");
        assert_eq!(join("docs", "../../../outside"), "../../outside");
    }
}
