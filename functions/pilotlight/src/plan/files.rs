//! Files, folders and standard input, document by document.

use serde_json::Value;
use serde_saphyr::Error;
use std::{
    fs,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use super::manifest::Manifest;

const EXTENSIONS: [&str; 3] = ["yaml", "yml", "json"];
/// More than any cluster has; a text that holds more than that is not read by accident.
const MOST_PARTS: usize = 100_000_000;

/// Everything in the order it is named; a folder in the order of its names.
pub fn read_all(paths: &[PathBuf], manifest: &mut Manifest) -> Result<(), String> {
    for path in paths {
        if path == Path::new("-") {
            let mut text = String::new();
            let read = io::stdin().read_to_string(&mut text);
            read.map_err(|error| format!("standard input cannot be read: {error}"))?;
            read_text("standard input", &text, false, manifest)?;
            continue;
        }
        let mut files = Vec::new();
        find(path, true, &mut files)?;
        for file in files {
            let name = file.display().to_string();
            let text = fs::read_to_string(&file).map_err(|error| format!("{name} cannot be read: {error}"))?;
            read_text(&name, &text, file.extension().is_some_and(|extension| extension == "json"), manifest)?;
        }
    }
    Ok(())
}

/// What a file named on the command line is called does not matter.
fn find(path: &Path, named: bool, files: &mut Vec<PathBuf>) -> Result<(), String> {
    let cannot = |error: io::Error| format!("{} cannot be read: {error}", path.display());
    if !fs::metadata(path).map_err(cannot)?.is_dir() {
        let extension = path.extension().and_then(|extension| extension.to_str());
        if named || extension.is_some_and(|own| EXTENSIONS.contains(&own)) {
            files.push(path.to_owned());
        }
        return Ok(());
    }
    let entries = fs::read_dir(path).map_err(cannot)?.map(|entry| entry.map(|entry| entry.path()));
    let mut below = entries.collect::<Result<Vec<PathBuf>, io::Error>>().map_err(cannot)?;
    below.sort();
    below.iter().try_for_each(|entry| find(entry, false, files))
}

fn read_text(file: &str, text: &str, json: bool, manifest: &mut Manifest) -> Result<(), String> {
    for (index, document) in documents(text).into_iter().enumerate() {
        let at = format!("{file}, document {}", index + 1);
        let value = document.value(json).map_err(|why| format!("{at}: {why}"))?;
        // Nothing but comments.
        if value != Value::Null {
            manifest.add(&at, value)?;
        }
    }
    Ok(())
}

/// A part of a file, from its line of three dashes on.
#[derive(Debug, PartialEq, Eq)]
struct Document<'a> {
    text: &'a str,
    /// How many lines of the file stand before it.
    after: usize,
}

impl Document<'_> {
    fn value(&self, json: bool) -> Result<Value, String> {
        let read = |text: &str| if json { in_json(text) } else { yaml(text) };
        // Read once more where it is wrong, at its own place: lines are counted from the beginning of the file.
        read(self.text).or_else(|_| read(&format!("{}{}", "\n".repeat(self.after), self.text)))
    }
}

/// Three dashes at the beginning of a line begin a document, and what follows them on the line is part of it; three dots end one.
/// Directives (`%YAML 1.2`) belong to the document that comes after them.
fn documents(text: &str) -> Vec<Document<'_>> {
    let mut documents = Vec::new();
    let (mut begin, mut after, mut offset) = (0, 0, 0);
    // Nothing but directives and comments so far, and at least one of the former.
    let mut directs = false;
    let mut close = |begin: usize, end: usize, after: usize| {
        let text = text.get(begin..end).unwrap_or_default();
        let body = if is_marker(text, "---") { text.get(3..).unwrap_or_default() } else { text };
        if !body.trim().is_empty() {
            documents.push(Document { text, after });
        }
    };
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let end = offset + line.len();
        if is_marker(line, "---") {
            if !directs {
                close(begin, offset, after);
                (begin, after) = (offset, number);
            }
            directs = false;
        } else if is_marker(line, "...") {
            close(begin, offset, after);
            (begin, after, directs) = (end, number + 1, false);
        } else {
            let says_nothing = line.trim().is_empty() || line.starts_with('#');
            let so_far = text.get(begin..offset).unwrap_or_default();
            let is_directive = line.starts_with('%') && (directs || is_silent(so_far));
            directs = is_directive || (directs && says_nothing);
        }
        offset = end;
    }
    close(begin, offset, after);
    documents
}

/// Nothing after the mark, or a space: `---a` is a word.
fn is_marker(line: &str, mark: &str) -> bool {
    line.strip_prefix(mark).is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
}

/// Nothing but comments.
fn is_silent(text: &str) -> bool {
    text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#'))
}

