//! The events on the wire, and the one way from there into the model.
//!
//! Text → [`strict_json`] → [`CloudEvent`] → [`read`] → `model::Event`. Each event has a file of its own;
//! a new one is a file, a line in [`registry`], and samples (docs/adding-an-event.md).

pub mod answer;
pub mod cloud_event;
pub mod deletion_requested;
pub mod json_schema;
pub mod nodeclaim_changed;
pub mod object;
pub mod pod_pending;
pub mod registry;
pub mod snapshot;
pub mod strict_json;
pub mod timer_idle;
pub mod word;
pub mod workspace_changed;

pub use answer::AnswerBody;
pub use cloud_event::{BadEvent, CloudEvent, Content, EventData};
pub use registry::{Known, known, read};
