//! Every function looks the same: `main.rs` that only wires, `handle.rs` as the library's root, `read.rs`, a README and tests,
//! all under one name.

use std::collections::{BTreeMap, BTreeSet};

use crate::Offence;
use crate::samples::FUNCTIONS;
use crate::workspace::{Package, TargetKind};

/// What fits on a screen and needs no test.
const MOST_LINES_OF_MAIN: usize = 30;

const NEEDED: &[&str] = &["README.md", "src/handle.rs", "src/main.rs", "src/read.rs"];

/// Words that choose. `main` does not choose, so there is nothing in it to test.
const BRANCHES: &[&str] = &["if", "else", "match"];

/// `files` are all text files of the repository by path.
pub fn offences(files: &BTreeMap<String, String>, packages: &[Package]) -> Vec<Offence> {
    let existing = files.keys().filter_map(|path| path.strip_prefix("functions/")?.split('/').next());
    let expected = FUNCTIONS.iter().map(|(function, _)| *function);
    let names: BTreeSet<&str> = existing.filter(|name| name.starts_with("on-")).chain(expected).collect();
    names.into_iter().flat_map(|name| of_function(name, files, packages)).collect()
}

fn of_function(name: &str, files: &BTreeMap<String, String>, packages: &[Package]) -> Vec<Offence> {
    let folder = format!("functions/{name}");
    if !FUNCTIONS.iter().any(|(function, _)| *function == name) {
        return vec![format!("{folder} answers no known event: add it to FUNCTIONS in tests/tidy/src/samples.rs")];
    }
    let missing = NEEDED.iter().map(|file| format!("{folder}/{file}")).filter(|path| !files.contains_key(path));
    let mut offences: Vec<Offence> = missing
        .map(|path| format!("{path} is missing: every function has {}, and tests/", NEEDED.join(", ")))
        .collect();
    let tests = format!("{folder}/tests/");
    if !files.keys().any(|path| path.starts_with(&tests)) {
        offences.push(format!("{tests} is missing: every function has tests of its own"));
    }
    if let Some(text) = files.get(&format!("{folder}/src/main.rs")) {
        offences.extend(of_main(&format!("{folder}/src/main.rs"), text));
    }
    offences.extend(of_package(name, &folder, packages));
    offences
}

fn of_main(path: &str, text: &str) -> Vec<Offence> {
    let mut offences = vec![];
    let lines = text.lines().count();
    if lines > MOST_LINES_OF_MAIN {
        offences.push(format!(
            "{path} has {lines} lines (at most {MOST_LINES_OF_MAIN}): it wires, the rest belongs to handle.rs"
        ));
    }
    for (number, line) in text.lines().enumerate() {
        let code = line.split("//").next().unwrap_or_default();
        let mut words = code.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
        if let Some(branch) = words.find(|word| BRANCHES.contains(word)) {
            offences.push(format!(
                "{path}:{} has a branch (`{branch}`): decide in handle.rs or in host, not here",
                number + 1
            ));
        }
    }
    offences
}

fn of_package(name: &str, folder: &str, packages: &[Package]) -> Vec<Offence> {
    let Some(package) = packages.iter().find(|package| package.folder == folder) else {
        return vec![format!("{folder} is no package of the workspace: add it to `members` in Cargo.toml")];
    };
    let mut offences = vec![];
    if package.name != name {
        offences.push(format!("{folder} holds a package named {}: call it {name}", package.name));
    }
    let binaries: Vec<&str> = roots(package, TargetKind::Binary).map(|(binary, _)| binary).collect();
    if binaries != [name] {
        offences.push(format!("{folder} builds the binaries {binaries:?}: it must build one, named {name}"));
    }
    let handle = format!("{folder}/src/handle.rs");
    if !roots(package, TargetKind::Library).any(|(_, root)| root == handle) {
        offences.push(format!("{folder} has no library with the root src/handle.rs: set `path` in its [lib]"));
    }
    offences
}

fn roots(package: &Package, kind: TargetKind) -> impl Iterator<Item = (&str, &str)> {
    let of_kind = package.targets.iter().filter(move |target| target.kind == kind);
    of_kind.map(|target| (target.name.as_str(), target.root.as_str()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{FUNCTIONS, NEEDED, offences};
    use crate::workspace::{Package, Target, TargetKind, package};

    struct Repository {
        files: BTreeMap<String, String>,
        packages: Vec<Package>,
    }

    fn well_shaped() -> Repository {
        let mut repository = Repository { files: BTreeMap::new(), packages: vec![] };
        for (name, _) in FUNCTIONS {
            let folder = format!("functions/{name}");
            for file in NEEDED.iter().chain(&["tests/answers.rs"]) {
                repository.files.insert(format!("{folder}/{file}"), "//! Wires.\nfn main() {}\n".into());
            }
            let target = |kind, file| Target { name: (*name).into(), kind, root: format!("{folder}/src/{file}") };
            let targets = vec![target(TargetKind::Library, "handle.rs"), target(TargetKind::Binary, "main.rs")];
            repository.packages.push(Package { targets, ..package(&folder, &[], &[]) });
        }
        repository
    }

    fn check(spoil: impl FnOnce(&mut Repository), expected: &str) {
        let mut repository = well_shaped();
        spoil(&mut repository);
        let found = offences(&repository.files, &repository.packages);
        assert!(found.len() == 1 && found[0].contains(expected), "wanted {expected:?}, found {found:?}");
    }

    fn set(repository: &mut Repository, path: &str, text: &str) {
        repository.files.insert(path.into(), text.into());
    }

    #[test]
    fn the_shape_of_all_five_is_accepted() {
        let Repository { files, packages } = well_shaped();
        assert_eq!(offences(&files, &packages), Vec::<String>::new());
    }

    #[test]
    fn a_missing_file_is_an_offence() {
        check(|all| drop(all.files.remove("functions/on-delete/src/read.rs")), "on-delete/src/read.rs is missing");
        check(|all| drop(all.files.remove("functions/on-delete/README.md")), "on-delete/README.md is missing");
        check(|all| drop(all.files.remove("functions/on-delete/tests/answers.rs")), "on-delete/tests/ is missing");
    }

    #[test]
    fn main_that_is_long_or_decides_is_an_offence() {
        let main = "functions/on-delete/src/main.rs";
        check(|all| set(all, main, &"//! x\n".repeat(31)), "has 31 lines");
        check(
            |all| set(all, main, "//! Only if asked.\nfn main() {\n    if x {}\n}\n"),
            "main.rs:3 has a branch (`if`)",
        );
        check(|all| set(all, main, "let Some(a) = b else { return };"), "has a branch (`else`)");
        check(|all| set(all, main, "match platform() {}"), "has a branch (`match`)");
    }

    #[test]
    fn another_name_is_an_offence() {
        check(|all| all.packages[0].name = "pending".into(), "holds a package named pending");
        check(|all| all.packages[0].targets[1].name = "pending".into(), "builds the binaries [\"pending\"]");
        check(
            |all| all.packages[0].targets[0].root = "functions/on-pending-pod/src/lib.rs".into(),
            "no library with the root",
        );
        check(|all| drop(all.packages.remove(0)), "is no package of the workspace");
    }

    #[test]
    fn a_function_nobody_knows_is_an_offence() {
        check(|all| set(all, "functions/on-fire/README.md", "# on-fire"), "functions/on-fire answers no known event");
    }
}
