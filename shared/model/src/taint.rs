//! Taints on nodes and what tolerates them.

use core::{fmt, str::FromStr};

use crate::names;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Taint {
    pub key: String,
    pub value: String,
    pub effect: Effect,
}

/// An absent key tolerates every key, an absent effect every effect.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Toleration {
    pub key: Option<String>,
    /// The value that must be equal; absent means "exists".
    pub value: Option<String>,
    pub effect: Option<Effect>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Effect {
    NoSchedule,
    PreferNoSchedule,
    NoExecute,
}

impl Toleration {
    pub fn tolerates(&self, taint: &Taint) -> bool {
        self.key.as_ref().is_none_or(|key| *key == taint.key)
            && self.value.as_ref().is_none_or(|value| *value == taint.value)
            && self.effect.is_none_or(|effect| effect == taint.effect)
    }
}

impl Taint {
    /// What a node carries that is being emptied.
    pub fn disrupted() -> Self {
        Taint { key: names::DISRUPTED_TAINT.to_owned(), value: String::new(), effect: Effect::NoSchedule }
    }

    /// The same taint, whatever its value: a node has a key only once for each effect.
    pub fn is_same(&self, other: &Taint) -> bool {
        self.key == other.key && self.effect == other.effect
    }
}

/// Why a text is not an effect.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a taint effect: NoSchedule, PreferNoSchedule or NoExecute")]
pub struct InvalidEffect(String);

impl Effect {
    pub fn as_str(self) -> &'static str {
        match self {
            Effect::NoSchedule => "NoSchedule",
            Effect::PreferNoSchedule => "PreferNoSchedule",
            Effect::NoExecute => "NoExecute",
        }
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Effect {
    type Err = InvalidEffect;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "NoSchedule" => Ok(Effect::NoSchedule),
            "PreferNoSchedule" => Ok(Effect::PreferNoSchedule),
            "NoExecute" => Ok(Effect::NoExecute),
            _ => Err(InvalidEffect(text.chars().take(40).collect())),
        }
    }
}
