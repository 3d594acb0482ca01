//! No file that nothing compiles: every `.rs` file is the root of a target or is declared by a `mod` that leads to one.

use std::collections::{BTreeMap, BTreeSet};

use crate::Offence;
use crate::repository::join;

/// `sources` are all `.rs` files by path, `roots` the root files of all targets.
pub fn offences(sources: &BTreeMap<String, String>, roots: &[String]) -> Vec<Offence> {
    let mut reached = BTreeSet::new();
    let mut waiting: Vec<(String, bool)> = roots.iter().map(|root| (root.clone(), true)).collect();
    while let Some((path, is_root)) = waiting.pop() {
        let Some(text) = sources.get(&path) else { continue };
        if reached.insert(path.clone()) {
            waiting.extend(declared(&path, is_root, text).into_iter().map(|declared| (declared, false)));
        }
    }
    sources
        .keys()
        .filter(|path| !reached.contains(*path))
        .map(|path| format!("{path} is compiled by nothing: declare it with `mod`, make it a target, or delete it"))
        .collect()
}

/// Where the files may be that this one declares. Candidates that do not exist do no harm: the compiler misses them louder.
fn declared(path: &str, is_root: bool, text: &str) -> Vec<String> {
    let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
    let own_name = file.trim_end_matches(".rs");
    let modules_in = if is_root || own_name == "mod" { folder.to_owned() } else { join(folder, own_name) };

    let mut found = vec![];
    let mut inside: Vec<(usize, String)> = vec![];
    let mut given_path = None;
    for line in text.lines() {
        let code = line.trim_start();
        let indent = line.len() - code.len();
        if let Some(given) = between(code, "#[path = \"", "\"]") {
            given_path = Some(given.to_owned());
        }
        if let Some(included) = between(code, "include!(\"", "\")") {
            found.push(join(folder, included));
        }
        if code == "}" {
            inside.retain(|(opened_at, _)| *opened_at < indent);
        }
        let Some(declaration) = module_declaration(code) else { continue };
        let parent = inside.iter().fold(modules_in.clone(), |parent, (_, name)| join(&parent, name));
        match (declaration, given_path.take()) {
            (Module::Inline(name), _) => inside.push((indent, name)),
            (Module::File(_), Some(given)) if inside.is_empty() => found.push(join(folder, &given)),
            (Module::File(_), Some(given)) => found.push(join(&parent, &given)),
            (Module::File(name), None) => {
                found.push(join(&parent, &format!("{name}.rs")));
                found.push(join(&parent, &format!("{name}/mod.rs")));
            }
        }
    }
    found
}

enum Module {
    /// `mod name;`
    File(String),
    /// `mod name {`
    Inline(String),
}

/// Reads a line as rustfmt leaves it: attributes stand on lines of their own.
fn module_declaration(code: &str) -> Option<Module> {
    let after_visibility = match code.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(')')?.1.trim_start(),
        Some(rest) => rest.trim_start(),
        None => code,
    };
    let declaration = after_visibility.strip_prefix("mod ")?;
    let end = declaration.find([';', '{'])?;
    let name = declaration[..end].trim().trim_start_matches("r#").to_owned();
    // `mod name {}` on one line opens nothing.
    match &declaration[end..] {
        ";" => Some(Module::File(name)),
        "{" => Some(Module::Inline(name)),
        _ => None,
    }
}

fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    text.split_once(before)?.1.split_once(after).map(|(inner, _)| inner)
}

#[cfg(test)]
mod tests {
    use super::offences;

    fn orphans(files: &[(&str, &str)]) -> Vec<String> {
        let sources = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        offences(&sources, &["a/src/lib.rs".to_owned(), "a/tests/sends.rs".to_owned()])
    }

    #[test]
    fn a_file_that_nothing_declares_is_an_orphan() {
        let found = orphans(&[("a/src/lib.rs", "mod used;\n"), ("a/src/used.rs", ""), ("a/src/forgotten.rs", "")]);
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("a/src/forgotten.rs is compiled by nothing"), "{found:?}");
    }

    #[test]
    fn a_declaration_in_a_comment_or_in_an_orphan_does_not_count() {
        let files = [("a/src/lib.rs", "// mod b;\n"), ("a/src/b.rs", "mod c;\n"), ("a/src/b/c.rs", "")];
        assert_eq!(orphans(&files).len(), 2);
    }

    #[test]
    fn files_are_found_where_the_compiler_looks_for_them() {
        let found = orphans(&[
            (
                "a/src/lib.rs",
                "pub mod b;\npub(crate) mod d;\n#[cfg(test)]\nmod tests {\n    mod deep;\n}\nmod after;\n",
            ),
            ("a/src/b.rs", "mod c;\n"),
            ("a/src/b/c.rs", ""),
            ("a/src/d/mod.rs", "mod e;\n"),
            ("a/src/d/e.rs", "#[path = \"../odd-name.rs\"]\nmod odd;\ninclude!(\"table.rs\");\n"),
            ("a/src/odd-name.rs", ""),
            ("a/src/d/table.rs", ""),
            ("a/src/tests/deep.rs", ""),
            ("a/src/after.rs", ""),
            ("a/tests/sends.rs", "mod common;\n"),
            ("a/tests/common/mod.rs", ""),
        ]);
        assert!(found.is_empty(), "{found:?}");
    }

    #[test]
    fn a_module_of_a_module_is_not_found_beside_it() {
        let files = [("a/src/lib.rs", "mod b;\n"), ("a/src/b.rs", "mod c;\n"), ("a/src/c.rs", "")];
        assert_eq!(orphans(&files).len(), 1);
    }
}