fn in_json(text: &str) -> Result<Value, String> {
    // Spaces, so that columns are still right.
    let unmarked = if is_marker(text.trim_start(), "---") { text.replacen("---", "   ", 1) } else { text.to_owned() };
    serde_json::from_str(&unmarked).map_err(|error| error.to_string())
}

/// One document of YAML, however large, as kubectl reads it: `0400` is an octal number there, and `8.0` a whole one.
pub fn yaml(text: &str) -> Result<Value, String> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_events: MOST_PARTS,
            max_nodes: MOST_PARTS,
            max_total_scalar_bytes: MOST_PARTS * 10,
        },
        legacy_octal_numbers: true,
        with_snippet: false,
    };
    if is_silent(text) {
        return Ok(Value::Null);
    }
    let mut value = serde_saphyr::from_str_with_options(text, options).map_err(|error| in_words(&error))?;
    make_whole(&mut value);
    Ok(value)
}

/// The library tells programmers what to call instead; a person cannot.
fn in_words(error: &Error) -> String {
    let said = error.to_string();
    let place = error.location().map(|at| format!(" at line {}, column {}", at.line(), at.column()));
    let place = place.unwrap_or_default();
    match error {
        Error::MultipleDocuments { .. } => format!("there is more than one document{place}"),
        Error::DuplicateMappingKey { key, .. } => {
            let key = key.as_deref().map(|key| format!(" {key}")).unwrap_or_default();
            format!("the key{key} is there twice{place}")
        }
        _ => said,
    }
}

/// JSON, which Kubernetes makes of YAML first, has no `8.0` that is not 8.
fn make_whole(value: &mut Value) {
    /// From here on not every whole number can be written as a floating one.
    const MOST: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::Number(number) if number.is_f64() => {
            let whole = number.as_f64().filter(|number| number.fract() == 0.0 && number.abs() < MOST);
            if let Some(whole) = whole {
                *value = Value::from(whole as i64);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(make_whole),
        Value::Object(fields) => fields.values_mut().for_each(make_whole),
        _ => {}
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn documents_begin_with_dashes_and_end_with_dots() {
        let check = |text: &str, expected: &[(&str, usize)]| {
            let found: Vec<(&str, usize)> = documents(text).iter().map(|one| (one.text, one.after)).collect();
            assert_eq!(found, expected, "{text:?}");
        };
        check("a: 1\n---\nb: 2\n", &[("a: 1\n", 0), ("---\nb: 2\n", 1)]);
        check("---\na: 1\n--- # next\nb: 2", &[("---\na: 1\n", 0), ("--- # next\nb: 2", 2)]);
        check("--- {a: 1}\n--- {b: 2}\n", &[("--- {a: 1}\n", 0), ("--- {b: 2}\n", 1)]);
        check("a: |\n  ---\n---b: 1\n", &[("a: |\n  ---\n---b: 1\n", 0)]);
        check("a: 1\n...\nb: 2\n", &[("a: 1\n", 0), ("b: 2\n", 2)]);
        check("# c\n%YAML 1.2\n---\na: 1\n", &[("# c\n%YAML 1.2\n---\na: 1\n", 0)]);
        check("# first\n---\na: 1\n", &[("# first\n", 0), ("---\na: 1\n", 1)]);
        check("---\n---\r\na: 1\n---\n", &[("---\r\na: 1\n", 1)]);
        check("", &[]);
    }

    #[test]
    fn numbers_are_what_kubectl_takes_them_for() {
        let check =
            |text: &str, expected: Value| assert_eq!(yaml(&format!("a: {text}")).unwrap()["a"], expected, "{text}");
        check("0400", json!(256));
        check("010", json!(8));
        check("-010", json!(-8));
        check("0o400", json!(256));
        check("0x10", json!(16));
        check("0", json!(0));
        check("08", json!(8));
        check("3.0", json!(3));
        check("1e3", json!(1000));
        check("0.5", json!(0.5));
        check("\"0400\"", json!("0400"));
        check("0400m", json!("0400m"));
    }

    #[test]
    fn what_is_wrong_is_told_by_its_line_in_the_file_and_in_plain_words() {
        let check = |text: &str, json: bool, words: &str| {
            let why = documents(text).iter().find_map(|one| one.value(json).err()).unwrap();
            assert!(why.contains(words) && !why.contains("Options") && !why.contains("from_"), "{text:?}: {why}");
        };
        check("a: 1\n---\nb: 2\nc: [\n", false, "line 4");
        check("{}\n---\n{\"a\": }\n", true, "line 3 column 7");
        check("a: 1\na: 2\n", false, "the key a is there twice at line 2");
        assert_eq!(yaml("a: 1\n---\nb: 2\n").unwrap_err(), "there is more than one document at line 3, column 1");
    }
}
