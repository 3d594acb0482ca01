//! Line one says what a file is for: a module doc in Rust, a docstring or comment in Python, shell and make.

use crate::Offence;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Language {
    Rust,
    Python,
    Shell,
    Make,
}

pub fn offences(path: &str, text: &str) -> Vec<Offence> {
    let Some(language) = language(path, text) else { return vec![] };
    // An empty package marker is for nothing but being there.
    if says_what_it_is_for(language, text) || (text.is_empty() && path.ends_with("__init__.py")) {
        return vec![];
    }
    let wanted = match language {
        Language::Rust => "line one must be a module doc, `//! …`",
        Language::Python => "it must begin (after `#!`) with a docstring or a comment",
        Language::Shell | Language::Make => "it must begin (after `#!`) with a comment, `# …`",
    };
    vec![format!("{path} does not say what it is for: {wanted}")]
}

fn language(path: &str, text: &str) -> Option<Language> {
    let name = path.rsplit('/').next()?;
    match name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()) {
        Some((_, "rs")) => Some(Language::Rust),
        Some((_, "py")) => Some(Language::Python),
        Some((_, "sh" | "bash")) => Some(Language::Shell),
        Some((_, "mk")) => Some(Language::Make),
        Some(_) => None,
        None if name == "Makefile" => Some(Language::Make),
        None => interpreter(text.lines().next()?),
    }
}

fn interpreter(first_line: &str) -> Option<Language> {
    let command = first_line.strip_prefix("#!")?;
    if command.contains("python") {
        return Some(Language::Python);
    }
    command.trim_end().ends_with("sh").then_some(Language::Shell)
}

fn says_what_it_is_for(language: Language, text: &str) -> bool {
    let mut lines = text.lines().skip_while(|line| language != Language::Rust && line.starts_with("#!"));
    let first = lines.next().unwrap_or_default();
    let has_words = |rest: &str| rest.chars().any(char::is_alphanumeric);
    let comment = first.strip_prefix('#').is_some_and(has_words);
    match language {
        Language::Rust => first.strip_prefix("//!").is_some_and(has_words),
        Language::Python => comment || ["\"\"\"", "r\"\"\"", "'''"].iter().any(|quote| first.starts_with(quote)),
        Language::Shell | Language::Make => comment,
    }
}

#[cfg(test)]
mod tests {
    use super::offences;

    fn says(path: &str, text: &str) -> bool {
        offences(path, text).is_empty()
    }

    #[test]
    fn rust_begins_with_a_module_doc_on_line_one() {
        assert!(says("a.rs", "//! The words.\n"));
        assert!(!says("a.rs", "\n//! The words.\n"), "line two is not line one");
        assert!(!says("a.rs", "use std::env;\n"));
        assert!(!says("a.rs", "/// An item's doc.\n"));
        assert!(!says("a.rs", "//!\n"), "an empty doc says nothing");
        assert!(!says("a.rs", ""));
    }

    #[test]
    fn scripts_begin_with_a_docstring_or_comment_after_the_interpreter() {
        assert!(says("a.py", "#!/usr/bin/env python3\n\"\"\"Sends samples.\"\"\"\n"));
        assert!(!says("a.py", "#!/usr/bin/env python3\nimport json\n"));
        assert!(says("a.sh", "#!/bin/sh\n# Calls make test.\n"));
        assert!(!says("a.sh", "#!/bin/sh\nset -e\n"));
        assert!(!says("a.sh", "#!/bin/sh\n"), "the interpreter alone says nothing");
        assert!(says("__init__.py", ""));
    }

    #[test]
    fn files_without_an_ending_are_known_by_name_or_interpreter() {
        assert!(!says("Makefile", "all:\n"));
        assert!(!says(".ci/run", "#!/usr/bin/env bash\nmake test\n"));
        assert!(says(".ci/run", "#!/usr/bin/env bash\n# What CI runs.\n"));
        assert!(says("LICENSE", "Apache License\n"), "prose is not our matter");
        assert!(says(".gitignore", "/target\n"));
    }
}
