//! Which value of the world stands for which value of the server: identities, versions, times and generated names.
//!
//! Two runs never share them. What has to be equal is how they relate: the same object has the same uid in every answer,
//! and a version that grows on one side grows on the other.

use regex::Regex;
use std::{cmp::Ordering, collections::BTreeMap, sync::LazyLock};

/// Everything inside a text that two runs do not share.
static PARTS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?P<uid>[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})",
        r"|kube-api-access-(?P<made>[a-z0-9]{5})\b",
        r"|(?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)",
        r"|(?P<number>\d+)",
    ))
    .ok()
});

/// Pairs that were seen in one scenario.
#[derive(Debug, Default)]
pub struct Pairing {
    to_server: BTreeMap<String, String>,
    to_world: BTreeMap<String, String>,
    versions: Vec<(u64, u64)>,
    names: Vec<(String, String)>,
}

/// How strictly versions have to relate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// Of objects: equal stays equal, older stays older.
    Strict,
    /// Of lists and bookmarks: others write meanwhile, so only the order must not turn round.
    Loose,
}

impl Pairing {
    /// A name that each side made up. From here on one stands for the other.
    pub fn learn_name(&mut self, world: &str, server: &str) {
        if world != server {
            self.names.push((world.to_owned(), server.to_owned()));
        }
    }

    pub fn are_same_version(&mut self, world: &str, server: &str, relation: Relation) -> bool {
        let (Ok(ours), Ok(theirs)) = (world.parse::<u64>(), server.parse::<u64>()) else { return world == server };
        let agrees = self.versions.iter().all(|(before, theirs_before)| {
            let (one, other) = (ours.cmp(before), theirs.cmp(theirs_before));
            one == other || (relation == Relation::Loose && (one == Ordering::Equal || other == Ordering::Equal))
        });
        if agrees && relation == Relation::Strict && !self.versions.contains(&(ours, theirs)) {
            self.versions.push((ours, theirs));
        }
        agrees
    }

    /// Whether two texts say the same, apart from what two runs cannot share.
    pub fn are_same_text(&mut self, world: &str, server: &str) -> bool {
        if world == server {
            return true;
        }
        let mut translated = world.to_owned();
        for (ours, theirs) in &self.names {
            translated = translated.replace(ours.as_str(), theirs);
        }
        if translated == server {
            return true;
        }
        let Some(parts) = PARTS.as_ref() else { return false };
        let (ours, theirs) = (pieces(parts, &translated), pieces(parts, server));
        ours.len() == theirs.len()
            && ours.iter().zip(&theirs).all(|(one, other)| match (one, other) {
                (Piece::Plain(one), Piece::Plain(other)) => one == other,
                (Piece::Identity(one), Piece::Identity(other)) => self.are_same_identity(one, other),
                (Piece::Time(one), Piece::Time(other)) => are_same_time(one, other),
                (Piece::Number(one), Piece::Number(other)) => one == other || self.is_known_version(one, other),
                _ => false,
            })
    }

    fn are_same_identity(&mut self, world: &str, server: &str) -> bool {
        match (self.to_server.get(world), self.to_world.get(server)) {
            (Some(theirs), Some(ours)) => theirs == server && ours == world,
            (None, None) => {
                self.to_server.insert(world.to_owned(), server.to_owned());
                self.to_world.insert(server.to_owned(), world.to_owned());
                true
            }
            _ => false,
        }
    }

    fn is_known_version(&self, world: &str, server: &str) -> bool {
        let (Ok(ours), Ok(theirs)) = (world.parse::<u64>(), server.parse::<u64>()) else { return false };
        self.versions.contains(&(ours, theirs))
    }
}

enum Piece<'a> {
    Plain(&'a str),
    Identity(&'a str),
    Time(&'a str),
    Number(&'a str),
}

fn pieces<'a>(parts: &Regex, text: &'a str) -> Vec<Piece<'a>> {
    let (mut pieces, mut from) = (Vec::new(), 0);
    for found in parts.captures_iter(text) {
        let Some(whole) = found.get(0) else { continue };
        pieces.push(Piece::Plain(&text[from..whole.start()]));
        from = whole.end();
        pieces.push(match (found.name("uid").or(found.name("made")), found.name("time")) {
            (Some(identity), _) => Piece::Identity(identity.as_str()),
            (_, Some(time)) => Piece::Time(time.as_str()),
            _ => Piece::Number(whole.as_str()),
        });
    }
    pieces.push(Piece::Plain(&text[from..]));
    pieces
}

/// Times of the run are the same if both are of today and equally precise; all other times are data.
fn are_same_time(world: &str, server: &str) -> bool {
    let recent = |text: &str| {
        let time = text.parse::<jiff::Timestamp>().ok();
        time.is_some_and(|time| jiff::Timestamp::now().duration_since(time).abs() < jiff::SignedDuration::from_hours(2))
    };
    world.len() == server.len() && recent(world) && recent(server)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn identities_stand_for_each_other_one_to_one() {
        let [one, two] = ["0", "1"].map(|digit| format!("{digit}0000000-0000-4000-8000-000000000000"));
        let mut pairing = Pairing::default();
        assert!(pairing.are_same_text(&one, &two));
        assert!(pairing.are_same_text(&format!("uid {one} is gone"), &format!("uid {two} is gone")));
        let three = one.replace('8', "9");
        assert!(!pairing.are_same_text(&three, &two), "two stands for one already");
    }

    #[test]
    fn versions_keep_their_order_and_equality() {
        let mut pairing = Pairing::default();
        assert!(pairing.are_same_version("3", "70", Relation::Strict));
        assert!(pairing.are_same_version("5", "90", Relation::Strict));
        assert!(!pairing.are_same_version("5", "91", Relation::Strict), "equal on one side only");
        assert!(!pairing.are_same_version("4", "95", Relation::Strict), "older on one side only");
        assert!(pairing.are_same_version("5", "91", Relation::Loose), "others wrote meanwhile");
        assert!(!pairing.are_same_version("6", "80", Relation::Loose), "the order turned round");
        assert!(pairing.are_same_text("too old: 3", "too old: 70"));
        assert!(!pairing.are_same_text("limit 3", "limit 4"));
    }

    #[test]
    fn times_of_the_run_are_the_same_and_other_times_are_data() {
        let mut pairing = Pairing::default();
        let now = format!("{:.0}", jiff::Timestamp::now());
        let earlier = format!("{:.0}", jiff::Timestamp::now() - jiff::SignedDuration::from_secs(5));
        assert!(pairing.are_same_text(&now, &earlier));
        assert!(!pairing.are_same_text("2020-01-01T00:00:00Z", "2020-01-01T00:00:01Z"));
    }

    #[test]
    fn generated_names_stand_for_each_other() {
        let mut pairing = Pairing::default();
        pairing.learn_name("a-x7k2p", "a-9dd4z");
        assert!(pairing.are_same_text("pods \"a-x7k2p\" not found", "pods \"a-9dd4z\" not found"));
        assert!(!pairing.are_same_text("pods \"a-x7k2q\" not found", "pods \"a-9dd4z\" not found"));
    }
}
