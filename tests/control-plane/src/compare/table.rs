//! What was compared, as a table: printed after a run, and kept in the docs.

use std::{collections::BTreeMap, fmt::Write as _};

use super::{known::Known, play::Played};

/// Where the table stands in a page.
pub const BEGIN: &str = "<!-- compared: begin -->";
pub const END: &str = "<!-- compared: end -->";

/// One kind of scenario.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Row {
    pub scenarios: usize,
    pub requests: usize,
    pub fields: usize,
    pub known: usize,
    pub unknown: usize,
}

#[derive(Debug, Default)]
pub struct Table(BTreeMap<String, Row>);

impl Table {
    pub fn add(&mut self, kind: &str, played: &Played, known: &[Known]) {
        let row = self.0.entry(kind.to_owned()).or_default();
        row.scenarios += 1;
        row.requests += played.requests;
        row.fields += played.fields;
        let is_known = |found: &&super::play::Found| known.iter().any(|known| known.covers(found));
        let listed = played.found.iter().filter(is_known).count();
        row.known += listed;
        row.unknown += played.found.len() - listed;
    }

    pub fn total(&self) -> Row {
        self.0.values().fold(Row::default(), |sum, row| Row {
            scenarios: sum.scenarios + row.scenarios,
            requests: sum.requests + row.requests,
            fields: sum.fields + row.fields,
            known: sum.known + row.known,
            unknown: sum.unknown + row.unknown,
        })
    }

    pub fn markdown(&self) -> String {
        let mut text =
            "| kind | scenarios | requests | fields | differences listed |\n|---|---|---|---|---|\n".to_owned();
        let total = ("all".to_owned(), self.total());
        for (kind, row) in self.0.iter().map(|(kind, row)| (kind.clone(), row.clone())).chain([total]) {
            let Row { scenarios, requests, fields, known, .. } = row;
            _ = writeln!(text, "| {kind} | {scenarios} | {requests} | {fields} | {known} |");
        }
        text
    }
}

/// A page with this text between the marks. `None` if it has no marks.
pub fn written_into(page: &str, text: &str) -> Option<String> {
    let (head, rest) = page.split_once(BEGIN)?;
    let (_, tail) = rest.split_once(END)?;
    Some(format!("{head}{BEGIN}\n{text}{END}{tail}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_between_the_marks_is_replaced() {
        let page = format!("a\n{BEGIN}\nold\n{END}\nb");
        assert_eq!(written_into(&page, "new\n"), Some(format!("a\n{BEGIN}\nnew\n{END}\nb")));
        assert_eq!(written_into("a", "new"), None);
    }
}
