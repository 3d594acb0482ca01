//! Nothing committed knows the machine it was written on.

use crate::Offence;

/// Folders of somebody's machine. Put together here, so that this file does not offend itself.
const FOLDERS: &[&str] = &[concat!("/", "root", "/"), concat!("/", "work", "/")];

/// What may stand before an absolute path; after any other character it is the middle of a relative one.
const BEFORE_A_PATH: &str = " \t\"'`([<=:,|@/";

pub fn offences(path: &str, text: &str) -> Vec<Offence> {
    let lines = text.lines().enumerate();
    lines
        .filter_map(|(number, line)| {
            let folder = FOLDERS.iter().find(|folder| names_absolutely(line, folder))?;
            Some(format!("{path}:{} names {folder}…, which only one machine has: make it relative", number + 1))
        })
        .collect()
}

fn names_absolutely(line: &str, folder: &str) -> bool {
    line.match_indices(folder)
        .any(|(at, _)| line[..at].chars().next_back().is_none_or(|before| BEFORE_A_PATH.contains(before)))
}

#[cfg(test)]
mod tests {
    use super::{FOLDERS, offences};

    #[test]
    fn an_absolute_path_of_one_machine_is_an_offence_with_its_line() {
        for folder in FOLDERS {
            for line in
                [format!("{folder}x"), format!("see `{folder}x`"), format!("file://{folder}x"), format!("A={folder}x")]
            {
                let found = offences("docs/a.md", &format!("fine\n{line}\n"));
                assert!(found.len() == 1 && found[0].starts_with("docs/a.md:2 names"), "{line}: {found:?}");
            }
        }
    }

    #[test]
    fn the_middle_of_a_relative_path_is_none() {
        for folder in FOLDERS {
            assert!(offences("a", &format!("target{folder}x and ..{folder}x and ${{HOME}}{folder}x")).is_empty());
        }
    }
}
