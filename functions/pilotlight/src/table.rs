//! A plain text table: columns as wide as their widest cell.

/// Lays rows out under a header. The last column is not padded, so that long reasons do not pull the others apart.
pub fn table(header: &[&str], rows: &[Vec<String>]) -> String {
    let header: Vec<String> = header.iter().map(|cell| (*cell).to_owned()).collect();
    let lines: Vec<&Vec<String>> = std::iter::once(&header).chain(rows).collect();
    let width = |column: usize| lines.iter().filter_map(|line| line.get(column)).map(|cell| cell.chars().count()).max();
    let mut text = String::new();
    for line in &lines {
        let last = line.len().saturating_sub(1);
        for (column, cell) in line.iter().enumerate() {
            let padding = if column == last { 0 } else { width(column).unwrap_or(0) - cell.chars().count() + 2 };
            text.push_str(cell);
            text.extend(std::iter::repeat_n(' ', padding));
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_also_under_letters_of_several_bytes() {
        let rows = vec![vec!["pöd".to_owned(), "x".to_owned()], vec!["ab".to_owned(), "y".to_owned()]];
        assert_eq!(table(&["A", "B"], &rows), "A    B\npöd  x\nab   y\n");
    }
}
