//! Names that somebody may have meant.

/// Longer than any label value; what is longer is cut, so that comparing stays cheap whatever comes in.
const MOST_LETTERS: usize = 64;

/// The known name that is closest to a mistyped one, if one is close: a slip of the hand, another case, or a beginning.
pub(super) fn closest<'n>(meant: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let meant = letters(meant);
    let ranked = known.filter_map(|name| {
        let other = letters(name);
        let begins = meant.len() >= 4 && other.starts_with(&meant);
        let distance = distance(&meant, &other);
        // A third of the letters wrong is another word.
        (begins || distance * 3 <= meant.len()).then_some((!begins, distance, name))
    });
    ranked.min().map(|(_, _, name)| name)
}

fn letters(name: &str) -> Vec<char> {
    name.chars().flat_map(char::to_lowercase).take(MOST_LETTERS).collect()
}

/// How many letters have to be changed, added or left out (Levenshtein), row by row.
fn distance(left: &[char], right: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (above, letter) in left.iter().enumerate() {
        let mut diagonal = above;
        let mut before = above + 1;
        let mut next = vec![before];
        for (other, up) in right.iter().zip(row.iter().skip(1)) {
            before = (diagonal + usize::from(letter != other)).min(up + 1).min(before + 1);
            diagonal = *up;
            next.push(before);
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{closest, distance};

    const KNOWN: [&str; 4] = ["Standard_NC24ads_A100_v4", "Standard_NC48ads_A100_v4", "L4-1-24G", "L40S-1-48G"];

    fn check(meant: &str, found: Option<&str>) {
        assert_eq!(closest(meant, KNOWN.into_iter()), found, "{meant}");
    }

    #[test]
    fn a_slip_another_case_and_a_beginning_are_close() {
        check("Standard_NC24ads_A100_v5", Some("Standard_NC24ads_A100_v4"));
        check("standard_nc48ads_a100_v4", Some("Standard_NC48ads_A100_v4"));
        check("Standard_NC24", Some("Standard_NC24ads_A100_v4"));
        check("L40-1-48G", Some("L40S-1-48G"));
    }

    #[test]
    fn another_word_is_not_close() {
        check("p4d.24xlarge", None);
        check("", None);
        check(&"x".repeat(10_000), None);
    }

    #[test]
    fn distance_counts_changes_additions_and_omissions() {
        let of =
            |left: &str, right: &str| distance(&left.chars().collect::<Vec<_>>(), &right.chars().collect::<Vec<_>>());
        assert_eq!([of("kitten", "sitting"), of("", "abc"), of("abc", ""), of("same", "same")], [3, 3, 3, 0]);
    }
}
