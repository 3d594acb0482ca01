//! The top level is the table of contents: these entries and no others. Files with a leading dot are for tools and may come.

use std::collections::BTreeSet;

use crate::Offence;

pub const ENTRIES: &[&str] = &[
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE",
    "Makefile",
    "README.md",
    "deny.toml",
    "docs",
    "events",
    "functions",
    "infra",
    "rust-toolchain.toml",
    "shared",
    "tests",
];

/// `files` are all paths that are, or would be, committed.
pub fn offences<'a>(files: impl IntoIterator<Item = &'a str>) -> Vec<Offence> {
    let entries: BTreeSet<&str> = files.into_iter().filter_map(|path| path.split('/').next()).collect();
    entries
        .into_iter()
        .filter(|entry| !entry.starts_with('.') && !ENTRIES.contains(entry))
        .map(|entry| {
            format!(
                "{entry} does not belong to the top level: move it into one of the folders, or ignore it in .gitignore"
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::offences;

    #[test]
    fn an_unknown_entry_is_an_offence_once_however_many_files_it_has() {
        let found =
            offences(["README.md", "scripts/a.sh", "scripts/b.sh", "notes.txt", ".ci/run", "shared/model/Cargo.toml"]);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("notes.txt does not belong"), "{found:?}");
        assert!(found[1].starts_with("scripts does not belong"), "{found:?}");
    }
}
