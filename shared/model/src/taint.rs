//! Taints on nodes and what tolerates them.

use core::str::FromStr;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taint {
    pub key: String,
    pub value: String,
    pub effect: Effect,
}

/// An absent key tolerates every key, an absent effect every effect.
#[derive(Debug, Clone, PartialEq, Eq)]
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

/// Why a text is not an effect.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a taint effect: NoSchedule, PreferNoSchedule or NoExecute")]
pub struct InvalidEffect(String);

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
