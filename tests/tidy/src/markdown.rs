//! As much Markdown as links need: where they point, and which anchors headings make. Code is skipped.

use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Counted from one.
    pub line: usize,
    pub target: String,
}

/// Inline links and images, and the definitions of reference links.
pub fn links(text: &str) -> Vec<Link> {
    let mut found = vec![];
    for (line, prose) in prose_lines(text) {
        let prose = without_inline_code(prose);
        let inline = prose.match_indices("](").filter_map(|(at, _)| inline_target(&prose[at + 2..]));
        let targets = inline.chain(definition_target(&prose)).map(str::to_owned);
        found.extend(targets.filter(|target| !target.is_empty()).map(|target| Link { line, target }));
    }
    found
}

/// The anchors of a document, as code forges derive them from its headings, and those set by hand with `<a id="…">`.
pub fn anchors(text: &str) -> BTreeSet<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut anchors = BTreeSet::new();
    for (_, line) in prose_lines(text) {
        if let Some(title) = heading(line) {
            let name = slug(title);
            let before = seen.entry(name.clone()).or_default();
            anchors.insert(if *before == 0 { name } else { format!("{name}-{before}") });
            *before += 1;
        }
        for attribute in ["<a id=\"", "<a name=\""] {
            let by_hand = line.split(attribute).skip(1).filter_map(|rest| rest.split('"').next());
            anchors.extend(by_hand.map(str::to_owned));
        }
    }
    anchors
}

/// The lines outside fenced code, with their numbers.
fn prose_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fence: Option<&str> = None;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let mark = ["```", "~~~"].into_iter().find(|mark| line.trim_start().starts_with(mark));
        match (fence, mark) {
            (None, Some(opening)) => fence = Some(opening),
            (Some(opening), Some(closing)) if opening == closing => fence = None,
            (None, None) => return Some((index + 1, line)),
            (Some(_), _) => {}
        }
        None
    })
}

/// Leaves out what stands between backticks; a backtick without its partner is an ordinary character.
fn without_inline_code(line: &str) -> String {
    let parts: Vec<&str> = line.split('`').collect();
    let unpaired = parts.len().is_multiple_of(2);
    let kept =
        parts.iter().enumerate().filter(|(index, _)| index.is_multiple_of(2) || (unpaired && index + 1 == parts.len()));
    kept.map(|(_, part)| *part).collect()
}

/// The target at the start of `target "title")…`.
fn inline_target(rest: &str) -> Option<&str> {
    if let Some(bracketed) = rest.strip_prefix('<') {
        return bracketed.split_once('>').map(|(target, _)| target);
    }
    rest.split_once([')', ' ']).map(|(target, _)| target)
}

/// The target of a line `[name]: target`.
fn definition_target(line: &str) -> Option<&str> {
    let (_, rest) = line.trim_start().strip_prefix('[')?.split_once("]: ")?;
    rest.split_whitespace().next().map(|target| target.trim_matches(['<', '>']))
}

fn heading(line: &str) -> Option<&str> {
    let title = line.trim_start_matches('#');
    let depth = line.len() - title.len();
    ((1..=6).contains(&depth) && title.starts_with(' ')).then(|| title.trim().trim_end_matches('#').trim_end())
}

/// Small letters, no punctuation, `-` for every space; of a link only its text remains.
fn slug(title: &str) -> String {
    let text_only = title.split("](").enumerate().map(|(index, part)| match index {
        0 => part,
        _ => part.split_once(')').map_or("", |(_, after)| after),
    });
    let kept = |letter: &char| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_');
    let text: String = text_only.collect();
    text.to_lowercase().chars().filter(kept).map(|letter| if letter == ' ' { '-' } else { letter }).collect()
}

#[cfg(test)]
mod tests {
    use super::{anchors, links};

    fn targets(text: &str) -> Vec<String> {
        links(text).into_iter().map(|link| link.target).collect()
    }

    #[test]
    fn inline_reference_and_image_links_are_found() {
        let text = "[a](a.md) ![b](b.png \"title\") [c](<c d.md>)\n[e]: e.md\n[![badge](f.svg)](g.md)\n";
        assert_eq!(targets(text), ["a.md", "b.png", "c d.md", "e.md", "f.svg", "g.md"]);
    }

    #[test]
    fn code_has_no_links_and_no_headings() {
        let text = "```sh\n# not a heading\n[x](x.md)\n```\nsay `[y](y.md)` and [z](z.md)\n";
        assert_eq!(targets(text), ["z.md"]);
        assert!(anchors(text).is_empty());
    }

    #[test]
    fn a_lonely_backtick_hides_nothing() {
        assert_eq!(targets("it`s [a](a.md)"), ["a.md"]);
    }

    #[test]
    fn lines_are_counted_from_one() {
        assert_eq!(links("\n\n[a](a.md)")[0].line, 3);
    }

    #[test]
    fn anchors_are_made_as_forges_make_them() {
        let text = "# The flow: one direction\n## 2.1 `make run`, quickly\n### Again\n### Again\n## A [link](x.md) here ##\n\
                    <a id=\"by-hand\"></a>\n#hashtag\n";
        let found: Vec<String> = anchors(text).into_iter().collect();
        let expected = ["21-make-run-quickly", "a-link-here", "again", "again-1", "by-hand", "the-flow-one-direction"];
        assert_eq!(found, expected);
    }
}
