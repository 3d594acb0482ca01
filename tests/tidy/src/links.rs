//! Links between our documents lead somewhere: relative ones to a file of the repository, `#anchors` to a heading in it.

use std::collections::{BTreeMap, BTreeSet};

use crate::Offence;
use crate::markdown::{anchors, links};
use crate::repository::join;

/// `files` are all text files by path, `paths` everything that is, or would be, committed.
pub fn offences(files: &BTreeMap<String, String>, paths: &[String]) -> Vec<Offence> {
    let places = with_folders(paths);
    let documents = files.iter().filter(|(path, _)| is_document(path));
    documents
        .flat_map(|(path, text)| {
            let broken = links(text)
                .into_iter()
                .filter_map(|link| of_link(path, &link.target, files, &places).map(|why| (link, why)));
            broken
                .map(|(link, why)| format!("{path}:{} links to {}, {why}", link.line, link.target))
                .collect::<Vec<_>>()
        })
        .collect()
}

fn of_link(from: &str, target: &str, files: &BTreeMap<String, String>, places: &BTreeSet<String>) -> Option<String> {
    if leads_outside(target) {
        return None;
    }
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let folder = from.rsplit_once('/').map_or("", |(folder, _)| folder);
    let place = match path {
        "" => from.to_owned(),
        _ => join(folder, &path.replace("%20", " ")),
    };
    if !places.contains(&place) {
        return Some(format!("but there is no {place} in the repository: mend the path"));
    }
    // Anchors into source files are line numbers, which only a web view knows.
    if anchor.is_empty() || !is_document(&place) {
        return None;
    }
    let known = anchors(files.get(&place)?);
    (!known.contains(anchor)).then(|| {
        let list: Vec<String> = known.iter().map(|anchor| format!("#{anchor}")).collect();
        format!("but {place} has no such heading: it has {}", list.join(" "))
    })
}

fn leads_outside(target: &str) -> bool {
    let scheme = target.split(['/', '#', '?']).next().unwrap_or_default();
    scheme.contains(':') || target.starts_with("//")
}

fn is_document(path: &str) -> bool {
    path.ends_with(".md")
}

/// A link may also lead to a folder, and to the repository itself.
fn with_folders(paths: &[String]) -> BTreeSet<String> {
    let mut places: BTreeSet<String> = [String::new()].into();
    for path in paths {
        places.insert(path.clone());
        let folders = path.match_indices('/').map(|(at, _)| path[..at].to_owned());
        places.extend(folders);
    }
    places
}

#[cfg(test)]
mod tests {
    use super::offences;

    fn check(text: &str) -> Vec<String> {
        let files = [("docs/a.md", text), ("docs/b.md", "# Bees\n"), ("README.md", "# Top\n"), ("src/c.rs", "")];
        let files = files.map(|(path, text)| (path.to_owned(), text.to_owned()));
        let paths: Vec<String> = files.iter().map(|(path, _)| path.clone()).collect();
        offences(&files.into(), &paths)
    }

    #[test]
    fn links_to_files_folders_headings_and_the_web_are_fine() {
        let fine = "# Here\n[b](b.md) [b](./b.md#bees) [top](../README.md) [src](../src/) [root](..) [line](../src/c.rs#L7)\n\
                    [here](#here) [web](https://example.com/x.md) [mail](mailto:a@example.com) [same host](//example.com)\n";
        assert_eq!(check(fine), Vec::<String>::new());
    }

    #[test]
    fn a_link_to_nothing_is_an_offence_with_its_line() {
        let found = check("# Here\n\n[gone](gone.md)\n");
        assert!(found[0].starts_with("docs/a.md:3 links to gone.md, but there is no docs/gone.md"), "{found:?}");
        assert_eq!(check("[outside](../../elsewhere.md)").len(), 1);
        assert_eq!(check("[by reference][x]\n\n[x]: gone.md\n").len(), 1);
    }

    #[test]
    fn an_anchor_without_its_heading_is_an_offence() {
        let found = check("[wasps](b.md#wasps) [there](#there)");
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("docs/b.md has no such heading: it has #bees"), "{found:?}");
    }
}
