//! A file fits in a head: at most 400 lines of Rust, unit tests at its end apart.

use crate::Offence;

/// Where a file stops being one thing.
pub const MOST_LINES: usize = 400;

pub fn offences(path: &str, text: &str) -> Vec<Offence> {
    let lines = lines_without_tests(text);
    if lines <= MOST_LINES {
        return vec![];
    }
    vec![format!(
        "{path} has {lines} lines (at most {MOST_LINES}, without its unit tests): split it by what its parts are for"
    )]
}

/// Counts what stands before a `#[cfg(test)] mod tests { … }` that ends the file. A test module anywhere else is counted.
fn lines_without_tests(text: &str) -> usize {
    let lines: Vec<&str> = text.lines().collect();
    let opening = lines.iter().rposition(|line| line.starts_with("mod tests {"));
    tests_begin(&lines, opening).unwrap_or(lines.len())
}

fn tests_begin(lines: &[&str], opening: Option<usize>) -> Option<usize> {
    let opening = opening?;
    // rustfmt puts the brace that closes a top-level item, and nothing else of it, at the margin.
    let closing = opening + lines[opening..].iter().position(|line| *line == "}")?;
    let nothing_follows = lines[closing + 1..].iter().all(|line| line.trim().is_empty());
    let attributes = lines[..opening].iter().rev().take_while(|line| line.starts_with("#[")).count();
    let begin = opening - attributes;
    let for_tests_only = lines[begin..opening].contains(&"#[cfg(test)]");
    (nothing_follows && for_tests_only).then_some(begin)
}

#[cfg(test)]
mod tests {
    use super::{MOST_LINES, lines_without_tests, offences};

    const TESTS: &str = "#[cfg(test)]\n#[allow(clippy::panic)]\nmod tests {\n    fn a() {\n    }\n}\n";

    #[test]
    fn one_line_too_many_is_an_offence() {
        assert!(offences("a.rs", &"x\n".repeat(MOST_LINES)).is_empty());
        assert!(offences("a.rs", &"x\n".repeat(MOST_LINES + 1))[0].starts_with("a.rs has 401 lines"));
    }

    #[test]
    fn tests_at_the_end_are_not_counted() {
        assert_eq!(lines_without_tests(&format!("a\nb\n{TESTS}")), 2);
    }

    #[test]
    fn tests_in_the_middle_and_modules_that_are_no_tests_are_counted() {
        assert_eq!(lines_without_tests(&format!("a\n{TESTS}b\n")), 8);
        assert_eq!(lines_without_tests("a\nmod tests {\n}\n"), 3);
    }
}
