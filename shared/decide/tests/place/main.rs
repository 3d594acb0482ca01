//! Placing pods as a specification: what each rule asks, what is bought, what is said where nothing can be.

#![allow(clippy::unwrap_used, clippy::panic)]

mod fixture;
mod holds;

mod affinity;
mod buying;
mod folded;
mod gpus;
mod labels;
mod limits;
mod nodes;
mod paid;
mod preferences;
mod prices;
mod properties;
mod spread;
