//! Whether labels can keep what is required of them: one set of allowed values a key.
//!
//! Values are borrowed from the requirements they came from, so building, intersecting and asking copies no text.

mod allowed;

use model::{Requirement, names};
use std::collections::BTreeMap;

pub use allowed::Allowed;

/// What is required, key by key. Several requirements on one key are their intersection.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Requirements<'a> {
    /// Sorted by key. A claim has a handful, so a sorted list is smaller and faster than a map.
    by_key: Vec<(&'a str, Allowed<'a>)>,
}

/// Other names of labels, and what they are called here: older ones, and the zone in the words of storage drivers.
const ALIASES: [(&str, &str); 9] = [
    (names::INSTANCE_TYPE_BETA, names::INSTANCE_TYPE),
    ("failure-domain.beta.kubernetes.io/zone", names::ZONE),
    ("failure-domain.beta.kubernetes.io/region", names::REGION),
    ("beta.kubernetes.io/arch", names::ARCH),
    ("beta.kubernetes.io/os", names::OS),
    (names::AZURE_DISK_ZONE, names::ZONE),
    ("topology.ebs.csi.aws.com/zone", names::ZONE),
    ("topology.gke.io/zone", names::ZONE),
    ("topology.csi.scaleway.com/zone", names::ZONE),
];

/// The name a label goes by today.
pub fn normalised(key: &str) -> &str {
    // Every alias begins or goes on like one of these, and hardly anything else does.
    let storage = key.starts_with("topology.") && !key.starts_with("topology.kubernetes.io/");
    if !storage && !key.contains("beta.kubernetes.io/") {
        return key;
    }
    ALIASES.iter().find(|(alias, _)| *alias == key).map_or(key, |(_, name)| name)
}

/// Labels that say what a machine is, whether or not an offering has them: one without is a machine without.
const WELL_KNOWN: [&str; 8] = [
    names::INSTANCE_TYPE,
    names::ZONE,
    names::REGION,
    names::ARCH,
    names::OS,
    names::CAPACITY_TYPE,
    names::HOSTNAME,
    "node.kubernetes.io/windows-build",
];
const AZURE_PREFIX: &str = "karpenter.azure.com/";

/// Whether a machine answers for a label by what it is. Any other is one that a node may be given.
pub fn says_what_a_machine_is(key: &str) -> bool {
    WELL_KNOWN.contains(&key) || key.starts_with(AZURE_PREFIX)
}

/// Values for labels that have to be there and that nobody chose (`Exists`, `Gt` and the like): a node without them would not be
/// what its pool asks for, and be replaced for ever.
pub fn left_open(requirements: &[Requirement]) -> BTreeMap<String, String> {
    let all = Requirements::new(requirements);
    let open = all.iter().filter(|(key, _)| !says_what_a_machine_is(key));
    open.filter_map(|(key, allowed)| Some((key.to_owned(), allowed.any()?))).collect()
}

/// What a node that carries labels has of a label by its name of today.
pub fn label_of<'n>(labels: &'n BTreeMap<String, String>, name: &str) -> Option<&'n str> {
    let own = labels.get(name);
    let by_alias = || {
        let aliases = ALIASES.iter().filter(|(_, today)| *today == name);
        aliases.filter_map(|(alias, _)| labels.get(*alias)).next()
    };
    own.or_else(by_alias).map(String::as_str)
}

impl<'a> Requirements<'a> {
    pub fn new(requirements: &'a [Requirement]) -> Self {
        let mut all = Requirements::default();
        for requirement in requirements {
            all.require(normalised(&requirement.key), Allowed::by(requirement));
        }
        all
    }

    /// One more: the key keeps what it kept before and this too.
    pub fn require(&mut self, key: &'a str, allowed: Allowed<'a>) {
        match self.place(key) {
            Ok(at) => {
                if let Some((_, own)) = self.by_key.get_mut(at) {
                    own.narrow(&allowed);
                }
            }
            Err(at) => self.by_key.insert(at, (key, allowed)),
        }
    }

    /// All of another's too.
    pub fn require_all(&mut self, other: &Requirements<'a>) {
        for (key, allowed) in &other.by_key {
            self.require(key, allowed.clone());
        }
    }

    /// What is allowed for a key, if anything is said about it.
    pub fn on(&self, key: &str) -> Option<&Allowed<'a>> {
        self.place(normalised(key)).ok().and_then(|at| self.by_key.get(at)).map(|(_, allowed)| allowed)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&'a str, &Allowed<'a>)> {
        self.by_key.iter().map(|(key, allowed)| (*key, allowed))
    }

    /// Keys whose requirements nothing can keep, not even a missing label.
    pub fn contradictions(&self) -> impl Iterator<Item = &'a str> {
        self.by_key.iter().filter(|(_, allowed)| allowed.is_empty()).map(|(key, _)| *key)
    }

    /// Whether these labels, and the absence of all others, keep every requirement.
    pub fn kept_by(&self, labels: &BTreeMap<String, String>) -> bool {
        self.by_key.iter().all(|(key, allowed)| match labels.get(*key) {
            Some(value) => allowed.has(value),
            None => allowed.allows_absent(),
        })
    }

    /// Whether one label set could keep both. A key that only one side names is free on the other.
    pub fn intersects(&self, other: &Requirements<'_>) -> bool {
        let (mut left, mut right) = (self.by_key.as_slice(), other.by_key.as_slice());
        while let ([(left_key, allowed), left_rest @ ..], [(right_key, other), right_rest @ ..]) = (left, right) {
            match (*left_key).cmp(*right_key) {
                core::cmp::Ordering::Less => left = left_rest,
                core::cmp::Ordering::Greater => right = right_rest,
                core::cmp::Ordering::Equal if !allowed.intersects(other) => return false,
                core::cmp::Ordering::Equal => (left, right) = (left_rest, right_rest),
            }
        }
        true
    }

    fn place(&self, key: &str) -> Result<usize, usize> {
        self.by_key.binary_search_by(|(own, _)| (*own).cmp(key))
    }
}
